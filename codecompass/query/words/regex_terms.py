"""The tokens that a text must contain for a literal or a regular expression to match in it; they narrow a scan.

A term is used only if every match implies it, so a scan of the narrowed chunks finds what a scan of everything would. Only ASCII
runs are used, because the index's tokenizer certainly splits those in the same way, and of literals pairs of letters of scripts
without blanks.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Final

import msgspec
from msgspec import Struct

from codecompass import lazy
from codecompass.languages.unspaced import pairs_of_text
from codecompass.languages.words import MAX_TOKEN_BYTES
from codecompass.query.words.regex_branches import WORD, Branch, Branches, Gap, Item, branches_of, is_plain
from codecompass.store.text_queries import Narrowing, Need, TermPattern

MIN_OPEN_LENGTH: Final = 3
"""Least length of a piece with an open end; shorter ones are part of too many words to narrow a scan."""

MAX_NEEDS: Final = 8
"""Needs of one alternative that the index can look up."""

MAX_SOUGHT: Final = 2
"""Needs of one alternative with an open start: each walks through all words of the index."""

_HUMP: Final = lazy.pattern("[A-Z][a-z]+")


class _Run(Struct, frozen=True):
    """A part of a branch within one word of `\\w`: pieces, with any such characters between them.

    The word may continue at an open end. The first or last piece is empty if the run begins or ends with a gap.
    """

    pieces: tuple[str, ...]
    is_start_open: bool
    is_end_open: bool
    is_called: bool


def text_terms(text: str, *, is_whole: bool = False, has_case: bool = True) -> Narrowing:
    """Returns the terms that every text containing `text` must contain; with `is_whole` no letter, digit or underscore may
    continue it."""
    edge = (Gap.EDGE,) if is_whole else ()
    return _with_pairs(_narrowing(Branches(((*edge, *text, *edge),), is_by_ascii=False, has_case=has_case)), text)


def regex_terms(pattern: str) -> Narrowing:
    """Returns the terms that every line matching `pattern` must contain. RE2 must accept the pattern."""
    return _narrowing(branches_of(pattern))


def _with_pairs(narrowing: Narrowing, literal: str) -> Narrowing:
    """Returns the narrowing with pairs of letters of scripts without blanks, which every text with the literal has as well."""
    pairs: tuple[Need, ...] = tuple((TermPattern("pairs", (pair,)),) for pair in pairs_of_text(literal).split()[:MAX_NEEDS])
    if not pairs:
        return narrowing
    alternatives = ((),) if narrowing.is_everything else narrowing.alternatives
    return msgspec.structs.replace(narrowing, alternatives=tuple((*pairs, *needs) for needs in alternatives), is_everything=False)


def _narrowing(read: Branches) -> Narrowing:
    alternatives = []
    pieces: dict[str, None] = {}
    may_be_one_long_word = False
    for branch in read.branches:
        runs = list(_runs(branch))
        if any(sum(map(len, run.pieces)) + 1 >= MAX_TOKEN_BYTES for run in runs):
            # It matches only texts with a word that long, and these are always candidates.
            may_be_one_long_word = True
            continue
        of_runs = [(run, list(_needs(run, has_case=read.has_case))) for run in runs]
        needs = _useful([need for _, own in of_runs for need in own])
        if not needs:
            return Narrowing()
        alternatives.append(needs)
        # A need is lacking only if the word that has the run is not in the index: then the run is in that word as a whole.
        pieces.update((max(run.pieces, key=len).lower(), None) for run, own in of_runs if not set(needs).isdisjoint(own))
    return Narrowing(
        tuple(dict.fromkeys(alternatives)),
        is_everything=False,
        is_by_ascii=read.is_by_ascii,
        may_be_one_long_word=may_be_one_long_word,
        pieces=None if may_be_one_long_word else tuple(pieces),
    )


def _runs(branch: Branch) -> Iterator[_Run]:
    start = 0
    while start < len(branch):
        if not _is_in_word(branch[start]):
            start += 1
            continue
        end = start
        pieces = [""]
        while end < len(branch) and _is_in_word(item := branch[end]):
            if isinstance(item, str):
                pieces[-1] += item
            elif pieces[-1] or len(pieces) == 1:
                pieces.append("")
            end += 1
        is_end_open = _goes_on(branch, end, 1)
        yield _Run(tuple(pieces), _goes_on(branch, start - 1, -1), is_end_open, not is_end_open and _is_called(branch, end))
        start = end


def _is_in_word(item: Item) -> bool:
    return item is Gap.WORD or item in WORD


def _goes_on(branch: Branch, index: int, step: int) -> bool:
    """Whether a word may continue at `index` in the direction of `step`."""
    while 0 <= index < len(branch) and branch[index] is Gap.MAYBE_PLAIN:
        index += step
    if not 0 <= index < len(branch):
        return True
    item = branch[index]
    if isinstance(item, Gap):
        return item in (Gap.ANY, Gap.WORD)
    # A letter outside ASCII belongs to the word; other characters outside ASCII count as such.
    return not item.isascii() or item in WORD


def _is_called(branch: Branch, index: int) -> bool:
    """Whether a parenthesis follows a word that ends before `index`, with only ASCII marks between."""
    while index < len(branch) and branch[index] != "(" and (branch[index] is Gap.EDGE or is_plain(branch[index])):
        index += 1
    return index < len(branch) and branch[index] == "("


def _needs(run: _Run, *, has_case: bool) -> Iterator[Need]:
    """Yields what the index can look up of a word: the identifier if it is certainly among the names, and its pieces."""
    pieces = run.pieces
    is_start_open, is_end_open = run.is_start_open, run.is_end_open
    if not pieces[0]:
        pieces, is_start_open = pieces[1:], True
    if len(pieces) > 1 and not pieces[-1] and not run.is_called:
        pieces, is_end_open = pieces[:-1], True
    if not any(pieces):
        return
    lower = tuple(piece.lower() for piece in pieces)
    name = TermPattern("names", lower, is_start_open, is_end_open)
    is_name = run.is_called or any("_" in piece for piece in pieces)
    if run.is_called:
        yield (msgspec.structs.replace(name, field="calls"),)
    elif is_name:
        yield (name,)
    elif len(pieces) > 1:
        yield (TermPattern("body", lower, is_start_open, is_end_open), name)
    for number, piece in enumerate(pieces):
        is_first, is_last = number == 0, number == len(pieces) - 1
        for token in _tokens(piece, is_start_open or not is_first, is_end_open or not is_last):
            humps = list(_humps(token)) if has_case and token.is_start_open else []
            yield from humps
            # Looking up a piece from the middle of words is slow, and adds nothing if the whole word, or a part equal to the
            # piece, is looked up.
            is_told = token.is_start_open and (is_name or len(pieces) > 1 or any(len(need) > 1 for need in humps))
            if not is_told:
                yield (TermPattern("body", (token.text.lower(),), token.is_start_open, token.is_end_open),)


class _Token(Struct, frozen=True):
    text: str
    is_start_open: bool
    is_end_open: bool


def _tokens(piece: str, is_start_open: bool, is_end_open: bool) -> Iterator[_Token]:
    """Yields the tokens that a piece of an identifier has parts in: underscores end them."""
    for found in re.finditer("[A-Za-z0-9]+", piece):
        is_open_before = is_start_open and found.start() == 0
        is_open_behind = is_end_open and found.end() == len(piece)
        yield _Token(found[0], is_open_before, is_open_behind)


def _humps(token: _Token) -> Iterator[Need]:
    """Yields the parts of a camelCase token that begin at a hump, whatever precedes the token.

    A part that is the whole token may be a separate token in the text.
    """
    for hump in _HUMP.finditer(token.text):
        is_end_open = token.is_end_open and hump.end() == len(token.text)
        part = TermPattern("parts", (hump[0].lower(),), is_end_open=is_end_open)
        if hump[0] == token.text:
            yield (part, msgspec.structs.replace(part, field="body"))
        else:
            yield (part,)


def _useful(needs: Sequence[Need]) -> tuple[Need, ...]:
    """Returns the needs that narrow a scan well, the longest of each kind."""
    ordered = sorted(dict.fromkeys(needs), key=lambda need: (-_length(need), need[0].pieces, need[0].field))
    exact = [need for need in ordered if not _is_open(need)]
    long = [need for need in ordered if _length(need) >= MIN_OPEN_LENGTH and _is_open(need)]
    beginnings = [need for need in long if not need[0].is_start_open]
    sought = [need for need in long if need[0].is_start_open]
    return (*exact[:MAX_NEEDS], *beginnings[:MAX_NEEDS], *sought[:MAX_SOUGHT])


def _length(need: Need) -> int:
    return sum(map(len, need[0].pieces))


def _is_open(need: Need) -> bool:
    return need[0].is_start_open or need[0].is_end_open or len(need[0].pieces) > 1
