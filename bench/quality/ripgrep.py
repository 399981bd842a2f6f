"""What ripgrep finds for a question, ranked as an agent would read it: the floor that a search engine has to beat.

A search runs once for each word of the question; files with the most distinct words come first. A lookup searches for the name as
a whole word; lines that look like a definition come first. Neither sees a right answer.
"""

import re
import subprocess
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from bench.quality.data import Answer, Hit, Question
from codecompass.languages.words import word_set

LIMIT: Final = 10
SHORTEST_WORD: Final = 3

_WORD: Final = re.compile(rf"\w{{{SHORTEST_WORD},}}")
_STOP_WORDS: Final = word_set(
    "the and for are was how what where when which who why does did with that this from into its has"
    " have can not but all any get use used using between there these those they them than then about after before also"
)
_DEFINING: Final = (
    r"(?:def|class|fn|func|fun|function|struct|enum|trait|interface|type|impl|module|mod|macro_rules!|const|let|var|val|static|"
    r"object|protocol|record|data|newtype|namespace|defp?|defmodule|defmacro|public|private|protected|internal|export|local)\b"
)


def words_of(query: str) -> list[str]:
    """Returns the words of a query worth searching for, in lower case, each once."""
    return [word for word in dict.fromkeys(_WORD.findall(query.lower())) if word not in _STOP_WORDS]


def looks_like_definition(name: str) -> re.Pattern[str]:
    """Returns the pattern of lines that look like a definition of `name`."""
    return re.compile(rf"{_DEFINING}[^=;]*?(?<!\w){re.escape(name)}(?!\w)")


def search(ripgrep: str, workspace: Path, prefix: str, question: Question) -> Answer:
    """Returns the files of a workspace with the most distinct words of the question, then by number of matches, then by path."""
    distinct: Counter[str] = Counter()
    often: Counter[str] = Counter()
    for word in words_of(question.query):
        for row in _run(ripgrep, workspace, "--count-matches", "--ignore-case", "--fixed-strings", "--regexp", word):
            path, _, count = row.rpartition(":")
            distinct[path] += 1
            often[path] += int(count)
    best = sorted(distinct, key=lambda path: (-distinct[path], -often[path], path))[:LIMIT]
    return _answer(question, [Hit(path=prefix + path.removeprefix("./")) for path in best])


def lookup(ripgrep: str, workspace: Path, prefix: str, question: Question) -> Answer:
    """Returns the lines with the name as a whole word: those that look like its definition first, then by path."""
    name = question.query
    looks = looks_like_definition(name)
    found = []
    rows = _run(ripgrep, workspace, "--line-number", "--word-regexp", "--fixed-strings", "--max-columns", "500", "--regexp", name)
    for row in rows:
        path, _, rest = row.partition(":")
        line, _, text = rest.partition(":")
        if line.isdigit():
            found.append((looks.search(text) is None, path, int(line)))
    hits = [Hit(path=prefix + path.removeprefix("./"), line_start=line, line_end=line) for _, path, line in sorted(found)[:LIMIT]]
    return _answer(question, hits)


def _run(ripgrep: str, workspace: Path, *arguments: str) -> list[str]:
    command = [ripgrep, "--no-config", "--no-heading", "--with-filename", *arguments, "."]
    done = subprocess.run(command, cwd=workspace, capture_output=True, check=False)
    return [row for row in done.stdout.decode("utf-8", "replace").splitlines() if ":" in row]


def _answer(question: Question, hits: Sequence[Hit]) -> Answer:
    return Answer(repo=question.repo, query=question.query, results=tuple(hits))
