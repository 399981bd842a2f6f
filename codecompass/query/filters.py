"""Filters of a request: language names as people write them, path globs, symbol kinds, files changed since a commit; warnings if
nothing passes.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import compress
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from codecompass.errors import InvalidInput
from codecompass.formatting import count
from codecompass.languages import SYMBOL_LANGUAGES, described
from codecompass.languages.detect import ALIASES
from codecompass.languages.records import SymbolKind
from codecompass.protocol.decode import SHOWN_VALUE_LENGTH, well_formed
from codecompass.protocol.kinds import kinds_meant
from codecompass.query.path_globs import (
    expression_of,
    expressions_of,
    literal_expression,
    literal_start,
    path_globs,
    plain_path,
    without_lines,
)
from codecompass.store.facts import FactsReader
from codecompass.store.file_table import FileTable
from codecompass.store.rows import SymbolRow
from codecompass.store.snapshot import Snapshot
from codecompass.store.text_queries import Filter

if TYPE_CHECKING:
    from codecompass.scan.git_changes import GitChanges, Hunk

SHOWN_NAMES: Final = 12
"""Names in a directory, and languages, that a warning lists."""

_OPPOSITE: Final = bytes([1, 0, *range(2, 256)])

_COMMIT_CHARACTERS: Final = 10


class ChangedFiles(Struct, frozen=True, kw_only=True):
    """The existing files that differ from a commit."""

    name: str
    """The ref with its commit."""
    lines: "Mapping[str, tuple[Hunk, ...] | None]"
    """The hunks of each file by path; None if they are not known, so that all lines of the file count as changed."""
    warnings: tuple[str, ...] = ()

    def overlaps(self, path: str, first: int, last: int) -> bool:
        """Whether any of these lines is new, or lines between two of them were deleted."""
        if path not in self.lines:
            return False
        hunks = self.lines[path]
        return hunks is None or any(
            hunk.new <= last and first < hunk.new + hunk.n_new if hunk.n_new else first <= hunk.new < last for hunk in hunks
        )


def languages_meant(names: str | None) -> tuple[str, ...]:
    """Returns the index's names of comma-separated languages as people write them; none for None, which means all."""
    if names is None:
        return ()
    written = (name.strip().lower() for name in names.split(","))
    return tuple(dict.fromkeys(language for name in written if name for language in ALIASES.get(name, (name,))))


def index_filter(snapshot: Snapshot, language: str | None, path: str | None, changed: ChangedFiles | None = None) -> Filter:
    """Returns the filter that hits must pass; with `changed` only those files do. A path filter is matched with every path once.

    Raises InvalidInput for a path filter that is too large or empty.
    """
    ids: Sequence[int] | None = None
    left_out: Iterable[int] = ()
    files = snapshot.files() if path is not None or changed is not None else None
    if path is not None and files is not None:
        chosen = chosen_files(files, path)
        n_left_out = chosen.count(0)
        if n_left_out:
            ids = tuple(compress(files.ids, chosen))
            left_out = compress(files.ids, chosen.translate(_OPPOSITE)) if n_left_out < len(files) / 2 else ()
    if changed is not None and files is not None:
        allowed = None if ids is None else frozenset(ids)
        changed_ids = [files.ids[number] for changed_path in changed.lines if (number := files.number(changed_path)) is not None]
        ids = sorted(each for each in changed_ids if allowed is None or each in allowed)
        left_out = ()
    return Filter(languages_meant(language), None if ids is None else tuple(ids), tuple(left_out))


