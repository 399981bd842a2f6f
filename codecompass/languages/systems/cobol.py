"""COBOL in fixed and free format: programs, sections and paragraphs, data items nested by their levels, files; `COPY`."""

import re
from collections.abc import Iterator
from typing import Final

from codecompass import lazy
from codecompass.languages.display import Display
from codecompass.languages.imports.plain import plain_imports
from codecompass.languages.language import Language
from codecompass.languages.records import Import, SymbolKind
from codecompass.languages.uses.lexical_rules import LexicalRules
from codecompass.languages.uses.patterns import DOUBLE, SINGLE, any_of
from codecompass.languages.walk.text_rules import Entry, hidden
from codecompass.languages.words import word_set

_FREE: Final = lazy.pattern(r"(?im)^[ \t]*+(?:>>|\$set\b)[^\n]*\bfree\b|^(?:identification|id)[ \t]++division\b|^program-id\b")
_STRINGS: Final = any_of(r"\*>[^\n]*+", DOUBLE, SINGLE)
_NAME: Final = r"[A-Za-z0-9]++(?>(?:-++[A-Za-z0-9]++)*)"
_STATEMENTS: Final = (
    r"(?:CONTINUE|DECLARATIVES|ELSE|END|EXIT|EJECT|GOBACK|STOP|SKIP\d|SUPPRESS"
    r"|END-(?:ACCEPT|ADD|CALL|COMPUTE|DELETE|DISPLAY|DIVIDE|EVALUATE|EXEC|IF|INVOKE|JSON|MULTIPLY|PERFORM|READ|RETURN|REWRITE"
    r"|SEARCH|START|STRING|SUBTRACT|UNSTRING|WRITE|XML))(?![\w-])"
)
_HEAD: Final = lazy.pattern(
    rf"(?im)^[ \t]*+(?:PROGRAM|FUNCTION|CLASS|METHOD)-ID[ \t]*+\.?\s++(?P<program>{_NAME})"
    rf"|\bEND[ \t]++(?:PROGRAM|FUNCTION|CLASS|METHOD)\b[^\n]*+(?P<end>)|^[ \t]*+(?P<division>[A-Z]++)[ \t]++DIVISION\b"
    rf"|^[ \t]*+(?P<section>{_NAME})[ \t]++SECTION[ \t]*+(?:\d++[ \t]*+)?\.|^[ \t]*+[FS]D[ \t]++(?P<file>{_NAME})"
    rf"|(?:^|\.)[ \t]*+(?P<level>0?[1-9]|[1-4]\d|66|7[78]|88)[ \t]++(?P<item>{_NAME})(?=[\s.])"
    rf"|^(?P<margin>[ \t]*+)(?!{_STATEMENTS})(?P<paragraph>{_NAME})[ \t]*+\.(?=\s|\Z)"
)
_COPY: Final = lazy.pattern(
    rf"(?i)(?<![\w-])(?:COPY|EXEC[ \t]++SQL\s++INCLUDE)[ \t]++(?:[\"']([^\"'\n]++)[\"']|({_NAME}))(?=[\s.])"
)
_LAST: Final = 72
"""Columns of code in a line of fixed format."""

_MARGIN: Final = 11
"""Columns before which a paragraph begins in fixed format."""

_DEEPEST: Final = {66: 1, 77: 1, 78: 1, 88: 99}
"""Levels of items with numbers that tell no depth."""


def code_of(text: str) -> str:
    """Returns `text` without sequence numbers, comments and contents of strings, equally long."""
    if _FREE.search(text) is not None:
        return hidden(_STRINGS, text)
    lines = []
    for line in text.split("\n"):
        mark = line[6:7]
        lines.append(" " * len(line) if mark in ("*", "/") else " " * 7 + line[7:72] + " " * (len(line) - 72) if mark else line)
    return hidden(_STRINGS, "\n".join(lines))


