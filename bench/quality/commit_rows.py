"""Makes rows for `bench.quality.commits` from the history of other repositories: `python -m bench.quality.commit_rows NAME=GIT`.

A GIT is a git directory; several may be named. Of its newest commits that change little code (--among, evenly thinned out to
--commits), the subject is the question; the functions that its lines are in, and that are still there, are the truth. --out gets
the work trees of the newest commits (`trees/NAME`), `repos.jsonl` and `commits.jsonl`, as `bench.quality.commits` reads them:

    python -m bench.quality.commits --trees OUT/trees --truth OUT --out DIR

Functions are found by the program's own parsers, at the commit and at the head, and compared by path and qualified name; tests,
examples, generated and vendored files are no truth. What is fitted must be judged on repositories that had no part in it.
"""

import argparse
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

import tree_sitter
from msgspec import Struct
from tree_sitter_language_pack import get_language

from bench.corpus import OUT
from bench.lexicon.git_repository import MAX_FILE_BYTES, NUMBER_REFERENCE, SKIPPED_SUBJECT, is_product_source
from bench.quality.changes import git
from bench.quality.commits import LONGEST_RANGE, Commit, Function
from bench.quality.data import Repository, write_lines
from codecompass.languages import PARSED_LANGUAGES, load
from codecompass.languages.detect import language_of
from codecompass.languages.language import Language
from codecompass.languages.records import Symbol
from codecompass.languages.walk.extract import extract, parse

MAX_COMMITS: Final = 6_000
"""Commits that are examined, newest first."""
SUBJECT_WORDS: Final = range(3, 15)
MAX_FILES: Final = 3
MAX_LINES: Final = 120
MAX_FUNCTIONS: Final = 3
"""Larger commits: a line does not describe everything in them."""

