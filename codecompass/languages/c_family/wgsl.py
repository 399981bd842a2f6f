"""WGSL: functions, structs with their members, aliases, constants, variables."""

import re
from typing import Final

from codecompass.languages.display import DECORATORS, Display
from codecompass.languages.language import Language
from codecompass.languages.uses.lexical_rules import LexicalRules
from codecompass.languages.uses.patterns import BLOCK, NAME, SLASHES, any_of, declared, named_value
from codecompass.languages.walk.heads import heads
from codecompass.languages.walk.node_rules import defines
from codecompass.languages.words import word_set
from codecompass.languages.written_types import WrittenTypes


def _wgsl_words() -> LexicalRules:
    return LexicalRules(
        family="wgsl",
        comments_and_strings=any_of(SLASHES, BLOCK),
        name=NAME,
        keywords=word_set(
            "alias array atomic bool break case const const_assert continue continuing default diagnostic discard else enable",
            "f16 f32 false fn for function i32 if let loop mat3x3 mat4x4 override private ptr return storage struct switch true",
            "u32 uniform var vec2 vec3 vec4 vec2f vec3f vec4f vec2u vec3u vec2i vec3i while workgroup",
        ),
        declarations=(named_value(), declared(r"\bconst\s++(?P<names>\w++)[ \t]*+=(?P<value>[^\n;]*+)", mark="const")),
    )


_NOT_CODE: Final = re.compile(rb"//[^\n]*+|/\*.*?(?:\*/|\Z)", re.DOTALL)
_VALUE: Final = re.compile(
    rb"^(?P<indent>)(?:@\w+(?:\([^)\n]*\))?\s*)*(?P<word>const|override|alias)[ \t]+(?P<name>\w+)(?=[ \t]*[:=])", re.MULTILINE
)


def _with_lists(source: bytes) -> bytes:
    """Returns the source with another type in place of one whose parameters the grammar does not know."""
    return re.sub(rb"\batomic(?=<)", b"vec2  ", source)


WGSL = Language(
    grammar="wgsl",
    prepare=_with_lists,
    rules={
        "function_declaration": defines("fn", enters=False),
        "struct_declaration": defines("struct", body="."),
        "struct_member": defines("field", "name|variable_identifier_declaration/name", ""),
        "global_variable_declaration": defines("var", "variable_declaration/variable_identifier_declaration/name", ""),
    },
    recover=heads(
        _VALUE, {"const": "const", "override": "const", "alias": "type"}, closer=")", is_strict=True, literals=_NOT_CODE
    ),
    uses=_wgsl_words,
    types=WrittenTypes(variables="colon", results="arrow"),
    display=Display(attribute_starts=DECORATORS, lexer="wgsl"),
)
