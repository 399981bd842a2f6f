using Microsoft.AspNetCore.Mvc;

namespace Shop.Web;

/// <summary>Serves orders. Not a route: [HttpGet("documented")]</summary>
[ApiController]
[Route("api/[controller]")]
public class OrdersController : ControllerBase
{
    private readonly IOrders _orders;

    [HttpGet]
    public IEnumerable<Order> List() => _orders.All();

    [HttpGet("{id:int}", Name = "GetOrder")]
    public ActionResult<Order> Find(int id)
    {
        return _orders.Find(id);
    }

    [HttpPost, Authorize(Roles = "admin")]
    public IActionResult Create(Order order)
    {
        return Ok(_orders.Add(order));
    }

    [HttpPut]
    [Route("{id}/status")]
    public void SetStatus(int id) { }

    [Route("[action]")]
    [AcceptVerbs("GET", "HEAD")]
    public int Count() => 3;

    [HttpDelete("~/orders/{id}")]
    public void Delete(int id) => _orders.Delete(id);

    // [HttpPatch("{id}")]
    public string Text() => "[HttpGet(\"quoted\")]";
}

public static class Endpoints
{
    public static void Map(WebApplication app)
    {
        var stock = app.MapGroup("/stock");
        var parts = stock.MapGroup("parts");
        app.MapGet("/health", () => Results.Ok());
        stock.MapPost("/", StockHandlers.Add);
        parts.MapDelete("{id}", async (int id) =>
        {
            await Remove(id);
        });
        app.MapMethods("/bulk", new[] { "PUT", "PATCH" }, Bulk);
        app.Map("/any", Any);
        mapper.Map("name", value);
    }
}
