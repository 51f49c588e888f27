from flask import Flask, jsonify, request
from pymongo import MongoClient

app = Flask(__name__)
db = MongoClient()["shop"]


class Orders:
    def __init__(self, db):
        self.db = db

    def customer(self, customer_id):
        return self.db.customers.find_one({"_id": customer_id})


orders = Orders(db)


@app.route("/orders")
def index():
    out = []
    for order in db.orders.find({"open": True, "shop": "a"}):
        out.append(orders.customer(order["customer_id"]))  # lint: W022
    return jsonify(out)


@app.route("/jobs/next", methods=["POST"])
def next_job():
    queue = db.jobs.find_one({"_id": "queue"})["waiting"]
    job = queue.pop(0)
    db.jobs.update_one({"_id": "queue"}, {"$set": {"waiting": queue}})  # lint: W020
    return jsonify(job)


@app.route("/builds/clean", methods=["POST"])
def clean():
    for build in db.builds.find():
        build["state"] = "stopped"
        db.builds.replace_one({"_id": build["_id"]}, build)  # lint: W020
    return "", 204


@app.route("/messages", methods=["POST"])
def send():
    user_id = request.json["user_id"]
    db[user_id].insert_one({"text": "hello"})  # lint: L020
    return "", 201
