"""Templates of pages and other texts: Jinja, Nunjucks, Twig, Handlebars, Go templates.

Each has the tags of its kind (`template_tags.py`); the text around them is read like a page, for its ids, classes and scripts.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Final

from codecompass import lazy
from codecompass.languages.display import Display
from codecompass.languages.documents.html import MARKUP_USES, PAGE, script_regions
from codecompass.languages.language import Language
from codecompass.languages.records import Import
from codecompass.languages.templates.template_tags import (
    go_calls,
    go_comments,
    go_tags,
    mustache_calls,
    mustache_comments,
    mustache_tags,
    percent_calls,
    percent_comments,
    percent_tags,
    template_imports,
    with_tags,
    without_comments,
)
from codecompass.languages.uses.references import references
from codecompass.languages.walk.regions import Region, Regions
from codecompass.languages.walk.text_rules import Entry, Outline

_IS_PAGE: Final = lazy.pattern(r"<[a-zA-Z][\w-]*+[\s>]")


def _template(
    tags: Outline, comments: re.Pattern[str], calls: str, *endings: str, lexer: str | None, family: str = "css"
) -> Language:
    page = with_tags(PAGE, tags, comments)

    def outline(text: str, path: str) -> Iterable[Entry | Import]:
        return (page if _IS_PAGE.search(text) else tags)(text, path)

    def regions(text: str) -> Iterator[Region]:
        return script_regions(without_comments(comments, text))

    return Language(
        outline=outline,
        imports=template_imports(*endings),
        uses=references(family, f"{MARKUP_USES}|{calls}"),
        regions=Regions(holds="scripts, styles", found=regions, marks=(b"<script", b"<style")),
        display=Display(lexer=lexer),
    )


JINJA = _template(percent_tags, percent_comments, percent_calls, ".j2", ".html", lexer="jinja")
NUNJUCKS = _template(percent_tags, percent_comments, percent_calls, ".njk", ".html", lexer="jinja")
TWIG = _template(percent_tags, percent_comments, percent_calls, ".twig", ".html.twig", lexer="twig")
HANDLEBARS = _template(mustache_tags, mustache_comments, mustache_calls, ".hbs", ".handlebars", ".mustache", lexer="handlebars")
GOTEMPLATE = _template(go_tags, go_comments, go_calls, ".tmpl", ".gotmpl", ".tpl", lexer=None, family="schema")
