"""Parses one file in the worker process, under a limit of CPU time that the kernel enforces."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Final

import tree_sitter
from tree_sitter_language_pack import get_language

from codecompass.languages import SYMBOL_LANGUAGES, load
from codecompass.languages.extract import Extraction, extract, parse
from codecompass.languages.language import Language
from codecompass.units import SECONDS
from codecompass.worker.messages import Batch, FileSymbols, FileText

AGAIN_SECONDS: Final = 0.2 * SECONDS


class CpuTimeExceeded(Exception):
    """The block of an `interrupting_limit` took too long."""


@contextmanager
def ending_limit(seconds: float) -> Iterator[None]:
    """Ends the process when the block uses more than `seconds` of CPU time (user and system).

    The signal's default action is meant: inside a parser or a regular expression no Python code runs, so no handler of ours
    ever would.
    """
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


@contextmanager
def interrupting_limit(seconds: float) -> Iterator[None]:
    """Raises CpuTimeExceeded in the block when that uses more than `seconds` of user CPU time, between two steps of Python."""
    before = signal.signal(signal.SIGVTALRM, _interrupt)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    finally:
        # Again: the signal may have come just before the first one, and has set the timer anew.
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    # An exception that is raised while an object is finalized is lost: then the next signal ends the block.
    signal.setitimer(signal.ITIMER_VIRTUAL, AGAIN_SECONDS)
    raise CpuTimeExceeded


class Parsers:
    """The grammars that this process has met so far. A grammar that cannot be loaded is not tried again."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[Language, tree_sitter.Parser] | None] = {}

    def get(self, name: str) -> tuple[Language, tree_sitter.Parser] | None:
        """Returns the description and a parser of a language, None where its grammar cannot be used here."""
        if name not in self._known:
            self._known[name] = _load(name)
        return self._known[name]


def wants_parse(language: str) -> bool:
    """Returns whether files of this language have symbols at all."""
    return language in SYMBOL_LANGUAGES


def parse_file(batch: Batch, text: FileText, source: bytes, parsers: Parsers) -> FileSymbols:
    """Returns the symbols and imports of a file. Does not return at all when the parse takes too long: the process ends."""
    if text.content_hash in batch.quarantined:
        return FileSymbols(text.path, text.content_hash, reason="quarantined")
    known = parsers.get(text.language)
    if known is None:
        return FileSymbols(text.path, text.content_hash, reason="no_grammar")
    language, parser = known
    try:
        with ending_limit(batch.parse_cpu_seconds):
            extraction = _extract(language, parser, source, text.path)
    except (ValueError, RecursionError, AttributeError, IndexError, TypeError, KeyError):
        # A defect in one language's rules must cost that file its symbols, not the job.
        return FileSymbols(text.path, text.content_hash, reason="parse_failed")
    return FileSymbols(text.path, text.content_hash, extraction.symbols, extraction.imports)


def _extract(language: Language, parser: tree_sitter.Parser, source: bytes, path: str) -> Extraction:
    return extract(language, parse(language, parser, source).root_node, source, path)


def _load(name: str) -> tuple[Language, tree_sitter.Parser] | None:
    try:
        language = load(name)
        # The grammar's name is one of the pack's literals; the table of languages is ours.
        return language, tree_sitter.Parser(get_language(language.grammar))  # type: ignore[arg-type]
    except (KeyError, LookupError, ValueError, OSError, ImportError):
        return None
