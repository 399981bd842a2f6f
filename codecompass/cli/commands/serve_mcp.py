"""`codecompass serve-mcp`: the server that an editor or an agent starts."""

from typing import Final, get_args

import asyncclick
from msgspec.structs import replace

from codecompass.cli.command import command
from codecompass.cli.help import Example
from codecompass.cli.invocation import Invocation
from codecompass.cli.tool_options import comma_separated
from codecompass.settings import AnswerForm, LogLevel, Store, Transport

_SETTINGS: Final = {
    "transport": "server.transport",
    "store": "server.store",
    "cluster_url": "cluster.url",
    "cluster_prefix": "cluster.prefix",
    "port": "server.port",
    "bind": "server.bind",
    "metrics_port": "server.metrics_port",
    "auto_workspace": "server.auto_workspace",
    "allowed_roots": "server.allowed_roots",
    "allowed_git_dirs": "server.allowed_git_dirs",
    "max_auto_workspaces": "server.max_auto_workspaces",
    "warmset_capacity": "server.warmset_capacity",
    "prewarm": "server.prewarm",
    "project_from_cwd": "server.project_from_cwd",
    "allowed_origins": "server.allowed_origins",
    "allowed_hosts": "server.allowed_hosts",
    "tools": "server.tools",
    "answers": "server.answers",
    "log_level": "log.level",
}
"""The setting that each option overrides."""


@command(
    "serve-mcp",
    text="""
    Serve the tools to an editor or an agent, over the Model Context Protocol.

    An editor starts this by itself: codecompass setup HOST tells it to. The protocol is spoken on stdin and stdout; the log
    goes to stderr, or to --log-file. The server ends with its input.
    """,
    examples=(
        Example("codecompass serve-mcp", "what an editor runs; the project is the one that it has open"),
        Example("codecompass serve-mcp --workspace ~/src/shop", "answer for this project, whatever is open"),
        Example("codecompass serve-mcp --auto-workspace --allowed-root ~/src", "take up any project below a directory"),
        Example("codecompass serve-mcp --connect http://127.0.0.1:9100", "use the server that runs already"),
        Example("codecompass serve-mcp --tools core", "list five tools, for models that choose badly among many"),
        Example("codecompass serve-mcp --answers text", "plain text in place of JSON: what models read best"),
        Example("codecompass serve-mcp --log-file /tmp/codecompass.log --log-level debug", "see what goes on"),
    ),
    chooses_project=False,
)
@asyncclick.option(
    "--transport", type=asyncclick.Choice(get_args(Transport)), help="How clients reach the server: stdio unless set otherwise."
)
@asyncclick.option("--port", type=int, metavar="N", help="HTTP port, 9100 unless set otherwise; 0 means any free one.")
@asyncclick.option("--bind", metavar="ADDR", help="HTTP address to listen on, 127.0.0.1 unless set otherwise.")
@asyncclick.option(
    "--workspace",
    "workspaces",
    metavar="PATH",
    multiple=True,
    type=asyncclick.Path(),
    help="Answer for this project, whatever the client has open. More of them are made known only.",
)
@asyncclick.option("--auto-workspace/--no-auto-workspace", default=None, help="Accept new projects below the allowed roots.")
@asyncclick.option(
    "--allowed-root",
    "allowed_roots",
    metavar="PATH",
    multiple=True,
    type=asyncclick.Path(),
    help="Answer for nothing outside of this directory. Can be given several times.",
)
@asyncclick.option(
    "--allowed-git-dir",
    "allowed_git_dirs",
    metavar="PATH",
    multiple=True,
    type=asyncclick.Path(),
    help="With allowed roots: let git repositories have parts in this directory too, such as that of linked work trees.",
)
@asyncclick.option("--max-auto-workspaces", type=int, metavar="N", help="Maximum number of projects accepted in this way; 10.")
@asyncclick.option("--warmset-capacity", type=int, metavar="N", help="Number of recent projects opened at the start; 3.")
@asyncclick.option("--prewarm/--no-prewarm", default=None, help="Open recent projects at the start, or do not.")
@asyncclick.option("--project-from-cwd/--no-project-from-cwd", default=None, help="Let the current directory choose the project.")
@asyncclick.option(
    "--allowed-origin", "allowed_origins", metavar="ORIGIN", multiple=True, help="Web origin that may connect over HTTP."
)
@asyncclick.option("--allowed-host", "allowed_hosts", metavar="HOST", multiple=True, help="Host header to accept over HTTP.")
@asyncclick.option(
    "--connect", metavar="URL", help="Pass everything on to the server that runs at this address, and share its index."
)
@asyncclick.option(
    "--store",
    type=asyncclick.Choice(get_args(Store)),
    help="Where the indexes are: embedded on this machine, or an organisation's in opensearch.",
)
@asyncclick.option("--cluster-url", metavar="URLS", help="Nodes of that OpenSearch, separated by commas.")
@asyncclick.option("--cluster-prefix", metavar="NAME", help="Prefix of the names of its indexes; codecompass.")
@asyncclick.option("--metrics-port", type=int, metavar="N", help="With opensearch: port for /metrics alone, without a token.")
@asyncclick.option("--tools", metavar="LIST", help="Tools to list: default, core, all, or names separated by commas.")
@asyncclick.option(
    "--answers", type=asyncclick.Choice(get_args(AnswerForm)), help="Form of the answers: json for programs, text for models."
)
@asyncclick.option(
    "--log-file", metavar="FILE", type=asyncclick.Path(dir_okay=False), help="Append the log to this file instead of stderr."
)
@asyncclick.option("--log-level", type=asyncclick.Choice(get_args(LogLevel)), help="Lowest severity that is logged.")
def serve_mcp(
    invocation: Invocation, /, workspaces: tuple[str, ...], log_file: str | None, connect: str | None, **options: object
) -> int:
    """Serves until the client disconnects or a signal arrives."""
    from codecompass.cli.serving import bridge, serve

    # stdout is for frames of the protocol, so errors are text on stderr.
    invocation.options = replace(invocation.options, as_json=False)
    flags = {_SETTINGS[name]: value for name, value in options.items() if value not in (None, ())}
    if "cluster.url" in flags:
        flags["cluster.url"] = comma_separated(str(flags["cluster.url"]))
    pins = workspaces or tuple(filter(None, [invocation.options.workspace]))
    if connect is not None:
        return bridge(invocation, connect, flags, pins, log_file)
    return serve(invocation, flags, pins, log_file)
