"""`codecompass setup`: the host starts the server, and the rest of its file is unchanged."""

import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from codecompass.cli.hosts import yaml_text
from codecompass.cli.hosts.places import value_at
from codecompass.cli.hosts.supported_hosts import HOSTS, host_named, user_path

INSTALLED = str(Path(sys.executable).parent / "codecompass")

SHARED_CONFIG = {"CODECOMPASS_HOME": ""}
"""Otherwise the tests' data directory would be in every entry; only one test is about that."""

SERVE = ["serve-mcp", "--tools", "core", "--answers", "text"]

USER_FILES = {host.name: user_path(host, {"HOME": ".", "XDG_CONFIG_HOME": "config"}, "linux") for host in HOSTS if host.user}
PROJECT_FILES = {host.name: host.project for host in HOSTS if host.project}
"""Files of hosts, below a home and below a project; docs/hosts.md says which, and is compared below."""

DOCUMENT = (Path(__file__).parents[2] / "docs/hosts.md").read_text()
README = (Path(__file__).parents[2] / "README.md").read_text()

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the files' places on macOS are tested as a table below")


def servers(host: str, path: Path) -> dict[str, dict[str, Any]]:
    content = path.read_text()
    parsers = {"yaml": yaml_text.parse, "toml": tomllib.loads, "json": json.loads}
    found: Any = value_at(parsers[host_named(host).format](content), host_named(host).section)
    return dict(found)


def section(title: str) -> str:
    """Returns the section of the document with this heading."""
    return DOCUMENT.split(f"\n## {title}\n")[1].split("\n## ")[0]


def documented(host: str, command: str) -> str:
    """Returns the file that the document shows, with this command in it."""
    (shown,) = re.findall(r"^```(?:json|toml|yaml)\n(.*?)^```$", section(host_named(host).title), re.MULTILINE | re.DOTALL)
    return str(shown.replace("/home/ada/.local/bin/codecompass", command))


@pytest.mark.parametrize("host", USER_FILES)
def test_every_host_gets_its_own_shape_in_its_own_file_as_the_document_shows_it(cli, host):
    done = cli("setup", host, **SHARED_CONFIG)

    path = cli.user / USER_FILES[host]
    assert done.code == 0, done
    assert str(path) in done.out
    assert path.read_text() == documented(host, INSTALLED)


@pytest.mark.parametrize("host", USER_FILES)
def test_running_it_again_changes_nothing_and_undo_leaves_no_trace(cli, host):
    path = cli.user / USER_FILES[host]
    before = sorted(cli.user.rglob("*"))
    cli("setup", host)
    content, written_at = path.read_bytes(), path.stat().st_mtime_ns

    again = cli("setup", host)
    unchanged = path.read_bytes() == content and path.stat().st_mtime_ns == written_at
    undone = cli("setup", host, "--undo")

    assert again.code == 0
    assert "already" in again.out
    assert unchanged
    assert undone.code == 0
    assert sorted(cli.user.rglob("*")) == before
    assert not cli.home.exists()
    assert "no entry" in cli("setup", host, "--undo").out


def test_undo_leaves_nothing_of_a_store_that_was_made_for_it_and_keeps_what_was_there(cli):
    in_users_home = {**SHARED_CONFIG, "XDG_DATA_HOME": ""}
    cli("setup", "cursor", **in_users_home)
    cli("setup", "gemini", **in_users_home)
    cli("setup", "cursor", "--undo", **in_users_home)
    made = (cli.user / ".local" / "share" / "codecompass").exists()
    cli("setup", "gemini", "--undo", **in_users_home)
    left = list(cli.user.iterdir())
    (cli.user / ".local" / "share").mkdir(parents=True)
    cli("setup", "cursor", **in_users_home)
    cli("setup", "cursor", "--undo", **in_users_home)

    assert made
    assert left == []
    assert sorted(cli.user.rglob("*")) == [cli.user / ".local", cli.user / ".local" / "share"]


@pytest.mark.parametrize("host", PROJECT_FILES)
def test_a_project_gets_its_file_with_the_bare_name_where_a_login_shell_knows_it(cli, host, tmp_path):
    root = cli.tree("shop")
    shell = tmp_path / "shell"
    shell.write_text(f"#!/bin/sh\necho {INSTALLED}\n")
    shell.chmod(0o755)

    done = cli("setup", host, "--project", ".", SHELL=str(shell), **SHARED_CONFIG)

    assert done.code == 0, done
    assert (root / PROJECT_FILES[host]).read_text() == documented(host, "codecompass")
    assert "PATH" not in done.err
    assert (root / PROJECT_FILES[host]).stat().st_mode & 0o777 == 0o644


