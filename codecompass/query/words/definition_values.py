"""Values definitions for a question in words, and files by their best definition and their text.

A definition counts by its own text: the words in its name and scope, and those in its lines including the comment above, without
the lines of definitions nested in a type, scored like BM25.
"""

import math
import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Final

from msgspec import Struct

from codecompass.languages.records import CLASS_LIKE, SymbolKind
from codecompass.query.search_hits import RankedPlace
from codecompass.query.words.asked_roles import OTHER_KIND, AskedRoles
from codecompass.query.words.query_words import NO_MATCHES, WantedWords, compound_words, name_parts
from codecompass.query.words.retrieval import Candidates
from codecompass.query.words.word_places import UNIT, WordPlaces, word_places
from codecompass.scan.path_roles import role_of
from codecompass.store.rows import DefinitionSpan

LINES_ABOVE: Final = 2
"""Lines above a definition that count as its own (the end of its comment), up to an empty line or another definition. More lines
find no more (measured 2026-11-23)."""

MAX_LITERALS: Final = 4
LITERAL_WORTH: Final = 2.0
"""How many compound words (`--retry-all`, `MAX_SIZE`) are also searched for literally if a role is asked for, and the worth of
one, relative to the word worth most."""

MAX_SHOWN_LINES: Final = 120
"""Longer definitions are worse answers: a reader would have to search in them again."""

SATURATION: Final = 0.8
LENGTH_SHARE: Final = 0.3
USUAL_LINES: Final = 20
"""BM25's saturation of repeated words (k1), its length normalisation (b), and the length of a definition taken as average."""

REPEATED: Final = 1.0
PRESENT: Final = 0.5
NAMED: Final = 1.0
IN_SCOPE: Final = 0.5
FOUND_BEFORE: Final = 0.25
"""Weights of: words by how often they occur, words that occur, words in the name, words in the name of the scope, and the share
of an already ranked place that the definition covers."""

SAID: Final = 0.3
BARELY_SAID: Final = 0.5
"""Weight of a name that a long text has as it is written in code, and the share of that if only its last part is the name."""

LONG: Final = 0.3
"""Factor for definitions of more than MAX_SHOWN_LINES."""

LONG_SAID: Final = 1.0
"""The same for the order within a file if the question is a long text: it asks for the place to change, however long that is."""

SHORT_LINES: Final = 2
SHORT: Final = 0.7
"""Factor for definitions of up to SHORT_LINES, which hardly do anything."""

TEXT_FACTOR: Final = 0.7
"""Factor for the best place of a file, valued as text, when compared with the file's own definitions."""

TEXT_SHARE: Final = 0.35
"""The same when compared with definitions of other files."""

COMMON_FROM: Final = 4
"""In a file with at least this many functions, a word in the names of many of them counts less."""

SUBSTANCE: Final = 0.15
MOST_SUBSTANCE: Final = 5.0
"""What a longer definition gains over others in its file: the logarithm of its length, scaled. Definitions that do more are
changed and asked about more often."""

FEW_WORDS: Final = 3
"""For questions of at least this many words, a definition with only one of them is not the place of a hit."""

KIND_FACTOR: Final[Mapping[SymbolKind, float]] = {
    "fn": 1.0,
    "method": 1.0,
    "macro": 1.0,
    "test": 0.8,
    "class": 0.5,
    "struct": 0.5,
    "enum": 0.5,
    "trait": 0.5,
    "interface": 0.5,
    "type": 0.5,
    "const": 0.6,
    "var": 0.6,
    "module": 0.4,
    "impl": 0.3,
    "resource": 0.6,
    "route": 0.6,
}
"""Factors by kind, for questions in words; `ranking.KIND_WEIGHT` is about names. Other kinds do not compete."""

_DOCUMENT_FACTOR: Final[Mapping[SymbolKind, float]] = {"section": 1.0, "target": 0.6, "key": 0.6}
"""Factors for those that compete only in a file with a role asked for: sections of a guide, keys of a configuration."""

CONTAINERS: Final = CLASS_LIKE | {"module", "section"}
_VALUES: Final = frozenset({"const", "var"})
_NO_FUNCTIONS: Final = CONTAINERS | _VALUES


class ValuedDefinition(Struct, frozen=True, gc=False):
    """A definition and its value for the question."""

    span: DefinitionSpan
    value: float
    """For comparison with definitions of other files."""
    rank: float
    """For comparison with definitions of the same file."""
    is_weak: bool = False
    """Whether it matches too few words of the question to be shown."""


