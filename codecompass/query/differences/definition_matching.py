"""Matches the definitions of two versions: by name, renamed in place, moved to another file.

Definitions are matched level by level: first by name and kind, then the rest by equal text apart from their names, then by
similarity. Only the last compares all pairs, and the work for one question is bounded.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Final

from msgspec import Struct

from codecompass.query.differences.file_versions import DefinitionNode
from codecompass.query.options import no_deadline

RENAMED_FROM: Final = 0.6
"""Least similarity, by characters, for two definitions of one level to be one that was renamed."""

MOVED_FROM: Final = 0.5
MEMBER_MOVED_FROM: Final = 0.8
"""The same for definitions of one name in two files; members of types often share a name and little else."""

MAX_PAIRS: Final = 2_500
"""Pairs of definitions of one level that are compared to find renames."""

MAX_COMPARED_LINES: Final = 1_000_000
"""Lines of definitions that are compared with others for one question; a million take about half a second of CPU."""

MAX_NAMESAKES: Final = 20
"""Old definitions of the same name that a new one is compared with to find where it came from."""


class MatchingBudget:
    """The budget for comparing definitions with each other for one question, and how much is spent."""

    def __init__(self, is_expired: Callable[[], bool] = no_deadline, max_lines: int = MAX_COMPARED_LINES) -> None:
        self._is_expired = is_expired
        self._max_lines = max_lines
        self.n_lines = 0
        self.is_cut = False

    def spend(self, n_lines: int) -> bool:
        """Spends this many lines. Returns False, and notes that something is left undone, if the budget or time is used up."""
        if self.n_lines + n_lines > self._max_lines or self._is_expired():
            self.is_cut = True
            return False
        self.n_lines += n_lines
        return True


class Pair(Struct, frozen=True):
    """A definition in both versions."""

    old: DefinitionNode
    new: DefinitionNode


class Matched(Struct, frozen=True):
    """The definitions of one level or file: those in both versions, those removed, those added."""

    pairs: list[Pair]
    removed: list[DefinitionNode]
    added: list[DefinitionNode]


def matched(old: list[DefinitionNode], new: list[DefinitionNode], budget: MatchingBudget) -> Matched:
    """Returns which definitions of one level are the same."""
    pairs: list[Pair] = []
    for key in (_by_name_and_kind, _by_name):
        groups: dict[object, tuple[list[DefinitionNode], list[DefinitionNode]]] = {}
        for side, nodes in enumerate((old, new)):
            for node in nodes:
                groups.setdefault(key(node), ([], []))[side].append(node)
        for before, after in groups.values():
            if before and after:
                pairs += _in_turn(before, after)
        old, new = _left(old, [pair.old for pair in pairs]), _left(new, [pair.new for pair in pairs])
    pairs += _same_but_for_names(old, new)
    pairs += _renamed(_left(old, [pair.old for pair in pairs]), _left(new, [pair.new for pair in pairs]), budget)
    return Matched(pairs, _left(old, [pair.old for pair in pairs]), _left(new, [pair.new for pair in pairs]))


def _by_name_and_kind(node: DefinitionNode) -> object:
    return node.symbol.name, node.symbol.kind


def _by_name(node: DefinitionNode) -> object:
    return node.symbol.name, node.group


def _left(nodes: Iterable[DefinitionNode], taken: Iterable[DefinitionNode]) -> list[DefinitionNode]:
    known = {id(node) for node in taken}
    return [node for node in nodes if id(node) not in known]


def _in_turn(old: Sequence[DefinitionNode], new: Sequence[DefinitionNode]) -> list[Pair]:
    """Pairs definitions of one name: first those with the same text, then the same signature, then in order."""
    pairs: list[Pair] = []
    before, after = list(old), list(new)
    for key in (lambda node: tuple(node.text()), lambda node: node.symbol.signature, lambda _node: None):
        if not before or not after:
            break
        waiting: dict[object, list[DefinitionNode]] = {}
        for node in reversed(before):
            waiting.setdefault(key(node), []).append(node)
        for node in after:
            same = waiting.get(key(node))
            if same:
                pairs.append(Pair(same.pop(), node))
        before, after = _left(before, [pair.old for pair in pairs]), _left(after, [pair.new for pair in pairs])
    return pairs


def _same_but_for_names(old: Sequence[DefinitionNode], new: Sequence[DefinitionNode]) -> list[Pair]:
    """Pairs definitions whose lines are equal apart from their names, in order."""
    if not old or not new:
        return []
    waiting: dict[object, list[DefinitionNode]] = {}
    for node in new:
        if node.bag:
            waiting.setdefault((node.group, frozenset(node.bag.items())), []).append(node)
    queues = {key: iter(nodes) for key, nodes in waiting.items()}
    pairs: list[Pair] = []
    for node in old:
        same = next(queues.get((node.group, frozenset(node.bag.items())), iter(())), None)
        if same is not None:
            pairs.append(Pair(node, same))
    return pairs


def _renamed(old: Sequence[DefinitionNode], new: Sequence[DefinitionNode], budget: MatchingBudget) -> list[Pair]:
    """Pairs similar definitions with different names, the most similar first."""
    # A single line says too little to be told apart from others.
    old, new = ([node for node in nodes if node.bag.total() > 1] for nodes in (old, new))
    if not old or not new:
        return []
    if len(old) * len(new) > MAX_PAIRS:
        budget.is_cut = True
        return []
    n_lines = min(len(new) * sum(len(node.bag) for node in old), len(old) * sum(len(node.bag) for node in new))
    if not budget.spend(n_lines):
        return []
    scored = sorted(
        (-likeness, n_before, n_after)
        for n_before, before in enumerate(old)
        for n_after, after in enumerate(new)
        if before.group == after.group and (likeness := _likeness(before, after, RENAMED_FROM))
    )
    pairs: list[Pair] = []
    taken_old: set[int] = set()
    taken_new: set[int] = set()
    for _, n_before, n_after in scored:
        if n_before not in taken_old and n_after not in taken_new:
            taken_old.add(n_before)
            taken_new.add(n_after)
            pairs.append(Pair(old[n_before], new[n_after]))
    return pairs


def _likeness(one: DefinitionNode, other: DefinitionNode, least: float) -> float:
    """Returns the share of the larger definition's characters that both have, 0 to 1; 0 if less than `least`."""
    smaller, larger = sorted((one.n_characters, other.n_characters))
    # They cannot share more than the smaller one has.
    if not larger or smaller / larger < least:
        return 0.0
    few, many = (one.bag, other.bag) if len(one.bag) <= len(other.bag) else (other.bag, one.bag)
    likeness = sum(len(line) * min(count, many[line]) for line, count in few.items() if line in many) / larger
    return likeness if likeness >= least else 0.0


