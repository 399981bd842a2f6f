# The orchard: trees, harvests, and the robots that pick.
#
# struct NotThis { is @0 :Text; }

@0x9eb32e19f86ee174;

using Cxx = import "/capnp/c++.capnp";
using Common = import "common.capnp";
using import "units.capnp".Weight;
using Fruit = Common.Fruit; using Kind = Fruit.Kind;
$Cxx.namespace("orchard");
$import "/capnp/java.capnp".package("org.example.orchard");

const pi :Float64 = 3.14159;
const greeting :Text = "struct Fake { a @0 :Int32; }";
const limits :List(Int32) = [1, 2, 3];
const defaultTree :Tree = (name = "Boskoop", height = 3.5);
const multi :Text =
  "a value on the next line";

annotation since @0xf5af06a1 (struct, field) :Text;
annotation unit(field) :Text;
annotation flag (*) :Void;

enum Ripeness @0xabc {
  unripe @0;
  ripe @1 $since("1.2");
  overripe @2;   # falls by itself
}
enum Small { one @0; two @1; }

struct Tree $since("1.0") {
  # A comment after the head is the documentation.
  name @0 :Text;
  height @1 :Float32 = 2.0;
  planted @2 :Common.Date;
  ripeness @3 :Ripeness = ripe;
  branches @4 :List(Branch);
  grid @5 :List(List(Int32)) = [[1, 2], [3]];
  parent @6 :Tree; children @7 :List(Tree);
  data @8 :Data = 0x"a1 40 33";
  any @9 :AnyPointer;
  map @10 :Common.Map(Text, Branch);
  note @11 :Text = "a \"quoted\" { brace";
  weight @16 :Weight $unit("kg");

  union {
    wild @12 :Void;
    grafted :group {
      stock @13 :Text;
      year @14 :UInt16;
    }
    seedling @15 :Fruit.Seed;
  }

  state :union {
    healthy @17 :Void;
    ill @18 :Text;
  }

  position :group {
    row @19 :UInt16;
    column @20 :UInt16;
  }

  struct Branch {
    length @0 :Float32;
    const maximum :Float32 = 9.5;
    enum Side { left @0; right @1; }
    side @1 :Side;
    interface Cutter {
      cut @0 (branch :Branch) -> ();
    }
  }

  using Age = UInt16;
  annotation local @0xaa00 (field) :Void;
}

struct Map(Key, Value) {
  entries @0 :List(Entry);
  struct Entry { key @0 :Key; value @1 :Value; }
}

struct Pair @0xd9f3a3f1cd34ad21 (First, Second) { first @0 :First; second @1 :Second; }
struct Empty {}
struct Spread
{
  field
    @0 :Text;
  long @1
    :List(
      Tree
    ) = [];
}
struct Compact{a@0:Int32;b@1:Text="x;y";c:group{d@2:Bool;}}

interface Robot @0xe1b2c3 extends (Common.Device, Named(Text)) {
  pick @0 (tree :Tree, count :UInt32 = 10) -> (basket :Basket, done :Bool);
  # Picks fruit.
  stop @1 ();
  status @2 () -> (battery :Float32);
  follow @3 (path :List(Position)) -> stream;
  subscribe @4 [T] (topic :Text, sink :Sink(T)) -> (handle :Handle);
  typed @5 Request -> Response;
  longMethod @6 (
      first :Text,
      second :Int32
    ) -> (
      third :Bool
    );
  annotated @7 () -> () $since("2.0");
  struct Position { x @0 :Int32; y @1 :Int32; }
  interface Sink(T) {
    write @0 (value :T) -> stream;
    end @1 ();
  }
  enum Error { full @0; stuck @1; }
}
interface Named(Name) {
  name @0 () -> (name :Name);
}
interface Basket extends (Named(Text)) {}

struct Request { which @0 :Text; }
struct Response { ok @0 :Bool; }
struct Deprecated @0xd00d $flag {
  old @0 :Text $flag;
  union { a @1 :Void; b @2 :Void; }
  # c @3 :Void;
  d @3 :Text; # e @4 :Text;
}
const last :Void = void;

# Not the documentation of what follows: it comes right after a definition.

# The press, which makes juice.
interface Press {
  fill @0 (fruit :List(Fruit)) -> (litres :Float32);
  # Fills the press.
  #
  # Says how much juice there will be.

  empty @1 () -> ();

  struct Setting {
    pressure @0 :Float32;  # in bar
    filter :union { none @1 :Void; fine @2 :Void; coarse @3 :Filter; }
    struct Filter { width @0 :Float32 = 0.5; }
  }
}
const defaultSetting :Press.Setting = (pressure = 2.5, filter = (none = void));
