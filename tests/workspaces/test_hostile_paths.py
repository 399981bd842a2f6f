"""No path leads outside the allowed roots: as an argument, root, query or variable, or through links in the tree.

Outside is a repository with a canary. No answer may contain the canary or reveal whether a path out there exists, and none of its
bytes may be in the store afterwards. Inside are links to it.
"""

import os
import re
import threading
from pathlib import Path

import pytest
import trio

from tests.workspaces.hostile import HOSTILE, OUTSIDE, expand
from tests.workspaces.machine import word

pytestmark = pytest.mark.interaction

CANARY = "CanaryOutOfTheMine7"
REFUSED = {"workspace_not_allowed", "workspace_not_registered", "invalid_input", "project_not_found"}


class Mine:
    """The directories: `dev` is allowed, `secret` beside it is not."""

    def __init__(self, machine) -> None:
        self.machine = machine
        self.dev = machine.dev
        self.shop = machine.project("shop")
        self.secret = machine.project("secret", below=machine.base)
        (self.secret / ".git").mkdir()
        (self.secret / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
        (self.secret / "canary.py").write_text(f"def {CANARY}():\n    return '{CANARY}'\n")
        self.evil = machine.project("dev-evil", below=machine.base)
        (self.evil / "canary.py").write_text(f"def {CANARY}():\n    pass\n")
        self._links()

    def _links(self) -> None:
        """Creates links that lead out, inside the allowed root and the project."""
        (self.dev / "link").symlink_to(self.secret)
        previous = self.secret
        for number in range(12):
            (self.dev / f"chain-{number}").symlink_to(previous)
            previous = self.dev / f"chain-{number}"
        (self.dev / "loop-a").symlink_to(self.dev / "loop-b")
        (self.dev / "loop-b").symlink_to(self.dev / "loop-a")
        (self.dev / "relative-link").symlink_to("../secret")
        (self.dev / "up").symlink_to("..")
        (self.dev / "dangling").symlink_to(self.machine.base / "no-such")
        (self.shop / "canary.py").symlink_to(self.secret / "canary.py")
        (self.shop / "hard" / "deep").mkdir(parents=True)
        (self.shop / "hard" / "deep" / "out").symlink_to(self.secret)
        (self.shop / "through").symlink_to("../../secret/canary.py")
        os.mkfifo(self.dev / "pipe")

    def paths(self) -> list[tuple[str, str]]:
        """Returns (class, path)."""
        places = {"dev": str(self.dev), "shop": str(self.shop), "secret": str(self.secret)}
        return [(kind, expand(path, **places)) for kind, paths in HOSTILE.items() for path in paths]


@pytest.fixture
def mine(machine) -> Mine:
    return Mine(machine)


def flags(mine) -> tuple:
    return ("--auto-workspace", "--allowed-root", mine.dev)


def check_store(mine) -> None:
    """Asserts that nothing from outside is in the store, under any name, or in the log."""
    for path in mine.machine.base.rglob("*"):
        if path.is_file() and (mine.machine.home.root in path.parents or path.suffix == ".log"):
            assert CANARY.encode() not in path.read_bytes(), path
    assert set(mine.machine.projects()) <= {mine.shop}


def test_there_are_enough_of_them(mine):
    paths = {path for _, path in mine.paths()}

    assert len(paths) == len(mine.paths()) >= 200
    assert len(HOSTILE) >= 15


@pytest.mark.invariant("No path leads out of the allowed roots")
async def test_no_argument_leads_out(mine):
    """As `workspace` of a request and of a job, and as `repo_path`."""
    ways = [
        ("search_code", lambda path: {"query": CANARY, "workspace": path}),
        ("index_repo", lambda path: {"workspace": path}),
        ("index_repository", lambda path: {"repo_path": path}),
    ]
    async with mine.machine.serve(*flags(mine)) as desk:
        await desk.ready(word(mine.shop), workspace=mine.shop)
        for kind, path in mine.paths():
            codes = set()
            for tool, arguments in ways:
                answer = await desk.call(tool, **arguments(path))
                if not answer.code:
                    # A path that resolves to a place inside is accepted. `*` means all projects within the allowed roots.
                    assert answer.metadata["workspace"] in (str(mine.shop), "*"), (kind, path, answer.text)
                    assert answer.json.get("results", []) == [], (kind, path, answer.text)
                assert f"def {CANARY}" not in answer.text, (kind, path)
                assert f"return '{CANARY}" not in answer.text, (kind, path)
                codes.add(answer.code)
            assert codes <= {"", *REFUSED}, (kind, path, codes)
            if kind in OUTSIDE:
                assert codes == {"workspace_not_allowed"}, (kind, path, codes)
            if kind == "NUL":
                assert codes == {"invalid_input"}, (kind, path, codes)
        still = await desk.find(word(mine.shop), workspace=mine.shop)

    assert still.names == {word(mine.shop)}
    check_store(mine)


@pytest.mark.parametrize("tool", ["search_code", "index_repo", "index_repository"])
async def test_a_refusal_says_the_same_whether_or_not_there_is_anything(mine, tool):
    key = "repo_path" if tool == "index_repository" else "workspace"
    query = {"query": "x"} if tool == "search_code" else {}
    secret = mine.secret
    pairs = [
        (secret, mine.machine.base / "secres"),
        (secret / "canary.py", secret / "canary.pz"),
        (secret / "src", secret / "srd"),
        (Path("/etc/passwd"), Path("/etc/passwe")),
        (mine.dev / "link" / "src", mine.dev / "link" / "srd"),
        (mine.dev / "up" / "secret", mine.dev / "up" / "secres"),
    ]
    async with mine.machine.serve(*flags(mine)) as desk:
        for there, not_there in pairs:
            answers = [await desk.call(tool, **query, **{key: path}) for path in (there, not_there)]
            said = [answer.text.replace(str(path), "PATH") for answer, path in zip(answers, (there, not_there), strict=True)]
            assert answers[0].code == "workspace_not_allowed"
            assert said[0] == said[1]
            assert str(secret) not in said[0]

    check_store(mine)


@pytest.mark.invariant(of="test_no_argument_leads_out")
async def test_no_query_and_no_path_of_a_file_leads_out(mine):
    """Links that point outside are not followed, and paths of files are looked up, not opened."""
    async with mine.machine.serve(*flags(mine)) as desk:
        await desk.ready(word(mine.shop), workspace=mine.shop)
        for mode in ("auto", "literal", "regex"):
            found = await desk.call("search_code", query=CANARY, mode=mode, workspace=mine.shop)
            assert found.json["results"] == []
        for kind, path in mine.paths():
            outline = await desk.call("get_file_outline", path=path, workspace=mine.shop)
            assert outline.code in ("file_not_found", "invalid_input"), (kind, path, outline.text)
            explained = await desk.call("index_status", path=path, workspace=mine.shop)
            assert explained.code in ("", "file_not_found", "invalid_input"), (kind, path, explained.text)
            searched = await desk.call("search_code", query=path, workspace=mine.shop)
            assert searched.code in ("", "invalid_input"), (kind, path, searched.text)
            for answer in (outline, explained, searched):
                assert CANARY not in answer.text, (kind, path)

    check_store(mine)


async def test_no_root_leads_out(mine):
    """A root is only a hint. One that leads out is refused, an invalid one is skipped."""
    for kind, uris in hostile_roots(mine):
        async with mine.machine.serve(*flags(mine), "--no-prewarm", roots=uris) as desk:
            for tool, arguments in (("search_code", {"query": "x"}), ("index_repo", {})):
                answer = await desk.call(tool, **arguments)
                assert answer.code in ("workspace_not_allowed", "project_not_found", "workspace_not_registered"), (
                    kind,
                    answer.text,
                )

    check_store(mine)


def hostile_roots(mine):
    secret, dev = str(mine.secret), str(mine.dev)
    yield "outside", [f"file://{secret}", f"file://{secret}/src"]
    yield "dot-dot", [f"file://{dev}/%2e%2e/secret", f"file://{dev}/../secret"]
    yield "link", [f"file://{dev}/link"]
    yield "host", [f"file://evil.example{dev}/shop"]
    yield "sibling", [f"file://{dev}-evil"]


@pytest.mark.parametrize("name", ["CODECOMPASS_PROJECT", "CLAUDE_PROJECT_DIR"])
async def test_no_variable_leads_out(mine, name):
    secret, dev = str(mine.secret), str(mine.dev)
    for value in (f"{dev}/../secret", f"{dev}/link", f"{dev}-evil", f"{secret}/none"):
        async with mine.machine.serve(*flags(mine), "--no-prewarm", **{name: value}) as desk:
            answers = [await desk.call("search_code", query="x"), await desk.call("index_repo")]
            assert [answer.code for answer in answers] == ["workspace_not_allowed"] * 2, value

    check_store(mine)


@pytest.mark.invariant(of="test_no_argument_leads_out")
async def test_a_parent_that_becomes_a_link_during_the_request_does_not_lead_out(mine):
    """A thread swaps a directory for a link to outside and back as fast as it can, during requests and jobs."""
    inside, outside = mine.dev / "swap", mine.secret.parent / "swapped"
    mine.machine.project("inner", below=inside)
    hidden = mine.machine.project("inner", {"canary.py": f"def {CANARY}():\n    pass\n"}, below=outside)
    aside = mine.dev / "aside"
    is_done = threading.Event()

    def swap() -> None:
        while not is_done.is_set():
            inside.rename(aside)
            inside.symlink_to(outside)
            inside.unlink()
            aside.rename(inside)

    swapper = threading.Thread(target=swap)
    async with mine.machine.serve(*flags(mine)) as desk:
        swapper.start()
        try:
            for number in range(150):
                tool, arguments = [
                    ("search_code", {"query": CANARY}),
                    ("index_repo", {"force": number % 2 == 0}),
                    ("locate_symbol", {"name": CANARY}),
                ][number % 3]
                answer = await desk.call(tool, **arguments, workspace=inside / "inner")
                assert answer.json.get("results", []) == [], answer.text
                # A tree that vanishes during a scan cannot be indexed; the error says so, and is not a defect.
                assert answer.code != "internal_error" or "could not be indexed" in answer.message, answer.text
                assert str(hidden) not in answer.text
        finally:
            is_done.set()
            await trio.to_thread.run_sync(swapper.join)
        settled = await desk.until(lambda answer: not answer.code, "index_status", workspace=inside / "inner")
        # Each job that failed because of the swaps doubled the pause before the next, up to a minute, except for `index_repo`.
        await desk.until(
            lambda answer: answer.json.get("status") == "published",
            "index_repo",
            wait_seconds=50,
            workspace=inside / "inner",
        )
        names = (await desk.ready(word(hidden), workspace=inside / "inner")).names

    assert settled.metadata["workspace"] == str(inside / "inner")
    assert names == {word(hidden)}
    for path in mine.machine.home.root.rglob("*"):
        assert not path.is_file() or not re.search(CANARY.encode(), path.read_bytes()), path
