"""What an editor's user waits for: the server over stdio, from its start to the end of its input.

All requests go through the real command. An edit is timed from after the file is closed until an answer has the name that it
defines. Trees are edited only if they are ours, and restored.
"""

import random
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct

from bench import indexing, probe
from bench.client import Connection, serving
from bench.corpus import Tree, copy_of
from bench.edits import Edit, edit_files, editable, undo
from bench.indexing import EDITS
from bench.job import UpdateLost, layout_for
from bench.measure import MemorySampler, ProcessMemory, cpu_seconds_of, memory_of, python, run
from codecompass.identity import canonical_root, project_id
from codecompass.store.index import WorkspaceIndex

SETTLE_SECONDS: Final = 1.0
"""After an answer the server may still be busy: its workers load grammars, its watcher collects events."""

CALM_SECONDS: Final = 0.25
"""Pause between two saves of a quick person."""

POLL_SECONDS: Final = 0.002

PAUSE_SECONDS: Final = 0.02
"""Pause between two rounds of questions to a server that indexes: it is to be observed, not kept busy."""

IDLE_SECONDS: Final = 10.0

VISIBLE_DEADLINE_SECONDS: Final = 30.0

ASKED_TAG, WATCHED_TAG = 1_000, 2_000
"""Offsets of the tags of edits, so that a file edited twice gets different names."""

FIRST: Final = "search_code, the first question"

NOBODY: Final = "QuiteCertainlyNobodyIsCalledThis"


class Plan(Struct, frozen=True, kw_only=True):
    """How often each measurement is taken."""

    starts: int = 9
    edits: int = 50
    update_rounds: int = 5
    queries: int = 100
    ends: int = 5
    idle_seconds: float = IDLE_SECONDS


QUICK: Final = Plan(starts=1, edits=2, update_rounds=1, queries=20, ends=1, idle_seconds=0.1)


class StartRuns(Struct, frozen=True, kw_only=True):
    """Seconds until `initialize` was answered, and for comparison those of bare Python and of an import of our base libraries,
    alternating; seconds until the right answer to a first question; memory of a server after opening and after one answer."""

    files: int
    initialize: tuple[float, ...]
    imports: tuple[float, ...]
    python: tuple[float, ...]
    first_answer: tuple[float, ...]
    first_answer_fresh: int
    idle: ProcessMemory
    asked: ProcessMemory
    idle_cpu_seconds_a_minute: float
    end: tuple[float, ...]


class Visible(Struct, frozen=True, kw_only=True):
    """Seconds from each save until it was visible; how many of the first answers had it, and how many said `fresh`."""

    seconds: tuple[float, ...]
    n_held: int
    n_fresh: int


class SaveRuns(Struct, frozen=True, kw_only=True):
    """Saves in one tree: asked for at once, seen by the watcher alone, and the CPU of the server with all its processes for
    ten at a time."""

    name: str
    files: int
    asked: Visible
    watched: Visible
    update_cpu_seconds: tuple[float, ...]
    update_wall_seconds: tuple[float, ...]


class Asked(Struct, frozen=True, kw_only=True):
    """One kind of request, and the milliseconds of each."""

    kind: str
    milliseconds: tuple[float, ...]


class IndexingRuns(Struct, frozen=True, kw_only=True):
    """A server while it builds the first index of a tree. Memory is the highest sum over its processes."""

    files: int
    seconds: float
    asked: tuple[Asked, ...]
    peak_rss_all: int | None
    end_while_indexing: float


class ServingRuns(Struct, frozen=True, kw_only=True):
    """All measurements of the server."""

    start: StartRuns
    saves: tuple[SaveRuns, ...]
    warm: tuple[Asked, ...]
    indexing: IndexingRuns


class _Hit(Struct, frozen=True):
    name: str = ""
    path: str = ""


class _Metadata(Struct, frozen=True):
    freshness_status: str = ""
    indexing_status: str = ""
    generation: int = 0


class _Answer(Struct, frozen=True):
    results: tuple[_Hit, ...] = ()
    metadata: _Metadata = _Metadata()


def measure(trees: Sequence[Tree], middle: Tree, home: Path, plan: Plan) -> ServingRuns:
    """Measures a server over `trees`, which are indexed in `home`, and over `middle`, which it indexes from nothing."""
    return ServingRuns(
        start=measure_start(trees[-1], home, plan),
        saves=tuple(measure_saves(_ours(tree, home), home, plan) for tree in trees),
        warm=measure_warm(trees[-1], home, plan),
        indexing=measure_indexing(middle, home / "middle"),
    )


