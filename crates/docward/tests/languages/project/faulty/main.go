package main

import (
	"context"
	"net/http"
	"time"

	"go.mongodb.org/mongo-driver/bson"
	"go.mongodb.org/mongo-driver/mongo"
)

var orders *mongo.Collection

func find(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), time.Millisecond) // lint: C044
	defer cancel()
	orders.FindOne(ctx, bson.M{"_id": 1})
}

func main() {
	http.HandleFunc("/", find)
	http.ListenAndServe(":80", nil)
}
