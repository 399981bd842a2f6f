"""The methods of both eras: from the parameters of a request to its result. `session.py` runs the requests."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Final, Literal

import msgspec
from msgspec import Struct

from codecompass.protocol.requests import MAX_QUERY_LENGTH
from codecompass.transport.mcp import subscriptions
from codecompass.transport.mcp.core import Core
from codecompass.transport.mcp.envelope import Agreement, missing_capability
from codecompass.transport.mcp.exchange import Exchange
from codecompass.transport.mcp.jsonrpc import Fault, decode_params, shown
from codecompass.transport.mcp.protocol import (
    COMPLETE,
    DISCOVER,
    HANDSHAKE_REVISIONS,
    INITIALIZE,
    INVALID_PARAMS,
    LATEST_HANDSHAKE_REVISION,
    LISTEN,
    MAX_NAME_LENGTH,
    MAX_OPENING_BYTES,
    MODERN_REVISION,
    PING,
    PROMPTS_GET,
    PROMPTS_LIST,
    RESOURCE_TEMPLATES_LIST,
    RESOURCES_LIST,
    RESOURCES_READ,
    RESOURCES_SUBSCRIBE,
    RESOURCES_UNSUBSCRIBE,
    TASKS_CANCEL,
    TASKS_EXTENSION,
    TASKS_GET,
    TASKS_UPDATE,
    TOOLS_CALL,
    TOOLS_LIST,
)
from codecompass.transport.mcp.subscriptions import resource_not_found
from codecompass.transport.mcp.surface import HOUR_MS, InputRequired, TaskStarted
from codecompass.transport.mcp.tasks import task_result
from codecompass.transport.mcp.wire import (
    CacheableResult,
    CallToolParams,
    CallToolResult,
    CompleteParams,
    CompleteResult,
    CompletionValues,
    DiscoverResult,
    GetPromptParams,
    InitializeParams,
    InitializeResult,
    InputParams,
    InputRequiredResult,
    ListPromptsResult,
    ListResourcesResult,
    ListResourceTemplatesResult,
    ListToolsResult,
    PageParams,
    ReadResourceResult,
    TaskParams,
    UriParams,
    WireResult,
)

MAX_COMPLETIONS: Final = 100
"""Values of one completion. 2025-11-25 server/utilities/completion."""

Handler = Callable[[Core, Exchange], Awaitable[WireResult]]

_INITIALIZE: Final = msgspec.json.Decoder(InitializeParams)
_PAGE: Final = msgspec.json.Decoder(PageParams)
_CALL_TOOL: Final = msgspec.json.Decoder(CallToolParams)
_GET_PROMPT: Final = msgspec.json.Decoder(GetPromptParams)
_URI: Final = msgspec.json.Decoder(UriParams)
_COMPLETE: Final = msgspec.json.Decoder(CompleteParams)
_INPUT: Final = msgspec.json.Decoder(InputParams)
_TASK: Final = msgspec.json.Decoder(TaskParams)
_TASK_REQUIRED: Final[dict[str, object]] = {"extensions": {TASKS_EXTENSION: {}}}


async def initialize(core: Core, exchange: Exchange) -> WireResult:
    """Agrees on the revision: the client's if supported, else our newest of the handshake era."""
    if len(bytes(exchange.params)) > MAX_OPENING_BYTES:
        raise Fault(
            INVALID_PARAMS, f"params of initialize are larger than {MAX_OPENING_BYTES:,} bytes. Declare less.", field="params"
        )
    params = decode_params(_INITIALIZE, exchange.params)
    wanted = params.protocol_version
    revision = wanted if wanted in HANDSHAKE_REVISIONS else LATEST_HANDSHAKE_REVISION
    client = exchange.client
    client.agreement = Agreement(
        revision=revision, capabilities=params.capabilities, client=params.client_info, is_initialized=True
    )
    client.roots.forget()
    surface = core.surface
    return InitializeResult(
        protocol_version=revision,
        capabilities=core.capabilities(is_modern=False),
        server_info=surface.info,
        instructions=surface.instructions,
    )


