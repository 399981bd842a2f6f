"""The repositories of an organisation: one document each, which alone decides what is visible and which worker holds the lease.

Every change is one compare-and-set; after a conflict the document is read again and the change is made anew.
"""

import contextlib
import difflib
import re
import threading
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from codecompass.cluster.engine.client import MAX_LISTED, Document, Engine, EngineHealth
from codecompass.cluster.engine.documents import MAX_ATTEMPTS, DamagedDocument, Documents
from codecompass.cluster.engine.failures import EngineUnavailable
from codecompass.cluster.repositories.catalog import Catalog, CatalogEntry, as_asked, entry_of
from codecompass.cluster.repositories.repository import (
    Change,
    Repository,
    checked_groups,
    checked_name,
    checked_refs,
    unique_name,
    with_former,
)
from codecompass.errors import InvalidInput, ProjectNotFound
from codecompass.log import get_logger
from codecompass.scan.git_remotes import DEFAULT_PROTOCOLS, RepositoryUrl, parse_url

_log = get_logger(__name__)

MAX_REPOSITORIES: Final = MAX_LISTED

_AT_ONCE: Final = 1_000
"""Documents read in one request."""

_REPO_ID: Final = re.compile(r"[0-9a-f]{16}")


class Added(Struct, frozen=True):
    """A repository after `add`, and whether it is new."""

    repository: Repository
    is_new: bool


