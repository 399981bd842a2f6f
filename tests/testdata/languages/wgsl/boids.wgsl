// Birds that follow each other.

struct Bird {
    position: vec2<f32>,
    velocity: vec2<f32>,
}

struct Settings {
    @align(16) separation: f32,
    cohesion: f32,
    count: u32,
}

struct VertexOutput {
    @builtin(position) position: vec4<f32>,
    @location(0) colour: vec3<f32>,
}

alias Birds = array<Bird>;

const PI: f32 = 3.14159;
const NEAR = 0.1;
override group_size: u32 = 64;

@group(0) @binding(0) var<uniform> settings: Settings;
@group(0) @binding(1) var<storage, read> before: array<Bird>;
@group(0) @binding(2) var<storage, read_write> after: array<Bird>;

var<workgroup> shared_positions: array<vec2<f32>, 64>;
var<private> seed: u32 = 1u;

// A number between 0 and 1.
fn random() -> f32 {
    seed = seed * 747796405u + 2891336453u;
    return f32(seed >> 8u) / 16777216.0;
}

fn angle_of(v: vec2<f32>) -> f32 {
    return atan2(v.y, v.x) / PI;
}

fn push_from(a: Bird, b: Bird) -> vec2<f32> {
    let away = a.position - b.position;
    if (length(away) > NEAR) {
        return vec2<f32>(0.0);
    }
    return away * settings.separation;
}

fn centre() -> vec2<f32> {
    var sum = vec2<f32>(0.0);
    for (var i = 0u; i < settings.count; i = i + 1u) {
        sum = sum + before[i].position;
    }
    return sum / f32(settings.count);
}

/* Moves each bird. */
@compute @workgroup_size(64)
fn simulate(@builtin(global_invocation_id) id: vec3<u32>) {
    let index = id.x;
    if (index >= settings.count) { return; }
    var bird = before[index];
    for (var i = 0u; i < settings.count; i++) {
        bird.velocity += push_from(bird, before[i]);
    }
    bird.velocity += (centre() - bird.position) * settings.cohesion * random();
    bird.position += bird.velocity;
    after[index] = bird;
}

@vertex
fn vertex_main(@location(0) corner: vec2<f32>, @builtin(instance_index) n: u32) -> VertexOutput {
    var out: VertexOutput;
    out.position = vec4<f32>(corner + before[n].position, 0.0, 1.0);
    out.colour = vec3<f32>(angle_of(before[n].velocity));
    return out;
}

@fragment
fn fragment_main(in: VertexOutput) -> @location(0) vec4<f32> {
    return vec4<f32>(in.colour, 1.0);
}
