"""Reads one file for the index: its kind, its text in chunks, its content hash."""

import os
import stat
import time
from typing import Final

import msgspec
from msgspec import Struct

from codecompass.identity import blob_id, content_hash
from codecompass.imports import ModuleRoot, module_roots
from codecompass.languages.chunk import chunk, line_count
from codecompass.languages.detect import HEAD_BYTES, language_of
from codecompass.languages.records import Chunk
from codecompass.languages.words import WordSplitter
from codecompass.scan.classify import BINARY_PROBE_BYTES, Text, classify, looks_binary, text_limits
from codecompass.scan.files import open_below, trusted_mtime
from codecompass.units import KIB, MIB, SECONDS
from codecompass.worker.messages import Batch, FileTask, FileText
from codecompass.worker.parsing import CpuTimeExceeded, interrupting_limit

GROWTH_BYTES: Final = 64 * KIB
"""Size of the read at the expected end of a file, where nearly always nothing follows."""

CONFIGURATION_CPU_SECONDS: Final = 2 * SECONDS
"""For the module roots of a configuration file; real ones take milliseconds. One that takes longer is indexed as text only."""

READ_BYTES_PER_SECOND: Final = 2 * MIB
"""The least that reading, classifying and chunking manage per second of CPU time on a slow machine."""


class ReadFile(Struct, frozen=True):
    """The answer for a file and, where it is text, what the parser needs."""

    answer: FileText
    source: bytes = b""

    def with_parse(self, *, has_symbols: bool, will_parse: bool) -> "ReadFile":
        """Returns a copy with the two flags of the answer set."""
        return ReadFile(msgspec.structs.replace(self.answer, has_symbols=has_symbols, will_parse=will_parse), self.source)


def reading_limit(batch: Batch) -> float:
    """Returns the CPU seconds that reading one file may take: a parse's limit plus what the largest file needs."""
    return batch.parse_cpu_seconds + CONFIGURATION_CPU_SECONDS + batch.max_file_bytes / READ_BYTES_PER_SECOND


class _Stamp(Struct, frozen=True):
    """What the answer says about a file besides its content; zeros where it is no file of the tree. `blob_id` is empty until
    all of it was read."""

    size: int
    mtime_ns: int = 0
    ctime_ns: int = 0
    inode: int = 0
    blob_id: bytes = b""


def read_file(batch: Batch, task: FileTask, splitter: WordSplitter) -> ReadFile:
    """Reads `task.path` below the batch's root, or takes the content that the task brings. Never follows a symlink, never
    blocks on a FIFO, never raises OSError."""
    if task.content is not None:
        return _answered(batch, task, _Stamp(len(task.content)), task.content, splitter)
    began = time.time_ns()
    try:
        descriptor = open_below(batch.root, task.path)
    except (FileNotFoundError, NotADirectoryError):
        return ReadFile(FileText(task.path, "vanished"))
    except OSError:
        return ReadFile(FileText(task.path, "skipped", "unreadable"))
    try:
        info = os.fstat(descriptor)
        if not stat.S_ISREG(info.st_mode):
            return ReadFile(FileText(task.path, "skipped", "special_file"))
        stamp = _Stamp(info.st_size, trusted_mtime(info, began), info.st_ctime_ns, info.st_ino)
        if info.st_size > batch.max_file_bytes:
            return ReadFile(_answer(task, stamp, "skipped", reason="too_large"))
        content = os.read(descriptor, BINARY_PROBE_BYTES)
        if not looks_binary(content):
            content = _read_rest(descriptor, content, info.st_size, batch.max_file_bytes)
    except OSError:
        return ReadFile(FileText(task.path, "skipped", "unreadable"))
    finally:
        os.close(descriptor)
    return _answered(batch, task, stamp, content, splitter)


def _answered(batch: Batch, task: FileTask, stamp: _Stamp, content: bytes, splitter: WordSplitter) -> ReadFile:
    """Answers with what is in a file; of a binary one the beginning is enough."""
    head = content[:BINARY_PROBE_BYTES]
    if looks_binary(head):
        # The hash of the head is enough: a file with the same beginning is binary too.
        return ReadFile(_answer(task, stamp, "skipped", reason="binary", content_hash=content_hash(head)))
    digest = content_hash(content)
    stamp = msgspec.structs.replace(stamp, blob_id=blob_id(content, batch.object_format))
    is_known = digest == task.known_hash
    if is_known and not task.needs_symbols:
        return ReadFile(_answer(task, stamp, "unchanged", content_hash=digest))
    classified = classify(
        content, text_limits(max_file_bytes=batch.max_file_bytes, max_line_characters=batch.max_line_characters)
    )
    if not isinstance(classified, Text):
        return ReadFile(_answer(task, stamp, "skipped", reason=classified, content_hash=digest))
    text = classified.text
    source = text.encode("utf-8", "surrogatepass")
    language = language_of(task.path, source[:HEAD_BYTES])
    answer = _answer(
        task,
        stamp,
        "unchanged" if is_known else "indexed",
        language=language,
        content_hash=digest,
        line_count=line_count(text),
        chunks=() if is_known else chunk(text, splitter),
        roots=_module_roots(task.path, source),
    )
    return ReadFile(answer, source)


def _module_roots(path: str, source: bytes) -> tuple[ModuleRoot, ...]:
    try:
        with interrupting_limit(CONFIGURATION_CPU_SECONDS):
            return module_roots(path, source)
    except CpuTimeExceeded:
        return ()


def _answer(
    task: FileTask,
    stamp: _Stamp,
    status: str,
    *,
    reason: str = "",
    language: str = "",
    content_hash: bytes = b"",
    line_count: int = 0,
    chunks: tuple[Chunk, ...] = (),
    roots: tuple[ModuleRoot, ...] = (),
) -> FileText:
    return FileText(
        path=task.path,
        status=status,
        reason=reason,
        language=language,
        size=stamp.size,
        mtime_ns=stamp.mtime_ns,
        ctime_ns=stamp.ctime_ns,
        inode=stamp.inode,
        content_hash=content_hash,
        line_count=line_count,
        chunks=chunks,
        roots=roots,
        blob_id=stamp.blob_id,
    )


def _read_rest(descriptor: int, head: bytes, size: int, max_bytes: int) -> bytes:
    """Returns the whole content, or more than `max_bytes` bytes where the file grows beyond them while it is read."""
    if len(head) < BINARY_PROBE_BYTES:
        return head
    pieces = [head]
    n_bytes = len(head)
    # Asking for one byte more than `fstat` said detects a file that grows.
    while n_bytes <= max_bytes and (piece := os.read(descriptor, max(size + 1 - n_bytes, GROWTH_BYTES))):
        pieces.append(piece)
        n_bytes += len(piece)
    return b"".join(pieces)
