// MongoDB client for Java 11 or later (mongodb-driver-sync, version 4.3 or later).
//
// Written by docward 0.1.0; regenerate it with `docward connect sdk --lang java`.
//
// One client for the whole process: shared() creates it on first use and closes it when the
// process ends. Logins and hosts come from the environment:
//
//   MONGODB_USER, MONGODB_PASSWORD    the login
//   MONGODB_HOSTS                     host:port, or several separated by commas; for SRV, only the name
//   MONGODB_REPLICA_SET               the name of the replica set, if there is one
//   MONGODB_TLS                       "false" if the servers do not support TLS
//
// Differences from the rule book's samples:
//
// - maxWaitTime; since 5.2, the driver recommends one timeout for the whole client instead (GC-28)
// - MongoClients.create creates clients; MongoClient.create does not exist (GC-27)
// - the sample in the rule book has no health check; this file has one (SDK-ALL.4)

import com.mongodb.ConnectionString;
import com.mongodb.MongoClientSettings;
import com.mongodb.ReadPreference;
import com.mongodb.WriteConcern;
import com.mongodb.client.MongoClient;
import com.mongodb.client.MongoClients;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.bson.Document;

public final class MongoConnection {
    /** Time limit of the health check, in milliseconds. */
    public static final long HEALTH_TIMEOUT_MS = 5000;

    private static MongoClient shared;

    private MongoConnection() {}

    /** Connects through the SRV record of a sharded cluster. The driver finds new mongos by itself. */
    public static MongoClient connectSrv() {
        return connect(uri("mongodb+srv", ""));
    }

    /** Connects to a replica set. List all members in MONGODB_HOSTS. */
    public static MongoClient connectReplicaSet() {
        return connect(uri("mongodb", "&replicaSet=" + encoded(setting("MONGODB_REPLICA_SET"))));
    }

    /** Connects through the load balancer in front of a sharded cluster. */
    public static MongoClient connectLoadBalancer() {
        return connect(uri("mongodb", ""));
    }

    /**
     * Connects to every mongos of a sharded cluster. Their addresses must be switched on at the provider, and
     * MONGODB_HOSTS must follow when mongos are added or removed.
     */
    public static MongoClient connectAllMongos() {
        return connect(uri("mongodb", ""));
    }

    /** Returns whether the primary (or a mongos) answers within timeoutMs; never throws. */
    public static boolean checkConnection(MongoClient client, long timeoutMs) {
        CompletableFuture<Boolean> ping = CompletableFuture.supplyAsync(() -> {
            client.getDatabase("admin").runCommand(new Document("ping", 1));
            return true;
        });
        try {
            return ping.get(timeoutMs, TimeUnit.MILLISECONDS);
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
            return false;
        } catch (Exception error) {
            System.err.println("MongoDB does not answer: " + error);
            return false;
        }
    }

    /** Checks the connection with the default time limit. */
    public static boolean checkConnection(MongoClient client) {
        return checkConnection(client, HEALTH_TIMEOUT_MS);
    }

    /** Returns the one client of this process. */
    public static synchronized MongoClient shared() {
        if (shared == null) {
            shared = connectReplicaSet();
            Runtime.getRuntime().addShutdownHook(new Thread(MongoConnection::closeShared));
        }
        return shared;
    }

    /** Closes the shared client; safe to call more than once. */
    public static synchronized void closeShared() {
        if (shared != null) {
            shared.close();
            shared = null;
        }
    }

    private static MongoClient connect(String uri) {
        return MongoClients.create(settings(new ConnectionString(uri)));
    }

    private static MongoClientSettings settings(ConnectionString uri) {
        boolean tls = !"false".equals(System.getenv("MONGODB_TLS"));
        return MongoClientSettings.builder()
                .applyConnectionString(uri)
                .applicationName("example")
                .applyToSslSettings(ssl -> ssl.enabled(tls))
                .applyToConnectionPoolSettings(pool -> pool
                        // With SRV or a list of all mongos, the client keeps a pool of this size for each mongos (PF-2).
                        .maxSize(150)
                        .minSize(10)
                        .maxConnectionIdleTime(120000, TimeUnit.MILLISECONDS)
                        .maxWaitTime(5000, TimeUnit.MILLISECONDS))
                .applyToSocketSettings(socket -> socket
                        .connectTimeout(10000, TimeUnit.MILLISECONDS)
                        .readTimeout(30000, TimeUnit.MILLISECONDS))
                // Some elections take longer: retry failed operations, or set 15000 (GC-29).
                .applyToClusterSettings(cluster -> cluster
                        .serverSelectionTimeout(5000, TimeUnit.MILLISECONDS))
                .retryWrites(true)
                .retryReads(true)
                .writeConcern(WriteConcern.MAJORITY)
                // Class core: core services must read their own writes (RP-1).
                .readPreference(ReadPreference.primary())
                .build();
    }

    private static String uri(String scheme, String options) {
        return scheme + "://" + encoded(setting("MONGODB_USER")) + ":" + encoded(setting("MONGODB_PASSWORD"))
                + "@" + setting("MONGODB_HOSTS") + "/?authSource=admin" + options;
    }

    private static String encoded(String text) {
        // URLEncoder writes a space as a plus, which is wrong in a connection string.
        return URLEncoder.encode(text, StandardCharsets.UTF_8).replace("+", "%20");
    }

    private static String setting(String name) {
        String value = System.getenv(name);
        if (value == null || value.isEmpty()) {
            throw new IllegalStateException("the environment variable " + name + " is not set");
        }
        return value;
    }
}
