"""Extracts the words of the definitions in a source file with the product's own parsers."""

from collections.abc import Iterator
from typing import Final

import tree_sitter
from tree_sitter_language_pack import get_language

from bench.lexicon.git_repository import SourceFile
from bench.lexicon.identifier_words import identifier_words, words_of
from bench.lexicon.records import DefinitionWords
from codecompass.languages import PARSED_LANGUAGES, load
from codecompass.languages.detect import language_of
from codecompass.languages.language import Language
from codecompass.languages.records import CLASS_LIKE
from codecompass.languages.walk.extract import extract, parse

MAX_BODY_WORDS: Final = 40
MAX_BODY_LINES: Final = 150
"""Number of lines of a definition that are read."""
MAX_DOC_WORDS: Final = 30
BODY_KINDS: Final = frozenset(("fn", "method"))
"""Kinds whose lines do not belong to members."""

_DEFECTS: Final = (ValueError, RecursionError, AttributeError, IndexError, TypeError, KeyError)
"""Errors that a defect in the rules of a language raises; the file is then skipped."""


class DefinitionReader:
    """Parses files of any language with symbols. Caches a parser per language; not thread-safe."""

    def __init__(self) -> None:
        self._parsers: dict[str, tuple[Language, tree_sitter.Parser]] = {}

    def read(self, file: SourceFile) -> Iterator[DefinitionWords]:
        """Yields the functions and types of a file in source order, except those without words in their name."""
        name = language_of(file.path, file.source)
        if name not in PARSED_LANGUAGES:
            return
        if name not in self._parsers:
            language = load(name)
            self._parsers[name] = (language, tree_sitter.Parser(get_language(language.grammar)))  # type: ignore[arg-type]
        language, parser = self._parsers[name]
        try:
            found = extract(language, parse(language, parser, file.source).root_node, file.source, file.path)
        except _DEFECTS:
            return
        lines = file.source.decode("utf-8", "replace").split("\n")
        for symbol in found.symbols:
            is_body = symbol.kind in BODY_KINDS
            if not is_body and symbol.kind not in CLASS_LIKE:
                continue
            words = words_of(symbol.name)
            if not words:
                continue
            end = min(symbol.line_end, symbol.line_start + MAX_BODY_LINES)
            body = identifier_words(lines[symbol.line_start - 1 : end], MAX_BODY_WORDS) if is_body else ()
            doc = tuple(dict.fromkeys(words_of(symbol.doc)))[:MAX_DOC_WORDS]
            yield DefinitionWords(file.path, symbol.name, tuple(words), doc, body)
