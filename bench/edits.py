"""Realistic edits: a new function at the end of a file. Each can be undone."""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final

from msgspec import Struct

_C_LIKE: Final = "\nint {name}(int value) {{\n    return value + {tag};\n}}\n"
_JAVASCRIPT: Final = "\nexport function {name}(value) {{\n  return value + {tag};\n}}\n"

FUNCTIONS: Final[Mapping[str, str]] = {
    ".py": "\n\ndef {name}(value):\n    return value + {tag}\n",
    ".go": "\nfunc {name}(value int) int {{\n\treturn value + {tag}\n}}\n",
    ".ts": _JAVASCRIPT,
    ".js": _JAVASCRIPT,
    ".java": "\nclass {name} {{\n    int value() {{\n        return {tag};\n    }}\n}}\n",
    ".rs": "\nfn {name}(value: i64) -> i64 {{\n    value + {tag}\n}}\n",
    ".c": _C_LIKE,
    ".cc": _C_LIKE,
    ".cpp": _C_LIKE,
    ".rb": "\ndef {name}(value)\n  value + {tag}\nend\n",
}
"""A definition of `name`, by the suffix of the file that it is appended to."""


class Edit(Struct, frozen=True, kw_only=True):
    """An edited file: its path relative to the root, the name it now defines, and its previous content."""

    root: Path
    path: str
    name: str
    before: bytes


def editable(paths: Iterable[str]) -> list[str]:
    """Returns the paths to which a function can be appended, in a pseudorandom but reproducible order: by hash, so that two paths
    have the same order whatever the others are."""
    known = [path for path in paths if Path(path).suffix in FUNCTIONS]
    return sorted(known, key=lambda path: hashlib.blake2b(path.encode("utf-8", "surrogatepass"), digest_size=8).digest())


def edit_files(root: Path, paths: Sequence[str], *, tag: int) -> tuple[Edit, ...]:
    """Appends a new definition to each file and returns the edits, for `undo`."""
    edits = []
    for number, path in enumerate(paths):
        name = f"BenchEdit{tag}x{number}"
        file = root / path
        before = file.read_bytes()
        file.write_bytes(before + FUNCTIONS[Path(path).suffix].format(name=name, tag=tag).encode())
        edits.append(Edit(root=root, path=path, name=name, before=before))
    return tuple(edits)


def undo(edits: Iterable[Edit]) -> None:
    """Restores the previous content of the files."""
    for edit in edits:
        (edit.root / edit.path).write_bytes(edit.before)