async def discover(core: Core, exchange: Exchange) -> WireResult:
    """Tells a modern client what `initialize` tells an older one."""
    return DiscoverResult(
        supported_versions=(MODERN_REVISION,),
        capabilities=core.capabilities(is_modern=True),
        instructions=core.surface.instructions,
        ttl_ms=HOUR_MS,
        cache_scope="public",
    )


async def ping(core: Core, exchange: Exchange) -> WireResult:
    """Answers that the server is alive."""
    return WireResult()


async def list_tools(core: Core, exchange: Exchange) -> WireResult:
    """Lists the tools of the surface."""
    _refuse_cursor(exchange)
    return _cached(exchange, ListToolsResult(tools=core.tools(exchange.envelope.revision)))


async def list_resources(core: Core, exchange: Exchange) -> WireResult:
    """Lists resources."""
    _refuse_cursor(exchange)
    return _cached(exchange, ListResourcesResult(resources=core.surface.resources.listed))


async def list_templates(core: Core, exchange: Exchange) -> WireResult:
    """Lists the templates of resources."""
    _refuse_cursor(exchange)
    return _cached(exchange, ListResourceTemplatesResult(resource_templates=core.surface.resources.templates))


async def list_prompts(core: Core, exchange: Exchange) -> WireResult:
    """Lists prompts."""
    _refuse_cursor(exchange)
    return _cached(exchange, ListPromptsResult(prompts=core.surface.prompts.listed))


async def call_tool(core: Core, exchange: Exchange) -> WireResult:
    """Calls a tool."""
    params = decode_params(_CALL_TOOL, exchange.params)
    if not core.surface.tools.knows(params.name):
        raise Fault(INVALID_PARAMS, f"unknown tool {shown(params.name)}. tools/list shows what there is.")
    exchange.subject = params.name
    _take_input(exchange)
    outcome = await core.surface.tools.call(params.name, params.arguments or {}, exchange)
    match outcome:
        case CallToolResult():
            return outcome
        case InputRequired():
            return _input_required(outcome)
        case TaskStarted():
            if not exchange.envelope.is_modern or not exchange.envelope.capabilities.has_extension(TASKS_EXTENSION):
                raise missing_capability(_TASK_REQUIRED)
            id_ = core.tasks.add(outcome.task)
            if id_ is None:
                return outcome.otherwise
            return task_result(id_, outcome.task.state, result_type="task", meta=outcome.meta)


async def read_resource(core: Core, exchange: Exchange) -> WireResult:
    """Reads a resource."""
    uri = decode_params(_URI, exchange.params).uri
    exchange.subject = uri
    _take_input(exchange)
    outcome = await core.surface.resources.read(uri, exchange)
    if outcome is None:
        raise resource_not_found(uri, is_modern=exchange.envelope.is_modern)
    if isinstance(outcome, InputRequired):
        return _input_required(outcome)
    scope = "private" if outcome.is_private else "public"
    return _cached(exchange, ReadResourceResult(contents=outcome.contents), outcome.ttl_ms, scope)


async def get_prompt(core: Core, exchange: Exchange) -> WireResult:
    """Fills in a prompt."""
    params = decode_params(_GET_PROMPT, exchange.params)
    arguments = {name: _argument(name, value) for name, value in (params.arguments or {}).items() if value is not None}
    prompt = await core.surface.prompts.get(params.name, arguments, exchange)
    if prompt is None:
        raise Fault(INVALID_PARAMS, f"unknown prompt {shown(params.name)}. prompts/list shows what there is.")
    return prompt


def _argument(name: str, value: object) -> str:
    text = str(value) if isinstance(value, str | int | float) else ""
    if not isinstance(value, str | int | float) or len(text) > MAX_QUERY_LENGTH:
        raise Fault(
            INVALID_PARAMS,
            f"the argument {shown(name)} must be a text of at most {MAX_QUERY_LENGTH:,} characters. Correct it and call again.",
            field=name[:MAX_NAME_LENGTH],
        )
    return text


