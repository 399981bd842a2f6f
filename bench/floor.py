"""The minimum that an indexer with these grammars must do: read and parse the same files, in one process, and keep nothing.

`python -m bench.floor ROOT --home DIR` takes the files from the index of ROOT in the store DIR, parses those with symbols, and
writes the cost as JSON. No walk, no symbol, no text index: any further cost of an index is ours.
"""

import argparse
import os
import resource
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import msgspec
import tree_sitter
from msgspec import Struct
from tree_sitter_language_pack import get_language

from bench.job import layout_for
from codecompass.identity import canonical_root
from codecompass.languages import PARSED_LANGUAGES, load
from codecompass.store.index import WorkspaceIndex


class FloorRun(Struct, frozen=True, kw_only=True):
    """Times in seconds, without the start of Python and the imports."""

    wall_seconds: float
    cpu_seconds: float
    files_read: int
    files_parsed: int
    bytes_parsed: int


def decode(stdout: bytes) -> FloorRun:
    """Decodes the output of the process."""
    return msgspec.json.decode(stdout, type=FloorRun)


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("root", type=Path)
    parser.add_argument("--home", type=Path, required=True)
    options = parser.parse_args(arguments)
    root = canonical_root(options.root)
    with WorkspaceIndex(layout_for(root, options.home), "").snapshot() as snapshot:
        # A file with a reason has no symbols in the index either.
        files = [(row.path, "" if row.reason else row.language) for row in snapshot.facts.files() if row.status == "indexed"]
    parsers = {language: _parser(language) for language in {language for _, language in files}}
    sys.stdout.buffer.write(msgspec.json.encode(_run(root, files, parsers)))


def _run(root: Path, files: Sequence[tuple[str, str]], parsers: dict[str, tree_sitter.Parser | None]) -> FloorRun:
    parsed = size = 0
    began, cpu = time.monotonic(), _cpu_seconds()
    for path, language in files:
        content = _read(os.path.join(root, path))
        parser = parsers.get(language)
        if parser is not None:
            parser.parse(content)
            parsed += 1
            size += len(content)
    return FloorRun(
        wall_seconds=time.monotonic() - began,
        cpu_seconds=_cpu_seconds() - cpu,
        files_read=len(files),
        files_parsed=parsed,
        bytes_parsed=size,
    )


def _read(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()


def _parser(language: str) -> tree_sitter.Parser | None:
    if language not in PARSED_LANGUAGES:
        return None
    try:
        return tree_sitter.Parser(get_language(load(language).grammar))  # type: ignore[arg-type]  # one of the pack's literals
    except (ImportError, LookupError, ValueError, OSError):
        return None


def _cpu_seconds() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


if __name__ == "__main__":
    main()
