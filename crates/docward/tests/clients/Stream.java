// Drives the generated Java client: `Stream dead`, or `Stream stream DATABASE COLLECTION COUNT`.

import com.mongodb.MongoException;
import com.mongodb.MongoWriteException;
import com.mongodb.client.MongoClient;
import com.mongodb.client.MongoCollection;
import org.bson.Document;

final class Stream {
    public static void main(String[] args) throws Exception {
        if (args[0].equals("dead")) {
            try (MongoClient client = MongoConnection.connectLoadBalancer()) {
                long start = System.nanoTime();
                boolean healthy = MongoConnection.checkConnection(client, 1500);
                System.out.println("health " + healthy + " " + (System.nanoTime() - start) / 1_000_000);
            }
            return;
        }
        MongoClient client = MongoConnection.shared();
        if (client != MongoConnection.shared()) {
            throw new IllegalStateException("two clients");
        }
        System.out.println("health " + MongoConnection.checkConnection(client));
        MongoCollection<Document> numbers = client.getDatabase(args[1]).getCollection(args[2]);
        int retried = 0;
        for (int n = 0; n < Integer.parseInt(args[3]); n++) {
            if (n == Integer.parseInt(args[3]) - 100) {
                System.in.read(); // There is a new primary.
            }
            long until = System.nanoTime() + 600_000_000_000L;
            while (true) {
                try {
                    numbers.insertOne(new Document("_id", n));
                    break;
                } catch (MongoWriteException error) {
                    if (error.getCode() == 11000) {
                        break; // It was written before the connection was lost.
                    }
                    throw error;
                } catch (MongoException error) {
                    retried++;
                    if (System.nanoTime() > until) {
                        throw error;
                    }
                    Thread.sleep(50);
                }
            }
            System.out.println("ack " + n);
            Thread.sleep(2);
        }
        System.out.println("health " + MongoConnection.checkConnection(client));
        MongoConnection.closeShared();
        MongoConnection.closeShared();
        System.out.println("done " + retried);
    }
}
