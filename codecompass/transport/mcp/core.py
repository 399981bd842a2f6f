"""The state that all sessions of a server share: the surface, the tasks, the limits, the turns, and the list of tools,
encoded once."""

import time
from collections.abc import Mapping
from typing import Final

import msgspec
import trio
from msgspec import UNSET, Raw, Struct

from codecompass.transport.calls import ToolDescription
from codecompass.transport.mcp.protocol import (
    ANNOTATED_REVISION,
    MAX_MESSAGE_BYTES,
    META_SERVER,
    STRUCTURED_REVISION,
    TASKS_EXTENSION,
)
from codecompass.transport.mcp.surface import Surface
from codecompass.transport.mcp.tasks import TaskTable
from codecompass.transport.mcp.turns import Turns
from codecompass.transport.mcp.wire import ToolAnnotations, WireTool


class SessionLimits(Struct, frozen=True, kw_only=True):
    """Bounds of one session."""

    frame_bytes: int = MAX_MESSAGE_BYTES
    """The size of one message."""
    working: int = 32
    """Requests that run or wait for a turn of the server at a time; more wait behind them."""
    in_flight: int = 256
    """Requests that run or wait."""
    listening: int = 16
    """Streams of notifications, in addition to `in_flight`."""
    queued_frames: int = 128
    """Frames that wait for a client to read them."""
    roots_seconds: float = 5.0
    """How long a client may take to answer with its roots."""
    write_seconds: float = 30.0
    """How long a client may take to read one frame."""
    grace_seconds: float = 1.0
    """How long requests in flight may take to finish when the connection ends or the server stops."""


class Core:
    """The protocol side of one server, on which sessions are opened. `stop` tells all of them that the server stops."""

    def __init__(self, surface: Surface, limits: SessionLimits | None = None) -> None:
        self.surface: Final = surface
        self.limits: Final = limits or SessionLimits()
        self.tasks: Final = TaskTable(time.time)
        self.turns: Final = Turns()
        self.queueing: Final = trio.Lock()
        """Taken for one step of the event loop before a request is queued or refused of a session that has as many as may run.
        However many such sessions there are, the steps stay short, and what others send is read."""
        self.stopping: Final = trio.Event()
        self.server_meta: Final[Mapping[str, object]] = {META_SERVER: surface.info}
        self._tools: Final[dict[str, tuple[Raw, ...]]] = {}

    def stop(self) -> None:
        """Makes all sessions refuse new requests and end their streams of notifications."""
        self.stopping.set()

    def tools(self, revision: str) -> tuple[Raw, ...]:
        """Returns the listed tools, encoded with the members that the revision has; encoded once for each revision."""
        made = self._tools.get(revision)
        if made is None:
            made = self._tools[revision] = _encoded_tools(self.surface.tools.listed, revision)
        return made

    def capabilities(self, *, is_modern: bool) -> Mapping[str, object]:
        """Returns the server's capabilities. Its lists never change, so no `listChanged` is declared."""
        return {
            "tools": {},
            "resources": {"subscribe": True},
            "prompts": {},
            "completions": {},
            **({"extensions": {TASKS_EXTENSION: {}}} if is_modern else {}),
        }


def _encoded_tools(tools: tuple[ToolDescription, ...], revision: str) -> tuple[Raw, ...]:
    return tuple(Raw(msgspec.json.encode(_tool(tool, revision))) for tool in tools)


def _tool(tool: ToolDescription, revision: str) -> WireTool:
    is_structured = revision >= STRUCTURED_REVISION
    annotations = ToolAnnotations(
        title="" if is_structured else tool.title,
        read_only_hint=tool.is_read_only,
        destructive_hint=UNSET if tool.is_read_only else False,
        idempotent_hint=UNSET if tool.is_read_only else True,
        open_world_hint=UNSET if tool.is_short else False,
    )
    return WireTool(
        name=tool.name,
        title=tool.title if is_structured else "",
        description=tool.description,
        input_schema=tool.input_schema,
        output_schema=tool.output_schema if is_structured and tool.output_schema else UNSET,
        annotations=annotations if revision >= ANNOTATED_REVISION else UNSET,
        meta=tool.meta or UNSET,
    )
