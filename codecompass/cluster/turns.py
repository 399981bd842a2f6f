"""What a worker does with a repository that it has claimed: fetch, index, publish; and remove what nobody reads any more.

    what the remote has -> commits into the mirror -> for each ref that moved: the index of its commit, from the nearest one here
    -> a generation in the engine -> one compare-and-set, and it is what answers

Nothing is visible before that last step, and it fails where the lease was lost. What a turn leaves half-written is noted as
retired, or found so by whoever takes the lease over.
"""

import secrets
import time
from collections.abc import Collection
from functools import partial
from typing import Final

import structlog
import trio
from msgspec import Struct
from msgspec.structs import replace

from codecompass.actors.blocking_calls import BlockingCalls
from codecompass.actors.commit_indexing import CommitJob
from codecompass.actors.index_limits import IndexLimits
from codecompass.actors.worker_pool import WorkerPool
from codecompass.cluster.engine import Engine, EngineUnavailable
from codecompass.cluster.generations import Generations
from codecompass.cluster.leases import Claim, abandoned, with_attempt
from codecompass.cluster.manifests import Manifest
from codecompass.cluster.publishing import publish
from codecompass.cluster.remote_refs import MAX_REFS, RemoteRef, Selection, select_refs
from codecompass.cluster.remotes import Mirror, RemoteLimits, list_remote, require_protocol
from codecompass.cluster.repositories import Change, Head, Repository, Trouble
from codecompass.cluster.sweeping import sweep
from codecompass.cluster.worker_home import WorkerHome
from codecompass.errors import CodeCompassError, IndexDamaged, IndexIncompatible, IndexNotReady, RefNotIndexed
from codecompass.scan.git_repository import GitError
from codecompass.scan.git_revisions import NamedCommit, resolve_commit
from codecompass.store.schema import PARSER_VERSION, SCHEMA_VERSION

MADE_BY: Final = (SCHEMA_VERSION, PARSER_VERSION)
"""Of heads that this program makes."""


class Tools(Struct, frozen=True, kw_only=True):
    """What the turns of one worker share."""

    engine: Engine
    generations: Generations
    home: WorkerHome
    pool: WorkerPool
    limits: IndexLimits
    remotes: RemoteLimits
    blocking: BlockingCalls
    threads: trio.CapacityLimiter
    """Of those that publish and sweep."""
    owner: str


