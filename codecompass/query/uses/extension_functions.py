"""Functions that are declared outside a type and called like its members: `fun Type.name()`, `(this Type name)`,
`extension (value: Type) def name`.

Such a function is visible where its package is, or where it is imported; a member of the type with the same name wins.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from codecompass import lazy
from codecompass.languages import described
from codecompass.languages.uses.lexical_rules import LexicalRules
from codecompass.query.uses.definitions import (
    Definitions,
    FileNames,
    imported_path,
    last_part,
    name_path,
    owner_name,
    package_path,
)
from codecompass.store.rows import SymbolRow

_TYPE_PARAMETER: Final = lazy.pattern(r"T[A-Z]\w*|[A-Z]\d?")
_ANY_TYPE: Final = frozenset({"Any", "Object", "object"})


def extended_type(row: SymbolRow) -> str:
    """Returns the last name of the type that a function extends; empty if it is no extension."""
    extensions = described(row.language).members.extensions
    if extensions is None:
        return ""
    if extensions.extended_type is None:
        # In a block, which is named after the type.
        return owner_name(row) if row.parent_kind == "impl" else ""
    return last_part(extensions.extended_type(row.signature, row.name), row.language)


def has_receiver_parameter(row: SymbolRow) -> bool:
    """Whether a function extends the type of its first parameter, so that a call has an argument less than it has parameters."""
    extensions = described(row.language).members.extensions
    if extensions is None or extensions.is_function is None or not extensions.has_receiver_parameter:
        return False
    return extensions.is_function(row.signature, row.name)


def keyword_of_block(row: SymbolRow) -> str:
    """Returns the keyword of a definition that holds functions with a parameter in common, the value that they are called on;
    empty for any other definition."""
    extensions = described(row.language).members.extensions if row.kind == "impl" else None
    return extensions.block if extensions is not None and row.signature.startswith(extensions.block) else ""


def extends_others(row: SymbolRow, rules: LexicalRules) -> bool:
    """Whether a definition can be a member of types from outside: of a trait, an extension, or added to a built-in class."""
    members = described(row.language).members
    is_function = None if members.extensions is None else members.extensions.is_function
    return (
        row.parent_kind in members.kinds_for_others
        or (members.opens_built_in_types and owner_name(row) in rules.built_in)
        or (is_function is not None and is_function(row.signature, row.name))
    )


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
    yield from (own[:count] for count in range(len(own) + 1)) if file.traits.binding.sees_namespaces_around else (own,)
    yield from (imported_path(row) for row in file.everything_from)


def _package_of(row: SymbolRow) -> tuple[str, ...]:
    # Nobody names the static class or the block that holds an extension.
    extensions = described(row.language).members.extensions
    return name_path(row)[: -1 - (extensions.n_holders if extensions is not None else 0)]


def _is_in_companion(row: SymbolRow) -> bool:
    """Whether an extension in a block is in the object that belongs to its type, where it is visible with every value of it."""
    return _is_in_block(row) and _package_of(row)[-1:] == (owner_name(row),)


def _is_beside(row: SymbolRow, file: FileNames) -> bool:
    """Whether an extension in a block is in the same file, most often in an object around its uses."""
    return _is_in_block(row) and row.file_id == file.file_id


def _is_in_block(row: SymbolRow) -> bool:
    extensions = described(row.language).members.extensions
    return extensions is not None and extensions.block != ""


def of_type(rows: Sequence[SymbolRow], type_names: frozenset[str]) -> list[SymbolRow]:
    """Returns the extensions of one of these types, by their last names, or of every type."""
    return [row for row in rows if extended_type(row) in type_names or takes_any_type(extended_type(row))]
