package shop

class StoreSuite extends munit.FunSuite {
  def fixture: Int = 1

  test("keeps items") {
    assertEquals(fixture, 1)
  }

  test("is slow".tag(Slow)) { assert(true) }

  test(name) {
    assert(true)
  }

  // test("is commented out") {
  // }
}

class StoreSpec extends AnyFlatSpec {
  "A store" should "keep items" in {
    assert(true)
  }

  it should "say \"no\"" in {
    assert(true)
  }
}

class StoreWords extends AnyWordSpec {
  "A store" when {
    "empty" should {
      "have no items" in {
        assert(true)
      }
    }
  }
}
