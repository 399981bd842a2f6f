"""Path filters as people and agents write them: globs separated by commas; those after `!` exclude paths.

As in `.gitignore`, a glob without a slash inside matches a name at any depth, `**` crosses directories, a directory means
everything in it. `{a,b/{c,d}}` are alternatives and may be nested. Square brackets match one of the characters in them, or
themselves literally, because frameworks use directories like `[id]` for routes.

Globs become RE2 expressions, which match in linear time. The number of `**` is bounded, because RE2's automaton has a state for
each set of positions that they may have reached.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Final, TypeVar

from msgspec import Struct, structs

from codecompass import lazy
from codecompass.errors import InvalidInput
from codecompass.protocol.decode import SHOWN_VALUE_LENGTH
from codecompass.protocol.requests import MAX_PATH_LENGTH, DiffContext, GetCodeContext, LocateSymbol, SearchCode

MAX_GLOBS: Final = 64
"""Alternatives of a path filter: its globs, and those in their braces."""

MAX_WILDCARDS: Final = 64
"""Wildcards of one glob."""

MAX_CROSSINGS: Final = 16
"""`**` in one glob: 64 of them in alternatives made RE2 take 3 s for 22,000 paths, 16 take 0.1 s (measured 2026-11-22)."""

MAX_ALL_CROSSINGS: Final = 128
"""`**` in all globs of a filter."""

MAX_BRACES: Final = 16
"""Depth of nested braces."""

_Filtered = TypeVar("_Filtered", SearchCode, LocateSymbol, GetCodeContext, DiffContext)

WILDCARDS: Final = frozenset("*?[{")

_LINES: Final = lazy.pattern(
    r"(?<=[^\s,])(?::\d{1,7}(?:-\d{1,7})?(?::\d{1,7})?|#L\d{1,7}(?:C\d+)?(?:-L?\d{1,7}(?:C\d+)?)?):?(?=\s*(?:,|$))"
)
_LINE_NUMBERS: Final = lazy.pattern(r"(?<![C\d])\d+")
"""Of lines behind a path, not of columns as in `#L10C5-L12C1`."""
_STARS: Final = lazy.pattern(r"\*{2,}(?:/\*{2,})*(?=/)|\*{2,}")
_TOKEN: Final = lazy.pattern(r"\*\*/|\*\*|\*|\?|\[[!^]?[^\[\]]+\]|[{},]|[^*?\[{},]+|.", re.DOTALL)


class PathGlobs(Struct, frozen=True):
    """The globs that a filter includes (none: every path) and those that it excludes, without `!`."""

    wanted: tuple[str, ...]
    unwanted: tuple[str, ...]


def path_globs(text: str) -> PathGlobs:
    """Returns the globs of a filter. Raises InvalidInput for one that is too large or empty."""
    if len(text) > MAX_PATH_LENGTH:
        raise _refusal(text, f"has {len(text)} characters", f"at most {MAX_PATH_LENGTH} characters")
    parts = [part.strip() for part in split_outside_braces(without_lines(text))]
    wanted = tuple(part for part in parts if part and not part.startswith("!"))
    unwanted = tuple(part[1:].strip() for part in parts if part.startswith("!") and part[1:].strip())
    if not wanted and not unwanted:
        raise _refusal(text, "has no glob in it", "globs with commas between them")
    globs = PathGlobs(wanted, unwanted)
    tokens = [_TOKEN.findall(_plain(glob)) for glob in (*wanted, *unwanted)]
    if len(tokens) + sum(one.count(",") for one in tokens) > MAX_GLOBS:
        raise _refusal(text, "has too many alternatives", f"at most {MAX_GLOBS} alternatives")
    crossings = [sum(token.startswith("**") for token in one) for one in tokens]
    wildcards = [sum(token[0] in "*?[" for token in one) for one in tokens]
    if max(wildcards) > MAX_WILDCARDS or max(crossings) > MAX_CROSSINGS or sum(crossings) > MAX_ALL_CROSSINGS:
        bound = f"at most {MAX_WILDCARDS} wildcards in one glob, {MAX_CROSSINGS} of them **"
        raise _refusal(text, "has too many wildcards", bound)
    return globs


def split_outside_braces(text: str) -> list[str]:
    """Returns the parts of `text` between commas outside braces and brackets."""
    parts = [""]
    depth = 0
    for token in _TOKEN.findall(text):
        # An unclosed brace is an ordinary character.
        depth += (token == "{" and "}" in text) - (token == "}" and depth > 0)
        if token == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += token
    return parts


def relative_to_root(text: str, root: str) -> str:
    """Returns a filter in which globs below `root`, an absolute path, are relative to it. Backslashes are separators."""
    bare = root.rstrip("/")
    if "\\" in text:
        text = text.replace("\\", "/")
    if not bare or bare not in text:
        return text
    return re.sub(rf"(?<![^,!{{\s]){re.escape(bare)}(?=[/,}}\s]|$)", "/", text)


def relative_request(request: _Filtered, root: str) -> _Filtered:
    """Returns a request with its path filter relative to `root`."""
    if request.path is None or (path := relative_to_root(request.path, root)) == request.path:
        return request
    return structs.replace(request, path=path)


def without_lines(text: str) -> str:
    """Returns a path or glob without the lines that follow it: `src/x.py` for `src/x.py:10-20` and `src/x.py#L10`."""
    return _LINES.sub("", text)


def lines_of_path(text: str) -> tuple[int, int] | None:
    """Returns the lines (1-based, inclusive) that follow a path, as for `without_lines`; None if none do."""
    found = _LINES.search(text)
    if found is None:
        return None
    numbers = [int(number) for number in _LINE_NUMBERS.findall(found[0])]
    first = max(1, numbers[0])
    return first, max(first, numbers[1] if "-" in found[0] else first)


def expression_of(glob: str, *, is_whole: bool = False) -> str:
    """Returns the RE2 expression of the paths that a glob matches; it never matches a line break.

    With `is_whole` it does not match the files in directories that the glob matches.
    """
    bare = _plain(glob)
    is_anchored = "/" in bare.rstrip("/")
    bare = bare.strip("/")
    if bare in ("", "."):
        return r"[^\n]*"
    body = _Translation(bare).expression()
    return f"{'' if is_anchored else _ANY_DIRECTORIES}{body}{'' if is_whole else _ANYTHING_IN_IT}"


def expressions_of(globs: Sequence[str]) -> tuple[str, ...]:
    """Returns RE2 expressions of the paths that any of the globs matches: a single one unless that would be slow."""
    found = tuple(map(expression_of, globs))
    n_crossings = sum(glob.count("**") + 1 for glob in globs)
    return ("|".join(f"(?:{one})" for one in found),) if found and n_crossings <= MAX_CROSSINGS else found


def literal_expression(path: str) -> str:
    """Returns the RE2 expression of a path and everything below it."""
    return _escaped(path) + _ANYTHING_IN_IT


def literal_start(glob: str) -> tuple[str, ...]:
    """Returns the segments of a glob before the first with a wildcard; none for a glob that matches a name at any depth."""
    bare = _plain(glob)
    if "/" not in bare.rstrip("/"):
        return ()
    segments: list[str] = []
    for segment in bare.strip("/").split("/"):
        if WILDCARDS.intersection(segment):
            break
        segments.append(segment)
    return tuple(segments)


def plain_path(text: str) -> str:
    """Returns a path as people write it in the form of indexed paths: with `/` for `\\`, without a leading `./`."""
    return text.strip().replace("\\", "/").removeprefix("./")


def _plain(glob: str) -> str:
    """Returns the glob as a plain path, with repeated `**` as one."""
    return _STARS.sub("**", plain_path(glob))


_ANY_DIRECTORIES: Final = r"(?:[^\n]*/)?"
_ANYTHING_IN_IT: Final = r"(?:/[^\n]*)?"


class _Translation:
    """Recursive descent over the tokens of a glob."""

    def __init__(self, glob: str) -> None:
        self._tokens = _TOKEN.findall(glob)
        self._closed = _closed_braces(self._tokens)
        self._at = 0

    def expression(self) -> str:
        return "".join(self._pieces(0))

    def _pieces(self, depth: int) -> Iterator[str]:
        while self._at < len(self._tokens):
            token = self._tokens[self._at]
            if depth and token in (",", "}"):
                return
            self._at += 1
            if token == "{" and depth < MAX_BRACES and self._at - 1 in self._closed:
                yield self._alternatives(depth + 1)
            else:
                yield _piece(token)

    def _alternatives(self, depth: int) -> str:
        found = ["".join(self._pieces(depth))]
        while self._at < len(self._tokens) and self._tokens[self._at] == ",":
            self._at += 1
            found.append("".join(self._pieces(depth)))
        self._at += 1
        return f"(?:{'|'.join(found)})"


def _closed_braces(tokens: Sequence[str]) -> frozenset[int]:
    """Returns the indexes of the opening braces that are closed."""
    closed: set[int] = set()
    opened: list[int] = []
    for number, token in enumerate(tokens):
        if token == "{":
            opened.append(number)
        elif token == "}" and opened:
            closed.add(opened.pop())
    return frozenset(closed)


def _piece(token: str) -> str:
    if token == "**/":
        return _ANY_DIRECTORIES
    if token == "**":
        return r"[^\n]*"
    if token == "*":
        return r"[^/\n]*"
    if token == "?":
        return r"[^/\n]"
    if len(token) > 2 and token[0] == "[":
        return f"(?:{_class(token)}|{_escaped(token)})"
    return _escaped(token)


def _class(token: str) -> str:
    inner = token[1:-1]
    is_negated = inner[0] in "!^" and len(inner) > 1
    members = inner[1:] if is_negated else inner
    plain = (character.isalnum() or character == "-" for character in members)
    written = "".join(one if is_plain else f"\\x{{{ord(one):x}}}" for one, is_plain in zip(members, plain, strict=True))
    # A reversed range (`[z-a]`) is not a class, nor is a range without a beginning.
    if not _is_class(f"[{written}]"):
        return _escaped(token)
    return f"[^/\\n{written}]" if is_negated else f"[{written}]"


def _is_class(expression: str) -> bool:
    import re2

    options = re2.Options()
    options.log_errors = False
    try:
        re2.compile(expression, options=options)
    except re2.error:
        return False
    return True


def _escaped(text: str) -> str:
    import re2

    # `FileTable` has U+0000 where a path has a line break.
    return str(re2.escape(text.replace("\n", "\0")))


def _refusal(text: str, what: str, bound: str) -> InvalidInput:
    return InvalidInput(
        f"path {what}; it takes {bound}. Correct the argument and call again.",
        field="path",
        value=text[:SHOWN_VALUE_LENGTH],
        constraint=bound,
    )
