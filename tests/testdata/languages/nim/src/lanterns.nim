## Lanterns along a path.

import std/[strutils, tables]
import math, ./colours
import ../storage/files as store
from os import fileExists, walkDir
include settings

const
  maxLanterns* = 64
  defaultColour = "warm # not a comment"

let started = now()
var count*, broken: int

type
  ## How bright a lantern is.
  Level* = enum
    off, dim = 3, bright

  Lantern* = ref object of RootObj
    name*: string
    level: Level
    x, y: float

  Gas* = ref object of Lantern
    pressure*: float

  Place = tuple[x: float, y: float]
  Lanterns* = seq[Lantern]
  Id* = distinct int

  Switchable* = concept s
    s.toggle()

  Shape = object
    case kind: Level
    of off: discard
    else: radius: float

# Makes a lantern.
proc newLantern*(name: string, x, y = 0.0): Lantern =
  ## Returns a lantern that is off.
  result = Lantern(name: name, level: off, x: x, y: y)
  inc count

func distance(a, b: Lantern): float =
  proc square(n: float): float = n * n
  sqrt(square(a.x - b.x) + square(a.y - b.y))

method toggle*(self: Lantern) {.base.} =
  self.level = if self.level == off: bright else: off

method toggle*(self: Gas) =
  if self.pressure > 0.5:
    procCall self.Lantern.toggle()

proc `$`*(lantern: Lantern): string =
  lantern.name & ": " & $lantern.level

proc `==`(a, b: Id): bool {.borrow.}

iterator lit*(all: Lanterns): Lantern =
  for lantern in all:
    if lantern.level != off:
      yield lantern

template withAll*(all: Lanterns, body: untyped) =
  for it {.inject.} in all:
    body

macro define*(names: varargs[untyped]): untyped =
  result = newStmtList()
  for name in names:
    result.add quote do:
      var `name` = newLantern("x")

converter toFloat(id: Id): float = float(int(id))

proc load(path: string): Lanterns =
  if not fileExists(path):
    raise newException(IOError, "no file: proc notCode()")
  let text = store.read(path)
  for line in text.splitLines:
    let parts = line.split(';')
    result.add newLantern(parts[0], parseFloat(parts[1]))

#[ proc commentedOut() = discard #[ nested ]# ]#

when isMainModule:
  proc demo() =
    var all = load("lanterns.csv")
    all.withAll:
      it.toggle()
    for lantern in all.lit:
      echo lantern, distance(lantern, all[0])

  demo()
