"""The methods of both eras: from the parameters of a request to its result. How requests run is in `session.py`."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Final, Literal

import msgspec
from msgspec import UNSET, Struct

from codecompass.protocol.requests import MAX_QUERY_LENGTH
from codecompass.transport.mcp import subscriptions
from codecompass.transport.mcp.core import Core
from codecompass.transport.mcp.envelope import Agreement, missing_capability
from codecompass.transport.mcp.exchange import Exchange, Inputs
from codecompass.transport.mcp.jsonrpc import Fault, decode_params, shown
from codecompass.transport.mcp.opaque_text import page
from codecompass.transport.mcp.protocol import (
    COMPLETE,
    DISCOVER,
    HANDSHAKE_REVISIONS,
    INITIALIZE,
    INVALID_PARAMS,
    INVALID_REQUEST,
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
    SET_LEVEL,
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
    Result,
    TaskParams,
    UriParams,
    is_declared,
)

MAX_COMPLETIONS: Final = 100
"""Values of one completion. 2025-11-25 server/utilities/completion."""

Handler = Callable[[Core, Exchange], Awaitable[Result]]

_INITIALIZE: Final = msgspec.json.Decoder(InitializeParams)
_PAGE: Final = msgspec.json.Decoder(PageParams)
_CALL_TOOL: Final = msgspec.json.Decoder(CallToolParams)
_GET_PROMPT: Final = msgspec.json.Decoder(GetPromptParams)
_URI: Final = msgspec.json.Decoder(UriParams)
_COMPLETE: Final = msgspec.json.Decoder(CompleteParams)
_INPUT: Final = msgspec.json.Decoder(InputParams)
_TASK: Final = msgspec.json.Decoder(TaskParams)
_TASK_REQUIRED: Final[dict[str, object]] = {"extensions": {TASKS_EXTENSION: {}}}
_INPUT_CAPABILITIES: Final[Mapping[str, str]] = {
    "roots/list": "roots",
    "sampling/createMessage": "sampling",
    "elicitation/create": "elicitation",
}


async def initialize(core: Core, exchange: Exchange) -> Result:
    """Settles the revision: the client's where we have it, else our newest of the handshake era."""
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


async def discover(core: Core, exchange: Exchange) -> Result:
    """Tells a modern client what `initialize` tells an older one."""
    return DiscoverResult(
        supported_versions=(MODERN_REVISION,),
        capabilities=core.capabilities(is_modern=True),
        instructions=core.surface.instructions,
        ttl_ms=HOUR_MS,
        cache_scope="public",
    )


async def ping(core: Core, exchange: Exchange) -> Result:
    """Says that we are there."""
    return Result()


async def set_level(core: Core, exchange: Exchange) -> Result:
    """Takes any level."""
    return Result()


async def list_tools(core: Core, exchange: Exchange) -> Result:
    """Lists the tools of the surface."""
    tools, following = page(core.tools(exchange.envelope.revision), _cursor(exchange))
    return _cached(exchange, ListToolsResult(tools=tools, next_cursor=following))


async def list_resources(core: Core, exchange: Exchange) -> Result:
    """Lists resources."""
    resources, following = page(core.surface.resources.listed, _cursor(exchange))
    return _cached(exchange, ListResourcesResult(resources=resources, next_cursor=following))


async def list_templates(core: Core, exchange: Exchange) -> Result:
    """Lists kinds of resources."""
    templates, following = page(core.surface.resources.templates, _cursor(exchange))
    return _cached(exchange, ListResourceTemplatesResult(resource_templates=templates, next_cursor=following))


async def list_prompts(core: Core, exchange: Exchange) -> Result:
    """Lists prompts."""
    prompts, following = page(core.surface.prompts.listed, _cursor(exchange))
    return _cached(exchange, ListPromptsResult(prompts=prompts, next_cursor=following))


async def call_tool(core: Core, exchange: Exchange) -> Result:
    """Calls a tool."""
    params = decode_params(_CALL_TOOL, exchange.params)
    if not core.surface.tools.knows(params.name):
        raise Fault(INVALID_PARAMS, f"unknown tool {shown(params.name)}. tools/list shows what there is.")
    exchange.subject = params.name
    arguments = params.arguments or {}
    binding = _binding(exchange, params.name, arguments)
    _open_inputs(core, exchange, binding)
    outcome = await core.surface.tools.call(params.name, arguments, exchange)
    match outcome:
        case CallToolResult():
            return outcome
        case InputRequired():
            return _ask_again(core, exchange, outcome, binding)
        case TaskStarted():
            if not exchange.envelope.is_modern or not exchange.envelope.capabilities.has_extension(TASKS_EXTENSION):
                raise missing_capability(_TASK_REQUIRED)
            id_ = core.tasks.add(outcome.task)
            if id_ is None:
                return outcome.otherwise
            return task_result(id_, outcome.task.state, result_type="task", meta=outcome.meta)


async def read_resource(core: Core, exchange: Exchange) -> Result:
    """Reads a resource."""
    uri = decode_params(_URI, exchange.params).uri
    exchange.subject = uri
    binding = _binding(exchange, uri, {})
    _open_inputs(core, exchange, binding)
    outcome = await core.surface.resources.read(uri, exchange)
    if outcome is None:
        raise resource_not_found(uri, is_modern=exchange.envelope.is_modern)
    if isinstance(outcome, InputRequired):
        return _ask_again(core, exchange, outcome, binding)
    scope = "private" if outcome.is_private else "public"
    return _cached(exchange, ReadResourceResult(contents=outcome.contents), outcome.ttl_ms, scope)