async def complete(core: Core, exchange: Exchange) -> WireResult:
    """Completes an argument of a prompt or a resource template."""
    params = decode_params(_COMPLETE, exchange.params)
    if params.ref.type not in ("ref/prompt", "ref/resource"):
        raise Fault(INVALID_PARAMS, "ref.type must be ref/prompt or ref/resource.", field="ref.type")
    found = await core.surface.completions.complete(params, exchange)
    values = CompletionValues(values=found[:MAX_COMPLETIONS], total=len(found), has_more=len(found) > MAX_COMPLETIONS)
    return CompleteResult(completion=values)


async def get_task(core: Core, exchange: Exchange) -> WireResult:
    """Returns the state of a task, with its result once it has completed."""
    params = _task_params(exchange)
    return task_result(params.task_id, core.tasks.find(params.task_id).state)


async def cancel_task(core: Core, exchange: Exchange) -> WireResult:
    """Requests that a task stops."""
    await core.tasks.find(_task_params(exchange).task_id).cancel()
    return WireResult()


async def update_task(core: Core, exchange: Exchange) -> WireResult:
    """Accepts input for a task and ignores it: our tasks request none."""
    core.tasks.find(_task_params(exchange).task_id)
    return WireResult()


def _task_params(exchange: Exchange) -> TaskParams:
    if not exchange.envelope.capabilities.has_extension(TASKS_EXTENSION):
        raise missing_capability(_TASK_REQUIRED)
    return decode_params(_TASK, exchange.params)


def _refuse_cursor(exchange: Exchange) -> None:
    """Raises Fault for any cursor: every list fits one page, so no cursor is valid."""
    if decode_params(_PAGE, exchange.params).cursor is not None:
        raise Fault(INVALID_PARAMS, "the cursor is not one of this list. List again without a cursor.", field="cursor")


def _cached(exchange: Exchange, result: CacheableResult, ttl_ms: int = HOUR_MS, scope: str = "public") -> WireResult:
    if not exchange.envelope.is_modern:
        return result
    return msgspec.structs.replace(result, ttl_ms=ttl_ms, cache_scope=scope)


def _take_input(exchange: Exchange) -> None:
    if exchange.envelope.is_modern:
        exchange.input_responses = decode_params(_INPUT, exchange.params).input_responses or {}


def _input_required(outcome: InputRequired) -> WireResult:
    return InputRequiredResult(result_type="input_required", input_requests=outcome.requests)


MethodKind = Literal["instant", "working", "listening"]
"""`instant` methods never wait and are answered in order, before the next message is read; `working` ones run concurrently, a
bounded number at a time; `listening` ones are streams that run until the client ends them."""


class Method(Struct, frozen=True):
    """A method of an era."""

    handler: Handler
    kind: MethodKind = "instant"


_BOTH_ERAS: Final[Mapping[str, Method]] = {
    TOOLS_LIST: Method(list_tools),
    TOOLS_CALL: Method(call_tool, "working"),
    RESOURCES_LIST: Method(list_resources),
    RESOURCE_TEMPLATES_LIST: Method(list_templates),
    RESOURCES_READ: Method(read_resource, "working"),
    PROMPTS_LIST: Method(list_prompts),
    PROMPTS_GET: Method(get_prompt, "working"),
    COMPLETE: Method(complete, "working"),
}

_HANDSHAKE: Final[Mapping[str, Method]] = {
    **_BOTH_ERAS,
    INITIALIZE: Method(initialize),
    PING: Method(ping),
    RESOURCES_SUBSCRIBE: Method(subscriptions.subscribe),
    RESOURCES_UNSUBSCRIBE: Method(subscriptions.unsubscribe),
}

_MODERN: Final[Mapping[str, Method]] = {
    **_BOTH_ERAS,
    DISCOVER: Method(discover),
    LISTEN: Method(subscriptions.listen, "listening"),
    TASKS_GET: Method(get_task),
    TASKS_CANCEL: Method(cancel_task, "working"),
    TASKS_UPDATE: Method(update_task),
}


def find_method(name: str, *, is_modern: bool) -> Method | None:
    """Returns the method of this name in the era; None if there is none."""
    return (_MODERN if is_modern else _HANDSHAKE).get(name)
