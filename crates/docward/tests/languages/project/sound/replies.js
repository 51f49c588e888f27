const {posts} = require('./models');

exports.addReply = function addReply(canvas, reply) {
  canvas.strokes.push({by: reply.by, text: reply.text});
  canvas.save();
};
exports.listOpen = async function listOpen() {
  return posts.find({}).limit(20);
};
exports.listPage = async function listPage(query) {
  return posts.find({title: 'x'}).sort({_id: 1}).skip(Math.min(query.offset, 1000)).limit(20);
};
exports.route = (req, res) => exports.listPage(req.query).then((rows) => res.json(rows));