async def get_prompt(core: Core, exchange: Exchange) -> Result:
    """Fills in a prompt."""
    params = decode_params(_GET_PROMPT, exchange.params)
    arguments = {name: _argument(name, value) for name, value in (params.arguments or {}).items() if value is not None}
    binding = _binding(exchange, params.name, arguments)
    _open_inputs(core, exchange, binding)
    outcome = await core.surface.prompts.get(params.name, arguments, exchange)
    if outcome is None:
        raise Fault(INVALID_PARAMS, f"unknown prompt {shown(params.name)}. prompts/list shows what there is.")
    return _ask_again(core, exchange, outcome, binding) if isinstance(outcome, InputRequired) else outcome


def _argument(name: str, value: object) -> str:
    text = str(value) if isinstance(value, str | int | float) else ""
    if not isinstance(value, str | int | float) or len(text) > MAX_QUERY_LENGTH:
        raise Fault(
            INVALID_PARAMS,
            f"the argument {shown(name)} must be a text of at most {MAX_QUERY_LENGTH:,} characters. Correct it and call again.",
            field=name[:MAX_NAME_LENGTH],
        )
    return text


async def complete(core: Core, exchange: Exchange) -> Result:
    """Completes an argument of a prompt or a resource template."""
    params = decode_params(_COMPLETE, exchange.params)
    if params.ref.type not in ("ref/prompt", "ref/resource"):
        raise Fault(INVALID_PARAMS, "ref.type must be ref/prompt or ref/resource.", field="ref.type")
    found = await core.surface.completions.complete(params, exchange)
    values = CompletionValues(values=found[:MAX_COMPLETIONS], total=len(found), has_more=len(found) > MAX_COMPLETIONS)
    return CompleteResult(completion=values)


async def get_task(core: Core, exchange: Exchange) -> Result:
    """Says how far a task is, with its outcome once there is one."""
    params = _task_params(exchange)
    return task_result(params.task_id, core.tasks.find(params.task_id).state)


async def cancel_task(core: Core, exchange: Exchange) -> Result:
    """Asks a task to stop."""
    await core.tasks.find(_task_params(exchange).task_id).cancel()
    return Result()


async def update_task(core: Core, exchange: Exchange) -> Result:
    """Hands a task what it had asked for."""
    params = _task_params(exchange)
    await core.tasks.find(params.task_id).update(params.input_responses or {})
    return Result()


def _task_params(exchange: Exchange) -> TaskParams:
    if not exchange.envelope.capabilities.has_extension(TASKS_EXTENSION):
        raise missing_capability(_TASK_REQUIRED)
    return decode_params(_TASK, exchange.params)


def _cursor(exchange: Exchange) -> str | None:
    return decode_params(_PAGE, exchange.params).cursor


def _cached(exchange: Exchange, result: CacheableResult, ttl_ms: int = HOUR_MS, scope: str = "public") -> Result:
    if not exchange.envelope.is_modern:
        return result
    return msgspec.structs.replace(result, ttl_ms=ttl_ms, cache_scope=scope)


def _binding(exchange: Exchange, name: str, arguments: Mapping[str, object]) -> bytes:
    """What a sealed state is valid for: this method, of this name, with these arguments in whatever order."""
    return msgspec.json.encode((exchange.method, name, arguments), order="sorted")


def _open_inputs(core: Core, exchange: Exchange, binding: bytes) -> None:
    if not exchange.envelope.is_modern:
        return
    params = decode_params(_INPUT, exchange.params)
    state = None if params.request_state is None else core.seal.open(params.request_state, binding)
    exchange.inputs = Inputs(params.input_responses or {}, state)


def _ask_again(core: Core, exchange: Exchange, outcome: InputRequired, binding: bytes) -> Result:
    """Only what the client said it can answer may be asked. 2026-07-28 basic/patterns/mrtr, "Server Requirements"."""
    if not exchange.envelope.is_modern:
        raise Fault(INVALID_REQUEST, f"this call asks back, which needs revision {MODERN_REVISION}.")
    for request in outcome.requests.values():
        name = _INPUT_CAPABILITIES[request.method]
        if not is_declared(getattr(exchange.envelope.capabilities, name)):
            raise missing_capability({name: {}})
    return InputRequiredResult(
        result_type="input_required",
        input_requests=outcome.requests or UNSET,
        request_state=UNSET if outcome.state is None else core.seal.seal(outcome.state, binding),
    )


MethodKind = Literal["instant", "working", "listening"]
"""`instant` methods wait for nothing and are answered in order, before the next message is taken; `working` ones run beside
each other, some at a time; `listening` ones are streams that end when the client wants it."""


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
    TASKS_UPDATE: Method(update_task, "working"),
}


def find_method(core: Core, name: str, *, is_modern: bool) -> Method | None:
    """Returns the method of that era, None where it has none of that name."""
    if name == SET_LEVEL and core.surface.has_logging and not is_modern:
        return Method(set_level)
    return (_MODERN if is_modern else _HANDSHAKE).get(name)
