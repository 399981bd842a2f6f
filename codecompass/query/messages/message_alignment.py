"""Aligns a message with source text: finds the words that both have in the same order, with gaps where values are filled in.

A gap costs little where the source has a hole: a placeholder of any language, or the end of a string literal to which something
is appended. Elsewhere each word that only one of the two has makes it less likely that the message comes from there.
"""

import re
from collections.abc import Mapping, Sequence
from itertools import islice, pairwise
from typing import Final

import msgspec
from msgspec import Struct

from codecompass import lazy
from codecompass.query.messages.message_parsing import HOLE, MessageToken, SourceText, flat

MAX_GAP: Final = 30
"""Words of source, or of the message, in one gap."""

OTHER_CASE: Final = 0.5
"""Value of a literal match that ignores case, compared with an exact one."""

MAX_REPEATED: Final = 6
MAX_PAIRS: Final = 800
"""Positions of one word in a message, and pairs of equal words of a message and a text, that are compared: words repeated
everywhere would take long and say little."""

MAX_FOUND: Final = 3
"""Alignments of one text."""

_GLUE: Final = r"(?:\+\+?|\.\.?|<>|<<|[&,%~])"
_SEAM: Final = lazy.pattern(
    rf"[\"'`]\)?\s*{_GLUE}(?:.*?{_GLUE})?\s*\w{{0,2}}[\"'`]|[\"'`]\s*[\w.]+\s*[\"'`]|[\"'`]\s*\\?\n\s*\w{{0,2}}[\"'`]", re.DOTALL
)
"""The end of a literal and the beginning of the next one, with what may be between them."""

_GLUE_BEFORE: Final = lazy.pattern(rf"{_GLUE}\s*\w{{0,2}}$")
_GLUE_BEHIND: Final = lazy.pattern(rf"\)?\s*{_GLUE}")
_NEW_PART: Final = lazy.pattern(r":\s|[\n\])>|]|\s-\s")
_SENTENCE_END: Final = lazy.pattern(r"[\n.;:,(\[|]")

_GAP_COST: Final = 0.4
_GAP_WORD_COST: Final = 0.6
_HOLE_WORD_COST: Final = 0.04
"""Costs of a gap, of a word in it, and of a word that fills a hole, in eighths of the worth of a word that one text has."""

_MAX_BESIDE: Final = 120
_QUOTE: Final = lazy.pattern(r"[\"`«“]|(?<!\w)'|'(?!\w)")
_OUTSIDE: Final = lazy.pattern(rf".*[{HOLE}\"'`]", re.DOTALL)
_OUTER: Final = "\"'`“”‘’«» \n\t"
_WORD: Final = lazy.pattern(r"[^\W_]+")


class PreparedMessage(Struct, frozen=True):
    """A message, prepared for alignment."""

    places: Mapping[str, Sequence[int]]
    """The positions of each word."""
    worth: Sequence[float]
    """The worth of the word at each position."""
    total: float
    """The worth of the whole message."""
    unit: float
    """The worth of a word that only one chunk has."""
    pieces: Sequence[MessageToken]
    core: str


class Alignment(Struct, frozen=True, kw_only=True):
    """Part of a source text that matches a message. Lines count from 0 in that text; shares are 0..1."""

    line_start: int
    line_end: int
    focus: int
    """The line with most of the message."""
    words: int
    """The number of words that match."""
    worth: float
    """Their worth."""
    share: float
    """The share of the message's worth that matches in order, less the cost of gaps."""
    fit: float
    """The share of the words of message and literal together that are in both; words in holes do not count."""
    punctuation: float
    """The share of the words preceded by the same punctuation as in the message."""
    exact: float
    """1 if the text contains the whole message literally, except for blanks and escapes; less if case differs."""

    @property
    def score(self) -> float:
        """The value by which alignments are sorted."""
        return self.share + 0.25 * self.fit + 0.05 * self.punctuation + self.exact

    def moved(self, lines: int) -> "Alignment":
        """Returns the alignment with `lines` added to its line numbers."""
        return msgspec.structs.replace(
            self, line_start=self.line_start + lines, line_end=self.line_end + lines, focus=self.focus + lines
        )


