"""Files in files: parts of a text that are code of another language: scripts in pages, cells of notebooks, tags of templates.

A language says where its files hold other languages (`Regions`). Each region is read by the module of its own language, as a file
of that language would be, and what it defines and imports is put at the lines of the file. Regions may hold regions themselves.

What is in a region of another family than the file's carries its language. The uses of a file are those that its own rules find
in the whole text, unless it is nothing but code of another language (a component, a notebook), and those in regions of other
families.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Final, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from codecompass.languages import described
from codecompass.languages.records import Import, NameUses, Symbol, Use
from codecompass.languages.uses.lexical_rules import family_of

if TYPE_CHECKING:
    # The server reads what languages are, and must not load the library of grammars.
    from codecompass.languages.walk.extract import Extraction

MAX_REGIONS: Final = 500
"""Regions of one file, those in regions included. Later ones are searched as text only."""

MAX_DEPTH: Final = 3
"""Regions in regions: a query in a script in a document."""

MAX_SYMBOLS: Final = 50_000
"""Definitions in all regions of one file, as in a file without regions."""


class Region(Struct, frozen=True):
    """A part of a text that is in another language."""

    language: str
    start: int
    """Index of its first character."""
    end: int
    """Index after its last character."""
    code: str | None = None
    """What is read in its place, with the same line breaks: pieces that are one program, with all between them blank. None: the
    text from `start` to `end`."""
    searched: str | None = None
    """What is searched for uses, with the same line breaks; None: what is read."""
    lines: Sequence[int] | None = None
    """The line of the text for each line of `code`, ascending, if that is not as it is written there (strings of JSON)."""

    def text_in(self, text: str) -> str:
        """Returns what is read."""
        return text[self.start : self.end] if self.code is None else self.code


class Regions(Struct, frozen=True, kw_only=True):
    """Where the files of a language hold code of other languages."""

    holds: str
    """What they are, in words for people: `scripts, styles`."""
    found: Callable[[str], Iterable[Region]]
    """Returns the regions of a text, in its order. Takes time in the size of the text, whatever that holds."""
    marks: tuple[bytes, ...] = ()
    """A text with none of these has no regions and is not searched for them; empty for a language whose texts always are."""
    are_all: bool = False
    """Whether a file has uses only in its regions, and, unless it has an outline, definitions too."""
    completed: Callable[[Sequence[Symbol], str, str], list[Symbol]] | None = None
    """Returns the symbols of a file with what follows from the file as a whole, from those in its regions, its text and path."""

    def may_be_in(self, source: bytes) -> bool:
        """Whether a text, given in UTF-8, is searched for regions."""
        return not self.marks or any(mark in source for mark in self.marks)

    def in_text(self, text: str) -> Iterable[Region]:
        """Returns the regions of a text."""
        return self.found(text) if not self.marks or any(mark.decode() in text for mark in self.marks) else ()


class ReadRegion(Struct, frozen=True):
    """A region and what was found in it, at lines of its own."""

    region: Region
    symbols: tuple[Symbol, ...]
    """Those of its own language."""
    inner: "tuple[ReadRegion, ...]" = ()
    """The regions that are directly in it."""


class Contents(Struct, frozen=True):
    """What a file with regions holds."""

    extraction: "Extraction"
    """At the lines of the file, in the order of lines."""
    regions: tuple[ReadRegion, ...] = ()
    """The regions that are directly in the file."""


Reader = Callable[[str, str, str], "Extraction | None"]
"""Returns what a text (second) in a language (first) in the file at a path defines and imports; None if the language is unknown
or its rules are defective. It does not look for regions."""


def with_regions(language: str, text: str, path: str, own: "Extraction", read: Reader) -> Contents:
    """Returns what the text of a file holds; `own` is what its own language finds in it."""
    return _Walk(path, read, family_of(language)).contents(language, text, own, 0)


class _Walk:
    """Reads the regions of one file and counts them."""

    def __init__(self, path: str, read: Reader, family: str) -> None:
        self._path = path
        self._read = read
        self._family = family
        """That of the file."""
        self._n_left = MAX_REGIONS

    def contents(self, language: str, text: str, own: "Extraction", depth: int) -> Contents:
        """Returns what a text at a depth holds."""
        regions = described(language).regions
        if regions is None or depth >= MAX_DEPTH:
            return Contents(own)
        found: list[ReadRegion] = []
        placed: list[Symbol] = []
        imports: list[Import] = []
        has_errors = own.has_errors
        line, at = 1, 0
        for region in regions.in_text(text):
            if self._n_left == 0:
                break
            self._n_left -= 1
            code = region.text_in(text)
            # A grammar is not loaded for what only uses names.
            is_read = region.searched is None or not code.isspace()
            alone = self._read(region.language, code, self._path) if is_read else replace(own, symbols=(), imports=())
            if alone is None:
                continue
            contents = self.contents(region.language, code, alone, depth + 1)
            inner = contents.extraction
            line, at = line + text.count("\n", at, region.start), region.start
            found.append(ReadRegion(region, alone.symbols, contents.regions))
            has_errors = has_errors or inner.has_errors
            n_before = len(placed)
            own_language = self._mark(region.language, depth)
            placed += [
                replace(
                    _moved(symbol, region, line),
                    parent=symbol.parent + n_before if symbol.parent >= 0 else -1,
                    language=self._mark(symbol.language, depth) if symbol.language else own_language,
                )
                for symbol in inner.symbols[: MAX_SYMBOLS - n_before]
            ]
            imports += [
                replace(_moved(item, region, line), language=self._mark(item.language or region.language, depth))
                for item in inner.imports
                if item.spec.strip()
            ]
        if not found:
            completed = [] if regions.completed is None else regions.completed((), text, self._path)
            return Contents(replace(own, symbols=_merged(own.symbols, completed)) if completed else own)
        if regions.completed is not None:
            placed = regions.completed(placed, text, self._path)
        both = sorted((*own.imports, *imports), key=lambda item: item.line_start) if imports else own.imports
        return Contents(
            replace(own, symbols=_merged(own.symbols, placed), imports=tuple(both), has_errors=has_errors), tuple(found)
        )

    def _mark(self, language: str, depth: int) -> str:
        """Returns what is noted of the language of a region; in the file itself, nothing of one of its own family."""
        return "" if depth == 0 and family_of(language) == self._family else language


_Placed = TypeVar("_Placed", Symbol, Import)


def _moved(item: _Placed, region: Region, line: int) -> _Placed:
    """Returns what was found in a region that begins in a line at its lines in the file."""
    if region.lines is not None:
        last = len(region.lines) - 1
        first, end = region.lines[min(item.line_start - 1, last)], region.lines[min(item.line_end - 1, last)]
        return replace(item, line_start=first, line_end=end)
    if line == 1:
        return item
    return replace(item, line_start=item.line_start + line - 1, line_end=item.line_end + line - 1)


def _merged(own: Sequence[Symbol], placed: Sequence[Symbol]) -> tuple[Symbol, ...]:
    """Returns the symbols of a file and those of its regions by line; the latter are members of what is around them."""
    if not own or not placed:
        return tuple(own or _by_line(placed))
    # Of those that begin in one line, the file's own come first, because regions are within them.
    order = sorted(
        (
            (symbol.line_start, is_placed, index)
            for is_placed, group in enumerate((own, placed))
            for index, symbol in enumerate(group)
        )
    )
    moved = {(is_placed, index): number for number, (_, is_placed, index) in enumerate(order)}
    merged: list[Symbol] = []
    around: list[int] = []
    """The file's own definitions around the current one, by their numbers."""
    for line, is_placed, index in order:
        symbol = placed[index] if is_placed else own[index]
        parent = moved[is_placed, symbol.parent] if symbol.parent >= 0 else -1
        while around and merged[around[-1]].line_end < line:
            around.pop()
        if is_placed and parent < 0:
            parent = next((number for number in reversed(around) if merged[number].line_end >= symbol.line_end), -1)
        merged.append(replace(symbol, parent=parent))
        if not is_placed and symbol.line_end > symbol.line_start:
            around.append(len(merged) - 1)
    return tuple(merged)