def test_a_host_without_project_files_says_so(cli):
    done = cli("setup", "claude-desktop", "--project", ".")

    assert done.code == 2
    assert "--project" in done.err


ZED = """\
// Zed settings
{
  "theme": "One Dark", // day and night
  "context_servers": {
    "other": { "command": "x", "args": [] }, // theirs
    /* "old": {} */
  },
  "vim_mode": true,
}
"""

CODEX = """\
model = "o"          # the small one

[mcp_servers.docs]   # theirs
command = 'docs'

[profiles.fast]
model = "f"
"""


ONE_LINE = '{"mcpServers":{"a":{"command":"x"}},"numStartups":3}'
WINDOWS = '{\r\n\t"servers": {\r\n\t\t"a": {"command": "x"}, // theirs\r\n\t},\r\n}\r\n'
MARKED = '\ufeff{\n    "theme": "GitHub", /* no server yet */\n}'
ONLY_COMMENTS = "// nothing here yet\n"
NO_TABLE_YET = '# mine\nmodel = "o"\n[mcp_servers.docs]\ncommand = "docs"\n[mcp_servers.docs.env]\nA = "1"'


@pytest.mark.parametrize(
    ("host", "content"),
    [
        ("zed", ZED),
        ("codex", CODEX),
        ("claude-code", ONE_LINE),
        ("vscode", WINDOWS),
        ("gemini", MARKED),
        ("cursor", ONLY_COMMENTS),
        ("cursor", ""),
        ("codex", NO_TABLE_YET),
    ],
    ids=[
        "comments",
        "toml",
        "one-line",
        "crlf-and-tabs",
        "mark-and-no-end-of-line",
        "only-comments",
        "empty",
        "toml-without-end",
    ],
)
def test_comments_and_layout_stay_and_undo_brings_back_every_byte(cli, host, content):
    path = cli.user / USER_FILES[host]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode())
    path.chmod(0o640)

    done = cli("setup", host)
    changed = path.read_bytes().decode()
    backup = path.with_name(path.name + ".before-codecompass")

    assert done.code == 0, done
    for line in content.splitlines() if "\n" in content else ():
        assert line in changed
    assert backup.read_bytes() == content.encode()
    assert backup.stat().st_mode & 0o077 == 0, "a configuration can hold secrets"
    assert path.stat().st_mode & 0o777 == 0o640
    assert cli("setup", host, "--dry-run").out.startswith(f"{path} starts the server already")
    cli("setup", host, "--undo")
    assert path.read_bytes() == content.encode()
    assert not backup.exists()


def test_undo_keeps_what_was_written_since(cli):
    path = cli.user / USER_FILES["gemini"]
    path.parent.mkdir()
    path.write_text('{"theme": "GitHub"}')
    cli("setup", "gemini")
    path.write_text(path.read_text().replace("GitHub", "Dracula"))

    cli("setup", "gemini", "--undo")

    assert json.loads(path.read_text()) == {"theme": "Dracula"}


def test_what_the_user_added_to_our_entry_stays_and_an_old_command_is_replaced(cli):
    path = cli.user / ".gemini/settings.json"
    path.parent.mkdir()
    entry = {"command": "/old/codecompass", "args": ["serve"], "trust": True}
    path.write_text(json.dumps({"mcpServers": {"codecompass": entry}}))

    cli("setup", "gemini", **SHARED_CONFIG)

    expected = {"command": INSTALLED, "args": SERVE, "trust": True}
    assert servers("gemini", path)["codecompass"] == expected


def test_an_entry_that_is_reached_over_the_network_is_replaced_as_a_whole(cli):
    path = cli.user / ".cursor/mcp.json"
    path.parent.mkdir()
    path.write_text('{"mcpServers": {"codecompass": {"url": "http://127.0.0.1:9100/mcp", "headers": {}}}}')

    cli("setup", "cursor", **SHARED_CONFIG)

    assert servers("cursor", path)["codecompass"] == {"command": INSTALLED, "args": SERVE}


