"""Demonstrates CodeCompass on a repository: `make demo`, or `python bench/demo.py [PATH]`.

Indexes it with the real command line and asks a few questions, printing each command before its output. The questions are made
from the repository's own symbols, so it works on any repository. The index is stored with the user's indexes, and stays.
"""

import math
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from msgspec import Struct

from codecompass.cli.hosts.supported_hosts import HOSTS
from codecompass.cli.invocation import GlobalOptions, Invocation
from codecompass.identity import canonical_root, project_id
from codecompass.languages.words import split_identifier
from codecompass.scan.path_roles import role_of
from codecompass.store.index import WorkspaceIndex
from codecompass.store.rows import FileRow, SymbolRow
from codecompass.store.snapshot import Snapshot

LOOKED_AT: Final = 300
"""Number of files from which the questions are chosen: those with most definitions."""

OUTLINE_SYMBOLS: Final = range(4, 40)
OUTLINE_LINES: Final = 14
TYPES: Final = frozenset({"class", "struct", "interface", "trait", "enum"})
CALLABLES: Final = frozenset({"fn", "method"})
SENTENCE_WORDS: Final = range(5, 13)
OPENINGS: Final = frozenset({"a", "an", "are", "get", "gets", "is", "return", "returns", "the", "this"})
"""Words with which comments begin and questions do not."""


class Questions(Struct, frozen=True, kw_only=True):
    """The questions about a repository; each is empty if nothing in it fits."""

    sentence: str = ""
    name: str = ""
    outlined: str = ""


def main(arguments: Sequence[str]) -> int:
    """Runs the demonstration on the directory given, by default the one of this file."""
    root = canonical_root(arguments[0] if arguments else Path(__file__).parent.parent)
    if not root.is_dir():
        print(f"{root} is not a directory. Name a repository: make demo REPO=/path/to/one", file=sys.stderr)
        return 2
    say(f"$ cd {shlex.quote(str(root))}")
    code = run(root, "index")
    if code != 0:
        return code
    asked = questions_about(root)
    if asked.sentence:
        title("Find code by what it does: words, as you would ask a colleague")
        run(root, "search", "--limit", "3", asked.sentence)
    if asked.name:
        title("Go to a definition by its name")
        run(root, "locate", "--limit", "3", asked.name)
        title("Find where it is used: exact text, every line that has it")
        run(root, "search", "--limit", "3", "--mode", "literal", asked.name)
    if asked.outlined:
        title("See what a file defines, without reading it")
        run(root, "outline", asked.outlined, max_lines=OUTLINE_LINES)
    title("What to do next")
    print("\n".join(next_steps(root)))
    return 0


def questions_about(root: Path) -> Questions:
    """Chooses questions from the index of `root`; the same index gives the same questions."""
    home = Invocation(GlobalOptions()).home
    index = WorkspaceIndex(home.project(project_id(root)), project_id(root))
    try:
        with index.snapshot() as snapshot:
            return choose(snapshot)
    finally:
        index.close()


def choose(snapshot: Snapshot) -> Questions:
    """Takes the type (else function) with one definition that most of the code mentions, and the comment of another one."""
    files = [file for file in snapshot.facts.files() if file.symbol_count and role_of(file.path).rank == 0]
    files = sorted(files, key=lambda file: (-file.symbol_count, file.path))[:LOOKED_AT]
    rows = [row for file in files for row in snapshot.facts.symbols_in_file(file.id)]
    named = next(_well_known(snapshot, rows), None)
    about = next(_well_described(snapshot, rows, "" if named is None else named.path), None)
    return Questions(
        sentence=_question(about) if about is not None else "",
        name="" if named is None else named.name,
        outlined=_outlined(files, "" if named is None else named.path),
    )


