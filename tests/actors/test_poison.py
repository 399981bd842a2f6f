"""Files that break indexers: each loses at most its own symbols, is reported, and leaves the rest searchable."""

import os
import socket
import sys

import msgspec
import pytest

from codecompass.actors.worker_pool import open_worker_pool
from codecompass.scan.rules import ScanRules
from tests.support.processes import run_python
from tests.support.workspace import LIMITS, TestWorkspace

pytestmark = pytest.mark.invariant(of="test_a_file_that_hangs_the_parser_is_quarantined_and_found_as_text")

GOOD = {"good.py": "def good(): pass\n"}

RAISED = msgspec.structs.replace(LIMITS, rules=ScanRules(max_file_bytes=16 << 20), max_line_characters=1 << 30)
"""Limits that no file or line in these tests exceeds."""


async def indexed(workspace: TestWorkspace, **options) -> TestWorkspace:
    workspace.write(GOOD)
    await workspace.sync(**options)
    assert ("good.py", "good") in workspace.names()
    return workspace


async def test_an_eight_megabyte_line_is_reported_as_too_large(workspace):
    workspace.write({"line.js": b"var a = [" + b"1," * (4 << 20) + b"1];\n"})

    await indexed(workspace)

    assert workspace.status_of("line.js") == ("skipped", "too_large")


async def test_an_eight_megabyte_line_below_raised_caps_is_found_as_text_and_its_worker_replaced(workspace):
    """No size limit excludes the file. Parsing it takes seconds of CPU time on any machine; the limit is 0.2."""
    source = "var needle = [" + "f(1)," * (8 << 18) + "1];\n"

    await check_that_only_its_symbols_are_lost(workspace, "line.js", source, parse_cpu_seconds=0.2)


async def test_brackets_that_take_a_parser_too_long_cost_the_worker_and_not_the_job(workspace):
    """The C parser takes 1.4 s, because each bracket could begin a cast (measured 2026-11-21)."""
    await check_that_only_its_symbols_are_lost(workspace, "deep.c", "x = " + "([" * 200_000 + "\n", parse_cpu_seconds=0.05)


async def check_that_only_its_symbols_are_lost(
    workspace: TestWorkspace, path: str, source: str, *, parse_cpu_seconds: float
) -> None:
    workspace.write({path: source, "zebra.py": "def behind_it(): pass\n"})
    limits = msgspec.structs.replace(RAISED, parse_cpu_seconds=parse_cpu_seconds)

    async with open_worker_pool(1) as pool:
        await indexed(workspace, limits=limits, pool=pool)
        killed, started = pool.killed_count, pool.started_count

    assert workspace.status_of(path) == ("indexed", "quarantined")
    assert (killed, started) == (1, 2)
    assert workspace.text_of(path) == source
    assert ("zebra.py", "behind_it") in workspace.names()


@pytest.mark.parametrize("opening", ["[", "(", "{", "((["])
async def test_fifty_thousand_nested_brackets_cost_at_most_their_symbols(workspace, opening):
    source = "x = " + opening * 50_000 + "\n"
    deep = "\n".join(opening * 100 for _ in range(500)) + "\n"
    workspace.write({"one_line.py": source, "lines.py": deep, "lines.ts": deep, "lines.c": deep, "lines.rs": deep})

    await indexed(workspace, limits=RAISED)

    assert workspace.status_of("one_line.py") == ("indexed", "")
    assert workspace.text_of("one_line.py") == source
    assert workspace.text_of("lines.py") == deep


async def test_deep_nesting_of_real_blocks_does_not_overflow_the_stack(workspace):
    workspace.write({"deep.py": "".join(" " * level + "if x:\n" for level in range(400)) + " " * 400 + "pass\n"})
    workspace.write({"deep.js": "function f(){\n" * 3000 + "}\n" * 3000})

    await indexed(workspace)

    assert workspace.status_of("deep.js")[0] == "indexed"


async def test_nul_bytes_make_a_file_binary(workspace):
    workspace.write({"nul.py": b"a = 1\n\x00\n"})

    await indexed(workspace)

    assert workspace.status_of("nul.py") == ("skipped", "binary")


async def test_bytes_in_no_known_encoding_are_reported_as_not_utf8(workspace):
    workspace.write({"odd.py": b"\xc0\xaf\xff"})

    await indexed(workspace)

    assert workspace.status_of("odd.py") == ("skipped", "not_utf8")


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
async def test_utf_16_with_a_mark_is_transcoded(workspace, encoding):
    mark = "\ufeff".encode(encoding)
    workspace.write({"wide.py": mark + "def wide(): pass\n".encode(encoding)})

    await indexed(workspace)

    assert ("wide.py", "wide") in workspace.names()
    assert workspace.text_of("wide.py") == "def wide(): pass\n"


async def test_a_byte_order_mark_is_no_part_of_the_text(workspace):
    workspace.write({"bom.py": b"\xef\xbb\xbfdef bom(): pass\n"})

    await indexed(workspace)

    assert ("bom.py", "bom") in workspace.names()
    assert workspace.text_of("bom.py") == "def bom(): pass\n"