class _Pair(Struct, gc=False):
    """A word of the source that is a word of the message, and the best chain of pairs that ends with it."""

    at: int
    word: int
    score: float
    before: int = -1


class _Gap(Struct, frozen=True, gc=False):
    """What is between two words of the source: how many other words, and whether there is a hole."""

    words: int
    is_hole: bool


def align(wanted: PreparedMessage, source: SourceText, least: float) -> list[Alignment]:
    """Returns the alignments with at least a share of `least`, best first; mostly none."""
    pairs = _pairs(wanted, source)
    if not pairs or not _could_reach(wanted, pairs, least * wanted.total):
        return []
    _chain(wanted, source, pairs)
    found: list[Alignment] = []
    taken: set[int] = set()
    # A longer chain is found first, because its end scores more than each of its beginnings.
    for index in sorted(range(len(pairs)), key=lambda index: (-pairs[index].score, pairs[index].at)):
        if len(found) == MAX_FOUND or pairs[index].score < least * wanted.total:
            break
        chain = _chain_to(pairs, index)
        if any(pair.at in taken for pair in chain):
            continue
        taken.update(range(chain[0].at, chain[-1].at + 1))
        alignment = _alignment(wanted, source, _trimmed(wanted, source, chain))
        if alignment.share >= least:
            found.append(alignment)
    return sorted(found, key=lambda alignment: -alignment.score)


def _pairs(wanted: PreparedMessage, source: SourceText) -> list[_Pair]:
    places = wanted.places
    found = (
        _Pair(at, word, wanted.worth[word])
        for at, text in enumerate(source.words)
        if text in places
        for word in places[text][:MAX_REPEATED]
    )
    return list(islice(found, MAX_PAIRS))


def _could_reach(wanted: PreparedMessage, pairs: Sequence[_Pair], least: float) -> bool:
    """Whether words worth at least `least` are close enough together. Cheap, and rules out most texts."""
    reach = 2 * len(wanted.pieces) + MAX_GAP
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


def _chain(wanted: PreparedMessage, source: SourceText, pairs: list[_Pair]) -> None:
    """Sets for each pair the best chain that ends with it."""
    start = 0
    gaps: dict[tuple[int, int], _Gap] = {}
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
                if score - (_GAP_COST + _HOLE_WORD_COST * added) / 8 * wanted.unit <= best:
                    continue
                gap = gaps.get((other.at, pair.at)) or gaps.setdefault((other.at, pair.at), _gap(source, other.at, pair.at))
                score -= _cost(gap, added) * wanted.unit
            if score > best:
                best, pair.before = score, earlier
                if not (skipped or added):
                    break
        pair.score = own + best


def _cost(gap: _Gap, added: int) -> float:
    return (_GAP_COST + _GAP_WORD_COST * gap.words + (_HOLE_WORD_COST if gap.is_hole else _GAP_WORD_COST) * added) / 8


def _gap(source: SourceText, first: int, last: int) -> _Gap:
    text = source.gap(first, last)
    if '"' in text or "'" in text or "`" in text:
        text = _SEAM.sub(HOLE, text)
        return _Gap(len(_WORD.findall(text)), HOLE in text)
    return _Gap(last - first - 1, HOLE in text)


def _chain_to(pairs: Sequence[_Pair], index: int) -> list[_Pair]:
    chain = []
    while index >= 0:
        chain.append(pairs[index])
        index = pairs[index].before
    return chain[::-1]


def _trimmed(wanted: PreparedMessage, source: SourceText, chain: list[_Pair]) -> list[_Pair]:
    """Returns the chain without ends beyond a gap with more words than they have: those are coincidence."""
    unexplained = [_unexplained(wanted, source, one, other) for one, other in pairwise(chain)]
    first, last = 0, len(chain)
    for number, words in enumerate(unexplained, 1):
        if words and number - first <= words:
            first = number
    for number in range(len(unexplained), first, -1):
        if unexplained[number - 1] and last - number <= unexplained[number - 1]:
            last = number
    return chain[first:last]


