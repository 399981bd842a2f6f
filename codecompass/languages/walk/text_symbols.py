"""Makes the symbols of a file from what a reader has found in its text (`text_rules.py`)."""

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate
from typing import Final

from codecompass.languages.language import HEAD_BYTES, MAX_COMMENTS, Language
from codecompass.languages.records import DOC_LIMIT, DOCUMENT_KINDS, MAX_QUALIFIED_NAME, Import, Symbol
from codecompass.languages.walk.extract import (
    MAX_IMPORTS_PER_FILE,
    MAX_NAME_LENGTH,
    MAX_NESTING,
    MAX_SYMBOLS_PER_FILE,
    Extraction,
    can_be_resolved,
    clean_doc,
    clean_signature,
)
from codecompass.languages.walk.text_rules import Entry

_DELIMITERS: Final = (("/*", "*/"), ('"""', '"""'))
"""Marks of comments and descriptions of several lines: at their beginning and at their end."""

_LISTED: Final = frozenset({"rule", "target"})
"""Kinds of which one head may name several."""

KEY_SIGNATURE: Final = 80
"""Characters of the signature of a key: enough for a value, not for a text."""


def outlined(language: Language, source: bytes, path: str) -> Extraction:
    """Returns what `language.outline` finds in the file at `path`."""
    assert language.outline is not None
    text = source.decode("utf-8", "replace")
    starts = list(accumulate([len(line) + 1 for line in text.split("\n")], initial=0))[:-1]
    symbols: list[Symbol] = []
    imports: list[Import] = []
    around: list[tuple[int, Entry]] = []
    """The definitions around the current one, outermost first, each with its number."""
    for entry in language.outline(text, path):
        if isinstance(entry, Import):
            if len(imports) < MAX_IMPORTS_PER_FILE and can_be_resolved(entry):
                imports.append(entry)
            continue
        if len(symbols) >= MAX_SYMBOLS_PER_FILE:
            break
        name = entry.name.strip()
        if not name or len(name) > MAX_NAME_LENGTH:
            continue
        first = bisect_right(starts, entry.start)
        while around and not _is_nested(entry, first, around[-1][1], symbols[around[-1][0]]):
            around.pop()
        parent = around[-1][0] if around else -1
        above = first if entry.above < 0 else bisect_right(starts, entry.above)
        last = max(first, bisect_right(starts, _end_of_text(text, entry) - 1))
        # Sections hold the keys of a document, but do not qualify them.
        outer = symbols[parent].qualified_name if parent >= 0 and symbols[parent].kind != "section" else ""
        qualified = language.separator.join(part for part in (outer, entry.scope, name) if part)
        symbols.append(
            Symbol(
                name=name,
                kind=entry.kind,
                qualified_name=name if len(qualified) > MAX_QUALIFIED_NAME or entry.kind == "section" else qualified,
                line_start=first,
                line_end=last,
                signature=_head(text, entry, starts, first) if entry.signature is None else clean_signature(entry.signature),
                visibility=entry.visibility,
                parent=parent,
                doc=clean_doc(_comment_above(language, text, starts, above) if entry.doc is None else entry.doc),
            )
        )
        if len(around) < MAX_NESTING:
            around.append((len(symbols) - 1, entry))
    return Extraction(tuple(symbols), tuple(imports), has_errors=False)


def _is_nested(entry: Entry, line: int, around: Entry, symbol: Symbol) -> bool:
    """Whether a definition is within another; several names of one head are beside each other."""
    if around.end == entry.end and (symbol.line_start == line or entry.kind == around.kind in _LISTED):
        return False
    return entry.start < around.end and entry.end <= around.end


def _end_of_text(text: str, entry: Entry) -> int:
    """Returns the index after the last character of a definition that is not white space."""
    end = min(entry.end, len(text))
    while end > entry.start + 1 and text[end - 1].isspace():
        end -= 1
    return end


def _head(text: str, entry: Entry, starts: Sequence[int], line: int) -> str:
    """Returns the first line of a definition as a signature; a list in parentheses that opens in it is read to its end."""
    start = starts[line - 1]
    end = starts[line] if line < len(starts) else len(text)
    head = text[start : min(end, start + HEAD_BYTES)]
    if entry.kind in DOCUMENT_KINDS:
        return clean_signature(head.strip()[:KEY_SIGNATURE])
    if head.count("(") > head.count(")"):
        close = text.find(")", end, min(entry.end, start + HEAD_BYTES))
        if close >= 0:
            head = text[start : close + 1] + text[close + 1 : close + HEAD_BYTES].partition("\n")[0]
    return clean_signature(head)


def _indentation(text: str, start: int) -> int:
    end = start
    while text.startswith((" ", "\t"), end):
        end += 1
    return end - start


def _comment_above(language: Language, text: str, starts: Sequence[int], line: int) -> str:
    """Returns the comment that ends on the line above a line or its attributes, with its marks; empty if there is none."""
    marks = tuple(mark.decode() for mark in language.comment_starts)
    attributes = language.display.attribute_starts
    while attributes and line > 1 and text.startswith(attributes, starts[line - 2] + _indentation(text, starts[line - 2])):
        line -= 1
    lines: list[str] = []
    closing = ""
    """What begins the comment of several lines that is being read, from its end."""
    attributes = language.display.attribute_starts
    for number in range(line - 2, max(-1, line - 2 - MAX_COMMENTS), -1):
        written = text[starts[number] : starts[number + 1]].strip()
        if attributes and not lines and written.startswith(attributes):
            continue  # an attribute between the comment and the definition
        if closing:
            lines.append(written)
            if written.startswith(closing):
                closing = ""
            continue
        opening = next((first for first, last in _DELIMITERS if first in marks and written.endswith(last)), "")
        if opening and opening in written and not written.startswith(opening):
            break  # a comment after code
        is_open = opening and not (written.startswith(opening) and len(written) >= len(opening) * 2)
        if not written.startswith(marks) and not opening:
            break
        lines.append(written)
        closing = opening if is_open else ""
    return "" if closing else "\n".join(reversed(lines))[: 8 * DOC_LIMIT]
