"""What a server offers, seen from the session: tools, resources, prompts, completions, each behind a small Protocol.

The product's surface is made in `product/product_surface.py`; the conformance tests put their own behind the same session.
"""

from collections.abc import Mapping
from typing import Final, Protocol

from msgspec import Struct

from codecompass.transport.calls import ToolDescription
from codecompass.transport.mcp.exchange import Exchange
from codecompass.transport.mcp.tasks import Task, Watch
from codecompass.transport.mcp.wire import (
    CallToolResult,
    CompleteParams,
    GetPromptResult,
    Implementation,
    InputRequest,
    Prompt,
    Resource,
    ResourceTemplate,
)

HOUR_MS: Final = 3_600_000


class InputRequired(Struct, frozen=True, kw_only=True):
    """Instead of a result, in the modern era: what the client has to find out before it calls again.

    Only what the client has declared that it can answer may be asked.
    """

    requests: Mapping[str, InputRequest]


class TaskStarted(Struct, frozen=True, kw_only=True):
    """Instead of a result, for clients with the tasks extension: the work goes on, and can be asked for.

    `otherwise` is the result where there is no room for another task.
    """

    task: Task
    otherwise: CallToolResult
    meta: Mapping[str, object] = {}


ToolOutcome = CallToolResult | InputRequired | TaskStarted


class ToolSource(Protocol):
    """The tools of a server."""

    @property
    def listed(self) -> tuple[ToolDescription, ...]:
        """Those that `tools/list` shows, always in the same order."""

    def knows(self, name: str) -> bool:
        """Whether there is a tool of this name, listed or not."""

    async def call(self, name: str, arguments: Mapping[str, object], exchange: Exchange) -> ToolOutcome:
        """Runs a tool. Raises Fault for what the protocol forbids; failures of the tool are results."""


class ResourceText(Struct, frozen=True, kw_only=True):
    """What stands in a resource. `ttl_ms` says for how long it will, `is_private` that it is one client's alone."""

    contents: tuple[Struct, ...]
    ttl_ms: int = 0
    is_private: bool = True


class ResourceSource(Protocol):
    """The resources of a server."""

    @property
    def listed(self) -> tuple[Resource, ...]:
        """Those that `resources/list` shows."""

    @property
    def templates(self) -> tuple[ResourceTemplate, ...]:
        """The kinds of resources whose URIs a client makes itself."""

    async def read(self, uri: str, exchange: Exchange) -> ResourceText | InputRequired | None:
        """Returns what stands in the resource, None where there is no such one."""

    def exists(self, uri: str) -> bool:
        """Whether `uri` could be read, as far as that can be said without reading it."""

    def watch(self, uri: str) -> Watch | None:
        """Returns the changes of the resource from now on, None where it is not one that is watched."""


class PromptSource(Protocol):
    """The prompts of a server."""

    @property
    def listed(self) -> tuple[Prompt, ...]:
        """Those that `prompts/list` shows."""

    async def get(self, name: str, arguments: Mapping[str, str], exchange: Exchange) -> GetPromptResult | None:
        """Returns the prompt filled in, None for an unknown name. Raises Fault for a missing argument."""


class CompletionSource(Protocol):
    """Completions of the arguments of prompts and resource templates."""

    async def complete(self, params: CompleteParams, exchange: Exchange) -> tuple[str, ...]:
        """Returns the values that fit, best first; none where nothing is known of that argument."""


class Surface(Struct, frozen=True, kw_only=True):
    """A whole server."""

    info: Implementation
    instructions: str = ""
    tools: ToolSource
    resources: ResourceSource
    prompts: PromptSource
    completions: CompletionSource
