"""Routes of Express, Koa, Fastify, Hapi and Hono (calls of an application or a router), and of NestJS (decorators)."""

import re
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Final

from codecompass import lazy
from codecompass.languages.nodes import Node
from codecompass.languages.records import Symbol
from codecompass.languages.walk.registrations import (
    MAX_REGISTRATIONS,
    Annotation,
    Registration,
    annotated_routes,
    annotation_node,
    arguments_of,
    joined,
    route,
    verbs,
)
from codecompass.languages.words import word_set

_VERBS: Final = verbs("get post put patch delete head options all")
_CALL: Final = lazy.pattern(
    rb"\.(?P<verb>get|post|put|patch|delete|head|options|all|route)\((?:\s*(?P<quote>['\"`])(?P<path>(?:/|\*)[^'\"`\n]*)(?P=quote)|\s*\{)"
)
_OBJECT: Final = lazy.pattern(rb"(?<![\w$.)\]])(?P<name>[A-Za-z_$][\w$]*)\s*$")
_CREATED: Final = lazy.pattern(
    rb"(?<![\w$])(?P<name>[A-Za-z_$][\w$]*+)(?:\s*+:\s*+[\w$.<>]++)?\s*=\s*(?:await\s+)?(?:new\s+)?(?:[\w$]+\.)?"
    rb"(?:express|Router|fastify|Fastify|Hono|OpenAPIHono|Elysia|polka|createServer)\s*(?:<[^<>()]*>)?\((?P<arguments>[^()]*)\)"
)
_MOUNTED: Final = lazy.pattern(
    rb"\.use\(\s*['\"](?P<path>/[^'\"\n]*)['\"]\s*,\s*(?:[^()\n;]{0,200},\s*)?(?P<name>[A-Za-z_$][\w$]*)\s*\)"
)
_USUAL: Final = word_set("app fastify router server")
"""Names of parameters that are applications or routers."""

_DECORATOR: Final = lazy.pattern(rb"@(?P<word>Controller|Get|Post|Put|Patch|Delete|Head|Options|All)\(")
_BEFORE: Final = 80
"""Bytes before a call that are searched for its object."""

MAX_CHAIN: Final = 12
"""Calls that follow one `.route("/x")`."""


def registered(root: Node, source: bytes, _path: str, symbols: Sequence[Symbol]) -> Iterator[Registration]:
    """Yields the routes of a file."""
    if b"@Controller(" in source:
        yield from annotated_routes(root, source, symbols, _DECORATOR, frozenset({"decorator"}), _read)
    calls = list(islice(_CALL.finditer(source), MAX_REGISTRATIONS))
    if not calls:
        return
    prefixes = {
        each["name"].decode("utf-8", "replace"): next(
            (one.value for one in arguments_of(_text(each["arguments"])) if one.name == "prefix" and one.is_text), ""
        )
        for each in islice(_CREATED.finditer(source), MAX_REGISTRATIONS)
    }
    known = _USUAL | prefixes.keys()
    for mounted in islice(_MOUNTED.finditer(source), MAX_REGISTRATIONS):
        name = _text(mounted["name"])
        prefixes[name] = joined(_text(mounted["path"]), prefixes.get(name, ""))
    for match in calls:
        found = _OBJECT.search(source, max(match.start() - _BEFORE, 0), match.start())
        if found is None or (name := _text(found["name"])) not in known:
            continue
        call = annotation_node(root, found.start(), frozenset({"call_expression"}))
        if call is not None:
            yield from _routes(call, source, match, prefixes.get(name, ""))


def _read(match: re.Match[bytes], text: str) -> Annotation:
    word = match["word"].decode().lower()
    arguments = arguments_of(text[text.find("(") :])
    paths = tuple(each.value for each in arguments if each.is_text and not each.position and each.name in ("", "path")) or None
    return Annotation((), paths, is_prefix_only=True) if word == "controller" else Annotation((_VERBS[word],), paths)


def _routes(call: Node, source: bytes, match: re.Match[bytes], prefix: str) -> Iterator[Registration]:
    """Yields the routes of `x.post("/a", handler)`, `x.route("/a").get(f).post(g)`, and `x.route({method, url, handler})`."""
    verb = match["verb"].decode()
    arguments = _arguments(call)
    if match["path"] is None:
        if verb == "route" and len(arguments) == 1 and arguments[0].type == "object":
            yield from _described(call, _text(source[arguments[0].start_byte : arguments[0].end_byte]), prefix)
        return
    path = _text(match["path"])
    path = prefix if prefix and path == "/" else joined(prefix, path)
    if verb != "route":
        if len(arguments) > 1:
            yield route(_VERBS[verb], path, call.start_byte, call.end_byte, _handler(arguments[-1], source))
        return
    for _ in range(MAX_CHAIN):
        member = call.parent
        outer = None if member is None or member.type != "member_expression" else member.parent
        called = None if member is None else member.child_by_field_name("property")
        if outer is None or called is None or outer.type != "call_expression":
            return
        method = _text(source[called.start_byte : called.end_byte])
        given = _arguments(outer)
        if method in _VERBS and given:
            yield route(_VERBS[method], path, called.start_byte, outer.end_byte, _handler(given[-1], source))
        call = outer


def _described(call: Node, text: str, prefix: str) -> Iterator[Registration]:
    given = arguments_of(text)
    path = next((each.value for each in given if each.is_text and each.name in ("url", "path")), "")
    handler = next((each.value for each in given if not each.is_text and each.name == "handler"), "")
    methods = [each.value.upper() for each in given if each.is_text and each.name == "method"]
    for method in methods if path else ():
        yield route("" if method == "*" else method, joined(prefix, path), call.start_byte, call.end_byte, handler)


def _arguments(call: Node) -> list[Node]:
    arguments = call.child_by_field_name("arguments")
    return [] if arguments is None else [each for each in arguments.named_children if each.type != "comment"]


def _handler(node: Node, source: bytes) -> str:
    """Returns the name of the function in the last argument, also of `wrap(f)` and `f.bind(x)`; empty for an inline one."""
    if node.type == "call_expression":
        function, given = node.child_by_field_name("function"), _arguments(node)
        text = "" if function is None else _text(source[function.start_byte : function.end_byte])
        if text.endswith(".bind"):
            return text.removesuffix(".bind").removeprefix("this.")
        return _handler(given[0], source) if len(given) == 1 and given[0].type in ("identifier", "member_expression") else ""
    is_name = node.type in ("identifier", "member_expression") and node.end_byte - node.start_byte < MAX_REGISTRATIONS
    return _text(source[node.start_byte : node.end_byte]).removeprefix("this.") if is_name else ""


def _text(source: bytes) -> str:
    return source.decode("utf-8", "replace")
