"""The ways to read a query besides words, tried by the same call: what an answer would otherwise propose as the next one.

    before words:  as it stands (`verbatim.py`) | a path | a glob | a pattern of another program | marks without a word
    after them, if nothing has the query as it stands:  another case | a part of a word

Each says in one sentence how the query was read.
"""

from collections.abc import Callable, Sequence
from typing import Final

import msgspec
from msgspec import Struct

from codecompass.errors import InvalidInput
from codecompass.languages.records import SymbolKind
from codecompass.protocol.requests import SearchCode
from codecompass.query.file_listing import list_files
from codecompass.query.messages.message_search import FoundMessage
from codecompass.query.names.named_locations import asked_lines, named_files
from codecompass.query.options import QueryOptions
from codecompass.query.search_hits import HitPage, Hits, RankedPlace
from codecompass.query.source_lines import cut, lines_of
from codecompass.query.verbatim import (
    FoundLines,
    HeldText,
    find_verbatim,
    held_text,
    in_reading_order,
    is_code_file,
    page_of_lines,
    scan_lines,
    scan_whole,
)
from codecompass.query.words.exact_scan import FoundLine, candidates_in_order
from codecompass.query.words.intent import classify
from codecompass.query.words.line_matchers import any_case_matcher, literal_matcher, regex_matcher
from codecompass.query.words.pattern_notation import glob_meant, name_pattern, patterns_meant
from codecompass.query.words.regex_terms import regex_terms, text_terms
from codecompass.store.snapshot import Snapshot
from codecompass.store.text_queries import Filter

SHOWN_CHARACTERS: Final = 80
"""Characters of a query in a notice."""

LEAST_PART: Final = 2
"""Characters of a part of a word; fewer are in too many words."""


class Asked(Struct, frozen=True):
    """A question that is read: what is asked where, and the page."""

    snapshot: Snapshot
    request: SearchCode
    text: str
    page: HitPage
    where: Filter
    kinds: frozenset[SymbolKind] | None
    options: QueryOptions
    is_expired: Callable[[], bool]
    root: str = ""


def read_before_words(
    asked: Asked, ranked: Callable[[], Sequence[RankedPlace]], templates: Callable[[], Sequence[FoundLine]]
) -> Hits | None:
    """Returns the answer to a query that stands in the index as it is, or can be no words; None for any other.

    `ranked` and `templates` are as in `find_verbatim`.
    """
    if asked_lines(asked.text) is not None:
        return None
    held = held_text(asked.text)
    if held is not None:
        found = find_verbatim(
            asked.snapshot,
            held,
            asked.page,
            asked.where,
            asked.kinds,
            asked.options,
            asked.is_expired,
            ranked,
            files=_files(asked, held),
            templates=templates,
        )
        if found is not None:
            return found
    glob = glob_meant(asked.text)
    if glob is not None and asked.kinds is None:
        listed = list_files(asked.snapshot, msgspec.structs.replace(asked.request, query=glob, mode="files"), asked.page)
        if listed.shown:
            return msgspec.structs.replace(listed, notice=f"as a glob of paths: {_shown(glob)}")
    return _by_pattern(asked) or _by_marks(asked)


def in_other_case(asked: Asked, held: HeldText) -> Hits | None:
    """Returns the lines that have a text as a whole if case does not count; None if there are none."""
    found = scan_whole(asked.snapshot, held.text, asked.where, asked.kinds, asked.options, asked.is_expired, has_case=False)
    return _lines(asked, found, f"nothing has {_shown(held.text)} as written; ignoring case") if found.total else None


def as_part_of_words(asked: Asked, held: HeldText) -> Hits | None:
    """Returns the lines that have a text as a part of a word; None if there are none."""
    if len(held.text) < LEAST_PART:
        return None
    part = _of_part(asked, held.text, has_case=True)
    if not part.total:
        part = _of_part(asked, held.text, has_case=False)
    return _lines(asked, part, f"nothing has {_shown(held.text)} as a whole word; as a part of one") if part.total else None


