"""Runs the server or the bridge of `serve-mcp`, from its options to an orderly shutdown.

    options -> settings and rules, checked -> standard streams taken -> log -> session -> server

Owns what belongs to the process rather than to a server: signals, descriptors, the log.
"""

import os
import signal
import socket
import stat
import sys
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import TYPE_CHECKING, Final, TextIO, cast

import trio
from msgspec import Struct
from msgspec.structs import replace

from codecompass import log
from codecompass.cli import failure
from codecompass.cli.invocation import Invocation
from codecompass.cli.organisation import organisation_target_of
from codecompass.cli.semantic import semantic_target_of
from codecompass.cli.shutdown import run_until_signal
from codecompass.cli.terminal import working_directory
from codecompass.cli.traces import opened_traces
from codecompass.errors import InvalidInput, PermissionDenied
from codecompass.memory import collect_as_usual, share_arenas
from codecompass.nurseries import open_nursery
from codecompass.projects.detection import RoutingRules, routing_rules
from codecompass.remote.address import is_loopback
from codecompass.settings import WEBHOOK_SECRET_VARIABLE, LogLevel, ServerSettings, Settings
from codecompass.transport.deferred import DeferredServer
from codecompass.transport.http.server import bound_url, open_sockets
from codecompass.transport.mcp.core import Core
from codecompass.transport.product.product_surface import product_surface
from codecompass.transport.stdio import STDERR, STDIN, STDOUT, Pipes, serve_stdio, take_standard_streams

if TYPE_CHECKING:
    from codecompass.semantic.target import SemanticTarget
    from codecompass.tracing import Traces
    from codecompass.transport.bridge.relay import Bridge
    from codecompass.transport.bridge.target import BridgeTarget
    from codecompass.transport.organisation.target import OrganisationTarget
    from codecompass.transport.server import ServerOptions

BRIDGE_SETTINGS: Final = frozenset({"server.project_from_cwd", "log.level"})
"""The settings that apply to a bridge, which only forwards messages."""

ORGANISATION_SWITCH_SECONDS: Final = 0.001
"""How long a thread of an organisation's server computes while another one waits for its turn. Each question waits for the engine
about four times, and after each time for its turn again: a twelfth of the time of questions to all repositories."""

SERVICE: Final = "codecompass-server"
"""What traces call this process."""

END_SECONDS: Final = 15.0
"""How long the shutdown may take: pending calls, then workspaces 5 s, the job log 10 s at most."""

_NOT_ENDED: Final = b"codecompass: not all work could be ended (a file system that does not answer?)\n"

_PRIVATE: Final = 0o600

ON_A_TERMINAL: Final = (
    "This speaks the Model Context Protocol, one JSON message a line, and waits for a client. Editors start it by themselves: "
    "codecompass setup HOST. End it with Ctrl-D."
)


class Targets(Struct, frozen=True, kw_only=True):
    """Other servers that this one queries or reports to, each None if it does not."""

    semantic: "SemanticTarget | None"
    organisation: "OrganisationTarget | None"
    traces: "Traces | None" = None


def serve(
    invocation: Invocation,
    flags: Mapping[str, object],
    workspaces: Sequence[str],
    log_file: str | None,
    *,
    greet: Callable[[str], None] | None = None,
) -> int:
    """Serves until the client disconnects or a signal arrives; returns the exit code. Over HTTP, calls `greet` with the address
    once clients can connect; without it, writes the address to stderr.

    Raises InvalidInput for invalid options, PermissionDenied for a log file that cannot be written; no server has been started
    by then.
    """
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        # Until the server handles it: Python's handler would not run while a read of an unresponsive file system blocks.
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    loaded = invocation.load(flags=flags)
    for warning in loaded.warnings:
        invocation.terminal.warn(warning)
    settings = loaded.settings
    wrong = _unknown_tools(settings.server.tools)
    if wrong is not None:
        # Reported verbatim: `failure.report` would replace the names of tools with those of commands.
        return failure.report_wrong_usage(wrong, "Try: codecompass serve-mcp --help", invocation.terminal, as_json=False)
    collect_as_usual()
    share_arenas()
    if settings.server.store == "opensearch":
        return _serve_organisation(invocation, settings, log_file, greet)
    rules = routing_rules(
        settings.server,
        environment=invocation.environment,
        cwd=working_directory(),
        workspaces=workspaces,
        max_unmarked_files=settings.index.max_unmarked_files,
    )
    targets = Targets(
        semantic=semantic_target_of(settings, invocation.environment),
        organisation=organisation_target_of(settings, invocation.environment),
    )
    if settings.server.transport == "http":
        return _serve_over_http(invocation, settings, rules, targets, log_file, greet)
    if os.isatty(STDIN):
        invocation.terminal.note(ON_A_TERMINAL, "dim")
    with take_standard_streams() as pipes, _log_to(log_file), opened_traces(settings.traces, SERVICE) as traces:
        level = log.level_for(settings.log.level, invocation.options.verbosity)
        if level in ("debug", "info"):
            _configure_log(settings, level)
        trio.run(_serve, invocation, settings, rules, replace(targets, traces=traces), pipes)
    return failure.DONE