class ValuedFile(Struct, frozen=True):
    """The values of a file for the question."""

    found: Sequence[ValuedDefinition]
    """Its definitions with words of the question, best first."""
    plain: float
    """The value of its first place, as text."""
    value: float
    """The larger of the two, for comparison with other files."""
    words: float
    """How much of the question is anywhere in the file: 0..1."""
    focus_of: Callable[[DefinitionSpan], int]
    """Returns the line of a definition with most of the question."""
    section: tuple[int, int] | None = None
    """Lines that are worth more as text than those of the first place."""


class PreparedQuestion(Struct, frozen=True):
    """What definitions are compared with: the words of a query, followed by patterns for lines that have the roles asked for."""

    wanted: WantedWords
    worth: Sequence[float]
    """The worth of each word, then of each pattern."""
    total: float
    """The worth of all words."""
    lines: Sequence[re.Pattern[str]]
    kinds: Mapping[SymbolKind, float]
    """Factors for the kinds that compete."""
    asked: AskedRoles
    asked_kinds: Collection[SymbolKind]
    names: Mapping[str, Sequence[tuple[tuple[str, ...], float]]] = {}
    """The names of code in a long text, by their last parts, with their weights."""
    is_long: bool = False


def prepared_question(found: Candidates) -> PreparedQuestion:
    """Returns what the definitions of all files are compared with."""
    worth = found.wanted.worth
    lines, lifted = found.asked.lines(), found.asked.kind_factors()
    literals = [
        re.compile(rf"(?<!\w){re.escape(each)}(?!\w)") for each in compound_words(found.query)[:MAX_LITERALS] if found.asked.roles
    ]
    kinds = {kind: factor * lifted.get(kind, OTHER_KIND) for kind, factor in KIND_FACTOR.items()} if lifted else KIND_FACTOR
    most = max(worth, default=0.0)
    return PreparedQuestion(
        wanted=found.wanted,
        worth=(*worth, *[most] * len(lines), *[LITERAL_WORTH * most] * len(literals)),
        total=sum(worth) or 1.0,
        lines=(*lines, *literals),
        kinds={**kinds, **_DOCUMENT_FACTOR} if found.asked.roles else kinds,
        asked=found.asked,
        asked_kinds=lifted,
        names=_by_last_part(found.name_weights),
        is_long=found.is_long,
    )


def _by_last_part(weights: Mapping[tuple[str, ...], float]) -> Mapping[str, Sequence[tuple[tuple[str, ...], float]]]:
    named: dict[str, list[tuple[tuple[str, ...], float]]] = {}
    for name, weight in weights.items():
        if name:
            named.setdefault(name[-1], []).append((name, weight))
    return named


def _said(row: DefinitionSpan, question: PreparedQuestion) -> float:
    """Returns how certainly a long text names a definition: 0..1."""
    said = 0.0
    for name, weight in question.names.get(row.name, ()):
        is_whole = len(name) == 1 or name_parts(row.qualified_name)[-len(name) :] == name
        said = max(said, weight if is_whole else BARELY_SAID * weight)
    return said


def valued_file(
    places: Sequence[RankedPlace],
    texts: Sequence[tuple[int, str]],
    definitions: Sequence[DefinitionSpan],
    question: PreparedQuestion,
) -> ValuedFile:
    """Values the contents of a file. `places` are its ranked places; `texts` are the chunks read, each with its first line
    number; `definitions` are those of the kinds that may compete, `question.kinds`."""
    path = places[0].file.path
    hits = word_places(texts, question.wanted, question.lines)
    first_place = hits.within(places[0].line_start, places[0].line_end)
    plain = _text_value(first_place, hits, question)
    is_asked = bool(question.asked.roles) and question.asked.file_factor(path, role_of(path)) is not None
    spans = definitions if is_asked else [span for span in definitions if span.kind in KIND_FACTOR]
    file = _ValuedSpans(spans, hits, places, question)
    found = file.valued()
    best = max([each.value for each in found], default=0.0)
    share = _words_share(hits, question, range(len(hits.lines)))
    if not is_asked:
        return ValuedFile(found, TEXT_FACTOR * plain, max(best, TEXT_SHARE * plain), share, file.focus)
    # A section of a guide or an entry of a manifest can be an answer, like a definition.
    section: tuple[int, int] | None = None
    most = _words_share(hits, question, first_place)
    for first, text in texts:
        last = first + text.rstrip("\n").count("\n")
        own = hits.within(first, last)
        covered = _words_share(hits, question, own)
        if covered > most:
            most, section, plain = covered, (first, last), max(plain, _text_value(own, hits, question))
    return ValuedFile(found, plain, max(best, plain), share, file.focus, section)


