"""Adds many repositories at once: reads the lines of a file, compares them with what is there, and writes what is new in bulk.

    https://git.example.org/shop/api
    https://git.example.org/shop/web  ref=main ref=release/*  group=web group="Domain Users"  name=web     # a comment

Adding the same file again changes nothing, so that it can be repeated after a failure, or kept under version control.
"""

import re
import shlex
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, Literal

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from codecompass.cluster.engine.client import Engine
from codecompass.cluster.repositories.catalog import Catalog, entry_of
from codecompass.cluster.repositories.documents import MAX_REPOSITORIES, Repositories
from codecompass.cluster.repositories.repository import Repository, checked_groups, checked_name, checked_refs, unique_name
from codecompass.errors import CodeCompassError, InvalidInput
from codecompass.scan.git_remotes import parse_url
from codecompass.units import MIB

MAX_FILE_BYTES: Final = 4 * MIB
"""Some 40,000 lines."""

IN_BULK: Final = 500
"""Documents written in one request."""

IN_ONE_LOOK: Final = 1_000
"""Documents read in one request."""

_KEYS: Final = ("ref", "group", "name")
_COMMENT: Final = re.compile(r"(?:^|\s)#.*")

Done = Literal["added", "changed", "unchanged"]


class WantedRepository(Struct, frozen=True, kw_only=True):
    """A line of a file, counted from 1. Refs and groups that are None stay as they are."""

    line: int
    repo_id: str
    url: str
    usual_name: str
    """What it is called if no name is given."""
    name: str | None = None
    refs: tuple[str, ...] | None = None
    groups: tuple[str, ...] | None = None


class LineError(Struct, frozen=True):
    """What is wrong with a line."""

    line: int
    message: str


class BulkOutcome(Struct, frozen=True):
    """What became of each repository, by its name, in the order of the file; and the lines that were left out."""

    done: tuple[tuple[str, Done], ...]
    errors: tuple[LineError, ...]


def read_lines(
    lines: Iterable[str], protocols: Sequence[str], *, refs: Sequence[str] | None, groups: Sequence[str] | None
) -> tuple[list[WantedRepository], list[LineError]]:
    """Returns the repositories that the lines name, and the lines that cannot be read. `refs` and `groups` are those of lines
    that give none. Pure. Raises InvalidInput if these are invalid."""
    usual_refs, usual_groups = checked_refs(refs), checked_groups(groups)
    wanted: dict[str, WantedRepository] = {}
    names: dict[str, int] = {}
    errors = []
    for number, line in enumerate(lines, 1):
        try:
            found = _wanted(number, line.strip(), protocols)
        except InvalidInput as error:
            errors.append(LineError(number, error.message))
            continue
        if found is None:
            continue
        found = replace(
            found,
            refs=usual_refs if found.refs is None else found.refs,
            groups=usual_groups if found.groups is None else found.groups,
        )
        earlier = wanted.get(found.repo_id)
        if earlier is not None:
            if replace(earlier, line=number, url=found.url) != found:
                errors.append(LineError(number, f"the same repository as in line {earlier.line}, with other settings. Keep one."))
        elif found.name is not None and found.name in names:
            errors.append(
                LineError(number, f"called {found.name!r} as the one in line {names[found.name]}. Choose another name.")
            )
        else:
            wanted[found.repo_id] = found
            if found.name is not None:
                names[found.name] = number
    return list(wanted.values()), errors


def _wanted(number: int, line: str, protocols: Sequence[str]) -> WantedRepository | None:
    try:
        words = shlex.split(_COMMENT.sub("", line))
    except ValueError as error:
        raise InvalidInput("a quotation mark has no second one. Write one after the value.") from error
    if not words:
        return None
    given: dict[str, list[str]] = {key: [] for key in _KEYS}
    for word in words[1:]:
        key, sign, value = word.partition("=")
        if key not in given or not sign or not value:
            raise InvalidInput(
                f"{word[:100]!r} is none of ref=NAME, group=GROUP and name=NAME. Write one of them, or # before it."
            )
        given[key].append(value)
    if len(given["name"]) > 1:
        raise InvalidInput("a repository has one name. Give it once.")
    parsed = parse_url(words[0], protocols)
    return WantedRepository(
        line=number,
        repo_id=parsed.repo_id,
        url=parsed.url,
        usual_name=parsed.name,
        name=checked_name(given["name"][0]) if given["name"] else None,
        refs=checked_refs(given["ref"] or None),
        groups=checked_groups(given["group"] or None),
    )


