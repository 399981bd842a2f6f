"""Templates of pages and other texts: Jinja, Nunjucks, Twig, Liquid, Handlebars, Go templates.

Each has the tags of its kind (`template_tags.py`); the text around them is read like a page, for its ids, classes and scripts.
"""

from collections.abc import Callable, Iterable
from typing import Final

from codecompass import lazy
from codecompass.languages.display import Display
from codecompass.languages.html import MARKUP_USES, PAGE, script_regions
from codecompass.languages.language import Language
from codecompass.languages.records import Import
from codecompass.languages.template_tags import (
    go_calls,
    go_tags,
    mustache_calls,
    mustache_tags,
    percent_calls,
    percent_tags,
    template_imports,
    with_tags,
    written_path,
)
from codecompass.languages.uses.references import references
from codecompass.languages.walk.regions import Regions
from codecompass.languages.walk.text_rules import Entry, Outline

_IS_PAGE: Final = lazy.pattern(r"<[a-zA-Z][\w-]*+[\s>]")


def _read(tags: Outline) -> Outline:
    whole = with_tags(PAGE, tags)

    def outline(text: str, path: str) -> Iterable[Entry | Import]:
        return (whole if _IS_PAGE.search(text) else tags)(text, path)

    return outline


def _template(
    tags: Outline,
    calls: str,
    *endings: str,
    lexer: str | None,
    family: str = "css",
    path_of: Callable[[Import], str] = written_path,
) -> Language:
    return Language(
        outline=_read(tags),
        imports=template_imports(*endings, path_of=path_of),
        uses=references(family, f"{MARKUP_USES}|{calls}"),
        regions=Regions(holds="scripts, styles", found=script_regions, marks=(b"<script", b"<style")),
        display=Display(lexer=lexer),
    )


JINJA = _template(percent_tags, percent_calls, ".j2", ".html", lexer="jinja")
NUNJUCKS = _template(percent_tags, percent_calls, ".njk", ".html", lexer="jinja")
TWIG = _template(percent_tags, percent_calls, ".twig", ".html.twig", lexer="twig")
LIQUID = _template(percent_tags, percent_calls, ".liquid", ".html", lexer="liquid")
HANDLEBARS = _template(mustache_tags, mustache_calls, ".hbs", ".handlebars", ".mustache", lexer="handlebars")
GOTEMPLATE = _template(go_tags, go_calls, ".tmpl", ".gotmpl", ".tpl", lexer=None, family="schema")