def _alignment(wanted: PreparedMessage, source: SourceText, chain: Sequence[_Pair]) -> Alignment:
    line = source.before(chain[0].at, len(source.words)).count("\n")
    lines: dict[int, float] = {}
    for number, pair in enumerate(chain):
        line += source.gap(chain[number - 1].at, pair.at).count("\n") if number else 0
        lines[line] = lines.get(line, 0.0) + wanted.worth[pair.word]
    first, last = min(lines), max(lines)
    worth = score = sum(wanted.worth[pair.word] for pair in chain)
    unexplained = _unexplained_around(wanted, source, chain)
    for one, other in pairwise(chain):
        if not _is_next(one, other):
            unexplained += _unexplained(wanted, source, one, other)
            score -= _cost(_gap(source, one.at, other.at), other.word - one.word - 1) * wanted.unit
    return Alignment(
        line_start=first,
        line_end=last,
        focus=max(lines, key=lambda number: (lines[number], -number)),
        words=len(chain),
        worth=worth,
        share=min(1.0, score / wanted.total) if wanted.total else 0.0,
        fit=len(chain) / (len(chain) + unexplained),
        punctuation=_punctuation(wanted, source, chain),
        exact=_exact(wanted.core, flat("\n".join(source.lines[max(0, first - 1) : last + 2]))),
    )


def _exact(message: str, text: str) -> float:
    if not message:
        return 0.0
    return 1.0 if message in text else OTHER_CASE if message.lower() in text.lower() else 0.0


def _punctuation(wanted: PreparedMessage, source: SourceText, chain: Sequence[_Pair]) -> float:
    """Returns the share of the words preceded by the same punctuation as in the message."""
    same = 0
    for number, pair in enumerate(chain):
        before = source.raw[2 * pair.at]
        if number == 0 or not _is_next(chain[number - 1], pair):
            before = _OUTSIDE.sub("", before)
        same += flat(before.strip(_OUTER)) == flat(wanted.pieces[pair.word].before.strip(_OUTER))
    return same / len(chain)


def _is_next(one: _Pair, other: _Pair) -> bool:
    return other.at == one.at + 1 and other.word == one.word + 1


def _unexplained(wanted: PreparedMessage, source: SourceText, one: _Pair, other: _Pair) -> int:
    """Returns how many words either text has between two words of a chain, without values in holes and code between literals."""
    if _is_next(one, other):
        return 0
    gap = _gap(source, one.at, other.at)
    return gap.words + (0 if gap.is_hole else _core_words(wanted, one.word + 1, other.word))


def _unexplained_around(wanted: PreparedMessage, source: SourceText, chain: Sequence[_Pair]) -> int:
    """Returns how many words the literal has beyond the message, and the message around the chain that are not values."""
    before = source.before(chain[0].at, MAX_GAP)[-_MAX_BESIDE:]
    after = source.after(chain[-1].at, MAX_GAP)[:_MAX_BESIDE]
    start = max([before.rfind("\n") + 1, *(found.end() for found in _QUOTE.finditer(before))])
    ending = _QUOTE.search(after)
    end = min(ending.start() if ending else len(after), after.find("\n") % (len(after) + 1))
    left, right = before[start:], after[:end]
    count = len(_WORD.findall(left)) + len(_WORD.findall(right))
    first, last = chain[0].word, chain[-1].word
    # A quoted value: the quote before it does not end the literal.
    begins_in_hole = HOLE in before[max(0, start - 2) :] or _GLUE_BEFORE.search(before[: max(0, start - 1)])
    if not (begins_in_hole or _NEW_PART.search(wanted.pieces[first].before)):
        count += _core_words(wanted, 0, first)
    is_quote = ending is not None and ending.start() == end
    ends_in_hole = HOLE in after[: end + 2] or (is_quote and _GLUE_BEHIND.match(after, end + 1))
    following = wanted.pieces[last + 1].before if last + 1 < len(wanted.pieces) else ""
    if not (ends_in_hole or _SENTENCE_END.search(following)):
        count += _core_words(wanted, last + 1, len(wanted.pieces))
    return count


def _core_words(wanted: PreparedMessage, first: int, end: int) -> int:
    return sum(piece.is_core for piece in wanted.pieces[first:end])
