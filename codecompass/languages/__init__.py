"""The languages with symbols: one module for each language or family of languages, loaded by name.

A module is loaded only for the first file of its language, so that a worker loads only the grammars that it uses.
Importing this package (`detect` does, in the server process too) loads neither tree-sitter nor any language.
"""

from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from codecompass.languages.language import Language


SYMBOL_LANGUAGES: Final[tuple[str, ...]] = (
    "astro",
    "bash",
    "c",
    "cpp",
    "csharp",
    "elixir",
    "go",
    "haskell",
    "java",
    "javascript",
    "jupyter",
    "kotlin",
    "lua",
    "objectivec",
    "php",
    "python",
    "ruby",
    "rust",
    "scala",
    "sql",
    "svelte",
    "swift",
    "tsx",
    "typescript",
    "vue",
    "zig",
)

_WITHOUT_SYMBOLS: Final = ("groovy",)
"""Languages that have a module for other traits than symbols."""

_MODULES: Final = {"javascript": "ecmascript", "tsx": "ecmascript", "typescript": "ecmascript"}

USUAL_LANGUAGES: Final = {"astro": "tsx", "jupyter": "python", "svelte": "typescript", "vue": "typescript"}
"""The languages of files that hold code of another one (`embedded.py`), with the usual one."""


def load(name: str) -> "Language":
    """Returns the description of a language with symbols; the first call for it imports its module. For files that hold code of
    another language, it is that of their usual one.

    Raises:
        KeyError: the language has no symbols (`markdown`, `text`) or is unknown.
    """
    if name not in SYMBOL_LANGUAGES:
        raise KeyError(name)
    return described(name)


@cache
def described(name: str) -> "Language":
    """Returns the description of any language, whose traits the engines read: that of plain text for one without a module."""
    from codecompass.languages.language import Language

    if name not in SYMBOL_LANGUAGES and name not in _WITHOUT_SYMBOLS:
        return Language()
    name = USUAL_LANGUAGES.get(name, name)
    language: Language = getattr(import_module(f"{__name__}.{_MODULES.get(name, name)}"), name.upper())
    return language