def next_steps(root: Path) -> Iterator[str]:
    """Yields the commands to try next."""
    program = "codecompass"
    if shutil.which(program) is None:
        program = shlex.quote(str(Path(sys.executable).parent / program))
    yield f"  search a repository of yours    cd /path/to/it && {program} search 'what you look for'"
    yield "  see this on it                  make demo REPO=/path/to/it"
    yield f"  take in what has changed        {program} sync    (a search does it by itself)"
    yield f"  connect your editor or agent    {program} setup claude-code    (--dry-run shows what it would change)"
    yield f"                                  or: {', '.join(host.name for host in HOSTS if host.name != 'claude-code')}"
    yield f"  everything else                 {program} --help"
    yield f"  forget this repository          {program} projects remove {shlex.quote(str(root))}"


def run(root: Path, *arguments: str, max_lines: int | None = None) -> int:
    """Prints a codecompass command, runs it in `root`, and prints how long it took. Cuts its output at `max_lines`."""
    say(f"$ codecompass {shlex.join(arguments)}")
    began = time.monotonic()
    # -P: modules of the demonstrated repository must not replace ours.
    command = [sys.executable, "-P", "-m", "codecompass", *arguments]
    done = subprocess.run(command, cwd=root, stdout=None if max_lines is None else subprocess.PIPE, check=False)
    took = time.monotonic() - began
    if max_lines is not None and done.stdout is not None:
        lines = done.stdout.decode("utf-8", "replace").splitlines()
        print("\n".join(lines[:max_lines]))
        if len(lines) > max_lines:
            print(f"... and {len(lines) - max_lines} lines more")
    say(f"({took:.2f} s, Python's start included)", "2")
    return done.returncode


def title(text: str) -> None:
    """Prints a heading."""
    say(f"\n{text}", "1")


def say(text: str, style: str = "36") -> None:
    """Prints a line, styled if stdout is a terminal."""
    print(f"\x1b[{style}m{text}\x1b[0m" if sys.stdout.isatty() else text, flush=True)


def _well_known(snapshot: Snapshot, rows: Sequence[SymbolRow]) -> Iterator[SymbolRow]:
    for kinds in (TYPES, CALLABLES):
        found = {row.name: row for row in rows if row.kind in kinds and _is_telling(row.name)}
        worth = {
            # A name in nearly every chunk is a framework's word; the logarithm keeps less frequent names competitive.
            name: math.log1p(snapshot.text.document_frequency("body", name.lower())) + 0.5 * bool(row.doc)
            for name, row in found.items()
        }
        for name in sorted(found, key=lambda name: (-worth[name], name)):
            if len(snapshot.facts.symbols_named(name, 2)) == 1:
                yield found[name]


def _is_telling(name: str) -> bool:
    return name.isidentifier() and len([part for part in split_identifier(name) if len(part) > 2]) > 1


def _well_described(snapshot: Snapshot, rows: Sequence[SymbolRow], elsewhere: str) -> Iterator[SymbolRow]:
    candidates = [row for row in rows if row.kind in CALLABLES and row.visibility != "private" and row.path != elsewhere]
    worth = {}
    for row in candidates:
        words = _question(row).lower().split()
        if len(words) in SENTENCE_WORDS:
            # Words in few files are the informative ones.
            worth[row.id] = sum(math.log1p(snapshot.text.document_frequency("body", word)) for word in words) / len(words)
    fitting = [row for row in candidates if row.id in worth]
    yield from sorted(fitting, key=lambda row: (worth[row.id], row.path, row.line_start))


def _question(row: SymbolRow) -> str:
    """Returns the first sentence of a comment, without its opening words; empty if it is not in plain words."""
    words = row.doc.split(". ")[0].rstrip(".").split()
    while words and words[0].lower() in OPENINGS | {row.name.lower()}:
        words = words[1:]
    is_plain = all(word.strip(",;'").replace("-", "").isalpha() and word.isascii() for word in words)
    return " ".join(words) if is_plain and row.name not in words else ""


def _outlined(files: Sequence[FileRow], preferred: str) -> str:
    fitting = [file for file in files if file.symbol_count in OUTLINE_SYMBOLS] or list(files)
    best = [file.path for file in fitting if file.path == preferred] or [file.path for file in fitting]
    return best[0] if best else ""


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except (BrokenPipeError, KeyboardInterrupt):
        sys.exit(1)
