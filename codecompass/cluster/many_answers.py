"""Answers one question from many repositories of an organisation: one query of the engine selects those that can answer."""

import re
from collections.abc import Collection, Sequence
from typing import Final

from codecompass.actors.messages import Query
from codecompass.cluster.answers import NOT_INDEXED, Answering, RepositoryWorkspace
from codecompass.cluster.library import Library, unknown
from codecompass.errors import CodeCompassError, IndexNotReady
from codecompass.protocol.replies import Reply, SearchEvidence
from codecompass.protocol.requests import FindReferences, LocateSymbol, SearchCode
from codecompass.query.exact_scan import scan_narrowing
from codecompass.query.regex_terms import regex_terms
from codecompass.store.registry import Project
from codecompass.store.text_queries import Narrowing

_PLAIN_NAME: Final = re.compile(r"\w+", re.ASCII)
_NO_NAME: Final = re.compile(r"[^\w$]+")


class LibraryAnswers:
    """Implements `services.ManyAnswers` for repositories in the engine."""

    def __init__(self, library: Library, answering: Answering) -> None:
        self._library = library
        self._answering = answering

    @property
    def are_fresh(self) -> bool:
        """True: each answer is of the newest generation."""
        return True

    async def answer(self, project: Project, asked: Query, seconds: float, *, is_fresh: bool = False) -> Reply:
        """Returns the answer of one repository within `seconds`. Raises the same errors as `RepositoryWorkspace.ask`."""
        return await RepositoryWorkspace(self._library, self._answering, project).answer(asked, seconds)

    async def concerned(self, projects: Sequence[Project], asked: Query, seconds: float) -> Collection[str] | None:
        """Returns the ids of the repositories that can have an answer, found by one query of the engine, or None if every
        repository has to be asked: for a list of files, and for a name that none defines as it was typed."""
        wanted = {project.project_id for project in projects}
        repositories = [each for each in await self._library.repositories() if each.repo_id in wanted]
        found: Collection[str] | None = None
        narrowing = _narrowing(asked)
        if narrowing is not None:
            found = await self._library.holding(repositories, narrowing, seconds)
        elif (name := _defined_name(asked)) and (last := last_name(name)):
            # If none defines the name, each repository suggests similar names.
            found = await self._library.defining(repositories, [name, last], seconds) or None
        # A repository without an index is asked too: its answer says so.
        others = wanted - {each.repo_id for each in repositories if each.default_head is not None}
        return None if found is None else {*found, *others}

    async def sample(
        self, projects: Sequence[Project], words: str, seconds: float, found: dict[str, SearchEvidence | CodeCompassError]
    ) -> None:
        """Puts a sample of each repository, or an error, into `found`, with one query of the engine for all."""
        wanted = {project.project_id for project in projects}
        repositories = [each for each in await self._library.repositories() if each.repo_id in wanted]
        told = await self._library.sample(repositories, words, seconds)
        gone = wanted - {each.repo_id for each in repositories}
        found.update({repo_id: unknown(repo_id) for repo_id in gone})
        for each in repositories:
            # Repositories that are not among the best matches get an empty sample.
            has_nothing = SearchEvidence(n_texts=0, words=(), hits=())
            is_indexed = each.default_head is not None
            found[each.repo_id] = told.get(each.repo_id, has_nothing) if is_indexed else IndexNotReady(NOT_INDEXED)


def _narrowing(asked: Query) -> Narrowing | None:
    """Returns the narrowing to the texts that an answer can come from, or None if words do not narrow them."""
    request = asked.request
    narrowing = None
    if isinstance(request, SearchCode) and request.mode in ("literal", "regex"):
        narrowing = scan_narrowing(request)
    elif asked.imported is not None and _PLAIN_NAME.fullmatch(asked.imported.name):
        narrowing = regex_terms(rf"\b{asked.imported.name}\b")
    return None if narrowing is None or narrowing.is_everything else narrowing


def _defined_name(asked: Query) -> str:
    """Returns the name whose definitions a question asks for, empty if it asks for something else."""
    request = asked.request
    if isinstance(request, LocateSymbol):
        return request.name
    return request.symbol_name if isinstance(request, FindReferences) and asked.imported is None else ""


def last_name(name: str) -> str:
    """Returns the last part of a name qualified in any language's notation: `close` of `Session.close`."""
    return next((part for part in reversed(_NO_NAME.split(name)) if part), name)
