"""The programs of the table, each described by what it is called with. Only public command lines and MCP are used, so that an old
commit of CodeCompass and another program are measured in the same way.

In arguments, `{tree}` is the measured tree, `{name}` its directory's name, `{store}` a directory of the program's own, and
`{asked}` the question.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, Literal

from msgspec import Struct
from msgspec.structs import replace

Kind = Literal["words", "literal", "locate", "references", "outline"]
"""The kinds of question."""

ROOT: Final = Path(__file__).resolve().parents[1]

OURS: Final = "this"


class Tool(Struct, frozen=True):
    """A call of an MCP tool that asks one question."""

    name: str
    arguments: Mapping[str, object]


class Program(Struct, frozen=True, kw_only=True):
    """A program. What it cannot do is empty, and left out of the table.

    `is_codecompass`: it tells how far its index is, and has `sync`. `store_in_tree` is a directory that it makes in the tree.
    """

    name: str
    version: str = ""
    index: tuple[str, ...] = ()
    sync: tuple[str, ...] = ()
    serve: tuple[str, ...] = ()
    find: tuple[str, ...] = ()
    """The command that finds a name."""
    tools: Mapping[Kind, Tool] = {}
    environment: Mapping[str, str] = {}
    store_in_tree: str = ""
    is_codecompass: bool = False


class Place(Struct, frozen=True):
    """Where a program works: the measured tree, and a directory of the program's own."""

    tree: Path
    store: Path

    def filled(self, arguments: Sequence[str], asked: str = "") -> list[str]:
        """Returns a command line without its placeholders."""
        return [self._filled(argument, asked) for argument in arguments]

    def call(self, tool: Tool, asked: str) -> dict[str, object]:
        """Returns the arguments of a tool's call without their placeholders."""
        return {name: self._value(value, asked) for name, value in tool.arguments.items()}

    def environment(self, program: Program) -> dict[str, str]:
        """Returns what is added to the environment of the program."""
        return {name: self._filled(value, "") for name, value in program.environment.items()}

    def _value(self, value: object, asked: str) -> object:
        if isinstance(value, dict):
            return {name: self._value(each, asked) for name, each in value.items()}
        return self._filled(value, asked) if isinstance(value, str) else value

    def _filled(self, text: str, asked: str) -> str:
        known = {"{tree}": str(self.tree), "{name}": self.tree.name, "{store}": str(self.store)}
        # The question last: it may contain anything.
        for mark, value in known.items():
            text = text.replace(mark, value)
        return text.replace("{asked}", asked)


def codecompass(name: str, root: Path) -> Program:
    """Returns the CodeCompass of the checkout at `root`, run by this Python with the packages that are installed here."""
    command = (sys.executable, "-P", "-m", "codecompass")
    return Program(
        name=name,
        version=_said(["git", "-C", str(root), "describe", "--always", "--dirty"]),
        index=(*command, "index", "{tree}"),
        sync=(*command, "sync", "--workspace", "{tree}"),
        serve=(*command, "serve-mcp", "--workspace", "{tree}"),
        find=(*command, "locate", "--workspace", "{tree}", "{asked}"),
        tools={
            "words": Tool("search_code", {"query": "{asked}"}),
            "literal": Tool("search_code", {"query": "{asked}", "mode": "literal"}),
            "locate": Tool("locate_symbol", {"name": "{asked}"}),
            "references": Tool("find_references", {"symbol_name": "{asked}"}),
            "outline": Tool("get_file_outline", {"path": "{asked}"}),
        },
        environment={"PYTHONPATH": str(root), "CODECOMPASS_HOME": "{store}", "CODECOMPASS_LOG_LEVEL": "error"},
        is_codecompass=True,
    )


# With a home of their own, what they keep can be measured and removed; nothing is sent and no process stays behind.
_QUIETLY: Final = {"HOME": "{store}", "DO_NOT_TRACK": "1", "CODEGRAPH_TELEMETRY": "0", "CODEGRAPH_NO_DAEMON": "1"}

