"""Parameters and results as they stand on the wire, one Struct each. Which revision has which member is in the handlers.

Parameters are tolerant: unknown members are skipped. Texts and lists in them are bounded (`bounds`): what is longer is a fault.
Members of a result that are UNSET or at their default are left out.
"""

from collections.abc import Mapping
from typing import Annotated, Final

import msgspec
from msgspec import UNSET, Meta, Raw, Struct, UnsetType, field

from codecompass.transport.mcp.protocol import MAX_ARGUMENTS, MAX_WATCHED, Id, Name, Text, Uri

ProgressToken = int | Id
Arguments = Annotated[dict[str, object], Meta(max_length=MAX_ARGUMENTS)]
Responses = Annotated[dict[str, Raw], Meta(max_length=MAX_ARGUMENTS)]


class Implementation(Struct, frozen=True, omit_defaults=True):
    """Who somebody is: name and version, and a title for people."""

    name: Name = ""
    title: Name = ""
    version: Name = ""


class ClientCapabilities(Struct, frozen=True):
    """What a client can do, as far as we use it. The values are settings that we do not need: a member counts by being there.

    `notifications` and the keys `notifications` and `progress` of `experimental` are how a client asks for the progress of
    jobs beyond its requests.
    """

    roots: object = UNSET
    notifications: object = UNSET
    experimental: object = UNSET
    extensions: object = UNSET

    @property
    def follows_jobs(self) -> bool:
        """Whether the client wants to be told of jobs after the request that started them."""
        asked = (_member(self.experimental, key) for key in ("notifications", "progress"))
        return is_declared(self.notifications) or any(is_declared(value) for value in asked)

    def has_extension(self, name: str) -> bool:
        """Whether the client declared the extension."""
        return is_declared(_member(self.extensions, name))


def _member(value: object, key: str) -> object:
    return value.get(key) if isinstance(value, dict) else None


def is_declared(value: object) -> bool:
    """Whether a capability is there: any value but false and null, an empty object too."""
    return value is not UNSET and value is not None and value is not False


class InitializeParams(Struct, frozen=True, rename="camel"):
    """Of `initialize`."""

    protocol_version: Name
    capabilities: ClientCapabilities = ClientCapabilities()
    client_info: Implementation = Implementation()


class PageParams(Struct, frozen=True):
    """Of every list."""

    cursor: Name | None = None


class CallToolParams(Struct, frozen=True):
    """Of `tools/call`."""

    name: Name
    arguments: Arguments | None = None


class GetPromptParams(Struct, frozen=True):
    """Of `prompts/get`. The values are text by the schema; a number is taken for its text."""

    name: Name
    arguments: Arguments | None = None


class UriParams(Struct, frozen=True):
    """Of `resources/read`, `subscribe` and `unsubscribe`."""

    uri: Uri


class CompletionReference(Struct, frozen=True):
    """What an argument belongs to: a prompt by name or a resource template by URI."""

    type: Name
    name: Name = ""
    uri: Uri = ""


class CompletionArgument(Struct, frozen=True):
    """The argument as far as it is typed."""

    name: Name
    value: Text


class CompletionContext(Struct, frozen=True):
    """What other arguments have been given already."""

    arguments: Annotated[dict[str, Text], Meta(max_length=MAX_ARGUMENTS)] | None = None


class CompleteParams(Struct, frozen=True):
    """Of `completion/complete`."""

    ref: CompletionReference
    argument: CompletionArgument
    context: CompletionContext | None = None


class CancelledParams(Struct, frozen=True, rename="camel"):
    """Of `notifications/cancelled`."""

    request_id: int | Id


class TaskParams(Struct, frozen=True, rename="camel"):
    """Of `tasks/get`, `tasks/update` and `tasks/cancel`."""

    task_id: Id


class InputParams(Struct, frozen=True, rename="camel"):
    """What a client sends along when it calls again with what was asked of it ("multi round-trip requests", MRTR)."""

    input_responses: Responses | None = None


class SubscriptionFilter(Struct, frozen=True, rename="camel", omit_defaults=True):
    """What a stream of notifications carries. Asked for by the client; answered with what the server agrees to."""

    tools_list_changed: bool | None = None
    prompts_list_changed: bool | None = None
    resources_list_changed: bool | None = None
    resource_subscriptions: Annotated[tuple[Uri, ...], Meta(max_length=MAX_WATCHED)] | None = None
    task_ids: Annotated[tuple[Id, ...], Meta(max_length=MAX_WATCHED)] | None = None


