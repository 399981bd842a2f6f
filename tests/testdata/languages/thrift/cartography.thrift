/*
 * The service that draws maps.
 * struct InComment { 1: i32 x }
 */
include "geometry/shapes.thrift"
include "common.thrift"
cpp_include "tiles/cache.h"

namespace cpp2 example.cartography.v3
namespace java.swift com.example.cartography
namespace go cartography
namespace * cartography
php_namespace "old"

const string VERSION = "3.0; struct Fake { 1: i32 a }"
const double EARTH_RADIUS_KM = 6371.0088
const i64 MAX_TILE_BYTES = 0x7fffffffffffffff;
const set<Layer> DEFAULT_LAYERS = [
  Layer.ROADS,
  Layer.WATER,
]
const map<Layer, list<shapes.Color>> PALETTE = {
  Layer.ROADS: [{"red": 255, "green": 0}],
  Layer.WATER : [],
}
const shapes.Point ORIGIN = {"lat": 0.0, "lon": 0.0}

typedef string (cpp.type = "folly::fbstring") TileKey
typedef map<TileKey, map<i32, list<binary>>> TileStore (deprecated)
typedef binary Png

/** What can be drawn. */
enum Layer {
  UNKNOWN = 0,
  /** Streets and paths. */
  ROADS = 1 (description = "all ways"),
  WATER = 2; // rivers too
  BUILDINGS
  HILLSHADE = -1,
} (cpp.enum_type = "int16_t")

senum Projection { "mercator", "conic" }

struct Tile {
  1: required i32 zoom (go.tag = 'json:"z,omitempty"'),
  2: required i32 x,
  3: required i32 y;
  # drawn in this order
  4: list<Layer> layers = DEFAULT_LAYERS;
  5: optional map<string, list<shapes.Polygon>> (cpp.template = "std::unordered_map") outlines
  6: optional Png image = "struct { not: this }"
  7: i64 rendered_at = 0,
  8: bool is_stale = false
  9: set<string> sources = ["survey", "aerial"] (
       max_size = "10",
       note = "from the newest"
     )
  10: optional Tile & parent
  -1: string legacy_key;
  11: uuid id
  12: list<list<list<double>>> contours
} (
  python.immutable = "",
  sorted = "true"
)

struct Empty {}
struct Pair{1:i32 first,2:i32 second}

/// A part of the world.
@common.Uri{value = "example.com/cartography/Extent"}
@common.Deprecated
struct Extent {
  @common.Range{low = -90, high = 90}
  1: double south;
  @common.Box
  2: optional Extent inner;
}

union Style {
  1: string name
  2: binary compiled
  3: map<Layer, string> by_layer
}

exception TileNotFound {
  1: TileKey key
  2: optional string reason = "No tile; try (later)"
} (message = "reason")

// What every server answers.
service Base {
  void ping()
  string version () (deprecated = "use VERSION"),
}

/** Draws. */
service Cartographer extends common.Health {
  /**
   * One tile.
   */
  Png render(
    1: required Tile tile,
    2: Style style = {"name": "plain"},
    // in this order
    3: list<Layer> layers (max = "8"),
  ) throws (
    1: TileNotFound missing,
    2: common.Overload busy
  ) (cpp.coroutine, priority = "HIGH")

  map<TileKey, list<Tile>> batch(1: set<TileKey> keys) throws (1: TileNotFound missing);
  oneway void invalidate(1: Extent extent),
  list<map<string, shapes.Point>> landmarks(1: Extent within, 2: i32 limit = 100)
  async void legacy_async(1: i32 a)
  stream<Tile> subscribe(1: Extent extent) throws (1: common.Overload busy)
  i32, sink<Tile, i64> upload(1: string name)
  performs Session
  Session openSession(1: string user)
  TileStore dump(); bool is_ready()
}

interaction Session {
  void draw(1: Style style)
  oneway void close()
}

service Admin{void drop(1:TileKey key),i64 size()}

exception Overload { 1: i32 retry_after }
