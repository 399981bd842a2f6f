package shop

class StoreTest : FunSpec({
    test("keeps items") {
        1 shouldBe 1
    }

    context("a sale") {
        fun price() = 1

        should("take a price").config(enabled = true) {
            price() shouldBe 1
        }
        test("says $price") {
        }
    }

    /*
    test("is commented out") {
    }
    */
})

class Plain {
    fun check() {
        test("one line") { println() }
    }
}
