"""The edits of a host's configuration: the entry that starts the server, and the list of tools that need no approval."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, Final

from codecompass.cli.hosts import json_text, toml_text, yaml_text
from codecompass.cli.hosts.entry_revision import Request, revised
from codecompass.cli.hosts.json_text import NotJson
from codecompass.cli.hosts.reversible_edit import EditResult
from codecompass.cli.hosts.supported_hosts import SERVER, FileApproval, FileFormat, Host
from codecompass.cli.hosts.toml_text import NotToml
from codecompass.cli.hosts.yaml_text import NotYaml
from codecompass.errors import FileUnreadable

_EDITORS: Final[Mapping[FileFormat, ModuleType]] = {"json": json_text, "toml": toml_text, "yaml": yaml_text}

_INVALID: Final = (NotJson, NotToml, NotYaml)


class EntryEdit:
    """The `Edit` that writes the entry of our server into a host's file."""

    kind = "entry"
    is_whole = True

    def __init__(self, host: Host, path: Path, request: Request, search_path: str | None = None, *, force: bool = False) -> None:
        self._host, self._path, self._request = host, path, request
        self._search_path, self._force = search_path, force
        self._editor = _EDITORS[host.format]
        self._place = (*host.section, SERVER)

    def apply(self, text: str, base: str) -> EditResult:
        try:
            present = self._editor.value_at(text, self._place)
            theirs = self._editor.value_at(base, self._place)
            wanted = self._request.entry(self._host.shape)
            if theirs is None:
                return EditResult(text=self._with(text, present, wanted))
            if self._force:
                changed = self._with(text, present, wanted)
                return EditResult(text=changed, replaced=theirs if changed != text else None)
            revision = revised(theirs, self._request, self._host.shape, self._search_path)
            changed = self._with(text, present, revision.entry)
            if changed == text:
                return EditResult(text=text)
            return EditResult(text=changed, changes=revision.changes, kept=revision.kept, replaced=revision.replaced)
        except _INVALID as error:
            raise self._unreadable(error) from error

    def _with(self, text: str, present: object, entry: Mapping[str, object]) -> str:
        """Returns the text with the entry. Changes only members that differ: comments and layout of the others stay."""
        changed: str
        if not isinstance(present, Mapping):
            changed = self._editor.assign(text, self._place, entry)
            return changed
        if not set(present) & set(entry):
            # No member stays, so there is no layout to keep.
            changed = self._editor.assign(text, self._place, entry)
            return changed
        for name in present:
            if name not in entry:
                text = self._editor.remove_member(text, (*self._place, name))
        for name, value in entry.items():
            if name not in present or present[name] != _plain(value):
                text = self._editor.assign(text, (*self._place, name), value)
        return text

    def state(self, text: str) -> object:
        try:
            value: object = self._editor.value_at(text, self._place)
        except _INVALID as error:
            raise self._unreadable(error) from error
        return value

    def rest(self, text: str) -> object:
        if self._host.format == "yaml":
            cut = self.without(text, None, None, 0)
            return [line.rstrip() for line in cut.splitlines() if line.strip()]
        try:
            return _pruned(self._editor.value_at(text, ()), self._place)
        except _INVALID as error:
            raise self._unreadable(error) from error

    def n_sections(self, text: str) -> int:
        try:
            depths = range(1, len(self._place))
            return sum(self._editor.value_at(text, self._place[:depth]) is not None for depth in depths)
        except _INVALID as error:
            raise self._unreadable(error) from error

    def without(self, text: str, state: object, before: object, n_sections: int) -> str:
        del state
        try:
            if before is not None:
                changed: str = self._editor.assign(text, self._place, before)
                return changed
            text = self._editor.remove_member(text, self._place)
            for depth in range(len(self._place) - 1, n_sections, -1):
                if self._editor.value_at(text, self._place[:depth]) == {}:
                    text = self._editor.remove_member(text, self._place[:depth])
        except _INVALID as error:
            raise self._unreadable(error) from error
        return text

    def _unreadable(self, error: Exception) -> FileUnreadable:
        return _unreadable(self._path, self._host.format, error, f"codecompass setup {self._host.name} --print")


class AllowEdit:
    """The `Edit` that adds our tools to a host's list of tools that need no approval."""

    kind = "allow"
    is_whole = False

    def __init__(self, host: Host, path: Path, approval: FileApproval, tools: Sequence[str]) -> None:
        self._host, self._path, self._place = host, path, approval.section
        self._prefix = approval.prefix
        self._items = tuple(approval.prefix + tool for tool in tools)

    def apply(self, text: str, base: str) -> EditResult:
        del base
        try:
            return EditResult(text=json_text.add_items(text, self._place, self._items))
        except NotJson as error:
            raise self._unreadable(error) from error

    def state(self, text: str) -> object:
        found = [item for item in self._list(text) if isinstance(item, str) and item.startswith(self._prefix)]
        return sorted(found) or None

    def rest(self, text: str) -> object:
        others = [item for item in self._list(text) if not isinstance(item, str) or not item.startswith(self._prefix)]
        return [others, _pruned(json_text.value_at(text, ()), self._place)]

    def n_sections(self, text: str) -> int:
        return sum(json_text.value_at(text, self._place[:depth]) is not None for depth in range(1, len(self._place) + 1))

    def without(self, text: str, state: object, before: object, n_sections: int) -> str:
        had = before if isinstance(before, list) else []
        try:
            text = json_text.remove_items(text, self._place, [item for item in state or [] if item not in had])  # type: ignore[attr-defined]
            for depth in range(len(self._place), n_sections, -1):
                if json_text.value_at(text, self._place[:depth]) in ({}, []):
                    text = json_text.remove_member(text, self._place[:depth])
        except NotJson as error:
            raise self._unreadable(error) from error
        return text

    def _list(self, text: str) -> list[Any]:
        try:
            found = json_text.value_at(text, self._place)
        except NotJson as error:
            raise self._unreadable(error) from error
        return found if isinstance(found, list) else []

    def _unreadable(self, error: Exception) -> FileUnreadable:
        return _unreadable(self._path, "json", error, f"codecompass setup {self._host.name} --approve --print")


def rendered(host: Host, entry: Mapping[str, object]) -> str:
    """Returns the entry within its sections, for a person to paste into a file."""
    text: str = _EDITORS[host.format].assign("", (*host.section, SERVER), entry)
    return text


def rendered_list(section: Sequence[str], items: Sequence[str]) -> str:
    """Returns a list within its sections, for a person to paste into a file."""
    return json_text.add_items("", section, items)


def _pruned(data: object, path: Sequence[str]) -> object:
    """Returns the data without the value at `path`, and without sections that this leaves empty."""
    if not isinstance(data, Mapping) or path[0] not in data:
        return data
    rest = {name: value for name, value in data.items() if name != path[0]}
    if len(path) > 1:
        inner = _pruned(data[path[0]], path[1:])
        if inner != {}:
            rest[path[0]] = inner
    return rest


def _plain(value: object) -> object:
    return list(value) if isinstance(value, tuple) else value


def _unreadable(path: Path, format_: str, error: Exception, by_hand: str) -> FileUnreadable:
    return FileUnreadable(
        f"{path} is not valid {format_.upper()}, or not as expected: {error}. Nothing was changed. Correct the file, or add the "
        f"entry by hand: {by_hand}",
        path=str(path),
    )