async def test_crlf_lines_keep_their_numbers(workspace):
    workspace.write({"dos.py": b"a = 1\r\n\r\ndef third():\r\n    pass\r\n"})

    await indexed(workspace)

    with workspace.index.snapshot() as snapshot:
        (symbol,) = snapshot.facts.symbols_named("third", 5)
    assert (symbol.line_start, symbol.line_end) == (3, 4)
    assert workspace.text_of("dos.py") == "a = 1\r\n\r\ndef third():\r\n    pass\r\n"


@pytest.mark.invariant("Symbolic links are not followed, and FIFOs and devices not opened, even if they appear after the scan")
async def test_symlinks_are_not_followed(workspace, tmp_path):
    (tmp_path / "secret.py").write_text("def outside(): pass\n")
    workspace.write({"real/a.py": "def inside(): pass\n"})
    (workspace.root / "out.py").symlink_to(tmp_path / "secret.py")
    (workspace.root / "in.py").symlink_to("real/a.py")
    (workspace.root / "loop").symlink_to(workspace.root)
    (workspace.root / "self").symlink_to("self")

    await indexed(workspace)

    assert workspace.status_of("out.py") == ("skipped", "symlink_outside_root")
    assert workspace.status_of("in.py") == ("skipped", "symlink")
    assert workspace.names() == {("good.py", "good"), ("real/a.py", "inside")}


@pytest.mark.invariant(of="test_symlinks_are_not_followed")
async def test_a_file_that_becomes_a_symlink_between_scan_and_reading_is_not_followed(workspace, tmp_path):
    (tmp_path / "secret.py").write_text("def outside(): pass\n")
    workspace.write({"a.py": "def inside(): pass\n"})

    def swap(progress) -> None:
        if progress.stage == "parsing" and not (workspace.root / "a.py").is_symlink():
            (workspace.root / "a.py").unlink()
            (workspace.root / "a.py").symlink_to(tmp_path / "secret.py")

    await indexed(workspace, on_progress=swap)

    assert workspace.names() == {("good.py", "good")}


@pytest.mark.invariant(of="test_symlinks_are_not_followed")
async def test_a_directory_that_becomes_a_symlink_between_scan_and_reading_is_not_followed(workspace, tmp_path):
    secrets = TestWorkspace(tmp_path / "elsewhere", tmp_path / "home")
    secrets.write({"b/secret.py": "def outside(): pass\n"})
    workspace.write({"a/b/secret.py": "def inside(): pass\n"})

    def swap(progress) -> None:
        if progress.stage == "parsing" and not (workspace.root / "a").is_symlink():
            (workspace.root / "a").rename(tmp_path / "away")
            (workspace.root / "a").symlink_to(secrets.root)

    await indexed(workspace, on_progress=swap)

    assert workspace.names() == {("good.py", "good")}
    await workspace.sync()
    assert workspace.status_of("a") == ("skipped", "symlink_outside_root")


@pytest.mark.invariant(of="test_symlinks_are_not_followed")
async def test_fifos_and_sockets_are_never_opened(workspace):
    workspace.root.mkdir(exist_ok=True)
    os.mkfifo(workspace.root / "pipe.py")
    server = socket.socket(socket.AF_UNIX)
    cwd = os.getcwd()
    os.chdir(workspace.root)  # a socket's path is limited to about 100 bytes
    try:
        server.bind("sock.py")
    finally:
        os.chdir(cwd)

    await indexed(workspace)
    server.close()

    assert workspace.status_of("pipe.py") == ("skipped", "special_file")
    assert workspace.status_of("sock.py") == ("skipped", "special_file")


async def test_names_with_newline_emoji_spaces_and_quotes_are_indexed_as_they_are(workspace):
    names = ["new\nline.py", "emoji 🎉.py", "with space.py", "quote'\".py", "-x.py", "back\\slash.py", "ünïcode.py", "*.py"]
    workspace.write({name: f"def f{index}(): pass\n" for index, name in enumerate(names)})

    await indexed(workspace)

    assert workspace.names() >= {(name, f"f{index}") for index, name in enumerate(names)}


@pytest.mark.skipif(sys.platform == "darwin", reason="the file system refuses such names")
async def test_a_name_that_is_not_utf8_is_reported_and_costs_nothing_else(workspace):
    workspace.root.mkdir(exist_ok=True)
    descriptor = os.open(os.fsencode(workspace.root) + b"/bad\xff.py", os.O_CREAT | os.O_WRONLY)
    os.close(descriptor)

    await indexed(workspace)

    assert workspace.status_of("bad\\xff.py") == ("skipped", "path_not_utf8")


async def test_a_repository_inside_a_folder_called_build_is_indexed(tmp_path):
    workspace = TestWorkspace(tmp_path / "build" / "vendor" / "project", tmp_path / "home", git=True)
    workspace.write({"src/a.py": "def a(): pass\n"})

    await indexed(workspace)

    assert ("src/a.py", "a") in workspace.names()


