"""Indexes work trees and queries them: questions in, run files out. Nothing here reads a right answer."""

import os
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Literal

import msgspec
from msgspec import Struct

from bench.job import index
from bench.measure import python
from bench.quality import ripgrep
from bench.quality.data import Answer, Question, Repository

Mode = Literal["root", "whole"]
Tool = Literal["search_code", "locate_symbol"]


class WorkTree(Struct, frozen=True, kw_only=True):
    """A repository's work tree. `is_pinned` is False if git reports another commit; `true_paths` are the original paths of a
    tree with disguised paths, by disguised path."""

    repository: Repository
    path: Path
    is_pinned: bool
    true_paths: Mapping[str, str] = {}

    def workspace(self, mode: Mode) -> Path:
        """Returns the directory to index: the sub-tree of the published figures, or the whole tree."""
        return self.path / self.repository.root if mode == "root" else self.path

    def prefix(self, mode: Mode) -> str:
        """Returns the prefix that turns a path of that workspace into one of the repository."""
        return f"{self.repository.root}/" if mode == "root" and self.repository.root else ""

    def restored(self, answer: Answer) -> Answer:
        """Returns an answer with the original paths."""
        if not self.true_paths:
            return answer
        hits = tuple(msgspec.structs.replace(hit, path=self.true_paths.get(hit.path, hit.path)) for hit in answer.results)
        return msgspec.structs.replace(answer, results=hits)


class AskFailed(Exception):
    """The answering process failed or answered too few questions."""


def find_trees(repositories: Iterable[Repository], directory: Path) -> tuple[list[WorkTree], list[str]]:
    """Returns the work trees in `directory`, and the names of the repositories that it lacks."""
    found, missing = [], []
    for repository in repositories:
        path = directory / repository.repo
        if (path / repository.root).is_dir():
            found.append(WorkTree(repository=repository, path=path, is_pinned=_head(path) in ("", repository.commit)))
        else:
            missing.append(repository.repo)
    return found, missing


def build(tree: WorkTree, mode: Mode, home: Path, *, reuse: bool) -> str:
    """Indexes a work tree and returns a sentence about it. `reuse` only updates an existing index."""
    usage, done = index(tree.workspace(mode), home, *([] if reuse else ["--force"]))
    return f"{done.file_count:,} files, {done.symbol_count:,} symbols, {usage.cpu_seconds:.1f} s CPU, {usage.wall_seconds:.1f} s"


def ask(tree: WorkTree, mode: Mode, home: Path, tool: Tool, questions: Sequence[Question], without: str = "") -> list[Answer]:
    """Returns the answers to `questions`, in their order, from a process that sees nothing else.

    `without` names a ranking signal to switch off.

    Raises AskFailed if the process fails or answers too few questions.
    """
    if not questions:
        return []
    command = python("-m", "bench.quality.ask", tree.workspace(mode), "--home", home, "--tool", tool)
    command += ["--without", without] if without else []
    return _answers(tree, [*command, "--prefix", tree.prefix(mode)], questions, os.environ)


def ask_ripgrep(tree: WorkTree, mode: Mode, tool: Tool, questions: Iterable[Question], program: str) -> list[Answer]:
    """Returns what ripgrep finds for `questions` (see `ripgrep`)."""
    find = ripgrep.search if tool == "search_code" else ripgrep.lookup
    return [tree.restored(find(program, tree.workspace(mode), tree.prefix(mode), question)) for question in questions]


def ask_semble(tree: WorkTree, mode: Mode, home: Path, questions: Sequence[Question], interpreter: str) -> list[Answer]:
    """Returns what semble finds for `questions`, run by the `interpreter` of an environment that has it. It may write to `home`.

    Raises AskFailed as `ask` does.
    """
    command = [interpreter, str(Path(__file__).with_name("ask_semble.py")), str(tree.workspace(mode)), tree.prefix(mode)]
    home.mkdir(parents=True, exist_ok=True)
    return _answers(tree, command, questions, {**os.environ, "HOME": str(home)})


def _answers(
    tree: WorkTree, command: Sequence[str | os.PathLike[str]], questions: Sequence[Question], environment: Mapping[str, str]
) -> list[Answer]:
    shown = b"".join(msgspec.json.encode(question) + b"\n" for question in questions)
    done = subprocess.run(command, input=shown, capture_output=True, check=False, env=dict(environment))
    decoder = msgspec.json.Decoder(Answer)
    answers = [tree.restored(decoder.decode(line)) for line in done.stdout.splitlines()]
    if done.returncode != 0 or len(answers) != len(questions):
        sys.stderr.buffer.write(done.stderr[-2000:])
        raise AskFailed(f"{tree.repository.repo}: {len(answers)} of {len(questions)} questions answered, exit {done.returncode}")
    return answers


def _head(path: Path) -> str:
    command = ["git", "-C", str(path), "rev-parse", "HEAD"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return ""
    return done.stdout.strip() if done.returncode == 0 and (path / ".git").exists() else ""