def chosen_files(files: FileTable, path: str) -> bytearray:
    """Returns for each file 1 if it passes a path filter, else 0. Raises the same errors as `index_filter`."""
    import re2

    written = plain_path(path).strip("/")
    is_odd = "," in written or "{" in written or written.startswith("!") or without_lines(written) != written
    if is_odd and _is_there(files, written):
        # The name of an existing path means that path.
        wanted: tuple[str, ...] = (literal_expression(written),)
        unwanted: tuple[str, ...] = ()
    else:
        globs = path_globs(path)
        wanted, unwanted = expressions_of(globs.wanted), expressions_of(globs.unwanted)
    chosen = bytearray(len(files)) if wanted else bytearray(b"\1" * len(files))
    try:
        for expressions, mark in ((wanted, b"\1"), (unwanted, b"\0")):
            for expression in expressions:
                for run in files.runs(expression):
                    chosen[run.start : run.stop] = mark * len(run)
    except re2.error as error:
        raise _too_large(written) from error
    return chosen


def chosen_paths(paths: Sequence[str], path: str) -> list[bool]:
    """Returns for each of any paths whether it passes a path filter. Raises the same errors as `index_filter`."""
    import re2

    written = plain_path(path).strip("/")
    globs = path_globs(path)
    try:
        wanted = re2.compile("|".join(f"(?:{one})" for one in expressions_of(globs.wanted)) or r"[^\n]*")
        unwanted = [re2.compile(one) for one in expressions_of(globs.unwanted)]
    except re2.error as error:
        raise _too_large(written) from error

    def passes(each: str) -> bool:
        plain = well_formed(each).replace("\n", " ")
        if each == written:
            return True
        return bool(wanted.fullmatch(plain)) and not any(one.fullmatch(plain) for one in unwanted)

    return [passes(each) for each in paths]


def _too_large(path: str) -> InvalidInput:
    return InvalidInput("path is too large a pattern. Use fewer or shorter globs.", field="path", value=path[:SHOWN_VALUE_LENGTH])


def _is_there(files: FileTable, path: str) -> bool:
    return files.number(path) is not None or len(files.below(path)) > 0


def filter_warnings(
    snapshot: Snapshot, where: Filter, language: str | None, path: str | None, kind: str | None
) -> tuple[str, ...]:
    """Returns warnings for filters that nothing in this index can pass, with what exists instead.

    Reads the definitions if a kind is given, so it is meant for answers without a hit.
    """
    warnings = unknown_language(snapshot.facts, language)
    if path is not None and where.file_ids == ():
        warnings += (nothing_fits(snapshot.files(), path, "path"),)
    elif not warnings and language is not None and where.file_ids is not None:
        files, ids = snapshot.files(), frozenset(where.file_ids)
        there = dict.fromkeys(files.languages[n] for n, file_id in enumerate(files.ids) if file_id in ids)
        if not any(one in there for one in where.languages):
            said = f"no file that fits path {_shown(path)} is of language {_shown(language)}"
            warnings += (f"{said}; those files are: {_list(there)}",)
    kinds = symbol_kinds(kind)
    if kinds is not None and "use" not in kinds and snapshot.meta.completeness == "complete":
        known = [known_kind for known_kind, _ in snapshot.facts.symbol_counts()]
        if not any(has for has in _passing(kinds, known)):
            warnings += (f"the index has no definition of kind {_shown(kind)}; it has: {', '.join(known) or 'none'}",)
    return warnings


def _passing(kinds: frozenset[SymbolKind], known: Sequence[SymbolKind]) -> list[SymbolKind]:
    # A function inside a type may count as a method too, see `has_kind`.
    return [kind for kind in known if kind in kinds or ("method" in kinds and kind == "fn")]


def unknown_language(facts: FactsReader, name: str | None) -> tuple[str, ...]:
    """Returns a warning if no indexed file is in any of the requested languages."""
    import difflib

    if name is None:
        return ()
    known = [language for language, _ in facts.files_by_language()]
    if any(language in known for language in languages_meant(name)):
        return ()
    names = {*known, *SYMBOL_LANGUAGES, *ALIASES}
    word = name[:40].strip().lower()
    near = [] if word in names else difflib.get_close_matches(word, sorted(names), n=1, cutoff=0.6)
    meant = f"; did you mean {near[0]!r}? Indexed" if near else "; indexed"
    return (f"no indexed file is of language {name[:40]!r}{meant} are: {', '.join(known[:20])}",)


