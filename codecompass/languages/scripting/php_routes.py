"""Routes of Laravel (calls of `Route`) and of Symfony (attributes of methods and their classes)."""

import re
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Final

from msgspec import Struct

from codecompass import lazy
from codecompass.languages.nodes import Node
from codecompass.languages.records import Symbol
from codecompass.languages.walk.registrations import (
    MAX_REGISTRATIONS,
    Annotation,
    Argument,
    Registration,
    annotated_routes,
    annotation_node,
    arguments_of,
    joined,
    route,
    verbs,
)

_ATTRIBUTE: Final = lazy.pattern(rb"(?<=[\[\s,\\])Route\(")
_CALL: Final = lazy.pattern(rb"(?<![\w\\$:>])\\?Route::(?=\w)")
_VERBS: Final = {**verbs("get post put patch delete options any"), "view": "GET", "redirect": "", "fallback": "", "match": ""}
_RESOURCES: Final = {"resource": "index create store show edit update destroy", "apiResource": "index store show update destroy"}
_ACTIONS: Final = {
    "index": ("GET", ""),
    "create": ("GET", "create"),
    "store": ("POST", ""),
    "show": ("GET", "{}"),
    "edit": ("GET", "{}/edit"),
    "update": ("PUT", "{}"),
    "destroy": ("DELETE", "{}"),
}
MAX_CHAIN: Final = 20
"""Calls in one statement."""


class _Group(Struct, frozen=True):
    end: int
    prefix: str
    controller: str


def registered(root: Node, source: bytes, _path: str, symbols: Sequence[Symbol]) -> Iterator[Registration]:
    """Yields the routes of a file."""
    if b"#[" in source and b"Route(" in source:
        yield from annotated_routes(root, source, symbols, _ATTRIBUTE, frozenset({"attribute"}), _read)
    if b"Route::" not in source:
        return
    groups: list[_Group] = []
    for match in islice(_CALL.finditer(source), MAX_REGISTRATIONS):
        call = annotation_node(root, match.start(), frozenset({"scoped_call_expression"}))
        if call is None:
            continue
        while groups and groups[-1].end <= call.start_byte:
            groups.pop()
        around = groups[-1] if groups else _Group(0, "", "")
        chain, end, body = _chain(call, source)
        prefix = joined(around.prefix, *(_first(given) for name, given in chain if name == "prefix"))
        controller = next((_class_of(given) for name, given in chain if name == "controller"), around.controller)
        for name, given in chain:
            if name == "group":
                own = next((each.value for each in given if each.name == "prefix" and each.is_text), "")
                groups.append(_Group(body, joined(prefix, own), controller))
            elif name in _VERBS or name in _RESOURCES or name in ("resources", "apiResources"):
                yield from _routes(name, given, prefix, controller, call.start_byte, end, chain)
                break


def _chain(call: Node, source: bytes) -> tuple[list[tuple[str, list[Argument]]], int, int]:
    """Returns the calls of a chain with their arguments, where the chain ends, and where the arguments of `group` end."""
    found: list[tuple[str, list[Argument]]] = []
    body, node = call.end_byte, call
    for _ in range(MAX_CHAIN):
        name, given = node.child_by_field_name("name"), node.child_by_field_name("arguments")
        if name is not None and given is not None:
            called = source[name.start_byte : name.end_byte].decode("utf-8", "replace")
            is_group = called == "group"
            if is_group:
                body = given.end_byte
            last = given.start_byte + (300 if is_group else 1_000)
            text = source[given.start_byte : min(given.end_byte, last)].decode("utf-8", "replace")
            # The keys of arrays are written with arrows.
            text = text.partition("function")[0] if is_group else text
            found.append((called, arguments_of(_ARROW.sub(r"\1: ", text))))
        outer = node.parent
        if outer is None or outer.type != "member_call_expression" or outer.start_byte != call.start_byte:
            break
        node = outer
    return found, node.end_byte, body


_ARROW: Final = lazy.pattern(r"['\"](\w+)['\"]\s*=>\s*")


def _routes(
    name: str,
    given: list[Argument],
    prefix: str,
    controller: str,
    start: int,
    end: int,
    chain: list[tuple[str, list[Argument]]],
) -> Iterator[Registration]:
    texts = [each for each in given if each.is_text]
    written = next((each.value for each in texts if each.position == (name == "match")), "")
    if name in ("resources", "apiResources") or (not written and name != "fallback"):
        return
    if name in _RESOURCES:
        owner = next((_class_name(each) for each in given if each.position == 1), "")
        chosen = _RESOURCES[name].split()
        for word, values in [*chain, *((each.name, [each]) for each in given)]:
            named = {each.value for each in values if each.is_text}
            if word in ("only", "except") and named:
                chosen = [each for each in chosen if (each in named) == (word == "only")]
        *outer, last = written.strip("/").split(".")
        path = joined(*(f"{each}/{{{_singular(each)}}}" for each in outer), last)
        for action in chosen:
            method, suffix = _ACTIONS[action]
            yield route(
                method, joined(prefix, path, suffix.replace("{}", f"{{{_singular(last)}}}")), start, end, f"{owner}::{action}"
            )
        return
    handler = _handler([each for each in given if each.position == 1 + (name == "match")], controller)
    methods = [each.value.upper() for each in texts if each.position == 0] if name == "match" else [_VERBS[name]]
    path = joined(prefix, "*" if name == "fallback" else written.strip("/"))
    served_by = handler if name not in ("view", "redirect") else ""
    for method in methods:
        yield route(method, path, start, end, served_by)


def _handler(given: list[Argument], controller: str) -> str:
    """Returns what serves a route: `[C::class, 'm']`, `'C@m'`, `C::class`, or `'m'` in a group with a controller."""
    if not given:
        return ""
    first = given[0]
    if first.is_text:
        return first.value.replace("@", "::") if "@" in first.value or not controller else f"{controller}::{first.value}"
    owner = _class_name(first)
    if not first.value.endswith("::class"):
        return ""
    method = next((each.value for each in given[1:] if each.is_text), "__invoke")
    return f"{owner}::{method}"


def _class_name(argument: Argument) -> str:
    return argument.value.removesuffix("::class").rpartition("\\")[2]


def _class_of(given: list[Argument]) -> str:
    return _class_name(given[0]) if given else ""


def _first(given: list[Argument]) -> str:
    return given[0].value if given and given[0].is_text else ""


def _singular(word: str) -> str:
    if word.endswith("ies"):
        return word[:-3] + "y"
    return word[:-1] if word.endswith("s") and not word.endswith("ss") else word


def _read(_match: re.Match[bytes], text: str) -> Annotation | None:
    given = arguments_of(text[text.find("(") :])
    paths = tuple(
        each.value for each in given if each.is_text and (each.name == "path" or (each.name == "" and not each.position))
    )
    methods = tuple(each.value.upper() for each in given if each.name == "methods" and each.is_text)
    return Annotation(methods, paths or None)
