"""Which of many repositories a question is put to: those of which their summaries of words, or a query of the engine over all,
say that they can have an answer."""

import re
from collections.abc import Collection, Sequence
from typing import Final

from codecompass.actors.messages import Query
from codecompass.cluster.library import Library
from codecompass.cluster.repositories import Repository
from codecompass.protocol.requests import FindReferences, LocateSymbol, SearchCode
from codecompass.query.filters import symbol_kinds
from codecompass.query.locate import ONLY_IMPORTS, ONLY_TESTS
from codecompass.query.messages.traces_and_signatures import frames
from codecompass.query.names.exact_names import is_handle
from codecompass.query.names.named_locations import asked_lines
from codecompass.query.path_globs import plain_path
from codecompass.query.summarized import able, is_decidable
from codecompass.query.words.exact_scan import scan_narrowing
from codecompass.query.words.query_words import name_parts
from codecompass.query.words.regex_terms import regex_terms
from codecompass.store.text_queries import Narrowing

MAX_PATHS: Final = 8
"""Paths of a stack trace that are looked up."""

PATH_END: Final = 2
"""Names at the end of a path that are looked up: before them may be directories of another machine."""

_PLAIN_NAME: Final = re.compile(r"\w+", re.ASCII)


async def concerned(library: Library, repositories: Sequence[Repository], asked: Query, seconds: float) -> Collection[str] | None:
    """Returns the ids of the repositories that can have an answer, or None if every one has to be asked. Those in segments are
    judged by their summaries, the others by the engine. Raises EngineUnavailable, InvalidInput for a glob that is too large or a
    regular expression that cannot be used."""
    published = [each for each in repositories if is_in_segments(each)]
    others = [each for each in repositories if not is_in_segments(each)]
    found = await _by_summaries(library, published, asked, seconds) if published else frozenset()
    by_engine = await _by_engine(library, others, asked, seconds) if others else frozenset()
    if found is None and by_engine is None:
        return None
    return {
        *((each.repo_id for each in published) if found is None else found),
        *((each.repo_id for each in others) if by_engine is None else by_engine),
    }


def is_in_segments(repository: Repository) -> bool:
    """Whether its default generation is in the store of segments."""
    head = repository.default_head
    return head is not None and head.in_segments


async def _by_summaries(
    library: Library, repositories: Sequence[Repository], asked: Query, seconds: float
) -> Collection[str] | None:
    """Returns the ids of those that can have an answer and of those of which that is not known; None if none is known to have
    one: then something similar is looked for in all of them, as in an embedded store."""
    request, imported = asked.request, asked.imported
    assert isinstance(request, SearchCode | LocateSymbol | FindReferences)
    if imported is None and not is_decidable(request):
        return None
    summaries = await library.summaries(repositories, seconds)
    having, known = able(request, None if imported is None else imported.name, summaries)
    unknown = {each.repo_id for each in repositories} - known
    return having | unknown if having or imported is not None else None


async def _by_engine(
    library: Library, repositories: Sequence[Repository], asked: Query, seconds: float
) -> Collection[str] | None:
    """Returns the ids of the repositories that can have an answer, or None if every one has to be asked. If none has what is
    asked for, these are a few with similar names or paths, where an answer suggests such. Raises EngineUnavailable, InvalidInput
    for a glob that is too large."""
    request = asked.request
    if isinstance(request, SearchCode) and request.mode in ("literal", "regex"):
        return await _holding(library, repositories, scan_narrowing(request), seconds)
    if isinstance(request, SearchCode) and request.mode == "files":
        listing = await library.listing(repositories, request.query, seconds)
        return None if listing is None else listing or _one(repositories)
    if asked.imported is not None:
        return await _holding(library, repositories, _whole_word(asked.imported.name), seconds)
    if isinstance(request, LocateSymbol):
        return await _locating(library, repositories, request, seconds)
    if isinstance(request, FindReferences) and not is_handle(request.symbol_name):
        found = await library.defining(repositories, request.symbol_name, seconds)
        return found or await library.resembling(repositories, request.symbol_name, seconds)
    return None


async def _locating(
    library: Library, repositories: Sequence[Repository], request: LocateSymbol, seconds: float
) -> Collection[str] | None:
    kinds = symbol_kinds(request.kind)
    if is_handle(request.name) or kinds == ONLY_TESTS:
        # Ids do not say which repository they are of, and titles of tests are not in the text index.
        return None
    if kinds == ONLY_IMPORTS:
        return await _holding(library, repositories, _whole_word((name_parts(request.name) or ("",))[-1]), seconds)
    lines = asked_lines(request.name)
    paths = [frame.path for frame in frames(request.name)] if lines is None else [lines.path]
    found = set() if lines is not None else set(await library.defining(repositories, request.name, seconds))
    for path in list(dict.fromkeys(map(_end_of, paths)))[:MAX_PATHS]:
        listed = await library.listing(repositories, path, seconds)
        if listed is None:
            return None
        found.update(listed)
    return found or await library.resembling(repositories, request.name, seconds) or _one(repositories)


async def _holding(
    library: Library, repositories: Sequence[Repository], narrowing: Narrowing, seconds: float
) -> Collection[str] | None:
    return None if narrowing.is_everything else await library.holding(repositories, narrowing, seconds)


def _one(repositories: Sequence[Repository]) -> Collection[str]:
    """Returns one repository, whose answer says that there is nothing, and what else to do."""
    return [each.repo_id for each in repositories[:1]]


def _whole_word(name: str) -> Narrowing:
    return regex_terms(rf"\b{name}\b") if _PLAIN_NAME.fullmatch(name) else Narrowing()


def _end_of(path: str) -> str:
    return "/".join(plain_path(path).split("/")[-PATH_END:])