def measure_start(tree: Tree, home: Path, plan: Plan) -> StartRuns:
    """Starts servers over an indexed tree, one after the other."""
    with WorkspaceIndex(layout_for(tree.root, home), "").snapshot() as snapshot:
        name = probe.questions(snapshot, random.Random(1), 1).names[0]
        files = snapshot.meta.file_count
    initialize, imports, bare, first, end = [], [], [], [], []
    fresh = 0
    for _ in range(plan.starts):
        # Alternating, so that other load on the machine affects all of them.
        imports.append(run(python("-c", "import trio, msgspec")).usage.wall_seconds)
        bare.append(run(python("-c", "pass")).usage.wall_seconds)
        with serving(tree.root, home) as server:
            initialize.append(server.initialize())
            answer = _locate(server, name)
            if not answer.results:
                raise UpdateLost(f"{name} is in the index and not in the first answer")
            first.append(time.monotonic() - server.started)
            fresh += answer.metadata.freshness_status == "fresh"
            end.append(server.end())
    with serving(tree.root, home) as server:
        server.initialize()
        time.sleep(SETTLE_SECONDS * 3)
        idle = memory_of(server.pid)
        _locate(server, name)
        time.sleep(SETTLE_SECONDS * 3)
        asked = memory_of(server.pid)
        before = cpu_seconds_of(server.pid)
        time.sleep(plan.idle_seconds)
        spent = cpu_seconds_of(server.pid) - before
    return StartRuns(
        files=files,
        initialize=tuple(initialize),
        imports=tuple(imports),
        python=tuple(bare),
        first_answer=tuple(first),
        first_answer_fresh=fresh,
        idle=idle,
        asked=asked,
        idle_cpu_seconds_a_minute=spent * 60 / plan.idle_seconds,
        end=tuple(end[: plan.ends]),
    )


def measure_saves(tree: Tree, home: Path, plan: Plan) -> SaveRuns:
    """Edits files one by one, and ten at a time, while a server serves the tree."""
    with WorkspaceIndex(layout_for(tree.root, home), "").snapshot() as snapshot:
        paths = editable(path for _, path in snapshot.facts.paths())
        files = snapshot.meta.file_count
    wanted = 2 * plan.edits + (plan.update_rounds + 1) * EDITS
    # A small tree has fewer files: they are edited repeatedly, each time with another name.
    paths = [paths[number % len(paths)] for number in range(wanted)]
    ones, others, tens = paths[: plan.edits], paths[plan.edits : 2 * plan.edits], paths[2 * plan.edits :]
    done: list[Edit] = []
    try:
        with serving(tree.root, home) as server:
            server.initialize()
            _locate(server, NOBODY)
            time.sleep(SETTLE_SECONDS)
            _save(tree, tens[:EDITS], 0, done)  # starts the workers and loads their grammars
            await_visible(server, done[-1])
            time.sleep(SETTLE_SECONDS)
            cpu, wall = [], []
            for number in range(plan.update_rounds):
                before, began = cpu_seconds_of(server.pid), time.monotonic()
                edits = _save(tree, tens[(number + 1) * EDITS : (number + 2) * EDITS], number + 1, done)
                for edit in edits:
                    await_visible(server, edit)
                wall.append(time.monotonic() - began)
                time.sleep(SETTLE_SECONDS)
                cpu.append(cpu_seconds_of(server.pid) - before)
            asked = _save_and_ask(tree, server, ones, done)
            watched = _save_and_watch(tree, server, home, others, done)
    finally:
        undo(reversed(done))
    indexing.index(tree.root, home)
    return SaveRuns(
        name=tree.name,
        files=files,
        asked=asked,
        watched=watched,
        update_cpu_seconds=tuple(cpu),
        update_wall_seconds=tuple(wall),
    )


def measure_warm(tree: Tree, home: Path, plan: Plan) -> tuple[Asked, ...]:
    """Queries a server that has everything open."""
    index = WorkspaceIndex(layout_for(tree.root, home), project_id(canonical_root(tree.root)))
    with index.snapshot() as snapshot:
        questions = probe.questions(snapshot, random.Random(1), plan.queries)
        files = [row.path for row in snapshot.facts.files() if row.symbol_count]
    index.close()
    random.Random(1).shuffle(files)
    asks = {
        "locate_symbol": [("locate_symbol", {"name": name}) for name in questions.names],
        "search_code, symbol names": [("search_code", {"query": name}) for name in questions.names],
        "search_code, phrases": [("search_code", {"query": phrase}) for phrase in questions.phrases],
        "get_file_outline": [("get_file_outline", {"path": path}) for path in files[: plan.queries]],
    }
    measured = []
    with serving(tree.root, home) as server:
        server.initialize()
        time.sleep(SETTLE_SECONDS)
        _locate(server, NOBODY)
        time.sleep(SETTLE_SECONDS)
        for kind, requests in asks.items():
            for tool, arguments in requests[: probe.WARM_UP]:
                server.call(tool, arguments)
            times = [server.call(tool, arguments).seconds * 1000 for tool, arguments in requests]
            measured.append(Asked(kind=kind, milliseconds=tuple(times)))
        pings = [server.request("ping").seconds * 1000 for _ in range(plan.queries)]
    return (*measured, Asked(kind="ping", milliseconds=tuple(pings)))