def nothing_fits(files: FileTable, text: str, argument: str) -> str:
    """Returns the warning for globs that no path matches: a path that nearly does, else the content of the existing directory."""
    import difflib

    globs = path_globs(text)
    if not globs.wanted:
        return f"{argument} {_shown(text)} leaves out every indexed file"
    said = f"no indexed file fits {argument} {_shown(text)}"
    for glob in globs.wanted:
        without_case = next(files.runs(expression_of(glob), has_case=False), None)
        if without_case is not None:
            return f"{said}, where case counts; there is {files.paths[without_case.start]}"
        anywhere = next(files.runs(expression_of(f"**/{glob.lstrip('/')}")), None)
        if anywhere is not None:
            return f"{said}, which begins at the root; **/{glob.lstrip('/')} would find {files.paths[anywhere.start]}"
    segments = literal_start(globs.wanted[0])
    n_there = 0
    while n_there < len(segments) and len(files.below("/".join(segments[: n_there + 1]))) > 0:
        n_there += 1
    directory = "/".join(segments[:n_there])
    names = files.names_in(directory)
    if n_there < len(segments):
        bare = [name.rstrip("/") for name in names]
        close = difflib.get_close_matches(segments[n_there][:255], bare, SHOWN_NAMES, 0.5)
        names.sort(key=lambda name: close.index(name.rstrip("/")) if name.rstrip("/") in close else SHOWN_NAMES)
    return f"{said}; {directory + '/' if directory else 'the root'} has: {_list(names)}"


def _list(names: Sequence[str] | Mapping[str, object]) -> str:
    shown = list(names)
    more = f" and {len(shown) - SHOWN_NAMES} more" if len(shown) > SHOWN_NAMES else ""
    return ", ".join(shown[:SHOWN_NAMES]) + more if shown else "nothing"


def _shown(text: str | None) -> str:
    return repr((text or "")[:SHOWN_VALUE_LENGTH])


def symbol_kinds(kind: str | None) -> frozenset[SymbolKind] | None:
    """Returns the symbol kinds meant by a request's `kind`, one or several separated by commas; None for all."""
    if kind is None:
        return None
    return frozenset().union(*(kinds_meant(word.strip()) for word in kind.split(",") if word.strip()))


def passes(where: Filter) -> Callable[[int, str], bool]:
    """Returns a predicate that tells of a file id and its language whether the file passes."""
    files = None if where.file_ids is None else frozenset(where.file_ids)
    languages = where.languages
    return lambda file_id, language: (files is None or file_id in files) and (not languages or language in languages)


def has_kind(row: SymbolRow, kinds: frozenset[SymbolKind] | None) -> bool:
    """Whether a symbol is of one of `kinds`. In some languages a function inside a type counts as a method too."""
    if kinds is None or row.kind in kinds:
        return True
    is_inside = "method" in kinds and row.kind == "fn" and row.parent_id is not None
    return is_inside and described(row.language).members.functions_are_methods


def changed_files(changes: "GitChanges") -> ChangedFiles:
    """Returns the existing files that differ from the base of `changes`, whose head is the working tree."""
    lines = {each.path: each.hunks if each.note in ("", "mode") else None for each in changes.files if each.status != "removed"}
    return ChangedFiles(
        name=f"{changes.base.name} ({changes.base.commit[:_COMMIT_CHARACTERS]})", lines=lines, warnings=changes.warnings
    )


def changed_warnings(changed: ChangedFiles | None, *, is_empty: bool) -> tuple[str, ...]:
    """Returns the warnings of an answer about changed files: what was left out, and why an empty answer is empty."""
    if changed is None:
        return ()
    if not changed.lines:
        return (*changed.warnings, f"no existing file differs from {changed.name}, so changed_since excludes everything")
    if not is_empty:
        return changed.warnings
    n_files = count(len(changed.lines), "file")
    return (*changed.warnings, f"nothing found in what differs from {changed.name} ({n_files}); try without changed_since")
