"""Adds, lists, changes and removes the repositories of a cluster; prints the result for people or as JSON."""

from collections import Counter
from typing import Final

from msgspec import Struct

from codecompass import formatting
from codecompass.cli import failure
from codecompass.cli.invocation import Invocation
from codecompass.cli.terminal import Cell, Style, Terminal, printable, write_pairs, write_table
from codecompass.cluster.repositories.documents import Repositories
from codecompass.cluster.repositories.repository import Repository
from codecompass.formatting import iso_time

MAX_SHOWN: Final = 20
"""Repositories of each kind that are listed in the status for people."""


class HeadEntry(Struct, frozen=True, kw_only=True):
    """The commit and the generation that answer for a ref."""

    ref: str
    commit: str
    generation: str
    published_at: str
    file_count: int
    symbol_count: int
    source_bytes: int


class RepositoryEntry(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A repository as `--json` prints it. Times are ISO 8601 in UTC.

    `state` is `ready`, `waiting` for a worker, `working`, `paused`, `failed` (a worker tries again), `empty`, or `removed` (and
    being cleaned away).
    """

    repo_id: str
    name: str
    url: str
    state: str
    groups: tuple[str, ...] = ()
    wanted_refs: tuple[str, ...] = ()
    default_ref: str = ""
    heads: tuple[HeadEntry, ...] = ()
    worker: str = ""
    trouble: str = ""
    trouble_at: str = ""
    failures: int = 0
    added_at: str
    changed_at: str


class RepositoryList(Struct, frozen=True):
    """All repositories, ordered by name."""

    repositories: tuple[RepositoryEntry, ...]


class AddedRepository(Struct, frozen=True, kw_only=True):
    """A repository after `add`."""

    repository: RepositoryEntry
    is_new: bool


class EngineEntry(Struct, frozen=True, kw_only=True):
    """The health of the engine: `status` is green, yellow (a copy is missing) or red (data is missing)."""

    status: str
    nodes: int
    shards: int
    missing_shards: int
    pending_tasks: int


class ClusterStatus(Struct, frozen=True, kw_only=True):
    """The state of the cluster. `states` counts repositories by state."""

    engine: EngineEntry
    states: dict[str, int]
    file_count: int
    source_bytes: int
    working: tuple[RepositoryEntry, ...]
    trouble: tuple[RepositoryEntry, ...]


_STYLES: Final[dict[str, tuple[Style, ...]]] = {
    "ready": ("green",),
    "working": ("cyan",),
    "waiting": ("cyan",),
    "failed": ("red",),
    "empty": ("dim",),
    "paused": ("yellow",),
    "removed": ("dim",),
}


def add(
    invocation: Invocation,
    repositories: Repositories,
    url: str,
    *,
    refs: tuple[str, ...],
    groups: tuple[str, ...],
    name: str | None,
) -> int:
    """Adds a repository; refs and groups that are not given stay as they are."""
    added = repositories.add(url, refs=refs or None, groups=groups or None, name=name)
    entry = _entry(added.repository)
    if invocation.options.as_json:
        invocation.print_json(AddedRepository(repository=entry, is_new=added.is_new))
        return failure.DONE
    done = "added" if added.is_new else "changed"
    invocation.terminal.line(f"{done} {printable(entry.name)} ({printable(entry.url)})")
    if not entry.groups:
        invocation.terminal.note("in no group: only administrators see it. Give it one with --group.", "dim")
    invocation.terminal.note("a worker indexes it (codecompass cluster worker); codecompass cluster status shows it", "dim")
    return failure.DONE


def show_all(invocation: Invocation, repositories: Repositories) -> int:
    """Prints all repositories."""
    entries = tuple(_entry(each) for each in repositories.listed(is_current=True))
    terminal = invocation.terminal
    if invocation.options.as_json:
        invocation.print_json(RepositoryList(entries))
        return failure.DONE
    if not entries:
        terminal.note("no repositories yet. Add one with: codecompass cluster add URL")
        return failure.DONE
    rows = [[Cell(text, ("dim",)) for text in ("NAME", "STATE", "FILES", "REFS", "GROUPS", "URL")]]
    for entry in entries:
        default = next((head for head in entry.heads if head.ref == entry.default_ref), None)
        rows.append(
            [
                Cell(printable(entry.name), ("bold",)),
                Cell(entry.state, _STYLES[entry.state]),
                Cell(f"{default.file_count:,}" if default else "", is_right=True),
                Cell(_shown_refs(entry)),
                Cell(", ".join(entry.groups)),
                Cell(printable(entry.url), ("dim",)),
            ]
        )
    write_table(terminal, rows)
    return failure.DONE


def note_changed(invocation: Invocation, repositories: Repositories, name: str, *, rebuild: bool) -> int:
    """Makes a worker check a repository."""
    found = repositories.find(name)
    noted = repositories.note_changed(found.repo_id, rebuild=rebuild, is_urgent=True) or found
    if invocation.options.as_json:
        invocation.print_json(_entry(noted))
    else:
        doing = "indexes it anew" if rebuild else "looks at it"
        invocation.terminal.line(f"a worker {doing}: {printable(noted.name)}")
    return failure.DONE


def remove(invocation: Invocation, repositories: Repositories, name: str) -> int:
    """Removes a repository."""
    removed = repositories.remove(name)
    if invocation.options.as_json:
        invocation.print_json(_entry(removed))
    else:
        invocation.terminal.line(f"removed {printable(removed.name)}. It is not found any more; a worker cleans it away.")
    return failure.DONE


def show_status(invocation: Invocation, repositories: Repositories) -> int:
    """Prints the state of the cluster. The exit code is 1 if data is missing."""
    # First: without any index, the engine waits for one when it is asked for the health of all, and then seems to be busy.
    entries = tuple(_entry(each) for each in repositories.listed(with_removed=True, is_current=True))
    health = repositories.health()
    heads = [head for entry in entries for head in entry.heads if head.ref == entry.default_ref]
    state = ClusterStatus(
        engine=EngineEntry(
            status=health.status,
            nodes=health.nodes,
            shards=health.shards,
            missing_shards=health.missing_shards,
            pending_tasks=health.pending_tasks,
        ),
        states=dict(sorted(Counter(entry.state for entry in entries).items())),
        file_count=sum(head.file_count for head in heads),
        source_bytes=sum(head.source_bytes for head in heads),
        working=tuple(entry for entry in entries if entry.worker),
        trouble=tuple(entry for entry in entries if entry.trouble),
    )
    if invocation.options.as_json:
        invocation.print_json(state)
    else:
        _write_status(invocation.terminal, state)
    return failure.FAILED if health.status == "red" else failure.DONE


def _write_status(terminal: Terminal, state: ClusterStatus) -> None:
    engine = state.engine
    missing = f", {formatting.count(engine.missing_shards, 'copy', 'copies')} of shards missing" if engine.missing_shards else ""
    states = ", ".join(f"{number:,} {name}" for name, number in state.states.items())
    pairs = [
        ("engine", f"{engine.status}, {formatting.count(engine.nodes, 'node')}{missing}"),
        ("repositories", states or "none"),
        ("files", f"{state.file_count:,}, {formatting.size(state.source_bytes)}"),
    ]
    for title, entries in (("working", state.working), ("trouble", state.trouble)):
        if entries:
            lines = [
                f"{printable(each.name)}: {printable(each.worker if title == 'working' else each.trouble)}" for each in entries
            ]
            left_out = [f"and {len(lines) - MAX_SHOWN:,} more"] if len(lines) > MAX_SHOWN else []
            pairs.append((title, "\n".join(lines[:MAX_SHOWN] + left_out)))
    write_pairs(terminal, pairs)


def _state(repository: Repository) -> str:
    if repository.is_removed:
        return "removed"
    if repository.lease is not None:
        return "working"
    if repository.is_paused:
        return "paused"
    if repository.failures:
        return "failed"
    if repository.is_pending:
        return "waiting"
    return "ready" if repository.heads else "empty"


def _shown_refs(entry: RepositoryEntry) -> str:
    first = [entry.default_ref] if entry.default_ref else []
    names = [*first, *(head.ref for head in entry.heads if head.ref != entry.default_ref)]
    return printable(", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else ""))


def _entry(repository: Repository) -> RepositoryEntry:
    trouble = repository.trouble
    return RepositoryEntry(
        repo_id=repository.repo_id,
        name=repository.name,
        url=repository.url,
        state=_state(repository),
        groups=repository.groups,
        wanted_refs=repository.wanted_refs,
        default_ref=repository.default_ref,
        heads=tuple(
            HeadEntry(
                ref=ref,
                commit=head.commit,
                generation=head.generation,
                published_at=iso_time(head.published_at),
                file_count=head.file_count,
                symbol_count=head.symbol_count,
                source_bytes=head.source_bytes,
            )
            for ref, head in sorted(repository.heads.items())
        ),
        worker="" if repository.lease is None else repository.lease.owner,
        trouble="" if trouble is None else trouble.message,
        trouble_at="" if trouble is None else iso_time(trouble.at),
        failures=repository.failures,
        added_at=iso_time(repository.added_at),
        changed_at=iso_time(repository.changed_at),
    )
