"""The ecosystems of packages: the files that say how the modules of each are named, and the language whose module reads them.

A table like the one in `detect.py`, and for the same reason: every file of a repository is asked whether it is configuration, and
that must be known without loading any language.
"""

import re
from collections.abc import Mapping
from functools import cache
from typing import Final

from msgspec import Struct


class Ecosystem(Struct, frozen=True, kw_only=True):
    """One ecosystem. Patterns match the whole name of a file; a `*` stands for any characters."""

    language: str
    """The language whose `ImportRules` read the files, and whose imports the module roots are about."""
    files: tuple[str, ...] = ()
    """Patterns of configuration files."""
    sources: tuple[str, ...] = ()
    """Patterns of other files that may say how modules are named too; they are asked only if none of `files` matches."""
    mention: bytes = b""
    """What each of the `sources` that are read holds."""
    completes: str = ""
    """The ecosystem whose module roots follow from what these files say and from its own (`ImportRules.completed_roots`)."""


ECOSYSTEMS: Final[Mapping[str, Ecosystem]] = {
    "cargo": Ecosystem(language="rust", files=("Cargo.toml",)),
    "composer": Ecosystem(language="php", files=("composer.json",)),
    "dotnet": Ecosystem(language="csharp", files=("*.csproj",)),
    "go": Ecosystem(language="go", files=("go.mod",)),
    "jvm": Ecosystem(language="kotlin", sources=("*.kt",)),
    "node": Ecosystem(language="typescript", files=("package.json",)),
    "python": Ecosystem(language="python", files=("pyproject.toml", "setup.cfg", "setup.py")),
    "swift": Ecosystem(language="swift", files=("Package.swift",)),
    "tsconfig": Ecosystem(
        language="typescript",
        files=("jsconfig.json", "tsconfig.json", "tsconfig.*.json", "tsconfig-*.json"),
        # A configuration that others extend may have any name.
        sources=("*.json",),
        mention=b'"compilerOptions"',
        completes="node",
    ),
    "zig": Ecosystem(language="zig", files=("build.zig",)),
}
"""By the name that module roots carry."""


def is_configuration(path: str) -> bool:
    """Whether a file with this path exists to say how modules are named. Sources that may say it too do not count."""
    found = _table().find(path)
    return found is not None and not found.is_source


def ecosystem_of(path: str, source: bytes) -> Ecosystem | None:
    """Returns the ecosystem for which a file is read; None if it says nothing about the names of modules."""
    found = _table().find(path)
    if found is None or (found.is_source and found.ecosystem.mention not in source):
        return None
    return found.ecosystem


def records_of(ecosystem: str) -> tuple[str, ...]:
    """Returns the ecosystems that complete the module roots of another one."""
    return tuple(name for name, each in ECOSYSTEMS.items() if each.completes == ecosystem)


class _Row(Struct, frozen=True):
    ecosystem: Ecosystem
    is_source: bool


class _Table:
    """Finds the ecosystem of a file by its name: 1 us for a file that has none."""

    def __init__(self, rows: Mapping[str, _Row]) -> None:
        self._exact = {pattern: row for pattern, row in rows.items() if "*" not in pattern}
        self._inexact = [row for pattern, row in rows.items() if "*" in pattern]
        alternatives = [f"({re.escape(pattern).replace(re.escape('*'), '.*')})" for pattern in rows if "*" in pattern]
        self._match = re.compile("|".join(alternatives) or "(?!)", re.DOTALL).fullmatch

    def find(self, path: str) -> _Row | None:
        """Returns the first row whose pattern matches the name of a file, those without a `*` before the others."""
        name = path[path.rfind("/") + 1 :]
        found = self._exact.get(name)
        if found is not None:
            return found
        match = self._match(name)
        return None if match is None or match.lastindex is None else self._inexact[match.lastindex - 1]


@cache
def _table() -> _Table:
    files = {pattern: _Row(each, False) for each in ECOSYSTEMS.values() for pattern in each.files}
    return _Table(files | {pattern: _Row(each, True) for each in ECOSYSTEMS.values() for pattern in each.sources})
