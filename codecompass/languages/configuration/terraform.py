"""Terraform and OpenTofu: resources and data sources (`aws_vpc.main`), modules, variables, outputs, locals, and their uses; other
files of HCL, whose blocks have labels."""

from collections.abc import Iterator
from typing import Final

from msgspec.structs import replace

from codecompass.languages.binding import Binding
from codecompass.languages.display import Display
from codecompass.languages.language import Language
from codecompass.languages.records import Import
from codecompass.languages.uses.patterns import BLOCK, DOUBLE, HASH, SLASHES, any_of
from codecompass.languages.uses.references import references
from codecompass.languages.walk.text_rules import Entry, braces

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

_LABELLED: Final = braces(
    rf"^(?:[ \t]*+(?P<scope>[\w-]++(?:[ \t]++\"[^\"\n]*+\"(?=[ \t]*+\"))?){_LABEL.format('resource')}(?=[ \t]*+[{{\"])"
    r"|(?P<locals>locals|variables)[ \t]*+(?=\{)|(?P<block>[\w-]++)[ \t]*+(?=\{)"
    r"|[ \t]++(?P<local>[\w-]++)[ \t]*+=(?![=>])|(?P<key>[\w-]++)[ \t]*+=(?![=>]))",
    _HIDDEN,
    inside={"key": "top", "local": "locals", "locals": "top", "block": "top"},
    kinds={"locals": "", "local": "const", "block": "key"},
)


def labelled(text: str, path: str) -> Iterator[Entry | Import]:
    """Yields blocks by their last labels, which the words before them qualify, and the keys that are in no block."""
    for item in _LABELLED(text, path):
        if isinstance(item, Entry) and '"' in item.scope:
            item = replace(item, scope=".".join(item.scope.replace('"', " ").split()))
        yield item


HCL = Language(outline=labelled, comment_starts=_MARKS, display=Display(line_comment="#", lexer="terraform"))
