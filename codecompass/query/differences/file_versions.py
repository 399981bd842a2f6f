"""The two versions of a changed file as comparisons use them: lines, and definitions as a tree. Built from what git and the
worker processes return; pure.

A definition's own lines are those of its range and the annotations and comments directly above it, without the lines of
definitions nested in it.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import Final

from msgspec import Struct

from codecompass import lazy
from codecompass.languages.records import Import, Symbol, SymbolKind
from codecompass.query.source_lines import chunk_lines, comment_marks
from codecompass.scan.files import is_utf8
from codecompass.scan.git_changes import FileChange, GitChanges
from codecompass.worker.messages import Answer, FileSymbols, FileTask, FileText

NOT_COMPARED: Final = frozenset(
    {"submodule", "symlink", "binary", "secret", "filtered", "too_large", "unreadable", "beyond_bound", "missing"}
)
"""Notes of files whose content is not read."""

_GROUPS: Final[Mapping[SymbolKind, str]] = {
    "fn": "callable", "method": "callable", "class": "type", "struct": "type", "enum": "type", "trait": "type",
    "interface": "type", "type": "type", "const": "value", "var": "value", "field": "value",
}  # fmt: skip
_ANNOTATION: Final = ("@", "#[", "#![", "[", "template")
_CLOSING: Final = (")", "]", "}")
_WORD: Final = lazy.pattern(r"\w+")


class FileVersion(Struct, frozen=True, kw_only=True):
    """A file on one side."""

    path: str
    language: str = ""
    lines: tuple[str, ...] = ()
    """Without line breaks."""
    symbols: tuple[Symbol, ...] = ()
    """In source order, as parsed."""
    imports: tuple[Import, ...] = ()
    has_symbols: bool = False
    """Whether a parser could read the file."""
    reason: str = ""
    """Why it could not."""


class ChangedFile(Struct, frozen=True, kw_only=True):
    """A file that differs, with its two versions; None for a side without it, or if it was not read."""

    change: FileChange
    old: FileVersion | None = None
    new: FileVersion | None = None


class TreeDifference(Struct, frozen=True, kw_only=True):
    """All changed files, by path."""

    changes: GitChanges
    files: tuple[ChangedFile, ...]
    indexed: str = ""
    """What the index is of, for people, if not of the head."""

    def at(self, path: str) -> ChangedFile | None:
        """Returns the file that has this path on the head's side, None if none has."""
        return next((file for file in self.files if file.change.path == path and file.change.status != "removed"), None)


class ReadVersions(Struct, frozen=True):
    """What the worker processes returned for the files of one side; `killed` are paths whose parsing ended a worker."""

    answers: tuple[Answer, ...] = ()
    killed: frozenset[str] = frozenset()


def version_tasks(changes: GitChanges, *, is_old: bool) -> tuple[FileTask, ...]:
    """Returns the tasks to read one side in worker processes. Paths that are not UTF-8 are left out."""
    tasks = {}
    for each in changes.files:
        path, blob = (each.old_path, each.old_blob) if is_old else (each.path, each.new_blob)
        content = changes.contents.get(blob)
        if each.note not in NOT_COMPARED and blob and content is not None and is_utf8(path):
            tasks[path] = FileTask(path, needs_symbols=True, size=len(content), content=content)
    return tuple(tasks.values())


def tree_difference(changes: GitChanges, old: ReadVersions, new: ReadVersions, *, indexed: str = "") -> TreeDifference:
    """Returns the difference, with what the worker processes have read of both sides. `indexed` is that of `TreeDifference`."""
    before, after = _Versions(changes, old), _Versions(changes, new)
    files = tuple(
        ChangedFile(change=each)
        if each.note in NOT_COMPARED
        else ChangedFile(change=each, old=before.at(each.old_path, each.old_blob), new=after.at(each.path, each.new_blob))
        for each in changes.files
    )
    return TreeDifference(changes=changes, files=files, indexed=indexed)


class _Versions:
    """The files of one side."""

    def __init__(self, changes: GitChanges, read: ReadVersions) -> None:
        self._contents = changes.contents
        self._killed = read.killed
        self._texts = {answer.path: answer for answer in read.answers if isinstance(answer, FileText)}
        self._parsed = {answer.path: answer for answer in read.answers if isinstance(answer, FileSymbols)}

    def at(self, path: str, blob: str) -> FileVersion | None:
        content = self._contents.get(blob)
        if not blob or content is None:
            return None
        text, parsed = self._texts.get(path), self._parsed.get(path)
        lines = tuple(text_lines(content, text))
        if text is None or path in self._killed:
            return FileVersion(path=path, lines=lines, reason="parse_failed" if path in self._killed else "unreadable")
        if parsed is None or parsed.reason:
            reason = text.reason if parsed is None else parsed.reason
            return FileVersion(path=path, language=text.language, lines=lines, reason=reason)
        return FileVersion(
            path=path,
            language=text.language,
            lines=lines,
            symbols=parsed.symbols,
            imports=parsed.imports,
            has_symbols=True,
        )


