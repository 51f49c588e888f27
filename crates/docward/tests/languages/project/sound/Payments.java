package shop;

import com.mongodb.client.MongoCollection;
import com.mongodb.client.MongoDatabase;
import java.math.BigDecimal;
import org.bson.Document;
import org.bson.types.Decimal128;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.RestController;

@RestController
public class Payments {
    private final MongoCollection<Document> payments;

    Payments(MongoDatabase db) {
        this.payments = db.getCollection("t_payment");
    }

    @PostMapping("/payments")
    public void pay(BigDecimal price) {
        payments.insertOne(new Document("totalPrice", new Decimal128(price)));
    }
}