def measure_indexing(tree: Tree, home: Path) -> IndexingRuns:
    """Builds the first index of a tree through a server, querying it meanwhile; then ends a server during a rebuild."""
    times: dict[str, list[float]] = {"ping": [], "health_check": [], "search_code": [], FIRST: []}
    with serving(tree.root, home) as server:
        server.initialize()
        with MemorySampler(server.pid) as sampler:
            began = time.monotonic()
            is_indexing = True
            while is_indexing:
                search = server.send_call("search_code", {"query": "load", "freshness_policy": "best_effort"})
                while not server.is_answered(search):
                    times["ping"].append(server.request("ping").seconds * 1000)
                    times["health_check"].append(server.call("health_check").seconds * 1000)
                    time.sleep(PAUSE_SECONDS)
                timed = server.tool_answer(search)
                answer = msgspec.json.decode(timed.result, type=_Answer)
                times["search_code" if times[FIRST] else FIRST].append(timed.seconds * 1000)
                is_indexing = answer.metadata.indexing_status == "indexing"
            seconds = time.monotonic() - began
        n_files = _files(server)
        server.call("index_repo", {"force": True})
        time.sleep(SETTLE_SECONDS)
        end = server.end()
    return IndexingRuns(
        files=n_files,
        seconds=seconds,
        asked=tuple(Asked(kind=kind, milliseconds=tuple(some)) for kind, some in times.items()),
        peak_rss_all=sampler.together or None,
        end_while_indexing=end,
    )


def await_visible(server: Connection, edit: Edit) -> tuple[float, int, bool]:
    """Repeats a query until the edit's name is found. Returns the seconds, the number of queries, and whether the first answer
    was `fresh`.

    Raises UpdateLost if it is never found, or if an answer claims to be fresh and lacks it.
    """
    began = time.monotonic()
    n_asked, was_fresh = 0, False
    while time.monotonic() - began < VISIBLE_DEADLINE_SECONDS:
        answer = _locate(server, edit.name)
        n_asked += 1
        is_fresh = answer.metadata.freshness_status == "fresh"
        was_fresh = was_fresh or (n_asked == 1 and is_fresh)
        if _holds(answer, edit):
            return time.monotonic() - began, n_asked, was_fresh
        if is_fresh:
            raise UpdateLost(f"{edit.name} was saved in {edit.path}, is not in the answer, and the answer says it is fresh")
    raise UpdateLost(f"{edit.name} was saved in {edit.path} and is not in any answer")


def _ours(tree: Tree, home: Path) -> Tree:
    """Returns a tree that may be edited, with an index."""
    if tree.is_ours:
        return tree
    copy = copy_of(tree)
    indexing.index(copy.root, home, "--force")
    return copy


def _save(tree: Tree, paths: Sequence[str], tag: int, done: list[Edit]) -> tuple[Edit, ...]:
    edits = edit_files(tree.root, paths, tag=tag)
    done.extend(edits)
    return edits


def _save_and_ask(tree: Tree, server: Connection, paths: Sequence[str], done: list[Edit]) -> Visible:
    seconds, at_once, fresh = [], 0, 0
    for number, path in enumerate(paths):
        time.sleep(CALM_SECONDS)
        edit = _save(tree, [path], ASKED_TAG + number, done)[0]
        elapsed, n_asked, was_fresh = await_visible(server, edit)
        seconds.append(elapsed)
        at_once += n_asked == 1
        fresh += was_fresh
    return Visible(seconds=tuple(seconds), n_held=at_once, n_fresh=fresh)


def _save_and_watch(tree: Tree, server: Connection, home: Path, paths: Sequence[str], done: list[Edit]) -> Visible:
    """A query would make the server compare the tree, so the index is read here, and the server is queried once it has the
    edit."""
    index = WorkspaceIndex(layout_for(tree.root, home), "")
    seconds, at_once, fresh = [], 0, 0
    for number, path in enumerate(paths):
        time.sleep(CALM_SECONDS)
        edit = _save(tree, [path], WATCHED_TAG + number, done)[0]
        began = time.monotonic()
        while not _is_indexed(index, edit):
            if time.monotonic() - began > VISIBLE_DEADLINE_SECONDS:
                raise UpdateLost(f"{edit.name} was saved in {edit.path}, and the watcher has not seen it")
            time.sleep(POLL_SECONDS)
        seconds.append(time.monotonic() - began)
        answer = _locate(server, edit.name, "best_effort")
        at_once += _holds(answer, edit)
        fresh += answer.metadata.freshness_status == "fresh"
    index.close()
    return Visible(seconds=tuple(seconds), n_held=at_once, n_fresh=fresh)


def _is_indexed(index: WorkspaceIndex, edit: Edit) -> bool:
    with index.snapshot() as snapshot:
        return any(row.path == edit.path for row in snapshot.facts.symbols_named(edit.name, 1))


def _holds(answer: _Answer, edit: Edit) -> bool:
    return any(hit.name == edit.name and hit.path == edit.path for hit in answer.results)


def _locate(server: Connection, name: str, policy: str = "balanced") -> _Answer:
    return _answer(server, "locate_symbol", {"name": name, "freshness_policy": policy})


def _answer(server: Connection, tool: str, arguments: dict[str, object]) -> _Answer:
    return msgspec.json.decode(server.call(tool, arguments).result, type=_Answer)


class _Status(Struct, frozen=True):
    file_count: int = 0


def _files(server: Connection) -> int:
    return msgspec.json.decode(server.call("index_status").result, type=_Status).file_count
