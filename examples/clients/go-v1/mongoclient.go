// Package mongoclient connects to MongoDB (go.mongodb.org/mongo-driver, version 1.x).
//
// Written by docward 0.1.0; regenerate it with `docward connect sdk --lang go --go-version 1`.
//
// One client for the whole process: Shared creates it on first use, CloseShared closes it.
// Logins and hosts come from the environment:
//
//	MONGODB_USER, MONGODB_PASSWORD    the login
//	MONGODB_HOSTS                     host:port, or several separated by commas; for SRV, only the name
//	MONGODB_REPLICA_SET               the name of the replica set, if there is one
//	MONGODB_TLS                       "false" if the servers do not support TLS
//
// Differences from the rule book's samples:
//
// - there is no waitQueueTimeoutMS: give every operation a context with a deadline (OperationTimeout) (GC-28)
// - version 1 connects with a context, version 2 without (GC-28)
package mongoclient

import (
	"context"
	"crypto/tls"
	"fmt"
	"log"
	"net/url"
	"os"
	"strings"
	"sync"
	"time"

	"go.mongodb.org/mongo-driver/mongo"
	"go.mongodb.org/mongo-driver/mongo/options"
	"go.mongodb.org/mongo-driver/mongo/readpref"
	"go.mongodb.org/mongo-driver/mongo/writeconcern"
)

const (
	// HealthTimeout is the time limit of the health check.
	HealthTimeout = 5000 * time.Millisecond
	// OperationTimeout is the deadline for the context of an operation. It includes the wait for a
	// connection, which this driver cannot limit separately.
	OperationTimeout = 5000 * time.Millisecond
)

// ConnectSRV connects through the SRV record of a sharded cluster. The driver finds new mongos by itself.
func ConnectSRV(ctx context.Context) (*mongo.Client, error) {
	return connect(ctx, "mongodb+srv", false)
}

// ConnectReplicaSet connects to a replica set. List all members in MONGODB_HOSTS.
func ConnectReplicaSet(ctx context.Context) (*mongo.Client, error) {
	return connect(ctx, "mongodb", true)
}

// ConnectLoadBalancer connects through the load balancer in front of a sharded cluster.
func ConnectLoadBalancer(ctx context.Context) (*mongo.Client, error) {
	return connect(ctx, "mongodb", false)
}

// ConnectAllMongos connects to every mongos of a sharded cluster. Their addresses must be switched on at the
// provider, and MONGODB_HOSTS must follow when mongos are added or removed.
func ConnectAllMongos(ctx context.Context) (*mongo.Client, error) {
	return connect(ctx, "mongodb", false)
}

// CheckConnection returns whether the primary (or a mongos) answers before the timeout; it never panics.
func CheckConnection(client *mongo.Client, timeout time.Duration) bool {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	if err := client.Ping(ctx, readpref.Primary()); err != nil {
		log.Printf("MongoDB does not answer: %v", err)
		return false
	}
	return true
}

var (
	lock   sync.Mutex
	shared *mongo.Client
)

// Shared returns the one client of this process.
func Shared() (*mongo.Client, error) {
	lock.Lock()
	defer lock.Unlock()
	if shared == nil {
		client, err := ConnectReplicaSet(context.Background())
		if err != nil {
			return nil, err
		}
		shared = client
	}
	return shared, nil
}

// CloseShared closes the shared client; running operations may finish until the context ends. It is safe to
// call it more than once.
func CloseShared(ctx context.Context) error {
	lock.Lock()
	defer lock.Unlock()
	if shared == nil {
		return nil
	}
	client := shared
	shared = nil
	return client.Disconnect(ctx)
}

func connect(ctx context.Context, scheme string, replicaSet bool) (*mongo.Client, error) {
	uri, err := address(scheme, replicaSet)
	if err != nil {
		return nil, err
	}
	opts := options.Client().ApplyURI(uri).
		SetAppName("example").
		// With SRV or a list of all mongos, the client keeps a pool of this size for each mongos (PF-2).
		SetMaxPoolSize(150).
		SetMinPoolSize(10).
		SetMaxConnIdleTime(120000 * time.Millisecond).
		SetConnectTimeout(10000 * time.Millisecond).
		// Some elections take longer: retry failed operations, or set 15000 (GC-29).
		SetServerSelectionTimeout(5000 * time.Millisecond).
		SetRetryWrites(true).
		SetRetryReads(true).
		// Every release of version 1 has this form.
		SetWriteConcern(writeconcern.New(writeconcern.WMajority())).
		// Class core: core services must read their own writes (RP-1).
		SetReadPreference(readpref.Primary())
	if os.Getenv("MONGODB_TLS") != "false" {
		opts.SetTLSConfig(&tls.Config{MinVersion: tls.VersionTLS12})
	}
	return mongo.Connect(ctx, opts)
}

func address(scheme string, replicaSet bool) (string, error) {
	names := []string{"MONGODB_USER", "MONGODB_PASSWORD", "MONGODB_HOSTS"}
	if replicaSet {
		names = append(names, "MONGODB_REPLICA_SET")
	}
	for _, name := range names {
		if os.Getenv(name) == "" {
			return "", fmt.Errorf("the environment variable %s is not set", name)
		}
	}
	query := url.Values{"authSource": {"admin"}}
	if replicaSet {
		query.Set("replicaSet", os.Getenv("MONGODB_REPLICA_SET"))
	}
	if os.Getenv("MONGODB_TLS") == "false" {
		query.Set("tls", "false")
	}
	user, password := escaped(os.Getenv("MONGODB_USER")), escaped(os.Getenv("MONGODB_PASSWORD"))
	return fmt.Sprintf("%s://%s:%s@%s/?%s", scheme, user, password, os.Getenv("MONGODB_HOSTS"), query.Encode()), nil
}

// QueryEscape writes a space as a plus, which is wrong in the login of a connection string.
func escaped(text string) string {
	return strings.ReplaceAll(url.QueryEscape(text), "+", "%20")
}
