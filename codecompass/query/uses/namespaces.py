"""Which of several definitions of one name a file can see, by the namespaces (packages) that files declare."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Final

from codecompass import lazy
from codecompass.languages.records import CLASS_LIKE
from codecompass.query.uses.definitions import KNOWN_NAMES, FileNames
from codecompass.store.rows import SymbolRow

_SEPARATOR: Final = lazy.pattern(r"::|[.\\]")


def namespace_of(row: SymbolRow) -> str:
    """Returns the namespace of a definition that is in no other, its parts between dots; '' for the global one."""
    whole = _with_dots(row.qualified_name)
    return whole if row.kind == "module" else whole.rpartition(".")[0]


@lru_cache(maxsize=KNOWN_NAMES)
def _with_dots(name: str) -> str:
    return ".".join(_SEPARATOR.split(name))


class Namespaces:
    """Knows the namespaces of files, for one question. Not thread-safe."""

    def __init__(self) -> None:
        self._own: dict[int, frozenset[str]] = {}

    def visible(self, rows: Sequence[SymbolRow], file: FileNames) -> list[SymbolRow]:
        """Returns those of the definitions whose namespace the file is in, else those whose namespace it imports.

        Members of types are left out.
        """
        outer = [row for row in rows if _is_outer(row)]
        if not outer or not is_declared(file):
            return []
        own = self.own(file)
        here = [row for row in outer if namespace_of(row) in own]
        if here:  # The innermost namespace hides those around it.
            longest = max(len(namespace_of(row)) for row in here)
            return [row for row in here if len(namespace_of(row)) == longest]
        imported = {_dotted(row.spec) for row in file.everything_from}
        return [row for row in outer if namespace_of(row) in imported]

    def own(self, file: FileNames) -> frozenset[str]:
        """Returns the namespaces that a file declares and, if its names may be relative to them, those around them."""
        known = self._own.get(file.file_id)
        if known is None:
            known = frozenset(namespace_of(row) for row in file.symbols if _is_outer(row)) or frozenset({""})
            if file.traits.binding.has_relative_names:
                known |= {name[:at] for name in known for at in range(len(name)) if name[at] == "."} | {""}
            self._own[file.file_id] = known
        return known


def is_declared(file: FileNames) -> bool:
    """Whether files of this language declare the namespace of what they define."""
    return file.traits.binding.declares == "namespace"


def may_be_seen(row: SymbolRow, file: FileNames) -> bool:
    """Whether a definition that no import of a file leads to can be visible in it all the same."""
    return not file.traits.binding.imports_are_per_file or not _is_outer(row)


def named_by(rows: Sequence[SymbolRow], spec: str, name: str) -> list[SymbolRow]:
    """Returns those of the definitions that an import of `name` from `spec` means by their qualified names."""
    whole = _dotted(spec)
    meant = f"{whole}.{name}" if name else whole
    return [row for row in rows if _with_dots(row.qualified_name) == meant]


def _is_outer(row: SymbolRow) -> bool:
    return row.parent_kind not in CLASS_LIKE and row.kind not in ("method", "field", "impl")


def _dotted(spec: str) -> str:
    return ".".join(part for part in _SEPARATOR.split(spec.removeprefix("global::")) if part)
