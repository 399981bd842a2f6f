"""Where a bridge connects to, and for which project: from what the user typed, the environment and the current directory.

The project is the client side's: the server stands somewhere else and knows neither this environment nor this directory.
Roots come on top: the server asks the client for them through the bridge.
"""

import os
from typing import Final
from urllib.parse import quote, urlsplit

from msgspec import Struct

from codecompass.errors import InvalidInput
from codecompass.projects.detection import RoutingRules, project_root
from codecompass.scan.roots import marked_root

_PORTS: Final = {"http": 80, "ws": 80, "https": 443, "wss": 443}
_WEBSOCKET: Final = "/ws"
_STANDARD: Final = "/mcp"
_LOCAL_HOSTS: Final = frozenset({"localhost", "127.0.0.1", "::1"})


class BridgeTarget(Struct, frozen=True, kw_only=True):
    """A server, and the project that is asked for there; None leaves it to the client's roots and to the server.

    `url` is what messages show, `path` is the WebSocket's. `source` says what named the project. With `is_pinned` the
    client's own roots do not count.
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
        """The path with the parameters, as the opening handshake has them."""
        return self.path if self.project is None else f"{self.path}?project_path={quote(os.fsencode(self.project))}"

    @property
    def authority(self) -> str:
        """Host and port, as the header Host has them."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _PORTS["https" if self.is_encrypted else "http"] else f"{host}:{self.port}"

    @property
    def is_local(self) -> bool:
        """Whether the server is on this machine, or is reached through a port of it."""
        return self.host in _LOCAL_HOSTS


def bridge_target(address: str, rules: RoutingRules) -> BridgeTarget:
    """Returns the target of `--connect address`. Blocking, once. Raises InvalidInput for what is no address of a server."""
    try:
        parts = urlsplit(address if "://" in address else f"http://{address}")
        host, port = parts.hostname, parts.port
    except ValueError:
        raise _no_address(address) from None
    is_plain = not (parts.query or parts.fragment or "@" in parts.netloc)
    if parts.scheme not in _PORTS or not host or not is_plain:
        raise _no_address(address)
    scheme = "https" if parts.scheme in ("https", "wss") else "http"
    base = parts.path.rstrip("/").removesuffix(_WEBSOCKET).removesuffix(_STANDARD).rstrip("/")
    project, source = _project(rules)
    shown_host = f"[{host}]" if ":" in host else host
    return BridgeTarget(
        url=f"{scheme}://{shown_host}{f':{port}' if port else ''}{base}",
        host=host,
        port=port or _PORTS[scheme],
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
    """Returns the directory of the project and what names it (see `projects.detection`); None and "" where nothing does."""
    if rules.stated:
        source, path = rules.stated[0]
        return os.path.abspath(os.path.expanduser(path)), source
    if rules.cwd is None:
        return None, ""
    # Where a registered project lies around it, the server answers for that one, as it does for its own directory.
    root = project_root(registered=None, git_root=None, marked=marked_root(rules.cwd, rules.never))
    if root is None and rules.project_from_cwd and rules.cwd not in rules.never:
        root = rules.cwd
    return (None, "") if root is None else (str(root), "current directory")
