"""WIT: the interfaces and worlds of WebAssembly components, their types, fields and functions."""

from codecompass.languages.display import Display
from codecompass.languages.language import Language
from codecompass.languages.uses.patterns import BLOCK, SLASHES, any_of
from codecompass.languages.uses.references import references
from codecompass.languages.walk.text_rules import braces

_COMMENTS = any_of(SLASHES, BLOCK)
_NAME = r"[ \t]++%?(?P<{}>[a-zA-Z][\w-]*+)"

WIT = Language(
    outline=braces(
        rf"(?:^|[{{;}},])[ \t]*+(?:interface{_NAME.format('interface')}|world{_NAME.format('module')}"
        rf"|record{_NAME.format('struct')}"
        rf"|resource{_NAME.format('resource')}|(?:variant|enum|flags){_NAME.format('enum')}|type{_NAME.format('type')}"
        r"|(?:import[ \t]++|export[ \t]++)?%?(?P<fn>[a-z][\w-]*+)[ \t]*+:[ \t]*+(?>(?:static[ \t]++|async[ \t]++)*)func\b"
        r"|%?(?P<field>[a-z][\w-]*+)[ \t]*+:(?!:)|%?(?P<const>[a-z][\w-]*+)[ \t]*+(?=[,(}\n]))",
        _COMMENTS,
        inside={"field": "struct", "const": "enum"},
        kinds={"resource": "struct"},
    ),
    comment_starts=(b"//", b"/*"),
    uses=references(
        "wit",
        r"(?::[ \t]*+|->[ \t]*+|[(<,][ \t]*+)(?:own<|borrow<|list<|option<|result<)?"
        r"%?(?P<command>[a-z][\w-]*+)(?![\w-]|[ \t]*+[:(])"
        r"|^[ \t]*+(?:import|export|include)[ \t]++%?(?P<command2>[a-z][\w-]*+)[ \t]*+;",
        _COMMENTS,
    ),
    display=Display(lexer=None),
)
