"""Which definitions of two versions are the same: by name, renamed in their place, moved to another file.

Definitions are matched level by level: by name and kind first, then the ones that are left by how alike they are.
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final

from msgspec import Struct

from codecompass.query.definition_tree import Node

RENAMED_FROM: Final = 0.6
"""How alike two definitions of one level must be, by their characters, for one to be the other under a new name."""

MOVED_FROM: Final = 0.5
MEMBER_MOVED_FROM: Final = 0.8
"""The same for definitions of one name in two files; members of types often have one name and little else in common."""

MAX_PAIRS: Final = 2_500
"""Pairs of definitions of one level that are compared to find renames."""

MAX_NAMESAKES: Final = 20
"""Definitions of one name that a new one is compared with to find where it came from."""


class Pair(Struct, frozen=True):
    """A definition in both versions."""

    old: Node
    new: Node


class Matched(Struct, frozen=True):
    """The definitions of one level, or of a file: those in both versions, those of the old one that are gone, the new ones."""

    pairs: list[Pair]
    removed: list[Node]
    added: list[Node]


def matched(old: list[Node], new: list[Node]) -> Matched:
    """Returns which definitions of one level are the same."""
    pairs: list[Pair] = []
    for key in (_by_name_and_kind, _by_name):
        groups: dict[object, tuple[list[Node], list[Node]]] = {}
        for side, nodes in enumerate((old, new)):
            for node in nodes:
                groups.setdefault(key(node), ([], []))[side].append(node)
        for before, after in groups.values():
            if before and after:
                pairs += _in_turn(before, after)
        old, new = _left(old, [pair.old for pair in pairs]), _left(new, [pair.new for pair in pairs])
    pairs += _renamed(old, new)
    return Matched(pairs, _left(old, [pair.old for pair in pairs]), _left(new, [pair.new for pair in pairs]))


def _by_name_and_kind(node: Node) -> object:
    return node.symbol.name, node.symbol.kind


def _by_name(node: Node) -> object:
    return node.symbol.name, node.group


def _left(nodes: Iterable[Node], taken: Iterable[Node]) -> list[Node]:
    known = {id(node) for node in taken}
    return [node for node in nodes if id(node) not in known]


def _in_turn(old: Sequence[Node], new: Sequence[Node]) -> list[Pair]:
    """Returns pairs of definitions of one name: those with the same text first, then the same signature, then in order."""
    pairs: list[Pair] = []
    before, after = list(old), list(new)
    for key in (lambda node: tuple(node.text()), lambda node: node.symbol.signature, lambda _node: None):
        if not before or not after:
            break
        waiting: dict[object, list[Node]] = {}
        for node in reversed(before):
            waiting.setdefault(key(node), []).append(node)
        for node in after:
            same = waiting.get(key(node))
            if same:
                pairs.append(Pair(same.pop(), node))
        before, after = _left(before, [pair.old for pair in pairs]), _left(after, [pair.new for pair in pairs])
    return pairs


def _renamed(old: Sequence[Node], new: Sequence[Node]) -> list[Pair]:
    """Returns pairs of definitions that are the same but for their names, the most alike first."""
    if not old or not new or len(old) * len(new) > MAX_PAIRS:
        return []
    bags = {id(node): _bag(node) for node in (*old, *new)}
    scored = sorted(
        (
            (-_likeness(bags[id(before)], bags[id(after)]), n_before, n_after)
            for n_before, before in enumerate(old)
            for n_after, after in enumerate(new)
            if before.group == after.group and _may_be_renamed(before, after)
        ),
    )
    pairs: list[Pair] = []
    taken_old: set[int] = set()
    taken_new: set[int] = set()
    for score, n_before, n_after in scored:
        if -score < RENAMED_FROM:
            break
        if n_before not in taken_old and n_after not in taken_new:
            taken_old.add(n_before)
            taken_new.add(n_after)
            pairs.append(Pair(old[n_before], new[n_after]))
    return pairs


def _may_be_renamed(old: Node, new: Node) -> bool:
    """Whether two definitions have enough to them to be told apart from others: a single line must be the same."""
    if min(len(old.text()), len(new.text())) > 1:
        return True
    return _bag(old) == _bag(new)


def _bag(node: Node) -> Counter[str]:
    """Returns the lines of a definition without its own name and their indentation."""
    name = re.compile(rf"(?<!\w){re.escape(node.symbol.name)}(?!\w)")
    return Counter(name.sub("\0", line.strip()) for line in node.text())


def _likeness(one: Counter[str], other: Counter[str]) -> float:
    """Returns how much of the characters of the larger text is in both, 0 to 1."""
    larger = max(sum(len(line) * count for line, count in bag.items()) for bag in (one, other))
    return sum(len(line) * count for line, count in (one & other).items()) / larger if larger else 0.0


def moved_definitions(matches: Sequence[Matched]) -> dict[int, Node]:
    """Returns which definitions that are gone from one file came to another: each by the identity of the other."""
    waiting: dict[tuple[str, str], list[Node]] = {}
    for match in matches:
        for node in match.removed:
            waiting.setdefault((node.symbol.name, node.group), []).append(node)
    found: dict[int, Node] = {}
    if not waiting:
        return found
    for match in matches:
        for node in match.added:
            candidates = waiting.get((node.symbol.name, node.group), [])[:MAX_NAMESAKES]
            scored = [(_move_score(before, node), -number) for number, before in enumerate(candidates)]
            score, number = max(scored, default=(0.0, 0))
            if score > 0.0:
                before = candidates[-number]
                waiting[node.symbol.name, node.group].remove(before)
                found[id(node)] = before
                found[id(before)] = node
    return found


def _move_score(old: Node, new: Node) -> float:
    """Returns how alike two definitions of one name are, 0 where that is too little for the one to be the other."""
    score = _likeness(_bag(old), _bag(new))
    is_member = bool(old.definition.scope or new.definition.scope)
    has_same_owner = old.definition.scope == new.definition.scope
    return score if score >= (MEMBER_MOVED_FROM if is_member and not has_same_owner else MOVED_FROM) else 0.0
