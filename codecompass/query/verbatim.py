"""What somebody already holds comes first: a token or phrase that stands in the index as it was asked is answered by its places,
each line once, and by nothing else.

    definitions of that name -> lines of code -> configuration -> tests -> documents -> catalogues, generated and vendored files

Whole means that no letter, digit or underscore continues it: `max-time` is found in `--max-time`, not in `max-timeout`.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Final, TypeVar

import msgspec
from msgspec import Struct

from codecompass import lazy
from codecompass.languages.records import SymbolKind
from codecompass.protocol.replies import MatchedLine
from codecompass.query.excerpts import SEARCHED_LINES
from codecompass.query.names.exact_names import exactly, without_declarations
from codecompass.query.options import QueryOptions
from codecompass.query.search_hits import Hit, HitPage, Hits, RankedPlace, definition_place, score_in_order
from codecompass.query.source_lines import lines_of
from codecompass.query.words.exact_scan import FoundLine, Lines, Scanned, hits_of_lines, in_order, scan_passages
from codecompass.query.words.intent import classify
from codecompass.query.words.line_matchers import Matcher, whole_matcher
from codecompass.query.words.query_words import is_code_name, name_parts, word_bag
from codecompass.query.words.regex_terms import text_terms
from codecompass.scan.path_roles import KNOWN_PATHS, is_history, role_of
from codecompass.store.rows import SymbolRow
from codecompass.store.snapshot import ChunkCandidates, Passage, Snapshot
from codecompass.store.text_queries import Filter

MAX_LENGTH: Final = 300
"""Characters of a text that is looked for as it was asked; longer ones are pasted with what surrounds them."""

MAX_TOKENS: Final = 4
"""Tokens of a longer question that are looked for one by one."""

MAX_TOKEN_LINES: Final = 200
"""A token of a longer question that stands on more lines says little."""

SHORT_LIST: Final = 10
"""More lines than this are ordered by an ordinary search, so that the best files come first."""

MAX_LOOKED_THROUGH: Final = 2_000
MAX_LOOKED_THROUGH_FOR_WORDS: Final = 500
"""Texts that are looked through for a token or a phrase that counts only if it is on few lines, and for one of plain words: with
more of them its words are everywhere, and reading them takes 10 us each."""

FEW_LINES: Final = 40
"""A plain word on more lines than this, such as `session`, is ranked like any other word."""

MANY_FILES: Final = 3_000
"""With more candidates than this, files are scanned in the order of the index, as their paths take too long to read."""

PREFERRED_FILES: Final = 40
"""Files, the best ranked, whose lines come first among those of the same role."""

MAX_MEMBERS: Final = 3
"""More definitions than this with the name of a member, but for case, do not say which is meant."""

HEADER_LINES: Final = 5
"""The name of a definition is on one of its first lines, after decorators and attributes."""

_PAIRS: Final = {'"': '"', "'": "'", "`": "`", "“": "”", "‘": "’", "«": "»"}
_TRAILING: Final = lazy.pattern(r"(?:\(\)?|[:,;])+$")
_NAME: Final = lazy.pattern(r"(?:->|[@$#&*.:]{0,2})[^\W\d][\w$]*(?:(?:::|->|[.#\\/:])[^\W\d][\w$]*)*[!?]?")
_LONG_OPTION: Final = lazy.pattern(r"--?[A-Za-z]")
_CODE_MARKS: Final = frozenset("_{}[]()<>=$@#&|\\^~%*+`")
_PROSE_EDGES: Final = ".,;:!?()\"'`“”‘’«»"
_WORDS: Final = lazy.pattern(r"[a-z ]+")
_NO_CODE: Final = lazy.pattern(r"\d+(?:[.,]\d+)?|(?:[A-Za-z]\.)+[A-Za-z]")
"""Numbers, and abbreviations such as `e.g`."""

_CODE, _CONFIGURATION, _TESTS, _DOCUMENTS, _CATALOGUES, _GENERATED, _VENDORED = range(7)
_CATALOGUE_ENDS: Final = (".po", ".pot", ".xlf", ".arb", ".ftl")


T = TypeVar("T")


class FoundLines(Struct, frozen=True):
    """Lines that match, and how the scan for them ended."""

    lines: tuple[FoundLine, ...]
    scanned: Scanned

    @property
    def total(self) -> int:
        """How many lines match."""
        return self.scanned.total


class HeldText(Struct, frozen=True):
    """A text that somebody holds: one token, or a phrase of one line."""

    text: str
    is_token: bool
    is_certain: bool
    """Whether it cannot be meant as words: it was quoted, or has more than plain words."""
    is_quoted: bool = False


def held_text(query: str) -> HeldText | None:
    """Returns the text of a query without quotes and without the `(` or `:` behind a name; None for one that is too long or has
    several lines."""
    text = query.strip()
    bare = _unquoted(text)
    is_quoted = bare != text
    if not bare or len(bare) > MAX_LENGTH or "\n" in bare:
        return None
    if len(bare.split()) > 1:
        is_certain = is_quoted or any(looks_like_code(word) for word in bare.split())
        return HeldText(bare, is_token=False, is_certain=is_certain, is_quoted=is_quoted)
    token = _TRAILING.sub("", bare)
    token = token if any(character.isalnum() for character in token) else bare
    is_certain = is_quoted or token != bare or looks_like_code(token)
    return HeldText(token, is_token=True, is_certain=is_certain, is_quoted=is_quoted)


def looks_like_code(word: str) -> bool:
    """Whether a word of a question is certainly no word of a language: it has marks, digits or capitals that only code has."""
    bare = word.strip(_PROSE_EDGES)
    if not bare or _NO_CODE.fullmatch(bare):
        return any(mark in word for mark in "{}[]<>=")
    if _LONG_OPTION.match(bare) is not None or word.startswith((":", ".")) or "`" in word:
        return True
    inner = bare[1:-1]
    return (
        is_code_name(bare)
        or not _CODE_MARKS.isdisjoint(bare)
        or any(mark in inner for mark in ("-", ".", "/", ":"))
        or (len(bare) > 1 and bare.isupper())
    )


def find_verbatim(
    snapshot: Snapshot,
    held: HeldText,
    page: HitPage,
    where: Filter,
    kinds: frozenset[SymbolKind] | None,
    options: QueryOptions,
    is_expired: Callable[[], bool],
    ranked: Callable[[], Sequence[RankedPlace]],
    *,
    files: Sequence[RankedPlace] = (),
    templates: Callable[[], Sequence[FoundLine]] = tuple,
) -> Hits | None:
    """Returns a page of the places of a text that stands in the index as it is; None if it stands nowhere, or can be meant as
    words: then `few_lines` has its lines, and other places follow them.

    `ranked` returns the places of an ordinary search, which order what does not fit a page. `files` come first: those that the
    text names. `templates` returns lines of code that mean the text, called if no line of code has it as it is.
    """
    rows, others = _definitions(snapshot, held.text, where, kinds) if held.is_token else ([], [])
    if not held.is_certain and not rows:
        return None
    if held.is_certain:
        found = scan_whole(snapshot, held.text, where, kinds, options, is_expired)
    else:
        found = _lines_if_few(snapshot, held.text, FEW_LINES, where, kinds, options, is_expired)
    if not (rows or others or found.total or files) or (not held.is_certain and found.total > FEW_LINES):
        return None
    if held.is_token and not rows and not others:
        others = _members_of_its_kind(snapshot, held.text, where, kinds)
    prefer = _positions(ranked()) if len(rows) > 1 or found.total > SHORT_LIST else {}
    if prefer and not found.scanned.is_counted:
        found = _with_preferred(snapshot, held.text, found, prefer, where, kinds, options, is_expired)
    rows.sort(key=lambda row: prefer.get(row.file_id, PREFERRED_FILES))
    lines = in_reading_order(snapshot, _without_headers(found.lines, rows), prefer)
    n_uncounted = found.total - len(found.lines)
    role = _role_of_first(snapshot, lines)
    if role != _CODE and not rows:
        known = set(lines)
        meant = [line for line in templates() if line not in known]
        # A sentence is produced by the code that comes first; an option stands as it was asked before it stands without dashes.
        lines = [*lines, *meant] if held.is_token else [*meant, *lines]
        if not held.is_token and lines and lines[0] in known and role >= _CATALOGUES and not held.is_quoted:
            # What only a changelog says is the title of a change: the code that it is about is meant.
            return None
    leading = [*files, *(definition_place(row, 0.0) for row in rows)]
    # Once lines are not all known, nothing can follow them.
    last = [definition_place(row, 0.0) for row in others] if not n_uncounted else []
    return msgspec.structs.replace(
        page_of_lines(snapshot, leading, lines, page, last, n_uncounted),
        intent=classify(held.text),
        is_counted=found.scanned.is_counted,
        warnings=(found.scanned.warning,) if found.scanned.warning else (),
        is_partial=found.scanned.is_partial,
        is_verbatim=True,
    )


def page_of_lines(
    snapshot: Snapshot,
    leading: Sequence[RankedPlace],
    lines: Sequence[FoundLine],
    page: HitPage,
    last: Sequence[RankedPlace] = (),
    n_uncounted: int = 0,
) -> Hits:
    """Returns a page of places, each of which counts as a line, of lines, and of the last places. `n_uncounted` lines follow that
    are not among them."""
    total = len(leading) + len(lines) + len(last) + n_uncounted
    first = leading[page.offset : page.end]
    rest = _part(lines, page, len(leading))
    end = _part(last, page, len(leading) + len(lines))
    places = [*_hits(first), *hits_of_lines(snapshot, rest, None), *_hits(end)]
    shown = page.offset + len(first) + len(rest) + len(end)
    return Hits(
        shown=tuple(_scored(hit, page.offset + index) for index, hit in enumerate(places)),
        intent="natural_language",
        total=total,
        unit="line",
        are_lines_paged=True,
        next_offset=shown if places and total > shown else 0,
    )


def few_lines(
    snapshot: Snapshot,
    held: HeldText,
    where: Filter,
    options: QueryOptions,
    is_expired: Callable[[], bool],
    ranked: Sequence[RankedPlace],
) -> list[Hit]:
    """Returns the lines of a plain word or phrase as hits if they are few; else it is better ranked.

    So are lower-case words in a row that name a definition, as `rate limiter` does `RateLimiter`, or that no code has: they are a
    question as well.
    """
    is_words = not held.is_token and _WORDS.fullmatch(held.text) is not None
    if is_words and ranked and ranked[0].symbol is not None and word_bag(ranked[0].symbol.name) == set(held.text.split()):
        return []
    texts = MAX_LOOKED_THROUGH_FOR_WORDS
    found = _lines_if_few(snapshot, held.text, FEW_LINES, where, None, options, is_expired, texts).lines
    if not found:
        return []
    lines = in_reading_order(snapshot, found, _positions(ranked))
    first = _role_of_first(snapshot, lines)
    leads = held.is_token or first < (_TESTS if is_words else _CATALOGUES)
    return hits_of_lines(snapshot, lines, None) if leads else []


def _part(items: Sequence[T], page: HitPage, n_before: int) -> Sequence[T]:
    """Returns those of the items, before which `n_before` others come, that are on the page."""
    return items[max(0, page.offset - n_before) : max(0, page.end - n_before)]


def _hits(places: Sequence[RankedPlace]) -> Iterator[Hit]:
    return (Hit(place=place) for place in places)


def scan_whole(
    snapshot: Snapshot,
    text: str,
    where: Filter,
    kinds: frozenset[SymbolKind] | None,
    options: QueryOptions,
    is_expired: Callable[[], bool],
    *,
    has_case: bool = True,
) -> FoundLines:
    """Returns the lines that have `text` as a whole, at most as many as are counted."""
    narrowing = text_terms(text, is_whole=True, has_case=has_case)
    held = snapshot.text.chunks_holding(narrowing, where)
    passages = held.passages(_numbers(snapshot, held))
    return scan_lines(snapshot, passages, whole_matcher(text, has_case=has_case), kinds, options, is_expired)


def _lines_if_few(
    snapshot: Snapshot,
    text: str,
    most: int,
    where: Filter,
    kinds: frozenset[SymbolKind] | None,
    options: QueryOptions,
    is_expired: Callable[[], bool],
    most_texts: int = MAX_LOOKED_THROUGH,
) -> FoundLines:
    """Returns the lines that have `text` as a whole, in no order; if they are more than `most`, or more than `most_texts` texts
    have its words, none of them and some larger total."""
    held = snapshot.text.chunks_holding(text_terms(text, is_whole=True), where, most_texts)
    if len(held) > most_texts:
        return FoundLines((), Scanned(most + 1, is_counted=False))
    # All of them are read or none is shown, so that no order is needed.
    passages = held.passages(range(len(held)))
    enough = msgspec.structs.replace(options, counted_lines=most + 1)
    found = scan_lines(snapshot, passages, whole_matcher(text), kinds, enough, is_expired)
    return found if found.total <= most else FoundLines((), found.scanned)


def scan_lines(
    snapshot: Snapshot,
    passages: Iterable[Passage],
    matcher: Matcher,
    kinds: frozenset[SymbolKind] | None,
    options: QueryOptions,
    is_expired: Callable[[], bool],
) -> FoundLines:
    """Returns the matching lines of the passages, at most as many as are counted."""
    first = Lines(options.counted_lines)
    found = scan_passages(snapshot, passages, matcher, first, kinds, options, is_expired)
    return FoundLines(tuple(first.lines), found)


def in_reading_order(
    snapshot: Snapshot, lines: Collection[FoundLine], prefer: Mapping[int, int] | None = None
) -> list[FoundLine]:
    """Returns lines in the order in which they are read: code that can do it, configuration, tests, documents, catalogues; the
    preferred files first in each, then by path and line."""
    files = snapshot.facts.indexed_files(sorted({line.file_id for line in lines}))
    chosen = {} if prefer is None else prefer
    places = {file_id: (_rank(file.path), chosen.get(file_id, PREFERRED_FILES), file.path) for file_id, file in files.items()}
    return sorted(lines, key=lambda line: (places[line.file_id], line.line))


def code_tokens(query: str) -> tuple[str, ...]:
    """Returns the words of a longer question that look like code, as they were written, without the punctuation of the
    sentence."""
    found: dict[str, None] = {}
    for word in query.split():
        bare = _TRAILING.sub("", word.strip(_PROSE_EDGES) if not word.startswith((":", ".", "{")) else word.rstrip(",;.!?\"'`"))
        if looks_like_code(word) and 1 < len(bare) <= MAX_LENGTH and "://" not in bare:
            found.setdefault(bare)
    return tuple(found)[:MAX_TOKENS]


def is_code_file(path: str) -> bool:
    """Whether a file can do what its text says: product code, not a test, document, catalogue or copy."""
    return _rank(path) == _CODE


def _unquoted(text: str) -> str:
    while len(text) > 2 and _PAIRS.get(text[0]) == text[-1]:
        text = text[1:-1].strip()
    # A quote at one end is left from a longer text.
    if len(text.split()) == 1 and len(text) > 1 and (text[0] in _PAIRS) != (text[-1] in _PAIRS.values()):
        text = text[1:] if text[0] in _PAIRS else text[:-1]
    return text


def _definitions(
    snapshot: Snapshot, text: str, where: Filter, kinds: frozenset[SymbolKind] | None
) -> tuple[list[SymbolRow], list[SymbolRow]]:
    """Returns the definitions with this name or qualified name, and those that may be meant by it: with the qualified name
    written otherwise, or in a file with the name of its first part."""
    if _NAME.fullmatch(text) is None:
        return [], []
    named = [each for each in exactly(snapshot, text, where, kinds) if each.reading in ("exact", "qualified")]
    rows = [row for row in without_declarations([each.row for each in named]) if row.kind not in ("use", "test")]
    bare = text.lstrip("@$#&*.:->")
    sure = [row for row in rows if row.name in (text, bare) or row.qualified_name.endswith(bare)]
    return sure, [row for row in rows if row not in sure]


def _members_of_its_kind(snapshot: Snapshot, text: str, where: Filter, kinds: frozenset[SymbolKind] | None) -> list[SymbolRow]:
    """Returns the few definitions that a token such as `group.engine.addRoute` means if the value is named after its type: those
    with the qualified name `Engine.addRoute`, in any case."""
    parts = name_parts(text)
    if _NAME.fullmatch(text) is None or len(parts) < 2:
        return []
    rows = without_declarations([each.row for each in exactly(snapshot, ".".join(parts[-2:]), where, kinds)])
    return rows if len(rows) <= MAX_MEMBERS else []


def _numbers(snapshot: Snapshot, held: ChunkCandidates) -> Iterator[int]:
    """Yields the numbers of the candidates in the reading order of their files."""
    if len(held.file_ids) > MANY_FILES:
        yield from in_order(snapshot, held, ())
        return
    files = snapshot.facts.indexed_files(sorted(held.file_ids))
    for _, _, file_id in sorted((_rank(file.path), file.path, file_id) for file_id, file in files.items()):
        yield from held.of(file_id)


@lru_cache(maxsize=KNOWN_PATHS)
def _rank(path: str) -> int:
    """Returns the place of a file in the order of reading."""
    role = role_of(path)
    if role.is_vendored:
        return _VENDORED
    if role.is_generated:
        return _GENERATED
    if path.endswith(_CATALOGUE_ENDS) or is_history(path):
        return _CATALOGUES
    if role.is_test:
        return _TESTS
    if role.is_prose or role.is_example:
        return _DOCUMENTS
    return _CONFIGURATION if role.is_data else _CODE


def _positions(ranked: Sequence[RankedPlace]) -> dict[int, int]:
    ids = list(dict.fromkeys(place.file.id for place in ranked))[:PREFERRED_FILES]
    return {file_id: position for position, file_id in enumerate(ids)}


def _with_preferred(
    snapshot: Snapshot,
    text: str,
    found: FoundLines,
    prefer: Mapping[int, int],
    where: Filter,
    kinds: frozenset[SymbolKind] | None,
    options: QueryOptions,
    is_expired: Callable[[], bool],
) -> FoundLines:
    """Returns the lines with those of the preferred files, which a scan that ended early may have missed."""
    best = msgspec.structs.replace(where, file_ids=tuple(sorted(prefer)), left_out=())
    own = scan_whole(snapshot, text, best, kinds, options, is_expired)
    lines = tuple(dict.fromkeys((*own.lines, *found.lines)))
    scanned = msgspec.structs.replace(found.scanned, total=max(found.total, len(lines)))
    return FoundLines(lines, scanned)


def _without_headers(lines: Sequence[FoundLine], rows: Sequence[SymbolRow]) -> list[FoundLine]:
    """Returns the lines without those on which the definitions are named, which are shown as definitions."""
    headers: dict[int, list[SymbolRow]] = {}
    for row in rows:
        headers.setdefault(row.file_id, []).append(row)
    named: set[tuple[int, int]] = set()
    for file_id, own in headers.items():
        numbers = sorted(line.line for line in lines if line.file_id == file_id)
        for row in own:
            last = min(row.line_end, row.line_start + HEADER_LINES)
            first = next((number for number in numbers if row.line_start <= number <= last), None)
            if first is not None:
                named.add((file_id, first))
    return [line for line in lines if (line.file_id, line.line) not in named]


def _role_of_first(snapshot: Snapshot, lines: Sequence[FoundLine]) -> int:
    """Returns the role of the file of the first line, as lines of code come first; the last role without lines."""
    if not lines:
        return _VENDORED
    return _rank(snapshot.facts.indexed_files([lines[0].file_id])[lines[0].file_id].path)


def _scored(hit: Hit, index: int) -> Hit:
    """Returns the hit with a score by its place on the page."""
    signals = msgspec.structs.replace(hit.place.signals, exact=1.0)
    return msgspec.structs.replace(hit, place=msgspec.structs.replace(hit.place, score=score_in_order(index), signals=signals))


def with_held_tokens(
    snapshot: Snapshot,
    query: str,
    shown: Sequence[Hit],
    ranked: Sequence[RankedPlace],
    where: Filter,
    limit: int,
    options: QueryOptions,
    is_expired: Callable[[], bool],
) -> list[Hit]:
    """Returns the hits of a longer question so that each of its tokens that looks like code is shown with a line that has it: in
    a hit that has one, else as a hit of its own, the last ones of up to `limit`."""
    hits = list(shown)
    further: list[FoundLine] = []
    for token in code_tokens(query):
        if is_expired() or any(hit.place.symbol is not None and hit.place.symbol.name == token for hit in hits):
            continue
        number, line = next(_holding(snapshot, token, hits), (0, None))
        if line is not None:
            hits[number] = msgspec.structs.replace(hits[number], held=(*hits[number].held, line))
            continue
        found = _lines_if_few(snapshot, token, MAX_TOKEN_LINES, where, None, options, is_expired).lines
        further += in_reading_order(snapshot, found, _positions(ranked))[:1]
    extra = hits_of_lines(snapshot, list(dict.fromkeys(further)), None) if further else []
    kept = hits[: max(0, limit - len(extra))]
    least = min((hit.place.score for hit in kept), default=1.0)
    return kept + [msgspec.structs.replace(hit, place=msgspec.structs.replace(hit.place, score=least)) for hit in extra]


def _holding(snapshot: Snapshot, token: str, hits: Sequence[Hit]) -> Iterator[tuple[int, MatchedLine]]:
    """Yields the hits that have a token, by their numbers, with the first line that has it."""
    matcher = whole_matcher(token)
    for number, hit in enumerate(hits):
        place = hit.place
        last = min(place.line_end, place.line_start + SEARCHED_LINES - 1)
        if place.type == "file":
            continue
        lines = lines_of(snapshot, place.file.id, place.line_start, last)
        for index, _, _ in matcher("\n".join(lines)):
            yield number, MatchedLine(line=place.line_start + index, text=lines[index].rstrip())
            break
