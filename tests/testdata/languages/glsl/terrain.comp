#version 460 core
#extension GL_EXT_buffer_reference : require
#extension GL_KHR_shader_subgroup_arithmetic : enable
#pragma use_dxlayout(on)

// Terrain: erosion of a height field by water, in steps.

#include "noise.glsl"
#include <shared/random.glsl>

#ifndef TILE
#define TILE 16
#endif
#define CELL(p) cells[(p).y * size.x + (p).x]
#define FOR_NEIGHBOURS(name, body) \
    for (int name = 0; name < 4; ++name) { \
        body; \
    }

layout(local_size_x = TILE, local_size_y = TILE) in;
layout(constant_id = 3) const int ROUNDS = 4;

precision mediump int;

struct Cell {
    float ground, water;
    float sediment;
    vec2 flow[2];
};

struct Droplet { vec2 at; float speed; };

layout(std430, binding = 0) buffer Cells {
    Cell cells[];
};

layout(std430, set = 1, binding = 0) readonly buffer Droplets {
    uint count;
    Droplet droplets[];
} rain;

layout(std140, binding = 1) uniform Parameters
{
    ivec2 size;
    float evaporation;
    float hardness;
};

layout(push_constant) uniform Push { float delta; int step_; } push;

layout(buffer_reference, std430) buffer Chunk;
layout(buffer_reference, std430) buffer Chunk {
    Chunk next;
    uint values[64];
};

layout(binding = 2, r32f) uniform restrict writeonly image2D heightImage;
layout(binding = 3) uniform sampler2D masks[4];
uniform isampler2D labels; uniform usamplerBuffer table;
uniform struct Lamp { vec3 at; float power; } lamp, lamps[2];

shared float tile[TILE][TILE];
shared vec2 lows, highs;

const vec2 OFFSETS[4] = vec2[](vec2(1, 0), vec2(-1, 0), vec2(0, 1), vec2(0, -1));
const float GRAVITY = 9.81, FRICTION = 0.02;
float temperature = 12.0;

flat in int instance;
smooth out vec4 tint;
in Surface {
    vec3 normal;
    vec2 uv;
} surface[];
invariant gl_Position;

subroutine float Erosion(Cell cell);
subroutine uniform Erosion erosion;

// Prototypes; they are defined further down.
float slope(ivec2 at);
void settle(inout Cell cell, float amount);

subroutine(Erosion)
float hydraulic(Cell cell) { return cell.water * 0.1; }

subroutine(Erosion) float thermal(Cell cell)
{
    return max(0.0, cell.ground - hardness);
}

/*
 * The slope at a cell. Not a function: float notAFunction(int a) { return 1.0; }
 */
float slope(ivec2 at)
{
    float sum = 0.0;
    for (int i = 0; i < 4; i++) {
        ivec2 p = at + ivec2(OFFSETS[i]);
        sum += CELL(p).ground - CELL(at).ground;
    }
    return sum / 4.0;
}

void settle(inout Cell cell, float amount)
{
    const float most = cell.sediment;
    float moved = min(most, amount);
    cell.ground += moved;
    cell.sediment -= moved;
}

float mix3(float a, float b, float c) { return (a + b + c) / 3.0; }
float mix3(vec3 v) { return mix3(v.x, v.y, v.z); }

vec4[2] corners(const in vec2 at, highp float by)
{
    return vec4[2](vec4(at, 0, by), vec4(at, by, 0));
}

Cell
emptyCell(
    float ground,
    float water
)
{
    Cell cell;
    cell.ground = ground;
    cell.water = water;
    return cell;
}

#if defined(HIGH_QUALITY)
float roughness(vec2 at) {
    return fbm(at, 8);
}
#elif ROUGH_NOISE
float roughness(vec2 at) { return fbm(at, 2); }
#else
float roughness(vec2 at) { return 0.0; }
#endif

mat3 turn(float angle)
{
    float s = sin(angle), c = cos(angle);
    return mat3(c, -s, 0,
                s,  c, 0,
                0,  0, 1);
}

void store(ivec2 at)
{
    imageStore(heightImage, at, vec4(CELL(at).ground));
}

bool isInside(ivec2 at) {
    return all(greaterThanEqual(at, ivec2(0))) && all(lessThan(at, size));
}

void rainOn(uint index)
{
    Droplet drop = rain.droplets[index];
    switch (int(drop.speed)) {
    case 0:
        break;
    default:
        drop.at += OFFSETS[index % 4u] * drop.speed;
    }
    ivec2 at = ivec2(drop.at);
    if (!isInside(at)) return;
    CELL(at).water += 1.0;
}

void main()
{
    ivec2 at = ivec2(gl_GlobalInvocationID.xy);
    tile[gl_LocalInvocationID.y][gl_LocalInvocationID.x] = CELL(at).ground;
    memoryBarrierShared();
    barrier();

    if (gl_LocalInvocationIndex < rain.count) {
        rainOn(gl_LocalInvocationIndex);
    }
    for (int round_ = 0; round_ < ROUNDS; ++round_) {
        Cell cell = CELL(at);
        float amount = erosion(cell) * slope(at) * push.delta;
        settle(cell, amount + roughness(vec2(at)));
        cell.water *= 1.0 - evaporation;
        CELL(at) = cell;
        barrier();
    }
    store(at);
}