def outline(text: str, _path: str) -> Iterator[Entry | Import]:
    """Yields copied files, then definitions; each ends where another of its rank begins."""
    code = code_of(text)
    is_free = _FREE.search(text) is not None
    for match in _COPY.finditer(code):
        start, stop = match.span(2 if match[1] is None else 1)
        line = text.count("\n", 0, start) + 1
        yield Import(line, line, text[start:stop])
    found: list[tuple[int, str, SymbolKind, int]] = []
    """The rank, name, kind and start of each definition; without a name for what only ends others."""
    division = ""
    for match in _HEAD.finditer(code):
        group = match.lastgroup or ""
        start = match.end() - len(match[0].lstrip(" \t."))
        if group == "division":
            division = match["division"].upper()
            found.append((0 if division in ("IDENTIFICATION", "ID") else 1, "", "var", start))
        elif group == "program":
            found.append((0, match["program"], "module", start))
        elif group == "end":
            found.append((0, "", "var", match.end()))
        elif group == "section":
            found.append((1, match["section"] if division == "PROCEDURE" else "", "fn", start))
        elif group == "file":
            found.append((2, match["file"], "var", start))
        elif group == "item" and division in ("", "DATA") and match["item"].upper() not in ("FILLER", "COLUMN", "LINE"):
            level = int(match["level"])
            rank = _DEEPEST.get(level, level)
            is_constant = level == 78 or code[match.end() : match.end() + 9].strip().upper() == "CONSTANT"
            found.append((2 + rank, match["item"], "const" if is_constant else "var" if rank == 1 else "field", start))
        elif group == "paragraph" and division in ("", "PROCEDURE") and (is_free or len(match["margin"]) < _MARGIN):
            found.append((2, match["paragraph"], "fn", start))
    ends, pending = [len(text)] * len(found), list[int]()
    for index, (rank, _, _, start) in enumerate(found):
        while pending and found[pending[-1]][0] >= rank:
            ends[pending.pop()] = text.rfind("\n", 0, start) + 1 if "\n" in text[found[index - 1][3] : start] else start
        pending.append(index)
    for (_, name, kind, start), end in zip(found, ends, strict=True):
        if name:
            before = start - text.rfind("\n", 0, start) - 1
            head = (
                text[start : text.find("\n", start) if "\n" in text[start : start + 500] else start + 500]
                if is_free
                else text[start : start + _LAST - before].partition("\n")[0]
            )
            yield Entry(name, kind, start, max(end, start + 1), signature=head.strip(" \t\r."))


_KEYWORDS: Final = (
    "ACCEPT ADD ADVANCING AFTER ALL ALTER AND ARE AS ASCENDING ASSIGN AT AUTHOR BEFORE BINARY BY CALL CLOSE COLUMN COMMA "
    "COMP COMP-3 COMPUTE CONFIGURATION CONSTANT CONTINUE COPY DATA DECIMAL-POINT DECLARATIVES DELETE DEPENDING DESCENDING "
    "DISPLAY DIVIDE DIVISION ELSE END END-CALL END-EVALUATE END-EXEC END-IF END-PERFORM END-READ END-STRING END-WRITE "
    "ENVIRONMENT EQUAL ERROR EVALUATE EXEC EXIT FALSE FD FILE FILE-CONTROL FILLER FROM FUNCTION GIVING GO GOBACK GREATER "
    "IDENTIFICATION IF IN INDEXED INITIAL INITIALIZE INPUT INPUT-OUTPUT INSPECT INTO IS KEY LABEL LESS LINE LINKAGE LOCAL- "
    "STORAGE MOVE MULTIPLY NEXT NOT OCCURS OF OMITTED ON OPEN OPTIONAL OR ORGANIZATION OTHER OUTPUT PACKED-DECIMAL PERFORM "
    "PIC PICTURE PROCEDURE PROGRAM PROGRAM-ID READ RECORD RECORDS REDEFINES REFERENCE REMAINDER RENAMES REPLACING RETURN "
    "RETURNING REWRITE ROUNDED RUN SCREEN SD SEARCH SECTION SELECT SENTENCE SEQUENTIAL SET SIZE SORT SOURCE-COMPUTER SPACE "
    "SPACES SPECIAL-NAMES SQL STANDARD START STATUS STOP STORAGE STRING SUBTRACT TALLYING THAN THEN THRU THROUGH TIMES TO "
    "TRUE UNSTRING UNTIL UP USAGE USE USING VALUE VALUES VARYING WHEN WITH WORKING-STORAGE WRITE X XX ZERO ZEROES ZEROS"
)


def lexical_rules() -> LexicalRules:
    """Returns what its uses look like."""
    return LexicalRules(
        family="cobol",
        comments_and_strings=any_of(
            r"\*(?<=\n.{6}\*)[^\n]*+",
            r"\*(?<=\A.{6}\*)[^\n]*+",
            r"/(?<=\n.{6}/)[^\n]*+",
            r"\*>[^\n]*+",
            r"(?<=PIC )[ ]*+\S++",
            DOUBLE,
            SINGLE,
        ),
        name=re.compile(r"(?:\d++-)?[A-Za-z][\w-]*"),
        keywords=word_set(_KEYWORDS, _KEYWORDS.lower()),
        member_marks="",
        own=frozenset(),
        above=frozenset(),
    )


COBOL = Language(
    outline=outline,
    comment_starts=(b"*", b"*>"),
    imports=plain_imports(endings=("", ".cpy", ".cbl", ".cob")),
    uses=lexical_rules,
    display=Display(line_comment="*>", lexer="cobol"),
)
