"""Routes of Spring, JAX-RS (Quarkus, Jersey) and Micronaut: annotations of methods and their classes."""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from codecompass import lazy
from codecompass.languages.nodes import Node
from codecompass.languages.records import Symbol
from codecompass.languages.walk.registrations import HTTP, Annotation, Registration, annotated_routes, arguments_of

_ANNOTATION: Final = lazy.pattern(
    rb"@(?P<word>(?:Get|Post|Put|Patch|Delete|Request)Mapping|GET|POST|PUT|PATCH|DELETE|HEAD|OPTIONS|Path"
    rb"|Controller|Get|Post|Put|Patch|Delete)\b"
)
_NODES: Final = frozenset({"annotation", "marker_annotation"})
_PATHS: Final = frozenset({"", "path", "uri", "value"})


def registered(root: Node, source: bytes, _path: str, symbols: Sequence[Symbol]) -> Iterator[Registration]:
    """Yields the routes of a file."""
    return annotated_routes(root, source, symbols, _ANNOTATION, _NODES, _read)


def registered_by_text(root: Node, source: bytes, _path: str, symbols: Sequence[Symbol]) -> Iterator[Registration]:
    """Yields the routes of a file in a language whose annotations are not in the tree."""
    return annotated_routes(root, source, symbols, _ANNOTATION, frozenset(), _read)


def _read(match: re.Match[bytes], text: str) -> Annotation | None:
    word = match["word"].decode()
    arguments = arguments_of(text[text.find("(") :]) if "(" in text else []
    paths = tuple(each.value for each in arguments if each.is_text and each.name in _PATHS) or None
    methods = [HTTP.get(word.removesuffix("Mapping").lower(), "")]
    if word == "RequestMapping":
        named = (each.value.rpartition(".")[2] for each in arguments if each.name == "method")
        methods = [each for each in named if each.lower() in HTTP]
    if word == "Controller" and (paths is None or not paths[0].startswith("/")):
        return None  # the name of a bean
    if not any(methods):
        return Annotation((), paths or ("",) if word == "RequestMapping" else paths)
    return Annotation(tuple(methods), paths)
