"""An index on a disk that is full or read-only: what is indexed is answered, and space can be freed.

Uses the real command, and a real server over stdio. Needs permission to mount: root on Linux.
"""

import contextlib
import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import trio

from tests.support.faults import small_file_system
from tests.support.processes import ROOT, run_python
from tests.support.waiting import until
from tests.workspaces.machine import Machine, word

pytestmark = [pytest.mark.interaction, pytest.mark.xdist_group("mounts")]

FILES = {"src/shop.py": "import main\n\n\nclass Shop:\n    def price_of_all(self):\n        return 1\n"}

QUESTIONS = (
    ("search", "price of all"),
    ("search", "--mode", "literal", "class Shop"),
    ("search", "--mode", "regex", r"def \w+_all"),
    ("locate", "price_of_all"),
    ("outline", "src/shop.py"),
)

WITHOUT_PRIVILEGES = """
import os, sys
from tests.support.processes import obey_permissions
obey_permissions()
os.execv(sys.executable, [sys.executable, "-m", "codecompass", *sys.argv[1:]])
"""

CALLS = {
    "search_code": {"query": "price of all"},
    "locate_symbol": {"name": "price_of_all"},
    "get_file_outline": {"path": "src/shop.py"},
    "get_code_context": {"query": "price of all"},
    "get_symbol_hierarchy": {"symbol_name": "Shop"},
    "find_related_symbols": {"symbol_name": "Shop"},
    "index_status": {},
}


class Disk:
    def __init__(self, at: Path) -> None:
        self.at = at

    def refuse(self, how: str) -> None:
        if how == "full":
            self.fill()
        else:
            subprocess.run(["mount", "-o", "remount,ro", str(self.at)], check=True)

    def fill(self) -> None:
        """Fills the disk to the last byte."""
        with (self.at / "ballast").open("ab", buffering=0) as file, contextlib.suppress(OSError):
            for size in (1 << 16, 1):
                with contextlib.suppress(OSError):
                    while True:
                        file.write(bytes(size))
        assert shutil.disk_usage(self.at).free == 0

    def relieve(self) -> None:
        subprocess.run(["mount", "-o", "remount,rw", str(self.at)], check=True)
        (self.at / "ballast").unlink(missing_ok=True)


@pytest.fixture
def disk(machine: Machine):
    with small_file_system(machine.home.root, "24m"):
        yield Disk(machine.home.root)


@pytest.fixture
def shop(machine: Machine, disk: Disk) -> Path:
    root = machine.project("shop", FILES)
    machine.index(root)
    return root


def asked(machine: Machine, root: Path, *command: str) -> str:
    done = machine.run(*command, "--json", "--workspace", root)
    assert done.returncode == 0, (command, done.stdout, done.stderr)
    return done.stdout


@pytest.mark.invariant("Questions and listings work if nothing is writable, and removals need no free space")
@pytest.mark.parametrize("how", ["full", "read-only"])
def test_every_question_and_listing_of_the_command_line_is_answered_as_before(machine, disk, shop, how):
    before = {command: asked(machine, shop, *command) for command in QUESTIONS}
    status = json.loads(asked(machine, shop, "status"))
    disk.refuse(how)

    assert {command: asked(machine, shop, *command) for command in QUESTIONS} == before
    again = json.loads(asked(machine, shop, "status"))
    assert (again["index_status"], again["metadata"]["freshness_status"]) == ("ready", "fresh")
    assert again["file_count"] == status["file_count"]
    listed = json.loads(machine.run("projects", "list", "--json").stdout)
    assert [(each["repo_root"], each["state"]) for each in listed["projects"]] == [(str(shop), "ready")]
    checks = json.loads(machine.run("doctor", "--json").stdout)["checks"]
    assert {check["status"] for check in checks if check["name"] in ("registry", "project")} == {"ok"}
    for command in (("projects", "gc", "--dry-run"), ("projects", "gc")):
        assert machine.run(*command).stdout == "nothing to clean up\n"


@pytest.mark.parametrize("how", ["full", "read-only"])
def test_what_cannot_be_taken_in_is_named_with_its_cause(machine, disk, shop, how):
    disk.refuse(how)
    (shop / "src" / "shop.py").write_text("def other(): pass\n")

    reply = json.loads(asked(machine, shop, "locate", "price_of_all"))

    assert [hit["path"] for hit in reply["results"]] == ["src/shop.py"]
    assert reply["metadata"]["freshness_status"] == "stale"
    cause = {"full": "No space left on device", "read-only": "Read-only file system"}[how]
    assert any(cause in warning for warning in reply["metadata"]["warnings"]), reply["metadata"]
    assert any("src/shop.py" in warning for warning in reply["metadata"]["warnings"])
    disk.relieve()
    assert json.loads(asked(machine, shop, "locate", "other"))["metadata"]["freshness_status"] == "fresh"


