using Microsoft.AspNetCore.Mvc;
using Microsoft.Extensions.Configuration;
using MongoDB.Bson;
using MongoDB.Driver;

namespace Shop.Controllers;

[ApiController]
[Route("reports")]
public class ReportController : ControllerBase
{
    private readonly IConfiguration _configuration;

    public ReportController(IConfiguration configuration)
    {
        _configuration = configuration;
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