def text_lines(content: bytes, text: FileText | None = None) -> list[str]:
    """Returns the lines of a content without their line breaks: those that a worker, which knows encodings, has read as `text`.

    If it read none, bytes that are not UTF-8 become U+FFFD.
    """
    if text is not None and text.chunks:
        return [line for chunk in text.chunks for line in chunk_lines(chunk.text)]
    return chunk_lines(content.decode("utf-8-sig", "replace"))


class VersionedDefinition(Struct, frozen=True, kw_only=True):
    """A definition in one version of a file."""

    path: str
    language: str
    symbol: Symbol
    scope: tuple[str, ...]
    """Names of the definitions around it, outermost first."""
    head_start: int
    """Line of the first annotation or comment directly above it."""

    @property
    def local_name(self) -> str:
        """The name, qualified by those of the definitions around it."""
        return ".".join((*self.scope, self.symbol.name))


class DefinitionNode:
    """A definition of one version with those nested in it."""

    def __init__(self, definition: VersionedDefinition, version: FileVersion) -> None:
        self.definition = definition
        self.version = version
        self.children: list[DefinitionNode] = []
        self._own: tuple[int, ...] | None = None

    @property
    def symbol(self) -> Symbol:
        return self.definition.symbol

    @property
    def group(self) -> str:
        return _GROUPS.get(self.symbol.kind, self.symbol.kind)

    def lines(self, numbers: Iterable[int]) -> list[str]:
        return [self.version.lines[number - 1] for number in numbers if 0 < number <= len(self.version.lines)]

    @property
    def span(self) -> range:
        """All its lines, including annotations and comments above it."""
        return range(self.definition.head_start, self.symbol.line_end + 1)

    @property
    def own(self) -> tuple[int, ...]:
        """Its lines without those of nested definitions."""
        if self._own is None:
            inner = {number for child in self.children for number in child.span}
            self._own = tuple(number for number in self.span if number not in inner)
        return self._own

    def own_text(self) -> list[str]:
        return [line for line in self.lines(self.own) if line.strip()]

    def text(self) -> list[str]:
        return [line for line in self.lines(self.span) if line.strip()]

    @cached_property
    def bag(self) -> Counter[str]:
        """How often each of its non-blank lines occurs, stripped of indentation and with its own name masked."""
        if not _WORD.fullmatch(self.symbol.name):
            name = re.compile(rf"(?<!\w){re.escape(self.symbol.name)}(?!\w)")
            return Counter(name.sub("\0", line.strip()) for line in self.text())
        # One pattern for all names: compiling one for each would take most of the time.
        return Counter(
            _WORD.sub(lambda word: "\0" if word[0] == self.symbol.name else word[0], bare) if self.symbol.name in bare else bare
            for bare in map(str.strip, self.text())
        )

    @cached_property
    def n_characters(self) -> int:
        """The number of characters in the bag."""
        return sum(len(line) * count for line, count in self.bag.items())

    def descendants(self) -> Iterator["DefinitionNode"]:
        pending = list(self.children)
        while pending:
            node = pending.pop()
            yield node
            pending += node.children


def nodes_of(version: FileVersion | None) -> list[DefinitionNode]:
    """Returns the outermost definitions of a file in line order."""
    if version is None:
        return []
    made: list[DefinitionNode | None] = []
    top: list[DefinitionNode] = []
    last_end: dict[int, int] = {}
    functions: dict[int, Symbol] = {}
    for symbol in version.symbols:
        parent = made[symbol.parent] if 0 <= symbol.parent < len(made) else None
        if symbol.kind == "use" or _is_set_in_a_function(symbol, functions.get(symbol.parent)):
            made.append(None)
            continue
        if _GROUPS.get(symbol.kind) == "callable":
            functions[symbol.parent] = symbol
        above = max(last_end.get(symbol.parent, 0), 0 if parent is None else parent.symbol.line_start)
        scope = () if parent is None else (*parent.definition.scope, parent.symbol.name)
        definition = VersionedDefinition(
            path=version.path,
            language=symbol.language or version.language,
            symbol=symbol,
            scope=scope,
            head_start=_head_start(version, symbol.line_start, above),
        )
        node = DefinitionNode(definition, version)
        made.append(node)
        (top if parent is None else parent.children).append(node)
        last_end[symbol.parent] = max(last_end.get(symbol.parent, 0), symbol.line_end)
    return top


def _is_set_in_a_function(symbol: Symbol, before: Symbol | None) -> bool:
    """Whether a definition lies within the lines of the function before it, like a field set in a constructor."""
    return before is not None and before.line_start < symbol.line_start and symbol.line_end <= before.line_end


def _head_start(version: FileVersion, line: int, above: int) -> int:
    """Returns the first line of the annotations and comments directly above a definition, always below line `above`."""
    lines = version.lines
    if not 0 < line <= len(lines):
        return line
    marks = (*comment_marks(version.language), *_ANNOTATION)
    indent = len(lines[line - 1]) - len(lines[line - 1].lstrip())
    start = line
    for number in range(line - 1, above, -1):
        text = lines[number - 1]
        bare = text.lstrip()
        if not bare:
            break
        is_mark = bare.startswith(marks)
        if not is_mark and len(text) - len(bare) <= indent and not bare.startswith(_CLOSING):
            break
        if is_mark:
            start = number
    return start
