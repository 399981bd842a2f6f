"""The worker's main loop: reads orders from stdin and writes answers to stdout until stdin ends.

Exits when the server has ended: between files because stdin ends or a pipe breaks, during a parse because of the CPU limit.
Nothing else writes to stdout.
"""

import os
import resource
import signal
import sys
from typing import Final

from msgspec.structs import replace

from codecompass.languages import SYMBOL_LANGUAGES
from codecompass.languages.words import WordSplitter
from codecompass.units import GIB
from codecompass.worker.messages import (
    LENGTH,
    MAX_FRAME_BYTES,
    Batch,
    FileSymbols,
    Highlight,
    ReadMarkdown,
    Reply,
    decode_order,
    encode_frame,
)
from codecompass.worker.parsing import Parsers, ending_limit, parse_file, read_uses
from codecompass.worker.probing import probe
from codecompass.worker.reading import read_file, reading_limit

ADDRESS_SPACE: Final = 8 * GIB
"""A parse that needs more memory fails instead of exhausting the machine's."""


def main() -> None:
    """Serves orders until stdin ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the server handles Ctrl-C and closes our stdin
    try:
        resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE, resource.RLIM_INFINITY))
    except (ValueError, OSError):
        pass  # some systems (macOS) refuse; the CPU limit still holds
    source, sink = os.dup(0), os.dup(1)
    # Output that a library prints goes to stderr.
    os.dup2(2, 1)
    splitter, parsers = WordSplitter(), Parsers()
    try:
        while (body := _read_frame(source)) is not None:
            order = decode_order(body)
            if isinstance(order, Batch):
                _serve(order, sink, splitter, parsers)
            elif isinstance(order, Highlight):
                _highlight(order, sink)
            elif isinstance(order, ReadMarkdown):
                _read_markdown(order, sink)
            else:
                _write(sink, probe(order))
    except BrokenPipeError:
        pass


def _serve(batch: Batch, sink: int, splitter: WordSplitter, parsers: Parsers) -> None:
    for task in batch.tasks:
        with ending_limit(reading_limit(batch)):
            read = read_file(batch, task, splitter)
        text = read.answer
        has_symbols = text.language in SYMBOL_LANGUAGES
        will_parse = has_symbols and batch.parse and (task.symbols is None or text.status == "unchanged")
        _write(sink, replace(text, has_symbols=has_symbols, will_parse=will_parse))
        if will_parse and task.symbols is not None:
            uses = read_uses(batch, text.language, read.source, task.symbols)
            _write(sink, FileSymbols(text.path, text.content_hash, uses=uses))
        elif will_parse:
            _write(sink, parse_file(batch, text, read.source, parsers))


def _highlight(order: Highlight, sink: int) -> None:
    from codecompass.worker.highlighting import highlighted_texts  # with Pygments, which few servers need

    for answer in highlighted_texts(order):
        _write(sink, answer)


def _read_markdown(order: ReadMarkdown, sink: int) -> None:
    from codecompass.worker.markdown import markdown_pieces  # with a parser of Markdown, which few servers need

    _write(sink, markdown_pieces(order))


def _write(sink: int, answer: Reply) -> None:
    frame = memoryview(encode_frame(answer))
    while frame:
        frame = frame[os.write(sink, frame) :]


def _read_frame(source: int) -> bytes | None:
    header = _read_exactly(source, LENGTH.size)
    if header is None:
        return None
    (length,) = LENGTH.unpack(header)
    if length > MAX_FRAME_BYTES:
        return None
    return _read_exactly(source, length)


def _read_exactly(source: int, count: int) -> bytes | None:
    pieces = []
    while count:
        piece = os.read(source, min(count, 1 << 20))
        if not piece:
            return None
        pieces.append(piece)
        count -= len(piece)
    return b"".join(pieces)


if __name__ == "__main__":
    main()
    sys.exit(0)