@pytest.mark.parametrize(
    ("host", "content", "place"),
    [
        ("zed", '{"theme": "x"\n "vim": true}', "line 2, column 2"),
        ("codex", "model = ", "line 1"),
        ("gemini", '{"mcpServers": []}', "not an object"),
        ("gemini", "\udcff", "not UTF-8"),
    ],
)
def test_a_file_that_cannot_be_read_is_left_alone_with_the_remedy(cli, host, content, place):
    path = cli.user / USER_FILES[host]
    path.parent.mkdir(parents=True)
    path.write_bytes(os.fsencode(content))

    done = cli("setup", host)

    assert done.code == 1
    assert str(path) in done.err
    assert place in done.err
    assert path.read_bytes() == os.fsencode(content)
    assert "Traceback" not in done.err


def test_a_directory_in_the_place_of_the_file_is_an_error_not_a_traceback(cli):
    (cli.user / ".claude.json").mkdir()

    done = cli("setup", "claude-code")

    assert done.code == 1
    assert "not a regular file" in done.err


def test_a_dry_run_shows_the_difference_and_writes_nothing(cli):
    path = cli.user / USER_FILES["zed"]
    path.parent.mkdir(parents=True)
    path.write_text(ZED)

    done = cli("setup", "zed", "--dry-run")

    assert '+    "codecompass": {' in done.out
    assert "-" not in [line[:1] for line in done.out.splitlines() if not line.startswith("---")]
    assert path.read_text() == ZED
    assert [each.name for each in path.parent.iterdir()] == ["settings.json"]


@pytest.mark.parametrize("host", USER_FILES)
def test_print_gives_what_the_file_would_hold(cli, host):
    printed = cli("setup", host, "--print").out
    cli("setup", host)

    assert printed.rstrip() == (cli.user / USER_FILES[host]).read_text().rstrip()


def test_a_link_to_a_file_kept_elsewhere_stays_a_link(cli):
    kept = cli.user / "dotfiles" / "gemini.json"
    kept.parent.mkdir()
    kept.write_text("{}")
    path = cli.user / ".gemini/settings.json"
    path.parent.mkdir()
    path.symlink_to(kept)

    cli("setup", "gemini")

    assert path.is_symlink()
    assert "codecompass" in servers("gemini", kept)


def test_what_decides_where_data_and_settings_are_goes_into_the_entry(cli, tmp_path):
    """A host started from the desktop does not have this shell's variables."""
    root = cli.tree("shop")
    config = tmp_path / "own.toml"
    config.write_text("")

    cli("--config", config, "setup", "cursor", "--workspace", root, "--workspace", ".")

    entry = servers("cursor", cli.user / ".cursor/mcp.json")["codecompass"]
    assert entry["args"] == ["--config", str(config), *SERVE, "--workspace", str(root), "--workspace", str(root)]
    assert entry["env"] == {"CODECOMPASS_HOME": str(cli.home)}


@pytest.mark.parametrize("option", ["--project", "--workspace"])
def test_a_directory_that_does_not_exist_is_wrong_usage(cli, option):
    done = cli("setup", "cursor", option, "nowhere")

    assert done.code == 2
    assert "nowhere is not a directory" in done.err


def test_json_says_what_was_done(cli):
    path = str(cli.user / ".cursor/mcp.json")

    planned = cli("setup", "cursor", "--dry-run", "--json").json
    created = cli("setup", "cursor", "--json").json
    same = cli("setup", "cursor", "--json").json
    removed = cli("setup", "cursor", "--undo", "--json").json

    assert planned["dry_run"] is True
    assert [each["change"] for each in (planned, created, same, removed)] == ["created", "created", "none", "removed"]
    assert all(each["path"] == path and each["host"] == "cursor" for each in (planned, created, same, removed))


def test_the_command_in_the_entry_runs_from_any_directory(cli):
    cli("setup", "cursor")
    entry = servers("cursor", cli.user / ".cursor/mcp.json")["codecompass"]

    bare = {name: value for name, value in cli.environment.items() if name != "PATH"}
    done = subprocess.run(
        [entry["command"], *entry["args"], "--help"],
        cwd="/",
        env=bare,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    assert "serve-mcp" in done.stdout


def test_two_changes_at_a_time_lose_nothing(cli, program):
    """Hosts write their own files; two of our own processes are the closest that a test can get."""
    path = cli.user / ".claude.json"
    path.write_text(json.dumps({"history": list(range(2000))}))
    runs = [program.start("setup", "claude-code") for _ in range(4)]

    for run in runs:
        _, err = run.communicate()
        assert run.returncode == 0, err
    assert json.loads(path.read_text())["history"] == list(range(2000))
    assert "codecompass" in servers("claude-code", path)


def own_entry(cli, host, entry):
    path = cli.user / USER_FILES[host]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"mcpServers": {"other": {"command": "x"}, "codecompass": entry}}, indent=4))
    return path


