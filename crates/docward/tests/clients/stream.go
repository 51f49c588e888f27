// Drives the generated Go client: `stream dead`, or `stream stream DATABASE COLLECTION COUNT`.
package main

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"time"

	"example/mongoclient"
	"go.mongodb.org/mongo-driver/bson"
	"go.mongodb.org/mongo-driver/mongo"
)

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func main() {
	if os.Args[1] == "dead" {
		client, err := mongoclient.ConnectLoadBalancer(context.Background())
		must(err)
		start := time.Now()
		healthy := mongoclient.CheckConnection(client, 1500*time.Millisecond)
		fmt.Println("health", healthy, time.Since(start).Milliseconds())
		return
	}
	count, err := strconv.Atoi(os.Args[4])
	must(err)
	client, err := mongoclient.Shared()
	must(err)
	if again, _ := mongoclient.Shared(); again != client {
		panic("two clients")
	}
	fmt.Println("health", mongoclient.CheckConnection(client, mongoclient.HealthTimeout))
	numbers := client.Database(os.Args[2]).Collection(os.Args[3])
	retried := 0
	for n := 0; n < count; n++ {
		if n == count-100 {
			fmt.Scanln() // There is a new primary.
		}
		until := time.Now().Add(10 * time.Minute)
		for {
			ctx, cancel := context.WithTimeout(context.Background(), mongoclient.OperationTimeout)
			_, err := numbers.InsertOne(ctx, bson.M{"_id": n})
			cancel()
			// A duplicate was written before the connection was lost.
			if err == nil || mongo.IsDuplicateKeyError(err) {
				break
			}
			retried++
			if time.Now().After(until) {
				panic(err)
			}
			time.Sleep(50 * time.Millisecond)
		}
		fmt.Println("ack", n)
		time.Sleep(2 * time.Millisecond)
	}
	fmt.Println("health", mongoclient.CheckConnection(client, mongoclient.HealthTimeout))
	must(mongoclient.CloseShared(context.Background()))
	must(mongoclient.CloseShared(context.Background()))
	fmt.Println("done", retried)
}