class Turn:
    """One turn at one repository. Make it, await `run()` once; `unfinished` then says what it left behind, if anything."""

    def __init__(self, tools: Tools, claim: Claim) -> None:
        self._tools = tools
        self._claim = claim
        self._begun = claim.repository
        self._is_rebuild = self._begun.rebuild > self._begun.done_changes
        self._attempt = ""
        self._fresh: set[str] = set()
        self._log = structlog.get_logger(__name__)

    def unfinished(self, repository: Repository) -> Repository:
        """Returns the repository with a note of what this turn has written and not made visible."""
        return with_attempt(repository, abandoned(self._attempt)) if self._attempt else repository

    async def run(self) -> Change:
        """Brings the heads up to the remote. Returns what the document becomes when the repository is released.

        Raises LeaseLost, and CodeCompassError for the first thing that went wrong, when all that could be done is done.
        """
        url, tools = self._begun.url, self._tools
        require_protocol(url, tools.remotes)
        selection = select_refs(await list_remote(url, self._begun.wanted_refs, tools.remotes), self._begun.wanted_refs)
        mirror = Mirror(tools.home.mirror(self._begun.repo_id), tools.remotes)
        lock = tools.home.alone(self._begun.repo_id, tools.owner)
        await trio.to_thread.run_sync(lock.__enter__)
        try:
            return await self._run_alone(selection, mirror)
        finally:
            lock.__exit__(None, None, None)

    async def _run_alone(self, selection: Selection, mirror: Mirror) -> Change:
        moved = [ref for ref in selection.refs if not self._is_current(ref)]
        await mirror.fetch(self._begun.url, moved)
        missing = list(selection.missing)
        failures: list[CodeCompassError] = []
        for ref in moved:
            try:
                commit = await self._resolve(mirror, ref)
                if commit is None:
                    missing.append(ref.name)
                else:
                    await self._bring(ref, commit, mirror, selection)
            except EngineUnavailable:
                raise
            except CodeCompassError as error:
                if isinstance(error, RefNotIndexed):
                    # Objects that were fetched before are gone or damaged, and the remote does not send them again.
                    await trio.to_thread.run_sync(mirror.remove)
                self._log.warning("ref_failed", repository=self._begun.name, ref=ref.name, cause=error.message)
                failures.append(error)
        await self._settle(selection)
        await self._clean(selection, mirror)
        if failures:
            raise failures[0]
        return partial(_done, self._begun.changes, selection, tuple(missing))

    def _is_current(self, ref: RemoteRef) -> bool:
        head = self._claim.repository.heads.get(ref.name)
        return not self._is_rebuild and head is not None and (head.commit, head.made_by) == (ref.object_id, MADE_BY)

    async def _resolve(self, mirror: Mirror, ref: RemoteRef) -> NamedCommit | None:
        """Returns the commit that was fetched, which may be newer than the one that was listed; None for a tag of no commit."""
        repository = mirror.repository()
        if repository is None:
            raise RefNotIndexed(f"the mirror of {ref.name} was removed meanwhile. Workers try again by themselves.")
        try:
            found = await trio.to_thread.run_sync(partial(resolve_commit, repository, ref.local))
        except RefNotIndexed:
            return None
        except GitError as error:
            raise RefNotIndexed(f"{ref.name} cannot be read in the worker's mirror: {error}. Workers try again.") from error
        return NamedCommit(ref.name, found.commit, found.tree)

    async def _bring(self, ref: RemoteRef, commit: NamedCommit, mirror: Mirror, selection: Selection) -> None:
        """Makes the commit what answers for the ref."""
        heads = self._claim.repository.heads
        head = next((each for each in heads.values() if self._serves(each, commit)), None)
        if head is None:
            head = await self._index(ref, commit, mirror)
        default = selection.default if selection.default in {*heads, ref.name} else self._claim.repository.default_ref or ref.name
        await self._publish(ref, head, default)

    def _serves(self, head: Head, commit: NamedCommit) -> bool:
        is_usable = not self._is_rebuild or head.generation in self._fresh
        return is_usable and (head.commit, head.made_by) == (commit.commit, MADE_BY)

    async def _index(self, ref: RemoteRef, commit: NamedCommit, mirror: Mirror) -> Head:
        """Builds the index of a commit and writes it to the engine, where nothing names it yet."""
        tools, repo_id = self._tools, self._begun.repo_id
        began = time.monotonic()
        report = await CommitJob(
            root=mirror.root,
            layout=tools.home.project(repo_id),
            commit=commit,
            pool=tools.pool,
            limits=tools.limits,
            job_id=f"{self._begun.name} {ref.name}",
            force=self._is_rebuild,
            blocking=tools.blocking,
        ).run()
        indexed = time.monotonic()
        generation = secrets.token_hex(8)
        self._attempt = generation
        published = await trio.to_thread.run_sync(
            partial(
                publish,
                tools.engine,
                tools.generations.cache,
                repo_id=repo_id,
                generation=generation,
                previous=await self._previous(ref.name),
                layout=tools.home.project(repo_id).commit(commit.commit),
                project_id=repo_id,
                checkpoint=trio.from_thread.check_cancelled,
            ),
            limiter=tools.threads,
        )
        self._fresh.add(generation)
        self._log.info(
            "generation_written",
            repository=self._begun.name,
            ref=ref.name,
            commit=commit.commit,
            files=report.file_count,
            files_changed=report.files_changed,
            files_written=published.counts.files,
            documents=published.counts.documents,
            blocks=published.counts.blocks,
            is_whole=published.counts.is_whole,
            index_seconds=round(indexed - began, 3),
            write_seconds=round(time.monotonic() - indexed, 3),
        )
        return Head(
            generation=generation,
            commit=commit.commit,
            published_at=time.time(),
            file_count=report.file_count,
            symbol_count=report.symbol_count,
            source_bytes=report.source_bytes,
            made_by=MADE_BY,
        )

    async def _previous(self, ref: str) -> Manifest | None:
        """Returns what the ref has now, or another head of the repository, None where nothing of it can be used."""
        repository = self._claim.repository
        head = repository.heads.get(ref) or repository.default_head or next(iter(repository.heads.values()), None)
        if head is None or head.made_by != MADE_BY or (self._is_rebuild and head.generation not in self._fresh):
            return None
        try:
            return await trio.to_thread.run_sync(self._tools.generations.manifest, head.generation, limiter=self._tools.threads)
        except (IndexNotReady, IndexIncompatible, IndexDamaged):
            return None

    async def _publish(self, ref: RemoteRef, head: Head, default: str) -> None:
        await self._change_heads({ref.name: head}, default)
        self._attempt = ""
        self._log.info("ref_published", repository=self._begun.name, ref=ref.name, commit=head.commit, generation=head.generation)

    async def _settle(self, selection: Selection) -> None:
        """Takes out the heads of refs that the remote does not have or nobody wants any more."""
        repository = self._claim.repository
        gone = repository.heads.keys() - selection.seen.keys()
        default = selection.default if selection.default in repository.heads else repository.default_ref
        if default in gone or default not in repository.heads:
            default = next((name for name in selection.seen if name in repository.heads), "")
        if gone or default != repository.default_ref:
            await self._change_heads({}, default, gone)

    async def _change_heads(self, heads: dict[str, Head], default: str, gone: Collection[str] = ()) -> None:
        change = partial(self._claim.publish, heads, default_ref=default, gone=gone)
        # Not for nothing was all of this written: an engine that is busy now is waited for.
        await trio.to_thread.run_sync(self._tools.engine.patiently, change, limiter=self._tools.threads)

    async def _clean(self, selection: Selection, mirror: Mirror) -> None:
        """Removes from this machine what the next turn does not need."""
        commits = {head.commit for head in self._claim.repository.heads.values()}
        await trio.to_thread.run_sync(self._tools.home.keep_commits, self._begun.repo_id, commits)
        if mirror.repository() is not None:
            await mirror.keep_only(selection.refs)


