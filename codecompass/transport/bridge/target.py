"""Where a bridge connects to, and for which project: from the command line, the environment and the current directory.

The bridge determines the project, as the server runs elsewhere and knows neither this environment nor this directory. Roots are
separate: the server requests them from the client through the bridge.
"""

import os
from typing import Final
from urllib.parse import quote

from msgspec import Struct

from codecompass.errors import InvalidInput
from codecompass.projects.detection import RoutingRules, project_root
from codecompass.remote.address import is_loopback, parse_address
from codecompass.scan.roots import marked_root

_PORTS: Final = {"http": 80, "ws": 80, "https": 443, "wss": 443}
_WEBSOCKET: Final = "/ws"
_STANDARD: Final = "/mcp"


class BridgeTarget(Struct, frozen=True, kw_only=True):
    """A server, and the project that it is asked about; None leaves that to the client's roots and the server.

    `url` is shown in messages, `path` is that of the WebSocket. `source` says what named the project. With `is_pinned` the
    client's own roots are ignored.
    """

    url: str
    host: str
    port: int
    is_encrypted: bool
    path: str
    project: str | None = None
    source: str = ""
    is_pinned: bool = False

    @property
    def resource(self) -> str:
        """The path and query of the opening handshake."""
        return self.path if self.project is None else f"{self.path}?project_path={quote(os.fsencode(self.project))}"

    @property
    def authority(self) -> str:
        """Host and port in the form of the Host header."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _PORTS["https" if self.is_encrypted else "http"] else f"{host}:{self.port}"

    @property
    def is_local(self) -> bool:
        """Whether the server is on this machine, or is reached through one of its ports."""
        return is_loopback(self.host)


def bridge_target(address: str, rules: RoutingRules) -> BridgeTarget:
    """Returns the target of `--connect address`. Blocking. Raises InvalidInput for an invalid address."""
    server = parse_address(address if "://" in address else f"http://{address}", _PORTS, is_ascii=False)
    if server is None:
        raise _no_address(address)
    scheme = "https" if server.scheme in ("https", "wss") else "http"
    base = server.path.removesuffix(_WEBSOCKET).removesuffix(_STANDARD).rstrip("/")
    project, source = _project(rules)
    shown_host = f"[{server.host}]" if ":" in server.host else server.host
    return BridgeTarget(
        url=f"{scheme}://{shown_host}{f':{server.port}' if server.port else ''}{base}",
        host=server.host,
        port=server.port or _PORTS[scheme],
        is_encrypted=scheme == "https",
        path=base + _WEBSOCKET,
        project=project,
        source=source,
        is_pinned=bool(rules.pinned),
    )


def _no_address(address: str) -> InvalidInput:
    return InvalidInput(
        f"--connect {address}: not the address of a server. Give it as http://127.0.0.1:9100", field="connect", value=address
    )


def _project(rules: RoutingRules) -> tuple[str | None, str]:
    """Returns the directory of the project and what names it (see `projects.detection`); None and "" if nothing does."""
    if rules.stated:
        source, path = rules.stated[0]
        return os.path.abspath(os.path.expanduser(path)), source
    if rules.cwd is None:
        return None, ""
    # If a registered project contains it, the server answers for that one, as it does for its own directory.
    root = project_root(registered=None, git_root=None, marked=marked_root(rules.cwd, rules.never))
    if root is None and rules.project_from_cwd and rules.cwd not in rules.never:
        root = rules.cwd
    return (None, "") if root is None else (str(root), "current directory")
