"""The description of a tool for models: texts, short inline JSON Schema, hints for hosts. Imports nothing that answers a call."""

from collections.abc import Mapping
from typing import Final, assert_never

from msgspec import Struct

from codecompass.protocol.arguments import ARGUMENTS, Argument
from codecompass.protocol.requests import AnyRequest

Schema = Mapping[str, object]


def input_schema(tool: str) -> Schema:
    """Returns the schema of the arguments of a tool.

    It allows additional ones: a host that validates (Gemini CLI) would only tell the model that one is invalid, while our own
    error names the argument that was meant.
    """
    arguments = ARGUMENTS[tool].values()
    required = [argument.name for argument in arguments if argument.is_required]
    return {
        "type": "object",
        "properties": {argument.name: _schema(argument) for argument in arguments},
        **({"required": required} if required else {}),
    }


def _schema(argument: Argument) -> Schema:
    described = {"description": argument.listed} if argument.listed else {}
    match argument.value_type:
        case "flag":
            return {"type": "boolean", **described}
        case "number":
            default = {"default": argument.default} if argument.lists_default else {}
            return {"type": "integer", "minimum": argument.lowest, "maximum": argument.highest, **default, **described}
        case "choice" if not argument.is_listed_as_text:
            return {"type": "string", "enum": list(argument.values), **described}
        case "choice" | "text":
            pattern = {"pattern": argument.pattern} if argument.pattern else {}
            return {"type": "string", "maxLength": argument.max_length, **pattern, **described}
        case _:
            assert_never(argument.value_type)


def answer(**types: Schema) -> Schema:
    """Returns the schema of an answer: the top-level keys that programs read, with their types, and `metadata`."""
    return {"type": "object", "properties": {**types, "metadata": OBJECT}}


STRING: Final[Schema] = {"type": "string"}
INTEGER: Final[Schema] = {"type": "integer"}
NUMBER: Final[Schema] = {"type": "number"}
OBJECT: Final[Schema] = {"type": "object"}
STRING_OR_NULL: Final[Schema] = {"type": ["string", "null"]}
INTEGER_OR_NULL: Final[Schema] = {"type": ["integer", "null"]}
OBJECT_OR_NULL: Final[Schema] = {"type": ["object", "null"]}
ROWS: Final[Schema] = {"type": "array"}
"""Types of members of answers. The members of objects are in docs/tools.md: in a schema they would cost every client tokens."""

META_ALWAYS_LOAD: Final = "anthropic/alwaysLoad"
"""Hosts that only show a model the names of tools, and the rest when it searches for them, show such a tool in full."""

META_SEARCH_HINT: Final = "anthropic/searchHint"
"""Words by which such a search finds a tool, in addition to its name and description."""


class Tool(Struct, frozen=True, kw_only=True):
    """A tool of the catalogue.

    request: the type of its requests, which gives the tool its name and its arguments
    title, description: what people and models read about it
    output: the schema of its JSON answers
    is_read_only: whether it changes neither the index nor the registry
    meta: hints for hosts that support them
    """

    request: type[AnyRequest]
    title: str
    description: str
    output: Schema
    is_read_only: bool = True
    meta: Mapping[str, object] = {}

    @property
    def name(self) -> str:
        """The name by which it is called."""
        return self.request.tool

    @property
    def arguments(self) -> Schema:
        """The schema of its arguments."""
        return input_schema(self.name)


def shown_by_hosts(search_hint: str, *, is_always_shown: bool = False) -> dict[str, object]:
    """Returns the `meta` of a tool for hosts that do not show all tools at first."""
    return {META_SEARCH_HINT: search_hint, **({META_ALWAYS_LOAD: True} if is_always_shown else {})}
