"""Adds, lists, checks and removes the owners at code hosts whose repositories are followed, and moves single repositories."""

from typing import Final

from msgspec import Struct

from codecompass.cli import failure
from codecompass.cli.invocation import Invocation
from codecompass.cli.terminal import Cell, Style, printable, write_table
from codecompass.cluster.engine.client import Engine
from codecompass.cluster.hosts.sources import Source, Sources
from codecompass.cluster.hosts.watch import PERMISSIONS_GAP_SECONDS
from codecompass.cluster.repositories.catalog import prepare
from codecompass.cluster.repositories.documents import Repositories
from codecompass.cluster.repositories.moves import move
from codecompass.formatting import iso_time
from codecompass.units import MINUTES


class SourceEntry(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A source as `--json` prints it. `state` is `waiting`, `followed` or `failed` (workers try again)."""

    id: str
    url: str
    kind: str
    state: str
    repositories: int
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    archived: bool = False
    forks: bool = False
    groups: tuple[str, ...] = ()
    refs: tuple[str, ...] = ()
    permissions: bool = False
    failures: int = 0
    trouble: str = ""
    checked_at: str = ""


class SourceList(Struct, frozen=True):
    """All sources, ordered by address."""

    sources: tuple[SourceEntry, ...]


class MovedRepository(Struct, frozen=True, kw_only=True):
    """A repository at its new address."""

    repo_id: str
    name: str
    url: str
    moved_from: str


_READERS: Final = "who may read it there"
"""What is shown beside the groups of a source with permissions."""

_STYLES: Final[dict[str, Style]] = {"followed": "green", "failed": "red", "waiting": "cyan"}


def add(invocation: Invocation, engine: Engine, fresh: Source) -> int:
    """Adds a source, or changes what is wanted of the one with its address."""
    prepare(engine)
    source, is_new = Sources(engine).add(fresh)
    if invocation.options.as_json:
        invocation.print_json(_entry(source))
        return failure.DONE
    terminal = invocation.terminal
    terminal.line(f"{'added' if is_new else 'changed'} {printable(source.url)} ({source.kind})")
    if not source.groups and not source.permissions:
        terminal.note("its repositories are in no group: only administrators see them. Give them one with --group.", "dim")
    if source.permissions:
        terminal.note("who may read them there sees them on servers with access.host_permissions, and nobody elsewhere", "dim")
    terminal.note("a worker lists its repositories; codecompass cluster source list shows what was found", "dim")
    return failure.DONE


def show_all(invocation: Invocation, engine: Engine) -> int:
    """Prints all sources."""
    entries = tuple(_entry(each) for each in Sources(engine).listed(is_current=True))
    terminal = invocation.terminal
    if invocation.options.as_json:
        invocation.print_json(SourceList(entries))
        return failure.DONE
    if not entries:
        terminal.note("no sources yet. Add one with: codecompass cluster source add https://HOST/OWNER")
        return failure.DONE
    header = [Cell(text, ("dim",)) for text in ("URL", "KIND", "STATE", "REPOSITORIES", "GROUPS", "CHECKED")]
    write_table(terminal, [header, *(_row(each) for each in entries)])
    for entry in entries:
        if entry.trouble:
            terminal.line(f"{printable(entry.url)}: {printable(entry.trouble)}")
    return failure.DONE


def check(invocation: Invocation, engine: Engine, url: str) -> int:
    """Requests a look at a source."""
    sources = Sources(engine)
    asked = sources.ask(sources.find(url).id)
    if asked is not None and invocation.options.as_json:
        invocation.print_json(_entry(asked))
    elif asked is not None:
        when = f"within {PERMISSIONS_GAP_SECONDS / MINUTES:.0f} minutes" if asked.permissions else "soon"
        invocation.terminal.line(f"a worker lists the repositories of {printable(asked.url)} {when}")
    return failure.DONE


def remove(invocation: Invocation, engine: Engine, url: str) -> int:
    """Removes a source."""
    removed = Sources(engine).remove(url)
    if invocation.options.as_json:
        invocation.print_json(_entry(removed))
    else:
        n_found = len(removed.found)
        invocation.terminal.line(f"{printable(removed.url)} is not followed any more; its {n_found:,} repositories stay")
    return failure.DONE


def move_repository(invocation: Invocation, repositories: Repositories, name: str, url: str) -> int:
    """Moves a repository to another address."""
    moved = move(repositories, name, url)
    if invocation.options.as_json:
        entry = MovedRepository(repo_id=moved.repo_id, name=moved.name, url=moved.url, moved_from=moved.moved_from)
        invocation.print_json(entry)
        return failure.DONE
    invocation.terminal.line(f"{printable(name)} is moved to {printable(moved.url)}")
    if moved.moved_from:
        invocation.terminal.note("its old index answers until a worker has indexed the new address", "dim")
    return failure.DONE


def _entry(source: Source) -> SourceEntry:
    return SourceEntry(
        id=source.id,
        url=source.url,
        kind=source.kind,
        state="failed" if source.failures else "followed" if source.done >= source.asked else "waiting",
        repositories=len(source.found),
        include=source.include,
        exclude=source.exclude,
        archived=source.archived,
        forks=source.forks,
        groups=source.groups,
        refs=source.refs,
        permissions=source.permissions,
        failures=source.failures,
        trouble=source.trouble,
        checked_at=iso_time(source.checked_at) if source.checked_at else "",
    )


def _row(entry: SourceEntry) -> list[Cell]:
    return [
        Cell(printable(entry.url), ("bold",)),
        Cell(entry.kind),
        Cell(entry.state, (_STYLES[entry.state],)),
        Cell(f"{entry.repositories:,}", is_right=True),
        Cell(", ".join((*entry.groups, *((_READERS,) if entry.permissions else ())))),
        Cell(entry.checked_at or "never", ("dim",)),
    ]
