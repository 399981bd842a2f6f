"""Imports as people write them: `crate::auth::Claims`, `pkg.module.name`, `name from ./module`."""

from collections.abc import Mapping
from typing import Final

from codecompass.store.facts import ImportRow

_SEPARATORS: Final[Mapping[str, str]] = {"rust": "::", "cpp": "::", "php": "\\", "ruby": "::"}
_NAMED_FROM: Final = frozenset({"javascript", "typescript", "tsx"})


def import_name(row: ImportRow, language: str) -> str:
    """Returns the name of one import, with its alias where it has one."""
    alias = f" as {row.alias}" if row.alias and row.alias != row.name else ""
    if language in _NAMED_FROM:
        return _from_form(row, alias)
    if row.kind == "system":
        return f"<{row.spec}>"
    if not row.name:
        return row.spec + alias
    separator = _SEPARATORS.get(language, ".")
    glue = "" if not row.spec or row.spec.endswith(separator) else separator
    return f"{row.spec}{glue}{row.name}{alias}"


def _from_form(row: ImportRow, alias: str) -> str:
    if not row.name:
        return f"{row.alias} from {row.spec}" if row.alias else row.spec
    if row.name == "default" and row.alias:
        return f"{row.alias} from {row.spec}"
    return f"{row.name}{alias} from {row.spec}"
