"""What a tool is: how it is described to models (with short, inline, bounded JSON Schema), and what answers its calls.

A host asks for the list of tools first of all, and some do not wait for it: neither this module nor the top of a tool's module
imports what only a call needs.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from codecompass.protocol.decode import PROJECT_ID_PATTERN, argument_length
from codecompass.protocol.kinds import SYMBOL_KINDS

if TYPE_CHECKING:
    from codecompass.transport.tools.toolkit import Call, Outcome


Schema = Mapping[str, object]


def text(description: str = "") -> Schema:
    """A string. What it may be is said by the error where the list is long, or rarely needed."""
    return {"type": "string", **_described(description)}


def choice(*values: str, default: str | None = None, description: str = "") -> Schema:
    """One of a few words."""
    return {
        "type": "string",
        "enum": list(values),
        **({} if default is None else {"default": default}),
        **_described(description),
    }


def integer(lowest: int, highest: int, *, default: int | None = None, description: str = "") -> Schema:
    """A whole number."""
    bounds = {"type": "integer", "minimum": lowest, "maximum": highest}
    return {**bounds, **({} if default is None else {"default": default}), **_described(description)}


def boolean(description: str = "") -> Schema:
    """True or false; false when it is left out."""
    return {"type": "boolean", **_described(description)}


def arguments(tool: str, required: Mapping[str, Schema], optional: Mapping[str, Schema]) -> Schema:
    """The arguments of a tool. Texts get the length that `protocol.requests` allows them as `maxLength`.

    Others are not forbidden here: a host that checks (Gemini CLI) would tell the model no more than that one is wrong, where our
    own error names the argument that was meant.
    """
    properties = {**required, **WHERE, **optional}
    return {
        "type": "object",
        "properties": {name: _bounded(schema, argument_length(tool, name)) for name, schema in properties.items()},
        **({"required": list(required)} if required else {}),
    }


def _bounded(schema: Schema, length: int) -> Schema:
    """The schema with its length, unless it is a list of values or no text."""
    if schema["type"] != "string" or "enum" in schema:
        return schema
    return {"type": "string", "maxLength": length, **schema}


def answer(**types: Schema) -> Schema:
    """The top-level keys of an answer that programs read, with their types; `metadata` comes with all."""
    return {"type": "object", "properties": {**types, "metadata": OBJECT}}


def _described(description: str) -> dict[str, str]:
    return {"description": description} if description else {}


STRING: Final[Schema] = {"type": "string"}
INTEGER: Final[Schema] = {"type": "integer"}
NUMBER: Final[Schema] = {"type": "number"}
OBJECT: Final[Schema] = {"type": "object"}
STRING_OR_NULL: Final[Schema] = {"type": ["string", "null"]}
INTEGER_OR_NULL: Final[Schema] = {"type": ["integer", "null"]}
OBJECT_OR_NULL: Final[Schema] = {"type": ["object", "null"]}
ROWS: Final[Schema] = {"type": "array"}
"""Types of what answers hold. What stands in the objects is in docs/tools.md: here each client would pay for it."""

WHERE: Final[Mapping[str, Schema]] = {
    "workspace": text(),
    "project_id": text(),
    "ref": text(),
}
"""What every tool takes. Stands last because the functions above make it."""

PATHS: Final = "src/**,!test/**"
KINDS: Final = f"{' '.join(SYMBOL_KINDS)}; or fn,class"
"""What filters take: lists with commas, therefore no `enum`."""

NEW_NAME: Final[Schema] = {"type": "string", "pattern": PROJECT_ID_PATTERN}
"""`project_id` of a tool that gives a project its name; the others take what is there, and an error says the pattern."""


META_ALWAYS_LOAD: Final = "anthropic/alwaysLoad"
"""Hosts that show a model the names of tools alone, and the rest when it searches for it, show this one whole."""

META_SEARCH_HINT: Final = "anthropic/searchHint"
"""Words by which such a search finds a tool, besides those of its name and description."""


class Tool(Struct, frozen=True, kw_only=True):
    """A tool of the catalogue. `output` describes its JSON answers, `meta` is for hosts that know what it means."""

    name: str
    title: str
    description: str
    arguments: Schema
    output: Schema
    is_read_only: bool
    is_idempotent: bool
    meta: Mapping[str, object] = {}
    run: "Callable[[Call], Awaitable[Outcome]]"


async def ask_index(call: "Call") -> "Outcome":
    """See `asking.ask_index`."""
    from codecompass.transport.tools import toolkit

    return await toolkit.ask_index(call)


def shown_by_hosts(search_hint: str, *, is_always_shown: bool = False) -> dict[str, object]:
    """Returns the `meta` of a tool for hosts that do not show all tools from the start."""
    return {META_SEARCH_HINT: search_hint, **({META_ALWAYS_LOAD: True} if is_always_shown else {})}
