"""Damage to any file of an index, as disks, people and programs cause it: every answer is right or the damage is reported.

`make soak` runs twenty times as many cases. A failing case prints its seed, which reproduces it.
"""

import os
import random
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
import trio
from msgspec import Struct

from codecompass.actors.asking import QueryContext, run_query
from codecompass.errors import DeadlineExceeded, IndexDamaged, IndexIncompatible, IndexNotReady, PermissionDenied, StoreNewer
from codecompass.protocol.encode import encode
from codecompass.protocol.metadata import AnswerState
from codecompass.protocol.requests import (
    GetCodeContext,
    GetFileOutline,
    GetSymbolHierarchy,
    IndexStatus,
    LocateSymbol,
    SearchCode,
)
from codecompass.query.options import QueryOptions
from codecompass.query.status import JobsState, index_status, jobs_state
from codecompass.store.index import WorkspaceIndex
from codecompass.store.job_log import JobLog
from codecompass.store.layout import HomeLayout
from codecompass.store.mapped_files import guard_mapped_files
from codecompass.store.registry import open_registry
from tests.support.workspace import TestWorkspace

N_CASES = 100
PAGE = 4096

QUESTIONS = (
    SearchCode(query="needle order price"),
    SearchCode(query="return needle_7(x)", mode="literal"),
    SearchCode(query=r"def f1[0-9]_\d+\(", mode="regex", limit=50),
    LocateSymbol(name="f3_17"),
    LocateSymbol(name="Order4"),
    GetFileOutline(path="m3.py"),
    GetCodeContext(query="validates an order"),
    GetSymbolHierarchy(symbol_name="Order9"),
)

LOUD = (IndexDamaged, IndexIncompatible, IndexNotReady)


def module(number: int, word: str) -> str:
    functions = "".join(f"def f{number}_{i}(x):\n    return needle_{number}(x)\n\n\n" for i in range(40))
    return f'"""{word} of orders."""\n\nimport m{(number + 1) % 20}\n\n\n{functions}' + (
        f"class Order{number}:\n    def validates(self):\n        return price_{number}\n"
    )


class Pristine(Struct, frozen=True):
    """The contents of an index's files, and its answers. `older` holds the same paths with contents of the generation before."""

    workspace: TestWorkspace
    contents: Mapping[Path, bytes]
    stats: Mapping[Path, os.stat_result]
    older: Mapping[Path, bytes]
    answers: tuple[bytes, ...]

    def restore(self) -> None:
        """Restores all files with their times; those that still exist are rewritten in place."""
        for path in [*self.workspace.layout.root.rglob("*")]:
            if path.is_file() and path not in self.contents:
                path.unlink()
        for path, content in self.contents.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("r+b" if path.exists() else "wb") as file:
                file.write(content)
                file.truncate(len(content))
            os.utime(path, ns=(self.stats[path].st_atime_ns, self.stats[path].st_mtime_ns))


def answers_of(index: WorkspaceIndex) -> tuple[bytes, ...]:
    state = AnswerState(workspace="/w", project_id="p", ref="live")
    found = []
    for request in QUESTIONS:
        with index.snapshot() as snapshot:
            found.append(encode(run_query(request, QueryContext(snapshot, state, QueryOptions(), lambda: False))))
    with index.snapshot() as snapshot:
        versions = {"current_schema_version": 1, "required_schema_version": 1}
        found.append(encode(index_status(snapshot, IndexStatus(), state, JobsState(), **versions)))
    return tuple(found)


def files_of(workspace: TestWorkspace) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in sorted(workspace.layout.root.rglob("*")) if path.is_file()}


@pytest.fixture(scope="module", params=["settled", "with a log"])
def pristine(request, tmp_path_factory):
    """An index of two generations. `with a log`: part of the last update is still in SQLite's log."""
    base = tmp_path_factory.mktemp("damage")
    workspace = TestWorkspace(base / "tree", base / "home")
    workspace.write({f"m{number}.py": module(number, "Prices") for number in range(20)})

    async def build() -> None:
        await workspace.sync()
        older = files_of(workspace)
        if request.param == "settled":
            workspace.write({"m3.py": module(3, "Sums"), "m4.py": module(4, "Sums")})
            await workspace.sync()
        else:
            with workspace.index.snapshot():
                workspace.write({"m3.py": module(3, "Sums"), "m4.py": module(4, "Sums")})
                await workspace.sync()
        found.update(older)

    found: dict[Path, bytes] = {}
    trio.run(build)
    index = workspace.index
    answers = answers_of(index)
    index.close()
    contents = files_of(workspace)
    assert any(len(content) for path, content in contents.items() if path.name.endswith("-wal")) == (request.param != "settled")
    # Text files of the generation before have other names, so files of the same kind stand in for them.
    older = {path: content for path, content in found.items() if path in contents and contents[path] != content}
    by_kind = {path.suffix: content for path, content in found.items() if path.suffix}
    older |= {path: by_kind[path.suffix] for path in contents if path not in older and path.suffix in by_kind}
    return Pristine(workspace, contents, {path: path.stat() for path in contents}, older, answers)


