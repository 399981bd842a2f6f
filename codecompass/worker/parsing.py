"""Parses one file in the worker process, under a CPU time limit enforced by the kernel."""

import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import Final

import tree_sitter
from tree_sitter_language_pack import get_language

from codecompass.languages import load
from codecompass.languages.language import Language
from codecompass.languages.records import Symbol
from codecompass.languages.uses.lexical_rules import lexical_rules
from codecompass.languages.uses.occurrences import occurrences
from codecompass.languages.uses.packed_uses import packed
from codecompass.languages.walk.extract import Extraction, extract, parse
from codecompass.languages.walk.regions import Contents, uses_in_file, with_regions
from codecompass.languages.walk.text_symbols import outlined
from codecompass.units import SECONDS
from codecompass.worker.messages import Batch, FileSymbols, FileText

RETRY_SECONDS: Final = 0.2 * SECONDS


class CpuTimeExceeded(Exception):
    """The block of `interrupting_limit` exceeded its CPU time."""


@contextmanager
def ending_limit(seconds: float) -> Iterator[None]:
    """Kills the process if the block uses more than `seconds` of CPU time (user and system).

    It relies on the signal's default action: inside a parser or a regular expression no Python code runs, so a Python handler
    would not be called.
    """
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


@contextmanager
def interrupting_limit(seconds: float) -> Iterator[None]:
    """Raises CpuTimeExceeded in the block, between two Python instructions, if it uses more than `seconds` of user CPU time."""
    is_over = False

    def interrupt(_number: int, _frame: FrameType | None) -> None:
        if is_over:
            return
        # An exception raised while an object is finalized is lost; then the next signal ends the block.
        signal.setitimer(signal.ITIMER_VIRTUAL, RETRY_SECONDS)
        raise CpuTimeExceeded

    before = signal.signal(signal.SIGVTALRM, interrupt)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        try:
            yield
        finally:
            is_over = True
    finally:
        # Set again, because the signal may have interrupted the inner `finally`. From here on the handler does nothing, so the
        # timer is stopped and the old handler restored.
        is_over = True
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


class Parsers:
    """A cache of parsers by language. A grammar that cannot be loaded is tried again with the next file: memory or descriptors
    may have been short."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[Language, tree_sitter.Parser | None]] = {}

    def get(self, name: str) -> tuple[Language, tree_sitter.Parser | None] | None:
        """Returns the description of a language and its parser, None for one that is read as text; None if its grammar cannot be
        loaded."""
        known = self._known.get(name) or _load(name)
        if known is not None:
            self._known[name] = known
        return known

    def read(self, name: str, text: str, path: str) -> Extraction | None:
        """Returns what a text in a language in the file at a path defines and imports; None if the language has no grammar or
        its rules are defective."""
        known = self.get(name)
        if known is None:
            return None
        try:
            return _extraction(*known, text.encode("utf-8", "surrogatepass"), path)
        except _DEFECTS:
            return None


def parse_file(batch: Batch, text: FileText, source: bytes, parsers: Parsers) -> FileSymbols:
    """Returns the symbols, imports and uses of a file. Kills the process if the parse exceeds its CPU time."""
    if text.content_hash in batch.quarantined:
        return FileSymbols(text.path, text.content_hash, reason="quarantined")
    known = parsers.get(text.language)
    if known is None:
        return FileSymbols(text.path, text.content_hash, reason="no_grammar")
    language, parser = known
    regions = language.regions
    try:
        with ending_limit(batch.parse_cpu_seconds):
            is_read = regions is None or not regions.are_all or language.outline is not None
            own = _extraction(language, parser, source, text.path) if is_read else _NOTHING
            contents, written = Contents(own), ""
            if regions is not None and regions.may_be_in(source):
                written = source.decode("utf-8", "surrogatepass")
                contents = with_regions(text.language, written, text.path, own, parsers.read)
    except _DEFECTS:
        return FileSymbols(text.path, text.content_hash, reason="parse_failed")
    whole = contents.extraction
    if contents.regions or (regions is not None and regions.are_all):
        # What is in regions is known here alone: their uses cannot be read later, from the text and the symbols.
        uses: bytes | None = _uses_in_file(batch, contents, written, text.language, own.symbols)
    elif batch.defers_uses and lexical_rules(text.language) is not None:
        uses = None
    else:
        uses = read_uses(batch, text.language, source, whole.symbols)
    return FileSymbols(text.path, text.content_hash, whole.symbols, whole.imports, uses)


_NOTHING: Final = Extraction((), (), has_errors=False)


def read_uses(batch: Batch, language: str, source: bytes, symbols: Sequence[Symbol]) -> bytes:
    """Returns the packed uses of names in a file with these symbols. Kills the process if reading exceeds the CPU time of a
    parse."""
    try:
        with ending_limit(batch.parse_cpu_seconds):
            return packed(occurrences(language, source.decode("utf-8", "surrogatepass"), symbols))
    except _DEFECTS:
        return b""


def _uses_in_file(batch: Batch, contents: Contents, written: str, language: str, own: Sequence[Symbol]) -> bytes:
    """As `read_uses`, for a file with regions."""
    try:
        with ending_limit(batch.parse_cpu_seconds):
            return packed(uses_in_file(contents, written, language, own, occurrences))
    except _DEFECTS:
        return b""


def _extraction(language: Language, parser: tree_sitter.Parser | None, source: bytes, path: str) -> Extraction:
    if parser is None:
        return outlined(language, source, path)
    return extract(language, parse(language, parser, source).root_node, source, path)


_DEFECTS: Final = (ValueError, RecursionError, AttributeError, IndexError, TypeError, KeyError)
"""Exceptions that a defect in the rules of a language raises. The file loses its symbols or uses, but the job continues."""


def _load(name: str) -> tuple[Language, tree_sitter.Parser | None] | None:
    try:
        language = load(name)
        if language.outline is not None:
            return language, None
        # The grammar's name is one of the pack's literals; the table of languages is ours.
        return language, tree_sitter.Parser(get_language(language.grammar))  # type: ignore[arg-type]
    except (KeyError, LookupError, ValueError, OSError, ImportError):
        return None