async def remove_retired(tools: Tools, claim: Claim, ripe: Collection[str]) -> Change:
    """Removes what of a repository nothing names, but for the generations that were named lately: those not in `ripe`.

    Returns what the document becomes when the repository is released. Raises LeaseLost, EngineUnavailable, IndexDamaged.
    """
    repository = claim.repository
    keep = {head.generation for head in repository.heads.values()} | (set(repository.retired) - set(ripe))
    n_removed = await trio.to_thread.run_sync(
        partial(sweep, tools.engine, repository.repo_id, keep, confirm=claim.renew, checkpoint=trio.from_thread.check_cancelled),
        limiter=tools.threads,
    )
    structlog.get_logger(__name__).info("retired_removed", repository=repository.name, generations=len(ripe), documents=n_removed)
    return partial(_without, frozenset(ripe))


def _without(ripe: frozenset[str], repository: Repository) -> Repository:
    left = tuple(entry for entry in repository.retired if entry not in ripe)
    # Where nothing else is to be done, what went wrong before went wrong here.
    trouble = repository.trouble if repository.is_pending or not repository.failures else None
    return replace(repository, retired=left, trouble=trouble)


def _done(changes: int, selection: Selection, missing: tuple[str, ...], repository: Repository) -> Repository:
    message = _remark(selection, missing, repository)
    return replace(
        repository,
        done_changes=max(changes, repository.done_changes),
        seen=selection.seen,
        trouble=Trouble(message=message, at=time.time()) if message else None,
    )


def _remark(selection: Selection, missing: tuple[str, ...], repository: Repository) -> str:
    """Returns what whoever has added the repository should know although nothing failed."""
    if not selection.refs and not repository.wanted_refs:
        return "the remote has no commit yet. It is indexed when something is pushed to its default branch."
    remarks = []
    if missing:
        remarks.append(f"the remote has no branch or tag of a commit called {', '.join(missing[:10])}")
    if selection.n_left_out:
        remarks.append(f"{selection.n_left_out:,} refs match beyond the {MAX_REFS} that are taken")
    return f"{'; '.join(remarks)}. Change what is wanted with: codecompass cluster add URL --ref NAME" if remarks else ""
