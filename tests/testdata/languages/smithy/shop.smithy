$version: "2"

namespace example.shop

use aws.protocols#restJson1

/// The shop.
@restJson1
service Shop {
    version: "2026-11-01"
    resources: [Order]
    operations: [Ping]
}

resource Order {
    identifiers: { orderId: OrderId }
    read: GetOrder
    list: ListOrders
}

@pattern("^[a-z0-9]+$")
string OrderId

@readonly
@http(method: "GET", uri: "/orders/{orderId}")
operation GetOrder {
    input: GetOrderInput
    output: GetOrderOutput
    errors: [NotFound]
}

operation ListOrders {
    input := {
        pageSize: Integer = 20
    }
    output: OrderList
}

operation Ping {}

// What is asked.
structure GetOrderInput {
    @required
    @httpLabel
    orderId: OrderId
}

structure GetOrderOutput {
    order: OrderDetails
}

structure OrderDetails with [Dated] {
    $orderId
    state: OrderState
    items: LineItems = []
    note: String = "structure Hidden { a: String }"
}

@mixin
structure Dated {
    createdAt: Timestamp
}

list LineItems { member: LineItem }
list OrderList {
    member: OrderDetails
}
map Labels {
    key: String
    value: String
}
structure LineItem {
    sku: String
    quantity: Integer
}
union Payment {
    card: String
    invoice: Integer
}
enum OrderState {
    OPEN
    PAID = "paid"
    SHIPPED
}
intEnum Level {
    LOW = 1
}
@error("client")
structure NotFound {
    message: String
}
timestamp Created
