"""The edits that `setup` makes: the entry that starts the server and the list of approved tools, in a host's configuration; the
lines between two markers in a project's instructions for agents, which say when to use which tool.

Agents with a shell use grep by habit; they follow instructions of the project more than descriptions of a server.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any, Final

from codecompass.cli.hosts import json_text, toml_text, yaml_text
from codecompass.cli.hosts.entry import WantedEntry, revised
from codecompass.cli.hosts.json_text import NotJson
from codecompass.cli.hosts.reversible_edit import EditResult
from codecompass.cli.hosts.supported_hosts import SERVER, FileApproval, FileFormat, Host
from codecompass.cli.hosts.toml_text import NotToml
from codecompass.cli.hosts.yaml_text import NotYaml
from codecompass.errors import FileUnreadable

_EDITORS: Final[Mapping[FileFormat, ModuleType]] = {"json": json_text, "toml": toml_text, "yaml": yaml_text}

_BEGIN: Final = "<!-- codecompass: begin -->"
_END: Final = "<!-- codecompass: end -->"

RULES: Final = (
    "- To find code, use the codecompass tools before grep: `search_code` for where something happens or how it works, "
    "`locate_symbol` to go to the definition of a name.",
    "- Before you read a long file, call `get_file_outline`; for all the code about one question, call `get_code_context`.",
    "- Use grep for what is not in the index: files that git ignores, build output, logs.",
)
"""What an agent should do, the most important first."""

_BLOCK: Final = re.compile(rf"(?:^|(?<=[\n\ufeff])){re.escape(_BEGIN)}.*?{re.escape(_END)}", re.DOTALL)
_NAMES: Final = ("AGENTS.md", "CLAUDE.md")


class _PlaceEdit:
    """What the edits of a host's configuration share: a place in it. The last `n_own` parts of its path are ours."""

    def __init__(self, file: Path, format_: FileFormat, place: tuple[str, ...], n_own: int, by_hand: str) -> None:
        self._editor: Any = _EDITORS[format_]
        self._place, self._n_enclosing = place, len(place) - n_own
        self._readable = partial(_readable, file, format_, by_hand)

    def n_sections(self, text: str) -> int:
        with self._readable():
            return sum(self._editor.value_at(text, self._place[:depth]) is not None for depth in range(1, self._n_enclosing + 1))

    def _value(self, text: str) -> object:
        with self._readable():
            return self._editor.value_at(text, self._place)

    def _pruned(self, text: str) -> object:
        with self._readable():
            return _pruned(self._editor.value_at(text, ()), self._place)

    def _without_empty(self, text: str, n_sections: int) -> str:
        for depth in range(self._n_enclosing, n_sections, -1):
            if self._editor.value_at(text, self._place[:depth]) in ({}, []):
                text = self._editor.remove_member(text, self._place[:depth])
        return text


class EntryEdit(_PlaceEdit):
    """The `Edit` that writes the entry of our server into a host's file."""

    kind = "entry"
    is_whole = True

    def __init__(
        self, host: Host, path: Path, request: WantedEntry, search_path: str | None = None, *, force: bool = False
    ) -> None:
        super().__init__(path, host.format, (*host.section, SERVER), 1, f"codecompass setup {host.name} --print")
        self._host, self._request, self._search_path, self._force = host, request, search_path, force

    def apply(self, text: str, base: str) -> EditResult:
        with self._readable():
            present, theirs = self._value(text), self._value(base)
            if theirs is None or self._force:
                changed = self._with(text, present, self._request.entry(self._host.shape))
                return EditResult(text=changed, replaced=theirs if changed != text else None)
            revision = revised(theirs, self._request, self._host.shape, self._search_path)
            changed = self._with(text, present, revision.entry)
            if changed == text:
                return EditResult(text=text)
            return EditResult(text=changed, changes=revision.changes, kept=revision.kept, replaced=revision.replaced)

    def _with(self, text: str, present: object, entry: Mapping[str, object]) -> str:
        """Returns the text with the entry. Changes only members that differ: comments and layout of the others stay."""
        if not isinstance(present, Mapping) or not set(present) & set(entry):
            # No member stays, so there is no layout to keep.
            return str(self._editor.assign(text, self._place, entry))
        for name in present:
            if name not in entry:
                text = self._editor.remove_member(text, (*self._place, name))
        for name, value in entry.items():
            if name not in present or present[name] != (list(value) if isinstance(value, tuple) else value):
                text = self._editor.assign(text, (*self._place, name), value)
        return text

    def state(self, text: str) -> object:
        return self._value(text)

    def rest(self, text: str) -> object:
        if self._host.format == "yaml":
            cut = self.without(text, None, None, 0)
            return [line.rstrip() for line in cut.splitlines() if line.strip()]
        return self._pruned(text)

    def without(self, text: str, state: object, before: object, n_sections: int) -> str:
        del state
        with self._readable():
            if before is not None:
                return str(self._editor.assign(text, self._place, before))
            return self._without_empty(self._editor.remove_member(text, self._place), n_sections)