@pytest.mark.invariant(of="test_every_question_and_listing_of_the_command_line_is_answered_as_before")
@pytest.mark.parametrize("how", ["full", "read-only"])
@pytest.mark.parametrize("when", ["before it starts", "while it runs"])
async def test_a_server_answers_every_question(machine, disk, shop, how, when):
    if when == "before it starts":
        disk.refuse(how)
    async with machine.serve() as desk:
        if when == "while it runs":
            await desk.ready(word(shop), workspace=shop)
            if how == "read-only":
                pytest.skip("a file system with files that are open for writing cannot be made read-only")
            disk.refuse(how)
        for tool, arguments in CALLS.items():
            answer = await desk.call(tool, workspace=shop, **arguments)
            assert not answer.code, (tool, answer.text)
            assert answer.metadata["freshness_status"] == "fresh", (tool, answer.text)
        health = await desk.until(lambda answer: answer.json["projects"], "health_check")
        (entry,) = health.json["projects"]
        assert (entry["repo_root"], entry["file_count"]) == (str(shop), 3)
        assert entry["index_status"] in ("ready", "stale")
        (shop / "src" / "shop.py").write_text("def other(): pass\n")
        late = await desk.until(
            lambda answer: not answer.code and any("cannot be written" in each for each in answer.metadata.get("warnings", ())),
            "locate_symbol",
            name="price_of_all",
            workspace=shop,
        )
        assert late.metadata["freshness_status"] == "stale"
        assert late.paths == {"src/shop.py"}
        await trio.to_thread.run_sync(disk.relieve)
        await desk.until(
            lambda answer: not answer.code and answer.names == {"other"} and answer.metadata["freshness_status"] == "fresh",
            "locate_symbol",
            name="other",
            workspace=shop,
        )


CAUSES = {"full": "No space left on device", "read-only": "Read-only file system"}
REMEDIES = {"full": "free about 20.0 MB there", "read-only": "mount that disk for writing"}


@pytest.mark.invariant("While no index can be written, questions are answered from the files, with the cause and what helps")
@pytest.mark.parametrize("how", ["full", "read-only"])
@pytest.mark.parametrize("known", ["nothing", "the project"])
def test_a_first_question_is_answered_from_the_files_and_says_why(machine, disk, how, known):
    root = machine.project("shop", FILES)
    if known == "the project":
        machine.register(root)
    disk.refuse(how)

    for command in QUESTIONS:
        reply = json.loads(asked(machine, root, *command))
        assert "src/shop.py" in str(reply), command
        state = reply["metadata"]
        assert (state["indexing_status"], state["schema_status"], state["result_completeness"]) == (
            "failed",
            "not_indexed",
            "partial",
        )
        (warning,) = state["warnings"]
        assert CAUSES[how] in warning, warning
        assert f"Ask the user to {REMEDIES[how]}" in warning, warning
        assert "CODECOMPASS_HOME" in warning
    told = machine.run("locate", "price_of_all", "--workspace", root)
    assert (told.returncode, "price_of_all" in told.stdout) == (0, True)
    assert f"{REMEDIES[how][0].upper()}{REMEDIES[how][1:]}" in told.stderr
    assert "the user" not in told.stderr
    for command in (("index", root), ("search", "price", "--freshness-policy", "strict", "--workspace", root)):
        refused = machine.run(*command, "--json")
        assert refused.returncode == 1
        error = json.loads(refused.stdout)["error"]
        assert (error["code"], error["data"]["cause"]) == ("permission_denied", CAUSES[how])
    disk.relieve()
    found = json.loads(asked(machine, root, "locate", "price_of_all"))
    assert found["metadata"]["freshness_status"] == "fresh"
    assert set(machine.projects()) == {root}


