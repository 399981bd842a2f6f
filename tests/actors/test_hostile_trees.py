"""Hostile trees: very deep, very wide, or with names of any bytes. Each affects only its own files."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from codecompass.scan.explain import explain
from codecompass.scan.rules import ScanRules
from tests.support.deep_trees import chain, remove, write_in
from tests.support.workspace import TestWorkspace

PATH_MAX = os.pathconf("/", "PC_PATH_MAX")
GOOD = {"good.py": "def good(): pass\n", "zebra/last.py": "import good\ndef last(): pass\n"}
DEEP = "import good\nfrom . import beside\ndef deep(): pass\n"


@pytest.fixture
def deep_workspace(tmp_path: Path) -> Iterator[TestWorkspace]:
    workspace = TestWorkspace(tmp_path / "project", tmp_path / "home", git=True)
    yield workspace
    remove(workspace.root)


async def check_updates(workspace: TestWorkspace) -> None:
    workspace.write({"good.py": "def better(): pass\n"})
    await workspace.sync()
    assert ("good.py", "better") in workspace.names()
    assert ("zebra/last.py", "last") in workspace.names()


@pytest.mark.invariant("Trees of any depth need no recursion; what lies deeper than a path can name is skipped and reported")
@pytest.mark.parametrize("is_tracked", [True, False])
async def test_a_file_a_thousand_directories_deep_is_indexed_and_updated(deep_workspace, is_tracked):
    deep_workspace.write(GOOD)
    path = "d/" * 1000 + "deep.py"
    with chain(deep_workspace.root, 1000) as bottom:
        write_in(bottom, "deep.py", DEEP)
        if is_tracked:
            deep_workspace.commit()

        await deep_workspace.sync()

        assert (path, "deep") in deep_workspace.names()
        await check_updates(deep_workspace)
        write_in(bottom, "deep.py", "def deeper(): pass\n")
        await deep_workspace.sync()
        assert (path, "deeper") in deep_workspace.names()


async def test_a_file_at_the_longest_path_that_can_be_opened_is_indexed(deep_workspace):
    deep_workspace.write(GOOD)
    name = "deep.py"
    # The terminating NUL counts too.
    depth, rest = divmod(PATH_MAX - 1 - len(f"{deep_workspace.root}/{name}"), 2)
    with chain(deep_workspace.root, depth) as bottom:
        write_in(bottom, "e" * rest + name, DEEP)

    await deep_workspace.sync()

    assert ("d/" * depth + "e" * rest + name, "deep") in deep_workspace.names()
    await check_updates(deep_workspace)


@pytest.mark.invariant(of="test_a_file_a_thousand_directories_deep_is_indexed_and_updated")
async def test_what_lies_deeper_than_a_path_can_name_is_skipped_with_a_reason_and_the_rest_indexed(deep_workspace):
    deep_workspace.write(GOOD)
    with chain(deep_workspace.root, 4000) as bottom:
        write_in(bottom, "deep.py", DEEP)

    await deep_workspace.sync()

    assert {path for path in deep_workspace.paths() if not path.startswith("d/")} == set(GOOD)
    with deep_workspace.index.snapshot() as snapshot:
        skipped = [row for row in snapshot.facts.files() if row.status == "skipped"]
    assert [row.reason for row in skipped] == ["path_too_long"]
    assert set(skipped[0].path) == {"d", "/"}
    said = explain(str(deep_workspace.root), skipped[0].path, ScanRules())
    assert (said.verdict, said.skip_reason) == ("skipped", "path_too_long")
    await check_updates(deep_workspace)


async def test_qualified_names_of_a_deep_path_do_not_grow_with_it(deep_workspace):
    deep_workspace.write(GOOD)
    with chain(deep_workspace.root, 1900) as bottom:
        write_in(bottom, "deep.py", "".join(f"def f{number}(): pass\n" for number in range(2000)))

    await deep_workspace.sync()

    with deep_workspace.index.snapshot() as snapshot:
        row = snapshot.facts.file("d/" * 1900 + "deep.py")
        assert row is not None
        symbols = snapshot.facts.symbols_in_file(row.id)
    assert len(symbols) == 2000
    assert max(len(symbol.qualified_name) for symbol in symbols) <= 1000


async def test_names_of_255_bytes_with_every_byte_are_indexed_or_skipped_with_a_reason(workspace):
    """A file name may contain every byte except `/` and NUL, and need not be valid in any encoding."""
    every = bytes(byte for byte in range(1, 256) if byte != ord("/"))
    names = [every + b"x", b"\n" * 252 + b".py", b"\x1b[31m" * 50 + b".py", "\u202e".encode() * 84 + b".py"]
    names += [b"x" * 252 + b".py", "\U0001f600".encode() * 63 + b".py", b"\xff" * 255, b"\\" * 252 + b".py", b"*" * 252 + b".py"]
    names += [bytes([byte]) * 251 + b"a.py" for byte in range(1, 256) if byte != ord("/")]
    workspace.write(GOOD)
    for name in names:
        write_bytes_name(workspace.root, name)

    await workspace.sync()

    with workspace.index.snapshot() as snapshot:
        rows = {row.path: (row.status, row.reason) for row in snapshot.facts.files()}
    for name in names:
        if name.startswith((b".", b"~")):
            continue
        try:
            path = name.decode()
            expected = {("indexed", "")}
        except UnicodeDecodeError:
            path = name.decode("utf-8", "backslashreplace")
            expected = {("skipped", "path_not_utf8")}
        assert rows.get(path) in expected, (name, rows.get(path))
    assert all(path.isprintable() or path.encode() for path in rows)
    await check_updates(workspace)


def write_bytes_name(root: Path, name: bytes) -> None:
    """Writes a file of that name, and one below a directory of almost the same name."""
    below = os.path.join(os.fsencode(root), b"in", name[:250] + b".dir")
    os.makedirs(below, exist_ok=True)
    for path in (os.path.join(os.fsencode(root), name), os.path.join(below, b"inner.py")):
        with open(path, "wb") as file:
            file.write(b"def f(): pass\n")


@pytest.mark.slow
async def test_many_directories_side_by_side_are_indexed_and_a_later_update_costs_by_the_change(workspace):
    n_directories, n_files = 500, 10
    workspace.write(GOOD)
    workspace.write(
        {
            f"d{directory:05d}/m{number}.py": f"import m{number}\nfrom . import m0\ndef f_{directory}_{number}(): pass\n"
            for directory in range(n_directories)
            for number in range(n_files)
        }
    )

    first = await workspace.sync()
    workspace.write({"d00100/m3.py": "import m4\ndef changed(): pass\n"})
    second = await workspace.sync()

    assert first.file_count == n_directories * n_files + len(GOOD)
    assert second.files_changed == 1
    assert second.counts.rows_written < 100
    assert ("d00100/m3.py", "changed") in workspace.names()
