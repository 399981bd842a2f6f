"""A tool returns the same bytes over every transport (SC-304): the golden calls, and random ones over a real tree."""

import os
import re
import shutil
from collections import Counter
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
import trio

import codecompass
from codecompass.identity import canonical_root
from tests.identity.random_calls import REFUSED, random_calls
from tests.identity.transports import TRANSPORTS, masked, server, teller
from tests.support.commands import run_in_process
from tests.support.live import environment
from tests.support.sample import SAMPLE
from tests.support.workspace import TestWorkspace
from tests.transport.tools.test_transcripts import TRANSCRIPTS

SOCKETS = shutil.ignore_patterns("servers")
"""What a copy of a data directory leaves out: nobody listens there."""

SEED = 304
N_CALLS = (160, 50)
"""Random calls in CI, and for each unit of `--soak-scale`."""


AT_ONCE = 4
"""Transports with servers of their own: a dozen that start together have less than a core each, and too little time."""

FORMS = {"json": TRANSPORTS, "text": [each for each in TRANSPORTS if not each.endswith("modern")]}
"""The transports for the golden calls in each form; it is enough to compare both eras in one form."""


WAITS = "timeout_ms = 60_000\nfreshness_wait_ms = 60_000\nfirst_answer_wait_ms = 600_000\nfiles_answer_after_ms = 600_000\n"
"""Limits of time that no answer reaches, even where a dozen servers share a busy machine: not all would reach the same one."""


def answer_as(workspace, form):
    """Makes every server over a workspace's store answer in this form, and wait for whole answers."""
    configuration = workspace.home / "config" / "codecompass" / "config.toml"
    configuration.parent.mkdir(parents=True)
    configuration.write_text(f'[query]\n{WAITS}\n[server]\nanswers = "{form}"\n')


def make_default(workspace):
    """Indexes the default project, called `sample`."""
    for arguments in (("init", workspace.root, "--project-id", "sample"), ("index", workspace.root)):
        done = run_in_process(arguments, environment(workspace.home), workspace.root)
        assert done.code == 0, done.err


@pytest.mark.invariant("A tool answers with the same bytes on every transport")
@pytest.mark.parametrize("form", FORMS)
async def test_the_golden_calls_are_answered_alike_on_every_transport(repository, tmp_path, form):
    """Some calls change the index, so each transport has its own home, a copy of the same one."""
    answer_as(repository, form)
    repository.write(SAMPLE)
    repository.commit()
    make_default(repository)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    places = {"<root>": str(repository.root), "<elsewhere>": str(elsewhere.resolve())}
    calls = [
        (tool, {key: places.get(value, value) if isinstance(value, str) else value for key, value in arguments.items()})
        for tool, each in TRANSCRIPTS.items()
        for arguments in each
        # What makes a directory known depends on who starts the server.
        if "<elsewhere>" not in arguments.values()
    ]
    heard = {}

    turns = trio.CapacityLimiter(AT_ONCE)

    async def listen(transport, number):
        home = tmp_path / f"home-{number}"
        shutil.copytree(repository.home, home, ignore=SOCKETS)
        async with turns, teller(transport, home) as tell:
            heard[transport] = [masked(await tell(tool, arguments)) for tool, arguments in calls]

    async with trio.open_nursery() as nursery:
        for number, transport in enumerate(FORMS[form]):
            nursery.start_soon(listen, transport, number)

    for number, call in enumerate(calls):
        compare(call, {transport: texts[number] for transport, texts in heard.items()})
    outcomes = {text.partition(" ")[0] for text in heard["stdio"]}
    assert outcomes == {"done", "failed"}
    assert {tool for (tool, _), text in zip(calls, heard["stdio"], strict=True) if text.startswith("done")} == set(TRANSCRIPTS)


REMEDY = re.compile(r"is not registered\. [^\"\\]*(?:\\.[^\"\\]*)*")
REMEDY_AS_TEXT = re.compile(r"is not registered\. .*")
"""What makes a directory known depends on who starts the server."""


@pytest.mark.invariant(of="test_the_golden_calls_are_answered_alike_on_every_transport")
@pytest.mark.slow
@pytest.mark.parametrize("form", FORMS)
async def test_random_calls_over_this_package_are_answered_alike_on_every_transport(repository, tmp_path, form, repetitions):
    answer_as(repository, form)
    shutil.copytree(
        Path(codecompass.__file__).parent, repository.root / "codecompass", ignore=shutil.ignore_patterns("__pycache__")
    )
    shutil.copytree(Path(__file__).parents[2] / "docs", repository.root / "docs")
    repository.commit()

    await check_tree(repository, tmp_path, repetitions(*N_CALLS) // (1 if form == "json" else 2))


@pytest.mark.slow
@pytest.mark.timeout(3600)
async def test_random_calls_over_a_large_tree_are_answered_alike_on_every_transport(tmp_path, repetitions):
    """With CODECOMPASS_TEST_TREE=/path/to/django, which is only read."""
    path = os.environ.get("CODECOMPASS_TEST_TREE")
    if path is None:
        pytest.skip("CODECOMPASS_TEST_TREE names no tree")
    workspace = TestWorkspace(tmp_path / "empty", tmp_path / "home")
    workspace.root = canonical_root(path)

    await check_tree(workspace, tmp_path, repetitions(*N_CALLS))


async def check_tree(workspace, tmp_path, n_calls):
    """Sends each call over all transports. Nothing changes, so one server answers them, besides those started for stdio."""
    make_default(workspace)
    names, paths = subjects(workspace)
    calls = [*random_calls(SEED, n_calls, names=names, paths=paths), *REFUSED]
    outcomes = Counter()

    async with AsyncExitStack() as stack:
        url = await stack.enter_async_context(server(workspace.home))
        tellers = {}
        for number, transport in enumerate(TRANSPORTS):
            home = workspace.home
            if transport.startswith("stdio"):
                home = tmp_path / f"home-{number}"
                shutil.copytree(workspace.home, home, ignore=SOCKETS)
            tellers[transport] = await stack.enter_async_context(teller(transport, home, url))
        for tool, arguments in calls:
            heard = {}

            async def listen(transport, tell, tool=tool, arguments=arguments, heard=heard):
                answer = masked(await tell(tool, arguments))
                remedy = REMEDY if answer.partition(" ")[2].startswith("{") else REMEDY_AS_TEXT
                heard[transport] = remedy.sub("is not registered.", answer)

            async with trio.open_nursery() as nursery:
                for transport, tell in tellers.items():
                    nursery.start_soon(listen, transport, tell)
            compare((tool, arguments), heard)
            outcomes[heard["stdio"].partition(" ")[0]] += 1

    assert outcomes["done"] > n_calls // 4, outcomes
    assert outcomes["failed"] > n_calls // 10, outcomes
    assert outcomes["error"] > 0, outcomes


def subjects(workspace):
    """Returns names and paths for calls: a selection of what is in the index."""
    words = ("search", "e", "--json", "--limit", "100")
    results = run_in_process(words, environment(workspace.home), workspace.root).json["results"]
    names = sorted({each["name"] for each in results if each.get("name")})
    files = sorted(path.relative_to(workspace.root).as_posix() for path in workspace.root.rglob("*.py"))
    return [*names, "Path", "run", "main", "__init__", "nobody_at_all"], [*files[:: max(1, len(files) // 50)], "none.py"]


def compare(call, heard):
    """Fails if a transport's answer differs from the first one's."""
    first = "stdio"
    for other in heard:
        assert heard[other] == heard[first], (
            f"{call} over {other}:\n{heard[other][:3000]}\n\nover {first}:\n{heard[first][:3000]}"
        )
