#version 450
#extension GL_ARB_separate_shader_objects : enable
#include "noise.glsl"

#define MAX_WAVES 8
#define SQUARE(x) ((x) * (x))

precision highp float;

layout(location = 0) in vec3 position;
layout(location = 1) in vec2 uv;
layout(location = 0) out vec4 colour;

layout(set = 0, binding = 0) uniform Frame {
    mat4 view;
    mat4 projection;
    vec4 sun;
} frame;

uniform sampler2D foam;
uniform float time;

const float PI = 3.14159;
const vec3 DEEP = vec3(0.0, 0.1, 0.3);

// One wave of the surface.
struct Wave {
    vec2 direction;
    float length;
    float height;
};

uniform Wave waves[MAX_WAVES];

float phase(Wave wave, vec2 at) {
    return dot(wave.direction, at) * 2.0 * PI / wave.length + time;
}

/* The height of the surface
   at a point. */
float heightAt(vec2 at) {
    float sum = 0.0;
    for (int i = 0; i < MAX_WAVES; i++) {
        sum += waves[i].height * sin(phase(waves[i], at));
    }
    return sum;
}

vec3 normalAt(in vec2 at) {
    const float d = 0.01;
    float dx = heightAt(at + vec2(d, 0.0)) - heightAt(at);
    float dy = heightAt(at + vec2(0.0, d)) - heightAt(at);
    return normalize(vec3(-dx, d, -dy));
}

float fresnel(vec3 normal, vec3 view) {
    return SQUARE(1.0 - max(dot(normal, view), 0.0));
}

void shade(out vec4 result, inout float depth) {
    vec3 normal = normalAt(position.xz);
    vec3 view = normalize((frame.view * vec4(position, 1.0)).xyz);
    float light = max(dot(normal, frame.sun.xyz), 0.0);
    result = vec4(mix(DEEP, vec3(1.0), fresnel(normal, view) * light), 1.0);
    result += texture(foam, uv) * noise(position.xz);
    depth = heightAt(position.xz);
}

#ifdef SHOW_NORMALS
vec4 debugColour() { return vec4(normalAt(position.xz), 1.0); }
#endif

void main() {
    float depth = 0.0;
    shade(colour, depth);
#ifdef SHOW_NORMALS
    colour = debugColour();
#endif
    if (depth < -2.0) {
        discard;
    }
}
