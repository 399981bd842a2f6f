"""The two versions of a changed file as comparisons read them: lines and definitions. Made from what git and the worker
processes say; pure.
"""

from typing import Final

from msgspec import Struct

from codecompass.languages.records import Import, Symbol
from codecompass.scan.files import is_utf8
from codecompass.scan.git_changes import Changes, FileChange
from codecompass.worker.messages import Answer, FileSymbols, FileTask, FileText

NOT_COMPARED: Final = frozenset(
    {"submodule", "symlink", "binary", "secret", "filtered", "too_large", "unreadable", "beyond_bound"}
)
"""Notes of files whose content is not looked into."""


class FileVersion(Struct, frozen=True, kw_only=True):
    """A file on one side. `lines` are without their ends; `symbols` in source order, as the parser gives them. `has_symbols` is
    false where no parser could read it: `reason` says why."""

    path: str
    language: str = ""
    lines: tuple[str, ...] = ()
    symbols: tuple[Symbol, ...] = ()
    imports: tuple[Import, ...] = ()
    has_symbols: bool = False
    reason: str = ""


class ChangedFile(Struct, frozen=True, kw_only=True):
    """A file that differs, with what is known of its two versions; None for a side without it, or not read."""

    change: FileChange
    old: FileVersion | None = None
    new: FileVersion | None = None


class TreeDifference(Struct, frozen=True, kw_only=True):
    """All changed files, by path. `is_indexed`: the head is what the index is of."""

    changes: Changes
    files: tuple[ChangedFile, ...]
    is_indexed: bool

    def at(self, path: str) -> ChangedFile | None:
        """Returns the file that has this path on the side of the head."""
        return next((file for file in self.files if file.change.path == path and file.change.status != "removed"), None)


class ReadVersions(Struct, frozen=True):
    """What the worker processes say about the files of one side; `killed` are paths whose parse ended one."""

    answers: tuple[Answer, ...] = ()
    killed: frozenset[str] = frozenset()


def version_tasks(changes: Changes, *, is_old: bool) -> tuple[FileTask, ...]:
    """Returns what the worker processes are to read of one side. A path that is not UTF-8 is not looked into."""
    tasks = {}
    for each in changes.files:
        path, blob = (each.old_path, each.old_blob) if is_old else (each.path, each.new_blob)
        content = changes.contents.get(blob)
        if each.note not in NOT_COMPARED and blob and content is not None and is_utf8(path):
            tasks[path] = FileTask(path, needs_symbols=True, size=len(content), content=content)
    return tuple(tasks.values())


def tree_difference(changes: Changes, old: ReadVersions, new: ReadVersions, *, is_indexed: bool) -> TreeDifference:
    """Returns the difference with what the worker processes have read of both sides."""
    before, after = _Versions(changes, old), _Versions(changes, new)
    files = tuple(
        ChangedFile(change=each)
        if each.note in NOT_COMPARED
        else ChangedFile(change=each, old=before.at(each.old_path, each.old_blob), new=after.at(each.path, each.new_blob))
        for each in changes.files
    )
    return TreeDifference(changes=changes, files=files, is_indexed=is_indexed)


class _Versions:
    """The files of one side."""

    def __init__(self, changes: Changes, read: ReadVersions) -> None:
        self._contents = changes.contents
        self._killed = read.killed
        self._texts = {answer.path: answer for answer in read.answers if isinstance(answer, FileText)}
        self._parsed = {answer.path: answer for answer in read.answers if isinstance(answer, FileSymbols)}

    def at(self, path: str, blob: str) -> FileVersion | None:
        content = self._contents.get(blob)
        if not blob or content is None:
            return None
        lines = tuple(text_lines(content))
        text, parsed = self._texts.get(path), self._parsed.get(path)
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


def text_lines(content: bytes) -> list[str]:
    """Returns the lines of a content without their ends. Bytes that are not UTF-8 become U+FFFD."""
    lines = content.decode("utf-8-sig", "replace").split("\n")
    if lines and lines[-1] == "":
        lines.pop()
    return [line.removesuffix("\r") for line in lines]
