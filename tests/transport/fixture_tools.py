"""The tools that the protocol's conformance suite calls. The suite defines their names and texts; none is in the product.

They run on the same session as the product's tools and use what the product does not: requests to the client in both eras,
log messages, content other than text.
"""

import base64
import struct
import zlib
from collections.abc import Awaitable, Callable, Mapping

import msgspec
import trio
from msgspec import Raw, Struct

from codecompass.transport.calls import ToolDescription
from codecompass.transport.mcp.client import ClientRefused
from codecompass.transport.mcp.envelope import missing_capability
from codecompass.transport.mcp.exchange import Exchange
from codecompass.transport.mcp.progress import ProgressParams
from codecompass.transport.mcp.protocol import META_CAPABILITIES
from codecompass.transport.mcp.surface import InputRequired, ToolOutcome
from codecompass.transport.mcp.wire import CallToolResult, InputRequest, TextContent, is_declared

STEP_SECONDS = 0.05
CLIENT_SECONDS = 10.0

OBJECT: dict[str, object] = {"type": "object", "properties": {}}


def chunk(kind: bytes, data: bytes) -> bytes:
    """Returns a chunk of a PNG file."""
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


PNG = base64.b64encode(
    b"\x89PNG\r\n\x1a\n"
    + chunk(b"IHDR", struct.pack(">IIBBBBB", 1, 1, 8, 2, 0, 0, 0))
    + chunk(b"IDAT", zlib.compress(b"\0\xff\0\0"))
    + chunk(b"IEND", b"")
).decode()
"""A PNG of one red pixel."""

WAV = base64.b64encode(
    b"RIFF" + struct.pack("<I", 38) + b"WAVEfmt " + struct.pack("<IHHIIHH", 16, 1, 1, 8000, 8000, 1, 8) + b"data\2\0\0\0\x80\x80"
).decode()
"""A WAV file of two silent samples."""


class ImageContent(Struct, tag_field="type", tag="image", rename="camel"):
    data: str = PNG
    mime_type: str = "image/png"


class AudioContent(Struct, tag_field="type", tag="audio", rename="camel"):
    data: str = WAV
    mime_type: str = "audio/wav"


class ResourceBody(Struct, rename="camel"):
    uri: str
    mime_type: str
    text: str


class EmbeddedResource(Struct, tag_field="type", tag="resource"):
    resource: ResourceBody


Handler = Callable[[Mapping[str, object], Exchange], Awaitable[ToolOutcome]]


def text(words: str, *, is_error: bool = False) -> CallToolResult:
    return CallToolResult(content=(TextContent(words),), is_error=is_error)


def elicitation(message: str, properties: dict[str, object]) -> InputRequest:
    schema = {"type": "object", "properties": properties, "required": list(properties)}
    return InputRequest("elicitation/create", {"message": message, "requestedSchema": schema})


def sampling(words: str, max_tokens: int) -> InputRequest:
    message = {"role": "user", "content": {"type": "text", "text": words}}
    return InputRequest("sampling/createMessage", {"messages": [message], "maxTokens": max_tokens})


ROOTS = InputRequest("roots/list", {})
NAME = elicitation("What is your name?", {"name": {"type": "string"}})


def content_of(response: Raw | None, key: str) -> object:
    """Returns the value that the user accepted to provide; None if there is no response or the value is missing."""
    try:
        answer = msgspec.json.decode(response or b"{}", type=dict[str, object])
    except msgspec.DecodeError:
        return None
    content = answer.get("content")
    return content.get(key) if answer.get("action") == "accept" and isinstance(content, dict) else None


async def simple_text(arguments, exchange):
    return text("This is a simple text response for testing.")


async def image(arguments, exchange):
    return CallToolResult(content=(ImageContent(),))


async def audio(arguments, exchange):
    return CallToolResult(content=(AudioContent(),))


async def embedded(arguments, exchange):
    body = ResourceBody("test://embedded-resource", "text/plain", "This is an embedded resource content.")
    return CallToolResult(content=(EmbeddedResource(body),))


