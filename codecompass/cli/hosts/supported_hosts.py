"""The hosts that `codecompass setup` supports: where each keeps its servers, and in which shape.

Paths and shapes were checked with the program itself in November 2026 (Claude Code, Codex, Copilot CLI, Gemini CLI, Qwen Code,
opencode, Amp), else taken from the host's documents. A host's user file applies to all projects; its project file applies to one
and can be committed.
"""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, Literal

from msgspec import Struct

FileFormat = Literal["json", "toml", "yaml"]
Base = Literal["home", "config", "application"]

SERVER: Final = "codecompass"
"""The name of the server in every host. Short, because some hosts prefix the names of tools with it and cut the result."""


class LaunchForm(Struct, frozen=True, kw_only=True):
    """How a server's process is started."""

    program: str
    arguments: tuple[str, ...] = ()
    environment: Mapping[str, str] = {}


class EntryShape(Struct, frozen=True, kw_only=True):
    """The names of an entry's members. `arguments` is empty if they are in one list with the command.

    `before` and `after` are further members that the host needs, written before and after these.
    """

    command: str = "command"
    arguments: str = "args"
    environment: str = "env"
    before: tuple[tuple[str, object], ...] = ()
    after: tuple[tuple[str, object], ...] = ()

    def entry(self, launch: LaunchForm) -> dict[str, object]:
        """Returns the entry that starts a server with `launch`."""
        made: dict[str, object] = dict(self.before)
        if self.arguments:
            made |= {self.command: launch.program, self.arguments: list(launch.arguments)}
        else:
            made[self.command] = [launch.program, *launch.arguments]
        if launch.environment:
            made[self.environment] = dict(launch.environment)
        return made | dict(self.after)

    def launch(self, entry: Mapping[str, object]) -> LaunchForm | None:
        """Returns how an entry starts its server, None if it starts no process or has another shape."""
        command = entry.get(self.command)
        given: object = entry.get(self.arguments, []) if self.arguments else []
        if not self.arguments and isinstance(command, list | tuple) and command:
            command, given = command[0], list(command[1:])
        environment = entry.get(self.environment, {})
        if not isinstance(command, str) or not isinstance(given, list | tuple) or not isinstance(environment, Mapping):
            return None
        if not all(isinstance(each, str) for each in given):
            return None
        return LaunchForm(program=command, arguments=tuple(given), environment=dict(environment))


class EntryApproval(Struct, frozen=True, kw_only=True):
    """A member of the entry that makes the host call tools without asking. `value` None stands for the list of our tools."""

    member: str
    value: object = None


class FileApproval(Struct, frozen=True, kw_only=True):
    """A list, at the path `section` of another file of the host, of tools that it calls without asking, as `prefix` and the
    tool's name. The `file` is below the user's home and below a project.
    """

    file: str
    section: tuple[str, ...]
    prefix: str


class Host(Struct, frozen=True, kw_only=True):
    """An editor or agent that starts servers from an entry in a configuration file."""

    name: str
    title: str
    format: FileFormat = "json"
    section: tuple[str, ...] = ("mcpServers",)
    """Path of the object that holds the servers."""
    shape: EntryShape = EntryShape()
    user: str = ""
    """Its user file, below the `base` directory; empty if other programs may not write it."""
    project: str | None = None
    """Its file in a project, None if it has none."""
    others: tuple[str, ...] = ()
    """Alternative names of both files that the host reads too; one that exists is used."""
    base: Base = "home"
    home_variable: str = ""
    """Environment variable that moves its directory, the first one in `user`."""
    file_variable: str = ""
    """Environment variable that names its user file."""
    approval: EntryApproval | FileApproval | None = None
    finds_project: bool = True
    """Whether the server learns from the host which project is open."""
    place: str = ""
    """Where a person puts the entry, for a host without `user`."""
    afterwards: str
    """What makes the entry take effect."""
    asking: str = ""
    """What the host asks before it calls a tool, and what switches that off."""
    project_afterwards: str = ""
    """What the host asks before it uses the file of a project."""


_TYPED: Final = EntryShape(before=(("type", "stdio"),))
_NEW_SESSION: Final = "Start a new session; /mcp shows the server."