def flip(path: Path, chance: random.Random) -> None:
    change(path, chance, lambda content, at: content[at] ^ 1 << chance.randrange(8))


def overwrite_a_byte(path: Path, chance: random.Random) -> None:
    change(path, chance, lambda content, at: content[at] + chance.randrange(1, 256) & 0xFF)


def change(path: Path, chance: random.Random, new: Callable[[bytes, int], int]) -> None:
    content = path.read_bytes()
    if content:
        at = chance.randrange(len(content))
        with path.open("r+b") as file:
            file.seek(at)
            file.write(bytes([new(content, at)]))


def zero_a_page(path: Path, chance: random.Random) -> None:
    size = path.stat().st_size
    at = chance.randrange(size // PAGE + 1) * PAGE
    with path.open("r+b") as file:
        file.seek(at)
        file.write(bytes(min(PAGE, size - at)))


def cut(path: Path, chance: random.Random) -> None:
    os.truncate(path, chance.randrange(path.stat().st_size + 1))


def delete(path: Path, chance: random.Random) -> None:
    path.unlink()


KINDS = {"flip": flip, "byte": overwrite_a_byte, "zeroed page": zero_a_page, "cut": cut, "deleted": delete}


def do_damage(pristine: Pristine, chance: random.Random) -> str:
    paths = sorted(path for path, content in pristine.contents.items() if content or path.name == "CURRENT")
    path = chance.choice(paths)
    kind = chance.choice([*KINDS, "swapped", "older", "older, replaced"])
    match kind:
        case "swapped":
            other = chance.choice([each for each in paths if each != path])
            spare = path.with_name("spare")
            path.rename(spare)
            other.rename(path)
            spare.rename(other)
            return f"{path.name} swapped with {other.name}"
        case "older":
            path.write_bytes(pristine.older.get(path, b""))
        case "older, replaced":
            path.unlink()
            path.write_bytes(pristine.older.get(path, b""))
        case _:
            KINDS[kind](path, chance)
    return f"{path.name}: {kind}"


@pytest.mark.invariant("No damage to any file of an index causes a wrong answer without an error or a warning")
@pytest.mark.slow
@pytest.mark.parametrize("is_open", [False, True], ids=["before it is opened", "while it is open"])
def test_no_damage_gives_a_wrong_answer_without_a_word(is_open, pristine, soak_scale):
    outcomes = {"the same": 0, "told": 0}
    for seed in range(N_CASES // 4 * soak_scale):
        pristine.restore()
        chance = random.Random(seed)
        with guard_mapped_files(pristine.workspace.home) as mapped_files:
            index = WorkspaceIndex(pristine.workspace.layout, pristine.workspace.project_id, mapped_files)
            if is_open:
                assert answers_of(index) == pristine.answers, f"not restored after case {seed - 1}"
            done = do_damage(pristine, chance)
            try:
                assert answers_of(index) == pristine.answers, f"case {seed}: {done}"
                outcomes["the same"] += 1
            except LOUD:
                outcomes["told"] += 1
            finally:
                index.close()
    pristine.restore()
    print(outcomes)
    assert outcomes["told"] > outcomes["the same"]


@pytest.mark.slow
def test_damage_to_the_registry_is_told_or_costs_what_it_holds_and_never_a_project_that_is_none(tmp_path, soak_scale):
    """Names and jobs have no checksums, so a damaged name is read as a wrong name."""
    home = HomeLayout(tmp_path / "home")
    roots = {Path(f"/srv/{name}") for name in ("shop", "blog", "tools", "api")}
    with open_registry(home) as registry:
        for root in roots:
            project = registry.register(root)
            JobLog(registry).create(project.project_id, "full", cause="test")
    pristine = home.registry.read_bytes()
    told = 0
    for seed in range(N_CASES * soak_scale):
        for path in home.root.glob("registry.db-*"):
            path.unlink()
        home.registry.write_bytes(pristine)
        chance = random.Random(seed)
        KINDS[chance.choice([kind for kind in KINDS if kind != "deleted"])](home.registry, chance)
        try:
            with open_registry(home) as registry:
                log = JobLog(registry)
                log.recover(home)
                found = registry.projects()
                for project in found:
                    jobs_state(log, project.project_id)
                assert {project.root for project in found} <= roots, f"case {seed}"
        except (IndexDamaged, StoreNewer, DeadlineExceeded, PermissionDenied):
            told += 1
    assert told
