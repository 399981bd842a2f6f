"""Reads a repository at a commit with git: its source files and the changes that led to it.

Nothing is checked out, and the machine's git configuration has no influence. How git finds the function of a change depends on
git's own patterns; the note names git's version.
"""

import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from msgspec import Struct

from bench.lexicon.identifier_words import identifier_words, words_of
from bench.lexicon.records import ChangeWords, Repository
from codecompass.languages import PARSED_LANGUAGES
from codecompass.languages.detect import EXTENSIONS
from codecompass.languages.words import word_set
from codecompass.scan.path_roles import role_of

MAX_FILES: Final = 3_000
"""Source files that are read per repository, evenly spaced over the sorted list."""
MAX_FILE_BYTES: Final = 300_000
"""Larger files are data or generated."""

MAX_COMMITS: Final = 6_000
"""Commits that are examined, newest first."""
MAX_CHANGES: Final = 2_000
"""Commits that are used."""
MIN_SUBJECT: Final = 3
MAX_SUBJECT: Final = 14
"""Words of a subject line."""
MAX_CHANGED_FILES: Final = 5
MAX_CHANGED_LINES: Final = 120
"""The message of a larger commit does not describe each line."""
MAX_CHANGED_WORDS: Final = 40

_DRIVERS: Final = (
    ("python", "py pyi"),
    ("rust", "rs"),
    ("golang", "go"),
    ("java", "java"),
    ("kotlin", "kt kts"),
    ("cpp", "c h cc cpp cxx hh hpp hxx"),
    ("csharp", "cs"),
    ("ruby", "rb rake"),
    ("php", "php"),
    ("elixir", "ex exs"),
    ("bash", "sh bash bats"),
)
"""git's patterns for the line that names a function, and the extensions they are used for."""

