"""Routes of Rails (the calls in `routes.draw` and in files below `config/routes/`) and of Sinatra, tasks of Rake, and what
RSpec's `let` defines.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from codecompass import lazy
from codecompass.languages.nodes import Node
from codecompass.languages.records import Symbol
from codecompass.languages.walk.registrations import (
    MAX_REGISTRATIONS,
    Registration,
    annotation_node,
    joined,
    route,
    verbs,
)
from codecompass.languages.words import word_set

_VERBS: Final = verbs("get post put patch delete options head")
_ACTIONS: Final = {
    "index": (("GET", ""),),
    "create": (("POST", ""),),
    "new": (("GET", "new"),),
    "edit": (("GET", ":id/edit"),),
    "show": (("GET", ":id"),),
    "update": (("PATCH", ":id"), ("PUT", ":id")),
    "destroy": (("DELETE", ":id"),),
}
MAX_DRAWN: Final = 300
"""Sets of routes in one file; tests have many."""

MAX_DEPTH: Final = 30
"""Blocks within each other."""

_DRAW: Final = lazy.pattern(rb"[\w:.]+\.draw\b")
_SINATRA: Final = lazy.pattern(
    rb"^[ \t]*+(?P<call>(?P<verb>get|post|put|patch|delete|options)[ (]\s*['\"](?P<path>/[^'\"\n]*)['\"][^\n]*\bdo\b)",
    re.MULTILINE,
)
_LET: Final = lazy.pattern(rb"^[ \t]*+(?P<call>(?:let!?|subject)\(:(?P<name>\w+)\)?)", re.MULTILINE)
_TASK: Final = lazy.pattern(rb"^[ \t]*+(?:multi)?task\b", re.MULTILINE)
_FORMAT: Final = lazy.pattern(r"\(?\.:format\)?$")
_TRANSPARENT: Final = word_set("assignment begin block_body body_statement else if program then unless")


class _Scope(Struct, frozen=True):
    """What calls in a block add to."""

    path: str = ""
    module: str = ""
    """The namespace of controllers, as in a path."""
    controller: str = ""
    member: str = ""
    """The path of a member of the resource whose block it is; empty outside of one."""
    collection: str = ""


def registered(root: Node, source: bytes, path: str, _symbols: Sequence[Symbol]) -> Iterator[Registration]:
    """Yields what a file registers."""
    if "config/routes/" in path:
        yield from _routes(root, source)
    elif b"routes.draw" in source:
        for match in islice(_DRAW.finditer(source), MAX_DRAWN):
            call = annotation_node(root, match.start(), frozenset({"call"}))
            while call is not None and call.child_by_field_name("block") is None:
                call = call.parent if call.parent is not None and call.parent.start_byte == match.start() else None
            if call is not None and call.type == "call" and (block := call.child_by_field_name("block")) is not None:
                yield from _routes(block, source)
    elif b"inatra" in source:
        yield from _matches(root, source, _SINATRA)
    if b"let(:" in source or b"let!(:" in source or b"subject(:" in source:
        yield from _matches(root, source, _LET)
    if path.endswith((".rake", "akefile")) or (b"Rake" in source and _TASK.search(source) is not None):
        yield from _tasks(root, source)


def _matches(root: Node, source: bytes, pattern: re.Pattern[bytes]) -> Iterator[Registration]:
    for match in islice(pattern.finditer(source), MAX_REGISTRATIONS):
        start = match.start("call")
        call = annotation_node(root, start, frozenset({"call"}))
        if call is None:
            continue
        if "name" in pattern.groupindex:
            name = match["name"].decode("utf-8", "replace")
            yield Registration(name, "field", start, call.end_byte, match["call"].decode("utf-8", "replace"))
        else:
            yield route(_VERBS[match["verb"].decode()], match["path"].decode("utf-8", "replace"), start, call.end_byte, "")


def _routes(block: Node, source: bytes) -> Iterator[Registration]:
    pending: list[tuple[Node, _Scope, int]] = [(child, _Scope(), 0) for child in reversed(block.named_children)]
    while pending:
        node, scope, depth = pending.pop()
        inner: _Scope | None = scope
        body: Node | None = node if node.type in _TRANSPARENT else None
        if node.type == "call":
            call = _Call(node, source)
            yield from _registered_by(call, scope)
            inner = _inside(call, scope)
            body = node.child_by_field_name("block")
        if body is not None and inner is not None and depth < MAX_DEPTH:
            pending.extend((child, inner, depth + 1) for child in reversed(body.named_children))


class _Call:
    """A call with the values of its arguments: `'a'`, `:a`, `a: :b`, `'a' => 'b'`."""

    def __init__(self, node: Node, source: bytes) -> None:
        self.node = node
        method, arguments = node.child_by_field_name("method"), node.child_by_field_name("arguments")
        self.word = "" if method is None else _text(method, source)
        self.has_receiver = node.child_by_field_name("receiver") is not None
        self.names: list[str] = []
        self.options: dict[str, list[str]] = {}
        self.pair: tuple[str, str] | None = None
        """The first argument if it is a path, or an application, with what serves it."""
        for given in [] if arguments is None else arguments.named_children:
            if given.type == "pair":
                key, value = given.child_by_field_name("key"), given.child_by_field_name("value")
                if key is None or value is None:
                    continue
                if key.type in ("string", "constant", "scope_resolution") or (key.type == "call" and self.word == "mount"):
                    self.pair = (_value(key, source), _value(value, source))
                else:
                    self.options[_text(key, source).strip(":")] = _values(value, source)
            elif given.type in (
                "string",
                "simple_symbol",
                "array",
                "symbol_array",
                "string_array",
                "constant",
                "scope_resolution",
            ):
                self.names += _values(given, source)
        block = node.child_by_field_name("block")
        self.end = node.end_byte if block is None else block.start_byte

    def option(self, name: str) -> str:
        """Returns the value of an option, empty without it."""
        return (self.options.get(name) or [""])[0]


def _registered_by(call: _Call, scope: _Scope) -> Iterator[Registration]:
    start, end = call.node.start_byte, call.end
    if call.has_receiver:
        return
    if call.word in _VERBS or call.word == "match":
        methods = (
            [_VERBS[call.word]]
            if call.word in _VERBS
            else [each.upper().replace("ALL", "") for each in call.options.get("via", [""])]
        )
        written = [call.pair[0]] if call.pair is not None else call.names
        on = call.option("on")
        around = {"member": scope.member, "collection": scope.collection}.get(on, scope.path)
        for each in written:
            handler = _handler(call, scope, each)
            for method in methods:
                yield route(method, joined(around, _FORMAT.sub("", call.option("path") or each)), start, end, handler)
    elif call.word == "root":
        yield route(
            "GET",
            joined(scope.path) if scope.path else "/",
            start,
            end,
            _named(call.option("to") or "".join(call.names[:1]), scope),
        )
    elif call.word == "mount":
        application, at = call.pair or ("".join(call.names[:1]), call.option("at"))
        if at.startswith("/") or call.pair is not None:
            yield route("", joined(scope.path, at), start, end, application)
    elif call.word in ("resources", "resource"):
        for name in call.names:
            yield from _resource(call, scope, name)


def _resource(call: _Call, scope: _Scope, name: str) -> Iterator[Registration]:
    is_plural = call.word == "resources"
    chosen = [each for each in _ACTIONS if is_plural or each != "index"]
    if "only" in call.options:
        chosen = [each for each in chosen if each in call.options["only"]]
    chosen = [each for each in chosen if each not in call.options.get("except", ())]
    path = joined(scope.path, call.option("path") if "path" in call.options else name)
    param = call.option("param") or "id"
    controller = call.option("controller") or (name if is_plural else _plural(name))
    handler = _named(f"{_module(call, scope)}{controller}#", replace(scope, module=""))
    for action in chosen:
        for method, suffix in _ACTIONS[action]:
            own = suffix.replace(":id", f":{param}") if is_plural else suffix.replace(":id", "").strip("/")
            yield route(method, joined(path, own), call.node.start_byte, call.end, f"{handler}{action}")


def _inside(call: _Call, scope: _Scope) -> _Scope | None:
    """Returns the scope in the block of a call, None for a block that may be used anywhere."""
    word, name = call.word, "".join(call.names[:1])
    path = call.option("path") if "path" in call.options else name
    if word == "namespace":
        return replace(scope, path=joined(scope.path, path), module=f"{_module(call, scope, name)}")
    if word == "scope":
        inner = replace(scope, path=joined(scope.path, *call.names, call.option("path")), module=_module(call, scope))
        return replace(inner, controller=call.option("controller")) if "controller" in call.options else inner
    if word == "controller":
        return replace(scope, controller=name)
    if word == "member" and scope.member:
        return replace(scope, path=scope.member)
    if word in ("collection", "new") and scope.collection:
        return replace(scope, path=scope.collection if word == "collection" else joined(scope.collection, "new"))
    if word in ("resources", "resource"):
        base = joined(scope.path, path)
        param = call.option("param") or "id"
        is_plural = word == "resources"
        return _Scope(
            path=f"{base}/:{_singular(name)}_{param}" if is_plural else base,
            module=_module(call, scope),
            controller=call.option("controller") or (name if is_plural else _plural(name)),
            member=f"{base}/:{param}" if is_plural else base,
            collection=base,
        )
    return None if word in ("concern", "direct", "resolve") else scope


def _module(call: _Call, scope: _Scope, name: str = "") -> str:
    """Returns the namespace of the controllers in a call, with a slash at its end unless it is empty."""
    own = call.option("module") if "module" in call.options else name
    return f"{scope.module}{own}/" if own else scope.module


def _handler(call: _Call, scope: _Scope, path: str) -> str:
    to = call.pair[1] if call.pair is not None else call.option("to")
    if "to" in call.options or call.pair is not None:
        if not to:
            return ""
        if "#" not in to:
            return (
                _named(f"{call.option('controller') or scope.controller}#{to}", scope)
                if scope.controller and to.isidentifier()
                else to
            )
        return _named(to, scope)
    controller = call.option("controller") or scope.controller
    *before, last = path.strip("/").split("/")
    action = call.option("action") or last
    return _named(f"{controller or '/'.join(before)}#{action}", scope) if controller or before else ""


def _named(written: str, scope: _Scope) -> str:
    """Returns `Admin::OrdersController#pay` for `admin/orders#pay`; empty for what is none."""
    controller, mark, action = written.partition("#")
    if not mark or not controller:
        return ""
    absolute = controller.lstrip("/") if controller.startswith("/") else scope.module + controller
    return "::".join(_camel(part) for part in absolute.split("/")) + f"Controller#{action}"


def _camel(word: str) -> str:
    return "".join(part[:1].upper() + part[1:] for part in word.split("_"))


def _plural(word: str) -> str:
    if word.endswith("y") and word[-2:-1] not in "aeiou":
        return word[:-1] + "ies"
    return word + ("es" if word.endswith(("s", "x", "ch", "sh")) else "s")


def _singular(word: str) -> str:
    if word.endswith("ies"):
        return word[:-3] + "y"
    if word.endswith(("sses", "xes", "ches", "shes", "uses")):
        return word[:-2]
    return word[:-1] if word.endswith("s") and not word.endswith("ss") else word


def _tasks(root: Node, source: bytes) -> Iterator[Registration]:
    """Yields the tasks of Rake, qualified by their namespaces."""
    pending: list[tuple[Node, str, int]] = [(child, "", 0) for child in reversed(root.named_children)]
    while pending:
        node, outer, depth = pending.pop()
        body: Node | None = node if node.type in _TRANSPARENT else None
        inner = outer
        if node.type == "call" and node.child_by_field_name("receiver") is None:
            call = _Call(node, source)
            first = call.pair[0] if call.pair is not None else "".join(call.names[:1]) or next(iter(call.options), "")
            if call.word in ("task", "multitask") and first:
                name = outer + first
                head = source[node.start_byte : min(call.end, node.start_byte + 300)].decode("utf-8", "replace")
                yield Registration(first, "target", node.start_byte, node.end_byte, head, name)
                continue
            inner = f"{outer}{first}:" if call.word == "namespace" and first else outer
            body = node.child_by_field_name("block")
        if body is not None and depth < MAX_DEPTH:
            pending.extend((child, inner, depth + 1) for child in reversed(body.named_children))


def _values(node: Node, source: bytes) -> list[str]:
    if node.type in ("array", "symbol_array", "string_array"):
        return [_value(child, source) for child in node.named_children]
    return [_value(node, source)]


def _value(node: Node, source: bytes) -> str:
    """Returns what a string, symbol or constant says; empty for what is computed."""
    if node.type in ("string", "delimited_symbol"):
        return _text(node, source).lstrip(":")[1:-1]
    if node.type in ("simple_symbol", "bare_symbol", "bare_string", "constant", "scope_resolution"):
        return _text(node, source).lstrip(":")
    return (
        _text(node, source)
        if node.type == "call"
        and node.end_byte - node.start_byte < 60
        and b"redirect" not in source[node.start_byte : node.end_byte]
        else ""
    )


def _text(node: Node, source: bytes) -> str:
    return source[node.start_byte : min(node.end_byte, node.start_byte + 300)].decode("utf-8", "replace")
