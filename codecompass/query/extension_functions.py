"""Functions that are declared outside a type and called like its members: Kotlin's `fun Type.name()`, C#'s `(this Type name)`,
Scala's `extension (value: Type) def name`.

Such a function is visible where its package is, or where it is imported; a member of the type with the same name wins.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from codecompass.query.definitions import (
    Definitions,
    FileNames,
    imported_path,
    last_part,
    name_path,
    owner_name,
    package_path,
)
from codecompass.store.rows import SymbolRow

WITH_EXTENSIONS: Final = frozenset({"csharp", "kotlin", "scala"})
"""Languages with functions that are called like members of types they extend."""

_KOTLIN: Final = re.compile(
    r"\b(?:fun|va[lr])\s+(?P<parameters><[^()]*?>\s*)?\(?(?P<type>[\w.]+(?:<[^()=]*>)?)\??\)?\??\.`?(?P<name>\w+)`?\s*[(:<=]"
)
_CSHARP: Final = re.compile(r"\(\s*this\s+(?:(?:ref|in|scoped|readonly)\s+)*(?P<type>[\w.]+)")
_TYPE_PARAMETER: Final = re.compile(r"T[A-Z]\w*|[A-Z]\d?")
_ANY_TYPE: Final = frozenset({"Any", "Object", "object"})


def extended_type(row: SymbolRow) -> str:
    """Returns the last name of the type that a function extends; empty if it is no extension."""
    if row.language == "kotlin" and "." in row.signature:
        found = _KOTLIN.search(row.signature)
        is_extension = found is not None and found["name"] == row.name
        return last_part(found["type"].partition("<")[0], row.language) if found is not None and is_extension else ""
    if row.language == "csharp" and "this " in row.signature:
        found = _CSHARP.search(row.signature)
        return last_part(found["type"], row.language) if found is not None else ""
    # The one of Scala is in an `extension`, which is named after the type.
    return owner_name(row) if row.language == "scala" and row.parent_kind == "impl" else ""


def takes_any_type(extended: str) -> bool:
    """Whether an extension of this type is one of every type: a type parameter, or the root of all types."""
    return extended in _ANY_TYPE or _TYPE_PARAMETER.fullmatch(extended) is not None


def visible_extensions(name: str, file: FileNames, definitions: Definitions) -> list[SymbolRow]:
    """Returns the extensions that a member access `.name` in a file can mean, by what the file imports and by its package."""
    rows = file.imports.get(name, ())
    names = {row.name or name for row in rows} | {name}
    found = [row for each in sorted(names) for row in definitions.in_family(each, file) if extended_type(row)]
    packages = set(_packages(file))
    paths = {imported_path(row) for row in rows}
    return [
        row
        for row in found
        if (*_package_of(row), row.name) in paths
        or (row.name == name and (_package_of(row) in packages or _is_in_companion(row) or _is_beside(row, file)))
    ]


def _packages(file: FileNames) -> Iterator[tuple[str, ...]]:
    """Yields the packages whose definitions a file sees without importing them by name."""
    own = package_path(file)
    yield from (own[:count] for count in range(len(own) + 1)) if file.language == "csharp" else (own,)
    yield from (imported_path(row) for row in file.everything_from)


def _package_of(row: SymbolRow) -> tuple[str, ...]:
    # A C# extension is in a static class, and one of Scala in an `extension`, which nobody names.
    return name_path(row)[: -1 if row.language == "kotlin" else -2]


def _is_in_companion(row: SymbolRow) -> bool:
    """Whether an extension of Scala is in the object that belongs to its type, where it is visible with every value of it."""
    return row.language == "scala" and _package_of(row)[-1:] == (owner_name(row),)


def _is_beside(row: SymbolRow, file: FileNames) -> bool:
    """Whether an extension of Scala is in the same file, most often in an object around its uses."""
    return row.language == "scala" and row.file_id == file.file_id


def of_type(rows: Sequence[SymbolRow], type_names: frozenset[str]) -> list[SymbolRow]:
    """Returns the extensions of one of these types, by their last names, or of every type."""
    return [row for row in rows if extended_type(row) in type_names or takes_any_type(extended_type(row))]