OTHERS: Final[tuple[Program, ...]] = (
    Program(
        name="zoekt",
        index=("zoekt-index", "-index", "{store}", "{tree}"),
        find=("zoekt", "-index_dir", "{store}", r"\b{asked}\b"),
    ),
    Program(name="ctags", index=("ctags", "-R", "-f", "{store}/tags", "{tree}")),
    Program(name="rg", find=("rg", "--line-number", "--word-regexp", "--fixed-strings", "--", "{asked}", "{tree}")),
    Program(
        name="codegraph",
        index=("codegraph", "init", "{tree}"),
        serve=("codegraph", "serve", "--mcp", "--path", "{tree}"),
        find=("codegraph", "query", "--path", "{tree}", "{asked}"),
        tools={kind: Tool("codegraph_explore", {"query": "{asked}"}) for kind in ("words", "locate")},
        environment=_QUIETLY,
        store_in_tree=".codegraph",
    ),
    Program(
        name="jcodemunch-mcp",
        index=("jcodemunch-mcp", "index", "--no-ai-summaries", "--identity-mode", "local", "{tree}"),
        serve=("jcodemunch-mcp", "serve"),
        tools={
            kind: Tool("order", {"action": action, "args": {"repo": "{name}", argument: "{asked}"}})
            for kind, action, argument in (
                ("words", "search_symbols", "query"),
                ("literal", "search_text", "query"),
                ("locate", "search_symbols", "query"),
                ("references", "find_references", "identifier"),
            )
        },
        environment=_QUIETLY,
    ),
)
"""Text search, symbols, plain search, and a rival of npm and of PyPI each."""


def installed(directories: Sequence[Path]) -> tuple[list[Program], list[str]]:
    """Returns the other programs found in `directories` or on PATH, with full paths and versions, and the names of those that are
    absent."""
    path = os.pathsep.join([*map(str, directories), os.environ.get("PATH", os.defpath)])
    found, absent = [], []
    for program in OTHERS:
        commands = {command[0] for command in (program.index, program.serve, program.find) if command}
        paths = {name: shutil.which(name, path=path) for name in commands}
        if None in paths.values() or (program.name == "ctags" and ctags() is None):
            absent.append(program.name)
        else:
            found.append(_with_paths(program, {name: str(where) for name, where in paths.items()}))
    return found, absent


def _with_paths(program: Program, paths: Mapping[str, str]) -> Program:
    def named(command: tuple[str, ...]) -> tuple[str, ...]:
        return (paths[command[0]], *command[1:]) if command else ()

    # zoekt has no version.
    version = "" if program.name == "zoekt" else _said([next(iter(paths.values())), "--version"])
    return replace(program, version=version, index=named(program.index), serve=named(program.serve), find=named(program.find))


@cache
def ctags() -> str | None:
    """Returns the path of Universal Ctags; None if it is not installed (other ctags have other options)."""
    found = shutil.which("ctags")
    return found if found is not None and "Universal Ctags" in _said([found, "--version"]) else None


def _said(command: Sequence[str]) -> str:
    """Returns the first line that a command writes; empty if it fails."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=30)
    except OSError:
        return ""
    return done.stdout.partition("\n")[0].strip()


@contextmanager
def checked_out(commit: str) -> Iterator[Path]:
    """Makes a work tree of a commit of this repository, compiled as this one is; it is gone when the block ends.

    Raises CalledProcessError if there is no such commit.
    """
    git = ("git", "-C", str(ROOT), "worktree")
    with TemporaryDirectory(prefix="codecompass-commit-") as directory:
        root = Path(directory) / commit
        subprocess.run([*git, "add", "--quiet", "--detach", str(root), commit], check=True)
        try:
            yield root
        finally:
            subprocess.run([*git, "remove", "--force", str(root)], check=True)


def compile_package(root: Path) -> None:
    """Compiles the package of a checkout, so that no first run pays for that."""
    subprocess.run([sys.executable, "-m", "compileall", "-q", str(root / "codecompass")], check=False, stdout=subprocess.DEVNULL)
