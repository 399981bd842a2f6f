"""A user's file is edited and restored byte for byte, whatever it contained."""

import json
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from codecompass.cli.hosts import reversible_edit
from codecompass.cli.hosts.change_records import ChangeRecords
from codecompass.cli.hosts.edits import AllowEdit, Edit, EntryEdit, RulesEdit
from codecompass.cli.hosts.entry import WantedEntry
from codecompass.cli.hosts.supported_hosts import HOSTS, FileApproval, Host, LaunchForm, host_named
from codecompass.errors import FileUnreadable
from codecompass.store.layout import HomeLayout
from tests.support.host_files import json_files, toml_files, yaml_files

EDITED = [*{(host.format, host.section, repr(host.shape)): host for host in HOSTS if host.user}.values()]
"""One host of each format and shape."""

MEMORY = "/dev/shm" if os.path.isdir("/dev/shm") else None
"""Every write is synced, which is slow on a real disk, so the files are kept in memory if possible."""

REQUEST = WantedEntry(launch=LaunchForm(program="/opt/bin/codecompass", arguments=("serve-mcp", "--tools", "core")))
OTHER = WantedEntry(
    launch=LaunchForm(program="/opt/bin/codecompass", arguments=("serve-mcp", "--tools", "all"), environment={"A": "1"}),
    asked=(("--tools", ("all",)),),
    members={"trust": True},
)

many = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])


def texts(host: Host) -> st.SearchStrategy[str]:
    if host.format == "toml":
        return toml_files()
    if host.format == "yaml":
        return yaml_files()
    return json_files(host.section, host.shape.command, host.shape.arguments)


class Place:
    """A directory with one file or none, and a data directory."""

    def __init__(self, base: Path, text: str | None) -> None:
        self.base = base / "user"
        self.base.mkdir()
        self.path = self.base / "deep" / "er" / "file"
        if text is not None:
            self.path.parent.mkdir(parents=True)
            self.path.write_bytes(text.encode())
        self.home = HomeLayout(base / "data")
        self.records = ChangeRecords(self.home)
        self.at_first = self.content()

    def content(self) -> dict[str, bytes | None]:
        """Returns all paths below the directory, with the bytes of files."""
        return {str(path.relative_to(self.base)): path.read_bytes() if path.is_file() else None for path in self.base.rglob("*")}

    def apply(self, edit: Edit) -> reversible_edit.EditOutcome:
        return reversible_edit.apply(self.path, edit, self.records, is_shared=False, dry_run=False)

    def undo(self, edit: Edit, *, force: bool = False) -> reversible_edit.EditOutcome:
        return reversible_edit.undo(self.path, edit, self.records, dry_run=False, force=force)

    def text(self) -> str:
        return self.path.read_bytes().decode()


@contextmanager
def place(text: str | None) -> Iterator[Place]:
    with tempfile.TemporaryDirectory(dir=MEMORY) as directory:
        yield Place(Path(os.path.realpath(directory)), text)


def edit(host: Host, request: WantedEntry = REQUEST) -> EntryEdit:
    return EntryEdit(host, request, "/usr/bin:/bin")


@pytest.mark.slow
@pytest.mark.parametrize("host", EDITED, ids=lambda host: host.name)
@many
@given(data=st.data())
def test_setup_then_undo_gives_every_byte_back(host, data):
    text = data.draw(st.none() | texts(host))
    with place(text) as here:
        try:
            here.apply(edit(host))
        except FileUnreadable:
            assert here.content() == here.at_first
            return
        assert here.apply(edit(host)).is_changed is False

        here.undo(edit(host))

        assert here.content() == here.at_first
        assert not here.home.root.exists()


