const mongoose = require('mongoose');

exports.countries = mongoose.model('countries', new mongoose.Schema({
  type: String,
  lists: [{code: String, open: Boolean}],
}));
exports.posts = mongoose.model('posts', new mongoose.Schema({
  title: String,
  stock: Number,
  replies: [{by: String, text: String}],
  marks: [String],
}));
