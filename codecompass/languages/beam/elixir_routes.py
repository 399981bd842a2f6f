"""Routes of Phoenix: the calls in a router, in scopes and resources."""

from collections.abc import Iterator, Sequence
from typing import Final

from msgspec import Struct

from codecompass.languages.nodes import Node
from codecompass.languages.records import Symbol
from codecompass.languages.walk.registrations import Registration, joined, route, verbs

_VERBS: Final = {**verbs("get post put patch delete head options"), "live": "GET", "forward": "", "match": ""}
_ACTIONS: Final = {
    "index": ("GET", ""),
    "edit": ("GET", ":id/edit"),
    "new": ("GET", "new"),
    "show": ("GET", ":id"),
    "create": ("POST", ""),
    "update": ("PATCH", ":id"),
    "delete": ("DELETE", ":id"),
}
MAX_DEPTH: Final = 20
"""Scopes and resources within each other."""


class _Scope(Struct, frozen=True):
    path: str = ""
    module: str = ""


def registered(root: Node, source: bytes, _path: str, _symbols: Sequence[Symbol]) -> Iterator[Registration]:
    """Yields the routes of a router."""
    if b":router" not in source and b"Phoenix.Router" not in source:
        return
    pending: list[tuple[Node, _Scope, int]] = [(child, _Scope(), 0) for child in reversed(root.named_children)]
    while pending:
        node, scope, depth = pending.pop()
        inner, body = scope, _child(node, "do_block")
        if node.type == "call":
            target = node.child_by_field_name("target")
            word = "" if target is None else _text(target, source)
            given = [] if (arguments := _child(node, "arguments")) is None else arguments.named_children
            path = next((_text(each, source)[1:-1] for each in given[:2] if each.type == "string"), "").rstrip("/")
            alias = next((_text(each, source) for each in given if each.type == "alias"), "")
            options = _options(given, source)
            if word == "scope":
                is_alone = options.get("alias") == "false"
                module = "" if is_alone else _dotted(scope.module, alias or options.get("alias", ""))
                inner = _Scope(joined(scope.path, path or options.get("path", "").strip('"')), module)
            elif word == "resources":
                yield from _resources(node, source, joined(scope.path, path), _dotted(scope.module, alias), options)
                name = _singular(path.rpartition("/")[2])
                inner = _Scope(joined(scope.path, path, "" if "singleton" in options else f":{name}_id"), scope.module)
            elif word in _VERBS and given and given[0].type in ("string", "atom"):
                action = next((_text(each, source) for each in given[1:] if each.type == "atom"), "")
                method = _text(given[0], source)[1:].upper() if word == "match" else _VERBS[word]
                module = "" if options.get("alias") == "false" else scope.module
                handler = _dotted(module, alias) + ("." + action[1:] if action and word != "live" else "")
                end = node.end_byte
                yield route("" if method == "*" else method, joined(scope.path, path), node.start_byte, end, handler.strip("."))
                continue
        if depth < MAX_DEPTH and body is not None:
            pending.extend((child, inner, depth + 1) for child in reversed(body.named_children))


def _resources(node: Node, source: bytes, path: str, controller: str, options: dict[str, str]) -> Iterator[Registration]:
    body = _child(node, "do_block")
    end = node.end_byte if body is None else body.start_byte + 2
    listed = {
        option: options[option].strip("[]").replace(":", "").replace(",", " ").split()
        for option in ("only", "except")
        if option in options
    }
    for action, (method, suffix) in _ACTIONS.items():
        if action in listed.get("only", _ACTIONS) and action not in listed.get("except", ()):
            own = suffix.replace(":id", ":" + options["param"].strip('"')) if "param" in options else suffix
            own = own.replace(":id", "").strip("/") if "singleton" in options else own
            yield route(method, joined(path, own), node.start_byte, end, f"{controller}.{action}")


def _options(given: Sequence[Node], source: bytes) -> dict[str, str]:
    pairs = given[-1].named_children if given and given[-1].type == "keywords" else []
    return {
        _text(pair.named_children[0], source).strip(": \n"): _text(pair.named_children[1], source)
        for pair in pairs
        if pair.named_child_count == 2
    }


def _child(node: Node, kind: str) -> Node | None:
    return next((child for child in node.named_children if child.type == kind), None)


def _dotted(*parts: str) -> str:
    return ".".join(part for part in parts if part)


def _singular(word: str) -> str:
    return word[:-1] if word.endswith("s") and not word.endswith("ss") else word


def _text(node: Node, source: bytes) -> str:
    return source[node.start_byte : min(node.end_byte, node.start_byte + 500)].decode("utf-8", "replace")
