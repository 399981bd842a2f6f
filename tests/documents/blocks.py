"""The console blocks of the documents and the examples of `--help`: each command, and what is said to be printed."""

import re
import shlex
from pathlib import Path

import asyncclick
from msgspec import Struct

from codecompass.cli.main import build_app

ROOT = Path(__file__).parents[2]
DOCUMENTS = (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))

_BLOCK = re.compile(r"^```console\n(.*?)^```", re.MULTILINE | re.DOTALL)
_COMMENT = re.compile(r"\s+# [^'\"]*$")


class Example(Struct, frozen=True):
    """A command as it is typed, and the lines below it. `document` is relative to the root, `line` counts from 1."""

    document: str
    line: int
    command: str
    printed: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.document}:{self.line}"


def examples() -> list[Example]:
    """Returns all examples of the documents, in order."""
    found = []
    for path in DOCUMENTS:
        text = path.read_text(encoding="utf-8")
        for block in _BLOCK.finditer(text):
            first = text.count("\n", 0, block.start(1)) + 1
            found += _examples_in(str(path.relative_to(ROOT)), first, block[1].splitlines())
    return found


def _examples_in(document: str, first: int, lines: list[str]) -> list[Example]:
    found: list[Example] = []
    is_continued = False
    for number, line in enumerate(lines, first):
        if line.startswith("$ "):
            found.append(Example(document, number, _COMMENT.sub("", line[2:]).removesuffix("\\").rstrip()))
        elif is_continued:
            last = found[-1]
            found[-1] = Example(last.document, last.line, f"{last.command} {_COMMENT.sub('', line).strip()}")
        else:
            last = found[-1]
            found[-1] = Example(last.document, last.line, last.command, (*last.printed, line))
        is_continued = line.endswith("\\")
    return found


def own_commands(command: str) -> list[str]:
    """Returns those of a shell command line's commands that are ours, without redirections."""
    words = shlex.shlex(command, posix=True, punctuation_chars=";|>&")
    words.whitespace_split = True
    commands: list[list[str]] = [[]]
    is_target = False
    for word in words:
        if word in (";", "|", "&&"):
            commands.append([])
        elif word == ">":
            is_target = True
        elif is_target:
            is_target = False
        else:
            commands[-1].append(word)
    return [shlex.join(each) for each in commands if each and each[0] == "codecompass"]


async def help_examples() -> list[tuple[str, str]]:
    """Returns the command and the example of each example in `--help`."""
    app = build_app()
    context = await app.make_context("codecompass", [], resilient_parsing=True)
    found = []
    todo: list[tuple[str, asyncclick.Command, asyncclick.Context]] = [("codecompass", app, context)]
    while todo:
        name, command, context = todo.pop()
        examples = re.search(
            r"^Examples\n(.*?)(?:^\S|\Z)", asyncclick.unstyle(command.get_help(context)), re.MULTILINE | re.DOTALL
        )
        found += [(name, line.strip()) for line in (examples[1].splitlines() if examples else ()) if re.match(r"  \S", line)]
        for child_name in command.list_commands(context) if isinstance(command, asyncclick.Group) else ():
            child = command.get_command(context, child_name)
            assert child is not None
            made = await child.make_context(child_name, [], parent=context, resilient_parsing=True)
            todo.append((f"{name} {child_name}", child, made))
    return found
