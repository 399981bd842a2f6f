"""What differs between two versions of a definition: the signature (including annotations), the body or both, and the lines, in
runs. Blank lines never count.
"""

import difflib
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Literal

from msgspec import Struct

from codecompass.query.definition_tree import Node
from codecompass.query.file_versions import FileVersion
from codecompass.query.source_lines import comment_marks
from codecompass.scan.git_changes import Hunk

Part = Literal["signature", "body"]


class Piece(Struct, frozen=True):
    """Lines that differ: `removed` starts at line `old`, `added` at line `new`. Lines count from 1."""

    old: int
    removed: tuple[str, ...]
    new: int
    added: tuple[str, ...]


class ChangedLines:
    """The lines of a file that differ. Those of one definition are found without reading the others."""

    def __init__(self, hunks: Sequence[Hunk], old: FileVersion | None, new: FileVersion | None) -> None:
        self._hunks = hunks
        self._old, self._new = old, new
        self._of_old = {line: at for at, hunk in enumerate(hunks) for line in range(hunk.old, hunk.old + hunk.n_old)}
        self._of_new = {line: at for at, hunk in enumerate(hunks) for line in range(hunk.new, hunk.new + hunk.n_new)}

    def among(self, old_lines: Sequence[int], new_lines: Sequence[int]) -> Iterator[Piece]:
        """Yields the differences in these lines (ascending), in runs by hunk; none if all are blank."""
        gone, came = _by_hunk(old_lines, self._of_old), _by_hunk(new_lines, self._of_new)
        for at in sorted(gone.keys() | came.keys()):
            yield from self._pieces(self._hunks[at], gone.get(at, []), came.get(at, []))

    def _pieces(self, hunk: Hunk, gone: Sequence[int], came: Sequence[int]) -> Iterator[Piece]:
        before, after = list(_runs(gone, self._old)), list(_runs(came, self._new))
        for at in range(max(len(before), len(after))):
            first_old, removed = before[at] if at < len(before) else (hunk.old, ())
            first_new, added = after[at] if at < len(after) else (hunk.new, ())
            if any(line.strip() for line in (*removed, *added)):
                yield Piece(first_old, removed, first_new, added)


def _by_hunk(lines: Iterable[int], hunks: Mapping[int, int]) -> dict[int, list[int]]:
    found: dict[int, list[int]] = {}
    for line in lines:
        at = hunks.get(line)
        if at is not None:
            found.setdefault(at, []).append(line)
    return found


def alignment_lines(old: Iterable[str], new: Iterable[str]) -> int:
    """Returns an upper bound for the work of `aligned`, in compared lines: large if lines repeat in both texts."""
    before, after = Counter(line.strip() for line in old), Counter(line.strip() for line in new)
    n_matches = sum(count * after[line] for line, count in before.items())
    return 1 + n_matches * min(before.total(), after.total()) // 20


def _runs(numbers: Sequence[int], version: FileVersion | None) -> Iterator[tuple[int, tuple[str, ...]]]:
    """Yields runs of consecutive lines: the number of the first, and their text."""
    lines = () if version is None else version.lines
    start = 0
    for at in range(1, len(numbers) + 1):
        if at == len(numbers) or numbers[at] != numbers[at - 1] + 1:
            yield numbers[start], tuple(lines[number - 1] for number in numbers[start:at] if number <= len(lines))
            start = at


def aligned(first_old: int, old: Sequence[str], first_new: int, new: Sequence[str]) -> Iterator[Piece]:
    """Yields the differences between two texts, ignoring indentation."""
    matcher = difflib.SequenceMatcher(None, [line.strip() for line in old], [line.strip() for line in new], autojunk=False)
    for tag, at, until, new_at, new_until in matcher.get_opcodes():
        removed, added = tuple(old[at:until]), tuple(new[new_at:new_until])
        if tag != "equal" and any(line.strip() for line in (*removed, *added)):
            yield Piece(first_old + at, removed, first_new + new_at, added)


def parts_that_differ(old: Node, new: Node) -> tuple[Part, ...]:
    """Returns which parts of a definition differ, apart from its name."""
    # Compared with and without masked names: a definition may call itself, or another one that has its old name.
    plain, named = [(_Text(old, has_name=keeps), _Text(new, has_name=keeps)) for keeps in (False, True)]

    def differs(of: Callable[[_Text], object]) -> bool:
        return all(of(before) != of(after) for before, after in (plain, named))

    has_signature = differs(lambda text: text.signature) or differs(lambda text: text.annotations) or old.group != new.group
    has_body = differs(lambda text: text.body) or differs(lambda text: text.comments)
    has_body = has_body or (not has_signature and differs(lambda text: text.head))
    return (*(("signature",) if has_signature else ()), *(("body",) if has_body else ()))


class _Text:
    """The own lines of a definition by part; its name is masked unless `has_name`."""

    def __init__(self, node: Node, *, has_name: bool) -> None:
        symbol = node.symbol
        name = re.compile(r"(?!)" if has_name else rf"(?<!\w){re.escape(symbol.name)}(?!\w)")
        is_value = node.group == "value"
        said = "" if symbol.kind == "test" else symbol.signature.partition("=")[0] if is_value else symbol.signature
        own = [name.sub("\0", line) for line in node.lines(n for n in node.own if n >= symbol.line_start) if line.strip()]
        is_cut = symbol.signature.endswith("…")
        n_head = _n_head_lines(own, len(_dense(name.sub("\0", symbol.signature))), is_cut=is_cut)
        self.head, self.body = own[:n_head], own[n_head:]
        self.signature = _dense("".join(self.head) if is_cut else name.sub("\0", said))
        above = [line.strip() for line in node.lines(range(node.definition.head_start, symbol.line_start)) if line.strip()]
        marks = comment_marks(node.version.language)
        self.comments = [line for line in above if _is_comment(line, marks)]
        self.annotations = [line for line in above if not _is_comment(line, marks)]


def _n_head_lines(own: Sequence[str], n_characters: int, *, is_cut: bool) -> int:
    """Returns how many lines a signature spans: as many as have its characters and, if it was cut, until all its brackets are
    closed."""
    taken = depth = 0
    for number, line in enumerate(own, 1):
        taken += len(_dense(line))
        depth += sum(line.count(mark) for mark in "([") - sum(line.count(mark) for mark in ")]")
        if taken >= n_characters and (not is_cut or depth <= 0):
            return number
    return len(own)


def _is_comment(line: str, marks: tuple[str, ...]) -> bool:
    return line.startswith(marks) and not line.startswith(("#[", "#!["))


def _dense(text: str) -> str:
    return "".join(text.split())