@pytest.mark.invariant(of="test_a_first_question_is_answered_from_the_files_and_says_why")
@pytest.mark.parametrize("how", ["full", "read-only"])
async def test_a_server_answers_a_first_question_from_the_files_and_says_why(machine, disk, how):
    root = machine.project("shop", FILES)
    disk.refuse(how)
    async with machine.serve() as desk:
        for tool, arguments in {**CALLS, "read_file": {"path": "src/shop.py"}}.items():
            answer = await desk.call(tool, workspace=root, **arguments)
            assert not answer.code, (tool, answer.text)
            (warning,) = answer.metadata["warnings"]
            assert CAUSES[how] in warning, (tool, warning)
            assert "Ask the user to " in warning, (tool, warning)
            assert answer.metadata["indexing_status"] == "failed", (tool, answer.text)
            assert answer.metadata["result_completeness"] == "partial", (tool, answer.text)
        (root / "src" / "late.py").write_text("def added_later(): pass\n")
        await desk.until(lambda answer: answer.paths == {"src/late.py"}, "locate_symbol", name="added_later", workspace=root)
        refused = await desk.call("index_repo", workspace=root)
        assert (refused.code, CAUSES[how] in refused.message) == ("permission_denied", True), refused.text
        health = await desk.until(lambda answer: answer.json["projects"], "health_check")
        (entry,) = health.json["projects"]
        assert (entry["index_status"], CAUSES[how] in entry["last_error"]) == ("error", True), health.text
        # Nothing that root writes is refused by a mode, but by a full disk and by one that is read-only.
        assert any(str(machine.home.root) in warning for warning in health.metadata["warnings"]), health.text
        await trio.to_thread.run_sync(disk.relieve)
        await desk.ready("price_of_all", workspace=root)
        assert set(machine.projects()) == {root}


async def test_a_first_index_for_which_the_space_is_too_small_is_answered_from_the_files_and_made_later(machine):
    root = machine.heavy("large", 20)
    with small_file_system(machine.home.root, "1m"):
        async with machine.serve() as desk:
            answer = await desk.find(word(root), workspace=root)
            assert (answer.code, answer.paths) == ("", {"src/main.py"}), answer.text

            def says_why(answer):
                # Until the job has failed, the index is said to be in the making.
                return any(CAUSES["full"] in warning for warning in answer.metadata["warnings"])

            answer = await desk.until(says_why, "locate_symbol", name=word(root), workspace=root)
            assert (answer.code, answer.paths) == ("", {"src/main.py"}), answer.text
            await trio.run_process(["mount", "-o", "remount,size=200m", str(machine.home.root)])
            await desk.ready(word(root), workspace=root)


@pytest.mark.parametrize("how", ["full", "read-only"])
async def test_what_a_killed_server_had_published_is_answered(machine, disk, shop, how):
    """Its last publication and registry entries are still in SQLite's write-ahead logs."""
    other = machine.project("other")
    machine.register(other)
    async with machine.serve() as desk:
        await desk.ready(word(shop), workspace=shop)
        await desk.ready(word(other), workspace=other)
        (shop / "src" / "shop.py").write_text("class Shop:\n    def last_price(self):\n        return 2\n")
        await desk.until(lambda answer: answer.names == {"last_price"}, "locate_symbol", name="last_price", workspace=shop)
        desk.kill()
    before = json.loads(asked(machine, shop, "outline", "src/shop.py")) if how == "full" else None
    disk.refuse(how)

    reply = json.loads(asked(machine, shop, "locate", "last_price"))
    assert [hit["path"] for hit in reply["results"]] == ["src/shop.py"]
    assert reply["metadata"]["freshness_status"] == "fresh"
    assert before is None or json.loads(asked(machine, shop, "outline", "src/shop.py")) == before
    listed = json.loads(machine.run("projects", "list", "--json").stdout)
    assert {(each["repo_root"], each["state"]) for each in listed["projects"]} == {(str(shop), "ready"), (str(other), "ready")}


@pytest.mark.invariant(of="test_every_question_and_listing_of_the_command_line_is_answered_as_before")
def test_removing_needs_no_free_space(machine, disk, shop):
    bare, gone, other = (machine.project(name) for name in ("bare", "gone", "other"))
    machine.register(bare)
    for root in (gone, other):
        machine.index(root)
    shutil.rmtree(gone)

    for command, left in (
        (("projects", "remove", str(bare)), {shop, gone, other}),
        (("projects", "remove", str(other)), {shop, gone}),
        (("projects", "gc"), {shop}),
    ):
        disk.fill()
        done = machine.run(*command)
        assert done.returncode == 0, done.stderr
        assert set(machine.projects()) == left
    assert [path.name for path in (machine.home.root / "projects").iterdir()] == [machine.projects()[shop].project_id]
    disk.fill()
    assert json.loads(asked(machine, shop, "locate", "price_of_all"))["results"]
    disk.relieve()
    machine.index(bare)


