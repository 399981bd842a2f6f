"""Terraform and OpenTofu: resources and data sources (`aws_vpc.main`), modules, variables, outputs, locals, and their uses; other
files of HCL, whose blocks have labels."""

from typing import Final

from codecompass.languages.binding import Binding
from codecompass.languages.display import Display
from codecompass.languages.language import Language
from codecompass.languages.uses.patterns import BLOCK, DOUBLE, HASH, SLASHES, any_of
from codecompass.languages.uses.references import references
from codecompass.languages.walk.text_rules import braces

_LABEL = r"[ \t]*+\"(?P<{}>[^\"\n]*+)\""
_HEREDOC = r"(?<=<<)-?(?P<mark>\w++)\n(?>(?:(?![ \t]*+(?P=mark)[ \t]*+(?:\n|\Z))[^\n]*+\n)*)"
_HIDDEN = any_of(HASH, SLASHES, BLOCK, DOUBLE, _HEREDOC)
_COMMENTS = any_of(HASH, r"(?<!:)//[^\n]*+", BLOCK)

_TYPE = r"[a-z]\w*?_\w++"
"""The type of a resource, whose first word is that of its provider."""

_MARKS: Final = (b"#", b"//", b"/*")

TERRAFORM = Language(
    outline=braces(
        rf"^(?:[ \t]*+(?:(?:resource|data|ephemeral){_LABEL.format('scope')}{_LABEL.format('resource')}"
        + "".join(rf"|{word}{_LABEL.format(word)}" for word in ("module", "variable", "output", "provider", "check"))
        + r"|(?P<locals>locals)[ \t]*+\{)|[ \t]++(?P<local>[\w-]++)[ \t]*+=(?![=>])|(?P<value>[\w-]++)[ \t]*+=(?![=>]))",
        _HIDDEN,
        inside={"local": "locals", "value": "top"},
        kinds={
            "variable": "var",
            "output": "var",
            "provider": "resource",
            "check": "test",
            "locals": "",
            "local": "const",
            "value": "key",
        },
        scopes={"variable": "var", "output": "output", "module": "module", "local": "local", "provider": "provider"},
        joined="resource",
    ),
    comment_starts=_MARKS,
    uses=references(
        "terraform",
        r"(?<![\w.])(?:(?:var|local)\.(?P<variable>[\w-]++)|module\.(?P<command>[\w-]++)"
        rf"|(?:data\.)?(?P<command2>{_TYPE}\.[a-zA-Z_][\w-]*+))",
        _COMMENTS,
    ),
    binding=Binding(directories_are_packages=True),
    display=Display(line_comment="#", lexer="terraform"),
)

HCL = Language(
    outline=braces(
        rf"^[ \t]*+(?P<scope>[\w-]++){_LABEL.format('resource')}(?=[ \t]*+[{{\"])|^(?P<key>[\w-]++)[ \t]*+=(?![=>])",
        _HIDDEN,
        inside={"key": "top"},
    ),
    comment_starts=_MARKS,
    display=Display(line_comment="#", lexer="terraform"),
)
