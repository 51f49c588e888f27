const express = require('express');
const _ = require('lodash');
const db = require('./models');
const {addReply, listEverything} = require('./replies');
const router = express.Router();

// Models that another file hands out.
router.get('/countries', (req, res) => {
  db.countries.find({}, (err, all) => res.json(all)); // lint: W023
});
router.post('/countries', (req, res) => {
  new db.countries({type: String(req.body.type), lists: []}).save(() => res.sendStatus(201));
});

// A document of a callback, of which a loop changes elements.
router.put('/countries', (req, res) => {
  db.countries.find({type: String(req.body.type)}, (err, data) => {
    data[0].lists.forEach((entry) => {
      entry.open = true;
    });
    db.countries.update({type: String(req.body.type)}, {$set: {lists: data[0].lists}}, () => { // lint: W020
      res.sendStatus(200);
    });
  });
});

// The same with an element that a search finds, in a document that a function of the file loads.
const loadCountries = (type) => db.countries.findOne({type: String(type)});
router.put('/countries/:code', (req, res) => {
  return loadCountries(req.body.type).then((found) => {
    _.find(found.lists, ['code', req.params.code]).open = false;
    return db.countries.updateOne({type: String(req.body.type)}, {$set: {lists: found.lists}}); // lint: W020
  });
});

// A sum that a condition replaces.
router.post('/posts/:id/sold', async (req, res) => {
  const post = await db.posts.findOne({_id: String(req.params.id)});
  let left = post.stock - 1;
  if (left < 0) {
    left = 0;
  }
  await db.posts.updateOne({_id: String(req.params.id)}, {$set: {stock: left}}); // lint: W020
  res.sendStatus(200);
});

// A list that is written anew with one more element.
router.post('/posts/:id/marks', async (req, res) => {
  const post = await db.posts.findById(req.params.id);
  post.marks = [...post.marks, `${req.user.id} ${new Date()}`]; // lint: D020
  await post.save();
  res.sendStatus(201);
});

router.post('/posts/:id/replies', async (req, res) => {
  const post = await db.posts.findById(req.params.id);
  await addReply(post, req.body);
  res.sendStatus(201);
});
router.get('/posts', async (req, res) => res.json(await listEverything()));
router.post('/posts', async (req, res) => {
  await db.posts.create({title: String(req.body.title), stock: 1});
  res.sendStatus(201);
});

// Callbacks that forEach does not wait for.
router.post('/posts/close', async (req, res) => {
  req.body.ids.forEach(async (id) => { // lint: W026
    await db.posts.updateOne({_id: String(id)}, {$set: {title: ''}});
  });
  res.sendStatus(200);
});

module.exports = router;
