"""What one file contributes to the index: chunks, symbols, imports and uses of names, as a worker sends them to the store.

Line numbers are 1-based and inclusive; paths are relative to the workspace root with `/` separators. The Structs are array-like
because hundreds of thousands of them are sent through a pipe.
"""

from typing import Final, Literal

from msgspec import Struct

from codecompass.protocol.kinds import DOCUMENT_KINDS as DOCUMENT_KINDS
from codecompass.protocol.kinds import SYMBOL_KINDS as SYMBOL_KINDS
from codecompass.protocol.kinds import UNBOUND_KINDS as UNBOUND_KINDS
from codecompass.protocol.kinds import SymbolKind as SymbolKind

CLASS_LIKE: Final[frozenset[SymbolKind]] = frozenset({"class", "struct", "enum", "trait", "interface", "impl"})
FUNCTION_LIKE: Final[frozenset[SymbolKind]] = frozenset({"fn", "method"})

Visibility = Literal["", "public", "private", "protected", "internal"]
"""Empty if the language has no visibility for the symbol."""

SIGNATURE_LIMIT: Final = 240
"""Characters of a signature, including the ellipsis."""

DOC_LIMIT: Final = 300
"""Characters kept of the first paragraph of a docstring or leading comment, for ranking and display."""

SkipReason = Literal[
    "binary",
    "minified",
    "not_utf8",
    "path_not_utf8",
    "path_too_long",
    "secret",
    "special_file",
    "submodule",
    "symlink",
    "symlink_outside_root",
    "too_large",
    "unreadable",
]

MAX_QUALIFIED_NAME: Final = 1_000
"""Characters. A symbol whose qualified name is longer gets its bare name instead: 50,000 names in deep scopes or below a path of
4 kB would take gigabytes."""


class Symbol(Struct, frozen=True, array_like=True, gc=False):
    """A definition."""

    name: str
    kind: SymbolKind
    qualified_name: str
    line_start: int
    """Line of the definition itself, without decorators, annotations and comments above it."""
    line_end: int
    signature: str = ""
    """On one line, cut at SIGNATURE_LIMIT."""
    visibility: Visibility = ""
    parent: int = -1
    """Index of the enclosing definition among the file's symbols, which are in source order; -1 at top level."""
    doc: str = ""
    """The first paragraph of the documentation, cut at DOC_LIMIT."""
    language: str = ""
    """That of its code, if that is of another family than the file's (see `walk/regions.py`)."""


EXPORT: Final = "export"
"""The kind of an `Import` without a module: the file exports its own name `name` as `alias` (`export { a as b }`)."""


class Import(Struct, frozen=True, array_like=True, gc=False):
    """One imported name, or an EXPORT."""

    line_start: int
    line_end: int
    spec: str
    """The module as written in the source (`./x`, `a.b`, `crate::auth`, `fmt`, `../c.h`)."""
    name: str = ""
    """What is imported from the module: empty for the module itself, `*` for everything."""
    alias: str = ""
    """The local name if it differs."""
    kind: str = "module"
    """Distinguishes forms that resolve differently: `module`, `include` (C, quoted), `system` (C, angle brackets), `relative`
    (Ruby `require_relative`, Bash `source`), `mod` (Rust `mod x;`, whose `spec` is a path if an attribute gives one),
    `inline:a::b` (Rust `use` within `mod a { mod b { .. } }`, to which `super` is relative)."""
    language: str = ""
    """That of its code, if that is of another family than the file's."""


class Chunk(Struct, frozen=True, array_like=True, gc=False):
    """Consecutive whole lines. The chunks of a file cover it without gaps or overlap."""

    line_start: int
    line_end: int
    text: str
    parts: str = ""
    """The words inside camelCase identifiers (`getHTTPServer` gives `get http server`), separated by blanks: the text index
    itself splits at punctuation only."""
    names: str = ""
    """Whole identifiers (see `words.py`)."""
    pairs: str = ""
    """Pairs of letters of scripts without blanks between words (see `unspaced.py`), separated by blanks."""


class TextWords(Struct, frozen=True):
    """What is indexed for a text besides the text itself: separated by blanks, sorted, without duplicates."""

    parts: str
    """The lower-case parts of camelCase words, and ASCII words that adjoin Chinese, Japanese, Korean or Thai text."""
    names: str
    """Whole identifiers that the index cannot find by the text: `=get_user` for one with an underscore, `(getUser` for one that
    is followed by a parenthesis (possibly after blanks), and those with other marks (see `words.py`)."""
    pairs: str = ""
    """The pairs of letters of text in scripts without blanks between words (see `unspaced.py`)."""


Usage = Literal["call", "read", "write", "decorate", "key", "inherit"]
"""`inherit`: the name of a supertype in the head of a type. `key`: the name of an argument or of a member in a literal,
`f(name=1)`, `T{name: 1}`."""


class Use(Struct, frozen=True, array_like=True, gc=False):
    """One use of a name."""

    line: int
    usage: Usage
    receiver: str = ""
    """The expression whose member the name is (see `expressions.py`); empty for a bare name. In shell scripts `$` for a
    variable, `?` for an argument of a command."""
    arity: int = -1
    """Number of arguments of a call; -1 if unknown."""


class NameUses(Struct, frozen=True, array_like=True, gc=False):
    """The uses of a name in one file, by line."""

    name: str
    uses: tuple[Use, ...]
    language: str = ""
    """That of the code around them, if that is of another family than the file's."""
