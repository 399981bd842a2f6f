"""Damage without a change of stamp, such as a disk that loses written data: found only by reading everything."""

import os
from pathlib import Path

import pytest

from codecompass.errors import IndexDamaged
from codecompass.store import facts_record
from codecompass.store.epochs import require_compatible
from codecompass.store.facts_record import is_recorded, record_facts
from codecompass.store.verification import VerifiedFiles, verify_index
from tests.support.workspace import TestWorkspace


class Reading:
    """Counts the bytes read."""

    n_bytes = 0

    def __call__(self, n_bytes: int) -> None:
        self.n_bytes += n_bytes


@pytest.fixture
async def indexed(workspace: TestWorkspace) -> TestWorkspace:
    workspace.write({f"m{number}.py": f"def f{number}():\n    return {number}\n" for number in range(9)})
    await workspace.sync()
    return workspace


def facts_of(workspace: TestWorkspace) -> Path:
    return workspace.layout.facts(require_compatible(workspace.layout).epoch)


def text_files_of(workspace: TestWorkspace) -> list[Path]:
    return sorted(path for path in facts_of(workspace).parent.glob("text/*/*") if not path.name.endswith(".lock"))


def forget_a_bit(path: Path) -> None:
    """Changes a byte of a file without changing its size or modification time."""
    status = path.stat()
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    with path.open("r+b") as file:
        file.write(content)
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


def verify(workspace: TestWorkspace, compared: VerifiedFiles | None = None) -> int:
    reading = Reading()
    verify_index(workspace.layout, workspace.project_id, reading, compared)
    return reading.n_bytes


@pytest.mark.invariant("Damage that no stamp shows is found by reading everything, and an update never certifies it")
@pytest.mark.parametrize("kind", [".fast", ".fieldnorm", ".store", ".term"])
async def test_reading_everything_finds_what_no_stamp_shows_and_the_next_job_builds_anew(kind, indexed):
    names = indexed.names()
    path = next(path for path in text_files_of(indexed) if path.suffix == kind)
    forget_a_bit(path)
    assert indexed.names() == names, "the stamp is the same"

    with pytest.raises(IndexDamaged, match=path.name):
        verify(indexed)

    with pytest.raises(IndexDamaged), indexed.index.snapshot():
        pass
    assert (await indexed.sync()).mode == "full"
    assert indexed.names() == names
    verify(indexed)


async def test_what_was_compared_is_passed_over_and_an_update_costs_its_new_files(indexed):
    compared = VerifiedFiles()
    everything = verify(indexed, compared)
    assert everything >= sum(path.stat().st_size for path in [facts_of(indexed), *text_files_of(indexed)])

    assert verify(indexed, compared) == 0
    before = {path.name for path in text_files_of(indexed)}
    indexed.write({"new.py": "def new(): pass\n"})
    await indexed.sync()

    new = [path for path in text_files_of(indexed) if path.name not in before or path.suffix == ".json"]
    facts = facts_of(indexed).stat().st_size
    assert verify(indexed, compared) == sum(path.stat().st_size for path in new) + facts


async def test_files_that_were_touched_or_copied_hold_what_they_held(indexed):
    names = indexed.names()
    for path in [facts_of(indexed), *text_files_of(indexed)]:
        os.utime(path, ns=(1, 1))
        copy = path.with_name("copy")
        copy.write_bytes(path.read_bytes())
        copy.replace(path)

    assert indexed.names() == names
    assert (await indexed.sync()).mode == "incremental"


async def test_large_facts_get_their_checksum_when_they_are_read(indexed, monkeypatch):
    monkeypatch.setattr(facts_record, "ALWAYS_SUMMED_BYTES", 0)
    indexed.write({"new.py": "def new(): pass\n"})
    await indexed.sync()
    names = indexed.names()

    verify(indexed)

    os.utime(facts_of(indexed), ns=(1, 1))
    assert indexed.names() == names


async def test_a_copy_of_large_facts_that_have_no_checksum_yet_is_read_if_it_is_whole(indexed, monkeypatch):
    monkeypatch.setattr(facts_record, "ALWAYS_SUMMED_BYTES", 0)
    indexed.write({"new.py": "def new(): pass\n"})
    await indexed.sync()
    names = indexed.names()
    facts = facts_of(indexed)
    whole = facts.read_bytes()
    copy = facts.with_name("copy")

    copy.write_bytes(whole)
    copy.replace(facts)
    assert indexed.names() == names
    assert (await indexed.sync()).mode == "incremental"

    for damaged in (whole[:-4096], whole[:4096] + bytes(len(whole) - 4096)):
        copy.write_bytes(damaged)
        copy.replace(facts)
        with pytest.raises(IndexDamaged):
            indexed.names()


async def test_facts_that_a_killed_writer_was_changing_are_read_all_the_same(indexed):
    names = indexed.names()
    record_facts(indexed.layout, facts_of(indexed).parent.name, is_changing=True)

    assert indexed.names() == names
    assert (await indexed.sync()).mode == "incremental"
    assert is_recorded(indexed.layout, facts_of(indexed).parent.name)


@pytest.mark.invariant(of="test_reading_everything_finds_what_no_stamp_shows_and_the_next_job_builds_anew")
async def test_the_checksums_of_an_index_are_not_taken_from_what_is_damaged(indexed):
    """A job that only adds a file links the other segments, and must not record checksums of damaged ones."""
    path = next(path for path in text_files_of(indexed) if path.suffix == ".store")
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    with path.open("r+b") as file:
        file.write(content)
    indexed.write({"new.py": "def new(): pass\n"})

    assert (await indexed.sync()).mode == "full"
    verify(indexed)