@pytest.mark.slow
@pytest.mark.parametrize("host", EDITED, ids=lambda host: host.name)
@many
@given(data=st.data())
def test_two_different_setups_are_undone_by_one_undo(host, data):
    text = data.draw(st.none() | texts(host))
    with place(text) as here:
        try:
            here.apply(edit(host))
            here.apply(edit(host, OTHER))
        except FileUnreadable:
            assert not here.home.hosts.exists() or here.text() != text
            if not here.home.hosts.exists():
                return

        here.undo(edit(host))

        assert here.content() == here.at_first


def beside(host: Host, text: str) -> tuple[str, str] | None:
    """Returns an edit that a user may make elsewhere: (first occurrence of this, text to insert before it), or None."""
    if host.format == "json":
        value = None
        try:
            value = json.loads(text)
        except ValueError:
            return None
        return ("{", '"zz": [1], ') if isinstance(value, dict) and value else None
    return ("", "zz = 1\n" if host.format == "toml" else "zz: 1\n")


def with_addition(text: str, addition: tuple[str, str]) -> str:
    at = text.index(addition[0]) + len(addition[0]) if addition[0] else int(text.startswith("\ufeff"))
    return text[:at] + addition[1] + text[at:]


@pytest.mark.slow
@pytest.mark.parametrize("host", EDITED, ids=lambda host: host.name)
@many
@given(data=st.data())
def test_what_the_user_writes_elsewhere_stays_and_the_rest_is_given_back(host, data):
    text = data.draw(texts(host))
    addition = beside(host, text)
    if addition is None or text.startswith("---"):
        return
    with place(text) as here:
        try:
            if not here.apply(edit(host)).is_changed:
                return
        except FileUnreadable:
            return
        here.path.write_bytes(with_addition(here.text(), addition).encode())

        here.undo(edit(host))

        assert here.text() == with_addition(text, addition)


@pytest.mark.slow
@pytest.mark.parametrize("host", EDITED, ids=lambda host: host.name)
@many
@given(data=st.data())
def test_everything_but_the_entry_means_what_it_meant(host, data):
    text = data.draw(texts(host))
    with place(text) as here:
        try:
            here.apply(edit(host))
        except FileUnreadable:
            return

        assert edit(host).rest(here.text()) == edit(host).rest(text) or "nan" in text
        assert edit(host).state(here.text()) is not None


CLAUDE = host_named("claude-code")
APPROVAL = CLAUDE.approval
assert isinstance(APPROVAL, FileApproval)


@many
@given(
    st.none()
    | json_files(("permissions",))
    | st.sampled_from(
        [
            '{"permissions": {"allow": ["Bash(ls)", "mcp__codecompass__search_code"], "deny": []}}',
            '{"permissions": {"allow": [\n    "a", // why\n    "b",\n  ]}}',
            '{"permissions": {"allow": [ ]}}',
        ]
    ),
    st.booleans(),
)
def test_an_approval_is_added_once_and_taken_back_to_the_byte(text, is_written_anew):
    allow = AllowEdit(CLAUDE, APPROVAL, ("search_code", "locate_symbol"))
    with place(text) as here:
        try:
            here.apply(allow)
        except FileUnreadable:
            assert here.content() == here.at_first
            return
        assert here.apply(allow).is_changed is False
        assert allow.state(here.text()) == ["mcp__codecompass__locate_symbol", "mcp__codecompass__search_code"]
        if is_written_anew:
            here.path.write_bytes(here.text().encode() + b"\n")
            here.undo(allow)
            assert not here.path.exists() or allow.state(here.text()) == (allow.state(text) if text else None)
        else:
            here.undo(allow)
            assert here.content() == here.at_first


@many
@given(st.none() | st.text(st.sampled_from("ab#\n\r\ufeff-"), max_size=12), st.booleans())
@example("# Rules\r\n", False)
def test_rules_are_added_once_and_taken_out_to_the_byte(text, is_known):
    """Also in another clone, where only the markers show what was added."""
    with place(text) as here:
        here.apply(RulesEdit())
        assert here.apply(RulesEdit()).is_changed is False
        if not is_known:
            here.records.forget(here.path, RulesEdit.kind)
            if not (text or "").strip("\ufeff"):
                return  # an empty file cannot be told from a missing one

        here.undo(RulesEdit(), force=not is_known)

        left = here.content()
        left.pop("deep/er/file.before-codecompass", None)
        assert left == here.at_first


