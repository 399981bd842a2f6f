"""Looks after a cluster: finds what is wrong, adds repositories from a file, pauses, resumes, drains and indexes anew."""

import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from codecompass import formatting
from codecompass.cli import failure
from codecompass.cli.check_output import summary, write_check
from codecompass.cli.invocation import Invocation
from codecompass.cli.json_output import Check, DoctorReport
from codecompass.cli.terminal import printable
from codecompass.cluster.diagnosis import Finding, findings, observed, store_finding
from codecompass.cluster.indexing.schedule import ChangeTimes
from codecompass.cluster.repositories.bulk_adding import MAX_FILE_BYTES, add_several, read_lines
from codecompass.cluster.repositories.documents import Repositories
from codecompass.cluster.repositories.leases import LEASE_SECONDS
from codecompass.cluster.repositories.repository import MADE_BY, Repository
from codecompass.cluster.stores.checking import StoreFacts, check_store
from codecompass.cluster.stores.opening import open_store
from codecompass.errors import CodeCompassError, InvalidInput
from codecompass.settings import ClusterSettings
from codecompass.units import SECONDS

if TYPE_CHECKING:
    from codecompass.cluster.engine.client import Engine

LOOK_SECONDS: Final = 1 * SECONDS
"""Interval at which a drain looks whether workers are done."""

MAX_SHOWN_ERRORS: Final = 50


class LineReport(Struct, frozen=True, kw_only=True):
    """A line of a file that was left out."""

    line: int
    message: str


class BulkReport(Struct, frozen=True, kw_only=True):
    """What became of the repositories of a file: their names by what was done, and the lines that were left out."""

    added: tuple[str, ...]
    changed: tuple[str, ...]
    unchanged: int
    errors: tuple[LineReport, ...]


class Selected(Struct, frozen=True, kw_only=True):
    """The names of the repositories that a command has changed."""

    repositories: tuple[str, ...]


class Drained(Struct, frozen=True, kw_only=True):
    """Whether all workers were done in time, and the repositories that they still hold."""

    is_drained: bool
    held: tuple[str, ...]


def diagnose(invocation: Invocation, engine: "Engine", settings: ClusterSettings) -> int:
    """Prints the result of each check; the exit code is 1 if one fails."""
    terminal = invocation.terminal
    try:
        found = list(findings(observed(engine, Repositories(engine, settings.protocols))))
    except CodeCompassError as error:
        remedy = "codecompass cluster doctor again, once that is put right"
        found = [Finding(name="engine", status="fail", message=error.message, remedy=remedy)]
    found.append(store_finding(_store_facts(settings)))
    checks = [Check(each.name, each.status, each.message, each.remedy) for each in found]
    n_failed = sum(check.status == "fail" for check in checks)
    if invocation.options.as_json:
        invocation.print_json(DoctorReport(not n_failed, tuple(checks)))
    else:
        for check in checks:
            write_check(terminal, check)
        terminal.line()
        terminal.line(summary(terminal, n_failed, sum(check.status == "warn" for check in checks)))
    return failure.FAILED if n_failed else failure.DONE


def _store_facts(settings: ClusterSettings) -> StoreFacts | None:
    if not settings.segments:
        return None
    try:
        store = open_store(settings)
    except InvalidInput as error:
        return StoreFacts(address=settings.segments, failed_step="opened", problem=error.message)
    return check_store(store)


def add_from_file(
    invocation: Invocation,
    engine: "Engine",
    repositories: Repositories,
    path: str,
    *,
    refs: tuple[str, ...],
    groups: tuple[str, ...],
) -> int:
    """Adds the repositories of a file, `-` for stdin. The exit code is 1 if a line was left out."""
    lines = _content(path).splitlines()
    wanted, unread = read_lines(lines, tuple(repositories.protocols), refs=refs or None, groups=groups or None)
    outcome = add_several(engine, repositories, wanted)
    errors = sorted((*unread, *outcome.errors), key=lambda each: each.line)
    by_done: dict[str, list[str]] = {"added": [], "changed": [], "unchanged": []}
    for name, done in outcome.done:
        by_done[done].append(name)
    if invocation.options.as_json:
        invocation.print_json(
            BulkReport(
                added=tuple(by_done["added"]),
                changed=tuple(by_done["changed"]),
                unchanged=len(by_done["unchanged"]),
                errors=tuple(LineReport(line=each.line, message=each.message) for each in errors),
            )
        )
        return failure.FAILED if errors else failure.DONE
    terminal = invocation.terminal
    terminal.line(", ".join(f"{len(names):,} {done}" for done, names in by_done.items()))
    for each in errors[:MAX_SHOWN_ERRORS]:
        terminal.warn(f"line {each.line}: {each.message}")
    if len(errors) > MAX_SHOWN_ERRORS:
        terminal.warn(f"and {len(errors) - MAX_SHOWN_ERRORS:,} more lines (--json has all)")
    return failure.FAILED if errors else failure.DONE


