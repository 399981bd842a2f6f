"""The edits that `setup` makes: the entry that starts the server, the list of approved tools, and the rules of a project."""

from collections.abc import Mapping, Sequence
from types import ModuleType
from typing import Any, Final

from codecompass.cli.hosts import json_text, rules, toml_text, yaml_text
from codecompass.cli.hosts.entry import Notes, WantedEntry, revised
from codecompass.cli.hosts.places import canonical, value_at, without
from codecompass.cli.hosts.supported_hosts import SERVER, FileApproval, Host

_EDITORS: Final[Mapping[str, ModuleType]] = {"json": json_text, "toml": toml_text, "yaml": yaml_text, "markdown": rules}


class Edit:
    """One way to change a place in a text. All methods raise NotEditable for a text that the edit cannot parse.

    `kind` names the edit in the records. With `is_whole`, any change by the user at the place makes all of it the user's.
    `by_hand` is the command that shows what to write into a file of this `format` that cannot be edited.
    """

    kind: str
    is_whole = True

    def __init__(self, format_: str, place: tuple[str, ...], by_hand: str, n_own: int = 1) -> None:
        """Makes an edit of the value at `place`, of which the last `n_own` names are ours and the others are sections."""
        self.format, self.by_hand = format_, f"codecompass setup {by_hand} --print"
        self._editor: Any = _EDITORS[format_]
        self._place, self._n_enclosing = place, len(place) - n_own

    def apply(self, text: str, base: str) -> tuple[str, Notes]:
        """Returns the text with the change. `base` is the text without our earlier change, if there is one."""
        raise NotImplementedError

    def state(self, text: str) -> object:
        """Returns the value at the place of the change, None if there is none."""
        return value_at(self._editor.parse(text), self._place)

    def rest(self, text: str) -> object:
        """Returns everything but that value, without empty sections: what an undo must not change."""
        return without(self._editor.parse(text), self._place)

    def n_sections(self, text: str) -> int:
        """Returns how many of the sections that enclose the place exist."""
        data = self._editor.parse(text)
        return sum(value_at(data, self._place[:depth]) is not None for depth in range(1, self._n_enclosing + 1))

    def without(self, text: str, state: object, before: object, n_sections: int) -> str:
        """Returns the text with `before` in place of `state`, and no empty section beyond the first `n_sections`."""
        del state
        if before is not None:
            return str(self._editor.assign(text, self._place, before))
        return self._without_empty(self._editor.remove_member(text, self._place), n_sections)

    def _without_empty(self, text: str, n_sections: int) -> str:
        for depth in range(self._n_enclosing, n_sections, -1):
            if value_at(self._editor.parse(text), self._place[:depth]) in ({}, []):
                text = self._editor.remove_member(text, self._place[:depth])
        return text


class EntryEdit(Edit):
    """The edit that writes the entry of our server into a host's file."""

    kind = "entry"

    def __init__(self, host: Host, request: WantedEntry, search_path: str | None = None, *, force: bool = False) -> None:
        super().__init__(host.format, (*host.section, SERVER), host.name)
        self._shape, self._request, self._search_path, self._force = host.shape, request, search_path, force

    def apply(self, text: str, base: str) -> tuple[str, Notes]:
        theirs = self.state(base)
        entry: Mapping[str, object] = self._request.entry(self._shape)
        notes = Notes(replaced=theirs)
        if theirs is not None and not self._force:
            entry, notes = revised(theirs, self._request, self._shape, self._search_path)
        changed = self._with(text, entry)
        return changed, Notes() if changed == text else notes

    def _with(self, text: str, entry: Mapping[str, object]) -> str:
        """Returns the text with the entry. Changes only members that differ: comments and layout of the others stay."""
        present = self.state(text)
        if not isinstance(present, Mapping) or not set(present) & set(entry):
            # No member stays, so there is no layout to keep.
            return str(self._editor.assign(text, self._place, entry))
        for name in present:
            if name not in entry:
                text = self._editor.remove_member(text, (*self._place, name))
        for name, value in entry.items():
            if name not in present or canonical(present[name]) != canonical(value):
                text = self._editor.assign(text, (*self._place, name), value)
        return text


class AllowEdit(Edit):
    """The edit that adds our tools to a host's list of tools that need no approval."""

    kind = "allow"
    is_whole = False

    def __init__(self, host: Host, approval: FileApproval, tools: Sequence[str]) -> None:
        super().__init__("json", approval.section, f"{host.name} --approve", n_own=0)
        self._prefix, self._items = approval.prefix, tuple(approval.prefix + tool for tool in tools)

    def apply(self, text: str, base: str) -> tuple[str, Notes]:
        del base
        return json_text.add_items(text, self._place, self._items), Notes()

    def state(self, text: str) -> object:
        return sorted(item for item in self._list(text) if self._is_ours(item)) or None

    def rest(self, text: str) -> object:
        return [[item for item in self._list(text) if not self._is_ours(item)], super().rest(text)]

    def without(self, text: str, state: object, before: object, n_sections: int) -> str:
        had = before if isinstance(before, list) else []
        items = [item for item in state if item not in had] if isinstance(state, list) else []
        return self._without_empty(json_text.remove_items(text, self._place, items), n_sections)

    def _is_ours(self, item: object) -> bool:
        return isinstance(item, str) and item.startswith(self._prefix)

    def _list(self, text: str) -> list[Any]:
        found = super().state(text)
        return found if isinstance(found, list) else []


class RulesEdit(Edit):
    """The edit that puts our lines into a project's instructions."""

    kind = "rules"

    def __init__(self) -> None:
        super().__init__("markdown", rules.PLACE, "--rules")

    def apply(self, text: str, base: str) -> tuple[str, Notes]:
        del base
        return rules.assign(text, rules.PLACE, rules.rendered_rules()), Notes()


def rendered(host: Host, entry: Mapping[str, object]) -> str:
    """Returns the entry within its sections, for a person to paste into a file."""
    return str(_EDITORS[host.format].assign("", (*host.section, SERVER), entry))


def rendered_list(approval: FileApproval, tools: Sequence[str]) -> str:
    """Returns the list of tools within its sections, for a person to paste into a file."""
    return json_text.add_items("", approval.section, [approval.prefix + tool for tool in tools])
