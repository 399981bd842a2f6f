"""What can follow while somebody types a query: names of filters, and values of the filter that is being typed."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from msgspec import Struct

from codecompass.protocol.kinds import SYMBOL_KINDS
from codecompass.query.query_language import FILTER_NAMES, HISTORIES, FilterName, written_filter

MAX_COMPLETIONS: Final = 8

MEANINGS: Final[Mapping[FilterName, str]] = {
    "lang": "language: lang:python",
    "file": "part of the path, or a glob: file:src/",
    "-file": "not in such files: -file:test",
    "kind": "definitions of a kind: kind:class",
    "repo": "in another project: repo:name",
    "case": "case counts: case:yes",
    "sym": "the definition of a name: sym:Session.close",
    "type": "commit messages, or the lines that commits changed: type:diff",
    "author": "with type: commits of this author: author:ada",
    "since": "with type: commits from this day on: since:2024-05-01, since:2weeks",
    "until": "with type: commits up to the end of this day: until:2024-05",
    "before": "with type: commits before this day: before:2024-05-01",
}
"""The filters, in the order in which they are offered, with what they do."""


class TypedFilter(Struct, frozen=True):
    """The filter at the end of a text: `name` is None while that is being typed. It begins at character `start`."""

    name: FilterName | None
    value: str
    start: int


class Completion(Struct, frozen=True):
    """A continuation: the whole text, the filter alone, and what it means."""

    text: str
    shown: str
    meaning: str = ""


def typed_filter(text: str) -> TypedFilter | None:
    """Returns the filter that a text ends with; None if it ends with anything else. Takes linear time."""
    start = max(text.rfind(" "), text.rfind("\t")) + 1
    quoted = text.rfind(':"')
    if quoted >= 0 and text.count('"', quoted) == 1:
        start = max(text.rfind(" ", 0, quoted), text.rfind("\t", 0, quoted)) + 1
    name, colon, value = text[start:].partition(":")
    if not colon:
        is_name = name in ("", "-") or (name.startswith("-") and any(each.startswith(name) for each in FILTER_NAMES))
        return TypedFilter(None, name, start) if is_name else None
    meant = FILTER_NAMES.get(name)
    return None if meant is None else TypedFilter(meant, value.lstrip('"'), start)


def completions(text: str, values: Mapping[FilterName, Sequence[str]]) -> tuple[Completion, ...]:
    """Returns what can follow at the end of a text. `values` are those of filters that depend on what is indexed, best first.

    Of the values of `file` and `sym` all are offered, because they are already those that fit.
    """
    typed = typed_filter(text)
    if typed is None:
        return ()
    before = text[: typed.start]
    if typed.name is None:
        if text.strip() and not typed.value:
            return ()  # a blank after a word: whoever wants a filter types it
        names = (name for name in MEANINGS if name.startswith(typed.value))
        return tuple(Completion(f"{before}{name}:", f"{name}:", MEANINGS[name]) for name in names)
    fixed: Mapping[str, Sequence[str]] = {"kind": SYMBOL_KINDS, "case": ("yes", "no"), "type": tuple(HISTORIES)}
    kind = "file" if typed.name == "-file" else typed.name
    offered = fixed.get(kind, values.get(kind, ()))
    fitting = offered if kind in ("file", "sym") else _fitting(offered, typed.value)
    written = (written_filter(typed.name, value) for value in dict.fromkeys(fitting) if value != typed.value)
    return tuple(Completion(f"{before}{each} ", each) for each, _ in zip(written, range(MAX_COMPLETIONS), strict=False))


def _fitting(offered: Iterable[str], typed: str) -> list[str]:
    """Returns the values that begin with what is typed, then those that have it elsewhere."""
    lowered = typed.lower()
    found = [each for each in offered if lowered in each.lower()]
    return sorted(found, key=lambda each: not each.lower().startswith(lowered))