def set_paused(invocation: Invocation, repositories: Repositories, names: Sequence[str], *, is_all: bool, is_paused: bool) -> int:
    """Pauses or resumes repositories."""
    chosen = [each for each in _selected(repositories, names, is_all=is_all) if each.is_paused != is_paused]
    for each in chosen:
        repositories.set_paused(each.repo_id, is_paused=is_paused)
    return _tell(invocation, chosen, "paused" if is_paused else "resumed")


def reindex(invocation: Invocation, repositories: Repositories, names: Sequence[str], *, is_all: bool, is_outdated: bool) -> int:
    """Has repositories indexed anew; those of an older version alone with `is_outdated`."""
    chosen = _selected(repositories, names, is_all=is_all or is_outdated)
    if is_outdated:
        chosen = [each for each in chosen if any(head.made_by < MADE_BY for head in each.heads.values())]
    for each in chosen:
        repositories.note_changed(each.repo_id, rebuild=True, is_urgent=True)
    return _tell(invocation, chosen, "to be indexed anew")


def drain(invocation: Invocation, repositories: Repositories, seconds: float) -> int:
    """Pauses all repositories and waits until no worker holds one. The exit code is 1 if that takes longer than `seconds`."""
    for each in repositories.listed(is_current=True):
        if not each.is_paused:
            repositories.set_paused(each.repo_id, is_paused=True)
    ends_at = time.monotonic() + seconds
    leases = ChangeTimes(time.monotonic)
    while True:
        held = [each for each in repositories.listed(with_removed=True, is_current=True) if _is_held(leases, each)]
        if not held or time.monotonic() > ends_at:
            break
        time.sleep(LOOK_SECONDS)
    names = tuple(each.name for each in held)
    if invocation.options.as_json:
        invocation.print_json(Drained(is_drained=not held, held=names))
    elif held:
        invocation.terminal.warn(
            f"{formatting.count(len(held), 'repository', 'repositories')} still worked on: {printable(', '.join(names[:5]))}. "
            "All are paused; run codecompass cluster drain again to wait on"
        )
    else:
        invocation.terminal.line(
            "no worker holds a repository, and none begins one. Go on with: codecompass cluster resume --all"
        )
    return failure.FAILED if held else failure.DONE


def _is_held(leases: ChangeTimes, repository: Repository) -> bool:
    """Whether a worker holds a repository. A lease that is not renewed is one of a worker that is gone."""
    lease = repository.lease
    quiet = leases.unchanged(repository.repo_id, lease and (lease.token, lease.renewals))
    return lease is not None and quiet < LEASE_SECONDS


def _selected(repositories: Repositories, names: Sequence[str], *, is_all: bool) -> list[Repository]:
    if is_all == bool(names):
        raise InvalidInput("name repositories, or pass --all (or --outdated) for all of them; not both.", field="repository")
    if is_all:
        return list(repositories.listed(is_current=True))
    # All are found before any is changed.
    return list({each.repo_id: each for each in map(repositories.find, names)}.values())


def _tell(invocation: Invocation, chosen: Sequence[Repository], what: str) -> int:
    if invocation.options.as_json:
        invocation.print_json(Selected(repositories=tuple(each.name for each in chosen)))
    elif len(chosen) == 1:
        invocation.terminal.line(f"{what}: {printable(chosen[0].name)}")
    else:
        invocation.terminal.line(f"{what}: {formatting.count(len(chosen), 'repository', 'repositories')}")
    return failure.DONE


def _content(path: str) -> str:
    try:
        content = sys.stdin.buffer.read(MAX_FILE_BYTES + 1) if path == "-" else _read(Path(path))
        text = content.decode("utf-8")
    except OSError as error:
        raise InvalidInput(
            f"{path} cannot be read: {error.strerror}. Give a file with one address a line.", field="file"
        ) from error
    except UnicodeDecodeError as error:
        raise InvalidInput(f"{path} is no text in UTF-8. Give a file with one address a line.", field="file") from error
    if len(content) > MAX_FILE_BYTES:
        raise InvalidInput(f"{path} is larger than {formatting.size(MAX_FILE_BYTES)}. Give a part of it at a time.", field="file")
    return text


def _read(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(MAX_FILE_BYTES + 1)
