"""OpenAPI, Swagger, AsyncAPI, JSON Schema, in YAML or JSON: operations, schemas with properties, references to schemas."""

from collections.abc import Iterable, Iterator
from typing import Final

from codecompass import lazy
from codecompass.languages.configuration.keys import Node
from codecompass.languages.uses.references import references
from codecompass.languages.walk.text_rules import Entry

MAX_BYTES: Final = 1024 * 1024
DEPTH: Final = 5
"""How deep the keys are that it means: `components.schemas.Order.properties.id`."""

_METHODS: Final = frozenset({"get", "put", "post", "delete", "options", "head", "patch", "trace", "publish", "subscribe"})
_PARTS: Final = frozenset({"schemas", "parameters", "responses", "messages", "securitySchemes", "requestBodies"})
_SCHEMAS: Final = frozenset({"definitions", "$defs"})
_DECLARED: Final = lazy.pattern(
    r"""\A\s*+(?>(?:(?:\#[^\n]*+|---)\s*+)*)(?:\{\s*+)?["']?(?:openapi|swagger|asyncapi|\$schema|\$id)["']?[ \t]*+:"""
)

schema_uses = references("schema", r"\$ref[\"']?[ \t]*+:[ \t]*+[\"']?[^\"'\s]*[/#](?P<command>[\w.-]++)")


def is_described(text: str) -> bool:
    """Whether a document begins like one of these."""
    return len(text) <= MAX_BYTES and _DECLARED.match(text) is not None


def described_api(nodes: Iterable[Node], text: str) -> Iterator[Entry]:
    """Yields the operations and schemas in the keys of a document."""
    for node in nodes:
        path = node.path
        if path[0] in ("paths", "channels", "webhooks") and len(path) == 3 and path[2] in _METHODS and path[1][:2] != "x-":
            yield Entry(
                f"{path[2].upper()} {path[1]}", "route", node.start, node.end, signature=f"{path[2].upper()} {path[1]}", doc=""
            )
        elif path[-1] == "operationId" and len(path) == 4:
            yield Entry(node.text(text), "route", node.start, node.value + 1, doc="")
        elif (len(path) == 3 and path[0] == "components" and path[1] in _PARTS) or (len(path) == 2 and path[0] in _SCHEMAS):
            yield Entry(path[-1], "struct", node.start, node.end, doc="")
        elif len(path) > 1 and path[-2] == "properties" and (path[0] in ("components", "properties", *_SCHEMAS)):
            yield Entry(path[-1], "field", node.start, node.end, doc="")