def moved_definitions(matches: Sequence[Matched], budget: MatchingBudget) -> dict[int, DefinitionNode]:
    """Returns the definitions that moved between files: the `id()` of each, old or new, mapped to its counterpart."""
    waiting: dict[tuple[str, str], list[DefinitionNode]] = {}
    for match in matches:
        for node in match.removed:
            waiting.setdefault((node.symbol.name, node.group), []).append(node)
    found: dict[int, DefinitionNode] = {}
    if not waiting:
        return found
    for match in matches:
        for node in match.added:
            candidates = waiting.get((node.symbol.name, node.group), [])[:MAX_NAMESAKES]
            if not candidates or not budget.spend(sum(min(len(before.bag), len(node.bag)) + 1 for before in candidates)):
                continue
            scored = [(_move_score(before, node), -number) for number, before in enumerate(candidates)]
            score, number = max(scored, default=(0.0, 0))
            if score > 0.0:
                before = candidates[-number]
                waiting[node.symbol.name, node.group].remove(before)
                found[id(node)] = before
                found[id(before)] = node
    return found


def _move_score(old: DefinitionNode, new: DefinitionNode) -> float:
    """Returns how similar two definitions of one name are, 0 if too little for a move."""
    is_member = bool(old.definition.scope or new.definition.scope)
    has_same_owner = old.definition.scope == new.definition.scope
    return _likeness(old, new, MEMBER_MOVED_FROM if is_member and not has_same_owner else MOVED_FROM)
