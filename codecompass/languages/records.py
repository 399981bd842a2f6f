"""What one file contributes to the index: the values that travel from a worker to the store.

Everything here is plain data. Line numbers are 1-based and inclusive; paths are relative to the workspace root with `/`
separators. The Structs are array-like because hundreds of thousands of them cross a pipe.
"""

from typing import Final, Literal

from msgspec import Struct

from codecompass.protocol.kinds import SYMBOL_KINDS as SYMBOL_KINDS
from codecompass.protocol.kinds import SymbolKind as SymbolKind

Visibility = Literal["", "public", "private", "protected", "internal"]
"""Empty where the language has no such notion for the symbol."""

SIGNATURE_LIMIT: Final = 240
"""Characters of a signature, the ellipsis included (contract section 3)."""

DOC_LIMIT: Final = 300
"""Characters kept of a docstring or leading comment: its first paragraph, for ranking and display."""

SkipReason = Literal[
    "binary",
    "minified",
    "not_utf8",
    "path_not_utf8",
    "path_too_long",
    "secret",
    "special_file",
    "symlink",
    "symlink_outside_root",
    "too_large",
    "unreadable",
]


class Symbol(Struct, frozen=True, array_like=True):
    """A definition, in source order; `parent` is the index of the enclosing one in the same file, -1 at top level.

    `line_start` is the line of the definition itself, without decorators, annotations and comments above it.
    """

    name: str
    kind: SymbolKind
    qualified_name: str
    line_start: int
    line_end: int
    signature: str = ""
    visibility: Visibility = ""
    parent: int = -1
    doc: str = ""


class Import(Struct, frozen=True, array_like=True):
    """One imported name. `spec` is the module as written in the source (`./x`, `a.b`, `crate::auth`, `fmt`, `../c.h`).

    `name` is what is taken from the module: empty for the module itself, `*` for everything. `alias` is the local name
    where it differs. `kind` tells apart forms that resolve differently: `module` (the default), `include` (C, quoted),
    `system` (C, angle brackets), `relative` (Ruby `require_relative`, Bash `source`), `mod` (Rust `mod x;`, whose `spec` is
    a path when an attribute gives one), `inline:a::b` (Rust `use` within `mod a { mod b { .. } }`: `super` counts from
    there).
    """

    line_start: int
    line_end: int
    spec: str
    name: str = ""
    alias: str = ""
    kind: str = "module"


class Chunk(Struct, frozen=True, array_like=True):
    """A run of whole lines. The chunks of a file follow each other without gap or overlap.

    `parts` holds the words inside camelCase identifiers (`getHTTPServer` gives `get http server`), blank separated:
    the text index splits at punctuation by itself but not at case. `names` holds identifiers as wholes (see `words.py`).
    """

    line_start: int
    line_end: int
    text: str
    parts: str = ""
    names: str = ""