def _words_share(hits: WordPlaces, question: PreparedQuestion, lines: range) -> float:
    """Returns the share of the query's worth in these lines, 0..1, or more if they match patterns of roles asked for."""
    return sum([question.worth[number] * most for number, most in hits.most(lines)]) / question.total


class _ValuedSpans:
    """Values the definitions of one file."""

    def __init__(
        self, spans: Sequence[DefinitionSpan], hits: WordPlaces, places: Sequence[RankedPlace], question: PreparedQuestion
    ) -> None:
        self._spans = spans
        self._hits = hits
        self._question = question
        best = places[0].score
        self._before = [
            (place.line_start, place.line_end, place.score / best / (place.line_end - place.line_start + 1)) for place in places
        ]
        self._inside: dict[int, list[DefinitionSpan]] = {}
        for span in spans:
            if span.parent_id is not None and span.kind not in _VALUES:
                self._inside.setdefault(span.parent_id, []).append(span)
        self._names = question.wanted.names_in([span.name for span in spans])
        inside = _worth_inside(spans, self._names, question)
        self._words = [(number, sums, question.worth[number], inside[number]) for number, sums in hits.sums.items()]
        self._inside_worth = inside

    def valued(self) -> list[ValuedDefinition]:
        """Returns the definitions with words of the question, best first."""
        hits, names = self._hits, self._names
        lines, with_hits, empty = hits.lines, hits.with_hits, hits.empty
        found: list[tuple[float, int, int, ValuedDefinition]] = []
        ends: list[int] = []
        previous = 0
        for number, span in enumerate(self._spans):
            first = line_start = span.line_start
            while ends and ends[-1] < line_start:
                previous = ends.pop()
            # The comment above counts, up to an empty line or another definition.
            if span.kind not in _VALUES and (line_start - 1 in with_hits or line_start - 2 in with_hits):
                lowest = max(line_start - LINES_ABOVE, previous + 1)
                while first > lowest and first - 1 not in empty:
                    first -= 1
            ends.append(span.line_end)
            previous = line_start
            begin = bisect_left(lines, first)
            end = bisect_right(lines, span.line_end, begin)
            in_name = names.get(number, NO_MATCHES)
            if begin < end or in_name:
                each = self._value_of(span, begin, end, in_name)
                if each is not None:
                    found.append((-each.rank, line_start, span.id, each))
        found.sort()
        return [each for _, _, _, each in found]

    def _value_of(self, row: DefinitionSpan, begin: int, end: int, in_name: Mapping[int, float]) -> ValuedDefinition | None:
        """Values a definition; None without a word of the question. `begin` and `end` are the indexes of its lines among those
        of the hits; `in_name` are the words in its name."""
        question = self._question
        length = own_lines = row.line_end - row.line_start + 1
        members: Sequence[tuple[int, int]] = ()
        if row.kind in CONTAINERS and row.id in self._inside:
            own_lines -= sum([n_lines(each) for each in self._inside[row.id]])
            members = self._members(row, begin, end)
        # Saturated like BM25. The same sums twice: with the worth of words in all files, and with that in this file.
        usual = _usual(max(1, own_lines))
        total = inside = 0.0
        n_words = last_word = 0
        if begin < end:
            for number, sums, worth, inside_worth in self._words:
                count = sums[end] - sums[begin]
                for first, last in members:
                    count -= sums[last] - sums[first]
                if count:
                    share = REPEATED * count / (count + usual) + (PRESENT if count >= UNIT else PRESENT * count / UNIT)
                    total += worth * share
                    inside += inside_worth * share
                    n_words += 1
                    last_word = number
        if not n_words and not in_name:
            return None
        is_weak = (
            n_words < 2
            and len(question.wanted.worth) >= FEW_WORDS
            and len(in_name) < 2
            and (not n_words or not in_name or last_word in in_name)
        )
        total /= question.total
        inside /= question.total
        scope = row.qualified_name.removesuffix(row.name)
        if scope:
            for number, match in question.wanted.numbers_of(scope).items():
                if number not in in_name:
                    total += IN_SCOPE * question.worth[number] * match / question.total
                    inside += IN_SCOPE * self._inside_worth[number] * match / question.total
        total_in_name = inside_in_name = 0.0
        if in_name:
            for number, match in in_name.items():
                total_in_name += question.worth[number] * match
                inside_in_name += self._inside_worth[number] * match
            share = NAMED * min(1.0, len(in_name) / max(1, question.wanted.n_words(row.name))) / question.total
            total_in_name *= share
            inside_in_name *= share
        before, kind = FOUND_BEFORE * self._found_before(row), question.kinds[row.kind]
        value = (total + before) * kind + total_in_name
        rank = (inside + before) * kind + inside_in_name
        rank += SUBSTANCE * math.log(length) / MOST_SUBSTANCE * kind + (SAID * _said(row, question) if question.names else 0.0)
        factor = rank_factor = 1.0
        if length > MAX_SHOWN_LINES:
            factor = LONG
            rank_factor = LONG_SAID if question.is_long else LONG
        elif length <= SHORT_LINES and row.kind not in question.asked_kinds:
            factor = rank_factor = SHORT
        value *= factor
        return ValuedDefinition(row, value, rank_factor * rank, is_weak) if value > 0.0 else None

    def focus(self, row: DefinitionSpan) -> int:
        """Returns the first line of a definition with most of the question."""
        hits, worth = self._hits, self._question.worth
        own = hits.within(row.line_start, row.line_end)
        elsewhere = [range(*each) for each in self._members(row, own.start, own.stop)] if row.kind in CONTAINERS else []
        most, focus = 0.0, row.line_start
        for index in own:
            if not any(index in each for each in elsewhere):
                value = sum([worth[number] * min(1.0, match) for number, match in hits.on_line(index)])
                if value > most:
                    most, focus = value, hits.lines[index]
        return focus

    def _members(self, row: DefinitionSpan, begin: int, end: int) -> list[tuple[int, int]]:
        """Returns the first index, and the one after the last, of the lines of each definition nested in another, among its lines
        from `begin` to `end`. No line is in two of them."""
        members: list[tuple[int, int]] = []
        lines = self._hits.lines
        for each in self._inside.get(row.id, ()):
            first = bisect_left(lines, each.line_start, begin, end)
            last = bisect_right(lines, each.line_end, first, end)
            if first < last:
                members.append((first, last))
                begin = last
        return members

    def _found_before(self, row: DefinitionSpan) -> float:
        """Returns the share of an already ranked place that the definition covers, weighted by the place's score: 0..1."""
        most = 0.0
        line_start, line_end = row.line_start, row.line_end
        for first, last, score in self._before:
            if first <= line_end and line_start <= last:
                shared = (min(line_end, last) - max(line_start, first) + 1) * score
                if shared > most:
                    most = shared
        return most


