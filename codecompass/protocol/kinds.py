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

_WIDER: Final[Mapping[str, tuple[SymbolKind, ...]]] = {
    "fn": ("fn", "method"),
    "class": ("class", "struct"),
}

_ALIASES: Final[Mapping[str, tuple[SymbolKind, ...]]] = {
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

KINDS_ON_INPUT: Final[tuple[str, ...]] = (*SYMBOL_KINDS, *_ALIASES)
"""Every accepted word; the kinds of the index come first."""


def kinds_meant(word: str) -> frozenset[SymbolKind]:
    """Returns the kinds that `word` stands for. Raises KeyError for a word that is not in `KINDS_ON_INPUT`."""
    if word in _ALIASES:
        return frozenset(_ALIASES[word])
    if word in _WIDER:
        return frozenset(_WIDER[word])
    for kind in SYMBOL_KINDS:
        if kind == word:
            return frozenset({kind})
    raise KeyError(word)
