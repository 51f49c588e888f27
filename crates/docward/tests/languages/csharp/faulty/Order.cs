using MongoDB.Bson;
using MongoDB.Bson.Serialization.Attributes;

namespace Shop.Data;

[BsonIgnoreExtraElements]
public class Order
{
    [BsonId]
    [BsonRepresentation(BsonType.ObjectId)]
    public string Id { get; set; } = "";

    [BsonElement("customerId")]
    public string CustomerId { get; set; } = "";

    [BsonElement("totalPrice")]
    public double TotalPrice { get; set; } // lint: T020

    [BsonElement("events")]
    public List<OrderEvent> Events { get; set; } = new();

    public DateTime CreatedAt { get; set; }
    public DateTime UpdatedAt { get; set; }
    public string State { get; set; } = "open";

    public double WithTax(double rate) => TotalPrice * (1 + rate);
}

public class OrderEvent
{
    public string Kind { get; set; } = "";
    public DateTime At { get; set; }
}
