using MongoDB.Bson;
using MongoDB.Driver;

namespace Shop.Data;

public class OrderRepository
{
    private const string DatabaseName = "shop";
    private readonly IMongoCollection<Order> _orders;

    public OrderRepository()
    {
        var settings = MongoClientSettings.FromConnectionString(
            "mongodb://shop:Tr0ub4dor@db1.shop.io:27017,db2.shop.io:27017/shop?replicaSet=rs0"); // lint: C012 S020
        settings.RetryWrites = false; // lint: C016
        settings.WriteConcern = WriteConcern.Unacknowledged; // lint: C021
        settings.MaxConnectionPoolSize = 150;
        var client = new MongoClient(settings);
        _orders = client.GetDatabase(DatabaseName).GetCollection<Order>("orders");

        var keys = Builders<Order>.IndexKeys.Ascending(o => o.CustomerId).Descending(o => o.CreatedAt);
        _orders.Indexes.CreateOne(new CreateIndexModel<Order>(keys));
    }

    public async Task AddEventAsync(string id, string kind)
    {
        var update = Builders<Order>.Update
            .Set(o => o.UpdatedAt, DateTime.UtcNow)
            .Push(o => o.Events, new OrderEvent { Kind = kind, At = DateTime.UtcNow }); // lint: D020
        await _orders.UpdateOneAsync(o => o.Id == id, update);
    }

    public Task<long> OpenCountAsync(string customerId) =>
        _orders.CountDocumentsAsync(o => o.CustomerId == customerId && o.State == "open");
}
