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
    [BsonRepresentation(BsonType.Decimal128)]
    public decimal TotalPrice { get; set; }

    [BsonElement("events")]
    public List<OrderEvent> Events { get; set; } = new();

    public DateTime CreatedAt { get; set; }
    public DateTime UpdatedAt { get; set; }
    public string State { get; set; } = "open";

    public decimal WithTax(decimal rate) => TotalPrice * (1 + rate);
}

public class OrderEvent
{
    public string Kind { get; set; } = "";
    public DateTime At { get; set; }
}
