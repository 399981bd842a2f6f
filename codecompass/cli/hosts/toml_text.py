"""Edits TOML; comments and layout stay. The counterpart of `json_text`.

A new table is appended as text. An existing one is changed with tomlkit, and the result is verified with the parser of the
standard library: tomlkit loses values of unusual documents.
"""

import tomllib
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final

import tomlkit
from tomlkit.exceptions import TOMLKitError
from tomlkit.items import AbstractTable, InlineTable, Key

_BOM: Final = "\ufeff"


class NotToml(Exception):
    """The text is not TOML, or a value on the way to a member is not a table. The message says where, if that is known."""


def value_at(text: str, path: Sequence[str]) -> object:
    """Returns the value at `path` as plain dicts, lists and scalars, None if there is none. Raises NotToml."""
    value: object = _plain(text)
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def assign(text: str, path: Sequence[str], value: object) -> str:
    """Returns `text` with the value at `path` replaced by `value`, or added. Raises NotToml."""
    expected = _plain(text)
    _put(expected, path, value)
    if expected == _plain(text):
        return text
    if value_at(text, path) is None and isinstance(value, Mapping):
        changed = _appended(text, path, value)
        if _reads_as(changed, expected):
            return changed
    change = partial(_set, path=path, value=value)
    return _checked(_edited(text, path, change, "cannot be changed in this file"), expected)


def remove_member(text: str, path: Sequence[str]) -> str:
    """Returns `text` without the member at `path`; unchanged if there is none. Raises NotToml."""

    def remove(container: Any) -> None:  # noqa: ANN401 - tomlkit's tables have no common type
        for name in path[:-1]:
            container = container[name]
        del container[path[-1]]

    if value_at(text, path) is None:
        return text
    expected = _plain(text)
    remove(expected)
    return _checked(_edited(text, path, remove, "cannot be taken out of this file"), expected, path)


def _appended(text: str, path: Sequence[str], value: Mapping[str, object]) -> str:
    newline = "\r\n" if "\r\n" in text else "\n"
    heading = ".".join(Key.as_string(tomlkit.key(name)) for name in path)
    lines = [f"[{heading}]", *(f"{tomlkit.key(name).as_string()} = {_written(item)}" for name, item in value.items())]
    before = text if not text.removeprefix(_BOM) or text.endswith("\n") else text + newline
    gap = newline if before.strip().removeprefix(_BOM) else ""
    return before + gap + newline.join(lines) + newline


def _edited(text: str, path: Sequence[str], change: Callable[[Any], None], problem: str) -> str:
    """Returns the text after a change of its document. Raises NotToml that says `problem` of `path` if tomlkit cannot do it."""
    try:
        document = tomlkit.parse(text.removeprefix(_BOM))
    except TOMLKitError as error:
        raise NotToml(str(error)) from error
    try:
        change(document)
        return (_BOM if text.startswith(_BOM) else "") + tomlkit.dumps(document)
    except (TOMLKitError, KeyError, TypeError, AttributeError) as error:
        raise NotToml(f"{'.'.join(path)} {problem}") from error


def _set(container: Any, path: Sequence[str], value: object) -> None:  # noqa: ANN401
    for name in path[:-1]:
        if name not in container:
            # A table that only holds tables needs no heading of its own.
            is_inline = isinstance(container, InlineTable)
            container[name] = tomlkit.inline_table() if is_inline else tomlkit.table(is_super_table=True)
        container = container[name]
    table = container.get(path[-1])
    if not isinstance(value, Mapping) or not isinstance(table, AbstractTable):
        container[path[-1]] = _item(value)
        return
    for name in [name for name in table if name not in value]:
        del table[name]
    for name, item in value.items():
        table[name] = _item(item)


def _checked(text: str, expected: object, path: Sequence[str] = ()) -> str:
    """Returns `text` if it decodes to `expected`, in which empty tables on the way to a removed member may be missing.

    Raises NotToml otherwise.
    """
    if _reads_as(text, expected):
        return text
    for depth in range(len(path) - 1, 0, -1):
        _drop_empty(expected, path[:depth])
        if _reads_as(text, expected):
            return text
    raise NotToml("it is written in a way that cannot be changed here without harm")


def _drop_empty(data: object, path: Sequence[str]) -> None:
    for name in path[:-1]:
        data = data.get(name) if isinstance(data, dict) else None
    if isinstance(data, dict) and data.get(path[-1]) == {}:
        del data[path[-1]]


def _reads_as(text: str, expected: object) -> bool:
    try:
        # Compared as text: NaN does not equal itself.
        return repr(_sorted(_plain(text))) == repr(_sorted(expected))
    except NotToml:
        return False


def _sorted(value: object) -> object:
    if isinstance(value, Mapping):
        return {name: _sorted(value[name]) for name in sorted(value)}
    return [_sorted(item) for item in value] if isinstance(value, list | tuple) else value


def _put(data: dict[str, Any], path: Sequence[str], value: object) -> None:
    inner: Any = data
    for depth, name in enumerate(path[:-1]):
        inner = inner.setdefault(name, {})
        if not isinstance(inner, dict):
            raise NotToml(f"{'.'.join(path[: depth + 1])} is not a table")
    inner[path[-1]] = dict(value) if isinstance(value, Mapping) else value


def _plain(text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text.removeprefix(_BOM))
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        last = f"at the end, line {text.count(chr(10)) + 1}"
        raise NotToml(str(error).replace("at end of document", last)) from error


def _item(value: object) -> object:
    if not isinstance(value, Mapping):
        return list(value) if isinstance(value, tuple) else value
    table = tomlkit.inline_table()
    table.update(value)
    return table


def _written(value: object) -> str:
    return str(tomlkit.item(_item(value)).as_string())