def _worth_inside(
    spans: Sequence[DefinitionSpan], names: Mapping[int, Mapping[int, float]], question: PreparedQuestion
) -> Sequence[float]:
    """Returns the worth of each word among the definitions of one file: a word in many of their names is worth less."""
    named: dict[int, int] = {}
    for number, in_name in names.items():
        if spans[number].kind not in _NO_FUNCTIONS:
            for word in in_name:
                named[word] = named.get(word, 0) + 1
    if not named:
        return question.worth
    n_functions = sum([span.kind not in _NO_FUNCTIONS for span in spans])
    if n_functions < COMMON_FROM:
        return question.worth
    return [worth * (1.0 - named.get(number, 0) / n_functions) for number, worth in enumerate(question.worth)]


def _text_value(own: range, hits: WordPlaces, question: PreparedQuestion) -> float:
    usual, value = _usual(len(own)), 0.0
    for number, sums in hits.sums.items():
        count = sums[own.stop] - sums[own.start]
        if count:
            value += question.worth[number] * (REPEATED * count / (count + usual) + PRESENT * min(1.0, count / UNIT))
    return value / question.total


def _usual(n_lines: int) -> float:
    """Returns how often, in 1/UNIT, a word occurs in this many lines if it counts for half of what it can count."""
    return UNIT * SATURATION * (1.0 - LENGTH_SHARE + LENGTH_SHARE * n_lines / USUAL_LINES)


def n_lines(span: DefinitionSpan) -> int:
    """Returns the number of lines of a definition."""
    return span.line_end - span.line_start + 1
