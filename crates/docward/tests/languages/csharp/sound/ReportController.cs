using Microsoft.AspNetCore.Mvc;
using Microsoft.Extensions.Configuration;
using MongoDB.Bson;
using MongoDB.Driver;
using Shop.Data;

namespace Shop.Controllers;

[ApiController]
[Route("reports")]
public class ReportController : ControllerBase
{
    private readonly IConfiguration _configuration;

    private readonly OrderRepository _orders;

    public ReportController(IConfiguration configuration, OrderRepository orders)
    {
        _configuration = configuration;
        _orders = orders;
    }

    [HttpPost("{order}/viewed")]
    public async Task<IActionResult> Viewed(string order)
    {
        await _orders.AddEventAsync(order, new OrderEvent { Kind = "viewed", At = DateTime.UtcNow });
        return NoContent();
    }

    // Clients with equal settings share one pool.
    [HttpGet("{day}")]
    public async Task<IActionResult> Show(string day)
    {
        var client = new MongoClient(_configuration["Mongo:Uri"]);
        var reports = client.GetDatabase("shop").GetCollection<BsonDocument>("reports");
        return Ok(await reports.Find(new BsonDocument("day", day)).FirstOrDefaultAsync());
    }
}
