"""The hosts that `codecompass setup` knows: where each keeps its servers, and in which shape.

Source of paths and shapes: the documentation of each host, as of November 2026. A host's user file holds for all projects,
its project file for one and can be committed.
"""

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final, Literal

from msgspec import Struct

FileFormat = Literal["json", "toml"]

SERVER: Final = "codecompass"
"""The name of the server in every host. Short: some hosts put it before the name of each tool, and cut."""


class Host(Struct, frozen=True, kw_only=True):
    """A host. `section` is the path of the object that holds its servers.

    `user` names its file below a base directory (see `user_path`), `project` its file in a project, None where it has none.
    `marks_type` is for hosts that want to be told that a server is a process; `afterwards` says what makes it take effect.
    """

    name: str
    title: str
    format: FileFormat
    section: tuple[str, ...]
    user: str
    project: str | None
    base: Literal["home", "application"] = "home"
    home_variable: str = ""
    home_prefix: str = ""
    marks_type: bool = False
    finds_project: bool = True
    afterwards: str


HOSTS: Final = (
    Host(
        name="claude-code",
        title="Claude Code",
        format="json",
        section=("mcpServers",),
        user=".claude.json",
        project=".mcp.json",
        home_variable="CLAUDE_CONFIG_DIR",
        marks_type=True,
        afterwards="Start a new session; /mcp shows the server.",
    ),
    Host(
        name="claude-desktop",
        title="Claude Desktop",
        format="json",
        section=("mcpServers",),
        user="Claude/claude_desktop_config.json",
        project=None,
        base="application",
        finds_project=False,
        afterwards="Quit Claude Desktop and start it again.",
    ),
    Host(
        name="codex",
        title="Codex",
        format="toml",
        section=("mcp_servers",),
        user=".codex/config.toml",
        project=".codex/config.toml",
        home_variable="CODEX_HOME",
        home_prefix=".codex/",
        afterwards="Start a new session; /mcp shows the server.",
    ),
    Host(
        name="cursor",
        title="Cursor",
        format="json",
        section=("mcpServers",),
        user=".cursor/mcp.json",
        project=".cursor/mcp.json",
        afterwards="Open Customize in Cursor's sidebar, then MCPs, and see that the server is switched on.",
    ),
    Host(
        name="vscode",
        title="VS Code",
        format="json",
        section=("servers",),
        user="Code/User/mcp.json",
        project=".vscode/mcp.json",
        base="application",
        marks_type=True,
        afterwards="Run MCP: List Servers in VS Code and start it there.",
    ),
    Host(
        name="gemini",
        title="Gemini CLI",
        format="json",
        section=("mcpServers",),
        user=".gemini/settings.json",
        project=".gemini/settings.json",
        afterwards="Start a new session; /mcp shows the server.",
    ),
    Host(
        name="zed",
        title="Zed",
        format="json",
        section=("context_servers",),
        user="zed/settings.json",
        project=".zed/settings.json",
        base="application",
        afterwards="Zed takes it up at once; the Agent Panel's settings show the server.",
    ),
)


def host_named(name: str) -> Host:
    """Returns the host of that name. Raises KeyError."""
    return {host.name: host for host in HOSTS}[name]


def user_path(host: Host, environment: Mapping[str, str], platform: str = sys.platform) -> Path:
    """Returns the host's file for all projects. It need not exist.

    Zed keeps to `~/.config` on macOS too. The variables are those that the hosts themselves read.
    """
    home = Path(environment.get("HOME") or Path.home())
    moved = environment.get(host.home_variable) if host.home_variable else None
    if moved:
        return Path(moved) / host.user.removeprefix(host.home_prefix)
    if host.base == "home":
        return home / host.user
    if platform == "darwin":
        return home / (".config" if host.name == "zed" else "Library/Application Support") / host.user
    return Path(environment.get("XDG_CONFIG_HOME") or home / ".config") / host.user


def entry(host: Host, command: str, arguments: tuple[str, ...], environment: Mapping[str, str]) -> dict[str, object]:
    """Returns the server's entry in the host's shape. `environment` is what its process needs besides the host's own."""
    made: dict[str, object] = {"type": "stdio"} if host.marks_type else {}
    made |= {"command": command, "args": arguments}
    return made | ({"env": dict(environment)} if environment else {})