_ENVIRONMENT: Final = {"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull, "LC_ALL": "C.UTF-8"}

SKIPPED_SUBJECT: Final = re.compile(
    r"merge|revert|bump|release|prepare|version|v?\d|typo|changelog|chore|docs?\b|ci\b|style\b"
    r"|update (?:changelog|readme|copyright)",
    re.IGNORECASE,
)
NUMBER_REFERENCE: Final = re.compile(r"\(?(?:#|GH-|gh-)\d+\)?")
_KIND_PREFIX: Final = re.compile(r"^(?:fix|feat|feature|refactor|perf|test|build)(?:\([^)]*\))?!?:", re.IGNORECASE)
_NAMED: Final = re.compile(
    r"\b(?:def|defp|defmacro|fn|func|function|fun|sub|class|struct|interface|trait|impl|module|object|enum|protocol)\s+"
    r"(?:\([^)]*\)\s*)?(?:self\.)?([A-Za-z_$][\w$]*(?:(?:::|\.)[A-Za-z_$][\w$]*)*)"
)
_CALLED: Final = re.compile(r"([A-Za-z_$~][\w$]*)\s*(?:<[^<>()]*>)?\(")
_NOT_NAMES: Final = word_set("if for while switch catch return sizeof typeof elif with match when")


class SourceFile(Struct, frozen=True):
    """A file of a language with symbols, at the commit. The path is relative to the repository."""

    path: str
    source: bytes


def clone(repository: Repository, directory: Path) -> Path:
    """Returns the git directory of a repository, `OWNER+NAME.git` below `directory`; clones it with all history if missing.

    Raises:
        subprocess.CalledProcessError: git could not clone it.
    """
    target = directory / f"{repository.file_stem}.git"
    if not target.is_dir():
        _run(directory, "clone", "--quiet", "--bare", repository.url, str(target))
    return target


def source_files(git_directory: Path, commit: str) -> Iterator[SourceFile]:
    """Yields the source files of a commit by path, without tests, examples, vendored or generated files."""
    listed: list[tuple[str, str]] = []
    for entry in _run(git_directory, "ls-tree", "-r", "-l", "-z", "--full-tree", commit).split(b"\0"):
        head, _, raw = entry.partition(b"\t")
        fields = head.split()
        path = raw.decode("utf-8", "surrogateescape")
        is_readable = len(fields) == 4 and fields[3].isdigit() and int(fields[3]) <= MAX_FILE_BYTES
        if is_readable and is_product_source(path):
            listed.append((path, fields[2].decode()))
    step = max(1.0, len(listed) / MAX_FILES)
    chosen = [listed[int(number * step)] for number in range(min(len(listed), MAX_FILES))]
    with subprocess.Popen(
        _command(git_directory, "cat-file", "--batch"),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=os.environ | _ENVIRONMENT,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for path, blob in chosen:
            process.stdin.write(blob.encode() + b"\n")
            process.stdin.flush()
            size = int(process.stdout.readline().split()[2])
            source = process.stdout.read(size)
            process.stdout.read(1)
            yield SourceFile(path, source)
        process.stdin.close()


def is_product_source(path: str) -> bool:
    """Whether a path is a source file with symbols that is not a test, example, vendored or generated file."""
    role = role_of(path)
    if role.is_test or role.is_example or role.is_generated or role.is_vendored:
        return False
    return _language(path) in PARSED_LANGUAGES


def changes(git_directory: Path, commit: str, attributes: Path) -> Iterator[ChangeWords]:
    """Yields the words of the suitable commits that lead to `commit`, newest first.

    Writes the file `attributes`, which tells git the language of each extension.

    Raises:
        subprocess.CalledProcessError: git could not read all of the history.
    """
    attributes.write_text("".join(f"*.{extension} diff={name}\n" for name, all_of in _DRIVERS for extension in all_of.split()))
    globs = sorted(f"*{extension}" for extension, language in EXTENSIONS.items() if language in PARSED_LANGUAGES)
    command = _command(
        git_directory,
        *("-c", f"core.attributesFile={attributes}", "-c", "diff.algorithm=myers", "-c", "core.quotePath=false"),
        *("log", "-p", "-U0", "--no-merges", "--no-color", "--no-ext-diff", "--no-textconv", "--no-renames", "--diff-filter=M"),
        *("--no-indent-heuristic", "--src-prefix=a/", "--dst-prefix=b/", "--format=%x01%s", f"--max-count={MAX_COMMITS}", commit),
        *("--", *globs),
    )
    n_taken = 0
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=os.environ | _ENVIRONMENT) as process:
        assert process.stdout is not None
        change: _Change | None = None
        for raw in process.stdout:
            line = raw[:1_000].decode("utf-8", "replace")
            if line.startswith("\x01"):
                if change is not None and (words := change.words()) is not None:
                    yield words
                    n_taken += 1
                    if n_taken >= MAX_CHANGES:
                        process.kill()
                        return
                change = _Change(line[1:].strip())
            elif change is not None and change.is_open:
                change.read(line)
        if process.wait() != 0:
            raise subprocess.CalledProcessError(process.returncode, command[:2])
        if change is not None and (words := change.words()) is not None:
            yield words


class _Change:
    """One commit of `git log`, read line by line. Stops reading once the commit turns out to be unsuitable."""

    def __init__(self, subject: str) -> None:
        self._subject = tuple(dict.fromkeys(words_of(NUMBER_REFERENCE.sub(" ", _KIND_PREFIX.sub(" ", subject)))))
        is_long_enough = MIN_SUBJECT <= len(subject.split()) <= MAX_SUBJECT and len(self._subject) >= MIN_SUBJECT - 1
        self.is_open = is_long_enough and SKIPPED_SUBJECT.match(subject) is None
        self._path: str | None = None
        self._is_header = True
        self._n_files = 0
        self._functions: dict[tuple[str, str], None] = {}
        self._lines: list[str] = []

    def read(self, line: str) -> None:
        if line.startswith("diff --git "):
            self._path = None
            self._is_header = True
        elif self._is_header and line.startswith("+++ b/"):
            path = line[6:].rstrip("\n").rstrip("\t")
            if is_product_source(path):
                self._path = path
                self._n_files += 1
                self.is_open = self._n_files <= MAX_CHANGED_FILES
        elif line.startswith("@@ ") and self._path is not None:
            self._is_header = False
            name = _function_name(line.partition(" @@")[2])
            if name:
                self._functions[self._path, name] = None
        elif not self._is_header and self._path is not None and line[:1] in "+-":
            self._lines.append(line[1:])
            self.is_open = len(self._lines) <= MAX_CHANGED_LINES

    def words(self) -> ChangeWords | None:
        if not self.is_open or not self._lines:
            return None
        changed = identifier_words(self._lines, MAX_CHANGED_WORDS)
        return ChangeWords(self._subject, tuple(self._functions), changed) if changed else None


def _function_name(heading: str) -> str:
    """Returns the last part of the name in git's hunk heading; empty if it has no name."""
    found = _NAMED.search(heading)
    if found is not None:
        return re.split(r"::|\.", found[1])[-1]
    names = [name for name in _CALLED.findall(heading) if name not in _NOT_NAMES]
    return names[0] if names else ""


def _language(path: str) -> str:
    suffix = "." + path.rpartition(".")[2] if "." in path.rpartition("/")[2] else ""
    return EXTENSIONS.get(suffix) or EXTENSIONS.get(suffix.lower(), "")


def _command(git_directory: Path, *arguments: str) -> list[str]:
    return ["git", f"--git-dir={git_directory}", *arguments]


def _run(directory: Path, *arguments: str) -> bytes:
    is_repository = (directory / "HEAD").is_file()
    command = _command(directory, *arguments) if is_repository else ["git", *arguments]
    return subprocess.run(command, check=True, capture_output=True, env=os.environ | _ENVIRONMENT).stdout
