"""JSON: keys to a bounded depth, the scripts of `package.json`, operations and schemas of OpenAPI and JSON Schema."""

from collections.abc import Iterator
from typing import Final

from codecompass import lazy
from codecompass.languages.configuration.keys import MAX_DEPTH, MAX_KEYS, Node, has_keys
from codecompass.languages.display import Display
from codecompass.languages.language import Language
from codecompass.languages.records import SymbolKind
from codecompass.languages.schemas.openapi import DEPTH, described_api, is_described, schema_uses
from codecompass.languages.walk.text_rules import Entry

_ESCAPED: Final = lazy.pattern(r"\\([\"\\/])")
_SCRIPTS: Final = {
    "package.json": ("scripts",),
    "composer.json": ("scripts",),
    "deno.json": ("tasks",),
    "deno.jsonc": ("tasks",),
}
"""The keys around what can be run, by file."""

_TOKEN: Final = lazy.pattern(r'"((?:[^"\\\n]++|\\.)*+)"(\s*+:)?|[{}\[\]]|//[^\n]*+|/\*[^*]*+(?:\*++[^*/][^*]*+)*+\*/')


def nodes(text: str, depth: int) -> list[Node]:
    """Returns the keys that are at most `depth` deep and in no array."""
    found: list[Node] = []
    open_: list[int] = []
    """For each object or array that is open, the number of the key whose value it is; -1 for none."""
    last = -1
    n_arrays = 0
    for match in _TOKEN.finditer(text):
        mark = match[0][0]
        if mark == '"':
            is_key = match[2] is not None and not n_arrays and 0 < len(open_) <= depth
            last = -1
            if is_key and (len(open_) == 1 or open_[-1] >= 0):
                around = found[open_[-1]].path if open_[-1] >= 0 else ()
                last = len(found)
                found.append(Node((*around, match[1]), match.start(1), match.end(), match.end()))
        elif mark in "{[":
            open_.append(last)
            n_arrays += mark == "["
            last = -1
        elif mark in "}]" and open_:
            number = open_.pop()
            n_arrays -= mark == "]" and n_arrays > 0
            if number >= 0:
                key = found[number]
                found[number] = Node(key.path, key.start, key.value, match.end())
    return found


def outline(text: str, path: str) -> Iterator[Entry]:
    """Yields what a file means, or its keys."""
    if is_described(text):
        yield from described_api(nodes(text, DEPTH), text)
    elif has_keys(text, path):
        scripts = _SCRIPTS.get(path.rpartition("/")[2], ())
        for node in nodes(text, MAX_DEPTH)[:MAX_KEYS]:
            kind: SymbolKind = "target" if len(node.path) == 2 and node.path[:1] == scripts else "key"
            name = _ESCAPED.sub(r"\1", node.path[-1]) if "\\" in node.path[-1] else node.path[-1]
            yield Entry(name, kind, node.start, node.end, doc="")


JSON = JSONC = Language(outline=outline, uses=schema_uses, display=Display(lexer="json"))
