"""Fetching from remotes: only what is wanted, within bounds, whatever the remote does, and without exposing credentials."""

import os
import socket
import stat
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
import trio
from msgspec.structs import replace

from codecompass.cluster.indexing.remote_refs import Selection, select_refs
from codecompass.cluster.indexing.remotes import MAX_PACKS, Mirror, RemoteError, RemoteLimits, list_remote
from codecompass.scan.git_repository import run_git
from codecompass.scan.git_revisions import resolve_commit
from codecompass.units import KIB
from tests.cluster.git_remote import GitRemote
from tests.support.waiting import until

pytestmark = pytest.mark.invariant(
    "A remote costs bounded time and space whatever it does, and nothing that it or the environment configures is run"
)

LIMITS = RemoteLimits(protocols=("file", "http"))


@pytest.fixture
def remote(tmp_path) -> GitRemote:
    made = GitRemote(tmp_path / "origin")
    made.push({"a.py": "def one(): pass\n"})
    return made


@pytest.fixture
def mirror(tmp_path) -> Mirror:
    return Mirror(tmp_path / "mirror", LIMITS)


async def selected(remote: GitRemote, *wanted: str) -> Selection:
    return select_refs(await list_remote(remote.url, wanted, LIMITS), wanted)


def commits_in(mirror: Mirror) -> set[str]:
    repository = mirror.repository()
    assert repository is not None
    said = run_git(repository, repository.top, "cat-file", "--batch-all-objects", "--batch-check=%(objecttype) %(objectname)")
    return {line.split()[1] for line in said.decode().splitlines() if line.startswith("commit ")}


def tip(mirror: Mirror, selection: Selection) -> str:
    repository = mirror.repository()
    assert repository is not None
    return resolve_commit(repository, selection.refs[0].local).commit


async def test_only_the_newest_commit_of_a_wanted_ref_is_fetched(remote, mirror):
    for number in range(5):
        newest = remote.push({"b.py": f"x = {number}\n"})
    remote.push({"c.py": ""}, "feature")

    selection = await selected(remote)
    await mirror.fetch(remote.url, selection.refs)

    assert commits_in(mirror) == {newest}
    assert tip(mirror, selection) == newest


async def test_a_fetch_brings_what_differs(remote, mirror):
    remote.push({f"{number}.py": os.urandom(2000).hex() for number in range(100)})
    await mirror.fetch(remote.url, (await selected(remote)).refs)
    before = sum(path.stat().st_size for path in mirror.root.rglob("*.pack"))

    newest = remote.push({"1.py": "changed\n"})
    selection = await selected(remote)
    await mirror.fetch(remote.url, selection.refs)

    assert tip(mirror, selection) == newest
    assert sum(path.stat().st_size for path in mirror.root.rglob("*.pack")) - before < 10 * KIB < before


async def test_a_forced_push_is_just_another_commit(remote, mirror):
    await mirror.fetch(remote.url, (await selected(remote)).refs)

    newest = remote.push({"a.py": "def two(): pass\n"}, amends=True)
    selection = await selected(remote)
    await mirror.fetch(remote.url, selection.refs)

    assert tip(mirror, selection) == newest


async def test_a_branch_that_becomes_a_directory_of_branches_is_fetched(remote, mirror):
    remote.push({"x.py": ""}, "topic")
    await mirror.fetch(remote.url, (await selected(remote, "topic")).refs)
    remote.git("push", "-q", "--delete", "origin", "topic")
    remote.git("checkout", "-q", "main")
    remote.git("branch", "-q", "-D", "topic")
    newest = remote.push({"y.py": ""}, "topic/sub")

    selection = await selected(remote, "topic/*")
    await mirror.fetch(remote.url, selection.refs)

    assert tip(mirror, selection) == newest


async def test_what_is_not_wanted_any_more_goes_when_packs_are_made_one(remote, mirror):
    for number in range(MAX_PACKS + 2):
        newest = remote.push({"b.py": f"x = {number}\n"})
        selection = await selected(remote)
        await mirror.fetch(remote.url, selection.refs)
    assert len(commits_in(mirror)) > 1

    await mirror.keep_only(selection.refs)

    assert commits_in(mirror) == {newest}
    assert tip(mirror, selection) == newest


async def test_a_fetch_that_was_killed_leaves_nothing_in_the_way(remote, mirror):
    await mirror.fetch(remote.url, (await selected(remote)).refs)
    leftovers = [mirror.root / ".git" / "objects" / "pack" / "tmp_pack_x", mirror.root / ".git" / "shallow.lock"]
    for path in leftovers:
        path.write_bytes(b"x")

    newest = remote.push({"b.py": ""})
    selection = await selected(remote)
    await mirror.fetch(remote.url, selection.refs)

    assert tip(mirror, selection) == newest
    assert not any(path.exists() for path in leftovers)


async def test_a_damaged_mirror_is_made_anew_by_the_next_attempt(remote, mirror):
    await mirror.fetch(remote.url, (await selected(remote)).refs)
    (mirror.root / ".git" / "config").write_text("[core\n")
    newest = remote.push({"b.py": ""})
    selection = await selected(remote)

    with pytest.raises(RemoteError):
        await mirror.fetch(remote.url, selection.refs)
    await mirror.fetch(remote.url, selection.refs)

    assert tip(mirror, selection) == newest