async def mixed(arguments, exchange):
    body = ResourceBody("test://mixed-content-resource", "application/json", '{"test":"data","value":123}')
    return CallToolResult(content=(TextContent("Multiple content types test:"), ImageContent(), EmbeddedResource(body)))


async def failing(arguments, exchange):
    return text("This tool intentionally returns an error for testing", is_error=True)


async def with_progress(arguments, exchange):
    token = exchange.envelope.progress_token
    for step in (0, 50, 100):
        if token is not None:
            await exchange.report(ProgressParams(progress_token=token, progress=step, total=100))
        await trio.sleep(STEP_SECONDS)
    return text("Progress reported.")


async def with_logging(arguments, exchange):
    for words in ("Tool execution started", "Tool processing data", "Tool execution completed"):
        if not exchange.envelope.is_modern:
            await exchange.notify("notifications/message", {"level": "info", "logger": "fixture", "data": words})
        await trio.sleep(STEP_SECONDS)
    return text("Logged three messages.")


async def ask(exchange, request: InputRequest) -> Raw | None:
    """Sends a request to a client of the handshake era. Returns None if it does not answer or cannot receive requests."""
    if exchange.envelope.is_modern or not exchange.can_push:
        return None
    try:
        pending = await exchange.client.requests.send(exchange.out, request.method, request.params)
        return await pending.wait(CLIENT_SECONDS)
    except ClientRefused:
        return None


async def with_sampling(arguments, exchange):
    answer = await ask(exchange, sampling(str(arguments.get("prompt", "")), 100))
    if answer is None:
        return text("The client does not sample.", is_error=True)
    return text(f"LLM response: {msgspec.json.decode(answer)['content']['text']}")


async def with_elicitation(arguments, exchange):
    properties = {
        "username": {"type": "string", "description": "User's response"},
        "email": {"type": "string", "description": "User's email address"},
    }
    return await elicited(exchange, elicitation(str(arguments.get("message", "")), properties), "User response: ")


async def elicited(exchange, request, prefix="Elicitation completed: "):
    answer = await ask(exchange, request)
    if answer is None:
        return text("The client does not elicit.", is_error=True)
    value = msgspec.json.decode(answer)
    content = msgspec.json.encode(value.get("content", {})).decode()
    return text(f"{prefix}action={value['action']}, content={content}")


async def elicitation_defaults(arguments, exchange):
    properties = {
        "name": {"type": "string", "default": "John Doe"},
        "age": {"type": "integer", "default": 30},
        "score": {"type": "number", "default": 95.5},
        "status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
        "verified": {"type": "boolean", "default": True},
    }
    return await elicited(exchange, elicitation("Check these values.", properties))


async def elicitation_enums(arguments, exchange):
    def titled(words):
        return [{"const": f"value{n}", "title": f"{word} {words}"} for n, word in enumerate(("First", "Second", "Third"), 1)]

    options = ["option1", "option2", "option3"]
    properties = {
        "untitledSingle": {"type": "string", "enum": options},
        "titledSingle": {"type": "string", "oneOf": titled("Option")},
        "legacyEnum": {
            "type": "string",
            "enum": ["opt1", "opt2", "opt3"],
            "enumNames": ["Option One", "Option Two", "Option Three"],
        },
        "untitledMulti": {"type": "array", "items": {"type": "string", "enum": options}},
        "titledMulti": {"type": "array", "items": {"anyOf": titled("Choice")}},
    }
    return await elicited(exchange, elicitation("Choose.", properties))


def declared(exchange, capability: str) -> object:
    """Returns what a modern client declares about a capability, including capabilities that the product does not use."""
    meta = msgspec.json.decode(exchange.params)["_meta"] if exchange.envelope.is_modern else {}
    return meta.get(META_CAPABILITIES, {}).get(capability)


async def missing_sampling(arguments, exchange):
    if not is_declared(declared(exchange, "sampling")):
        raise missing_capability({"sampling": {}})
    return text("The client samples.")


