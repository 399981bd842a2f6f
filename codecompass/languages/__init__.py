"""The languages with symbols: one module for each language or family of languages, loaded by name.

A module is loaded only for the first file of its language, so that a worker loads only the grammars that it uses.
Importing this package (`detect` does, in the server process too) loads neither tree-sitter nor any language.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from codecompass.languages.language import Language


SYMBOL_LANGUAGES: Final[tuple[str, ...]] = (
    "bash",
    "c",
    "cpp",
    "csharp",
    "elixir",
    "go",
    "haskell",
    "java",
    "javascript",
    "kotlin",
    "lua",
    "php",
    "python",
    "ruby",
    "rust",
    "scala",
    "sql",
    "swift",
    "tsx",
    "typescript",
    "zig",
)

_FAMILIES: Final = {"javascript": "ecmascript", "tsx": "ecmascript", "typescript": "ecmascript"}


def load(name: str) -> "Language":
    """Returns the description of a language with symbols; the first call for it imports its module.

    Raises:
        KeyError: the language has no symbols (`markdown`, `text`) or is unknown.
    """
    if name not in SYMBOL_LANGUAGES:
        raise KeyError(name)
    language: Language = getattr(import_module(f"{__name__}.{_FAMILIES.get(name, name)}"), name.upper())
    return language