async def test_a_remote_that_names_objects_by_the_longer_hash_is_fetched_into_the_same_place(tmp_path, remote, mirror):
    await mirror.fetch(remote.url, (await selected(remote)).refs)
    longer = GitRemote(tmp_path / "longer")
    for path, bare in ((longer.bare, ("--bare",)), (longer.work, ())):
        remote.git("init", "-q", "--object-format=sha256", "-b", "main", *bare, str(path) + "2", cwd=tmp_path)
    longer.bare, longer.work = Path(f"{longer.bare}2"), Path(f"{longer.work}2")
    longer.url = f"file://{longer.bare}"
    longer.git("remote", "add", "origin", longer.url)
    newest = longer.push({"a.py": ""})

    selection = await selected(longer)
    await mirror.fetch(longer.url, selection.refs)

    assert len(newest) == 64
    assert tip(mirror, selection) == newest


async def test_a_remote_larger_than_the_bound_is_not_fetched_whole(tmp_path, remote):
    remote.push({f"{number}": os.urandom(200_000).hex() for number in range(20)})
    selection = await selected(remote)
    small = Mirror(tmp_path / "small", replace(LIMITS, max_bytes=50 * KIB, silence_seconds=0.01))

    with pytest.raises(RemoteError, match=r"take more than|nothing came"):
        await small.fetch(remote.url, selection.refs)


@pytest.fixture
def silent_server() -> Iterator[str]:
    """Accepts connections and sends nothing."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"http://u:s3cret@127.0.0.1:{server.getsockname()[1]}/a/b"


@pytest.mark.invariant(of="test_a_password_is_refused_and_not_repeated")
async def test_a_remote_that_says_nothing_is_left_and_its_credentials_are_not_repeated(silent_server):
    with pytest.raises(RemoteError, match="nothing came for") as failed:
        await list_remote(silent_server, (), replace(LIMITS, silence_seconds=0.3))

    assert "s3cret" not in failed.value.message
    assert "s3cret" not in str(failed.value.data)


async def test_a_remote_that_trickles_is_left_at_the_deadline():
    with socket.create_server(("127.0.0.1", 0)) as server:
        ended = threading.Event()

        def trickle() -> None:
            connection, _ = server.accept()
            with connection:
                connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: application/x-git-upload-pack-advertisement\r\n\r\n")
                while not ended.wait(0.05):
                    try:
                        connection.sendall(b"0")
                    except OSError:
                        return

        thread = threading.Thread(target=trickle)
        thread.start()
        try:
            with pytest.raises(RemoteError):
                await list_remote(f"http://127.0.0.1:{server.getsockname()[1]}/a/b", (), replace(LIMITS, listing_seconds=1.0))
        finally:
            ended.set()
            await trio.to_thread.run_sync(thread.join)


def command_lines() -> str:
    """Returns the command lines of all processes on this machine."""
    return subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True, timeout=60).stdout


async def test_cancelling_ends_git_and_what_it_has_started(silent_server):
    with trio.move_on_after(0.5) as scope:
        await list_remote(silent_server, (), LIMITS)

    assert scope.cancelled_caught
    port = silent_server.rpartition(":")[2].partition("/")[0]

    async def are_ended() -> bool:
        return f"127.0.0.1:{port}" not in await trio.to_thread.run_sync(command_lines)

    # A process that was killed is listed until it has been scheduled once more.
    await until(are_ended)


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("file:///nowhere/at/all", "cluster remove"),
        # The digits are a part of the address, not of an answer.
        ("file:///nowhere/run-401/403/at/all", "cluster remove"),
        ("https://127.0.0.1:9/a/b", "cluster.protocols"),
        ("ext::sh -c 'echo x >&2'", "cluster.protocols"),
        ("http://127.0.0.1:9/a/b", "git ls-remote"),
    ],
)
async def test_what_goes_wrong_says_what_to_do(url, said):
    with pytest.raises(RemoteError) as failed:
        await list_remote(url, (), LIMITS)

    assert said in failed.value.message


async def test_the_message_about_a_damaged_remote_is_one_line_of_text(remote, mirror):
    remote.push({"big.py": os.urandom(20_000).hex()})
    blob = remote.git("rev-parse", "HEAD:big.py", cwd=remote.work).strip()
    (remote.bare / "objects" / blob[:2] / blob[2:]).unlink()

    with pytest.raises(RemoteError) as failed:
        await mirror.fetch(remote.url, (await selected(remote)).refs)

    assert "corruption" in failed.value.message
    assert failed.value.message.isprintable()
    assert ".." not in failed.value.message.replace(remote.url, "")


async def test_nothing_that_the_environment_or_the_remote_configures_is_run(tmp_path, remote, mirror, monkeypatch):
    ran = tmp_path / "ran"
    program = tmp_path / "program"
    program.write_text(f"#!/bin/sh\ntouch {ran}\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    hooks = tmp_path / "hooks"
    hooks.mkdir()
    for name in ("post-checkout", "reference-transaction", "post-merge"):
        (hooks / name).symlink_to(program)
    (tmp_path / "config").write_text(f"[core]\n\thooksPath = {hooks}\n\tfsmonitor = {program}\n")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "config"))
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "elsewhere"))
    monkeypatch.setenv("GIT_EXTERNAL_DIFF", str(program))

    selection = await selected(remote)
    await mirror.fetch(remote.url, selection.refs)
    await mirror.keep_only(selection.refs)

    assert tip(mirror, selection)
    assert not ran.exists()
