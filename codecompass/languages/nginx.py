"""nginx: servers by name, locations, upstreams, maps; which location proxies to which upstream; included files."""

from codecompass.languages.c_imports import C_IMPORTS
from codecompass.languages.display import Display
from codecompass.languages.language import Language
from codecompass.languages.uses.patterns import HASH, any_of
from codecompass.languages.uses.references import references
from codecompass.languages.walk.text_rules import braces

_COMMENTS = any_of(r"(?<!\S)#[^\n]*+")

NGINX = Language(
    outline=braces(
        r"^[ \t]*+(?:(?P<scope>upstream|server_name)[ \t]++(?P<resource>[^\s;{]++)"
        r"|location[ \t]++(?P<route>[^{;\n]*?)[ \t]*+(?=\{)"
        r"|map[ \t]++\S++[ \t]++\$(?P<var>\w++)|set[ \t]++\$(?P<var2>\w++)|(?P<key>(?:listen|root|log_format)\b))",
        _COMMENTS,
        imports=r"^[ \t]*+include[ \t]++([^\s;*]++);",
    ),
    separator=" ",
    comment_starts=(b"#",),
    imports=C_IMPORTS,
    uses=references("nginx", r"_pass[ \t]++(?:\w++://)?(?P<command>[\w.-]++)|\$(?P<variable>[a-z_]\w*+)", any_of(HASH)),
    display=Display(line_comment="#", lexer="nginx"),
)