_FUNCTIONS: Final = frozenset({"fn", "method", "macro"})
_HUNK: Final = re.compile(r"@@ -\d+(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
_DEFECTS: Final = (ValueError, RecursionError, AttributeError, IndexError, TypeError, KeyError)
"""Errors that a defect in the rules of a language raises; the file then has no functions."""


class _Change(Struct, frozen=True):
    """A commit, its subject, and the first and last new lines of its hunks by file."""

    commit: str
    subject: str
    lines: Mapping[str, Sequence[tuple[int, int]]]


class _Functions:
    """Reads the functions of files of one repository at its commits. Not thread-safe."""

    def __init__(self, clone: Path) -> None:
        self._clone = clone
        self._parsers: dict[str, tuple[Language, tree_sitter.Parser]] = {}
        self._at_head: dict[str, dict[str, Symbol]] = {}

    def changed(self, change: _Change, head: str) -> list[Function]:
        """Returns the functions of the commit `head` that a change touched, each once."""
        found: dict[tuple[str, str], Function] = {}
        for path, hunks in change.lines.items():
            names = _innermost(self._of(change.commit, path), hunks)
            if path not in self._at_head:
                symbols = self._of(head, path)
                counts = Counter(each.qualified_name for each in symbols)
                self._at_head[path] = {each.qualified_name: each for each in symbols if counts[each.qualified_name] == 1}
            for name in names:
                now = self._at_head[path].get(name)
                if now is not None and now.line_end - now.line_start <= LONGEST_RANGE:
                    found[path, name] = Function(path=path, line_start=now.line_start, line_end=now.line_end, name=now.name)
        return list(found.values())

    def _of(self, commit: str, path: str) -> list[Symbol]:
        done = subprocess.run(["git", "-C", str(self._clone), "show", f"{commit}:{path}"], check=False, capture_output=True)
        source = done.stdout
        name = language_of(path, source)
        if done.returncode or len(source) > MAX_FILE_BYTES or name not in PARSED_LANGUAGES:
            return []
        if name not in self._parsers:
            language = load(name)
            self._parsers[name] = (language, tree_sitter.Parser(get_language(language.grammar)))  # type: ignore[arg-type]
        language, parser = self._parsers[name]
        try:
            symbols = extract(language, parse(language, parser, source).root_node, source, path).symbols
        except _DEFECTS:
            return []
        return [each for each in symbols if each.kind in _FUNCTIONS]


def _innermost(functions: Sequence[Symbol], hunks: Sequence[tuple[int, int]]) -> set[str]:
    """Returns the qualified names of the shortest functions around the first or last lines of hunks."""
    names: set[str] = set()
    for line in {line for hunk in hunks for line in hunk}:
        around = [each for each in functions if each.line_start <= line <= each.line_end]
        if around:
            names.add(min(around, key=lambda each: each.line_end - each.line_start).qualified_name)
    return names


def commits_of(name: str, language: str, clone: Path, among: int, wanted: int) -> list[Commit]:
    """Returns the rows of the newest `among` commits that qualify, evenly thinned out, the newest first."""
    head = git(clone, "rev-parse", "HEAD").strip()
    functions = _Functions(clone)
    rows: list[Commit] = []
    said: set[str] = set()
    for change in _changes(clone):
        if change.subject in said:
            continue
        said.add(change.subject)
        relevant = functions.changed(change, head)
        if not 0 < len(relevant) <= MAX_FUNCTIONS:
            continue
        is_named = any(re.search(rf"(?<!\w){re.escape(each.name)}(?!\w)", change.subject) for each in relevant)
        rows.append(
            Commit(
                id=f"{name}-{len(rows):03}",
                repo=name,
                language=language,
                query=change.subject,
                category="named" if is_named else "described",
                relevant=tuple(relevant),
            )
        )
        if len(rows) == among:
            break
    return [rows[at * len(rows) // wanted] for at in range(wanted)] if len(rows) > wanted else rows


def _changes(clone: Path) -> Iterator[_Change]:
    """Yields the commits that may be rows, newest first."""
    form = ("--no-merges", "--no-renames", "--diff-filter=M", "-p", "-U0", "--no-color", "--no-ext-diff", "--no-textconv")
    command = ["git", "-C", str(clone), "-c", "core.quotePath=false", "log", f"--max-count={MAX_COMMITS}", *form]
    with subprocess.Popen([*command, "--format=%x01%H %s", "HEAD"], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        commit = subject = ""
        lines: dict[str, list[tuple[int, int]]] = {}
        path, n_lines, is_header = "", 0, True
        for raw in process.stdout:
            if raw.startswith(b"\x01"):
                if _is_row(subject, lines, n_lines):
                    yield _Change(commit, subject, lines)
                commit, _, subject = raw[1:].decode("utf-8", "replace").strip().partition(" ")
                subject = " ".join(NUMBER_REFERENCE.sub(" ", subject).split())
                lines, n_lines = {}, 0
            elif raw.startswith(b"diff --git "):
                path, is_header = "", True
            elif is_header and raw.startswith(b"+++ b/"):
                new = raw[6:].decode("utf-8", "surrogateescape").rstrip("\n").rstrip("\t")
                path = new if is_product_source(new) else ""
            elif raw.startswith(b"@@ ") and path:
                is_header = False
                hunk = _HUNK.match(raw.decode("utf-8", "replace"))
                if hunk is not None:
                    removed, first, added = (int(part or 1) for part in hunk.groups())
                    n_lines += removed + added
                    lines.setdefault(path, []).append((first, first + max(0, added - 1)))
        process.kill()
        if _is_row(subject, lines, n_lines):
            yield _Change(commit, subject, lines)


def _is_row(subject: str, lines: Mapping[str, object], n_lines: int) -> bool:
    is_sentence = len(subject.split()) in SUBJECT_WORDS and SKIPPED_SUBJECT.match(subject) is None
    return is_sentence and 0 < len(lines) <= MAX_FILES and n_lines <= MAX_LINES


def _check_out(clone: Path, tree: Path) -> None:
    tree.mkdir(parents=True)
    with subprocess.Popen(["git", "-C", str(clone), "archive", "HEAD"], stdout=subprocess.PIPE) as archive:
        subprocess.run(["tar", "-x", "-C", str(tree)], stdin=archive.stdout, check=True)


def _language(tree_paths: Sequence[str]) -> str:
    """Returns the language of most product files."""
    counts = Counter(language_of(path, b"") for path in tree_paths if is_product_source(path))
    return str(counts.most_common(1)[0][0]) if counts else ""


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command line."""
    layout = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(prog="bench.quality.commit_rows", description=__doc__, formatter_class=layout)
    parser.add_argument("repositories", nargs="+", help="NAME=GIT")
    parser.add_argument("--among", type=int, default=200)
    parser.add_argument("--commits", type=int, default=100)
    parser.add_argument("--out", type=Path, default=OUT / "quality" / "commit_rows", help="work trees and rows")
    options = parser.parse_args(arguments)
    repositories: list[Repository] = []
    commits: list[Commit] = []
    for named in options.repositories:
        name, _, path = named.partition("=")
        clone, tree = Path(path), options.out / "trees" / name
        if not tree.is_dir():
            _check_out(clone, tree)
        language = _language(git(clone, "ls-tree", "-r", "--name-only", "HEAD").splitlines())
        own = commits_of(name, language, clone, options.among, options.commits)
        repositories.append(Repository(name, git(clone, "rev-parse", "HEAD").strip(), language))
        commits += own
        print(f"{name}: {len(own)} commits, {language}", file=sys.stderr, flush=True)
    write_lines(options.out / "repos.jsonl", repositories)
    write_lines(options.out / "commits.jsonl", commits)
    return 0


if __name__ == "__main__":
    sys.exit(main())