def _serve_over_http(
    invocation: Invocation,
    settings: Settings,
    rules: RoutingRules,
    targets: Targets,
    log_file: str | None,
    greet: Callable[[str], None] | None,
) -> int:
    """Serves over HTTP. The port is opened before the server is imported, so that a port in use is reported at once."""
    sockets = open_sockets(settings.server.bind, settings.server.port)
    address = bound_url(sockets)
    if targets.organisation is not None and not is_loopback(settings.server.bind):
        invocation.terminal.warn(
            f"whoever reaches {address} sees with your token what the organisation's server shows you; bind 127.0.0.1, or leave "
            "organisation.url empty"
        )
    with _log_to(log_file), opened_traces(settings.traces, SERVICE) as traces:
        _announce(invocation, settings, address, greet)
        trio.run(_serve_http, invocation, settings, rules, replace(targets, traces=traces), sockets)
    return failure.DONE


def _announce(invocation: Invocation, settings: Settings, address: str, greet: Callable[[str], None] | None) -> None:
    _configure_log(settings, log.level_for(settings.log.level, invocation.options.verbosity))
    if greet is None:
        invocation.terminal.note(f"Listening on {address}. End it with Ctrl-C.", "dim")
    else:
        greet(address)


def _serve_organisation(
    invocation: Invocation, settings: Settings, log_file: str | None, greet: Callable[[str], None] | None
) -> int:
    """Serves an organisation's code over HTTP. Raises InvalidInput if the settings name no engine, or another transport."""
    from codecompass.cli.cluster.engine import require_client

    if settings.server.transport != "http":
        raise InvalidInput(
            "--store opensearch is for a server that many ask: add --transport http. A server of your own (without --store) can "
            "ask that one for what it has not.",
            field="transport",
        )
    if not settings.cluster.url:
        raise InvalidInput(
            "--store opensearch: say where the search engine is, with --cluster-url or CODECOMPASS_CLUSTER_URL.",
            field="cluster_url",
        )
    require_client()
    sockets = open_sockets(settings.server.bind, settings.server.port)
    metrics_port = settings.server.metrics_port
    metrics_sockets = open_sockets(settings.server.bind, metrics_port) if metrics_port else ()
    with ExitStack() as stack:
        for each in (*sockets, *metrics_sockets):
            # Closed by the server; by this stack if no server can be created from the settings.
            stack.callback(each.close)
        stack.enter_context(_log_to(log_file))
        traces = stack.enter_context(opened_traces(settings.traces, SERVICE))
        _announce(invocation, settings, bound_url(sockets), greet)
        sys.setswitchinterval(ORGANISATION_SWITCH_SECONDS)
        trio.run(_serve_library, invocation, settings, sockets, metrics_sockets, traces)
    return failure.DONE


async def _serve_library(
    invocation: Invocation,
    settings: Settings,
    sockets: Sequence[socket.socket],
    metrics_sockets: Sequence[socket.socket],
    traces: "Traces | None",
) -> None:
    from codecompass.cluster.serving.http_routes import serve_library
    from codecompass.cluster.serving.server import LibraryLaunch, open_library_server

    # Servers on one machine have different ports, and the cache of one is of no use to another.
    cache = invocation.home.root / "organisation" / str(sockets[0].getsockname()[1])
    secret = invocation.environment.get(WEBHOOK_SECRET_VARIABLE, "")
    launch = LibraryLaunch(settings=settings, cache=cache, webhook_secret=secret, traces=traces)
    async with open_library_server(launch) as server:
        await _until_signal(partial(serve_library, server, sockets, metrics_sockets=metrics_sockets), server.core)


async def _serve_http(
    invocation: Invocation,
    settings: Settings,
    rules: RoutingRules,
    targets: Targets,
    sockets: Sequence[socket.socket],
) -> None:
    from codecompass.transport.http.service import serve_http
    from codecompass.transport.server import open_server

    async with open_server(_launch(invocation, settings, rules, targets)) as server:
        await _until_signal(partial(serve_http, server, sockets), server.core)


