const mongoose = require('mongoose');

const userSchema = new mongoose.Schema(
  {
    userName: { type: String, required: true, minlength: 2, maxlength: 50 },
    email: { type: String, required: true, match: /^[^@\s]+@[^@\s]+\.[a-z]+$/ },
    status: { type: String, enum: ['active', 'inactive', 'deleted', 'suspended'], required: true },
    balance: { type: mongoose.Schema.Types.Decimal128, required: true },
    nickName: String,
    lastLogin: Date,
  },
  { collection: 't_user', versionKey: false },
);

module.exports = mongoose.model('User', userSchema);