class AllowEdit(_PlaceEdit):
    """The `Edit` that adds our tools to a host's list of tools that need no approval."""

    kind = "allow"
    is_whole = False

    def __init__(self, host: Host, path: Path, approval: FileApproval, tools: Sequence[str]) -> None:
        super().__init__(path, "json", approval.section, 0, f"codecompass setup {host.name} --approve --print")
        self._prefix = approval.prefix
        self._items = tuple(approval.prefix + tool for tool in tools)

    def apply(self, text: str, base: str) -> EditResult:
        del base
        with self._readable():
            return EditResult(text=json_text.add_items(text, self._place, self._items))

    def state(self, text: str) -> object:
        return sorted(item for item in self._list(text) if self._is_ours(item)) or None

    def rest(self, text: str) -> object:
        return [[item for item in self._list(text) if not self._is_ours(item)], self._pruned(text)]

    def without(self, text: str, state: object, before: object, n_sections: int) -> str:
        had = before if isinstance(before, list) else []
        items = [item for item in state if item not in had] if isinstance(state, list) else []
        with self._readable():
            return self._without_empty(json_text.remove_items(text, self._place, items), n_sections)

    def _is_ours(self, item: object) -> bool:
        return isinstance(item, str) and item.startswith(self._prefix)

    def _list(self, text: str) -> list[Any]:
        found = self._value(text)
        return found if isinstance(found, list) else []


class RulesEdit:
    """The `Edit` that puts our lines into a project's instructions."""

    kind = "rules"
    is_whole = True

    def apply(self, text: str, base: str) -> EditResult:
        """Replaces whatever is between our markers."""
        del base
        found = _BLOCK.search(text)
        newline = _newline(text if found is None else found[0])
        block = rendered_rules(newline)
        if found is not None:
            return EditResult(text=text[: found.start()] + block + text[found.end() :])
        if not text.removeprefix("\ufeff"):
            return EditResult(text=text + block + newline)
        # A text that does not end in a newline gets none, so that an undo can restore it.
        is_ended = text.endswith("\n")
        return EditResult(text=text + newline * (1 if is_ended else 2) + block + (newline if is_ended else ""))

    def state(self, text: str) -> object:
        found = _BLOCK.search(text)
        return None if found is None else found[0].replace("\r\n", "\n")

    def rest(self, text: str) -> object:
        return _BLOCK.sub("", text).split()

    def n_sections(self, text: str) -> int:
        del text
        return 0

    def without(self, text: str, state: object, before: object, n_sections: int) -> str:
        del state, before, n_sections
        found = _BLOCK.search(text)
        if found is None:
            return text
        newline = _newline(found[0])
        front, behind = text[: found.start()].removesuffix(newline), text[found.end() :]
        if not behind:
            return front.removesuffix(newline)
        return front + behind.removeprefix(newline)


def rules_path(root: Path) -> Path:
    """Returns the file of a project that its agents read: AGENTS.md, or CLAUDE.md if only that exists."""
    return next((root / name for name in _NAMES if (root / name).exists()), root / _NAMES[0])


def rendered(host: Host, entry: Mapping[str, object]) -> str:
    """Returns the entry within its sections, for a person to paste into a file."""
    return str(_EDITORS[host.format].assign("", (*host.section, SERVER), entry))


def rendered_list(section: Sequence[str], items: Sequence[str]) -> str:
    """Returns a list within its sections, for a person to paste into a file."""
    return json_text.add_items("", section, items)


def rendered_rules(newline: str = "\n") -> str:
    """Returns the lines with their markers, without a newline at the end."""
    return newline.join((_BEGIN, *RULES, _END))


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


@contextmanager
def _readable(path: Path, format_: FileFormat, by_hand: str) -> Iterator[None]:
    """Raises FileUnreadable for a text that the block cannot parse or change."""
    try:
        yield
    except (NotJson, NotToml, NotYaml) as error:
        raise FileUnreadable(
            f"{path} is not valid {format_.upper()}, or not as expected: {error}. Nothing was changed. Correct the file, or add "
            f"the entry by hand: {by_hand}",
            path=str(path),
        ) from error


def _newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"
