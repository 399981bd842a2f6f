"""Routes of Flask, FastAPI and the like (decorators of functions), of Django (`urlpatterns`) and its REST framework."""

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

_DECORATOR: Final = lazy.pattern(
    rb"@(?P<object>[^\W\d][\w.]*)\.(?P<verb>get|post|put|patch|delete|head|options|route|api_route|websocket)\s*\("
)
_PREFIX: Final = lazy.pattern(
    rb"^(?P<name>[^\W\d]\w*)(?:\s*:[^=\n]+)?\s*=\s*(?:\w+\.)*\w*(?:Router|Blueprint)\w*\((?P<arguments>[^()]*(?:\([^()]*\)[^()]*)*)\)",
    re.MULTILINE,
)
_PATTERN: Final = lazy.pattern(
    rb"(?<![\w.])(?:(?:path|re_path|url)\(\s*+(?=[rRfF]?[\"'])|(?P<object>\w++)\.register\(\s*+(?=[rR]?[\"']))"
)
_VIEW: Final = lazy.pattern(r"(?P<view>[^\W\d][\w.]*+)(?:(?<=include)\s*\(\s*[(\"']*(?P<included>[\w.]++))?")
_TEXTS: Final = frozenset({"concatenated_string", "string"})
_MARKS: Final = lazy.pattern(r"^\^|\$$|\\/?")


def registered(root: Node, source: bytes, _path: str, symbols: Sequence[Symbol]) -> Iterator[Registration]:
    """Yields the routes of a file."""
    if _DECORATOR.search(source) is not None:
        prefixes = {
            match["name"].decode("utf-8", "replace"): next(
                (
                    each.value
                    for each in arguments_of(match["arguments"].decode("utf-8", "replace"))
                    if each.is_text and each.name in ("prefix", "url_prefix")
                ),
                "",
            )
            for match in islice(_PREFIX.finditer(source), MAX_REGISTRATIONS)
        }

        def read(match: re.Match[bytes], text: str) -> Annotation | None:
            return _decorator(prefixes.get(match["object"].decode("utf-8", "replace"), ""), match["verb"].decode(), text)

        yield from annotated_routes(root, source, symbols, _DECORATOR, frozenset({"decorator"}), read)
    if b"urlpatterns" in source or b".register(" in source:
        yield from _patterns(root, source, symbols)


def _decorator(prefix: str, verb: str, text: str) -> Annotation | None:
    arguments = arguments_of(text[text.find("(") :])
    path = next((each.value for each in arguments if each.is_text and (not each.position or each.name in ("path", "rule"))), None)
    if path is None or not (path.startswith("/") or (path == "" and verb not in ("route", "patch"))):
        return None
    if verb == "websocket":
        methods: tuple[str, ...] = ("WEBSOCKET",)
    elif verb in HTTP:
        methods = (HTTP[verb],)
    else:
        methods = tuple(each.value.upper() for each in arguments if each.name == "methods" and each.is_text) or ("GET",)
    return Annotation(methods, (joined(prefix, path) if path else prefix or "/",))


def _patterns(root: Node, source: bytes, symbols: Sequence[Symbol]) -> Iterator[Registration]:
    """Yields the routes of `path("orders/", views.orders)` and `router.register("orders", OrderViewSet)`, for any method."""
    lists = [symbol for symbol in symbols if symbol.kind == "var" and symbol.parent < 0 and symbol.line_end > symbol.line_start]
    found: list[tuple[str, str, str, Node]] = []
    prefixes: dict[str, str] = {}
    for match in islice(_PATTERN.finditer(source), MAX_REGISTRATIONS):
        call = annotation_node(root, match.start(), frozenset({"call"}))
        arguments = None if call is None else call.child_by_field_name("arguments")
        given = [] if arguments is None else [each for each in arguments.named_children[:4] if each.type != "comment"]
        if call is None or len(given) < 2 or given[0].type not in _TEXTS:
            continue
        if match["object"] is not None and b"outer" not in match["object"].lower():
            continue
        written = _text(given[0], source).lstrip("rRfFuUbB")[1:-1]
        view = _VIEW.match(_text(given[1], source)[:500])
        if view is None or given[1].type == "keyword_argument":
            continue
        line = call.start_point[0] + 1
        around = next((symbol.name for symbol in lists if symbol.line_start <= line <= symbol.line_end), "")
        path = joined(written if match[0].startswith(b"path") else _MARKS.sub("", written))
        handler = view["view"].removesuffix(".as_view")
        if view["included"] is not None:
            handler = f"include {view['included']}"
            prefixes.setdefault(view["included"], path)
        found.append((around, path, handler, call))
    for around, path, handler, call in found:
        yield route("", joined(prefixes.get(around, ""), path), call.start_byte, call.end_byte, handler)


def _text(node: Node, source: bytes) -> str:
    return source[node.start_byte : node.end_byte].decode("utf-8", "replace")
