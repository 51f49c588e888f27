from flask import Flask, jsonify, request
from pymongo import MongoClient

app = Flask(__name__)
db = MongoClient()["shop"]


@app.route("/orders")
def index():
    orders = list(db.orders.find({"open": True, "shop": "a"}))
    ids = [order["customer_id"] for order in orders]
    return jsonify(list(db.customers.find({"_id": {"$in": ids}})))


@app.route("/jobs/next", methods=["POST"])
def next_job():
    job = db.jobs.find_one_and_update({"state": "waiting"}, {"$set": {"state": "taken"}})
    return jsonify(job)


@app.route("/messages", methods=["POST"])
def send():
    db.messages.insert_one({"user_id": request.json["user_id"], "text": "hello"})
    return "", 201
