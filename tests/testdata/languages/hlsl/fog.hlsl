// Fog over a landscape.
#include "common.hlsli"

#define STEPS 32

cbuffer Camera : register(b0)
{
    float4x4 viewProjection;
    float3 eye;
    float far;
};

Texture2D heights : register(t0);
SamplerState linearSampler : register(s0);
RWTexture2D<float4> target : register(u0);

static const float DENSITY = 0.02;

struct VertexInput
{
    float3 position : POSITION;
    float2 uv : TEXCOORD0;
};

struct PixelInput
{
    float4 position : SV_POSITION;
    float2 uv : TEXCOORD0;
    float depth : DEPTH;
};

// How much fog is at a height.
float densityAt(float height)
{
    return DENSITY * exp(-height);
}

float march(float3 from, float3 direction)
{
    float sum = 0;
    [loop]
    for (int i = 0; i < STEPS; i++)
    {
        from += direction * (far / STEPS);
        sum += densityAt(from.y);
    }
    return saturate(sum);
}

PixelInput vertexMain(VertexInput input)
{
    PixelInput output;
    output.position = mul(viewProjection, float4(input.position, 1));
    output.uv = input.uv;
    output.depth = output.position.z;
    return output;
}

float4 pixelMain(PixelInput input) : SV_TARGET
{
    float height = heights.Sample(linearSampler, input.uv).r;
    float3 direction = normalize(float3(input.uv, height) - eye);
    return lerp(float4(height, height, height, 1), float4(1, 1, 1, 1), march(eye, direction));
}

float4 tint(float4 colour, float amount) { return colour * amount; }

[numthreads(8, 8, 1)]
void computeMain(uint3 id : SV_DispatchThreadID)
{
    target[id.xy] = tint(target[id.xy], densityAt(0));
}