HOSTS: Final = (
    Host(
        name="claude-code",
        title="Claude Code",
        shape=_TYPED,
        user=".claude.json",
        project=".mcp.json",
        home_variable="CLAUDE_CONFIG_DIR",
        approval=FileApproval(file=".claude/settings.json", section=("permissions", "allow"), prefix=f"mcp__{SERVER}__"),
        afterwards=_NEW_SESSION,
        asking="Claude Code asks before the first call of each tool; --approve allows those that only read.",
        project_afterwards="Whoever opens the project is asked once whether to trust the server of .mcp.json.",
    ),
    Host(
        name="claude-desktop",
        title="Claude Desktop",
        user="Claude/claude_desktop_config.json",
        base="application",
        finds_project=False,
        afterwards="Quit Claude Desktop and start it again.",
        asking='Claude Desktop asks before a call: choose "Always allow" for each tool.',
    ),
    Host(
        name="codex",
        title="Codex",
        format="toml",
        section=("mcp_servers",),
        user=".codex/config.toml",
        project=".codex/config.toml",
        home_variable="CODEX_HOME",
        approval=EntryApproval(member="default_tools_approval_mode", value="approve"),
        afterwards=_NEW_SESSION,
        asking="Where Codex asks before a call, --approve makes it call without.",
        project_afterwards="Codex reads the file of a project only where the project is trusted.",
    ),
    Host(
        name="cursor",
        title="Cursor",
        user=".cursor/mcp.json",
        project=".cursor/mcp.json",
        afterwards="Open Customize in Cursor's sidebar, then MCPs, and see that the server is switched on.",
        asking="Cursor asks before a call; its settings for agents, Auto-Run, have a list of what need not be asked.",
    ),
    Host(
        name="vscode",
        title="VS Code",
        section=("servers",),
        shape=_TYPED,
        user="Code/User/mcp.json",
        project=".vscode/mcp.json",
        base="application",
        afterwards="Run MCP: List Servers in VS Code and start it there.",
        asking='GitHub Copilot asks before a call: choose "Always Allow" in its dialog.',
    ),
    Host(
        name="copilot",
        title="Copilot CLI",
        shape=EntryShape(before=(("tools", ["*"]), ("type", "local"))),
        user=".copilot/mcp-config.json",
        project=".github/mcp.json",
        home_variable="COPILOT_HOME",
        afterwards="Start a new session; /mcp shows the server.",
        asking=f"Copilot CLI asks before a call; start it with --allow-tool {SERVER} and it does not.",
        project_afterwards="Copilot CLI reads the file of a project only where the directory is trusted.",
    ),
    Host(
        name="gemini",
        title="Gemini CLI",
        user=".gemini/settings.json",
        project=".gemini/settings.json",
        approval=EntryApproval(member="trust", value=True),
        afterwards=f"{_NEW_SESSION} In a folder that is not trusted Gemini CLI starts no server: /permissions trusts it.",
        asking="Gemini CLI asks before a call; --approve makes it trust this server.",
    ),
    Host(
        name="qwen",
        title="Qwen Code",
        user=".qwen/settings.json",
        project=".qwen/settings.json",
        approval=EntryApproval(member="trust", value=True),
        afterwards=_NEW_SESSION,
        asking="Qwen Code asks before a call; --approve makes it trust this server.",
    ),
    Host(
        name="opencode",
        title="opencode",
        section=("mcp",),
        shape=EntryShape(arguments="", environment="environment", before=(("type", "local"),), after=(("enabled", True),)),
        user="opencode/opencode.json",
        project="opencode.json",
        others=("opencode.jsonc",),
        base="config",
        afterwards="Start a new session; opencode mcp list shows the server.",
    ),
    Host(
        name="amp",
        title="Amp",
        section=("amp.mcpServers",),
        user="amp/settings.json",
        project=".amp/settings.json",
        base="config",
        afterwards="Start a new session; amp mcp list shows the server.",
        asking=f"Where Amp asks before a call: amp permissions add allow 'mcp__{SERVER}__*'.",
        project_afterwards=f"Whoever opens the project allows the server once: amp mcp approve {SERVER}.",
    ),
    Host(
        name="cline",
        title="Cline",
        user=".cline/data/settings/cline_mcp_settings.json",
        file_variable="CLINE_MCP_SETTINGS_PATH",
        approval=EntryApproval(member="autoApprove"),
        afterwards="Start a new session. The MCP Servers view shows the server.",
        asking="Cline asks before a call; --approve allows the tools that only read.",
    ),
    Host(
        name="cline-vscode",
        title="Cline in VS Code",
        user="Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json",
        base="application",
        approval=EntryApproval(member="autoApprove"),
        afterwards="Cline takes it up at once; the MCP Servers view shows the server.",
        asking="Cline asks before a call; --approve allows the tools that only read.",
    ),
    Host(
        name="continue",
        title="Continue",
        user=".continue/mcpServers/codecompass.json",
        project=".continue/mcpServers/codecompass.json",
        home_variable="CONTINUE_GLOBAL_DIR",
        afterwards="Continue takes it up at once, in Agent mode. Its command line, cn, reads the servers of config.yaml only.",
        asking="Continue asks before a call: set the tools to Automatic in its tool settings.",
    ),
    Host(
        name="windsurf",
        title="Windsurf",
        user=".codeium/windsurf/mcp_config.json",
        finds_project=False,
        afterwards="Press Refresh in the MCP settings of Cascade.",
    ),
    Host(
        name="zed",
        title="Zed",
        section=("context_servers",),
        user="zed/settings.json",
        project=".zed/settings.json",
        base="config",
        afterwards="Zed takes it up at once; the Agent Panel's settings show the server.",
        asking="Zed asks before a call: choose to always allow it.",
    ),
    Host(
        name="neovim",
        title="Neovim",
        user=".config/mcphub/servers.json",
        project=".mcphub/servers.json",
        approval=EntryApproval(member="autoApprove"),
        afterwards="mcphub.nvim takes it up at once; :MCPHub shows the server.",
        asking="mcphub.nvim asks before a call; --approve allows the tools that only read.",
    ),
    Host(
        name="goose",
        title="Goose",
        format="yaml",
        section=("extensions",),
        shape=EntryShape(
            command="cmd",
            environment="envs",
            before=(("enabled", True), ("type", "stdio"), ("name", SERVER), ("description", "Finds code.")),
            after=(("timeout", 300),),
        ),
        user="goose/config.yaml",
        base="config",
        afterwards="Start a new session; goose info -v shows the extension.",
        asking="Where Goose asks before a call: goose configure, Tool Permission.",
    ),
    Host(
        name="jetbrains",
        title="JetBrains AI Assistant",
        finds_project=False,
        place="Settings | Tools | AI Assistant | Model Context Protocol (MCP): Add, then As JSON",
        afterwards="Apply, and see that the status of the server is connected.",
    ),
)


