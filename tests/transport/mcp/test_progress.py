"""Rules R1 to R3: what progress reports contain, who gets them under which token, and how often."""

import itertools
import json

import msgspec
import pytest
import trio
import trio.testing

from codecompass.transport.mcp import progress
from codecompass.transport.mcp.progress import ProgressTrack
from tests.transport.harness import connected, modern, settled
from tests.transport.sample_tools import advance, finish, new_job


def encoded(params):
    return json.loads(msgspec.json.encode(params))


def test_a_frame_carries_the_standard_members_and_those_of_the_seed():
    job = new_job()
    advance(job, stage="parsing", files_parsed=1247, files_total=3891)

    frame = encoded(ProgressTrack("index-job-abc123").report(job.state))

    assert frame == {
        "progressToken": "index-job-abc123",
        "progress": 29.0,
        "total": 100,
        "message": "Parsing files: 1247/3891 (32%)",
        "value": {
            "kind": "report",
            "title": "Indexing project: backend",
            "message": "Parsing files: 1247/3891 (32%)",
            "percentage": 29,
        },
        "_meta": {"dev.codecompass/jobId": "abc123"},
    }


@pytest.mark.parametrize(
    ("name", "root", "called"),
    [
        ("backend", "/srv/checkout", "backend"),
        ("0123456789abcdef", "/srv/checkout", "checkout"),
        ("0123456789abcdef", "/", "0123456789abcdef"),
    ],
)
def test_a_project_is_called_by_the_name_it_was_given_else_by_its_directory(name, root, called):
    job = new_job()
    job.update(msgspec.structs.replace(job.state, project_name=name, root=root))
    first = ProgressTrack("t").report(job.state)
    finish(job)

    assert first.value.title == f"Indexing project: {called}"
    assert ProgressTrack("t").end(job.state).value.title == f"Indexing complete: {called}"


def test_the_stages_read_as_the_seed_says():
    job = new_job()
    texts = []
    for stage in (
        {"stage": "discovery", "files_scanned": 12},
        {"stage": "parsing", "files_parsed": 1, "files_total": 3},
        {"stage": "indexing", "files_indexed": 2, "files_total": 3, "symbols_extracted": 40},
        {"stage": "finalizing"},
    ):
        advance(job, **stage)
        texts.append(encoded(ProgressTrack(1).report(job.state))["value"]["message"])

    assert texts == [
        "Scanning files: 12 discovered",
        "Parsing files: 1/3 (33%)",
        "Indexing: 2/3 files, 40 symbols",
        "Finalizing index...",
    ]


@pytest.mark.parametrize(
    ("status", "error", "title", "text"),
    [
        ("published", "", "Indexing complete: backend", "Indexed 3891 files, 12847 symbols in 14.2s"),
        ("failed", "Permission denied", "Indexing failed: backend", "Error: Permission denied"),
        ("interrupted", "", "Indexing failed: backend", "Error: the job was interrupted"),
        ("cancelled", "", "Indexing cancelled: backend", "Cancelled. The index is as it was before."),
    ],
)
def test_the_end_says_how_it_ended_without_a_percentage(status, error, title, text):
    job = new_job()
    track = ProgressTrack("t")
    track.report(job.state)
    finish(job, status, error)

    frame = encoded(track.end(job.state))

    assert frame["value"] == {"kind": "end", "title": title, "message": text}
    assert (frame["progress"] == 100) == (status == "published")
    assert frame["progress"] > 0


def test_progress_only_ever_rises_and_stays_below_the_end():
    job = new_job()
    track = ProgressTrack("t")
    values = []
    for stage, counts in (("discovery", {}), ("parsing", {}), ("finalizing", {})):
        advance(job, stage=stage, **counts)
        values += [track.report(job.state).progress for _ in range(8000)]
    finish(job)
    values.append(track.end(job.state).progress)

    assert all(a < b for a, b in itertools.pairwise(values))
    assert values[-2] < 100 == values[-1]