class ListenParams(Struct, frozen=True):
    """Of `subscriptions/listen`."""

    notifications: SubscriptionFilter


class Result(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """Base of results. The session fills `resultType` and names the server in `_meta`, for the modern era."""

    result_type: str | UnsetType = UNSET
    meta: Mapping[str, object] | UnsetType = field(name="_meta", default=UNSET)


class CacheableResult(Result, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """Base of results that say how long they hold, in the modern era. `ttl_ms` is in milliseconds."""

    ttl_ms: int | UnsetType = UNSET
    cache_scope: str | UnsetType = UNSET


class InitializeResult(Result, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """To `initialize`."""

    protocol_version: str
    capabilities: Mapping[str, object]
    server_info: Implementation
    instructions: str = ""


class DiscoverResult(CacheableResult, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """To `server/discover`."""

    supported_versions: tuple[str, ...]
    capabilities: Mapping[str, object]
    instructions: str = ""


class ToolAnnotations(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """What a host may know of a tool before it is called. Two of the hints mean nothing for tools that only read."""

    title: str = ""
    read_only_hint: bool
    destructive_hint: bool | UnsetType = UNSET
    idempotent_hint: bool | UnsetType = UNSET
    open_world_hint: bool


class Tool(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """A tool in `tools/list`."""

    name: str
    title: str = ""
    description: str = ""
    input_schema: Mapping[str, object]
    output_schema: Mapping[str, object] | UnsetType = UNSET
    annotations: ToolAnnotations | UnsetType = UNSET
    meta: Mapping[str, object] | UnsetType = field(name="_meta", default=UNSET)


class ListToolsResult(CacheableResult, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """To `tools/list`. The tools are encoded once a revision."""

    tools: tuple[Raw, ...]


class TextContent(Struct, frozen=True, tag_field="type", tag="text"):
    """A text for the model."""

    text: str


class CallToolResult(Result, frozen=True, kw_only=True, rename="camel", omit_defaults=False):
    """To `tools/call`."""

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
    """To `resources/list`."""

    resources: tuple[Resource, ...]


class ResourceTemplate(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """A kind of resources, with a URI template of RFC 6570."""

    uri_template: str
    name: str
    title: str = ""
    description: str = ""
    mime_type: str = ""


class ListResourceTemplatesResult(CacheableResult, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """To `resources/templates/list`."""

    resource_templates: tuple[ResourceTemplate, ...]


class TextResourceContents(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """What stands in a resource, as text."""

    uri: str
    mime_type: str = ""
    text: str


class ReadResourceResult(CacheableResult, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """To `resources/read`."""

    contents: tuple[Struct, ...]


class PromptArgument(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a prompt can be given. A title would be of 2025-06-18 and later; the name does."""

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
    """To `prompts/list`."""

    prompts: tuple[Prompt, ...]


class PromptMessage(Struct, frozen=True):
    """What a prompt puts into the conversation."""

    role: str
    content: Struct


class GetPromptResult(Result, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """To `prompts/get`."""

    description: str = ""
    messages: tuple[PromptMessage, ...]


class CompletionValues(Struct, frozen=True, kw_only=True, rename="camel"):
    """At most 100 values, best first; `total` of all that fit."""

    values: tuple[str, ...]
    total: int
    has_more: bool


class CompleteResult(Result, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """To `completion/complete`."""

    completion: CompletionValues


class InputRequest(Struct, frozen=True):
    """A request that a client answers with its next call."""

    method: str
    params: object = UNSET


class InputRequiredResult(Result, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """Instead of a result: what the client has to find out before it calls again (modern era)."""

    input_requests: Mapping[str, InputRequest]


class TaskResult(Result, frozen=True, kw_only=True, rename="camel", omit_defaults=False):
    """A task, as the answer that creates it and as the answer to `tasks/get`. Times are ISO 8601 in UTC."""

    task_id: str
    status: str
    status_message: str | UnsetType = UNSET
    created_at: str
    last_updated_at: str
    ttl_ms: int
    poll_interval_ms: int
    result: CallToolResult | UnsetType = UNSET


NO_PARAMS: Final = msgspec.json.Decoder(dict[str, Raw])
"""For methods whose parameters do not matter: they are an object, that is all."""
