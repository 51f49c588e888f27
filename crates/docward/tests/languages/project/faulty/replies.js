const {posts} = require('./models');

// A document of the caller, which has a save of its own.
exports.addReply = async function addReply(post, reply) {
  post.replies.push({by: reply.by, text: reply.text}); // lint: D020
  await post.save();
};

// A query in a function that handlers call.
exports.listEverything = async function listEverything() {
  return posts.find({}); // lint: W023
};

// Pages that the callers ask for.
exports.listPage = async function listPage(query) {
  const rows = await posts.find({title: 'x'}).sort({_id: 1}).skip(query.offset).limit(query.limit); // lint: W024
  return rows;
};
exports.route = (req, res) => exports.listPage(req.query).then((rows) => res.json(rows));