def _by_line(symbols: Sequence[Symbol]) -> Sequence[Symbol]:
    """Returns symbols in the order of their lines; those of overlapping regions are not."""
    order = sorted(range(len(symbols)), key=lambda index: symbols[index].line_start)
    if order == list(range(len(symbols))):
        return symbols
    moved = {old: new for new, old in enumerate(order)}
    return [replace(symbols[old], parent=moved.get(symbols[old].parent, -1)) for old in order]


Occurrences = Callable[[str, str, Sequence[Symbol]], Iterable[NameUses]]
"""Returns the uses in a text (second) in a language (first) with these definitions."""


def uses_in_file(
    contents: Contents, text: str, language: str, own: Sequence[Symbol], occurrences: Occurrences
) -> tuple[NameUses, ...]:
    """Returns the uses in the text of a file and in its regions, sorted by name, those in its own language first; `own` are the
    definitions that its own rules find."""
    found = _Uses(language, occurrences)
    regions = described(language).regions
    is_searched = regions is None or not regions.are_all
    if is_searched:
        found.add(language, text, own, None)
    found.add_regions(contents.regions, text, "" if is_searched else language, range(1, text.count("\n") + 2))
    return found.all()


class _Uses:
    """Collects the uses of one file."""

    def __init__(self, language: str, occurrences: Occurrences) -> None:
        self._language = language
        self._family = family_of(language)
        self._occurrences = occurrences
        self._found: dict[tuple[str, str], list[Use]] = {}
        """By name and language."""

    def add(self, language: str, text: str, symbols: Sequence[Symbol], lines: Sequence[int] | None) -> None:
        """Adds the uses in a text; `lines` are those of the file for each of its own, None if they are the same."""
        noted = "" if family_of(language) == self._family else language
        for each in self._occurrences(language, text, symbols):
            uses = self._found.setdefault((each.name, noted), [])
            if lines is None:
                uses += each.uses
            else:
                uses += [replace(use, line=lines[min(use.line, len(lines)) - 1]) for use in each.uses]

    def add_regions(self, regions: Sequence[ReadRegion], text: str, whole: str, lines: Sequence[int]) -> None:
        """Adds the uses in regions of a text. If it is nothing but code, the rules of its language `whole` hold for all of that
        family in it: those of a component know markup."""
        line, at = 1, 0
        for read in regions:
            region = read.region
            line, at = line + text.count("\n", at, region.start), region.start
            code = region.text_in(text)
            n_lines = code.count("\n") + 1
            inside = lines[line - 1 : line - 1 + n_lines]
            if region.lines is not None:
                inside = [lines[number - 1] for number in region.lines]
            language = whole if whole and family_of(whole) == family_of(region.language) else region.language
            self.add(language, code if region.searched is None else region.searched, read.symbols, inside)
            self.add_regions(read.inner, code, "", inside)

    def all(self) -> tuple[NameUses, ...]:
        """Returns what was found, by name."""
        return tuple(
            NameUses(name, tuple(sorted(self._found[name, language], key=lambda use: use.line)), language)
            for name, language in sorted(self._found)
        )