async def test_removing_needs_no_free_space_while_a_server_has_the_registry_open(machine, disk, shop):
    other = machine.project("other")
    machine.index(other)
    async with machine.serve() as desk:
        await desk.ready(word(shop), workspace=shop)
        disk.fill()

        async def removed():
            done = await trio.to_thread.run_sync(lambda: machine.run("projects", "remove", str(other)))
            # The server scans recent projects when it starts, on a busy machine only now.
            return None if "is being written" in done.stderr else done

        done = await until(removed)
        assert done.returncode == 0, done.stderr
        assert set(machine.projects()) == {shop}


def test_on_a_read_only_disk_removing_says_why_it_cannot(machine, disk, shop):
    gone = machine.project("gone")
    machine.index(gone)
    shutil.rmtree(gone)
    disk.refuse("read-only")

    for command in (("projects", "remove", str(shop)), ("projects", "gc")):
        done = machine.run(*command)
        assert done.returncode == 1
        assert "Read-only file system" in done.stderr, (command, done)


def test_rights_that_are_taken_away_are_named_and_cost_nothing_once_they_are_back(machine):
    root = machine.project("shop", FILES)
    machine.index(root)
    before = asked(machine, root, "locate", "price_of_all")
    inside = [path for path in (machine.home.root / "projects").rglob("*") if path.is_dir()]
    code = "import sys; from codecompass.cli.main import main; sys.exit(main(sys.argv[1:]))"
    for path in inside:
        mode = path.stat().st_mode
        path.chmod(0)
        try:
            done = run_python(code, "locate", "price_of_all", "--json", "--workspace", str(root), environment=machine.environment)
        finally:
            path.chmod(mode)

        is_needed = path.name != "trash"
        assert done.returncode == (1 if is_needed else 0), (path, done)
        if is_needed:
            assert json.loads(done.stdout)["error"]["code"] == "permission_denied", (path, done.stdout)
        assert asked(machine, root, "locate", "price_of_all") == before


def test_an_index_that_may_not_be_read_for_a_while_is_not_built_anew(machine):
    root = machine.project("shop", FILES)
    machine.index(root)
    (project,) = (machine.home.root / "projects").iterdir()
    before = (project / "CURRENT").read_bytes()
    (epoch,) = (project / "epochs").iterdir()
    (root / "src" / "more.py").write_text("def added(): ...\n")
    code = "import sys; from codecompass.cli.main import main; sys.exit(main(sys.argv[1:]))"
    mode = epoch.stat().st_mode
    epoch.chmod(0)
    try:
        done = run_python(code, "index", str(root), "--json", environment=machine.environment)
    finally:
        epoch.chmod(mode)
    assert done.returncode == 1
    assert json.loads(done.stdout)["error"]["code"] == "permission_denied", done
    assert (project / "CURRENT").read_bytes() == before
    assert "src/more.py" in asked(machine, root, "locate", "added")


async def test_a_server_says_whose_rights_were_taken_away_and_goes_on_once_they_are_back(machine):
    root = machine.project("shop", FILES)
    machine.index(root)
    program = (sys.executable, "-c", WITHOUT_PRIVILEGES)
    async with machine.serve(program=program, PYTHONPATH=str(ROOT)) as desk:
        before = await desk.ready("price_of_all", workspace=root)
        (project,) = (machine.home.root / "projects").iterdir()
        for path in (machine.home.root, project, *(each for each in project.rglob("*") if each.is_dir())):
            if not path.exists():
                continue  # a generation that was replaced meanwhile
            mode = path.stat().st_mode
            path.chmod(0)
            try:
                refused = await desk.find("price_of_all", workspace=root)
            finally:
                path.chmod(mode)
            # If a job has met it first, the files answer.
            is_told = refused.code == "permission_denied" or any(
                "Permission denied" in each for each in refused.metadata["warnings"]
            )
            assert is_told, (path, refused.text)
            again = await desk.until(lambda answer: not answer.code, "locate_symbol", name="price_of_all", workspace=root)
            assert again.json["results"] == before.json["results"]
        status = await desk.call("index_status", workspace=root)
    modes = [job["mode"] for job in status.json["recent_jobs"]]
    assert modes.count("full") == 1, f"something was built anew: {status.json['recent_jobs']}"
