"""Edits TOML as people keep it in configuration files; comments and layout stay. The counterpart of `json_text`."""

from collections.abc import Mapping, Sequence

import tomlkit
from tomlkit.exceptions import TOMLKitError
from tomlkit.items import AbstractTable, InlineTable


class NotToml(Exception):
    """The text is no TOML, or something on the way to a member is no table. Says where, as far as that is known."""


def value_at(text: str, path: Sequence[str]) -> object:
    """Returns the value at `path` as plain dicts, lists and scalars, None where there is none. Raises NotToml."""
    value: object = _parsed(text).unwrap()
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def set_member(text: str, path: Sequence[str], value: Mapping[str, object]) -> str:
    """Returns `text` with the table at `path` holding the members of `value`, besides others that it has. Raises NotToml."""
    document = _parsed(text)
    container: object = document
    for depth, name in enumerate(path):
        if not _is_table(container):
            raise NotToml(f"{'.'.join(path[:depth])} is not a table")
        assert isinstance(container, dict)
        if name not in container:
            # A table that only holds tables needs no heading of its own.
            is_inline = isinstance(container, InlineTable)
            container[name] = tomlkit.inline_table() if is_inline else tomlkit.table(is_super_table=depth < len(path) - 1)
        container = container[name]
    if not _is_table(container):
        raise NotToml(f"{'.'.join(path)} is not a table")
    assert isinstance(container, dict)
    for name, item in value.items():
        if name not in container or _plain(container[name]) != _plain(item):
            container[name] = _item(item)
    return _dumped(document)


def remove_member(text: str, path: Sequence[str]) -> str:
    """Returns `text` without the member at `path`; unchanged where there is none. Raises NotToml."""
    document = _parsed(text)
    container: object = document
    for name in path[:-1]:
        if not isinstance(container, dict) or name not in container:
            return text
        container = container[name]
    if not isinstance(container, dict) or path[-1] not in container:
        return text
    del container[path[-1]]
    return _dumped(document)


def _parsed(text: str) -> tomlkit.TOMLDocument:
    try:
        return tomlkit.parse(text)
    except TOMLKitError as error:
        raise NotToml(str(error)) from error


def _dumped(document: tomlkit.TOMLDocument) -> str:
    return tomlkit.dumps(document)


def _is_table(value: object) -> bool:
    return isinstance(value, AbstractTable | tomlkit.TOMLDocument) or type(value).__name__ == "OutOfOrderTableProxy"


def _item(value: object) -> object:
    if not isinstance(value, Mapping):
        return list(value) if isinstance(value, tuple) else value
    table = tomlkit.inline_table()
    table.update(value)
    return table


def _plain(value: object) -> object:
    unwrapped = value.unwrap() if hasattr(value, "unwrap") else value
    return list(unwrapped) if isinstance(unwrapped, tuple) else unwrapped
