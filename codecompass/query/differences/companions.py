"""Which files go with a change: the tests that validate it, and what else may have to change.

Each signal gives a file 0 to 1, and a file's score is their weighted sum: commits that changed it together with a changed file,
or with one of the same directory, and how often it changes at all; the identifiers of the changed lines and the names of the
changed definitions in its text; the uses of these; words that its path shares with those of the changed files. The weights were
chosen on commits of 23 repositories as round figures on a flat optimum (`bench.quality.changes` measures them).
"""

import itertools
import math
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Final, Literal

from msgspec import Struct

from codecompass import lazy
from codecompass.languages.words import NAME_MARK
from codecompass.query.differences.file_versions import ChangedFile
from codecompass.query.words.retrieval import inverse_frequency, n_chunks
from codecompass.scan.git_change_history import ChangeHistory
from codecompass.scan.path_roles import role_of, words_of
from codecompass.store.snapshot import Snapshot
from codecompass.store.text_queries import FieldBoost, WordQuery

Signal = Literal["together", "near", "often", "words", "names", "uses", "path", "stem"]

MAX_COMPANIONS: Final = 20

AGE: Final = 1_000
"""Commits after which a commit counts a third."""

MAX_WORDS: Final = 60
MAX_NAMES: Final = 20
MAX_LOOKED_UP: Final = 400
"""Identifiers of the changed lines that are searched for, the rarest; names of changed definitions; and identifiers whose rarity
is looked up."""

MAX_COMPARED: Final = 50
"""Changed files whose paths are compared with those of others."""

MAX_CHUNKS: Final = 300
"""A word in more chunks than this tells nothing."""

TELLING: Final = 30
"""Identifiers that a file must have, the rarest, to have all that counts."""

MAX_LINES: Final = 5_000
"""Changed lines whose identifiers count."""

LEAST_SHARE: Final = 0.05
"""Files with less than this share of the best score are left out."""

FOR_TESTS: Final[Mapping[Signal, float]] = {
    "together": 1.0, "near": 0.5, "often": 0.1, "words": 0.6, "names": 0.6, "uses": 0.5, "path": 0.3, "stem": 0.3
}  # fmt: skip
FOR_OTHERS: Final[Mapping[Signal, float]] = {
    "together": 1.0, "near": 1.0, "often": 0.7, "words": 0.6, "names": 0.1, "uses": 0.1, "path": 0.1, "stem": 0.3
}  # fmt: skip

_IDENTIFIER: Final = lazy.pattern(r"[^\W\d]\w{2,}")

_NOT_TELLING: Final = frozenset(
    {"test", "tests", "testing", "spec", "specs", "src", "lib", "unit", "integration", "main", "e2e", "it"}
)
"""Words of paths that say which role a file has, and not what it is about."""

_FILE_WORDS: Final = (FieldBoost("file_words", 1.0),)


class Change(Struct, frozen=True, kw_only=True):
    """What changes: the files, the definitions by name, and the identifiers of the changed lines with how often they occur."""

    paths: tuple[str, ...]
    names: tuple[str, ...] = ()
    words: Mapping[str, int] = {}
    users: Sequence[Collection[str]] = ()
    """For each changed definition the files that use it."""


class Companion(Struct, frozen=True, kw_only=True):
    """A file that goes with a change."""

    path: str
    score: float
    together: int = 0
    """How many of the last commits changed it together with a changed file."""
    uses: bool = False
    """Whether it uses a changed definition."""


class Companions(Struct, frozen=True):
    """The tests that validate a change, and the other files that may have to change, best first. Together they are what else may
    have to change."""

    tests: tuple[Companion, ...] = ()
    others: tuple[Companion, ...] = ()

    def in_turns(self) -> list[Companion]:
        """Returns both kinds, the best of each first."""
        turns = itertools.zip_longest(self.others, self.tests)
        return [each for pair in turns for each in pair if each is not None]


