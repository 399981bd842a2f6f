//// Simulates a coral reef.
////
////     pub fn in_documentation() { 1 }

import gleam/dict.{type Dict}
import gleam/dynamic/decode
import gleam/erlang/process.{
  type Subject,
  send as tell,
}
import gleam/otp/actor
import gleam/string as text
import gleam/string_tree
import reef/internal/tide.{Ebb, Flood}
@target(erlang)
import reef/clock

// Constants

pub const depth_limit: Int = 60

const names = [
  "brain", // pub const hidden = 1
  "staghorn",
]

const start = #(0, 0.5, Polyp("first", 1))

@internal
pub const version = "pub fn fake() { 2 }"

/// A place in the reef.
///
/// Counted from the lagoon.
pub type Cell {
  /// Nothing grows.
  Sand
  Coral(species: Species, age: Int)
  Fish(name: String, hunger: fn(Int) -> Float)
  Unnamed(Int, Cell)
}

pub type Species {
  Species(
    name: String,
    /// In millimetres a year.
    growth: Float,
    needs: List(#(String, Result(Int, Nil))),
  )
}

pub opaque type Reef(content, error) {
  Reef(cells: Dict(#(Int, Int), content), errors: List(error), step: Int)
}

pub type Message(reply) {
  Step(Subject(reply))
  Stop
}

type Polyp { Polyp(name: String, arms: Int) }

pub type Handle

@external(erlang, "ets", "tid")
pub type Table(key, value)

pub type Grid =
  Dict(#(Int, Int), Cell)

type Callback(a) = fn(a, Int) -> Result(a, String)

@deprecated("Use `new` instead")
pub fn empty() -> Reef(Cell, e) {
  new(from: dict.new(), at: 0)
}

/// Makes a reef.
pub fn new(
  from cells: Grid,
  at step: Int,
) -> Reef(Cell, e) {
  Reef(cells: cells, errors: [], step: step)
}

pub fn step(reef: Reef(Cell, String), times n: Int) -> Reef(Cell, String) {
  use <- guard(n > 0, reef)
  let grow = fn(cell) {
    case cell {
      Coral(age: age, ..) as coral if age < depth_limit && n >= 1 ->
        Coral(..coral, age: age + 1)
      Fish(..) | Sand -> cell
      other -> other
    }
  }
  let Reef(cells:, errors:, step:) = reef
  let assert Ok(first) = dict.get(cells, #(0, 0))
  echo first
  Reef(
    cells: cells |> dict.map_values(fn(_key, cell) { grow(cell) }),
    errors:,
    step: step + 1,
  )
  |> step(times: n - 1)
}

fn guard(condition: Bool, value: a, otherwise: fn() -> a) -> a {
  case condition {
    True -> otherwise()
    False -> value
  }
}

pub fn handle(message: Message(Int), state: Int) -> actor.Next(Message(Int), Int) {
  case message {
    Step(client) -> {
      tell(client, state + 1)
      actor.continue(state + 1)
    }
    Stop -> actor.Stop(process.Normal)
  }
}

/// Seconds since the start.
@external(erlang, "reef_ffi", "now")
@external(javascript, "../reef_ffi.mjs", "now")
pub fn now() -> Int

@external(javascript, "./random.mjs", "random")
fn random(below limit: Int) -> Int {
  limit / 2
}

@target(javascript)
pub fn render(reef: Reef(Cell, e)) -> String {
  "
  pub type Fake { Fake }
  fn fake() { \"no\" }
  "
  <> text.inspect(reef.step)
}

pub fn decoder() -> decode.Decoder(Species) {
  use name <- decode.field("name", decode.string)
  use growth <- decode.optional_field("growth", 0.5, decode.float)
  decode.success(Species(name:, growth:, needs: []))
}

pub fn header(bits: BitArray) -> Result(#(Int, BitArray), Nil) {
  case bits {
    <<"REEF":utf8, size:size(16)-little-unsigned, rest:bytes>> -> Ok(#(size, rest))
    _ -> Error(Nil)
  }
}

pub fn todo_list() {
  todo as "fn later() {}"
}

fn compose(f: fn(a) -> b, g: fn(b) -> c) -> fn(a) -> c {
  fn(x) { x |> f |> g }
}

pub fn spawned_test() {
  let subject = process.new_subject()
  assert step(empty(), times: 1).step == 1
  let _ = compose(tide.level, int_of)
  panic as "unreachable"
}

fn int_of(x: Float) -> Int { let y = x
  todo }
