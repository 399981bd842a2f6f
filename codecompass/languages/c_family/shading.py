"""CUDA, GLSL and HLSL, the languages of graphics processors that are C and C++ with more words."""

import re
from collections.abc import Iterator, Mapping
from typing import Final

from msgspec.structs import replace

from codecompass.languages.c_family import c, cpp
from codecompass.languages.c_family.c import C_RULES, C, declaration, function
from codecompass.languages.c_family.c_preprocessing import prepare_cpp
from codecompass.languages.c_family.cpp import CPP, CPP_RULES
from codecompass.languages.language import Definition, Found, RuleContext
from codecompass.languages.nodes import Node
from codecompass.languages.records import SymbolKind
from codecompass.languages.uses.lexical_rules import LexicalRules
from codecompass.languages.words import word_set

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


_OLDER: Final = {type_: rule for type_, rule in CPP_RULES.items() if type_ not in ("export_declaration", "import_declaration")}
"""The rules for the C++ that the grammars know, which have no modules."""

_REGISTER: Final = re.compile(rb":\s*(?:register|packoffset)\s*\([^()\n]*\)")


def _plain(source: bytes) -> bytes:
    """Returns the source as for C++, without the registers."""
    return prepare_cpp(_REGISTER.sub(lambda match: b" " * len(match[0]), source))


_BLOCKS: Final[Mapping[str, SymbolKind]] = {"cbuffer": "struct", "tbuffer": "struct", "interface": "interface"}


def _function(node: Node, context: RuleContext) -> Iterator[Found]:
    """A function; `cbuffer A { .. }`, `interface A { .. }` and `SamplerState s { .. }` have the same form for the grammar."""
    name, body = node.child_by_field_name("declarator"), node.child_by_field_name("body")
    if name is None or name.type != "identifier" or body is None:
        yield from function(node, context)
        return
    kind = _BLOCKS.get(context.field_text(node, "type"), "var")
    signature = context.source[node.start_byte : body.start_byte].decode("utf-8", "replace")
    yield Definition(context.text(name), kind, node, () if kind == "var" else (body,), signature=signature, visibility="public")


_ABOUT_ALL: Final = re.compile(rb"^[ \t]*layout\s*\([^()\n]*\)\s*(?:in|out|uniform|buffer)\s*;", re.MULTILINE)
_ARRAY_RESULT: Final = re.compile(rb"^(\w+)((?:\s*\[[^\[\]\n]*\])+)(?=\s+\w+\s*\()", re.MULTILINE)


def _without_layout(source: bytes) -> bytes:
    """Returns the source without the layout of all that follows, and with the element in place of an array as a result."""
    text = _ABOUT_ALL.sub(lambda match: b" " * len(match[0]), source)
    text = _ARRAY_RESULT.sub(lambda match: match[1] + re.sub(rb"[^\n]", b" ", match[2]), text)
    return text if C.prepare is None else C.prepare(text)


def _interface(node: Node, context: RuleContext) -> Iterator[Found]:
    """`uniform Frame { mat4 view; } frame;`: a structure and, if it is named, a variable; another declaration is as in C."""
    body = next((each for each in node.named_children if each.type == "field_declaration_list"), None)
    names = [each for each in node.named_children if each.type in ("identifier", "type_identifier")]
    if body is None or not names:
        yield from declaration(node, context)
        return
    block = max((each for each in names if each.end_byte <= body.start_byte), default=None, key=lambda each: each.end_byte)
    if block is None:
        return
    head = context.source[node.start_byte : body.start_byte].decode("utf-8", "replace")
    yield Definition(context.text(block), "struct", node, (body,), signature=head, visibility="public")
    for each in names:
        if each.start_byte >= body.end_byte:
            yield Definition(context.text(each), "var", each, signature=f"{head} {context.text(each)}", visibility="public")


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
GLSL = replace(
    C,
    grammar="glsl",
    prepare=_without_layout,
    rules={**C_RULES, "declaration": _interface},
    uses=_glsl_words,
    display=replace(C.display, lexer="glsl"),
)
HLSL = replace(
    CPP,
    grammar="hlsl",
    prepare=_plain,
    rules={**_OLDER, "function_definition": _function},
    uses=_hlsl_words,
    display=replace(CPP.display, lexer="hlsl"),
)
