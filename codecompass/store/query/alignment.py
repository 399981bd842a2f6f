"""Lays a message beside source text: the words that both have in the same order, with the gaps where values are filled in.

What is in a gap counts little where the source has a hole there: a placeholder of any language, or the end of a literal, after
which something is appended or the literal goes on. Elsewhere each word that only one of the two has makes it less likely
that the source is where the message comes from.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Final

from msgspec import Struct

from codecompass.store.query.message_text import SourceText, flat

MAX_GAP: Final = 30
"""Words of source, or of the message, that a gap may have."""

MAX_FOUND: Final = 3
"""Of one piece of text."""

_HOLE: Final = re.compile(r"[{%$\"'`<\[«“]|\\\(|#\{")
_PLACEHOLDER: Final = re.compile(
    r"\$\{[^}\n]*\}|#\{[^}\n]*\}|\\\([^)\n]*\)|\{[^}\n]*\}|%(?:\d+\$)?[-+ #0]*\d*(?:\.\d+)?[a-zA-Z@]{1,2}|\$\w+"
)
_HOLE_COST: Final = 0.3
_HOLE_WORD_COST: Final = 0.04
_GAP_COST: Final = 0.5
_GAP_WORD_COST: Final = 0.6
"""In eighths of the worth of a word that only one piece of text has."""

_MAX_BESIDE: Final = 120
_QUOTE: Final = re.compile(r"[\"`«“]|(?<!\w)'|'(?!\w)")
_WORD: Final = re.compile(r"[^\W_]+")


class Wanted(Struct, frozen=True):
    """The words of a message as they are looked for: where each stands, what it is worth, what all of the message is worth.

    `unit` is the worth of a word that stands in one piece of text alone."""

    places: Mapping[str, Sequence[int]]
    worth: Sequence[float]
    total: float
    unit: float
    core: str


class Alignment(Struct, frozen=True, kw_only=True):
    """The best of a message in a piece of source.

    Lines count from 0 in that text. `share` (0..1) is what of the message's worth is there in order, less the cost of
    gaps; `literal` (0..1) what of the words of the source's own literal the message has. `worth` is that of the words found.
    `is_exact` says that all of the message stands there character by character, but for blanks and escapes.
    """

    line_start: int
    line_end: int
    focus: int
    words: int
    worth: float
    share: float
    literal: float
    is_exact: bool

    @property
    def score(self) -> float:
        """What alignments are compared by."""
        return self.share + 0.25 * self.literal + (1.0 if self.is_exact else 0.0)


class _Pair(Struct, gc=False):
    """A word of the source that is a word of the message, and the best chain of pairs that ends with it."""

    at: int
    word: int
    score: float
    before: int = -1


def align(wanted: Wanted, source: SourceText, least: float) -> list[Alignment]:
    """Returns the alignments with at least a share of `least`, best first; mostly none."""
    pairs = _pairs(wanted, source)
    if not pairs or not _could_reach(wanted, pairs, least * wanted.total):
        return []
    _chain(wanted, source, pairs)
    found: list[Alignment] = []
    taken: set[int] = set()
    # A chain that goes on is found by its end, which scores more than what it goes on from.
    for index in sorted(range(len(pairs)), key=lambda index: (-pairs[index].score, pairs[index].at)):
        if len(found) == MAX_FOUND or pairs[index].score < least * wanted.total:
            break
        chain = _chain_to(pairs, index)
        if any(pair.at in taken for pair in chain):
            continue
        taken.update(range(chain[0].at, chain[-1].at + 1))
        found.append(_alignment(wanted, source, chain, pairs[index].score))
    return sorted(found, key=lambda alignment: -alignment.score)


def _pairs(wanted: Wanted, source: SourceText) -> list[_Pair]:
    places = wanted.places
    return [
        _Pair(at, word, wanted.worth[word])
        for at, text in enumerate(source.words)
        if text in places
        for word in places[text]
    ]


def _could_reach(wanted: Wanted, pairs: Sequence[_Pair], least: float) -> bool:
    """Whether words of that worth stand close enough together. Cheap, so that most text is not looked at further."""
    reach = 4 * MAX_GAP
    inside: dict[int, int] = {}
    total = 0.0
    first = 0
    for pair in pairs:
        if not inside.get(pair.word):
            total += wanted.worth[pair.word]
        inside[pair.word] = inside.get(pair.word, 0) + 1
        while pairs[first].at < pair.at - reach:
            gone = pairs[first].word
            inside[gone] -= 1
            if not inside[gone]:
                total -= wanted.worth[gone]
            first += 1
        if total >= least:
            return True
    return False


def _chain(wanted: Wanted, source: SourceText, pairs: list[_Pair]) -> None:
    """Gives each pair the best chain that ends with it."""
    start = 0
    holes: dict[tuple[int, int], bool] = {}
    for index, pair in enumerate(pairs):
        while pairs[start].at < pair.at - MAX_GAP:
            start += 1
        own = pair.score
        best = 0.0
        for earlier in range(index - 1, start - 1, -1):
            other = pairs[earlier]
            if other.at >= pair.at or other.word >= pair.word or other.score <= best:
                continue
            skipped, added = pair.at - other.at - 1, pair.word - other.word - 1
            if added > MAX_GAP:
                continue
            score = other.score
            if skipped or added:
                key = (other.at, pair.at)
                is_hole = holes.get(key)
                if is_hole is None:
                    is_hole = holes[key] = _is_hole(source, other.at, pair.at)
                cost = _HOLE_COST + _HOLE_WORD_COST * (skipped + added) if is_hole else _GAP_COST + _GAP_WORD_COST * (skipped + added)
                score -= cost * wanted.unit / 8
            if score > best:
                best, pair.before = score, earlier
                if not (skipped or added):
                    break
        pair.score = own + best


def _is_hole(source: SourceText, first: int, last: int) -> bool:
    return any(_HOLE.search(source.between[number]) for number in range(first + 1, last + 1))


def _chain_to(pairs: Sequence[_Pair], index: int) -> list[_Pair]:
    chain = []
    while index >= 0:
        chain.append(pairs[index])
        index = pairs[index].before
    return chain[::-1]


def _alignment(wanted: Wanted, source: SourceText, chain: Sequence[_Pair], score: float) -> Alignment:
    first, last = chain[0].at, chain[-1].at
    line = sum(text.count("\n") for text in source.between[: first + 1])
    lines: dict[int, float] = {}
    at = first
    for pair in chain:
        line += sum(source.between[number].count("\n") for number in range(at + 1, pair.at + 1))
        at = pair.at
        lines[line] = lines.get(line, 0.0) + wanted.worth[pair.word]
    beside = _words_beside(source, first, last) + _words_between(source, chain)
    return Alignment(
        line_start=min(lines),
        line_end=max(lines),
        focus=max(lines, key=lambda number: (lines[number], -number)),
        words=len(chain),
        worth=sum(wanted.worth[pair.word] for pair in chain),
        share=min(1.0, score / wanted.total) if wanted.total else 0.0,
        literal=len(chain) / (len(chain) + beside),
        is_exact=bool(wanted.core) and wanted.core in flat(source.text(first, last)),
    )


def _words_beside(source: SourceText, first: int, last: int) -> int:
    """Words before and after the chain in the same literal, or in the same line where it ends before the literal does."""
    before = source.before(first, MAX_GAP)[-_MAX_BESIDE:]
    after = source.after(last, MAX_GAP)[:_MAX_BESIDE]
    start = max([before.rfind("\n") + 1, *(found.end() for found in _QUOTE.finditer(before))])
    ending = _QUOTE.search(after)
    end = min(ending.start() if ending else len(after), after.find("\n") % (len(after) + 1))
    return sum(len(_WORD.findall(_PLACEHOLDER.sub(" ", text))) for text in (before[start:], after[:end]))


def _words_between(source: SourceText, chain: Sequence[_Pair]) -> int:
    """Words of the source between those of the message, but for what holes hold."""
    count = 0
    for one, other in zip(chain, chain[1:], strict=False):
        if other.at - one.at > 1 and not _is_hole(source, one.at, other.at):
            count += other.at - one.at - 1
    return count
