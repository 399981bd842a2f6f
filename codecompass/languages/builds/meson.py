"""Meson: the project, targets, tests, options and variables, where they are used, and the directories that a file enters."""

from collections.abc import Iterator
from typing import Final

from msgspec.structs import replace

from codecompass import lazy
from codecompass.languages.display import Display
from codecompass.languages.imports.plain import plain_imports
from codecompass.languages.language import Language
from codecompass.languages.records import Import
from codecompass.languages.uses.patterns import HASH, any_of
from codecompass.languages.uses.references import references
from codecompass.languages.walk.text_rules import Entry, blocks, hidden

_TARGET = (
    r"(?:executable|(?:(?:static|shared)_)?library|both_libraries|shared_module|custom_target|run_target|jar|build_target"
    r"|alias_target)"
)
_HIDDEN: Final = any_of(HASH, r"'''.*?(?:'''|\Z)", r"'(?>(?:[^'\\\n]++|\\.)*)'?")
_NAME = r"[ \t]*+\(\s*+'(?P<{}>[^'\n]++)'(?=\s*+[,)])"
_BRACKET: Final = lazy.pattern(r"[(\[{]|[)\]}]|\n")

_heads: Final = blocks(
    rf"^[ \t]*+(?:(?P<var>\w++)[ \t]*+\+?=(?!=)|project{_NAME.format('module')})"
    rf"|(?<![\w.])(?:(?:test|benchmark){_NAME.format('test')}|option{_NAME.format('key')}|{_TARGET}{_NAME.format('target')})",
    ends={},
    comments=_HIDDEN,
    imports=r"(?<![\w.])subdir[ \t]*+\(\s*+'([^'\n]++)'",
)


def outline(text: str, path: str) -> Iterator[Entry | Import]:
    """Yields directories, then definitions."""
    code = hidden(_HIDDEN, text)
    for item in _heads(text, path):
        yield replace(item, end=_end(code, item)) if isinstance(item, Entry) else item


def _end(code: str, entry: Entry) -> int:
    """Returns the index after the line in which all brackets of a definition are closed."""
    depth = 0
    for match in _BRACKET.finditer(code, entry.start):
        if match[0] != "\n":
            depth += 1 if match[0] in "([{" else -1
        elif depth <= 0:
            return match.start()
    return len(code)


MESON = Language(
    outline=outline,
    comment_starts=(b"#",),
    imports=plain_imports(endings=("/meson.build",), relative=("include",)),
    uses=references(
        "meson",
        r"(?<![\w.'])(?!(?:and|break|continue|elif|else|endforeach|endif|false|foreach|if|in|not|or|true)\b)"
        r"(?P<variable>[^\W\d]\w*+)(?![\w'(]|[ \t]*+[:(]|[ \t]*+=(?!=))",
        _HIDDEN,
    ),
    display=Display(line_comment="#", lexer="meson"),
)
