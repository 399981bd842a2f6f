"""Edits TOML; comments and layout stay.

A new table is appended as text. An existing one is changed with tomlkit, and the result is verified with the parser of the
standard library: tomlkit loses values of unusual documents.
"""

import tomllib
from collections.abc import Mapping, Sequence
from typing import Any

import tomlkit
from tomlkit.exceptions import TOMLKitError
from tomlkit.items import AbstractTable, InlineTable, Key

from codecompass.cli.hosts.places import BOM, NotEditable, canonical, newline_of, value_at, without


def parse(text: str) -> object:
    """Returns the text as plain dicts, lists and scalars. Raises NotEditable."""
    try:
        return tomllib.loads(text.removeprefix(BOM))
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        last = f"at the end, line {text.count(chr(10)) + 1}"
        raise NotEditable(str(error).replace("at end of document", last)) from error


def assign(text: str, path: Sequence[str], value: object) -> str:
    """Returns `text` with the value at `path` replaced by `value`, or added. Raises NotEditable."""
    present = value_at(parse(text), path)
    if present is not None and canonical(present) == canonical(value):
        return text
    if present is None and isinstance(value, Mapping):
        appended = _appended(text, path, value)
        if _differs_only_at(path, text, appended, value):
            return appended
    return _edited(text, path, value)


def remove_member(text: str, path: Sequence[str]) -> str:
    """Returns `text` without the member at `path`; unchanged if there is none. Raises NotEditable."""
    return text if value_at(parse(text), path) is None else _edited(text, path, None)


def _appended(text: str, path: Sequence[str], value: Mapping[str, object]) -> str:
    newline = newline_of(text)
    heading = ".".join(Key.as_string(tomlkit.key(name)) for name in path)
    lines = [f"[{heading}]"]
    lines += [f"{tomlkit.key(name).as_string()} = {tomlkit.item(_item(item)).as_string()}" for name, item in value.items()]
    before = text if not text.removeprefix(BOM) or text.endswith("\n") else text + newline
    gap = newline if before.strip().removeprefix(BOM) else ""
    return before + gap + newline.join(lines) + newline


def _edited(text: str, path: Sequence[str], value: object) -> str:
    """Returns the text with `value`, or nothing for None, at `path`. Raises NotEditable if tomlkit cannot do that."""
    try:
        document = tomlkit.parse(text.removeprefix(BOM))
        _set(document, path, value)
        changed = (BOM if text.startswith(BOM) else "") + tomlkit.dumps(document)
    except (TOMLKitError, KeyError, TypeError, AttributeError) as error:
        raise NotEditable(f"{'.'.join(path)} cannot be changed in this file") from error
    if not _differs_only_at(path, text, changed, value):
        raise NotEditable("it is written in a way that cannot be changed here without harm")
    return changed


def _set(container: Any, path: Sequence[str], value: object) -> None:  # noqa: ANN401 - tomlkit's tables have no common type
    for name in path[:-1]:
        if name not in container:
            # A table that only holds tables needs no heading of its own.
            is_inline = isinstance(container, InlineTable)
            container[name] = tomlkit.inline_table() if is_inline else tomlkit.table(is_super_table=True)
        container = container[name]
    table = container.get(path[-1])
    if value is None:
        del container[path[-1]]
    elif isinstance(value, Mapping) and isinstance(table, AbstractTable):
        for name in [name for name in table if name not in value]:
            del table[name]
        for name, item in value.items():
            table[name] = _item(item)
    else:
        container[path[-1]] = _item(value)


def _differs_only_at(path: Sequence[str], before: str, after: str, value: object) -> bool:
    """Whether `after` holds `value` at `path`, and else what `before` holds, but for empty tables on the way."""
    try:
        data = parse(after)
    except NotEditable:
        return False
    rest, rest_before = without(data, path), without(parse(before), path)
    return canonical(value_at(data, path)) == canonical(value) and canonical(rest) == canonical(rest_before)


def _item(value: object) -> object:
    if not isinstance(value, Mapping):
        return list(value) if isinstance(value, tuple) else value
    table = tomlkit.inline_table()
    table.update(value)
    return table
