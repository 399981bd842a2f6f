"""The languages with symbols: one module for each language or family of languages, loaded by name.

A module is loaded only for the first file of its language, so that a worker loads only the grammars that it uses.
Importing this package (`detect` does, in the server process too) loads neither tree-sitter nor any language.
"""

from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

from codecompass.languages.table import MODULES
from codecompass.languages.table import PARSED_LANGUAGES as PARSED_LANGUAGES
from codecompass.languages.table import SYMBOL_LANGUAGES as SYMBOL_LANGUAGES

if TYPE_CHECKING:
    from codecompass.languages.language import Language


def load(name: str) -> "Language":
    """Returns the description of a language with symbols; the first call for it imports its module.

    Raises:
        KeyError: the language has no symbols (`markdown`, `text`) or is unknown.
    """
    language = described(name)
    if not language.grammar and language.outline is None:
        raise KeyError(name)
    return language


@cache
def described(name: str) -> "Language":
    """Returns the description of any language, whose traits the engines read: that of plain text for one without a module."""
    from codecompass.languages.language import Language

    if name not in MODULES:
        return Language()
    language: Language = getattr(import_module(MODULES[name]), name.upper())
    return language
