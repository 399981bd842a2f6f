"""Call graphs and type hierarchies as text: trees with a line for each symbol, each expanded once."""

from collections.abc import Iterator
from typing import Final

from codecompass.formatting import count
from codecompass.protocol.replies import CallGraphReply, GraphEdge, GraphNode, Impact, TypeHierarchyReply
from codecompass.protocol.text.code import CONFIDENCE_MARKS, Name, one_line, short_name

CHANGED: Final = " (changed since it was indexed)"
MAX_LISTED: Final = 20


def graph_lines(reply: CallGraphReply) -> Iterator[str]:
    """Yields the tree of callers or callees below each requested symbol: `kind name, path:line`, followed by the lines of the
    calls.

    A likely call has the prefix `~`; `...` follows a symbol that was expanded above. For an impact, a summary comes first, then
    the tests that reach the symbol.
    """
    nodes = reply.nodes
    is_callees = reply.direction == "callees"
    neighbours: dict[int, list[tuple[int, GraphEdge]]] = {}
    for each in reply.edges:
        first, second = (each.caller, each.callee) if is_callees else (each.callee, each.caller)
        neighbours.setdefault(first, []).append((second, each))
    n_roots = max(1, len(reply.definitions))
    if n_roots == 1:
        yield _symbol(nodes[0])
    if reply.impact is not None:
        yield from _impact_lines(reply.impact)
        tests = [node for node in nodes if node.is_test and node.distance]
        if tests:
            yield "tests:"
            yield from (f"  {_symbol(node)}" for node in tests[:MAX_LISTED])
            if len(tests) > MAX_LISTED:
                yield f"  and {len(tests) - MAX_LISTED} more"
        yield "callers:"
    if len(nodes) == n_roots == 1:
        yield "calls nothing of this repository" if is_callees else "no callers"
        return
    shown: set[int] = set()
    # An explicit stack and no recursion, because a graph of 500 symbols can be one chain.
    pending: list[tuple[int, int, GraphEdge | None]] = [(root, 0, None) for root in reversed(range(n_roots))]
    has_tests = reply.impact is None
    while pending:
        number, depth, edge = pending.pop()
        if edge is not None:
            lines = ", ".join(map(str, edge.lines))
            again = " ..." if number in shown and number in neighbours else ""
            yield f"{'  ' * depth}{CONFIDENCE_MARKS[edge.confidence]}{_symbol(nodes[number])} (at {lines}){again}"
        elif n_roots > 1:
            none = "" if number in neighbours else ": calls nothing of this repository" if is_callees else ": no callers"
            yield f"= {_symbol(nodes[number])}{none}"
        if number in shown:
            continue
        shown.add(number)
        pending += [
            (neighbour, depth + 1, following)
            for neighbour, following in reversed(neighbours.get(number, ()))
            if has_tests or not nodes[neighbour].is_test
        ]


def _symbol(node: GraphNode) -> str:
    name = Name(node.kind, node.name, node.qualified_name, "", node.path)
    return f"{node.kind} {one_line(short_name(name))}, {one_line(node.path)}:{node.line_start}{CHANGED * node.stale}"


def _impact_lines(impact: Impact) -> Iterator[str]:
    callers = impact.callers_by_distance
    parts = [f"{count(callers[0], 'caller') if callers else 'no callers'}"]
    parts += [f"{number} at distance {distance}" for distance, number in enumerate(callers[1:], 2)]
    parts.append(count(impact.tests, "test"))
    parts += [count(len(impact.subtypes), "subtype")] * bool(impact.subtypes)
    parts += [count(len(impact.overriding), "overriding method")] * bool(impact.overriding)
    parts.append(count(impact.importing_files, "importing file"))
    yield f"a change reaches: {', '.join(parts)}"
    for title, places in (("subtypes", impact.subtypes), ("overriding", impact.overriding), ("imported by", impact.importers)):
        if places:
            yield f"{title}:"
            yield from (f"  {one_line(place)}" for place in places[:MAX_LISTED])
            if len(places) > MAX_LISTED:
                yield f"  and {len(places) - MAX_LISTED} more"


def type_lines(reply: TypeHierarchyReply) -> Iterator[str]:
    """Yields a line for each type, indented by its distance from the requested one, and marked like the lines of a graph."""
    for symbol in reply.symbols:
        at = f", {one_line(symbol.path)}:{symbol.line_start}" if symbol.path else " (not in this repository)"
        kind = CONFIDENCE_MARKS[symbol.confidence] + (f"{symbol.kind} " if symbol.kind else "")
        yield f"{'  ' * symbol.depth}{kind}{one_line(symbol.name)}{at}{CHANGED * symbol.stale}"
    if not any(symbol.depth for symbol in reply.symbols):
        yield f"no {reply.relation}"
