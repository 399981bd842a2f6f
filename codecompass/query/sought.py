"""What a question needs of files that no index holds yet: the texts and paths by which those worth reading are chosen, and their
order. Pure; `worker/probing.py` looks the texts up, `actors/unindexed_answers.py` has the chosen files read.

A file is chosen too often rather than too rarely: it is then searched as an indexed one is.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from msgspec import Struct

from codecompass import lazy
from codecompass.languages.words import split_identifier
from codecompass.protocol.requests import (
    CountUses,
    DiffContext,
    FindReferences,
    FindRelatedSymbols,
    GetCallGraph,
    GetCodeContext,
    GetFileOutline,
    GetSymbolHierarchy,
    ListDirectory,
    LocateSymbol,
    ReadFile,
    Request,
    SearchCode,
)
from codecompass.query.filters import chosen_paths
from codecompass.query.messages.traces_and_signatures import declared_name, frames
from codecompass.query.names.exact_names import is_handle, symbol_of_handle
from codecompass.query.names.named_locations import AskedLines, asked_lines, places_of_lines
from codecompass.query.path_globs import plain_path, relative_to_root
from codecompass.query.words.exact_scan import scan_narrowing
from codecompass.query.words.long_question import asked_words, long_question
from codecompass.query.words.query_words import identifiers, is_code_name, name_parts, stem
from codecompass.scan.path_roles import role_of
from codecompass.store.rows import SymbolRow
from codecompass.store.snapshot import Snapshot
from codecompass.store.text_queries import Narrowing

MAX_NAMES: Final = 16
MAX_WORDS: Final = 24
"""Texts that are looked up: each name takes about 50 ms of CPU for 28 MB, each word 25 ms (measured 2026-11-25)."""

MAX_PATHS: Final = 40

MAX_PHRASE_LENGTH: Final = 500
MIN_STEM_LENGTH: Final = 4

PHRASE_WORTH: Final = 6.0
NAME_WORTH: Final = 3.0
SCOPE_WORTH: Final = 1.0
PART_WORTH: Final = 0.3

LEVEL_WORTH: Final = (0.0, 0.35, 0.5, 1.0, 3.0)
"""What each level of `worker/probing.py` counts for a name; the last is a definition."""

WORD_SHARE: Final = 0.5
"""What a word inside a file counts of its worth, and another one in its path."""

ENOUGH_FILES: Final = 12
MAX_RANKED_FILES: Final = 40
"""Files from which a ranked answer is made: the best ones, and more only if they are nearly as good."""

NEARLY_AS_GOOD: Final = 0.4

ROLE_SHARE: Final = (1.0, 0.8, 0.7, 0.5, 0.4)
"""What the texts of a file count by the rank of its role: product code, prose and data, tests, generated, vendored."""

_QUOTES: Final = "\"'`"
_TOKEN: Final = lazy.pattern(r"\S+")
_ODD: Final = lazy.pattern(r"[^\w\s]")
_PATH: Final = lazy.pattern(
    # Each part begins where a run of its characters begins: a match tried at every character would take quadratic time.
    r"(?<![\w@.~+-])[\w@.~+-]*(?:/[\w@.~+()\[\]-]+)+|(?<![\w@+-])[\w@+-]+(?:\.[\w+-]+){0,50}\.[A-Za-z]\w{0,9}"
)
_LEFT_OF_TOKEN: Final = "([{\"'`<,;"
_RIGHT_OF_TOKEN: Final = ")]}\"'`>,;:.?!("


class Order(Struct, frozen=True):
    """Which files to read, by number, the best first, and how many hold something of the question."""

    numbers: tuple[int, ...]
    n_wanted: int


class Sought(Struct, frozen=True, kw_only=True):
    """What a question looks for, each text with its worth.

    `names` are compared as written, `words` in any case. `paths` are paths, or ends of paths, of files that are read whatever is
    in them. A file without any of the texts is not read; with `pattern`, neither is one that cannot match it. `is_literal`: only
    files that hold the first name as written are read. `globs` is the path filter, relative to the root. `handle`: the question
    names a `symbol_id` or a place, so the name is known only once its file was read.
    """

    names: tuple[tuple[str, float], ...] = ()
    words: tuple[tuple[str, float], ...] = ()
    paths: tuple[str, ...] = ()
    pattern: Narrowing | None = None
    is_literal: bool = False
    globs: str | None = None
    handle: str = ""
    line: int = 0
    """The line (1-based) that the question names in its path, 0 if none."""
    is_ranked: bool = False
    """Whether the best files suffice, because the answer shows the best of what is found."""
    follows_uses: bool = False
    """Whether the answer needs the files that use the name that `handle` or `line` stands for."""

    @property
    def name(self) -> str:
        """The text that matters most; empty if there is none."""
        return self.names[0][0] if self.names else ""


def sought_for(request: Request, root: str, changed: Iterable[str] = ()) -> Sought:
    """Returns what a request looks for in the workspace at `root`. `changed` are the files that a comparison is about."""
    match request:
        case SearchCode(mode="files"):
            return Sought(globs=_globs(request.path, root))
        case SearchCode(mode="literal"):
            line = max(request.query.replace("\r\n", "\n").split("\n"), key=len)
            return Sought(names=((line, 1.0),), is_literal=True, globs=_globs(request.path, root))
        case SearchCode(mode="regex"):
            narrowing = scan_narrowing(request)
            return Sought(words=tuple(_pieces(narrowing)), pattern=narrowing, globs=_globs(request.path, root))
        case SearchCode() | GetCodeContext():
            globs = _globs(request.path, root) if isinstance(request, SearchCode) else None
            return _of_text(request.query, root, globs)
        case LocateSymbol():
            return _of_name(request.name, root, path=None, globs=_globs(request.path, root), follows_uses=False)
        case FindReferences() | GetCallGraph() | FindRelatedSymbols() | GetSymbolHierarchy():
            return _of_name(request.symbol_name, root, path=request.path, globs=None, follows_uses=True)
        case ListDirectory():
            return Sought()
        case GetFileOutline() | ReadFile() | CountUses():
            return Sought(paths=(_relative(request.path, root),))
        case DiffContext():
            return Sought(paths=tuple(changed)[:MAX_PATHS])
    return Sought()


def sought_with_name(snapshot: Snapshot, sought: Sought) -> Sought | None:
    """Returns what a question looks for whose handle or place stands for a definition in `snapshot`; None if there is no need to
    know its name, or it stands for none."""
    if not sought.follows_uses:
        return None
    found: SymbolRow | None = None
    if sought.handle:
        found = symbol_of_handle(snapshot, sought.handle)
    elif sought.line:
        places = places_of_lines(snapshot, AskedLines(sought.paths[0], sought.line, sought.line), "")
        found = next((place.symbol for place in places if place.symbol is not None), None)
    return None if found is None else Sought(names=((found.name, NAME_WORTH),), paths=(*sought.paths, found.path))


def order_of_reading(
    sought: Sought, paths: Sequence[str], names: Mapping[str, int], words: Mapping[str, int], levels: Mapping[int, bytes]
) -> Order:
    """Returns which of `paths` to read.

    `levels` are the answers of a probe by number of the path; `names` and `words` say at which position in them the texts are.
    """
    allowed = [True] * len(paths) if sought.globs is None else chosen_paths(paths, sought.globs)
    named = list(_named(sought.paths, paths))
    worth_of_levels: list[tuple[int, Sequence[float], float]] = [
        *((names[name], LEVEL_WORTH, worth) for name, worth in sought.names),
        *((words[word], (0.0, WORD_SHARE), worth) for word, worth in sought.words),
    ]
    in_paths = [(word, worth) for word, worth in (*sought.words, *((name.lower(), worth) for name, worth in sought.names))]
    rarity = {at: _rarity(sum(held[at] > 0 for held in levels.values() if held), len(levels)) for at, _, _ in worth_of_levels}
    scores: dict[int, float] = {}
    if sought.pattern is not None and not worth_of_levels:
        # Nothing is known of what matches it.
        scores = {number: ROLE_SHARE[role_of(path).rank] for number, path in enumerate(paths) if allowed[number]}
    for number, held in levels.items():
        if not held or not allowed[number] or not _can_match(sought, held, names, words):
            continue
        found = sum(shares[held[at]] * worth * rarity[at] for at, shares, worth in worth_of_levels)
        if found or sought.pattern is not None:
            path = paths[number].lower()
            found += sum(WORD_SHARE * worth for word, worth in in_paths if len(word) > 2 and word in path)
            scores[number] = found * ROLE_SHARE[role_of(paths[number]).rank]
    ranked = sorted(scores, key=lambda number: (-scores[number], len(paths[number]), paths[number]))
    n_wanted = len(set(named).union(ranked))
    if sought.is_ranked and ranked:
        least = NEARLY_AS_GOOD * scores[ranked[0]]
        ranked = [number for at, number in enumerate(ranked[:MAX_RANKED_FILES]) if at < ENOUGH_FILES or scores[number] >= least]
    return Order(tuple(dict.fromkeys((*named, *ranked))), n_wanted)


def _of_text(text: str, root: str, globs: str | None) -> Sought:
    phrase = text.strip().strip(_QUOTES).rstrip("(:?")
    names: dict[str, float] = {}
    if phrase and "\n" not in phrase and len(phrase) <= MAX_PHRASE_LENGTH:
        names[phrase] = PHRASE_WORTH
    long = long_question(text)
    found = identifiers(text) if long is None else tuple(long.names)
    for name in found:
        if is_code_name(name) or len(found) == 1 or long is not None:
            parts = name_parts(name)
            names.setdefault(name, NAME_WORTH)
            for part in parts[-1:]:
                names.setdefault(part, NAME_WORTH)
            for part in parts[:-1]:
                names.setdefault(part, SCOPE_WORTH)
    for token in _TOKEN.findall(text) if long is None else ():
        for bare in (token.strip(_QUOTES + ".,;?!"), token.lstrip(_LEFT_OF_TOKEN).rstrip(_RIGHT_OF_TOKEN)):
            if len(bare) > 1 and _ODD.search(bare) is not None:
                names.setdefault(bare, NAME_WORTH)
    traced = frames(text)
    for frame in traced:
        for part in name_parts(frame.name)[-1:]:
            names.setdefault(part, NAME_WORTH)
    paths = [frame.path for frame in traced] + (_PATH.findall(text) if long is None else list(long.paths))
    asked = asked_lines(text)
    return Sought(
        names=tuple(list(names.items())[:MAX_NAMES]),
        words=tuple(_words(text)),
        paths=tuple(_relative(path, root) for path in dict.fromkeys([asked.path] if asked is not None else paths))[:MAX_PATHS],
        globs=globs,
        is_ranked=True,
    )


def _of_name(name: str, root: str, *, path: str | None, globs: str | None, follows_uses: bool) -> Sought:
    name = name.strip().strip(_QUOTES)
    paths = () if path is None else (_relative(path, root),)
    asked = asked_lines(name)
    if asked is not None:
        return Sought(paths=(_relative(asked.path, root),), line=asked.first, globs=globs, follows_uses=follows_uses)
    if is_handle(name):
        return Sought(names=((name, PART_WORTH),), paths=paths, handle=name, globs=globs, follows_uses=follows_uses)
    traced = frames(name)
    if traced:
        return _of_text(name, root, globs)
    # A signature or a declaration names what it declares.
    names: dict[str, float] = {}
    for each in (name, declared_name(name)):
        parts = name_parts(each)
        for part in parts[-1:]:
            names.setdefault(part, NAME_WORTH)
        for part in parts[:-1]:
            names.setdefault(part, SCOPE_WORTH)
    words = {} if follows_uses else {word: PART_WORTH for part in list(names)[:1] for word in split_identifier(part)}
    return Sought(
        names=tuple(list(names.items())[:MAX_NAMES]),
        words=tuple(list(words.items())[:MAX_WORDS]),
        paths=paths,
        globs=globs,
        is_ranked=not follows_uses,
        follows_uses=follows_uses,
    )


def _words(text: str) -> Iterator[tuple[str, float]]:
    """Yields the words of a text, cut to their stems if those begin them."""
    words: dict[str, float] = {}
    for word in asked_words(text):
        root = stem(word.text)
        is_beginning = len(root) >= MIN_STEM_LENGTH and word.text.startswith(root)
        words.setdefault(root if is_beginning else word.text, word.weight)
    return iter(list(words.items())[:MAX_WORDS])


def _pieces(narrowing: Narrowing) -> Iterator[tuple[str, float]]:
    """Yields the texts of which files that match have some."""
    pieces = (piece for needs in narrowing.alternatives for need in needs for term in need for piece in term.pieces if piece)
    yield from ((piece, 1.0) for piece in list(dict.fromkeys(pieces))[:MAX_WORDS])


def _can_match(sought: Sought, held: bytes, names: Mapping[str, int], words: Mapping[str, int]) -> bool:
    """Whether a file can hold what a literal or a pattern asks for."""
    if sought.is_literal:
        return held[names[sought.name]] > 1
    pattern = sought.pattern
    if pattern is None or pattern.is_everything or pattern.may_be_one_long_word:
        return True

    def has(piece: str) -> bool:
        return not piece or piece not in words or held[words[piece]] > 0

    return any(
        all(any(all(has(piece) for piece in term.pieces) for term in need) for need in needs) for needs in pattern.alternatives
    )


def _rarity(n_files: int, total: int) -> float:
    return math.log1p(total / (n_files + 0.5))


def _named(wanted: Iterable[str], paths: Sequence[str]) -> Iterator[int]:
    """Yields the numbers of the paths that are a wanted one, or one of the two ends in the other, as in traces of elsewhere."""
    by_name: dict[str, list[str]] = {}
    for each in wanted:
        by_name.setdefault(each.rpartition("/")[2], []).append("/" + each)
    by_name.pop("", None)
    for number, path in enumerate(paths) if by_name else ():
        ends = by_name.get(path.rpartition("/")[2], ())
        if any(("/" + path).endswith(each) or ("/" in path and each.endswith("/" + path)) for each in ends):
            yield number


def _relative(path: str, root: str) -> str:
    plain = plain_path(path)
    return plain.removeprefix(root.rstrip("/") + "/").strip("/")


def _globs(text: str | None, root: str) -> str | None:
    return None if text is None else relative_to_root(text, root)
