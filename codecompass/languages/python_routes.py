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
_VIEW: Final = lazy.pattern(r"(?P<view>[^\W\d][\w.]*+)(?P<call>\.as_view|\s*\(\s*[\"'](?P<included>[^\"']*+))?")
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
        yield from _patterns(root, source)


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


def _patterns(root: Node, source: bytes) -> Iterator[Registration]:
    """Yields the routes of `path("orders/", views.orders)` and `router.register("orders", OrderViewSet)`, for any method."""
    for match in islice(_PATTERN.finditer(source), MAX_REGISTRATIONS):
        call = annotation_node(root, match.start(), frozenset({"call"}))
        arguments = None if call is None else call.child_by_field_name("arguments")
        if call is None or arguments is None or arguments.named_child_count < 2:
            continue
        given = [each for each in arguments.named_children[:4] if each.type != "comment"]
        first = given[0]
        if first.type not in ("string", "concatenated_string") or len(given) < 2:
            continue
        if match["object"] is not None and b"outer" not in match["object"].lower():
            continue
        written = _text(first, source).lstrip("rRfFuUbB")[1:-1]
        view = _VIEW.match(_text(given[1], source)[:500])
        if view is None:
            continue
        handler = f"include {view['included']}" if view["included"] is not None else view["view"].removesuffix(".as_view")
        is_pattern = not match[0].startswith(b"path")
        yield route("", joined(_MARKS.sub("", written) if is_pattern else written), call.start_byte, call.end_byte, handler)


def _text(node: Node, source: bytes) -> str:
    return source[node.start_byte : node.end_byte].decode("utf-8", "replace")
