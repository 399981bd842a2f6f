"""The interfaces between hosts and models: the tools and texts of a request, and the form of a streamed answer.

Each dialect reads a request's body and writes an answer as server-sent events, or as one JSON document if the host did not
request a stream. It implements only what hosts use of each interface, and knows neither sockets nor scripts.
"""

import json
from collections.abc import Callable, Iterable, Mapping

from msgspec import Struct

Json = Mapping[str, object]


class OfferedTool(Struct, frozen=True):
    """A tool in a request. `text` is its whole definition as JSON; its size is what the model pays for.

    `namespace` is the group that contains the definition, in interfaces that have groups.
    """

    name: str
    description: str
    text: str
    namespace: str = ""


SEARCH_IDS = "look"
"""Prefix of the ids of calls that search for a tool; they are not steps of a script."""


class Answer(Struct, frozen=True):
    """The model's answer: a call of `tool`, or `text` if that is None. `is_search`: a search for tools, no step of the script."""

    text: str = ""
    tool: OfferedTool | None = None
    arguments: Json = {}
    number: int = 0
    is_search: bool = False

    @property
    def call_id(self) -> str:
        """The id of the call, unique within its model."""
        return f"{SEARCH_IDS if self.is_search else 'call'}_{self.number:04}"


class Dialect(Struct, frozen=True):
    """One interface. `stream` returns the events of an answer with their names; an empty name is not written.

    `results` returns the ids of calls and their results; with Gemini's interface, hosts need not repeat ids.
    """

    name: str
    tools: Callable[[Json], list[OfferedTool]]
    results: Callable[[Json], list[tuple[str, str]]]
    instructions: Callable[[Json], str]
    stream: Callable[[Answer], Iterable[tuple[str, str]]]
    whole: Callable[[Answer], Json]


def _compact(value: object) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def _texts(content: object) -> str:
    """Joins the texts of a content that is a string or a list of parts."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(_texts(part.get("text", "") if isinstance(part, dict) else part) for part in content)
    return "" if content is None else _compact(content)


# Anthropic Messages


def _anthropic_tools(body: Json) -> list[OfferedTool]:
    return [
        OfferedTool(tool["name"], tool.get("description", ""), _compact(tool))
        for tool in body.get("tools") or ()
        if "input_schema" in tool
    ]


def _anthropic_results(body: Json) -> list[tuple[str, str]]:
    return [
        (block["tool_use_id"], _texts(block.get("content")))
        for message in body.get("messages", ())
        if isinstance(message["content"], list)
        for block in message["content"]
        if block.get("type") == "tool_result"
    ]


def _anthropic_instructions(body: Json) -> str:
    """Returns the system prompt and all messages: the host puts some instructions into a message before the user's."""
    return "\n".join([_texts(body.get("system")), *(_texts(message["content"]) for message in body.get("messages", ()))])


def _anthropic_block(answer: Answer) -> Json:
    if answer.tool is None:
        return {"type": "text", "text": answer.text}
    return {"type": "tool_use", "id": answer.call_id, "name": answer.tool.name, "input": answer.arguments}


def _anthropic_message(answer: Answer) -> dict[str, object]:
    return {
        "id": f"msg_{answer.number:04}",
        "type": "message",
        "role": "assistant",
        "model": "scripted",
        "content": [_anthropic_block(answer)],
        "stop_reason": "end_turn" if answer.tool is None else "tool_use",
        "stop_sequence": None,
        "usage": {"input_tokens": 1, "output_tokens": 1},
    }


def _anthropic_stream(answer: Answer) -> Iterable[tuple[str, str]]:
    message = _anthropic_message(answer)
    stop = {"stop_reason": message["stop_reason"], "stop_sequence": None}
    if answer.tool is None:
        start: Json = {"type": "text", "text": ""}
        delta: Json = {"type": "text_delta", "text": answer.text}
    else:
        start = {**_anthropic_block(answer), "input": {}}
        delta = {"type": "input_json_delta", "partial_json": _compact(answer.arguments)}
    for event in (
        {"type": "message_start", "message": {**message, "content": [], "stop_reason": None}},
        {"type": "content_block_start", "index": 0, "content_block": start},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": stop, "usage": {"output_tokens": 1}},
        {"type": "message_stop"},
    ):
        yield str(event["type"]), _compact(event)


# OpenAI Responses


def _responses_tools(body: Json) -> list[OfferedTool]:
    """Returns the tools of the request, and those that a tool search has found."""
    found = []
    loaded = [tool for item in body.get("input", ()) if item.get("type") == "tool_search_output" for tool in item["tools"]]
    for tool in (*(body.get("tools") or ()), *loaded):
        for each in tool.get("tools", ()) if tool.get("type") == "namespace" else (tool,):
            namespace = tool["name"] if each is not tool else ""
            found.append(OfferedTool(each.get("name", each["type"]), each.get("description", ""), _compact(each), namespace))
    return found


def _responses_results(body: Json) -> list[tuple[str, str]]:
    return [
        (item["call_id"], _compact(item["tools"]) if item["type"] == "tool_search_output" else _texts(item.get("output")))
        for item in body.get("input", ())
        if item.get("type") in ("function_call_output", "custom_tool_call_output", "tool_search_output")
    ]


def _responses_instructions(body: Json) -> str:
    said = [_texts(item.get("content")) for item in body.get("input", ()) if item.get("type") == "message"]
    return "\n".join([str(body.get("instructions") or ""), *said])


