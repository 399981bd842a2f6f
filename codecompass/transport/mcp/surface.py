"""What a server offers to sessions: tools, resources, prompts, completions, each behind a small Protocol.

The product's surface is in `product/product_surface.py`; the conformance tests use their own with the same sessions.
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
    """Returned instead of a result, in the modern era: the input that the client has to provide in another call.

    May only request what the client has declared that it can answer.
    """

    requests: Mapping[str, InputRequest]


class TaskStarted(Struct, frozen=True, kw_only=True):
    """Returned instead of a result, for clients with the tasks extension: the work continues as a task.

    `otherwise` is the result if there is no room for another task.
    """

    task: Task
    otherwise: CallToolResult
    meta: Mapping[str, object] = {}


ToolOutcome = CallToolResult | InputRequired | TaskStarted


class ToolSource(Protocol):
    """The tools of a server."""

    @property
    def listed(self) -> tuple[ToolDescription, ...]:
        """The tools that `tools/list` shows, always in the same order."""

    def knows(self, name: str) -> bool:
        """Returns whether a tool of this name exists, listed or not."""

    async def call(self, name: str, arguments: Mapping[str, object], exchange: Exchange) -> ToolOutcome:
        """Runs a tool. Raises Fault for violations of the protocol; failures of the tool are results."""


class ResourceText(Struct, frozen=True, kw_only=True):
    """The contents of a resource. `ttl_ms` says how long they may be cached, `is_private` that they are for one client alone."""

    contents: tuple[Struct, ...]
    ttl_ms: int = 0
    is_private: bool = True


class ResourceSource(Protocol):
    """The resources of a server."""

    @property
    def listed(self) -> tuple[Resource, ...]:
        """The resources that `resources/list` shows."""

    @property
    def templates(self) -> tuple[ResourceTemplate, ...]:
        """The templates from which clients build URIs of resources."""

    async def read(self, uri: str, exchange: Exchange) -> ResourceText | InputRequired | None:
        """Returns the contents of the resource; None if it does not exist."""

    def exists(self, uri: str) -> bool:
        """Returns whether `uri` may be readable, as far as that is known without reading it."""

    def watch(self, uri: str) -> Watch | None:
        """Returns the changes of the resource from now on; None if it cannot be watched."""


class PromptSource(Protocol):
    """The prompts of a server."""

    @property
    def listed(self) -> tuple[Prompt, ...]:
        """The prompts that `prompts/list` shows."""

    async def get(self, name: str, arguments: Mapping[str, str], exchange: Exchange) -> GetPromptResult | None:
        """Returns the prompt with its arguments filled in; None for an unknown name. Raises Fault for a missing argument."""


class CompletionSource(Protocol):
    """Completions of the arguments of prompts and resource templates."""

    async def complete(self, params: CompleteParams, exchange: Exchange) -> tuple[str, ...]:
        """Returns the matching values, best first; none if the argument has no completions."""


class Surface(Struct, frozen=True, kw_only=True):
    """Everything that a server offers."""

    info: Implementation
    instructions: str = ""
    tools: ToolSource
    resources: ResourceSource
    prompts: PromptSource
    completions: CompletionSource