def add_several(engine: Engine, repositories: Repositories, wanted: Sequence[WantedRepository]) -> BulkOutcome:
    """Adds the repositories that are missing and changes those that are asked for otherwise; the others stay untouched.

    Each document is written as by `Repositories.add`, so that a bulk addition that fails midway can be repeated. Raises
    InvalidInput if there would be too many, EngineUnavailable and EngineRefused.
    """
    known = {each.repo_id: each for each in repositories.listed(with_removed=True, is_current=True)}
    n_new = sum(each.repo_id not in known for each in wanted)
    if len(known) + n_new > MAX_REPOSITORIES:
        raise InvalidInput(
            f"{n_new:,} more repositories would be {len(known) + n_new:,}; one cluster can have {MAX_REPOSITORIES:,}. Use "
            "another prefix (--cluster-prefix) for some.",
            field="file",
        )
    names = {each.name: each.repo_id for each in known.values()}
    entered = _entered(engine, [each.repo_id for each in wanted if each.repo_id not in known])
    done: list[tuple[str, Done]] = []
    errors: list[LineError] = []
    fresh: list[Repository] = []
    for each in wanted:
        if each.name is not None and names.get(each.name, each.repo_id) != each.repo_id:
            errors.append(LineError(each.line, f"another repository is called {each.name!r} already. Choose another name."))
            continue
        there = known.get(each.repo_id)
        if there is None and each.repo_id not in entered:
            made = _made(each, names)
            names[made.name] = made.repo_id
            fresh.append(made)
            done.append((made.name, "added"))
        elif there is not None and _is_as_wanted(there, each):
            done.append((there.name, "unchanged"))
        else:
            try:
                changed = repositories.add(each.url, refs=each.refs, groups=each.groups, name=each.name)
            except CodeCompassError as error:
                if not isinstance(error, InvalidInput):
                    raise
                errors.append(LineError(each.line, error.message))
                continue
            done.append((changed.repository.name, "added" if changed.is_new else "changed"))
    # The catalog first, as everywhere: what is lost between the two writes is made up for by the workers.
    _create(engine, engine.names.catalog, {each.repo_id: msgspec.json.encode(entry_of(each)) for each in fresh})
    _create(engine, engine.names.repositories, {each.repo_id: msgspec.json.encode(each) for each in fresh})
    if fresh:
        renamed = _renamed(repositories, fresh)
        done = [(renamed.get(name, name), what) for name, what in done]
    return BulkOutcome(tuple(done), tuple(errors))


def _entered(engine: Engine, repo_ids: list[str]) -> set[str]:
    """Returns those that the catalog has, although there is no document: removed ones, and what another version has added. Their
    entries have to be changed, or they would be removed again."""
    catalog = Catalog(engine)
    return {found for at in range(0, len(repo_ids), IN_ONE_LOOK) for found in catalog.of(repo_ids[at : at + IN_ONE_LOOK])}


def _renamed(repositories: Repositories, fresh: Sequence[Repository]) -> Mapping[str, str]:
    """Renames those of which somebody else has added another one of the same name meanwhile. Returns the new names by the old."""
    n_called = Counter(each.name for each in repositories.listed(with_removed=True, is_current=True))
    return {each.name: repositories.with_unique_name(each).name for each in fresh if n_called[each.name] > 1}


def _made(wanted: WantedRepository, names: Mapping[str, str]) -> Repository:
    name = wanted.name or wanted.usual_name
    if names.get(name, wanted.repo_id) != wanted.repo_id:
        name = unique_name(name, wanted.repo_id)
    now = time.time()
    return Repository(
        repo_id=wanted.repo_id,
        name=name,
        url=wanted.url,
        wanted_refs=wanted.refs or (),
        groups=wanted.groups or (),
        added_at=now,
        changed_at=now,
    )


def _is_as_wanted(there: Repository, wanted: WantedRepository) -> bool:
    return (
        not there.is_removed
        and there.url == wanted.url
        and wanted.name in (None, there.name)
        and wanted.refs in (None, there.wanted_refs)
        and wanted.groups in (None, there.groups)
    )


def _create(engine: Engine, index: str, documents: Mapping[str, bytes]) -> None:
    """Writes documents that do not exist; one that does meanwhile is left as it is."""
    actions = [
        msgspec.json.encode({"create": {"_id": repo_id}}) + b"\n" + source + b"\n" for repo_id, source in documents.items()
    ]
    for at in range(0, len(actions), IN_BULK):
        engine.write(index, actions[at : at + IN_BULK])
