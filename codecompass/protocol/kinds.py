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
]
SYMBOL_KINDS: Final[tuple[SymbolKind, ...]] = get_args(SymbolKind)

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
}

KINDS_ON_INPUT: Final[tuple[str, ...]] = tuple(_MEANT)
"""Every accepted word; the kinds of the index come first."""


def kinds_meant(word: str) -> frozenset[SymbolKind]:
    """Returns the kinds that `word` stands for. Raises KeyError for a word that is not in `KINDS_ON_INPUT`."""
    return frozenset(_MEANT[word])