def template_lines(snapshot: Snapshot, messages: Sequence[FoundMessage]) -> list[FoundLine]:
    """Returns the lines of code that certainly produce a message, best first."""
    files = snapshot.facts.indexed_files(sorted({item.file_id for item in messages}))
    found = []
    for item in messages:
        if item.is_sure and is_code_file(files[item.file_id].path):
            text = lines_of(snapshot, item.file_id, item.focus, item.focus)
            found += [FoundLine(item.file_id, item.focus, cut(line.rstrip(), 200)) for line in text]
    return found


def option_lines(asked: Asked, held: HeldText) -> list[FoundLine]:
    """Returns the lines of code that name an option of a command line without its dashes, as many parsers of options do."""
    name = held.text.lstrip("-")
    if name == held.text or not name:
        return []
    found = scan_whole(asked.snapshot, name, asked.where, asked.kinds, asked.options, asked.is_expired)
    files = asked.snapshot.facts.indexed_files(sorted({line.file_id for line in found.lines}))
    names = [f"{quote}{name}{quote}" for quote in "\"'"]
    return [
        line
        for line in in_reading_order(asked.snapshot, found.lines)
        if any(quoted in line.text for quoted in names) and is_code_file(files[line.file_id].path)
    ]


def _files(asked: Asked, held: HeldText) -> list[RankedPlace]:
    """Returns the files that a path names."""
    if asked.kinds is not None or not held.is_token or classify(held.text) != "path":
        return []
    return named_files(asked.snapshot, held.text, asked.where, asked.page.end, above=0.0, root=asked.root)


def _by_pattern(asked: Asked) -> Hits | None:
    patterns = [*patterns_meant(asked.text), *filter(None, [name_pattern(asked.text)])]
    for pattern in dict.fromkeys(patterns):
        try:
            matcher = regex_matcher(pattern)
        except InvalidInput:
            continue
        passages = candidates_in_order(asked.snapshot, regex_terms(pattern), asked.where, pattern)
        found = scan_lines(asked.snapshot, passages, matcher, asked.kinds, asked.options, asked.is_expired)
        if found.total:
            return _lines(asked, found, f"as a pattern: {_shown(pattern)}", is_ordered=True)
    return None


def _by_marks(asked: Asked) -> Hits | None:
    """Returns the lines with a query without a letter or digit, such as an operator or an emoji."""
    text = asked.text.strip()
    if not text or "\n" in text or any(character.isalnum() for character in text):
        return None
    passages = candidates_in_order(asked.snapshot, text_terms(text), asked.where, "")
    found = scan_lines(asked.snapshot, passages, literal_matcher(text), asked.kinds, asked.options, asked.is_expired)
    return _lines(asked, found, "", is_ordered=True) if found.total else None


def _of_part(asked: Asked, text: str, *, has_case: bool) -> FoundLines:
    matcher = literal_matcher(text) if has_case else any_case_matcher(text)
    passages = candidates_in_order(asked.snapshot, text_terms(text, has_case=has_case), asked.where, "")
    return scan_lines(asked.snapshot, passages, matcher, asked.kinds, asked.options, asked.is_expired)


def _lines(asked: Asked, found: FoundLines, notice: str, *, is_ordered: bool = False) -> Hits:
    lines = found.lines if is_ordered else in_reading_order(asked.snapshot, found.lines)
    hits = page_of_lines(asked.snapshot, (), lines, asked.page, (), found.total - len(found.lines))
    return msgspec.structs.replace(
        hits,
        intent=classify(asked.text),
        is_counted=found.scanned.is_counted,
        notice=notice,
        warnings=(found.scanned.warning,) if found.scanned.warning else (),
        is_partial=found.scanned.is_partial,
    )


def _shown(text: str) -> str:
    return cut(text, SHOWN_CHARACTERS)
