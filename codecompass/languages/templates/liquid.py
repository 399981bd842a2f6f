"""Liquid, the templates of shops and sites: tags like those of Jinja, statements in one tag, scripts and styles in tags."""

import re
from collections.abc import Iterable, Iterator
from typing import Final

from codecompass import lazy
from codecompass.languages.display import Display
from codecompass.languages.documents.html import MARKUP_USES, PAGE, TEMPLATE_TAG, instead_of_tag, script_regions
from codecompass.languages.language import Language
from codecompass.languages.records import Import
from codecompass.languages.templates.template_tags import (
    percent_calls,
    percent_reader,
    template_imports,
    with_tags,
    without_comments,
)
from codecompass.languages.uses.references import references
from codecompass.languages.walk.markup import Pieces
from codecompass.languages.walk.regions import Region, Regions
from codecompass.languages.walk.text_rules import Entry, imports_of, together

_TAG: Final = r"\{%-?\s*+"
_COMMENTS: Final = lazy.pattern(
    rf"{_TAG}(?:(?P<comment>comment|doc|schema)\b.*?(?:{_TAG}end(?P=comment)\b|\Z)"
    rf"|(?P<raw>raw)\b.*?(?:{_TAG}endraw\b|\Z)|#[^%]*+)",
    re.DOTALL,
)
_CODE: Final = lazy.pattern(
    rf"{_TAG}(?P<word>javascript|stylesheet|style)\b[^%]*+%\}}(?P<code>.*?)(?:{_TAG}end(?P=word)\b|\Z)", re.DOTALL
)
_LANGUAGES: Final = {"javascript": "javascript", "stylesheet": "css", "style": "css"}
_STATEMENTS: Final = lazy.pattern(rf"{_TAG}liquid\b(?P<lines>(?>(?:[^%]++|%(?!\}}))*))")
_INCLUDED: Final = "include|render|layout|sections?"
_INCLUDE: Final = lazy.pattern(rf"^[ \t]*+(?:{_INCLUDED})[ \t]++[\"']([^\"'\n]++)[\"']", re.MULTILINE)
_PRINTED: Final = lazy.pattern(TEMPLATE_TAG)


def _in_statements(text: str, _path: str) -> Iterator[Import]:
    """Yields the templates that the lines of `{% liquid %}` include."""
    pieces = Pieces(text)
    for match in _STATEMENTS.finditer(text):
        pieces.add(*match.span("lines"))
    return imports_of(_INCLUDE, pieces.whole(), text, "include")


def _code_blank(text: str) -> str:
    """Returns a template of which the scripts and styles in tags are blank, which are no markup."""
    pieces, at = Pieces(text), 0
    for match in _CODE.finditer(text):
        pieces.add(at, match.start("code"))
        at = match.end("code")
    pieces.add(at, len(text))
    return pieces.whole()


_READ: Final = with_tags(together(PAGE, _in_statements), percent_reader(_COMMENTS, _INCLUDED), _COMMENTS)


def _outline(text: str, path: str) -> Iterable[Entry | Import]:
    return _READ(_code_blank(text), path)


def regions(text: str) -> list[Region]:
    """Returns the scripts and styles of a template, those in elements and those in tags."""
    code = without_comments(_COMMENTS, text)
    found = list(script_regions(_code_blank(code)))
    for match in _CODE.finditer(code):
        start, end = match.span("code")
        found.append(Region(_LANGUAGES[match["word"]], start, end, _PRINTED.sub(instead_of_tag, code[start:end])))
    return sorted(found, key=lambda region: region.start)


LIQUID = Language(
    outline=_outline,
    imports=template_imports(".liquid", ".html"),
    uses=references("css", f"{MARKUP_USES}|{percent_calls}"),
    regions=Regions(
        holds="scripts, styles", found=regions, marks=(b"<script", b"<style", b"endjavascript", b"endstylesheet", b"endstyle")
    ),
    display=Display(lexer="liquid"),
)
