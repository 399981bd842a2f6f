"""Languages of graphics processors: CUDA, GLSL and HLSL are C and C++ with more words; WGSL has a form of its own."""

import re
from typing import Final

from msgspec.structs import replace

from codecompass.languages import c, cpp
from codecompass.languages.c import C_RULES, C
from codecompass.languages.cpp import CPP, CPP_RULES
from codecompass.languages.display import DECORATORS, Display
from codecompass.languages.language import Language
from codecompass.languages.uses.lexical_rules import LexicalRules
from codecompass.languages.uses.patterns import BLOCK, NAME, SLASHES, any_of, declared, named_value
from codecompass.languages.walk.heads import heads
from codecompass.languages.walk.node_rules import defines
from codecompass.languages.words import word_set
from codecompass.languages.written_types import WrittenTypes

_VECTORS: Final = (
    "vec2 vec3 vec4 ivec2 ivec3 ivec4 uvec2 uvec3 uvec4 bvec2 bvec3 bvec4 mat2 mat3 mat4 sampler2D sampler3D samplerCube "
    "float2 float3 float4 int2 int3 int4 uint2 uint3 uint4 float2x2 float3x3 float4x4 half half2 half3 half4 "
)


def _cuda_words() -> LexicalRules:
    rules = cpp.lexical_rules()
    words = word_set("__global__ __device__ __host__ __shared__ __constant__ __managed__ __restrict__ __launch_bounds__")
    return replace(rules, keywords=rules.keywords | words)


def _glsl_words() -> LexicalRules:
    rules = c.lexical_rules()
    words = word_set(
        _VECTORS, "in out inout uniform varying attribute layout buffer shared precision highp mediump lowp flat discard"
    )
    return replace(rules, keywords=rules.keywords | words, family="shader")


def _hlsl_words() -> LexicalRules:
    rules = cpp.lexical_rules()
    words = word_set(
        _VECTORS, "cbuffer tbuffer register packoffset groupshared in out inout uniform numthreads SamplerState Texture2D"
    )
    return replace(rules, keywords=rules.keywords | words, family="shader")


def _wgsl_words() -> LexicalRules:
    return LexicalRules(
        family="wgsl",
        comments_and_strings=any_of(SLASHES, BLOCK),
        name=NAME,
        keywords=word_set(
            _VECTORS,
            "alias array atomic bool break case const const_assert continue continuing default diagnostic discard else enable",
            "f16 f32 false fn for function i32 if let loop mat3x3 mat4x4 override private ptr return storage struct switch true",
            "u32 uniform var while workgroup",
        ),
        declarations=(named_value(), declared(r"\bconst\s++(?P<names>\w++)[ \t]*+=(?P<value>[^\n;]*+)", mark="const")),
    )


_OLDER: Final = {type_: rule for type_, rule in CPP_RULES.items() if type_ not in ("export_declaration", "import_declaration")}
"""The rules for the C++ that the grammars know, which have no modules."""

_REGISTER: Final = re.compile(rb":\s*(?:register|packoffset)\s*\([^()\n]*\)")


def _plain(source: bytes) -> bytes:
    """Returns the source with a structure in place of a buffer of constants, and without the registers."""
    text = _REGISTER.sub(lambda match: b" " * len(match[0]), source)
    return re.sub(rb"^([ \t]*)[ct]buffer\b", rb"\1struct ", text, flags=re.MULTILINE)


_CONSTANT: Final = re.compile(rb"^(?P<indent>)(?P<word>const)[ \t]+(?P<name>\w+)", re.MULTILINE)

_PLACE: Final = re.compile(rb"\b__(?:global|device|host|constant|shared|managed|grid_constant)__\b")


def _with_places(source: bytes) -> bytes:
    """Returns the source as for C++, with the words that say where a function runs and where a variable is, which the grammar
    knows and a reader wants in the signature."""
    text = bytearray(source if CPP.prepare is None else CPP.prepare(source))
    for match in _PLACE.finditer(source):
        text[match.start() : match.end()] = match[0]
    return bytes(text)


CUDA = replace(
    CPP, grammar="cuda", prepare=_with_places, rules=_OLDER, uses=_cuda_words, display=replace(CPP.display, lexer="cuda")
)
GLSL = replace(C, grammar="glsl", rules=C_RULES, uses=_glsl_words, display=replace(C.display, lexer="glsl"))
HLSL = replace(CPP, grammar="hlsl", prepare=_plain, rules=_OLDER, uses=_hlsl_words, display=replace(CPP.display, lexer="hlsl"))
WGSL = Language(
    grammar="wgsl",
    rules={
        "function_declaration": defines("fn", enters=False),
        "struct_declaration": defines("struct", body="."),
        "struct_member": defines("field", "name|variable_identifier_declaration/name", ""),
        "type_alias_declaration": defines("type", "name|identifier!", ""),
        "global_variable_declaration": defines("var", "variable_declaration/variable_identifier_declaration/name", ""),
        "global_constant_declaration": defines("const", "name|variable_identifier_declaration/name|identifier", ""),
    },
    recover=heads(_CONSTANT, {"const": "const"}),
    uses=_wgsl_words,
    types=WrittenTypes(variables="colon", results="arrow"),
    display=Display(attribute_starts=DECORATORS, lexer="wgsl"),
)
