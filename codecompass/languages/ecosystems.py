"""The ecosystems of packages: the files that say how the modules of each are named, and the language whose module reads them.

Every file of a repository is asked whether it is configuration, and that must be known without loading any language: the table
of ecosystems stands beside that of languages (`table.py`).
"""

import re
from collections.abc import Mapping
from functools import cache

from msgspec import Struct

from codecompass.languages.table import ECOSYSTEMS, Ecosystem


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


def may_declare_roots(path: str) -> bool:
    """Whether `ecosystem_of` returns something for some content of a file. Reads nothing."""
    return _table().find(path) is not None


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
