"""JSON Schema for the tools: short, inline, with bounds, and no more. Every client pays for it with each conversation.

Values are checked by `protocol.decode`, more leniently than is written here: a schema says what to write, decoding takes
what was meant.
"""

from collections.abc import Mapping
from typing import Final

from codecompass.protocol.decode import PROJECT_ID_PATTERN, argument_length
from codecompass.protocol.kinds import SYMBOL_KINDS

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
