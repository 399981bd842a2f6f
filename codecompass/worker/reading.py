"""Reads one file for the index: classifies it, splits its text into chunks and hashes its content."""

import os
import stat
import time
from typing import Final

import msgspec
from msgspec import Struct

from codecompass.identity import blob_id, content_hash
from codecompass.languages.chunk import chunk, line_count
from codecompass.languages.detect import HEAD_BYTES, language_of
from codecompass.languages.ecosystems import may_declare_roots
from codecompass.languages.imports import ModuleRoot, module_roots
from codecompass.languages.records import Chunk
from codecompass.languages.words import WordSplitter
from codecompass.scan.classify import Text, classify, looks_binary, text_limits
from codecompass.scan.editorconfig import charset_of
from codecompass.scan.encodings import UTF8, no_charset
from codecompass.scan.files import BINARY_PROBE_BYTES, GROWTH_BYTES, open_below, trusted_mtime
from codecompass.scan.generated import GENERATED_HEAD_BYTES, says_generated
from codecompass.units import MIB, SECONDS
from codecompass.worker.messages import Batch, FileTask, FileText
from codecompass.worker.parsing import CpuTimeExceeded, interrupting_limit

CONFIGURATION_CPU_SECONDS: Final = 2 * SECONDS
"""Limit for extracting the module roots of a configuration file, which takes milliseconds for real ones. A file that takes longer
is indexed without module roots."""

READ_BYTES_PER_SECOND: Final = 2 * MIB
"""Lower bound of the throughput of reading, classifying and chunking per second of CPU time on a slow machine."""


class FileReading(Struct, frozen=True):
    """The answer for a file and, if it is text, its UTF-8 source for the parser."""

    answer: FileText
    source: bytes = b""


def reading_limit(batch: Batch) -> float:
    """Returns the limit of CPU seconds for reading one file: that of a parse plus the time needed for the largest file."""
    return batch.parse_cpu_seconds + CONFIGURATION_CPU_SECONDS + batch.max_file_bytes / READ_BYTES_PER_SECOND


class _Stamp(Struct, frozen=True):
    """The metadata of a file in its answer; all but the size are zero if the content does not come from the working tree.
    `blob_id` is empty until the whole content was read."""

    size: int
    mtime_ns: int = 0
    ctime_ns: int = 0
    inode: int = 0
    blob_id: bytes = b""


def read_file(batch: Batch, task: FileTask, splitter: WordSplitter) -> FileReading:
    """Reads `task.path` below the batch's root, or uses the task's content. Never follows a symlink, blocks on a FIFO or raises
    OSError."""
    if task.content is not None:
        return _answered(batch, task, _Stamp(len(task.content)), task.content, splitter)
    began = time.time_ns()
    try:
        descriptor = open_below(batch.root, task.path)
    except (FileNotFoundError, NotADirectoryError):
        return FileReading(FileText(task.path, "vanished"))
    except OSError:
        return FileReading(FileText(task.path, "skipped", "unreadable"))
    try:
        info = os.fstat(descriptor)
        if not stat.S_ISREG(info.st_mode):
            return FileReading(FileText(task.path, "skipped", "special_file"))
        stamp = _Stamp(info.st_size, trusted_mtime(info, began), info.st_ctime_ns, info.st_ino)
        if info.st_size > batch.max_file_bytes:
            return FileReading(_answer(task, stamp, "skipped", reason="too_large"))
        content = os.read(descriptor, BINARY_PROBE_BYTES)
        if not looks_binary(content):
            content = _read_rest(descriptor, content, info.st_size, batch.max_file_bytes)
    except OSError:
        return FileReading(FileText(task.path, "skipped", "unreadable"))
    finally:
        os.close(descriptor)
    return _answered(batch, task, stamp, content, splitter)


def _answered(batch: Batch, task: FileTask, stamp: _Stamp, content: bytes, splitter: WordSplitter) -> FileReading:
    """Returns the answer for a file's content; for a binary file its beginning is enough."""
    head = content[:BINARY_PROBE_BYTES]
    if looks_binary(head):
        # The hash of the head is enough: a file with the same beginning is binary too.
        return FileReading(_answer(task, stamp, "skipped", reason="binary", content_hash=content_hash(head)))
    digest = content_hash(content)
    stamp = msgspec.structs.replace(stamp, blob_id=blob_id(content, batch.object_format))
    is_known = digest == task.known_hash
    if is_known and not task.needs_symbols:
        return FileReading(_answer(task, stamp, "unchanged", content_hash=digest))
    limits = text_limits(max_file_bytes=batch.max_file_bytes, max_line_characters=batch.max_line_characters)
    # Contents that are not in the working tree are not described by a file in it.
    charset = no_charset if task.content is not None else lambda: charset_of(batch.root, task.path)
    classified = classify(content, limits, charset)
    if not isinstance(classified, Text):
        return FileReading(_answer(task, stamp, "skipped", reason=classified, content_hash=digest))
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
        encoding="" if classified.encoding == UTF8 else classified.encoding,
        long_lines=classified.long_lines,
        is_generated=says_generated(source[:GENERATED_HEAD_BYTES]),
    )
    return FileReading(answer, source)


def _module_roots(path: str, source: bytes) -> tuple[ModuleRoot, ...]:
    # Setting the limit takes longer than anything else that is done with a small file.
    if not may_declare_roots(path):
        return ()
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
    encoding: str = "",
    long_lines: int = 0,
    is_generated: bool = False,
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
        encoding=encoding,
        long_lines=long_lines,
        is_generated=is_generated,
    )


def _read_rest(descriptor: int, head: bytes, size: int, max_bytes: int) -> bytes:
    """Returns the whole content, or more than `max_bytes` bytes if the file grows beyond them while it is read."""
    if len(head) < BINARY_PROBE_BYTES:
        return head
    pieces = [head]
    n_bytes = len(head)
    # Requesting one byte more than the size from `fstat` detects a growing file.
    while n_bytes <= max_bytes and (piece := os.read(descriptor, max(size + 1 - n_bytes, GROWTH_BYTES))):
        pieces.append(piece)
        n_bytes += len(piece)
    return b"".join(pieces)
