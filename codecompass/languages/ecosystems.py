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
    return _configurations()(path) is not None


def ecosystem_of(path: str, source: bytes) -> Ecosystem | None:
    """Returns the ecosystem for which a file is read; None if it says nothing about the names of modules."""
    found = _configurations()(path)
    if found is None:
        found = _sources()(path)
        if found is not None and found.mention not in source:
            return None
    return found


def records_of(ecosystem: str) -> tuple[str, ...]:
    """Returns the ecosystems that complete the module roots of another one."""
    return tuple(name for name, each in ECOSYSTEMS.items() if each.completes == ecosystem)


class _Patterns:
    """Finds the ecosystem of a file by its name, in 0.5 us if it has none."""

    def __init__(self, patterns: Mapping[str, Ecosystem]) -> None:
        self._exact = {pattern: ecosystem for pattern, ecosystem in patterns.items() if "*" not in pattern}
        self._inexact = [ecosystem for pattern, ecosystem in patterns.items() if "*" in pattern]
        alternatives = [f"({re.escape(pattern).replace(re.escape('*'), '.*')})" for pattern in patterns if "*" in pattern]
        self._search: Final = re.compile("|".join(alternatives) or "(?!)", re.DOTALL).fullmatch

    def __call__(self, path: str) -> Ecosystem | None:
        name = path[path.rfind("/") + 1 :]
        found = self._exact.get(name)
        if found is not None:
            return found
        match = self._search(name)
        return None if match is None or match.lastindex is None else self._inexact[match.lastindex - 1]


@cache
def _configurations() -> _Patterns:
    return _Patterns({pattern: ecosystem for ecosystem in ECOSYSTEMS.values() for pattern in ecosystem.files})


@cache
def _sources() -> _Patterns:
    return _Patterns({pattern: ecosystem for ecosystem in ECOSYSTEMS.values() for pattern in ecosystem.sources})
