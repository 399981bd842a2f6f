//// Kites and the wind that they need.

import gleam/int
import gleam/list.{filter, map}
import gleam/option.{type Option, None, Some}
import weather/wind.{type Wind, speed} as weather

/// The most that a line holds, in newtons.
pub const max_load = 900

const default_name = "kite // not a comment"

/// A kite of one kind.
pub type Kite {
  Delta(name: String, span: Float)
  Box(name: String, cells: Int, line: Option(Line))
  Paper
}

pub type Line {
  Line(length: Int, strength: Int)
}

pub opaque type Score {
  Score(points: Int)
}

pub type Pilots =
  List(String)

type Outcome(a) {
  Flew(a)
  Crashed(reason: String)
}

/// Whether a kite flies in a wind.
pub fn flies(kite: Kite, wind: Wind) -> Bool {
  let needed = case kite {
    Delta(span: span, ..) if span >. 2.0 -> 3
    Delta(..) -> 4
    Box(cells: cells, ..) -> 5 + cells
    Paper -> 1
  }
  speed(wind) >= needed
}

pub fn load(line: Line, pull: Int) -> Result(Int, String) {
  use checked <- check(pull)
  case checked > line.strength || checked > max_load {
    True -> Error("too much")
    False -> Ok(line.strength - checked)
  }
}

fn check(pull: Int, next: fn(Int) -> Result(Int, String)) -> Result(Int, String) {
  case pull < 0 {
    True -> Error("negative")
    False -> next(pull)
  }
}

pub fn names(kites: List(Kite)) -> Pilots {
  kites
  |> filter(fn(kite) { kite != Paper })
  |> map(name_of)
}

fn name_of(kite: Kite) -> String {
  case kite {
    Delta(name, ..) | Box(name, ..) -> name
    Paper -> default_name
  }
}

pub fn line_of(kite: Kite) -> Option(Line) {
  case kite {
    Box(line: line, ..) -> line
    _ -> None
  }
}

pub fn total(scores: List(Score)) -> Int {
  list.fold(scores, 0, fn(sum, score: Score) { sum + score.points })
}

pub fn award(points: Int) -> Score {
  Score(points: int.max(points, 0))
}

@external(erlang, "kite_ffi", "now")
@external(javascript, "./kite_ffi.mjs", "now")
pub fn now() -> Int

@deprecated("use flies")
pub fn can_fly(kite: Kite) -> Bool {
  flies(kite, weather.calm())
}

pub fn describe(outcome: Outcome(Kite)) -> String {
  case outcome {
    Flew(kite) -> name_of(kite) <> " flew"
    Crashed(reason) -> "crashed: " <> reason
  }
}

pub fn main() {
  let kite = Box("big", 4, Some(Line(length: 50, strength: 400)))
  let assert True = flies(kite, weather.calm())
  describe(Flew(kite))
}