def test_an_entry_of_the_users_own_keeps_its_arguments_and_the_output_says_what_changed(cli):
    entry = {
        "command": "/gone/codecompass",
        "args": ["--config", "/a.toml", "serve-mcp", "--workspace", "/src/a b", "--log-level", "debug"],
        "env": {"TOKEN": "very secret"},
        "timeout": 90000,
        "unknown": [1],
    }
    path = own_entry(cli, "gemini", entry)
    before = path.read_bytes()

    done = cli("setup", "gemini")

    assert servers("gemini", path)["codecompass"] == {**entry, "command": INSTALLED}
    assert f"/gone/codecompass does not exist; now {INSTALLED}" in done.out
    assert "kept args, env, timeout, unknown" in done.out
    assert "very secret" not in done.out + done.err
    cli("setup", "gemini", "--undo")
    assert path.read_bytes() == before
    assert [each.name for each in path.parent.iterdir()] == ["settings.json"]


def test_an_entry_of_the_users_own_that_works_is_left_alone(cli):
    path = own_entry(cli, "cursor", {"command": "codecompass", "args": ["serve-mcp"]})
    before = path.read_bytes()

    done = cli("setup", "cursor")

    assert "already" in done.out
    assert path.read_bytes() == before
    undone = cli("setup", "cursor", "--undo")
    assert undone.code == 1
    assert "it is yours, and stays" in undone.err
    assert path.read_bytes() == before


def test_the_command_of_another_installation_is_replaced_and_a_wrapper_stays(cli, tmp_path):
    other = tmp_path / "other" / "codecompass"
    other.parent.mkdir()
    other.write_text("#!/bin/sh\n")
    other.chmod(0o755)
    path = own_entry(cli, "cursor", {"command": str(other), "args": ["serve-mcp"]})

    done = cli("setup", "cursor")

    assert servers("cursor", path)["codecompass"] == {"command": INSTALLED, "args": ["serve-mcp"]}
    assert "is another installation" in done.out
    path = own_entry(cli, "qwen", {"command": "env", "args": ["A=1", "codecompass", "serve-mcp"]})
    assert "already" in cli("setup", "qwen").out


def test_an_option_that_is_asked_for_goes_into_an_entry_of_the_users_own(cli):
    root = cli.tree("shop")
    arguments = ["serve-mcp", "--workspace", "/old", "--tools=ten", "--log-level", "debug"]
    path = own_entry(cli, "cursor", {"command": "codecompass", "args": arguments})

    done = cli("setup", "cursor", "--all-tools", "--answers", "json", "--workspace", ".")

    expected = ["serve-mcp", "--log-level", "debug", "--tools", "all", "--answers", "json", "--workspace", str(root)]
    assert servers("cursor", path)["codecompass"] == {"command": "codecompass", "args": expected}
    assert "--tools: ten; now all" in done.out


def test_an_entry_that_starts_nothing_is_shown_replaced_and_brought_back(cli):
    entry = {"url": "http://127.0.0.1:9100/mcp", "headers": {"Authorization": "very secret"}}
    path = own_entry(cli, "cursor", entry)
    before = path.read_bytes()

    done = cli("setup", "cursor")

    assert "http://127.0.0.1:9100/mcp" in done.out
    assert "very secret" not in done.out + done.err
    assert path.with_name("mcp.json.before-codecompass").read_bytes() == before
    cli("setup", "cursor", "--undo")
    assert path.read_bytes() == before


def test_force_puts_our_entry_in_the_place_of_the_users_and_undo_brings_theirs_back(cli):
    path = own_entry(cli, "cursor", {"command": "codecompass", "args": ["serve-mcp"], "timeout": 9})
    before = path.read_bytes()

    cli("setup", "cursor", "--force", **SHARED_CONFIG)

    assert servers("cursor", path)["codecompass"] == {"command": INSTALLED, "args": SERVE}
    cli("setup", "cursor", "--undo", **SHARED_CONFIG)
    assert path.read_bytes() == before


def test_an_option_given_later_changes_the_entry_that_setup_wrote(cli):
    path = cli.user / USER_FILES["cursor"]
    before = sorted(cli.user.rglob("*"))
    cli("setup", "cursor", "--all-tools")

    cli("setup", "cursor")

    assert servers("cursor", path)["codecompass"]["args"] == SERVE
    cli("setup", "cursor", "--undo")
    assert sorted(cli.user.rglob("*")) == before


