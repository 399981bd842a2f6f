#!/usr/bin/env -S nim r
## Lays mosaics from tiles.
## proc fake*() = discard
{.push raises: [].}
{.experimental: "strictFuncs".}

import std / [os, strformat, sequtils], std/json
import std/tables except pairs
import pkg/chronos/apps/http as httpapps
from std/times import now, `-`, Duration
from ./grout import nil
include "prelude.nim"
export tables, json.parseJson
when defined(windows):
  import winim
else:
  import posix except Time

const
  Version* {.strdefine.} = "1.0"
  sizes = [1, 2,
           3]
  (low, high) = (0, 255)
  fakeText = """
type NotAType = object
proc notAProc() = discard
"""

let
  startedAt* = now()
  rawPattern = r"proc raw() ="
  (width, height) = (10, 20)
var
  cache {.threadvar.}: Table[string, int]
  a, b*: float = 1.0
  callback*: proc (tile: Tile): bool {.closure, gcsafe.} = nil

type
  Colour* {.pure, size: sizeof(cint).} = enum ## What a tile looks like.
    red = "rouge", green, ## Between red and blue.
    blue = (7, "bleu")
  Tile* {.inheritable.} = object
    id*: int               ## Unique.
    colour*, second: Colour
    `type`*: string
    case glazed*: bool
    of true:
      shine: float
      layers: seq[int]
    of false: discard
    when defined(debug):
      trace: string
  TileRef* = ref Tile
  Broken* = ref object of CatchableError
    code*: cint
  Grid*[T; W, H: static[int]] = object
    cells: array[W * H, T]
  Pair[A, B] = tuple[first: A, second: B]
  Layer = (int, string)
  Visitor*[T] = proc (item: var T; depth = 0): bool {.nimcall.}
  Millimetre* = distinct float
  Small = range[0 .. 9]
  Flags = set[Colour]
  Drawable* = concept d, var v
    d.draw() is string
    v.reset()
  Number = SomeInteger | SomeFloat
  Handle {.importc: "struct handle", header: "<mosaic.h>", incompleteStruct.} = object
  Node = ref object
    case leaf: bool
    of true: value: int
    else:
      left, right: Node
  Empty = object

proc forward*(t: Tile): int {.gcsafe.}
proc c_draw(x: cint): cint {.importc: "draw", dynlib: "libmosaic.so", cdecl.}

func area*(w, h: float): Millimetre {.inline.} = Millimetre(w * h)
func `+`*(a, b: Millimetre): Millimetre {.borrow.}
func `==`(a, b: Tile): bool = a.id == b.id
proc `[]=`*[T; W, H](g: var Grid[T, W, H]; x, y: int; value: T) =
  g.cells[y * W + x] = value
proc `colour=`*(t: var Tile, c: Colour) = t.colour = c
proc `=destroy`(t: var Tile) = discard

proc initTile*(id: int,
               colour: Colour = red;
               glazed = false): Tile
              {.raises: [ValueError].} =
  ## Makes a tile.
  ##
  ## .. code-block:: nim
  ##   proc inDoc() = discard
  runnableExamples:
    let t = initTile(1)
    proc inExample() = discard
  proc check(n: int): bool =
    func twice(x: int): int = x * 2
    result = twice(n) > 0
  const localConst = 3
  type LocalType = object
  var local = id
  if not check(local): raise newException(ValueError, "proc inString() =")
  result = Tile(id: id, colour: colour, glazed: glazed)

proc forward*(t: Tile): int =
  case t.colour
  of red: 1
  of green, blue: 2

method draw*(t: TileRef): string {.base.} = fmt"{t.id}: {t.colour}"
method draw(b: Broken): string = "broken"

iterator tiles*(count: int): Tile {.closure.} =
  for i in 0 ..< count:
    yield initTile(i)

iterator `..<`(a, b: Tile): int = yield a.id

converter toFloat*(m: Millimetre): float = float(m)

template withGrid*(g: untyped; body: untyped): untyped =
  block:
    proc inTemplate() {.inject.} = discard
    let g {.inject.} = 1
    body

template `?`(x: untyped): untyped = x
macro tileDsl*(name: static string; body: untyped): untyped =
  result = newStmtList()
  for child in body:
    result.add quote do:
      proc generated() = echo `child`

proc fetch*(url: string): Future[JsonNode] {.async.} =
  try:
    let text = await get(url)
    return parseJson(text)
  except CatchableError as e:
    echo e.msg
  finally: discard

proc generic[T: Number | string](x: T): T {.discardable.} = x
proc variadic(args: varargs[string, `$`]) = discard
proc noReturn() {.noreturn.} = quit 1
proc `type`*(t: Tile): string = t.`type`
proc snake_case_name*(): int = 1

#[ proc commented() =
   #[ nested ]# discard
]#
discard """
proc inDiscard() = discard
"""

when isMainModule:
  import std/parseopt
  proc main() =
    var p = initOptParser()
    for kind, key, value in p.getopt():
      echo key
  main()
elif defined(js):
  proc jsMain*() {.exportc.} = discard

static:
  proc atCompileTime() = discard

suite "tiles":
  setup:
    let t = initTile(1)

  test "a tile has an id":
    check t.id == 1

  test "converter":
    proc helper(): float = Millimetre(2.0)
    check helper() == 2.0
{.pop.}
