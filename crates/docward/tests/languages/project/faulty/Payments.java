package shop;

import com.mongodb.client.MongoCollection;
import com.mongodb.client.MongoDatabase;
import org.bson.Document;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.RestController;

@RestController
public class Payments {
    private final MongoCollection<Document> payments;

    Payments(MongoDatabase db) {
        this.payments = db.getCollection("t_payment");
    }

    @PostMapping("/payments")
    public void pay(double price) {
        payments.insertOne(new Document("totalPrice", price * 1.19)); // lint: T020
    }
}
