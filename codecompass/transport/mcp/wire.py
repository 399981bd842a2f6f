"""The wire form of parameters and results, one Struct each. The handlers decide which revision gets which member.

Unknown members of parameters are skipped. Their texts and lists are bounded (`protocol.py`): longer ones are a Fault. Members of
a result that are UNSET or have their default are left out.
"""

from collections.abc import Mapping
from typing import Annotated

from msgspec import UNSET, Meta, Raw, Struct, UnsetType, field

from codecompass.transport.mcp.protocol import MAX_ARGUMENTS, MAX_WATCHED, Id, Name, Text, Uri

ProgressToken = int | Id
Arguments = Annotated[dict[str, object], Meta(max_length=MAX_ARGUMENTS)]
Responses = Annotated[dict[str, Raw], Meta(max_length=MAX_ARGUMENTS)]


class Implementation(Struct, frozen=True, omit_defaults=True):
    """The name, title (for people) and version of a client or server."""

    name: Name = ""
    title: Name = ""
    version: Name = ""


class ClientCapabilities(Struct, frozen=True):
    """The capabilities of a client that we use. Their values are settings that we do not need: only their presence counts.

    With `notifications`, or the keys `notifications` and `progress` of `experimental`, a client requests the progress of jobs
    beyond its requests.
    """

    roots: object = UNSET
    notifications: object = UNSET
    experimental: object = UNSET
    extensions: object = UNSET

    @property
    def follows_jobs(self) -> bool:
        """Whether the client wants progress of jobs after the request that started them."""
        asked = (_member(self.experimental, key) for key in ("notifications", "progress"))
        return is_declared(self.notifications) or any(is_declared(value) for value in asked)

    def has_extension(self, name: str) -> bool:
        """Returns whether the client declared the extension."""
        return is_declared(_member(self.extensions, name))


def _member(value: object, key: str) -> object:
    return value.get(key) if isinstance(value, dict) else None


def is_declared(value: object) -> bool:
    """Returns whether a capability is declared: any value except false and null, including an empty object."""
    return value is not UNSET and value is not None and value is not False


class InitializeParams(Struct, frozen=True, rename="camel"):
    """Parameters of `initialize`."""

    protocol_version: Name
    capabilities: ClientCapabilities = ClientCapabilities()
    client_info: Implementation = Implementation()


class PageParams(Struct, frozen=True):
    """Parameters of every list."""

    cursor: Name | None = None


class CallToolParams(Struct, frozen=True):
    """Parameters of `tools/call`."""

    name: Name
    arguments: Arguments | None = None


class GetPromptParams(Struct, frozen=True):
    """Parameters of `prompts/get`. By the schema the arguments are text; numbers are converted to text."""

    name: Name
    arguments: Arguments | None = None


class UriParams(Struct, frozen=True):
    """Parameters of `resources/read`, `resources/subscribe` and `resources/unsubscribe`."""

    uri: Uri


class CompletionReference(Struct, frozen=True):
    """What an argument belongs to: a prompt by name or a resource template by URI."""

    type: Name
    name: Name = ""
    uri: Uri = ""


class CompletionArgument(Struct, frozen=True):
    """The argument to complete, as far as it is typed."""

    name: Name
    value: Text


class CompletionContext(Struct, frozen=True):
    """The other arguments that have been given already."""

    arguments: Annotated[dict[str, Text], Meta(max_length=MAX_ARGUMENTS)] | None = None


class CompleteParams(Struct, frozen=True):
    """Parameters of `completion/complete`."""

    ref: CompletionReference
    argument: CompletionArgument
    context: CompletionContext | None = None


class CancelledParams(Struct, frozen=True, rename="camel"):
    """Parameters of `notifications/cancelled`."""

    request_id: int | Id


class TaskParams(Struct, frozen=True, rename="camel"):
    """Parameters of `tasks/get`, `tasks/update` and `tasks/cancel`."""

    task_id: Id


class InputParams(Struct, frozen=True, rename="camel"):
    """The input that a client provides when it calls again ("multi round-trip requests", MRTR)."""

    input_responses: Responses | None = None


class SubscriptionFilter(Struct, frozen=True, rename="camel", omit_defaults=True):
    """The contents of a stream of notifications: requested by the client, and answered with what the server agrees to."""

    tools_list_changed: bool | None = None
    prompts_list_changed: bool | None = None
    resources_list_changed: bool | None = None
    resource_subscriptions: Annotated[tuple[Uri, ...], Meta(max_length=MAX_WATCHED)] | None = None
    task_ids: Annotated[tuple[Id, ...], Meta(max_length=MAX_WATCHED)] | None = None


class ListenParams(Struct, frozen=True):
    """Parameters of `subscriptions/listen`."""

    notifications: SubscriptionFilter


