package shop.web

@RestController
@RequestMapping("/orders")
class OrderController(private val service: OrderService) {
    @GetMapping("/{id}")
    fun find(@PathVariable id: Long): Order = service.find(id)

    @PostMapping
    @ResponseStatus(HttpStatus.CREATED)
    fun create(@RequestBody order: Order): Order {
        return service.create(order)
    }

    @RequestMapping(value = ["/search"], method = [RequestMethod.GET])
    fun search() = service.all()
}