def bridge(
    invocation: Invocation, address: str, flags: Mapping[str, object], workspaces: Sequence[str], log_file: str | None
) -> int:
    """Forwards messages between a client on stdin and stdout and the server at `address`, until the client disconnects or a
    signal arrives; returns the exit code.

    Raises InvalidInput for options that do not apply to a bridge, PermissionDenied for a log file that cannot be written.
    """
    from codecompass.transport.bridge.target import bridge_target

    for key in sorted(flags.keys() - BRIDGE_SETTINGS):
        name = key.rpartition(".")[2]
        option = "--" + (name.removesuffix("s") if name.startswith("allowed_") else name).replace("_", "-")
        raise InvalidInput(f"{option} is for the server, and this connects to one. Give it to the server.", field=key)
    if len(workspaces) > 1:
        raise InvalidInput("--workspace: only one project can be chosen with --connect.", field="workspace")
    settings = invocation.load(flags=flags).settings
    rules = routing_rules(
        ServerSettings(project_from_cwd=settings.server.project_from_cwd),
        environment=invocation.environment,
        cwd=working_directory(),
        workspaces=workspaces,
    )
    target = bridge_target(address, rules)
    if os.isatty(STDIN):
        invocation.terminal.note(ON_A_TERMINAL, "dim")
    with take_standard_streams() as pipes, _log_to(log_file):
        level = log.level_for(settings.log.level, invocation.options.verbosity)
        if level in ("debug", "info"):
            _configure_log(settings, level)
        trio.run(_bridge, target, pipes)
    return failure.DONE


async def _bridge(target: "BridgeTarget", pipes: Pipes) -> None:
    from codecompass.transport.bridge.relay import Bridge

    bridge = Bridge(target)
    await _until_signal(partial(bridge.serve, pipes), bridge)


def _configure_log(settings: Settings, level: LogLevel) -> None:
    # LogStream has the methods of a stream that structlog and logging use.
    log.configure(level, settings.log.format, stream=cast("TextIO", log.LogStream(STDERR)))


def _unknown_tools(listing: str) -> str | None:
    """Returns what is wrong with a list of tools, None if it is valid. The default is not checked, to save the import."""
    if listing != ServerSettings().tools:
        from codecompass.transport.tools.listing import listed_names

        try:
            listed_names(listing)
        except InvalidInput as error:
            return error.message
    return None


async def _serve(invocation: Invocation, settings: Settings, rules: RoutingRules, targets: Targets, pipes: Pipes) -> None:
    def launch() -> "ServerOptions":
        # Not earlier: the session logs nothing at these levels, and structlog takes long to import.
        _configure_log(settings, log.level_for(settings.log.level, invocation.options.verbosity))
        return _launch(invocation, settings, rules, targets)

    server = DeferredServer(launch)
    core = Core(product_surface(server, settings.server.tools, settings.server.answers))
    async with open_nursery() as nursery:
        nursery.start_soon(server.run)
        await _until_signal(partial(serve_stdio, core, pipes, after_frame=server.answered), core)
        nursery.cancel_scope.cancel()


def _launch(invocation: Invocation, settings: Settings, rules: RoutingRules, targets: Targets) -> "ServerOptions":
    from codecompass.transport.server import ServerOptions

    return ServerOptions(
        settings=settings,
        settings_for=invocation.logged_settings_for,
        home=invocation.home,
        rules=rules,
        semantic=targets.semantic,
        organisation=targets.organisation,
        traces=targets.traces,
    )


async def _until_signal(run: Callable[[], Awaitable[object]], server: "Core | Bridge") -> None:
    """Runs `run` until it ends, or until a signal comes and pending calls are answered."""
    await run_until_signal(run, server.stop, END_SECONDS, _NOT_ENDED)


@contextmanager
def _log_to(path: str | None) -> Iterator[None]:
    """Redirects stdout and stderr to the file, which then also gets the output of libraries and of a crashing interpreter."""
    if path is None:
        yield
        return
    descriptor = _opened_log(os.path.abspath(os.path.expanduser(path)))
    try:
        os.dup2(descriptor, STDERR)
        os.dup2(descriptor, STDOUT)
    finally:
        os.close(descriptor)
    yield


def _opened_log(path: str) -> int:
    try:
        # O_NONBLOCK: opening a named pipe would wait.
        descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NONBLOCK, _PRIVATE)
    except OSError as error:
        raise PermissionDenied(
            f"--log-file: {path} cannot be written: {error.strerror}. Name another file.", path=path
        ) from error
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise InvalidInput(f"--log-file: {path} is not a regular file. Name another one.", field="log_file", value=path)
    os.set_blocking(descriptor, True)
    return descriptor
