package shop.web;

import org.springframework.web.bind.annotation.*;

/** Serves orders; see {@code @GetMapping("/documented")}. */
@RestController
@RequestMapping(path = "/api/orders", produces = "application/json")
public class OrderController {

    private final OrderService service;

    @Autowired
    OrderController(OrderService service) {
        this.service = service;
    }

    @GetMapping
    public List<Order> list(@RequestParam(defaultValue = "/none") String filter) {
        return service.list(filter);
    }

    @PostMapping(consumes = "application/json")
    @ResponseStatus(HttpStatus.CREATED)
    public Order create(@RequestBody Order order) {
        return service.create(order);
    }

    @GetMapping({"/{id}", "/by-id/{id}"})
    public Order find(@PathVariable long id) {
        return service.find(id);
    }

    @RequestMapping(value = "/{id}", method = {RequestMethod.PUT, RequestMethod.PATCH})
    public Order update(@PathVariable long id, @RequestBody Order order) {
        return service.update(id, order);
    }

    // @DeleteMapping("/{id}")
    public void delete(long id) {
        service.delete(id);
    }

    @RequestMapping("/any")
    String any() {
        return "@PutMapping(\"/quoted\")";
    }

    @Controller("names")
    static class Inner {
        @DeleteMapping("/inner")
        void drop() {}
    }
}

@Path("/stock")
class StockResource {
    @GET
    @Path("{sku}")
    public Stock read(@PathParam("sku") String sku) {
        return stock.of(sku);
    }

    @POST
    public void add(Stock item) {
        stock.add(item);
    }
}
