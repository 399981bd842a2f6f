"""What a worker reads of a file, and what it skips."""

import gc
import os
from pathlib import Path

import msgspec
import pytest

from codecompass.identity import content_hash
from codecompass.languages.detect import HEAD_BYTES
from codecompass.languages.words import WordSplitter
from codecompass.scan.files import BINARY_PROBE_BYTES
from codecompass.worker import reading
from codecompass.worker.messages import Batch, FileTask
from codecompass.worker.reading import FileReading, read_file, reading_limit


def read(root: Path, name: str, content: bytes, *, max_file_bytes: int = 1 << 20, known: bytes = b"") -> FileReading:
    (root / name).write_bytes(content)
    task = FileTask(name, known)
    batch = Batch(
        root=os.fsencode(root),
        tasks=(task,),
        parse=True,
        max_file_bytes=max_file_bytes,
        max_line_characters=20_000,
        parse_cpu_seconds=1.0,
    )
    return read_file(batch, task, WordSplitter())


def test_a_binary_file_is_known_by_its_beginning(tmp_path):
    """The hash covers only the beginning, so two files with the same beginning give the same answer."""
    head = b"\x89PNG\0" + b"x" * BINARY_PROBE_BYTES

    first, second = (read(tmp_path, "a.png", head + rest * 50_000).answer for rest in (b"1", b"2"))

    assert (first.status, first.reason, first.size) == ("skipped", "binary", len(head) + 50_000)
    assert first.content_hash == second.content_hash == content_hash(head[:BINARY_PROBE_BYTES])


def test_a_file_is_read_whole_at_every_size_around_the_probe(tmp_path):
    for size in (0, 1, BINARY_PROBE_BYTES - 1, BINARY_PROBE_BYTES, BINARY_PROBE_BYTES + 1, 3 * BINARY_PROBE_BYTES):
        content = (b"line\n" * size)[:size]

        found = read(tmp_path, "a.txt", content)

        assert (found.answer.status, found.source, found.answer.content_hash) == ("indexed", content, content_hash(content))


def test_a_nul_after_the_probed_bytes_is_text(tmp_path):
    assert read(tmp_path, "a.txt", b"line\n" * BINARY_PROBE_BYTES + b"\0\n").answer.status == "indexed"


def test_the_language_of_a_header_is_found_after_a_long_licence(tmp_path):
    licence = b"// " + b"word " * 12 + b"\n"
    lines = licence * (HEAD_BYTES // len(licence) - 20)
    assert len(lines) > HEAD_BYTES - 4096

    assert read(tmp_path, "a.h", lines + b"namespace a { class B { public: int c(); }; }\n").answer.language == "cpp"
    assert read(tmp_path, "b.h", lines + b"int c(void);\n").answer.language == "c"


def test_the_content_that_is_known_is_not_sent_again(tmp_path):
    content = b"def f(): pass\n" * 2000

    assert read(tmp_path, "a.py", content, known=content_hash(content)).answer.status == "unchanged"
    assert read(tmp_path, "a.py", content + b"#\n", known=content_hash(content)).answer.status == "indexed"


def test_a_file_over_the_cap_is_not_read(tmp_path):
    answer = read(tmp_path, "a.txt", b"x\n" * 100, max_file_bytes=199).answer

    assert (answer.status, answer.reason, answer.content_hash) == ("skipped", "too_large", b"")


@pytest.fixture
def no_collection():
    """Garbage of other tests must not be finalized during this one: a finalizer would swallow the interruption."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("no_collection")
def test_configuration_that_takes_too_long_to_read_is_indexed_as_text_only(tmp_path, monkeypatch):
    monkeypatch.setattr(reading, "CONFIGURATION_CPU_SECONDS", 0.05)
    slow = b"".join(b"[" + b"a." * 4_000 + b"b%d]\n" % number for number in range(10))

    answer = read(tmp_path, "Cargo.toml", slow + b"\n" * 1_000 + b"[package]\nname = 'x'\n").answer

    assert (answer.status, answer.roots) == ("indexed", ())


def test_reading_may_take_longer_the_larger_files_may_be():
    small, large = (Batch(b"", (), True, size, 1, 1.0) for size in (1 << 20, 1 << 30))

    assert 1 < reading_limit(small) < 10 < reading_limit(large)


@pytest.mark.parametrize("content", [b"def f():\n    return 1\n", b"", b"\0binary", b"caf\xe9\n", b"x" * 3000])
def test_a_content_that_the_task_brings_is_answered_as_the_same_file_is(tmp_path: Path, content: bytes):
    from_disk = read(tmp_path, "a.py", content).answer
    task = FileTask("a.py", size=len(content), content=content)
    batch = Batch(os.fsencode(tmp_path / "nowhere"), (task,), True, 1 << 20, 20_000, 1.0)

    brought = read_file(batch, task, WordSplitter()).answer

    assert (brought.mtime_ns, brought.ctime_ns, brought.inode) == (0, 0, 0)
    assert msgspec.structs.replace(from_disk, mtime_ns=0, ctime_ns=0, inode=0) == brought
