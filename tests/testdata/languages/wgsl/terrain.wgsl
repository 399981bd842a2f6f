// Tiles of a terrain: levels of detail, shadows and water.
enable f16;
requires readonly_and_readwrite_storage_textures;
diagnostic(off, derivative_uniformity);

const TILE_SIZE = 64u;
const EDGE: u32 = TILE_SIZE + 1;
const UP = vec3f(0.0, 1.0, 0.0);
const CORNERS = array<vec2f, 4>(
    vec2f(0.0, 0.0),
    vec2f(1.0, 0.0),
    vec2f(0.0, 1.0),
    vec2f(1.0, 1.0),
);
const_assert TILE_SIZE % 8u == 0u;

@id(1) override shadow_taps: u32 = 4;
@id(2) override has_water: bool;
override height_scale = 2.0;

alias Vertex = vec4<f32>;
alias Heights = array<f32, 4096>;

/* A tile is drawn at one level.
   /* Comments nest: struct NotAStruct { a: u32 } */
   It begins at its corner. */
struct Tile {
    corner: vec2<i32>,
    level: u32,
    @size(16) bounds: vec2<f32>,
    @align(16)
    neighbours: array<u32, 4>,
}

struct Camera {
    view: mat4x4<f32>, projection: mat4x4<f32>,
    eye: vec3<f32>,
    planes: array<vec4<f32>, 6>,
};

struct Counter { visible: atomic<u32>, hidden: atomic<u32> }

struct TerrainVertex {
    @builtin(position) clip: vec4f,
    @location(0) world: vec3f,
    @location(1) @interpolate(flat) level: u32,
    @location(2) uv: vec2f,
}

@group(0) @binding(0) var<uniform> camera: Camera;
@group(0) @binding(1) var<storage, read> tiles: array<Tile>;
@group(0) @binding(2)
var<storage, read_write> counter: Counter;
@group(1) @binding(0) var height_map: texture_2d<f32>;
@group(1) @binding(1) var height_sampler: sampler;
@group(1) @binding(2) var shadow_map: texture_depth_2d_array;
@group(1) @binding(3) var shadow_sampler: sampler_comparison;
@group(1) @binding(4) var normals: texture_storage_2d<rgba8unorm, write>;
@group(2) @binding(0) var<storage, read_write> visible_tiles: array<u32>; @group(2) @binding(1) var<uniform> sun: vec3f;

var<workgroup> heights: Heights;
var<workgroup> lowest: atomic<i32>;
var<private> cascade: u32;

fn height_at(uv: vec2f) -> f32 {
    return textureSampleLevel(height_map, height_sampler, uv, 0.0).r * height_scale;
}

// The normal from the heights around a point; fn not_here() -> f32 { return 0.0; }
fn normal_at(uv: vec2f) -> vec3f {
    const step = 1.0 / 4096.0;
    let left = height_at(uv - vec2f(step, 0.0));
    let right = height_at(uv + vec2f(step, 0.0));
    let below = height_at(uv - vec2f(0.0, step));
    let above = height_at(uv + vec2f(0.0, step));
    return normalize(vec3f(left - right, 2.0, below - above));
}

fn is_visible(tile: Tile) -> bool {
    let corner = vec3f(f32(tile.corner.x), tile.bounds.x, f32(tile.corner.y));
    for (var i = 0u; i < 6u; i++) {
        let plane = camera.planes[i];
        if dot(plane.xyz, corner) + plane.w < -f32(TILE_SIZE << tile.level) {
            return false;
        }
    }
    return true;
}

@must_use
fn level_of(
    distance: f32,
    most: u32,
) -> u32 {
    var level: u32 = 0;
    var reach = f32(TILE_SIZE);
    loop {
        if reach > distance || level == most { break; }
        continuing {
            reach *= 2.0;
            level += 1u;
        }
    }
    return level;
}

fn swap(a: ptr<function, f32>, b: ptr<function, f32>) {
    let saved = *a;
    *a = *b;
    *b = saved;
}

fn square(x: f32) -> f32 { return x * x; } fn cube(x: f32) -> f32 { return x * x * x; }

fn shadow(world: vec3f, layer: u32) -> f32 {
    var lit = 0.0;
    for (var tap = 0u; tap < shadow_taps; tap += 1u) {
        let offset = CORNERS[tap % 4u] / 2048.0;
        lit += textureSampleCompareLevel(
            shadow_map, shadow_sampler, world.xz + offset, layer, world.y);
    }
    return lit / f32(shadow_taps);
}

fn water(world: vec3f) -> vec4f {
    switch cascade {
        case 0u, 1u: { return vec4f(0.0, 0.2, 0.4, 0.8); }
        default: { return vec4f(0.0); }
    }
}

@compute @workgroup_size(8, 8)
fn fill_heights(
    @builtin(local_invocation_id) local: vec3u,
    @builtin(workgroup_id) group: vec3u
) {
    let index = local.y * TILE_SIZE + local.x;
    heights[index] = height_at(vec2f(local.xy) / f32(EDGE));
    workgroupBarrier();
    if index == 0u {
        atomicStore(&lowest, i32(heights[0]));
    }
    textureStore(normals, vec2i(local.xy), vec4f(normal_at(vec2f(local.xy)), 1.0));
}

@compute
@workgroup_size(64)
fn cull(@builtin(global_invocation_id) id: vec3u)
{
    if id.x >= arrayLength(&tiles) { return; }
    if is_visible(tiles[id.x]) {
        let slot = atomicAdd(&counter.visible, 1u);
        visible_tiles[slot] = id.x;
    } else {
        atomicAdd(&counter.hidden, 1u);
    }
}

@vertex fn terrain_vertex(@location(0) position: vec2f, @builtin(instance_index) n: u32) -> TerrainVertex {
    let tile = tiles[visible_tiles[n]];
    let uv = position / f32(TILE_SIZE);
    var result: TerrainVertex;
    result.world = vec3f(position.x, height_at(uv), position.y);
    result.clip = camera.projection * camera.view * vec4f(result.world, 1.0);
    result.level = tile.level;
    result.uv = uv;
    return result;
}

@fragment
fn terrain_fragment(in: TerrainVertex) -> @location(0) vec4f {
    let normal = normal_at(in.uv);
    let light = max(dot(normal, sun), 0.0) * shadow(in.world, in.level);
    if has_water && in.world.y < 0.0 {
        return water(in.world);
    }
    return vec4f(vec3f(light), 1.0);
}