def _responses_item(answer: Answer) -> Json:
    if answer.tool is None:
        content = [{"type": "output_text", "text": answer.text, "annotations": []}]
        said = {"role": "assistant", "status": "completed", "content": content}
        return {"type": "message", "id": f"msg_{answer.number:04}", **said}
    call = {"id": f"fc_{answer.number:04}", "call_id": answer.call_id, "status": "completed"}
    if answer.tool.name == "tool_search":
        return {"type": "tool_search_call", **call, "execution": "client", "arguments": answer.arguments}
    grouped = {"namespace": answer.tool.namespace} if answer.tool.namespace else {}
    return {"type": "function_call", **call, "name": answer.tool.name, **grouped, "arguments": _compact(answer.arguments)}


def _responses_whole(answer: Answer) -> Json:
    return {
        "id": f"resp_{answer.number:04}",
        "object": "response",
        "created_at": 0,
        "status": "completed",
        "model": "scripted",
        "output": [_responses_item(answer)],
        "usage": {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2},
    }


def _responses_stream(answer: Answer) -> Iterable[tuple[str, str]]:
    whole, item = _responses_whole(answer), _responses_item(answer)
    for number, event in enumerate(
        (
            {"type": "response.created", "response": {**whole, "status": "in_progress", "output": []}},
            {"type": "response.output_item.added", "output_index": 0, "item": {**item, "status": "in_progress"}},
            {"type": "response.output_item.done", "output_index": 0, "item": item},
            {"type": "response.completed", "response": whole},
        )
    ):
        yield str(event["type"]), _compact({**event, "sequence_number": number})


# OpenAI chat completions


def _chat_tools(body: Json) -> list[OfferedTool]:
    return [
        OfferedTool(tool["function"]["name"], tool["function"].get("description", ""), _compact(tool))
        for tool in body.get("tools") or ()
    ]


def _chat_results(body: Json) -> list[tuple[str, str]]:
    return [
        (message["tool_call_id"], _texts(message.get("content")))
        for message in body.get("messages", ())
        if message["role"] == "tool"
    ]


def _chat_instructions(body: Json) -> str:
    return "\n".join(_texts(message.get("content")) for message in body.get("messages", ()) if message["role"] != "tool")


def _chat_message(answer: Answer) -> Json:
    if answer.tool is None:
        return {"role": "assistant", "content": answer.text}
    function = {"name": answer.tool.name, "arguments": _compact(answer.arguments)}
    call = {"index": 0, "id": answer.call_id, "type": "function", "function": function}
    return {"role": "assistant", "content": None, "tool_calls": [call]}


def _chat_frame(answer: Answer, kind: str, choice: Json) -> dict[str, object]:
    return {"id": f"chatcmpl-{answer.number:04}", "object": kind, "created": 0, "model": "scripted", "choices": [choice]}


def _chat_reason(answer: Answer) -> str:
    return "stop" if answer.tool is None else "tool_calls"


_CHAT_USAGE: Json = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}


def _chat_stream(answer: Answer) -> Iterable[tuple[str, str]]:
    kind = "chat.completion.chunk"
    yield "", _compact(_chat_frame(answer, kind, {"index": 0, "delta": _chat_message(answer), "finish_reason": None}))
    end = _chat_frame(answer, kind, {"index": 0, "delta": {}, "finish_reason": _chat_reason(answer)})
    yield "", _compact({**end, "usage": _CHAT_USAGE})
    yield "", "[DONE]"


def _chat_whole(answer: Answer) -> Json:
    choice = {"index": 0, "message": _chat_message(answer), "finish_reason": _chat_reason(answer)}
    return {**_chat_frame(answer, "chat.completion", choice), "usage": _CHAT_USAGE}


# Gemini


def _gemini_tools(body: Json) -> list[OfferedTool]:
    return [
        OfferedTool(tool["name"], tool.get("description", ""), _compact(tool))
        for group in body.get("tools") or ()
        for tool in group.get("functionDeclarations", ())
    ]


def _gemini_results(body: Json) -> list[tuple[str, str]]:
    return [
        (part["functionResponse"].get("id", ""), _gemini_output(part["functionResponse"]["response"]))
        for content in body.get("contents", ())
        for part in content.get("parts", ())
        if "functionResponse" in part
    ]


def _gemini_output(response: Json) -> str:
    """Returns the text of a result, which is wrapped in an object with one member."""
    only = next(iter(response.values()), "") if len(response) == 1 else response
    return only if isinstance(only, str) else _compact(only)


def _gemini_instructions(body: Json) -> str:
    system = body.get("systemInstruction") or {}
    contents = [system, *body.get("contents", ())]
    return "\n".join(str(part.get("text", "")) for content in contents for part in content.get("parts", ()))


def _gemini_whole(answer: Answer) -> Json:
    if answer.tool is None:
        part: Json = {"text": answer.text}
    else:
        part = {"functionCall": {"id": answer.call_id, "name": answer.tool.name, "args": answer.arguments}}
    return {
        "candidates": [{"content": {"role": "model", "parts": [part]}, "finishReason": "STOP", "index": 0}],
        "usageMetadata": {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2},
        "modelVersion": "scripted",
    }


def _gemini_stream(answer: Answer) -> Iterable[tuple[str, str]]:
    yield "", _compact(_gemini_whole(answer))


ANTHROPIC = Dialect(
    "Anthropic Messages", _anthropic_tools, _anthropic_results, _anthropic_instructions, _anthropic_stream, _anthropic_message
)
RESPONSES = Dialect(
    "OpenAI Responses", _responses_tools, _responses_results, _responses_instructions, _responses_stream, _responses_whole
)
CHAT = Dialect("OpenAI chat completions", _chat_tools, _chat_results, _chat_instructions, _chat_stream, _chat_whole)
GEMINI = Dialect("Gemini", _gemini_tools, _gemini_results, _gemini_instructions, _gemini_stream, _gemini_whole)