class WireResult(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """Base of results. In the modern era the session sets `resultType` and names the server in `_meta`."""

    result_type: str | UnsetType = UNSET
    meta: Mapping[str, object] | UnsetType = field(name="_meta", default=UNSET)


class CacheableResult(WireResult, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """Base of results that say, in the modern era, how long they may be cached. `ttl_ms` is in milliseconds."""

    ttl_ms: int | UnsetType = UNSET
    cache_scope: str | UnsetType = UNSET


class InitializeResult(WireResult, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """Result of `initialize`."""

    protocol_version: str
    capabilities: Mapping[str, object]
    server_info: Implementation
    instructions: str = ""


class DiscoverResult(CacheableResult, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """Result of `server/discover`."""

    supported_versions: tuple[str, ...]
    capabilities: Mapping[str, object]
    instructions: str = ""


class ToolAnnotations(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """Hints about a tool for hosts. `destructive_hint` and `idempotent_hint` have no meaning for tools that only read."""

    title: str = ""
    read_only_hint: bool
    destructive_hint: bool | UnsetType = UNSET
    idempotent_hint: bool | UnsetType = UNSET
    open_world_hint: bool | UnsetType = UNSET


class WireTool(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """A tool in `tools/list`."""

    name: str
    title: str = ""
    description: str = ""
    input_schema: Mapping[str, object]
    output_schema: Mapping[str, object] | UnsetType = UNSET
    annotations: ToolAnnotations | UnsetType = UNSET
    meta: Mapping[str, object] | UnsetType = field(name="_meta", default=UNSET)


class ListToolsResult(CacheableResult, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """Result of `tools/list`. The tools are encoded once for each revision."""

    tools: tuple[Raw, ...]


class TextContent(Struct, frozen=True, tag_field="type", tag="text"):
    """A text for the model."""

    text: str


class CallToolResult(WireResult, frozen=True, kw_only=True, rename="camel", omit_defaults=False):
    """Result of `tools/call`."""

    content: tuple[Struct, ...]
    structured_content: Raw | UnsetType = UNSET
    is_error: bool = False


class Resource(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """A resource in `resources/list`."""

    uri: str
    name: str
    title: str = ""
    description: str = ""
    mime_type: str = ""


class ListResourcesResult(CacheableResult, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """Result of `resources/list`."""

    resources: tuple[Resource, ...]


class ResourceTemplate(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """A family of resources, with a URI template (RFC 6570)."""

    uri_template: str
    name: str
    title: str = ""
    description: str = ""
    mime_type: str = ""


class ListResourceTemplatesResult(CacheableResult, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """Result of `resources/templates/list`."""

    resource_templates: tuple[ResourceTemplate, ...]


class TextResourceContents(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """The contents of a resource as text."""

    uri: str
    mime_type: str = ""
    text: str


class ReadResourceResult(CacheableResult, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """Result of `resources/read`."""

    contents: tuple[Struct, ...]


class PromptArgument(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An argument of a prompt. It has no title, which only 2025-06-18 and later know."""

    name: str
    description: str = ""
    required: bool = False


class Prompt(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A prompt in `prompts/list`."""

    name: str
    title: str = ""
    description: str = ""
    arguments: tuple[PromptArgument, ...] = ()


class ListPromptsResult(CacheableResult, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """Result of `prompts/list`."""

    prompts: tuple[Prompt, ...]


class PromptMessage(Struct, frozen=True):
    """A message that a prompt adds to the conversation."""

    role: str
    content: Struct


class GetPromptResult(WireResult, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """Result of `prompts/get`."""

    description: str = ""
    messages: tuple[PromptMessage, ...]


class CompletionValues(Struct, frozen=True, kw_only=True, rename="camel"):
    """At most 100 values, best first; `total` counts all that match."""

    values: tuple[str, ...]
    total: int
    has_more: bool


class CompleteResult(WireResult, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """Result of `completion/complete`."""

    completion: CompletionValues


class InputRequest(Struct, frozen=True):
    """A request that a client answers with its next call."""

    method: str
    params: object = UNSET


class InputRequiredResult(WireResult, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """Returned instead of a result: the input that the client has to provide in another call (modern era)."""

    input_requests: Mapping[str, InputRequest]


class TaskResult(WireResult, frozen=True, kw_only=True, rename="camel", omit_defaults=False):
    """A task, as result of the call that creates it and of `tasks/get`. Times are ISO 8601 in UTC."""

    task_id: str
    status: str
    status_message: str | UnsetType = UNSET
    created_at: str
    last_updated_at: str
    ttl_ms: int
    poll_interval_ms: int
    result: CallToolResult | UnsetType = UNSET