class Repositories:
    """Reads and changes the documents of repositories. Thread-safe. All methods block."""

    def __init__(self, engine: Engine, protocols: Collection[str] = DEFAULT_PROTOCOLS) -> None:
        self._engine = engine
        self._index = engine.names.repositories
        self._documents = Documents(engine, self._index, Repository, "repository")
        self._catalog = Catalog(engine)
        self._lock = threading.Lock()
        self._newest: dict[str, tuple[int, int]] = {}
        """The newest version of each document that `get` has returned; bounded by the number of repositories."""
        self.protocols: Final = protocols

    # reading

    def listed(self, *, with_removed: bool = False, is_current: bool = False) -> tuple[Repository, ...]:
        """Returns all repositories, sorted by name, up to a second old or, with `is_current`, current."""
        if is_current:
            self._engine.refresh(self._index, is_patient=False)
        found = []
        for document in self._engine.documents(self._index, {"match_all": {}}):
            try:
                found.append(self._documents.decoded(document))
            except DamagedDocument as error:
                # A document that cannot be read must not hide the others.
                _log.warning("repository_unreadable", repository=document.id, cause=error.message)
        return tuple(sorted((each for each in found if with_removed or not each.is_removed), key=lambda each: each.name))

    def get(self, repo_id: str) -> Repository | None:
        """Returns the current state of a repository, removed or not, or None if there is none.

        A node that was paused, and does not know yet that others went on without it, answers with an outdated document. So an
        older version than was returned before is discarded, and another node is asked. Raises EngineUnavailable if all are
        outdated.
        """
        for _ in range(MAX_ATTEMPTS):
            document = self._engine.get(self._index, repo_id)
            if document is None:
                return None
            if self._is_newest(document):
                return self._documents.decoded(document)
        raise EngineUnavailable("a part of the search engine is behind. Ask again in a moment.")

    def get_several(self, repo_ids: Sequence[str]) -> tuple[Repository, ...]:
        """Returns the current states of repositories, read at once. Those for which it got an outdated document, none, or one
        that cannot be read are left out; ask for each of them alone."""
        found = []
        for document in self._engine.get_documents(self._index, repo_ids):
            if self._is_newest(document):
                with contextlib.suppress(DamagedDocument):
                    found.append(self._documents.decoded(document))
        return tuple(found)

    def states(self, repo_ids: Sequence[str]) -> dict[str, Repository]:
        """Returns the current states of repositories, removed or not, by id, read in few requests; without those that do not
        exist. Raises EngineUnavailable as `get` does."""
        found: dict[str, Repository] = {}
        for at in range(0, len(repo_ids), _AT_ONCE):
            for document in self._engine.get_documents(self._index, repo_ids[at : at + _AT_ONCE]):
                now = self._documents.decoded(document) if self._is_newest(document) else self.get(document.id)
                if now is not None:
                    found[now.repo_id] = now
        return found

    def _is_newest(self, document: Document) -> bool:
        """Whether no newer version of the document was seen before."""
        version = (document.primary_term, document.seq_no)
        with self._lock:
            is_old = version < self._newest.get(document.id, version)
            if not is_old:
                self._newest[document.id] = version
        return not is_old

    def health(self) -> EngineHealth:
        """Returns the health of the engine."""
        return self._engine.health()

    def find(self, name: str) -> Repository:
        """Returns the repository with this name, address or id. Raises ProjectNotFound."""
        found = None
        if _REPO_ID.fullmatch(name):
            found = self.get(name)
        elif ":" in name:
            found = self.get(self._parsed(name).repo_id)
        if found is not None and not found.is_removed:
            return found
        known = self.listed(is_current=True)
        for each in known:
            if each.name == name:
                return each
        near = difflib.get_close_matches(name, [each.name for each in known], n=1)
        meant = f" Did you mean {near[0]!r}?" if near else ""
        raise ProjectNotFound(
            f"no repository of the cluster is called {name!r}.{meant} List them with: codecompass cluster list", project_id=name
        )

    # changing

    def add(
        self, url: str, *, refs: Sequence[str] | None = None, groups: Sequence[str] | None = None, name: str | None = None
    ) -> Added:
        """Adds a repository, or updates an existing one with the arguments that are not None. A worker takes a turn at it soon.

        Raises InvalidInput for an invalid address, name, ref or group, or a name that is taken.
        """
        parsed = self._parsed(url)
        wanted, grouped = checked_refs(refs), checked_groups(groups)
        if name is not None:
            self._require_free_name(checked_name(name), parsed.repo_id)
        given: dict[str, object] = {}
        if wanted is not None:
            given["wanted_refs"] = wanted
        if grouped is not None:
            given["groups"] = grouped
        if name is not None:
            given["name"] = name
        while True:
            there = self.get(parsed.repo_id)
            if there is not None and not there.url and "name" not in given:
                # Its document was made by `add_tombstone`, without a name.
                given["name"] = self._new(parsed, given).name
            if there is not None:

                def readded(old: Repository) -> Repository:
                    new = replace(old, **given, url=parsed.url, is_removed=False)
                    return _noted(new if old.is_removed else with_former(new, old.name))

                self._catalog.put(parsed.repo_id, entry_of(readded(there)))
                updated = self.update(parsed.repo_id, readded)
                if updated is None:
                    continue
                return Added(updated, is_new=there.is_removed)
            fresh = self._new(parsed, given)
            self._catalog.put(parsed.repo_id, entry_of(fresh))
            if self._documents.create(parsed.repo_id, fresh):
                return Added(self.with_unique_name(fresh), is_new=True)

    def remove(self, name: str) -> Repository:
        """Makes a repository invisible at once and returns it; workers delete its documents. Raises ProjectNotFound."""
        found = self.find(name)
        self._catalog.put(found.repo_id, replace(entry_of(found), is_removed=True, former=()))
        return self._made_invisible(found.repo_id) or found

    def reconcile(self) -> int:
        """Makes the documents of this version agree with the catalog: adds what was added, changes what was changed and removes
        what was removed elsewhere, and enters what the catalog lacks. Returns how many were changed."""
        there = {each.repo_id: each for each in self.listed(with_removed=True, is_current=True)}
        entries = self._catalog.live()
        doubtful = [repo_id for repo_id in there.keys() | entries.keys() if _differs(there.get(repo_id), entries.get(repo_id))]
        # Others may have written since the lists were read.
        current = self._catalog.of(sorted(doubtful))
        return sum(self._agree(repo_id, there.get(repo_id), current.get(repo_id)) for repo_id in doubtful)

    def _agree(self, repo_id: str, there: Repository | None, entry: CatalogEntry | None) -> bool:
        """Makes one document agree with its current entry. Returns whether it was changed."""
        if entry is None:
            if there is not None and there.url and not there.is_removed:
                self._catalog.add(repo_id, entry_of(there))
            return False
        if entry.is_removed:
            return there is not None and not there.is_removed and self._made_invisible(repo_id) is not None
        if there is None:
            return self._make(repo_id, entry)

        def asked(old: Repository) -> Repository:
            return old if entry_of(old) == entry else _noted(as_asked(old, entry))

        return entry_of(there) != entry and self.update(repo_id, asked) is not None

    def _make(self, repo_id: str, entry: CatalogEntry) -> bool:
        """Makes the document of a repository that the catalog has. Returns whether it was missing."""
        now = time.time()
        fresh = as_asked(Repository(repo_id=repo_id, name=entry.name, url=entry.url, added_at=now, changed_at=now), entry)
        return self._documents.create(repo_id, fresh)

    def _made_invisible(self, repo_id: str) -> Repository | None:
        def removed(old: Repository) -> Repository:
            retired = tuple(dict.fromkeys((*old.retired, *(head.generation for head in old.heads.values()))))
            # Whatever is at this address next may be another repository: links to the former names of this one are not to it.
            return replace(old, is_removed=True, heads={}, default_ref="", seen={}, retired=retired, trouble=None, former=())

        return self.update(repo_id, removed)

    def note_former(self, repo_id: str, before: Repository) -> None:
        """Records that a repository was `before` at another address, so that links to that lead to it."""

        def noted(now: Repository) -> Repository:
            return with_former(now, before.repo_id, before.name, *before.former)

        there = self.get(repo_id)
        if there is not None and before.repo_id != repo_id:
            self._catalog.put(repo_id, entry_of(noted(there)))
            self.update(repo_id, noted)

    def add_tombstone(self, repo_id: str) -> bool:
        """Creates the document of a removed repository, so that workers delete its orphaned documents. Returns False if the
        repository has a document."""
        now = time.time()
        removed = Repository(repo_id=repo_id, name=repo_id, url="", added_at=now, changed_at=now, is_removed=True)
        return self._documents.create(repo_id, removed)

    def note_changed(self, repo_id: str, *, rebuild: bool = False, is_urgent: bool = False) -> Repository | None:
        """Requests a turn at a repository and returns it, or None if there is none.

        With `rebuild` earlier generations are not reused; with `is_urgent` there is no backoff after earlier failures. Without
        these nothing is written if a turn is pending that no worker has begun: it will find this change as well.
        """

        def noted(old: Repository) -> Repository:
            if old.is_pending and old.lease is None and not rebuild and not is_urgent:
                return old
            new = _noted(old)
            if is_urgent and new.trouble is not None:
                new = replace(new, trouble=replace(new.trouble, failures=0))
            return replace(new, rebuild=new.changes) if rebuild else new

        return self.update(repo_id, noted)

    def set_paused(self, repo_id: str, *, is_paused: bool) -> Repository | None:
        """Pauses a repository or resumes it, and returns it, or None if there is none. A turn that is running is finished. One
        that is resumed gets a turn soon, without a backoff after earlier failures."""

        def changed(old: Repository) -> Repository:
            if old.is_paused == is_paused:
                return old
            new = replace(old if is_paused else _noted(old), is_paused=is_paused)
            return replace(new, trouble=replace(new.trouble, failures=0)) if new.trouble is not None and not is_paused else new

        there = self.get(repo_id)
        if there is None or there.is_removed:
            return None
        self._catalog.put(repo_id, entry_of(changed(there)))
        return self.update(repo_id, changed)

    def note_polled(self, seen: Repository, *, has_moved: bool) -> None:
        """Records that the remote of `seen` was polled: if it has moved, a turn is requested; if not, no other worker polls it
        soon. Does nothing if the repository was polled or changed since `seen` was read."""

        def polled(old: Repository) -> Repository:
            if (old.polls, old.changes) != (seen.polls, seen.changes):
                return old
            return _noted(old) if has_moved else replace(old, polls=old.polls + 1)

        self.update(seen.repo_id, polled)

    def update(self, repo_id: str, change: Change) -> Repository | None:
        """Changes a repository by compare-and-set and returns it, or None if there is none.

        Raises what `change` raises, and EngineUnavailable after MAX_ATTEMPTS conflicts.
        """
        return self._documents.update(repo_id, change)

    def delete(self, repo_id: str, allows: Callable[[Repository], bool]) -> bool:
        """Deletes the document if `allows` returns True for its current state. Returns whether it does not exist any more."""
        return self._documents.delete(repo_id, allows)

    def _parsed(self, url: str) -> RepositoryUrl:
        return parse_url(url, self.protocols)

    def _new(self, parsed: RepositoryUrl, given: Mapping[str, object]) -> Repository:
        known = self.listed(with_removed=True, is_current=True)
        if len(known) >= MAX_REPOSITORIES:
            raise InvalidInput(
                f"there are {len(known):,} repositories, the most that one cluster can have. Remove some "
                "(codecompass cluster remove), or use another prefix (--cluster-prefix) for these.",
                field="url",
            )
        now = time.time()
        name = parsed.name if all(each.name != parsed.name for each in known) else unique_name(parsed.name, parsed.repo_id)
        fields: dict[str, object] = {"name": name, **given}
        fresh = Repository(repo_id=parsed.repo_id, name=name, url=parsed.url, added_at=now, changed_at=now)
        return replace(fresh, **fields)

    def with_unique_name(self, mine: Repository) -> Repository:
        """Renames the repository that was just added if another one was added under the same name at the same time, and returns
        it.

        Both check after they have written, so at least the later one sees the other.
        """
        others = (each for each in self.listed(with_removed=True, is_current=True) if each.repo_id != mine.repo_id)
        if all(each.name != mine.name for each in others):
            return mine
        renamed = replace(mine, name=unique_name(mine.name, mine.repo_id))
        self._catalog.put(mine.repo_id, entry_of(renamed))
        return self.update(mine.repo_id, lambda old: replace(old, name=renamed.name)) or mine

    def _require_free_name(self, name: str, repo_id: str) -> None:
        for each in self.listed(with_removed=True, is_current=True):
            if each.name == name and each.repo_id != repo_id:
                raise InvalidInput(
                    f"the repository at {each.url} is called {name!r} already. Choose another name with --name.",
                    field="name",
                    value=name,
                    constraint="unique",
                )


def _differs(there: Repository | None, entry: CatalogEntry | None) -> bool:
    if there is None or entry is None:
        return there is None or not there.is_removed
    return entry_of(there) != entry


def _noted(old: Repository) -> Repository:
    return replace(old, changes=old.changes + 1, changed_at=time.time())