async def test_same_named_symbols_in_two_files_are_two_symbols(workspace):
    same = "pub struct Config { pub a: u8 }\n"
    workspace.write({"a/config.rs": same, "b/config.rs": same})

    await indexed(workspace)

    with workspace.index.snapshot() as snapshot:
        found = [row.path for row in snapshot.facts.symbols_named("Config", 10) if row.kind == "struct"]
    assert found == ["a/config.rs", "b/config.rs"]


async def test_two_definitions_of_one_name_on_one_line_are_two_symbols(workspace):
    workspace.write({"a.js": "function f() {} function f() {}\n"})

    await indexed(workspace)

    with workspace.index.snapshot() as snapshot:
        assert [row.ordinal for row in snapshot.facts.symbols_named("f", 10)] == [0, 1]


async def test_an_empty_file_is_indexed(workspace):
    workspace.write({"empty.py": ""})

    await indexed(workspace)

    assert workspace.status_of("empty.py") == ("indexed", "")
    assert workspace.text_of("empty.py") == ""


async def test_an_empty_directory_gives_an_empty_index(workspace):
    report = await workspace.sync()

    assert (report.file_count, report.symbol_count) == (0, 0)
    assert workspace.paths() == []


async def test_an_empty_repository_gives_an_empty_index_on_its_unborn_branch(repository):
    report = await repository.sync()

    assert (report.file_count, report.ref) == (0, "main")


async def test_a_tree_without_git_is_indexed_as_live(workspace):
    workspace.write(GOOD)

    report = await workspace.sync()

    assert (report.ref, report.commit) == ("live", "")


async def test_a_worktree_is_indexed_under_its_own_branch(repository, tmp_path):
    repository.write(GOOD)
    repository.commit()
    repository.git("worktree", "add", "-q", "-b", "feature", str(tmp_path / "tree"))
    worktree = TestWorkspace(tmp_path / "tree", tmp_path / "home")

    report = await worktree.sync()

    assert report.ref == "feature"
    assert worktree.project_id != repository.project_id
    assert worktree.names() == {("good.py", "good")}


async def test_a_submodule_is_indexed_with_its_parent(repository, tmp_path):
    inner = TestWorkspace(tmp_path / "inner", tmp_path / "home", git=True)
    inner.write({"sub.py": "def sub(): pass\n"})
    inner.commit()
    repository.git("-c", "protocol.file.allow=always", "submodule", "add", "-q", str(inner.root), "third/inner")

    await indexed(repository)

    assert ("third/inner/sub.py", "sub") in repository.names()


async def test_a_file_that_vanishes_between_scan_and_reading_is_left_out(workspace):
    workspace.write({"gone.py": "def gone(): pass\n"})

    def remove(progress) -> None:
        if progress.stage == "parsing":
            (workspace.root / "gone.py").unlink(missing_ok=True)

    await indexed(workspace, on_progress=remove)

    assert workspace.status_of("gone.py") == ("", "")


async def test_an_unreadable_file_is_reported(workspace):
    workspace.write({**GOOD, "closed.py": "def closed(): pass\n", "closed/a.py": "def a(): pass\n"})
    (workspace.root / "closed.py").chmod(0)
    (workspace.root / "closed").chmod(0)

    done = run_python(SYNC, str(workspace.root), str(workspace.home))
    (workspace.root / "closed").chmod(0o700)

    assert done.returncode == 0, done.stderr
    assert workspace.status_of("closed.py") == ("skipped", "unreadable")
    assert workspace.status_of("closed") == ("skipped", "unreadable")
    assert workspace.names() == {("good.py", "good")}


SYNC = (
    "import sys, trio; from pathlib import Path; from tests.support.workspace import TestWorkspace; "
    "report = trio.run(TestWorkspace(Path(sys.argv[1]), Path(sys.argv[2])).sync); print(report.files_changed)"
)


async def test_a_directory_that_cannot_be_read_for_a_while_loses_nothing(workspace):
    workspace.write({**GOOD, "closed/a.py": "def a(): pass\n", "closed/in/b.py": "def b(): pass\n", "closed.py": ""})
    await workspace.sync()
    names = workspace.names()
    (workspace.root / "closed").chmod(0)

    done = run_python(SYNC, str(workspace.root), str(workspace.home))
    (workspace.root / "closed").chmod(0o700)

    assert done.returncode == 0, done.stderr
    assert workspace.status_of("closed") == ("skipped", "unreadable")
    assert workspace.names() == names
    assert workspace.text_of("closed/in/b.py") == "def b(): pass\n"

    (workspace.root / "closed" / "in" / "b.py").unlink()
    report = await workspace.sync()

    assert workspace.status_of("closed") == ("", "")
    assert workspace.names() == names - {("closed/in/b.py", "b")}
    assert report.counts.files_written == 0
