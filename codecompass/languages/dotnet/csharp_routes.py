"""Routes of ASP.NET: attributes of methods and their classes, and calls of an application (`app.MapPost("/orders", ..)`)."""

import re
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Final

from codecompass import lazy
from codecompass.languages.nodes import Node
from codecompass.languages.records import Symbol
from codecompass.languages.walk.registrations import (
    HTTP,
    MAX_REGISTRATIONS,
    Annotation,
    Registration,
    annotated_routes,
    annotation_node,
    arguments_of,
    joined,
    route,
)

_ATTRIBUTE: Final = lazy.pattern(rb"(?<![\w.])(?P<word>Http(?:Get|Post|Put|Patch|Delete|Head|Options)|Route|AcceptVerbs)\b")
_CALL: Final = lazy.pattern(
    rb"\b(?P<object>\w+)\s*\.Map(?:(?P<verb>Get|Post|Put|Patch|Delete|Methods)\(\s*(?=\$?@?\")|\(\s*(?=\$?@?\"/))"
)
_GROUP: Final = lazy.pattern(rb"\b(?P<name>\w+)\s*=\s*(?P<object>\w+)\s*\.MapGroup\(\s*\$?@?\"(?P<path>[^\"\n]*)\"")
_PLACEHOLDER: Final = lazy.pattern(r"\[(controller|action)\]")


def registered(root: Node, source: bytes, _path: str, symbols: Sequence[Symbol]) -> Iterator[Registration]:
    """Yields the routes of a file."""
    if b"[Http" in source or b"Route(" in source:
        yield from annotated_routes(root, source, symbols, _ATTRIBUTE, frozenset({"attribute"}), _read, _completed)
    if b".Map" in source:
        yield from _calls(root, source)


def _read(match: re.Match[bytes], text: str) -> Annotation | None:
    word = match["word"].decode()
    arguments = arguments_of(text[text.find("(") :]) if "(" in text else []
    texts = [each.value for each in arguments if each.is_text and each.name in ("", "template", "Route")]
    if word == "AcceptVerbs":
        return Annotation(tuple(each.upper() for each in texts), None)
    if word == "Route":
        return Annotation((), tuple(texts[:1])) if texts else None
    return Annotation((HTTP[word[4:].lower()],), tuple(texts[:1]) or None)


def _completed(path: str, function: Symbol, owner: Symbol | None) -> str:
    names = {"controller": owner.name.removesuffix("Controller") if owner is not None else "", "action": function.name}
    return _PLACEHOLDER.sub(lambda match: names[match[1]], path)


def _calls(root: Node, source: bytes) -> Iterator[Registration]:
    prefixes: dict[bytes, str] = {}
    for group in islice(_GROUP.finditer(source), MAX_REGISTRATIONS):
        prefixes[group["name"]] = joined(prefixes.get(group["object"], ""), group["path"].decode("utf-8", "replace"))
    for match in islice(_CALL.finditer(source), MAX_REGISTRATIONS):
        call = annotation_node(root, match.start(), frozenset({"invocation_expression"}))
        if call is None:
            continue
        arguments = call.child_by_field_name("arguments")
        given = [] if arguments is None else arguments.named_children
        if len(given) < 2:
            continue
        path, handler = (
            source[each.start_byte : min(each.end_byte, each.start_byte + 500)].decode("utf-8", "replace")
            for each in (given[0], given[-1])
        )
        verb = (match["verb"] or b"").decode().lower()
        methods = [HTTP.get(verb, "")]
        if verb == "methods":
            listed = source[given[1].start_byte : given[1].end_byte].decode("utf-8", "replace")
            methods = [each.value.upper() for each in arguments_of(listed) if each.is_text]
        written = joined(prefixes.get(match["object"], ""), path.strip('$@"').rstrip("/"))
        for method in methods:
            yield route(
                method, written, call.start_byte, call.end_byte, handler if handler.replace(".", "").isidentifier() else ""
            )