def companions(
    snapshot: Snapshot, change: Change, history: ChangeHistory, without: Collection[str] = (), limit: int = MAX_COMPANIONS
) -> Companions:
    """Returns the indexed files that go with a change, at most `limit` of each kind and none that changes itself; files that
    nobody edits (lock files, generated code, copies) only if the change has some.

    `without` names signals to leave out, to measure what each contributes. Its cost is bounded by the limits above.
    """
    if not change.paths:
        return Companions()
    signals, together = _signals(snapshot, change, history)
    signals = {name: {} if name in without else values for name, values in signals.items()}
    using = {path for each in change.users for path in each}
    found = {path for path in set().union(*signals.values()) if snapshot.facts.file(path) is not None} - set(change.paths)
    indexed = found if any(map(_is_output, change.paths)) else {path for path in found if not _is_output(path)}

    def ranked(paths: Iterable[str], weights: Mapping[Signal, float]) -> tuple[Companion, ...]:
        scores = {path: sum(weight * signals[name].get(path, 0.0) for name, weight in weights.items()) for path in paths}
        least = LEAST_SHARE * max(scores.values(), default=0.0)
        best = sorted((path for path in scores if scores[path] > least), key=lambda path: (-scores[path], path))
        return tuple(
            Companion(path=path, score=scores[path], together=together[path], uses=path in using) for path in best[:limit]
        )

    tests = set(filter(is_test, indexed))
    return Companions(ranked(tests, FOR_TESTS), ranked(indexed - tests, FOR_OTHERS))


def changed_words(files: Iterable[ChangedFile]) -> Counter[str]:
    """Returns the identifiers of the lines that differ, of both sides, with how often they occur there."""
    found: Counter[str] = Counter()
    n_lines = 0
    for file in files:
        for hunk in file.change.hunks:
            for version, first, number in ((file.old, hunk.old, hunk.n_old), (file.new, hunk.new, hunk.n_new)):
                lines = () if version is None else version.lines[first - 1 : first - 1 + number] if number else ()
                n_lines += len(lines)
                if n_lines > MAX_LINES:
                    return found
                for line in lines:
                    found.update(_IDENTIFIER.findall(line))
    return found


def is_test(path: str) -> bool:
    """Whether a file holds tests, and not only their data."""
    role = role_of(path)
    return role.is_test and not (role.is_data or role.is_prose or role.is_vendored)


def _is_output(path: str) -> bool:
    """Whether nobody edits a file: it is generated, resolved or packaged from others, or copied from elsewhere."""
    role = role_of(path)
    return role.is_generated or role.is_vendored


