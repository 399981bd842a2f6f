"""Ignore files: `.gitignore`, `.git/info/exclude` and `.codecompassignore`, each compiled once.

Parses a file's lines and finds the last pattern that matches a path. `policy.py` decides which files apply to a path and which of
them wins. The user's `core.excludesFile` is never read, so that two people, or a person and a server, index the same files of
the same tree.

Lines are parsed as git does (dir.c): byte order mark, CRLF, unescaped trailing blanks, `#` and `!`. A pattern is matched
against the path itself, not the directories above it: the walk excludes everything in an excluded directory. Patterns are bytes,
as in git, and case-sensitive.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from typing import Final

from msgspec import Struct

from codecompass.scan import wildmatch
from codecompass.units import KIB

_BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"
_ALTERNATIVES: Final = 50
"""Patterns in one regular expression. The time per alternative grows with the number of groups (5,000 globs took 6.5 ms in one
expression and 0.7 ms in a hundred, 2026-11-21)."""

_MAX_ANCESTORS: Final = 64
"""A `!` pattern with more directories does not make excluded directories be entered: its expression nests once for each."""

MAX_PATTERN_BYTES: Final = 4096
"""No system can open a path as long as a longer pattern. Git has no such limit."""

MAX_WILDCARDS: Final = 100
"""Wildcards in one pattern; a UUID written with `?` has 32."""

MAX_GLOBS: Final = 2_000
"""Patterns with wildcards, except `*.ext`, in one file and the files above it that apply to the same directory. Every untracked
path is matched against each, at 0.15 us; the longest ignore files in use have 300."""

MAX_GLOB_BYTES: Final = 64 * KIB
"""Total length of the same patterns; translating and compiling this much takes half a second."""

Rank = tuple[int, int]
"""Precedence of a pattern of the settings or a `.codecompassignore`: the depth of its file, and its position in the file."""

NO_RANK: Final[Rank] = (-1, -1)
MAX_RANK: Final = 1 << 30


class Rule(Struct, frozen=True):
    """Where the deciding pattern is written, for people."""

    source: str
    """An ignore file relative to the workspace root (with `../` if above it), `built-in`, or a setting (`index.exclude`)."""
    line: int
    """From 1, for a setting its position in the list; 0 for `built-in`."""
    pattern: str
    """The line as written."""


class Pattern(Struct, frozen=True):
    """A parsed pattern of an ignore file. `glob` has neither the `!` nor a leading or trailing slash."""

    rule: Rule
    glob: bytes
    is_negated: bool = False
    is_directory_only: bool = False
    is_anchored: bool = False

    @property
    def names_its_target(self) -> bool:
        """Whether the last component restricts the name: `!*.pem` does, `!config/**` does not."""
        return bool(self.glob.rpartition(b"/")[2].strip(b"*"))


def encode_path(path: str) -> bytes:
    """Returns a path as the bytes on disk, against which patterns are matched."""
    return path.encode("utf-8", "surrogateescape")


def parse(content: bytes, source: str) -> tuple[Pattern, ...]:
    """Returns the patterns of an ignore file in order, within the limits above; `source` names the file in their rules."""
    return parse_bounded(content, source)[0]


def parse_bounded(content: bytes, source: str, above: Sequence["IgnoreFile"] = ()) -> tuple[tuple[Pattern, ...], bool]:
    """As `parse`, plus whether patterns were dropped because they are too long, or too many together with those of `above`."""
    patterns = []
    is_truncated = False
    n_globs = sum(file.n_globs for file in above)
    n_bytes = sum(file.n_glob_bytes for file in above)
    for number, line in enumerate(content.removeprefix(_BYTE_ORDER_MARK).split(b"\n"), start=1):
        # Git truncates a line at NUL, because it is a C string.
        text = line.removesuffix(b"\r").partition(b"\0")[0]
        if not text or text.startswith(b"#"):
            continue
        if len(text) > MAX_PATTERN_BYTES:
            is_truncated = True
            continue
        pattern = _parse_line(_without_trailing_blanks(text), source, number)
        if _is_glob(pattern):
            n_wildcards = sum(map(pattern.glob.count, (b"*", b"?", b"[")))
            is_beyond = n_globs >= MAX_GLOBS or n_bytes + len(pattern.glob) > MAX_GLOB_BYTES or n_wildcards > MAX_WILDCARDS
            if is_beyond:
                is_truncated = True
                continue
            n_globs += 1
            n_bytes += len(pattern.glob)
        patterns.append(pattern)
    return tuple(patterns), is_truncated


def _parse_line(text: bytes, source: str, number: int) -> Pattern:
    rule = Rule(source, number, text.decode("utf-8", "backslashreplace"))
    is_negated = text.startswith(b"!")
    glob = text[1:] if is_negated else text
    is_directory_only = glob.endswith(b"/")
    if is_directory_only:
        glob = glob[:-1]
    is_anchored = b"/" in glob
    return Pattern(rule, glob.removeprefix(b"/"), is_negated, is_directory_only, is_anchored)


def _without_trailing_blanks(text: bytes) -> bytes:
    if not text.endswith(b" "):
        return text
    blanks_from = None
    at = 0
    while at < len(text):
        byte = text[at]
        if byte == ord(" "):
            if blanks_from is None:
                blanks_from = at
        else:
            blanks_from = None
            if byte == ord("\\"):
                at += 1
        at += 1
    return text if blanks_from is None else text[:blanks_from]


class IgnoreFile:
    """The patterns of one ignore file and the directory to which they are relative.

    Paths are given relative to the workspace root. `base` is the file's directory relative to the root, empty or with a trailing
    slash; `root_prefix` is the root relative to the file's directory if the file is above the root (`sub/dir/`).
    `outranks_files` is true for the settings.
    """

    def __init__(
        self, patterns: tuple[Pattern, ...], *, base: str = "", root_prefix: str = "", outranks_files: bool = False
    ) -> None:
        self._patterns = patterns
        self._rank = MAX_RANK if outranks_files else base.count("/")
        self._skip = len(encode_path(base))
        self._root_prefix = encode_path(root_prefix)
        globs = [len(pattern.glob) for pattern in patterns if _is_glob(pattern)]
        self.n_globs, self.n_glob_bytes = len(globs), sum(globs)
        self._for_files = _PatternTable((i, p) for i, p in enumerate(patterns) if not p.is_directory_only)
        self._for_directories = _PatternTable(enumerate(patterns))

    def match(self, path: bytes, *, is_directory: bool) -> tuple[Pattern | None, Rank]:
        """Returns the last pattern that matches `path` (from `encode_path`) and its rank; None and NO_RANK if none matches."""
        index = self._last(self._root_prefix + path[self._skip :], is_directory=is_directory)
        return (None, NO_RANK) if index < 0 else (self._patterns[index], (self._rank, index))

    def find(self, subject: bytes, *, is_directory: bool) -> Pattern | None:
        """Returns the last pattern that matches `subject`, a path relative to the directory of the ignore file, or None."""
        index = self._last(subject, is_directory=is_directory)
        return None if index < 0 else self._patterns[index]

    def _last(self, subject: bytes, *, is_directory: bool) -> int:
        return (self._for_directories if is_directory else self._for_files).last(subject)

    def may_match_below(self, directory: bytes) -> bool:
        """Whether a `!` pattern with a fixed first component could match something inside `directory`.

        `!vendor/acme/*.go` may match below `vendor` and `vendor/acme`. `!*.go` and `!**/acme` do not count, because they would
        make every excluded directory be entered.
        """
        subject = self._root_prefix + directory[self._skip :]
        return any(matches(subject) for matches in self._ancestor_matchers)

    @cached_property
    def _ancestor_matchers(self) -> tuple[Callable[[bytes], re.Match[bytes] | None], ...]:
        sources = (
            _ancestors_expression(pattern.glob) for pattern in self._patterns if pattern.is_negated and pattern.is_anchored
        )
        return tuple(re.compile(source, re.DOTALL).fullmatch for source in sources if source is not None)


def _ancestors_expression(glob: bytes) -> bytes | None:
    """Returns an expression for the directories above what `glob` can match, None if it has no fixed first component."""
    *parents, _last = glob.split(b"/")
    if b"**" in parents:
        at = parents.index(b"**")
        parents, tail = parents[:at], b"(?:/.*)?"
    elif _last == b"**":
        tail = b"(?:/.*)?"
    else:
        tail = b""
    if not parents or len(parents) > _MAX_ANCESTORS:
        return None
    expression = b""
    for depth, component in enumerate(reversed(parents)):
        translated = wildmatch.translate(component)
        if translated is None:
            return None
        # Built from the inside out: a(?:/b(?:/c)?)? matches `a`, `a/b` and `a/b/c`.
        inner = tail if depth == 0 else b"(?:/" + expression + b")?"
        expression = translated + inner
    return expression


class _PatternTable:
    """Finds the greatest index of a matching pattern: by dictionary for literal patterns and `*.ext`, nearly all in practice, and
    by regular expressions for the rest, last pattern first."""

    def __init__(self, patterns: Iterable[tuple[int, Pattern]]) -> None:
        self._names: dict[bytes, int] = {}
        self._paths: dict[bytes, int] = {}
        self._extensions: dict[bytes, int] = {}
        self._name_globs: list[tuple[int, bytes]] = []
        self._path_globs: list[tuple[int, bytes]] = []
        for index, pattern in patterns:
            glob = pattern.glob
            is_literal = wildmatch.literal_length(glob) == len(glob)
            if pattern.is_anchored:
                if is_literal:
                    self._paths[glob] = index
                else:
                    self._path_globs.append((index, glob))
            elif is_literal:
                self._names[glob] = index
            elif _is_extension(glob):
                self._extensions[glob[1:]] = index
            else:
                self._name_globs.append((index, glob))

    def last(self, path: bytes) -> int:
        name = path[path.rfind(b"/") + 1 :]
        best = self._names.get(name, -1)
        if self._paths:
            best = max(best, self._paths.get(path, -1))
        if self._extensions:
            dot = name.rfind(b".")
            if dot >= 0:
                best = max(best, self._extensions.get(name[dot:], -1))
        if self._name_globs:
            best = max(best, self._match_name(name))
        if self._path_globs:
            best = max(best, self._match_path(path))
        return best

    @cached_property
    def _match_name(self) -> Callable[[bytes], int]:
        return _alternation(self._name_globs)

    @cached_property
    def _match_path(self) -> Callable[[bytes], int]:
        return _alternation(self._path_globs)


def _is_glob(pattern: Pattern) -> bool:
    """Whether the pattern needs a regular expression: it has wildcards and is not `*.ext`."""
    glob = pattern.glob
    return wildmatch.literal_length(glob) < len(glob) and (pattern.is_anchored or not _is_extension(glob))


def _is_extension(glob: bytes) -> bool:
    return glob[:2] == b"*." and b"." not in glob[2:] and wildmatch.literal_length(glob[1:]) == len(glob) - 1


def _alternation(globs: list[tuple[int, bytes]]) -> Callable[[bytes], int]:
    translated = [(index, wildmatch.translate(glob)) for index, glob in reversed(globs)]
    usable = [(index, source) for index, source in translated if source is not None]
    chunks: list[tuple[Callable[[bytes], re.Match[bytes] | None], list[int]]] = []
    for start in range(0, len(usable), _ALTERNATIVES):
        part = usable[start : start + _ALTERNATIVES]
        expression = re.compile(b"|".join(b"(" + source + b")" for _, source in part), re.DOTALL)
        chunks.append((expression.fullmatch, [index for index, _ in part]))

    def last(subject: bytes) -> int:
        for fullmatch, indices in chunks:
            found = fullmatch(subject)
            if found is not None and found.lastindex is not None:
                return indices[found.lastindex - 1]
        return -1

    return last
