"""What `setup` does to a host's file, as text: with the server in it, or without it. Reads and writes nothing."""

from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Final

from codecompass.cli.hosts import json_text, toml_text
from codecompass.cli.hosts.json_text import NotJson
from codecompass.cli.hosts.known import SERVER, FileFormat, Host
from codecompass.cli.hosts.toml_text import NotToml
from codecompass.errors import FileUnreadable

_EDITORS: Final[Mapping[FileFormat, ModuleType]] = {"json": json_text, "toml": toml_text}

_REMOTE: Final = frozenset({"url", "httpUrl", "serverUrl"})
"""Members of an entry that is reached over the network. Such an entry is replaced as a whole: the two do not mix."""


def with_server(text: str, host: Host, entry: Mapping[str, object], path: Path) -> str:
    """Returns the text with the server's entry, other members of an entry that is there kept. Raises FileUnreadable."""
    editor, place = _EDITORS[host.format], (*host.section, SERVER)
    try:
        present = editor.value_at(text, place)
        if present is not None and (not isinstance(present, dict) or _REMOTE & set(present)):
            text = editor.remove_member(text, place)
        changed: str = editor.set_member(text, place, entry)
    except (NotJson, NotToml) as error:
        raise _unreadable(host, path, error) from error
    return changed


def without_server(text: str, host: Host, path: Path, before: str | None = None) -> str:
    """Returns the text without the server's entry, and without the sections that only held it. Raises FileUnreadable.

    Where the text is what `before` became by that entry alone, it is `before` again, to the byte.
    """
    editor, place = _EDITORS[host.format], (*host.section, SERVER)
    try:
        present = editor.value_at(text, place)
        if present is None:
            return text
        if before is not None and isinstance(present, dict) and _came_from(before, text, editor, place, present):
            return before
        text = editor.remove_member(text, place)
        for depth in range(len(host.section), 0, -1):
            if editor.value_at(text, place[:depth]) == {}:
                text = editor.remove_member(text, place[:depth])
    except (NotJson, NotToml) as error:
        raise _unreadable(host, path, error) from error
    return text


def is_bare(text: str) -> bool:
    """Returns whether nothing is in the text, not even a comment."""
    return "".join(text.split()) in ("", "{}")


def rendered(host: Host, entry: Mapping[str, object]) -> str:
    """Returns the entry within its sections, to be put into a file by hand."""
    text: str = _EDITORS[host.format].set_member("", (*host.section, SERVER), entry)
    return text


def _came_from(before: str, text: str, editor: ModuleType, place: tuple[str, ...], entry: Mapping[str, object]) -> bool:
    try:
        made: str = editor.set_member(before, place, entry)
        return editor.value_at(before, place) is None and made == text
    except (NotJson, NotToml):
        return False


def _unreadable(host: Host, path: Path, error: Exception) -> FileUnreadable:
    kind = host.format.upper()
    return FileUnreadable(
        f"{path} is not valid {kind}: {error}. Nothing was changed. Correct the file, or add the entry by hand: "
        f"codecompass setup {host.name} --print",
        path=str(path),
    )