def _signals(
    snapshot: Snapshot, change: Change, history: ChangeHistory
) -> tuple[dict[Signal, Mapping[str, float]], Counter[str]]:
    by_commits, together = _by_commits(history, change.paths)
    signals: dict[Signal, Mapping[str, float]] = {**by_commits}
    signals["words"] = _having(snapshot, change.words, change.paths, MAX_WORDS, TELLING)
    signals["names"] = _having(snapshot, Counter(change.names), change.paths, MAX_NAMES, MAX_NAMES // 2)
    signals["uses"] = _using(change.users)
    found = set().union(*signals.values(), _files_named_like(snapshot, change.paths))
    signals["stem"], signals["path"] = _alike(snapshot, change.paths, found)
    return signals, together


def _by_commits(history: ChangeHistory, changed: Collection[str]) -> tuple[dict[Signal, Mapping[str, float]], Counter[str]]:
    """Returns the signals of the history, and how many commits changed each file together with a changed one.

    A small commit says more than a large one, a new one more than an old one.
    """
    places = {place for place, path in enumerate(history.paths) if path in set(changed)}
    directories = {path.rpartition("/")[0] for path in changed}
    near = {place for place, path in enumerate(history.paths) if path.rpartition("/")[0] in directories}
    sums: tuple[Counter[int], ...] = (Counter(), Counter(), Counter())
    totals = [0.5, 0.5, 0.5]
    together: Counter[int] = Counter()
    for age, commit in enumerate(history.commits):
        if not commit:
            continue
        weight = math.exp(-age / AGE) / math.log2(2 + len(commit))
        n_changed = len(places.intersection(commit))
        for which, factor in enumerate((n_changed, int(not near.isdisjoint(commit)), 1)):
            if factor:
                totals[which] += weight * factor
                for place in commit:
                    sums[which][place] += weight * factor  # type: ignore[assignment]
        if n_changed:
            together.update(commit)

    def shares(which: int) -> dict[str, float]:
        return {history.paths[place]: value / totals[which] for place, value in sums[which].items()}

    counted = Counter({history.paths[place]: count for place, count in together.items()})
    return {"together": shares(0), "near": shares(1), "often": shares(2)}, counted


def _having(snapshot: Snapshot, words: Mapping[str, int], changed: Collection[str], most: int, telling: int) -> dict[str, float]:
    """Returns for each file the share of the words' worth that its text has; rare words are worth more."""
    total = n_chunks(snapshot)
    valued = []
    for field, token in map(_token, sorted(words, key=lambda word: (-words[word], word))[:MAX_LOOKED_UP]):
        frequency = snapshot.text.document_frequency(field, token)
        if 0 < frequency <= min(MAX_CHUNKS, max(2, total // 2)):
            valued.append((inverse_frequency(frequency, total), field, token))
    valued.sort(key=lambda each: (-each[0], each[2]))
    found: dict[str, float] = {}
    worths = []
    for worth, field, token in valued[:most]:
        query = (WordQuery(token, (FieldBoost(field, 1.0),), is_constant=True),)
        ids = sorted({hit.file_id for hit in snapshot.text.search_chunks(query, MAX_CHUNKS)})
        paths = [file.path for file in snapshot.facts.indexed_files(ids).values() if file.path not in changed]
        if paths:
            worths.append(worth)
        for path in paths:
            found[path] = found.get(path, 0.0) + worth
    whole = sum(worths[:telling])
    return {path: min(1.0, worth / whole) for path, worth in found.items()} if whole else {}


def _token(word: str) -> tuple[str, str]:
    lower = word.lower()
    return ("names", NAME_MARK + lower) if "_" in word else ("body", lower)


def _using(users: Sequence[Collection[str]]) -> dict[str, float]:
    """Returns for each file how much it uses the changed definitions; those with few users count more."""
    found: dict[str, float] = {}
    whole = 0.0
    for paths in users:
        worth = 1.0 / math.sqrt(len(paths)) if paths else 0.0
        whole += worth
        for path in paths:
            found[path] = found.get(path, 0.0) + worth
    return {path: worth / whole for path, worth in found.items()}


def _files_named_like(snapshot: Snapshot, changed: Collection[str]) -> set[str]:
    words = sorted({word for path in sorted(changed)[:MAX_COMPARED] for word in _stem(path)})
    hits = snapshot.text.search_files([WordQuery(word, _FILE_WORDS) for word in words], 3 * MAX_COMPANIONS)
    return {file.path for file in snapshot.facts.indexed_files([hit.file_id for hit in hits]).values()}


def _stem(path: str) -> frozenset[str]:
    return frozenset(word.lower() for word in words_of(path).stem) - _NOT_TELLING


def _all_words(path: str) -> frozenset[str]:
    words = words_of(path)
    return frozenset(word.lower() for word in (*words.above, *words.directory, *words.stem)) - _NOT_TELLING


def _alike(snapshot: Snapshot, changed: Collection[str], paths: Collection[str]) -> tuple[dict[str, float], dict[str, float]]:
    """Returns how much of the words of the name, and of the whole path, each file shares with the most similar changed file."""
    total = snapshot.meta.file_count or 1
    known: dict[str, float] = {}

    def worth(words: Collection[str]) -> float:
        for word in words:
            if word not in known:
                known[word] = inverse_frequency(snapshot.text.document_frequency("file_words", word), total)
        return sum(known[word] for word in words)

    def shared(ours: frozenset[str], theirs: frozenset[str]) -> float:
        common = ours & theirs
        return worth(common) / worth(ours | theirs) if common else 0.0

    compared = sorted(changed)[:MAX_COMPARED]
    stems, wholes = {_stem(path) for path in compared}, {_all_words(path) for path in compared}
    by_stem = {path: max((shared(_stem(path), each) for each in stems), default=0.0) for path in paths}
    by_path = {path: max((shared(_all_words(path), each) for each in wholes), default=0.0) for path in paths}
    return by_stem, by_path
