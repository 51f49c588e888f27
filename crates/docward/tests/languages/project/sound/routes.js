const express = require('express');
const db = require('./models');
const {addReply, listOpen} = require('./replies');
const router = express.Router();

router.get('/countries', (req, res) => {
  db.countries.find({}, null, {limit: 50}, (err, all) => res.json(all));
});
router.post('/countries', (req, res) => {
  new db.countries({type: String(req.body.type), lists: []}).save(() => res.sendStatus(201));
});

// Elements are read and shown, and the server changes them.
router.put('/countries', (req, res) => {
  db.countries.find({type: String(req.body.type)}, null, {limit: 1}, (err, data) => {
    const codes = data[0].lists.map((entry) => entry.code);
    db.countries.updateOne({type: String(req.body.type)}, {$set: {'lists.$[].open': true}}, () => {
      res.json(codes);
    });
  });
});

router.post('/posts/:id/sold', async (req, res) => {
  const done = await db.posts.updateOne({_id: String(req.params.id), stock: {$gte: 1}}, {$inc: {stock: -1}});
  res.json({sold: done.modifiedCount});
});

// The list is cut, and the caller's object is no document of a model.
router.post('/posts/:id/replies', async (req, res) => {
  const canvas = {strokes: [], save() {}};
  addReply(canvas, req.body);
  res.sendStatus(201);
});
router.get('/posts', async (req, res) => res.json(await listOpen()));
router.post('/posts', async (req, res) => {
  await db.posts.create({title: String(req.body.title), stock: 1});
  res.sendStatus(201);
});
router.post('/posts/close', async (req, res) => {
  await Promise.all(req.body.ids.map((id) => db.posts.updateOne({_id: String(id)}, {$set: {title: ''}})));
  res.sendStatus(200);
});

module.exports = router;
