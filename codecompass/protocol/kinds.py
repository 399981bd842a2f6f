"""The symbol kinds of the index, and the words that requests accept for them."""

from collections.abc import Mapping
from typing import Final, Literal, get_args

SymbolKind = Literal[
    "fn",
    "method",
    "class",
    "struct",
    "enum",
    "trait",
    "interface",
    "impl",
    "module",
    "const",
    "var",
    "field",
    "type",
    "macro",
    "use",
    "test",
    "resource",
    "route",
    "section",
    "key",
    "rule",
    "target",
]
SYMBOL_KINDS: Final[tuple[SymbolKind, ...]] = get_args(SymbolKind)

_UNLISTED: Final = frozenset({"impl", "var", "macro", "rule", "key", "trait", "field"})
LISTED_KINDS: Final[tuple[SymbolKind, ...]] = tuple(kind for kind in SYMBOL_KINDS if kind not in _UNLISTED)
"""The kinds that the list of tools names, which is short: those that are most often asked for by themselves."""

DOCUMENT_KINDS: Final[frozenset[SymbolKind]] = frozenset({"section", "key", "rule", "target"})
"""Headings of documents, keys of configuration, rules of style sheets, targets of builds. There are so many of them, with names
such as `version` and `test`, that they come behind code of the same name and are not ranked for questions in words."""

UNBOUND_KINDS: Final[frozenset[SymbolKind]] = frozenset({"section", "key"})
"""Those of them that nothing refers to by name."""

_MEANT: Final[Mapping[str, tuple[SymbolKind, ...]]] = {
    **{kind: (kind,) for kind in SYMBOL_KINDS},
    "fn": ("fn", "method"),
    "class": ("class", "struct"),
    "function": ("fn", "method"),
    "func": ("fn", "method"),
    "def": ("fn", "method"),
    "constructor": ("fn", "method"),
    "variable": ("var",),
    "constant": ("const",),
    "type_alias": ("type",),
    "namespace": ("module",),
    "property": ("field",),
    "protocol": ("interface", "trait"),
    "object": ("class", "struct", "module"),
    "record": ("class", "struct"),
    "message": ("struct",),
    "heading": ("section",),
    "setting": ("key",),
    "selector": ("rule",),
    "job": ("target",),
    "stage": ("target",),
    "service": ("resource", "interface"),
    "endpoint": ("route",),
}

KINDS_ON_INPUT: Final[tuple[str, ...]] = tuple(_MEANT)
"""Every accepted word; the kinds of the index come first."""


def kinds_meant(word: str) -> frozenset[SymbolKind]:
    """Returns the kinds that `word` stands for. Raises KeyError for a word that is not in `KINDS_ON_INPUT`."""
    return frozenset(_MEANT[word])
