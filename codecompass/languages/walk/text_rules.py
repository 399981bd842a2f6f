"""Readers of definitions from text, for formats without a grammar or whose grammar would cost more than it gives.

A format says what its definitions look like in one pattern whose groups are named after their kinds, and each group matches a
name: `(?P<struct>\\w+)`; digits at the end tell groups of one kind apart. A group `scope` before it qualifies the name. A reader
finds where each definition ends: at its closing brace, before the next heading, at the match of another pattern.

All readers take time in the size of the text, whatever it holds. They load no library of grammars.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from html import unescape
from typing import Final, Literal, cast

from msgspec import Struct

from codecompass import lazy
from codecompass.languages.records import Import, SymbolKind, Visibility
from codecompass.languages.uses.code_only import blanked


class Entry(Struct, frozen=True):
    """A definition in a text. One that begins and ends within another is nested in it."""

    name: str
    kind: SymbolKind
    start: int
    """Index of its first character, or any other one of its first line."""
    end: int
    """Index after its last character."""
    scope: str = ""
    """What stands before the name in the qualified name, besides the definitions around it."""
    signature: str | None = None
    """None: its first line, up to the end of a list in parentheses that opens in it."""
    doc: str | None = None
    """None: the comment above it."""
    above: int = -1
    """Index of the first annotation above it; -1 if there is none."""
    visibility: Visibility = ""


Outline = Callable[[str, str], Iterable[Entry | Import]]
"""Returns what a text (first) of the file at a path defines and imports, in the order of the text."""


def hidden(pattern: re.Pattern[str], text: str) -> str:
    """Returns `text` with the matches blanked, equally long and with the same line breaks; strings keep their quotes."""
    return pattern.sub(lambda match: blanked(match[0]), text)


def braces(
    pattern: str,
    comments: re.Pattern[str],
    *,
    inside: Mapping[str, str] | None = None,
    kinds: Mapping[str, SymbolKind | Literal[""]] | None = None,
    scopes: Mapping[str, str] | None = None,
    joined: str = "",
    listed: str = "",
    package: str = "",
    imports: str = "",
    import_kind: str = "include",
) -> Outline:
    """Returns the reader of a format whose blocks stand in braces.

    `pattern` sees the text without comments and contents of strings; names are taken from the text itself. `inside` says for a
    group in which others, separated by blanks, it is looked for only; `kinds` which kind a group has that is not named like one
    (`a in b`: which kind `a` has in `b`), `scopes` what qualifies its names. Those in an `enum` and of the group `listed`
    end at a comma. Of the group `joined` the scope is part of the name. The group of `package` qualifies all
    names, that of `imports` is the path of an imported file.
    """
    heads = lazy.pattern(pattern, re.MULTILINE)
    imported, packaged = lazy.pattern(imports, re.MULTILINE), lazy.pattern(package, re.MULTILINE)
    around = {group: frozenset(names.split()) for group, names in (inside or {}).items()}
    known, prefixes = kinds or {}, scopes or {}

    def outline(text: str, _path: str) -> Iterator[Entry | Import]:
        code = hidden(comments, text)
        if imports:
            yield from imports_of(imported, code, text, import_kind)
        found = packaged.search(code) if package else None
        outermost = "" if found is None else found[1]
        closing = closing_braces(code)
        open_: list[tuple[str, int]] = []
        for match in heads.finditer(code):
            group = cast("str", match.lastgroup)
            start, stop = match.span(group)
            while open_ and open_[-1][1] <= start:
                open_.pop()
            base = group.rstrip("0123456789")
            outer = open_[-1][0] if open_ else TOP
            if base in around and outer not in around[base]:
                continue
            block = _BLOCK.match(code, match.end() - code.endswith("{", match.start(), match.end()))
            begin = _begin(code, match, start)
            if block is not None:
                end, head = closing[block.end() - 1] + 1, block.end() - 1
                open_.append((base, end))
            else:
                is_line = _is_first(code, begin) and around.get(base) != _OF_ENUMERATIONS and base != listed
                rest = (_REST_OF_LINE if is_line else _REST_OF_ITEM).match(code, match.end())
                end = head = match.end() if rest is None else rest.end()
            if known.get(base) == CONTAINER:
                continue
            scope = prefixes.get(base) or ("" if len(open_) > (block is not None) else outermost)
            if "scope" in heads.groupindex and match["scope"]:
                scope += "." * (scope != "") + text[match.start("scope") : match.end("scope")]
            name = text[start:stop]
            if base == joined and scope:
                name, scope = f"{scope}.{name}", ""
            notes = _ANNOTATIONS.match(code, begin, start)
            shown = begin if notes is None else notes.end()
            signature = text[shown : shown + len(code[shown : min(head, shown + HEAD)].rstrip())]
            yield Entry(
                name,
                known.get(f"{base} in {outer}") or known.get(base) or cast("SymbolKind", base),
                start,
                end,
                scope,
                signature,
                None if _is_first(code, begin) else "",
                begin if shown > begin else -1,
            )

    return outline


def imports_of(pattern: re.Pattern[str], code: str, text: str, kind: str) -> Iterator[Import]:
    """Yields the imports whose paths the first group of `pattern` matches in `code`, written as in `text`."""
    line, at = 1, 0
    for match in pattern.finditer(code):
        line, at = line + text.count("\n", at, match.start(1)), match.start(1)
        yield Import(line, line, text[at : match.end(1)], kind=kind)


TOP: Final = "top"
"""Instead of a group: outside the blocks of all groups."""

CONTAINER: Final = ""
"""Instead of a kind: a block that others are looked for in, but that is no definition."""

HEAD: Final = 2_000
"""Characters of a signature before it is cleaned and cut."""

_OF_ENUMERATIONS: Final = frozenset({"enum"})
"""Around values, several of which may be in one line."""

_BLOCK: Final = re.compile(r"[^{}\n;]*+(?>(?:\s*+@[^{}\n;]*+)*)\s*+\{")
_REST_OF_LINE: Final = re.compile(r"(?>(?:\([^()]*+\)|[^;\n])*)")
_ANNOTATIONS: Final = re.compile(r"(?>(?:@[\w.#$-]++(?:\([^()]*+(?>(?:\([^()]*+\)[^()]*+)*)\))?\s++)+)")
_ANGLES: Final = r"<[^<>;{}\n]*+(?>(?:<[^<>;{}\n]*+(?>(?:<[^<>;{}\n]*+>[^<>;{}\n]*+)*)>[^<>;{}\n]*+)*)>"
_REST_OF_ITEM: Final = re.compile(rf"(?>(?:\([^()]*+\)|{_ANGLES}|[^;,}}\n])*)")
_BRACE: Final = re.compile(r"[{}]")


def closing_braces(code: str) -> dict[int, int]:
    """Returns for the index of each opening brace that of the one that closes it, or of the last character."""
    closing: dict[int, int] = {}
    pending: list[int] = []
    for match in _BRACE.finditer(code):
        if match[0] == "{":
            pending.append(match.start())
        elif pending:
            closing[pending.pop()] = match.start()
    closing.update(dict.fromkeys(pending, len(code) - 1))
    return closing


def _begin(code: str, match: re.Match[str], name: int) -> int:
    """Returns where a definition begins, after the mark that ends what is before it, and after comments; `name` is where its name
    begins."""
    begin = match.start() + (code[match.start()] in "{;},") if match.end() > match.start() else match.start()
    return name - len(code[begin:name].lstrip()) if begin < name else begin


def _is_first(code: str, begin: int) -> bool:
    """Whether only blanks precede an index in its line."""
    return not code[code.rfind("\n", 0, begin) + 1 : begin].strip()


def _end_of_line(text: str, start: int) -> int:
    end = text.find("\n", start)
    return len(text) if end < 0 else end


def headings(
    pattern: str,
    level: Callable[[re.Match[str], list[str]], int],
    ignored: re.Pattern[str] | None = None,
    *,
    title: Callable[[str], str] | None = None,
) -> Outline:
    """Returns the reader of a format whose sections begin with headings and end before the next one that is not below them.

    The title is the group `section` or `section2`. `level` returns how deep a heading is, 1 for the highest, 0 for what is none;
    it also gets a list for what it has seen in the same text. Matches of `ignored`, such as listings of code, have no headings.
    `title` returns a title without its markup; None for `plain_title`.
    """
    plain = title or plain_title
    heads = lazy.pattern(pattern, re.MULTILINE)

    def outline(text: str, _path: str) -> Iterator[Entry]:
        code = text if ignored is None else hidden(ignored, text)
        seen: list[str] = []
        found = [(match, depth) for match in heads.finditer(code) if (depth := level(match, seen))][:MAX_HEADINGS]
        ends, pending = [len(text)] * len(found), list[int]()
        for index, (match, depth) in enumerate(found):
            while pending and found[pending[-1]][1] >= depth:
                ends[pending.pop()] = match.start()
            pending.append(index)
        for (match, _), end in zip(found, ends, strict=True):
            start, stop = match.span("section2" if match["section"] is None else "section")
            yield Entry(plain(text[start:stop]), "section", start, end, signature="", doc="")

    return outline


MAX_HEADINGS: Final = 1_000
"""Headings of one document. Longer ones are changelogs and generated references."""

_MARKUP: Final = lazy.pattern(
    r"!?\[([^\[\]]*+)\](?:\([^()]*+\)|\[[^\[\]]*+\])|<[^<>]*+>|[*`]++|\\(?=\W)|\{:?[ \t]*+[#.-][^{}]*+\}\s*+$"
)


def plain_title(text: str) -> str:
    """Returns a heading without the marks for links, code and emphasis."""
    plain = _COMMAND.sub(r"\1", text) if "\\" in text else text
    return " ".join(unescape(_MARKUP.sub(r"\1", plain)).split())


_COMMAND: Final = lazy.pattern(r"\\[a-zA-Z]++\{([^{}]*+)\}")


def blocks(
    pattern: str,
    ends: Mapping[str, str],
    comments: re.Pattern[str] | None = None,
    *,
    kinds: Mapping[str, SymbolKind] | None = None,
    imports: str = "",
    opaque: str = "",
    several: str = "",
) -> Outline:
    """Returns the reader of a format whose definitions end with a match of a pattern of their own, or with their line.

    `ends` are those patterns by group; the search begins after the head. What precedes the match belongs to the definition
    too, without empty lines at its end. The group `several` matches several names, separated by blanks; definitions of the
    groups `opaque` hold no others. `kinds` and `imports` are those of `braces`.
    """
    heads = lazy.pattern(pattern, re.MULTILINE)
    closers = {group: lazy.pattern(end, re.MULTILINE) for group, end in ends.items()}
    opaque_groups = frozenset(opaque.split())
    known, imported = kinds or {}, lazy.pattern(imports, re.MULTILINE)

    def outline(text: str, _path: str) -> Iterator[Entry | Import]:
        code = text if comments is None else hidden(comments, text)
        if imports:
            yield from imports_of(imported, code, text, "include")
        # The next match for all heads before it, so that a text is searched once however many heads it has.
        nearest: dict[str, tuple[int, int]] = {}
        end_of_opaque = 0
        for match in heads.finditer(code):
            if match.start() < end_of_opaque:
                continue
            group = cast("str", match.lastgroup)
            base = group.rstrip("0123456789")
            start, stop = match.span(group)
            if base in closers:
                if base not in nearest or nearest[base][0] < match.end():
                    closer = closers[base].search(code, match.end())
                    nearest[base] = (len(code), len(code)) if closer is None else closer.span()
                end = nearest[base][1]
            else:
                end = _end_of_line(code, match.end())
            kind = known.get(base) or cast("SymbolKind", base)
            end_of_opaque = end if base in opaque_groups else 0
            begin = match.end() - len(match[0].lstrip())
            signature = text[begin : match.end()] if "\n" in text[begin : match.end()] else None
            for name in text[start:stop].split() if base == several else (text[start:stop],):
                yield Entry(name, kind, begin, max(end, match.end()), signature=signature)

    return outline


def together(*outlines: Outline) -> Outline:
    """Returns the reader of what several readers find, in the order of the text."""

    def outline(text: str, path: str) -> Iterator[Entry | Import]:
        found = [item for each in outlines for item in each(text, path)]
        yield from (item for item in found if isinstance(item, Import))
        yield from sorted((item for item in found if isinstance(item, Entry)), key=lambda item: (item.start, -item.end))

    return outline
