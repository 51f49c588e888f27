// Documents, cursors and a transaction, as programs in Go use them.
package main

import (
	"context"
	"fmt"
	"log"
	"os"

	"go.mongodb.org/mongo-driver/bson"
	"go.mongodb.org/mongo-driver/mongo"
	"go.mongodb.org/mongo-driver/mongo/options"
)

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func main() {
	ctx := context.Background()
	client, err := mongo.Connect(ctx, options.Client().ApplyURI(os.Args[1]))
	check(err)
	orders := client.Database("db_shop").Collection("t_go")
	var documents []interface{}
	for n := 0; n < 300; n++ {
		documents = append(documents, bson.M{"_id": n})
	}
	_, err = orders.InsertMany(ctx, documents)
	check(err)
	cursor, err := orders.Find(ctx, bson.M{}, options.Find().SetBatchSize(40))
	check(err)
	count := 0
	for cursor.Next(ctx) {
		count++
	}
	check(cursor.Err())
	session, err := client.StartSession()
	check(err)
	_, err = session.WithTransaction(ctx, func(in mongo.SessionContext) (interface{}, error) {
		return orders.UpdateMany(in, bson.M{"_id": bson.M{"$lt": 5}}, bson.M{"$set": bson.M{"paid": true}})
	})
	check(err)
	session.EndSession(ctx)
	paid, err := orders.CountDocuments(ctx, bson.M{"paid": true})
	check(err)
	check(client.Disconnect(ctx))
	if count != 300 || paid != 5 {
		log.Fatal(count, paid)
	}
	fmt.Println("ok")
}