def test_approval_of_claude_code_names_the_tools_that_only_read_and_goes_with_the_entry(cli):
    settings = cli.user / ".claude/settings.json"
    settings.parent.mkdir()
    settings.write_text('{"permissions": {"allow": ["Bash(ls)"]}} // mine')

    done = cli("setup", "claude-code", "--approve")

    assert json.loads(settings.read_text().removesuffix(" // mine"))["permissions"]["allow"] == [
        "Bash(ls)",
        *(f"mcp__codecompass__{name}" for name in READING),
    ]
    assert str(settings) in done.out
    cli("setup", "claude-code", "--undo")
    assert settings.read_text() == '{"permissions": {"allow": ["Bash(ls)"]}} // mine'
    assert [each.name for each in settings.parent.iterdir()] == ["settings.json"]


READING = (
    "search_code",
    "locate_symbol",
    "get_file_outline",
    "find_references",
    "get_code_context",
    "diff_context",
    "index_status",
)


@pytest.mark.parametrize(
    ("host", "member", "value"),
    [
        ("gemini", "trust", True),
        ("qwen", "trust", True),
        ("codex", "default_tools_approval_mode", "approve"),
        ("cline", "autoApprove", list(READING)),
        ("neovim", "autoApprove", list(READING)),
    ],
)
def test_approval_is_in_the_entry_where_the_host_has_it_there_and_only_when_asked_for(cli, host, member, value):
    before = sorted(cli.user.rglob("*"))
    plain = cli("setup", host)
    path = cli.user / USER_FILES[host]
    assert member not in servers(host, path)["codecompass"]
    assert "--approve" in plain.err

    cli("setup", host, "--approve")

    assert servers(host, path)["codecompass"][member] == value
    cli("setup", host, "--undo")
    assert sorted(cli.user.rglob("*")) == before


def test_a_host_that_keeps_no_approvals_in_a_file_says_what_to_do_instead(cli):
    done = cli("setup", "copilot", "--approve")

    assert done.code == 2
    assert "--allow-tool codecompass" in done.err


def test_a_project_file_with_a_path_of_this_machine_is_warned_of(cli):
    cli.tree("shop")

    done = cli("setup", "vscode", "--project", ".", SHELL="/bin/false")

    assert "does not find codecompass on its PATH" in done.err
    assert "pipx" in done.err


def test_a_host_without_a_file_says_what_to_paste_and_where(cli):
    done = cli("setup", "jetbrains", "--workspace", ".", **SHARED_CONFIG)

    entry = json.loads(done.out)["mcpServers"]["codecompass"]
    assert entry == {"command": INSTALLED, "args": [*SERVE, "--workspace", str(cli.user)]}
    assert "Model Context Protocol (MCP)" in done.err
    assert cli("setup", "jetbrains", "--undo").code == 0


def test_the_file_that_opencode_has_is_the_one_that_is_changed(cli):
    path = cli.user / "config/opencode/opencode.jsonc"
    path.parent.mkdir(parents=True)
    path.write_text("{} // mine\n")

    cli("setup", "opencode")

    assert "codecompass" in path.read_text()
    assert not path.with_name("opencode.json").exists()


def test_a_link_to_nothing_yet_stays_a_link(cli):
    kept = cli.user / "dotfiles" / "mcp.json"
    path = cli.user / ".cursor/mcp.json"
    path.parent.mkdir()
    path.symlink_to(kept)

    cli("setup", "cursor")
    was_written = kept.is_file() and path.is_symlink()
    cli("setup", "cursor", "--undo")

    assert was_written
    assert path.is_symlink()
    assert not kept.parent.exists()


def test_a_file_that_cannot_be_written_is_left_alone_with_the_remedy(cli):
    (cli.user / ".cursor").write_text("a file where a directory should be")

    done = cli("setup", "cursor")

    assert done.code == 1
    assert ".cursor" in done.err
    assert "Traceback" not in done.err


RULES_FILES = [
    ({}, "AGENTS.md"),
    ({"AGENTS.md": "# Agents\n\nBe kind.\n", "CLAUDE.md": "x"}, "AGENTS.md"),
    ({"CLAUDE.md": "# Claude\r\nno end of line"}, "CLAUDE.md"),
]


