"""Finds definitions by their first lines, where a grammar cannot parse a file, or a language has none."""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Final, TypeVar

from msgspec.structs import replace

from codecompass import lazy
from codecompass.languages.language import Definition, RuleContext
from codecompass.languages.nodes import Node
from codecompass.languages.records import CLASS_LIKE, SymbolKind
from codecompass.languages.walk.depth import with_shallow_comments
from codecompass.languages.walk.preparation import masked
from codecompass.languages.walk.source_text import comment_above_byte


def heads(
    pattern: re.Pattern[bytes],
    kinds: Mapping[str, SymbolKind],
    *,
    closer: str = "}",
    comment: bytes = b"//",
    is_strict: bool = False,
    literals: re.Pattern[bytes] | None = None,
) -> Callable[[Node, RuleContext], Iterator[Definition]]:
    """Returns a `recover` that finds definitions by their first lines, for what the grammar cannot parse or a
    language without one.

    Args:
        pattern: matches from the beginning of a line and has the groups `indent`, `word` and one of _NAMES.
        kinds: of definitions, by their words.
        closer: what the last line of a definition begins with, behind the same blanks as its first.
        comment: what the lines of the comment above begin with.
        is_strict: whether a definition also ends before a line that is indented no more than its first.
        literals: comments and strings, in which no definition begins or ends.
    """

    def found(root: Node, context: RuleContext) -> Iterator[Definition]:
        text, line, counted = context.source, 1, 0
        source = text if literals is None else bytes(masked(with_shallow_comments(text), literals))
        open_: list[tuple[int, Definition, list[Definition]]] = []
        for match in pattern.finditer(source):
            start = match.end("indent")
            line += source.count(b"\n", counted, start)
            counted = start
            while open_ and open_[-1][0] <= start:
                yield from closed(open_)
            eol = source.find(b"\n", start)
            eol = len(source) if eol < 0 else eol
            head = text[start : start + len(source[start:eol].rstrip())].decode("utf-8", "replace")
            ends_here = eol == len(source) or _ENDS_HERE.search(source[start:eol])
            end = -1 if ends_here else _end(source, eol, match["indent"], closer.encode(), is_strict)
            is_block = end >= 0
            last = line + source.count(b"\n", start, end + 1) if is_block else line
            is_member = bool(open_) and open_[-1][1].kind in CLASS_LIKE
            named = next(name for name in _NAMES if match.groupdict().get(name) is not None)
            kind = kinds.get((match["word"] or b"").decode(), "fn")
            definition = Definition(
                text[match.start(named) : match.end(named)].decode("utf-8", "replace"),
                "method" if kind == "fn" and is_member else kind,
                root,
                signature=re.sub(r"\s*(?:\{|=|do)\s*$", "", head),
                start_line=line,
                end_line=last,
                doc=_comment_above(text, match.start("indent"), comment),
            )
            open_.append((end if is_block else start, definition, []))
        while open_:
            yield from closed(open_)

    return found


_NAMES: Final = ("name", "method", "title")
"""Groups of patterns: a name after the `word`, that of a function, any other."""

_ENDS_HERE: Final = lazy.pattern(rb"(?:\bend|;|\})\s*$")

_LINE: Final = lazy.pattern(rb"\n([ \t]*+)(?=\S)")
_CONTINUES: Final = lazy.pattern(rb"[)\]{|#]|(?:rescue|ensure|else|elsif|when|in|catch|finally)\b")


def _end(source: bytes, eol: int, indent: bytes, closer: bytes, is_strict: bool) -> int:
    """Returns where the last line of a definition begins, at its line break; -1 if it is the first line."""
    if not is_strict:
        return source.find(b"\n" + indent + closer, eol, eol + MAX_RECOVERED)
    last = -1
    for match in _LINE.finditer(source, eol, eol + MAX_RECOVERED):
        if len(match[1]) > len(indent):
            last = match.start()
        elif len(match[1]) == len(indent) and source.startswith(closer, match.end()):
            return match.start()
        elif not _CONTINUES.match(source, match.end()):
            break
        elif len(match[1]) == len(indent) and source[match.end()] in b")]":
            last = match.start()
    return last


MAX_OPEN: Final = 50
"""Definitions one in another."""

MAX_RECOVERED: Final = 200_000
"""Bytes of a definition that is found by its first line."""


_Opener = TypeVar("_Opener")


def closed(open_: list[tuple[_Opener, Definition, list[Definition]]], last: int | None = None) -> Iterator[Definition]:
    """Takes the innermost open definition: it becomes a member of the one around it, or is yielded. `last` is its last line, if
    that was not known before."""
    _, definition, members = open_.pop()
    whole = replace(definition, members=tuple(members), end_line=definition.end_line if last is None else last)
    if open_ and len(open_) < MAX_OPEN:
        open_[-1][2].append(whole)
    else:
        yield whole


def _comment_above(source: bytes, start: int, comment: bytes) -> str:
    if comment == b"//":
        return comment_above_byte(source, start)
    lines: list[str] = []
    while start > 0 and len(lines) < 30:
        begin = source.rfind(b"\n", 0, start - 1) + 1
        line = source[begin:start].strip()
        if not line.startswith(comment):
            break
        lines.append(line.decode("utf-8", "replace"))
        start = begin
    return "\n".join(reversed(lines))