def host_named(name: str) -> Host:
    """Returns the host of that name. Raises KeyError."""
    return {host.name: host for host in HOSTS}[name]


def user_path(host: Host, environment: Mapping[str, str], platform: str = sys.platform) -> Path:
    """Returns the host's user file, which need not exist. `environment` holds the variables that the host itself reads."""
    given = environment.get(host.file_variable) if host.file_variable else None
    if given:
        return Path(given)
    return _existing(_below_home(host, host.user, environment, platform), host.others)


def project_path(host: Host, root: Path) -> Path | None:
    """Returns the host's file of the project at `root`, None if it has none."""
    return None if host.project is None else _existing(root / host.project, host.others)


def approval_path(host: Host, approval: FileApproval, environment: Mapping[str, str], root: Path | None) -> Path:
    """Returns the file with the host's list of approved tools: of the project at `root`, or the user's."""
    if root is not None:
        return root / approval.file
    return _below_home(host, approval.file, environment, sys.platform)


def _below_home(host: Host, name: str, environment: Mapping[str, str], platform: str) -> Path:
    """Returns the path of a user file. Command line hosts, and Zed, use `~/.config` on macOS as well."""
    home = Path(environment.get("HOME") or Path.home())
    moved = environment.get(host.home_variable) if host.home_variable else None
    if moved:
        return Path(moved) / name[name.find("/") + 1 :]
    if host.base == "home":
        return home / name
    if platform == "darwin" and host.base == "application":
        return home / "Library/Application Support" / name
    if platform == "darwin" and host.name == "zed":
        return home / ".config" / name
    return Path(environment.get("XDG_CONFIG_HOME") or home / ".config") / name


def _existing(path: Path, others: Sequence[str]) -> Path:
    if not path.exists():
        for other in others:
            if path.with_name(other).exists():
                return path.with_name(other)
    return path
