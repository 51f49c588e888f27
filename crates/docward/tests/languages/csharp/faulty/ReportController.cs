using Microsoft.AspNetCore.Mvc;
using Microsoft.Extensions.Configuration;
using Microsoft.Extensions.Logging;
using MongoDB.Bson;
using MongoDB.Driver;
using MongoDB.Driver.Core.Events;
using Shop.Data;

namespace Shop.Controllers;

[ApiController]
[Route("reports")]
public class ReportController : ControllerBase
{
    private readonly IConfiguration _configuration;
    private readonly ILogger<ReportController> _logger;

    private readonly OrderRepository _orders;

    public ReportController(
        IConfiguration configuration,
        ILogger<ReportController> logger,
        OrderRepository orders)
    {
        _configuration = configuration;
        _logger = logger;
        _orders = orders;
    }

    [HttpPost("{order}/viewed")]
    public async Task<IActionResult> Viewed(string order)
    {
        await _orders.AddEventAsync(order, new OrderEvent { Kind = "viewed", At = DateTime.UtcNow });
        return NoContent();
    }

    // Each request has another function that logs, so no two clients have equal settings and share a pool.
    [HttpGet("{day}")]
    public async Task<IActionResult> Show(string day)
    {
        var settings = MongoClientSettings.FromConnectionString(_configuration["Mongo:Uri"]);
        settings.ClusterConfigurator = builder =>
            builder.Subscribe<CommandStartedEvent>(e => _logger.LogDebug("{Command}", e.CommandName));
        var client = new MongoClient(settings); // lint: C040
        var reports = client.GetDatabase("shop").GetCollection<BsonDocument>("reports");
        return Ok(await reports.Find(new BsonDocument("day", day)).FirstOrDefaultAsync());
    }
}