async def test_a_quiet_job_is_told_of_every_five_seconds_a_busy_one_four_times_a_second(autojump_clock):
    job = new_job()
    times = []

    async def send(params):
        times.append((trio.current_time(), params.value.kind))

    async with trio.open_nursery() as nursery:
        nursery.start_soon(progress.follow, job, "t", send)
        await trio.sleep(30)
        n_quiet = len(times)
        for n in range(1000):
            advance(job, stage="parsing", files_parsed=n, files_total=1000)
            await trio.sleep(0.01)
        finish(job)
        ended_at = trio.current_time()

    gaps = [b[0] - a[0] for a, b in itertools.pairwise(times)]
    assert max(gaps) <= 5
    assert min(gaps[:-1]) >= 0.25 - 1e-6
    assert 6 <= n_quiet <= 10
    assert 36 <= len(times) - n_quiet <= 44
    assert times[-1] == (ended_at, "end")
    assert [kind for _, kind in times].count("end") == 1


async def test_each_stage_of_a_short_job_is_told_of(autojump_clock):
    """At least three reports before the end, even for a hundred files."""
    job = new_job()
    told = []

    async def send(params):
        told.append((trio.current_time(), params.value.message))

    began = trio.current_time()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(progress.follow, job, "t", send)
        await settled()
        for n in range(100):
            advance(job, stage="parsing", files_parsed=n, files_total=100)
            await settled()
        advance(job, stage="finalizing")
        await settled()
        finish(job)

    assert {at for at, _ in told} == {began}
    assert [text.split()[0] for _, text in told] == ["Scanning", "Parsing", "Finalizing", "Indexed"]


async def test_a_token_of_the_request_is_used_until_its_response(autojump_clock, core, tools):
    async with connected(core) as line:
        await line.initialize()
        id_ = line.ask("tools/call", {"name": "index", "arguments": {"wait_seconds": 50}, "_meta": {"progressToken": "mine"}})
        await trio.sleep(1)
        finish(tools.job)
        await line.answer(id_)
        await trio.sleep(10)
        assert line.pending() == []

    kinds = [m["params"]["value"]["kind"] for m in line.seen if m.get("method") == "notifications/progress"]
    assert kinds == ["report", "end"]
    assert {m["params"]["progressToken"] for m in line.seen if "method" in m} == {"mine"}
    assert "method" not in line.seen[-1]


async def test_waiting_ends_with_the_time_given_and_progress_with_it(autojump_clock, core, tools):
    async with connected(core) as line:
        began = trio.current_time()
        await line.tool("index", {"wait_seconds": 8}, _meta={"progressToken": 1})

        assert trio.current_time() - began == pytest.approx(8)
        finish(tools.job)
        await trio.sleep(10)
        assert line.pending() == []


@pytest.mark.parametrize(
    "capabilities",
    [{"notifications": {}}, {"experimental": {"notifications": {}}}, {"experimental": {"progress": {}}}],
)
@pytest.mark.parametrize("wait_seconds", [0, 30])
async def test_a_client_that_declared_it_follows_the_job_to_its_end(autojump_clock, capabilities, wait_seconds, core, tools):
    async with connected(core) as line:
        await line.initialize(**capabilities)
        id_ = line.ask("tools/call", {"name": "index", "arguments": {"wait_seconds": wait_seconds}})
        await trio.sleep(1)
        finish(tools.job, "failed", "disk full")
        await line.answer(id_)
        await settled()
        line.pending()

    frames = [m["params"] for m in line.seen if m.get("method") == "notifications/progress"]
    assert {frame["progressToken"] for frame in frames} == {"index-job-abc123"}
    assert [frame["value"]["kind"] for frame in frames] == ["report", "end"]
    assert frames[-1]["value"]["message"] == "Error: disk full"


async def test_a_job_that_is_started_twice_is_told_of_once(autojump_clock, core, tools):
    async with connected(core) as line:
        await line.initialize(notifications={})
        await line.tool("index")
        await line.tool("index")
        await settled()
        finish(tools.job)
        await trio.sleep(10)
        line.pending()

    kinds = [m["params"]["value"]["kind"] for m in line.seen if m.get("method") == "notifications/progress"]
    assert kinds == ["report", "end"]


async def test_a_client_that_asked_for_nothing_is_told_nothing(autojump_clock, core, tools):
    async with connected(core) as line:
        await line.initialize(roots={}, experimental={"other": {}})
        await line.tool("index")
        await line.result("tools/call", modern({"name": "index"}, capabilities={"experimental": {"progress": {}}}))
        finish(tools.job)
        await trio.sleep(10)
        assert line.pending() == []

    assert all("method" not in message for message in line.seen)
