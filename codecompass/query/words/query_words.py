"""The words of a query, and how well words of names, paths and lines match them.

A query is split into the tokens that the index makes of a text (`schema.index_tokens`), and into the words inside camelCase
identifiers, which the index has in separate fields. Nothing here reads the index.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Final

from msgspec import Struct

from codecompass import lazy
from codecompass.languages.unspaced import RUN as UNSPACED_RUN
from codecompass.languages.unspaced import is_pair, pairs_of_run
from codecompass.languages.words import split_identifier, word_set
from codecompass.store.schema import index_tokens

MAX_QUERY_WORDS: Final = 40
"""Words that are used of a long text (a pasted stack trace, a file): the first ones."""

MAX_QUERY_CHARACTERS: Final = 20_000

PART_WEIGHT: Final = 0.4
"""Weight of a word inside an identifier of the query; a whole token has 1."""

PAIR_WEIGHT: Final = 0.5
"""Weight of each of several pairs of letters that a run without blanks consists of."""

STOP_WORDS: Final = word_set(
    "a about all an and any are as at be been being both but by can code did do does each find for from function get gets "
    "had has have how i if implementation implemented in into is it its me my no not of on or our show so some such than "
    "that the their them then there these they this those through to up used uses using via was we were what when where "
    "whether which while who why will with would you your"
)
"""Words that are ignored in queries that have others."""

SENTENCE_WORDS: Final = word_set("let else match")
"""Keywords that count as stop words in a longer sentence; a short one may ask about them."""

WORDS_OF_CHANGE: Final[Mapping[str, float]] = {
    **dict.fromkeys(
        word_set(
            "added adding adds bug bugfix bugs chore cleanup closes correctly feat fix fixed fixes fixing fixup implemented "
            "implementing implements improve improved improvement improvements improves improving instead introduce introduced "
            "introduces issue issues made makes making minor missing perf properly refactor refactored refactoring refactors "
            "regression renamed renames should simplified simplifies simplify tweak tweaks unnecessary unneeded wrong wrongly"
        ),
        0.2,
    ),
    **dict.fromkeys(
        word_set(
            "add allow allowed allowing allows also change changed changes ensure ensures feature handle handled handles "
            "implement make more only remove removed removes removing rename support supported supporting supports update "
            "updated updates updating"
        ),
        0.5,
    ),
}
"""Weights of words that say what is done to code rather than what the code is. In 1,373 commits of 48 repositories those of the
first group occurred in 1 % of the functions that the commits changed, those of the second group as often in these as in others
around them (measured 2026-11-23)."""

LONG_SENTENCE: Final = 4
"""Number of words, not counting stop words, beyond which a sentence is long."""

_RUN: Final = lazy.pattern(r"[^\W_]+")
_PART: Final = lazy.pattern(r"[^\W\d_a-z]?[^\W\d_A-Z]+|[A-Z]+(?![a-z])|[^\W_]")
"""A word inside an identifier."""

_IDENTIFIER: Final = lazy.pattern(r"[^\W\d][\w$]*(?:(?:::|->|[.#\\/:])[^\W\d][\w$]*)*")
_SEPARATOR: Final = lazy.pattern(r"::|->|[.#\\/:]")

_ARGUMENTS: Final = lazy.pattern(r"(?<=\w)[<\[(]")

_SUFFIXES: Final = tuple(
    sorted(
        word_set(
            "izations ization ations ation ators ator ating ated ates ate ments ment ings ing ions ion ers ies ors er or "
            "ed es al ly s e y"
        ),
        key=lambda suffix: (-len(suffix), suffix),
    )
)
_ENDINGS: Final = (
    ("ies", ("y",)),
    ("es", ("", "e")),
    ("s", ("",)),
    ("ing", ("", "e")),
    ("ed", ("", "e")),
    ("er", ("", "e")),
    ("ation", ("ate", "e")),
)
_MIN_INFLECTED: Final = 4

KNOWN_STEMS: Final = 8_192
"""Stems cached, the most recently used: files repeat the same words."""

_MIN_STEM: Final = 4
_SHORTEST_STEM: Final = 3
_MIN_PREFIX: Final = 4

SAME_WORD: Final = 1.0
SAME_STEM: Final = 0.9
SAME_START: Final = 0.6


class QueryWord(Struct, frozen=True):
    """A lower-case word as it is indexed, and its weight in the query (0..1)."""

    text: str
    weight: float


def query_words(query: str) -> tuple[QueryWord, ...]:
    """Returns the distinct words of a query in order, without stop words unless it has no others."""
    weights = weighed_words(query[:MAX_QUERY_CHARACTERS])
    kept = {word: weight for word, weight in weights.items() if word not in STOP_WORDS} or weights
    if len(kept) > LONG_SENTENCE:
        kept = {word: weight for word, weight in kept.items() if word not in SENTENCE_WORDS}
    return tuple(QueryWord(word, weight * WORDS_OF_CHANGE.get(word, 1.0)) for word, weight in kept.items())[:MAX_QUERY_WORDS]


def weighed_words(text: str) -> dict[str, float]:
    """Returns the distinct words of a text in order with their weights, stop words included; those inside identifiers last."""
    weights = _tokens(text)
    for run in _RUN.findall(text):
        parts = split_identifier(run)
        if len(parts) > 1:
            for part in parts:
                weights.setdefault(part, PART_WEIGHT)
    return weights


def _tokens(text: str) -> dict[str, float]:
    """Returns the tokens of a text as it is indexed: of a run of Chinese, Japanese, Korean or Thai the pairs of its letters."""
    if text.isascii():
        return dict.fromkeys(index_tokens(text), 1.0)
    weights: dict[str, float] = {}
    position = 0
    for run in UNSPACED_RUN.finditer(text):
        weights |= dict.fromkeys(index_tokens(text[position : run.start()]), 1.0)
        pairs = pairs_of_run(run[0])
        for pair in pairs:
            weights.setdefault(pair, 1.0 if len(pairs) == 1 else PAIR_WEIGHT)
        position = run.end()
    return weights | dict.fromkeys(index_tokens(text[position:]), 1.0)


def inflections(word: str) -> tuple[str, ...]:
    """Returns other forms that an English word may have in code: `validating` gives `validate`, `validates` and so on."""
    if len(word) < _MIN_INFLECTED or not word.isascii() or not word.isalpha():
        return ()
    bases = {word}
    for suffix, endings in _ENDINGS:
        if word.endswith(suffix) and len(word) - len(suffix) >= _SHORTEST_STEM:
            bare = word[: -len(suffix)]
            bases.update(bare + ending for ending in endings)
            if bare[-1] == bare[-2] and endings:
                bases.add(bare[:-1])
    forms = set(bases)
    for base in bases:
        stem_of_base = base.removesuffix("e")
        forms.update((base + "s", stem_of_base + "ed", stem_of_base + "ing", stem_of_base + "er"))
    forms.discard(word)
    return tuple(sorted(forms))


def identifiers(query: str) -> tuple[str, ...]:
    """Returns the possible symbol names in a query, qualified ones whole, in order, without duplicates.

    Stop words do not count, unless the query consists of nothing else.
    """
    found = dict.fromkeys(_IDENTIFIER.findall(query[:MAX_QUERY_CHARACTERS]))
    names = [name for name in found if name.lower() not in STOP_WORDS] or list(found)
    return tuple(names[:MAX_QUERY_WORDS])


def name_parts(name: str) -> tuple[str, ...]:
    """Returns the parts of a qualified name, whatever the language's separators: `a::B#m` and `a.B.m` are the same. A selector
    of Objective-C counts by its first part, as in the index: `with:and:` is `with`."""
    name = _LATER_LABELS.sub("", name)
    parts = (_without_arguments(part).strip("()*&@$!? ") for part in _SEPARATOR.split(name))
    return tuple(part for part in parts if part)


_LATER_LABELS: Final = lazy.pattern(r"(?<=\w):(?>(?:\w++:)*)\Z")


def _without_arguments(part: str) -> str:
    """Returns the part of a name without trailing arguments of a type or a call."""
    if not part.endswith((">", "]", ")")):
        return part
    found = _ARGUMENTS.search(part, part.rfind("\n") + 1)
    return part if found is None else part[: found.start()]


def is_code_name(name: str) -> bool:
    """Whether a word looks like an identifier rather than a word of prose: inner upper case, `_`, `$`, a digit, a separator."""
    return (
        any(mark in name for mark in "_$")
        or _SEPARATOR.search(name) is not None
        or (any(letter.isupper() for letter in name[1:]) and not name.isupper())
        or any(letter.isdigit() for letter in name)
    )


_COMPOUND: Final = lazy.pattern(r"(?<![^\W_])[^\W_]+(?:[-_.:]+[^\W_]+)+|(?<![^\W\d_])[^\W\d_]*[a-z0-9][A-Z]\w*")
"""Tried only where a run begins: from its middle, a run that fails from its beginning fails too, in quadratic time altogether."""


def compound_words(query: str) -> tuple[str, ...]:
    """Returns the compound words of a query (`--retry-all`, `MAX_SIZE`, `retryDelay`) literally, without duplicates."""
    return tuple(dict.fromkeys(_COMPOUND.findall(query)))


def word_bag(text: str) -> frozenset[str]:
    """Returns the lower-case words of a text, including those inside its identifiers."""
    return frozenset(split_identifier(text))


def same_word(one: str, other: str) -> bool:
    """Whether two lower-case words have the same stem."""
    return one == other or stem(one) == stem(other)


def could_name(parts: Sequence[str], name_count: int) -> bool:
    """Whether a word among `name_count` in a query names a symbol: a plain word of a sentence does not, even if a symbol has
    that name."""
    return name_count == 1 or len(parts) > 1 or is_code_name(parts[-1]) or parts[-1][:1].isupper()


@lru_cache(maxsize=KNOWN_STEMS)
def stem(word: str) -> str:
    """Returns the common stem of `route`, `router`, `routes` and `routing`. Crude, but the same on both sides of a comparison."""
    for _ in range(2):
        for suffix in _SUFFIXES:
            if word.endswith(suffix) and len(word) - len(suffix) >= _MIN_STEM - (len(suffix) == 1):
                word = word[: -len(suffix)]
                break
        else:
            break
    if len(word) >= _MIN_STEM and word[-1] == word[-2] and word[-1] not in "ls":
        word = word[:-1]
    return word


class Coverage(Struct, frozen=True):
    """The overlap of a name with the query, 0..1 each: `precision` of its words are wanted, `recall` of the query is in it."""

    precision: float
    recall: float


NONE_RELATED: Final[Mapping[str, Sequence[tuple[int, float]]]] = {}
NO_MATCHES: Final[Mapping[int, float]] = {}

Matches = tuple[tuple[int, float], ...]
"""Words of a query by number, each with how well a word matches it."""


class WantedWords:
    """The words of one query with their worth, and related words that stand for them. Caches comparisons."""

    def __init__(self, worth: Mapping[str, float], related: Mapping[str, Sequence[tuple[int, float]]] = NONE_RELATED) -> None:
        """`related` maps words that stand for words of the query to the numbers of these, with how well it matches each."""
        self.related = related
        self._related: dict[str, list[tuple[int, float]]] = {}
        for word, matches in related.items():
            self._related.setdefault(stem(word), []).extend(matches)
        self._words = tuple(worth)
        self._worth = tuple(worth.values())
        self._total = sum(self._worth) or 1.0
        self._exact = {word: index for index, word in enumerate(self._words)}
        self._starts = {word[:_SHORTEST_STEM] for word in (*self._words, *related)}
        # Whatever matches a word shares its stem, or four letters with it. Sorted, so that sums do not vary; and none begins with
        # another, so that no occurrence is found twice.
        beginnings = sorted({word[: min(_MIN_PREFIX, len(stem(word)))] for word in (*self._words, *related)})
        self._beginnings = tuple(
            each for each in beginnings if not any(each != other and each.startswith(other) for other in beginnings)
        )
        self._stems: dict[str, list[int]] = {}
        for index, word in enumerate(self._words):
            self._stems.setdefault(stem(word), []).append(index)
        self._known: dict[str, Matches] = {}
        self._runs: dict[str, Matches] = {}
        self._parts: dict[str, Matches] = {}
        self._names: dict[str, Mapping[int, float]] = {}
        self._n_words: dict[str, int] = {}

    def __contains__(self, word: str) -> bool:
        return word in self._exact

    def has_any(self, words: Iterable[str]) -> bool:
        """Whether the query has one of these words."""
        return not self._exact.keys().isdisjoint(words)

    def coverage(self, words: Iterable[tuple[str, float]], others: Mapping[int, float] = NO_MATCHES) -> Coverage:
        """Compares (word, weight) pairs with the query. A word of lower weight counts less for recall; words matched before
        (`others`) count for recall as well."""
        best = dict(others)
        wanted = total = 0.0
        known = self._known
        for word, weight in words:
            total += weight
            matches = known.get(word)
            if matches is None:
                matches = known[word] = self._compare(word)
            if not matches:
                continue
            degree = 0.0
            for index, match in matches:
                degree = max(degree, match)
                if best.get(index, 0.0) < match * weight:
                    best[index] = match * weight
            wanted += degree * weight
        return Coverage(wanted / total if total else 0.0, self._recall(best))

    def matches(self, words: Iterable[str], weight: float) -> dict[int, float]:
        """Returns the words of the query that are among `words`, by number, with how well they match times `weight`."""
        best: dict[int, float] = {}
        for word in words:
            for index, match in self._compare(word):
                best[index] = max(best.get(index, 0.0), match * weight)
        return best

    def recalls(self, lines: Sequence[str]) -> list[float]:
        """Returns how much of the query's worth is in each line of a text, 0..1, including words inside identifiers."""
        best: list[dict[int, float]] = [{} for _ in lines]
        for line, matches in self.places_in("\n".join(lines)):
            for index, match in matches:
                if best[line].get(index, 0.0) < match:
                    best[line][index] = match
        return [self._recall(each) for each in best]

    def places_in(self, text: str) -> Sequence[tuple[int, Matches]]:
        """Returns where words of the query occur in a text, including those inside identifiers, each once, by the beginnings of
        words and then in order: the line number, from 0, and each word by number with how well it matches (SAME_START ..
        SAME_WORD)."""
        lower = text.lower()
        if len(lower) != len(text):  # a few letters have lower-case forms of two characters
            lower = "".join(letter.lower()[:1] for letter in text)
        found: list[tuple[int, Matches]] = []
        find, run_at, known_runs, known_parts = lower.find, _RUN.match, self._runs, self._parts
        for start in self._beginnings:
            at = find(start)
            line = counted = 0
            as_pair = self._compare(start) if is_pair(start) else None
            while at >= 0:
                before = text[at - 1 : at]
                matches = as_pair
                if as_pair is not None:
                    pass
                elif not before.isalnum():
                    # Everything that begins with a letter or a digit is a run.
                    run = run_at(text, at)[0]  # type: ignore[index]
                    matches = known_runs.get(run)
                    if matches is None:
                        matches = known_runs[run] = self._matches_of(run, begins_run=True)
                elif before.isdigit() or (
                    # The `S` of `fooServer` and of `HTTPServer`.
                    text[at].isupper() and (not before.isupper() or text[at + 1 : at + 2].islower())
                ):
                    run = run_at(text, at)[0]  # type: ignore[index]
                    matches = known_parts.get(run)
                    if matches is None:
                        matches = known_parts[run] = self._matches_of(run, begins_run=False)
                if matches:
                    line += text.count("\n", counted, at)
                    counted = at
                    found.append((line, matches))
                at = find(start, at + 1)
        return found

    def names_in(self, names: Sequence[str]) -> Mapping[int, Mapping[int, float]]:
        """Returns the same as `numbers_of` for each name with a word of the query, by its number in `names`."""
        lower = "\n".join(names).lower()
        if lower.count("\n") >= len(names):  # a title of several lines
            return {number: matches for number, name in enumerate(names) if (matches := self.numbers_of(name))}
        found: dict[int, Mapping[int, float]] = {}
        for start in self._beginnings:
            at = lower.find(start)
            number = counted = 0
            while at >= 0:
                number += lower.count("\n", counted, at)
                if number not in found:
                    found[number] = self._numbers_in(names[number])
                counted = lower.find("\n", at)
                if counted < 0:
                    break
                at = lower.find(start, counted)
        return {number: matches for number, matches in found.items() if matches}

    def _matches_of(self, run: str, *, begins_run: bool) -> Matches:
        """Returns the matches of the first word inside a run, and with `begins_run` also of the whole run."""
        part = _PART.match(run)
        words = {part[0].lower() if part is not None else ""}
        if begins_run:
            words.add(run.lower())
        found: dict[int, float] = {}
        for word in sorted(words):
            for index, match in self._compare(word):
                found[index] = max(found.get(index, 0.0), match)
        return tuple(found.items())

    @property
    def words(self) -> Sequence[str]:
        """The words of the query, by number."""
        return self._words

    @property
    def worth(self) -> Sequence[float]:
        """The worth of each word, by number."""
        return self._worth

    def numbers_of(self, name: str) -> Mapping[int, float]:
        """Returns the words of the query in a name, by number, with how well they match."""
        known = self._names.get(name)
        if known is None:
            lower = name.lower()
            for start in self._beginnings:
                if start in lower:
                    return self._numbers_in(name)
            # Most names have no word of the query, which takes less time to see than to split them.
            known = self._names[name] = NO_MATCHES
        return known

    def _numbers_in(self, name: str) -> Mapping[int, float]:
        """Returns the same for a name that has the beginning of a word."""
        known = self._names.get(name)
        if known is not None:
            return known
        best: dict[int, float] = {}
        words = split_identifier(name)
        compared = self._known
        for word in words:
            matches = compared.get(word)
            if matches is None:
                matches = compared[word] = self._compare(word)
            for index, match in matches:
                if best.get(index, 0.0) < match:
                    best[index] = match
        self._names[name] = best
        self._n_words[name] = len(words)
        return best

    def n_words(self, name: str) -> int:
        """Returns how many words a name has in which `numbers_of` found some of the query."""
        return self._n_words[name]

    def _recall(self, best: Mapping[int, float]) -> float:
        return sum(self._worth[index] * degree for index, degree in best.items()) / self._total if best else 0.0

    def _compare(self, word: str) -> Matches:
        # A stem is at least three letters long and begins its word, so words that begin differently cannot share one.
        if word[:_SHORTEST_STEM] not in self._starts:
            return ()
        degrees: dict[int, float] = {}
        for index, wanted in enumerate(self._words):
            short, long = (word, wanted) if len(word) < len(wanted) else (wanted, word)
            if len(short) >= _MIN_PREFIX and long.startswith(short):
                degrees[index] = SAME_START
        same = stem(word)
        for index, degree in self._related.get(same, ()):
            if degrees.get(index, 0.0) < degree:
                degrees[index] = degree
        for index in self._stems.get(same, ()):
            degrees[index] = SAME_STEM
        if word in self._exact:
            degrees[self._exact[word]] = SAME_WORD
        return tuple(degrees.items())
