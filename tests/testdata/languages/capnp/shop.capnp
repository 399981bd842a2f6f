@0xdbb9ad1f14bf0b36;  # unique id

using Go = import "/go.capnp";
using Common = import "common.capnp";
using Money = Common.Money;

# An order of the shop.
struct Order @0xf0e1d2c3b4a59687 {
  id @0 :Text;
  state @1 :State = open;  # where it is
  items @2 :List(LineItem);
  union {
    card @3 :Card;
    invoice @4 :Invoice;
  }
  delivery :group {
    street @5 :Text;
    city @6 :Text;
  }
  payment :union {
    none @7 :Void;
    amount @8 :Money;
  }

  enum State {
    open @0;
    paid @1;
    shipped @2;
  }

  struct LineItem { sku @0 :Text; quantity @1 :UInt32; }
}

struct Card { token @0 :Text; }
struct Invoice {
  number @0 :Text = "struct Hidden { a @0 :Text; }";
}

const defaultLimit :UInt32 = 20;
annotation column(field) :Text;

# Takes orders.
interface Shop extends(Common.Closable) {
  create @0 (order :Order) -> (id :Text);
  find @1 (text :Text, limit :UInt32 = 20) -> (orders :List(Order));
  watch @2 [T] (callback :Watcher) -> stream;

  interface Watcher {
    changed @0 (order :Order) -> ();
  }
}
