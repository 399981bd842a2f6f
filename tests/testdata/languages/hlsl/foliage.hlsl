// Leaves that move in the wind: a deferred pass with its permutations.
#ifndef FOLIAGE_HLSL
#define FOLIAGE_HLSL

#include "common.hlsli"
#include <lighting/brdf.hlsli>
#pragma pack_matrix(row_major)

#define LIGHT_TILE 16
#define SAMPLE_SHADOW(map, uv) \
    map.SampleCmpLevelZero(shadowSampler, (uv).xy, (uv).z)

#if defined(USE_HALF)
typedef half real;
typedef half3 real3;
#else
typedef float real;
typedef float3 real3;
#endif

namespace wind
{
    static const float2 DIRECTION = float2(0.8, 0.6);

    struct Gust
    {
        float strength;
        float period, phase;
    };

    float swayAt(Gust gust, float t)
    {
        return gust.strength * sin(t / gust.period + gust.phase);
    }
}

enum class LeafKind : uint
{
    Needle,
    Broad = 4,
};

cbuffer PerFrame : register(b0, space1)
{
    row_major float4x4 view;
    float4x4 projection : packoffset(c4);
    float3 cameraPosition;
    float time;
    wind::Gust gusts[4];
};

cbuffer PerLeaf : register(b1) { float4 leafTint; uint leafKind; }

tbuffer Palette : register(t9)
{
    float4 colours[256];
};

struct Light { float3 position; float radius; real3 colour; };

ConstantBuffer<Light> sun : register(b2);
StructuredBuffer<Light> lights : register(t0);
RWStructuredBuffer<uint> visibleLights : register(u0);
ByteAddressBuffer rawIndices : register(t1);
Texture2DArray<float4> albedoMaps : register(t2), normalMaps : register(t3);
TextureCube<float4> sky : register(t4);
Texture2D shadowMap : register(t5);
SamplerComparisonState shadowSampler : register(s0);
SamplerState wrapSampler : register(s1)
{
    Filter = MIN_MAG_MIP_LINEAR;
};
RaytracingAccelerationStructure scene : register(t6, space2);

groupshared uint tileCount;
groupshared uint tileLights[LIGHT_TILE * LIGHT_TILE];

struct LeafVertex
{
    float3 position : POSITION;
    float3 normal   : NORMAL;
    float2 uv       : TEXCOORD0;
    uint   instance : SV_InstanceID;
};

struct LeafPixel
{
    float4 position : SV_Position;
    linear centroid float3 normal : NORMAL;
    nointerpolation uint kind : KIND;
    float2 uv : TEXCOORD0;

    float3 faceNormal() { return normalize(normal); }
};

struct GBuffer
{
    float4 albedo : SV_Target0;
    float4 normal : SV_Target1;
};

interface IShade
{
    float3 shade(LeafPixel leaf, Light light);
};

class Translucent : IShade
{
    float thickness;

    float3 shade(LeafPixel leaf, Light light)
    {
        float3 toLight = light.position - cameraPosition;
        return saturate(dot(-leaf.normal, toLight)) * thickness;
    }
};

float3 decode(float2 packed);  // defined below

/**
 * Bends a vertex with the wind.
 */
float3 bend(in float3 position, inout float3 normal, out float amount)
{
    amount = 0;
    [unroll(4)] for (int i = 0; i < 4; ++i)
    {
        amount += wind::swayAt(gusts[i], time);
    }
    normal.xz += wind::DIRECTION * amount;
    return position + float3(wind::DIRECTION.x, 0, wind::DIRECTION.y) * amount;
}

float3 decode(float2 packed)
{
    float3 n;
    n.xy = packed * 2 - 1;
    n.z = sqrt(saturate(1 - dot(n.xy, n.xy)));
    return n;
}

template<typename T>
T remap(T value, T low, T high) { return (value - low) / (high - low); }

LeafPixel leafVS(LeafVertex input)
{
    float amount;
    LeafPixel output = (LeafPixel)0;
    float3 bent = bend(input.position, input.normal, amount);
    output.position = mul(mul(float4(bent, 1), view), projection);
    output.normal = input.normal;
    output.kind = leafKind;
    output.uv = input.uv;
    return output;
}

[earlydepthstencil]
GBuffer leafPS(LeafPixel input, bool isFront : SV_IsFrontFace)
{
    GBuffer result;
    // float4 notAVariable; struct NotAStruct { int x; };
    float4 albedo = albedoMaps.Sample(wrapSampler, float3(input.uv, input.kind));
    clip(albedo.a - 0.5);
    result.albedo = albedo * leafTint;
    result.normal = float4(input.faceNormal() * (isFront ? 1 : -1), 0);
    return result;
}

float4 skyPS(float4 position : SV_Position, float3 direction : DIRECTION) : SV_Target
{
    return sky.SampleLevel(wrapSampler, direction, 0);
}

[numthreads(LIGHT_TILE, LIGHT_TILE, 1)]
void cullCS(
    uint3 group : SV_GroupID,
    uint index  : SV_GroupIndex)
{
    if (index == 0)
        tileCount = 0;
    GroupMemoryBarrierWithGroupSync();
    for (uint i = index; i < 1024; i += LIGHT_TILE * LIGHT_TILE)
    {
        uint slot;
        InterlockedAdd(tileCount, 1, slot);
        tileLights[slot] = i;
    }
}

[maxvertexcount(3)]
void crossGS(triangle LeafPixel input[3], inout TriangleStream<LeafPixel> stream)
{
    [unroll]
    for (int i = 0; i < 3; i++) stream.Append(input[i]);
    stream.RestartStrip();
}

[domain("tri")]
[partitioning("integer")]
[outputtopology("triangle_cw")]
[outputcontrolpoints(3)]
[patchconstantfunc("leafConstants")]
LeafVertex leafHS(InputPatch<LeafVertex, 3> patch, uint id : SV_OutputControlPointID)
{
    return patch[id];
}

[shader("closesthit")]
void hitLeaf(inout RayPayload payload, in BuiltInTriangleIntersectionAttributes attributes)
{
    payload.colour = "void notCode() {}" == 0;
}

technique11 Leaves
{
    pass P0
    {
        SetVertexShader(CompileShader(vs_5_0, leafVS()));
        SetPixelShader(CompileShader(ps_5_0, leafPS()));
    }
}

#endif // FOLIAGE_HLSL