@pytest.mark.parametrize(("present", "name"), RULES_FILES, ids=["none", "both", "claude"])
def test_rules_go_into_the_file_that_agents_read_once_and_out_again_to_the_byte(cli, present, name):
    root = cli.tree("shop", {"a/b.py": "", **present})

    shown = cli("setup", "--rules", "--dry-run", cwd=root / "a")
    assert "+<!-- codecompass: begin -->" in shown.out
    done = cli("setup", "--rules", cwd=root / "a")
    again = cli("setup", "--rules")
    text = (root / name).read_bytes().decode()

    assert done.code == 0, done
    assert text.startswith(present.get(name, ""))
    assert len([line for line in text.splitlines() if line.startswith("- ")]) == 3
    assert cli("setup", "--rules", "--print").out.strip() in text.replace("\r\n", "\n")
    assert "already" in again.out
    cli("setup", "--rules", "--undo")
    left = {path.name: path.read_bytes().decode() for path in root.iterdir() if path.is_file()}
    assert left == present


def test_rules_of_another_clone_are_taken_out_too(cli, tmp_path):
    root = cli.tree("shop", {"AGENTS.md": "# Agents\n"})
    cli("setup", "--rules")

    cli("setup", "--rules", "--undo", "--project", root, CODECOMPASS_HOME=str(tmp_path / "elsewhere"))

    assert (root / "AGENTS.md").read_text() == "# Agents\n"


def test_rules_name_tools_that_there_are(cli):
    text = cli("setup", "--rules", "--print").out

    named = set(re.findall(r"`(\w+)`", text))
    assert named
    assert named <= set(READING)


def test_rules_are_not_for_a_host_and_a_host_is_needed_without_them(cli):
    assert cli("setup", "cursor", "--rules").code == 2
    missing = cli("setup")
    assert missing.code == 2
    assert "claude-code, claude-desktop" in missing.err
    assert "--rules" in missing.err


def test_uninstalling_forgets_what_setup_did(cli):
    cli("setup", "cursor")

    done = cli("uninstall", "--yes")

    assert str(cli.user / ".cursor/mcp.json") in done.out
    assert "--undo" in done.out
    assert not cli.home.exists()


@pytest.mark.parametrize(
    ("host", "platform", "variables", "expected"),
    [
        ("claude-desktop", "darwin", {}, "/u/Library/Application Support/Claude/claude_desktop_config.json"),
        ("vscode", "darwin", {}, "/u/Library/Application Support/Code/User/mcp.json"),
        ("zed", "darwin", {"XDG_CONFIG_HOME": "/x"}, "/u/.config/zed/settings.json"),
        ("zed", "linux", {}, "/u/.config/zed/settings.json"),
        ("claude-desktop", "linux", {"XDG_CONFIG_HOME": "/x"}, "/x/Claude/claude_desktop_config.json"),
        ("codex", "linux", {"CODEX_HOME": "/c"}, "/c/config.toml"),
        ("claude-code", "darwin", {"CLAUDE_CONFIG_DIR": "/c"}, "/c/.claude.json"),
    ],
)
def test_each_host_has_its_file_where_the_platform_has_it(host, platform, variables, expected):
    assert str(user_path(host_named(host), {"HOME": "/u", **variables}, platform)) == expected


def test_every_host_is_told_of_in_the_help_and_in_the_documents(cli):
    help_text = cli("setup", "--help").out

    for host in HOSTS:
        assert host.name in help_text
        assert f"codecompass setup {host.name}" in section(host.title)
        assert host.name in README


@pytest.mark.parametrize("host", [host for host in HOSTS if host.user], ids=lambda host: host.name)
def test_the_document_names_the_files_that_setup_writes(host):
    (row,) = [line for line in DOCUMENT.splitlines() if line.startswith(f"| {host.title} |") and "`~/" in line]

    places = {str(user_path(host, {"HOME": "~"}, platform)) for platform in ("linux", "darwin")}
    assert any(f"`{place}`" in row for place in places)
    assert all(f"`{place}`" in DOCUMENT for place in places)
    assert host.project is None or f"`{host.project}`" in row


def test_the_readme_shows_what_setup_prints(cli):
    shown = re.search(r"\$ codecompass setup codex --print\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)

    assert shown is not None
    printed = cli("setup", "codex", "--print", **SHARED_CONFIG)
    assert shown[1].replace("/home/ada/.local/bin/codecompass", INSTALLED).split("\n", 1)[1] == printed.out
