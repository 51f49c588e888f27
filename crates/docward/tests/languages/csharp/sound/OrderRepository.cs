using MongoDB.Bson;
using MongoDB.Driver;

namespace Shop.Data;

public class OrderRepository
{
    private const string DatabaseName = "shop";
    private readonly IMongoCollection<Order> _orders;

    public OrderRepository()
    {
        var uri = Environment.GetEnvironmentVariable("MONGODB_URI") ?? "mongodb://localhost:27017";
        var settings = MongoClientSettings.FromConnectionString(uri);
        settings.RetryWrites = true;
        settings.WriteConcern = WriteConcern.WMajority;
        settings.MaxConnectionPoolSize = 150;
        var client = new MongoClient(settings);
        _orders = client.GetDatabase(DatabaseName).GetCollection<Order>("orders");

        var keys = Builders<Order>.IndexKeys.Ascending(o => o.CustomerId).Descending(o => o.CreatedAt);
        _orders.Indexes.CreateOne(new CreateIndexModel<Order>(keys));
    }

    public async Task AddEventAsync(string id, OrderEvent entry)
    {
        var update = Builders<Order>.Update
            .Set(o => o.UpdatedAt, DateTime.UtcNow)
            .PushEach(o => o.Events, new[] { entry }, slice: -100);
        await _orders.UpdateOneAsync(o => o.Id == id, update);
    }

    public Task<long> OpenCountAsync(string customerId) =>
        _orders.CountDocumentsAsync(o => o.CustomerId == customerId && o.State == "open");
}