async def ask_name(arguments, exchange):
    name = content_of(exchange.input_responses.get("user_name"), "name")
    return InputRequired(requests={"user_name": NAME}) if name is None else text(f"Hello, {name}!")


async def ask_sampling(arguments, exchange):
    answer = exchange.input_responses.get("capital_question")
    if answer is None:
        return InputRequired(requests={"capital_question": sampling("What is the capital of France?", 100)})
    return text(msgspec.json.decode(answer)["content"]["text"])


async def ask_roots(arguments, exchange):
    answer = exchange.input_responses.get("client_roots")
    if answer is None:
        return InputRequired(requests={"client_roots": ROOTS})
    return text("Roots: " + ", ".join(root["uri"] for root in msgspec.json.decode(answer)["roots"]))


async def ask_all(arguments, exchange):
    requests = {"user_name": NAME, "greeting": sampling("Generate a greeting", 50), "client_roots": ROOTS}
    missing = {key: request for key, request in requests.items() if key not in exchange.input_responses}
    return InputRequired(requests=missing) if missing else text("All answers are there.")


async def ask_what_is_declared(arguments, exchange):
    if exchange.input_responses:
        return text(f"Answered: {', '.join(sorted(exchange.input_responses))}.")
    requests = {
        "user_name": (NAME, "elicitation"),
        "greeting": (sampling("Generate a greeting", 50), "sampling"),
        "client_roots": (ROOTS, "roots"),
    }
    possible = {key: request for key, (request, name) in requests.items() if is_declared(declared(exchange, name))}
    return InputRequired(requests=possible) if possible else text("There is nobody to ask.")


SCHEMA_2020_12: dict[str, object] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {
        "address": {
            "$anchor": "addressDef",
            "type": "object",
            "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
        }
    },
    "properties": {
        "name": {"type": "string"},
        "address": {"$ref": "#/$defs/address"},
        "contactMethod": {"type": "string", "enum": ["phone", "email"]},
        "phone": {"type": "string"},
        "email": {"type": "string"},
    },
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
    "then": {"required": ["phone"]},
    "else": {"required": ["email"]},
    "additionalProperties": False,
}

HANDLERS: dict[str, Handler] = {
    "test_simple_text": simple_text,
    "test_image_content": image,
    "test_audio_content": audio,
    "test_embedded_resource": embedded,
    "test_multiple_content_types": mixed,
    "test_error_handling": failing,
    "test_tool_with_progress": with_progress,
    "test_tool_with_logging": with_logging,
    "test_logging_tool": with_logging,
    "test_sampling": with_sampling,
    "test_elicitation": with_elicitation,
    "test_elicitation_sep1034_defaults": elicitation_defaults,
    "test_elicitation_sep1330_enums": elicitation_enums,
    "test_reconnection": simple_text,
    "test_missing_capability": missing_sampling,
    "test_streaming_elicitation": ask_name,
    "test_input_required_result_elicitation": ask_name,
    "test_input_required_result_sampling": ask_sampling,
    "test_input_required_result_list_roots": ask_roots,
    "test_input_required_result_multiple_inputs": ask_all,
    "test_input_required_result_capabilities": ask_what_is_declared,
    "json_schema_2020_12_tool": simple_text,
}

SCHEMAS: dict[str, dict[str, object]] = {
    "json_schema_2020_12_tool": SCHEMA_2020_12,
    "test_sampling": {"type": "object", "properties": {"prompt": {"type": "string"}}, "required": ["prompt"]},
    "test_elicitation": {"type": "object", "properties": {"message": {"type": "string"}}, "required": ["message"]},
    "greet": {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]},
    "slow_compute": {"type": "object", "properties": {"seconds": {"type": "number"}, "label": {"type": "string"}}},
    "confirm_delete": {"type": "object", "properties": {"filename": {"type": "string"}}},
}


def described(name: str) -> ToolDescription:
    return ToolDescription(
        name=name,
        title=name.replace("_", " "),
        description=f"A fixture of the conformance suite: {name}.",
        input_schema=SCHEMAS.get(name, OBJECT),
        output_schema={},
        is_read_only=True,
        meta={},
    )