@pytest.mark.parametrize("host", ["gemini", "codex", "goose"])
def test_an_entry_that_was_changed_since_is_its_users_and_stays(host):
    chosen = host_named(host)
    with place(None) as here:
        here.apply(edit(chosen))
        here.path.write_text(here.text().replace("core", "ten"))
        before = here.content()

        refused = here.undo(edit(chosen))
        unchanged = here.content() == before
        here.undo(edit(chosen), force=True)

        assert refused.is_kept
        assert unchanged
        assert here.content() == {}


def test_an_entry_that_setup_did_not_write_is_not_taken_out():
    text = '{"mcpServers": {"codecompass": {"command": "/opt/bin/codecompass"}}}'
    with place(text) as here:
        assert here.undo(edit(CLAUDE)).is_kept
        assert here.content() == here.at_first


def test_a_host_that_writes_its_file_anew_leaves_only_its_layout():
    text = '{"b": {"c": 1}, /* theirs */ "mcpServers": {}}'
    with place(text) as here:
        here.apply(edit(CLAUDE))
        data = json.loads(here.text().replace("/* theirs */", ""))
        here.path.write_text(json.dumps({"startups": 2, **data}, indent=8))

        here.undo(edit(CLAUDE))

        assert json.loads(here.text()) == {"startups": 2, "b": {"c": 1}, "mcpServers": {}}


def test_the_first_backup_is_never_overwritten():
    text = '{"a": 1}'
    with place(text) as here:
        here.apply(edit(CLAUDE))
        here.path.write_text(here.text().replace("1", "2"))
        here.apply(edit(CLAUDE, OTHER))

        backup = here.path.with_name("file.before-codecompass")
        assert backup.read_text() == text
        here.undo(edit(CLAUDE))
        assert here.text() == '{"a": 2}'
        assert not backup.exists()


def test_a_backup_that_is_somebody_elses_stays():
    with place('{"a": 1}') as here:
        backup = here.path.with_name("file.before-codecompass")
        backup.write_text("older")

        here.apply(edit(CLAUDE))
        here.undo(edit(CLAUDE))

        assert backup.read_text() == "older"
        assert here.text() == '{"a": 1}'


def test_an_empty_directory_that_was_there_stays_and_one_that_is_used_by_now_too():
    with place(None) as here:
        (here.base / "deep").mkdir()
        here.apply(edit(CLAUDE))
        here.undo(edit(CLAUDE))
        assert here.content() == {"deep": None}

        here.apply(edit(CLAUDE))
        (here.path.parent / "theirs").write_text("x")
        here.undo(edit(CLAUDE))
        assert here.content() == {"deep": None, "deep/er": None, "deep/er/theirs": b"x"}


def test_an_entry_that_the_user_took_out_by_hand_is_no_obstacle():
    with place(None) as here:
        here.apply(edit(CLAUDE))
        here.path.write_text('{"mcpServers": {}}')

        here.undo(edit(CLAUDE))

        assert here.content() == {}
        assert not here.home.root.exists()


@pytest.mark.parametrize("host", [host for host in EDITED if host.format == "json"], ids=lambda host: host.name)
def test_an_entry_with_repeated_members_is_edited_once_and_given_back(host):
    text = '{"codecompass": {"args": [], "args": ["q"], "url": "a", "url": "b", "command": "z"}}'
    for name in reversed(host.section):
        text = f'{{"{name}": {text}}}'
    with place(text) as here:
        here.apply(edit(host))
        assert here.apply(edit(host)).is_changed is False

        here.undo(edit(host))

        assert here.content() == here.at_first
