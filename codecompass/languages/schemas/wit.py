"""WIT: the interfaces and worlds of WebAssembly components, their types, fields and functions."""

from typing import Final

from codecompass.languages.display import DECORATORS, Display
from codecompass.languages.language import Language
from codecompass.languages.uses.patterns import BLOCK, SLASHES, any_of
from codecompass.languages.uses.references import references
from codecompass.languages.walk.text_rules import braces

_COMMENTS: Final = any_of(SLASHES, BLOCK)
_NAME: Final = r"\s++%?(?P<{}>[a-zA-Z][\w-]*+)"
_EXTERNAL: Final = r"(?:import\s++|export\s++)"
_BUILT_IN: Final = (
    r"(?!(?:async|bool|borrow|char|error-context|f32|f64|float32|float64|func|future|interface|list|option|own|result|s8|s16|s32"
    r"|s64|static|stream|string|tuple|u8|u16|u32|u64)(?![\w-]))"
)

WIT = Language(
    outline=braces(
        rf"(?:^|[{{;}},])[ \t]*+(?>(?:@[\w-]++(?:\([^()]*+\))?\s*+)*)(?:interface{_NAME.format('interface')}"
        rf"|world{_NAME.format('module')}|record{_NAME.format('struct')}"
        r"|package[ \t]++(?P<package>[a-z][\w-]*+(?>(?:[:/][a-z][\w-]*+)+))"
        rf"|resource{_NAME.format('resource')}|(?:variant|enum|flags){_NAME.format('enum')}|type{_NAME.format('type')}"
        rf"|{_EXTERNAL}%?(?P<interface2>[a-z][\w-]*+)[ \t]*+:[ \t]*+interface\b|(?P<fn2>constructor)(?=\()"
        rf"|{_EXTERNAL}?%?(?P<fn>[a-z][\w-]*+)[ \t]*+:[ \t]*+(?>(?:static[ \t]++|async[ \t]++)*)func\b"
        r"|%?(?P<field>[a-z][\w-]*+)[ \t]*+:(?!:)|%?(?P<const>[a-z][\w-]*+)[ \t]*+(?=[,(}\n]))",
        _COMMENTS,
        inside={"field": "struct", "const": "enum"},
        kinds={"resource": "struct", "package": "module", "fn in resource": "method"},
        listed="field",
    ),
    comment_starts=(b"//", b"/*"),
    uses=references(
        "wit",
        rf"(?::[ \t]++|->[ \t]*+|[(<,{{][ \t]*+|=[ \t]*+){_BUILT_IN}%?(?P<command>[a-z][\w-]*+)(?![\w-]|[ \t]*+[:(=])"
        r"|^[ \t]*+(?:import|export|include|use)[ \t]++(?>(?:[\w-]++[:/])*)%?(?P<command2>[a-z][\w-]*+)(?=[ \t]*+[;.@w])",
        _COMMENTS,
    ),
    display=Display(attribute_starts=DECORATORS, lexer=None),
)
