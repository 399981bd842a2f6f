"""Templates of pages: what their tags use and include, and that hostile ones take bounded time."""

import pytest

from codecompass.languages import load
from codecompass.languages.imports.path_index import InMemoryPaths
from codecompass.languages.imports.resolution import resolve
from codecompass.languages.records import Import
from codecompass.languages.uses.occurrences import occurrences
from codecompass.languages.walk.extract import Extraction
from codecompass.languages.walk.regions import MAX_REGIONS, with_regions
from codecompass.languages.walk.text_symbols import outlined
from codecompass.worker.parsing import Parsers, interrupting_limit

TEMPLATES = ("gotemplate", "handlebars", "html", "jinja", "liquid", "nunjucks", "twig")
CPU_SECONDS = 5
NOTHING = Extraction((), (), has_errors=False)


def read(language, text, path="shop/page"):
    own = outlined(load(language), text.encode(), path)
    return with_regions(language, text, path, own, Parsers().read).extraction


def called(language, text):
    return {f"{use.line} {each.name}" for each in occurrences(language, text, ()) for use in each.uses if use.usage == "call"}


@pytest.mark.parametrize(
    ("language", "text", "expected"),
    [
        ("jinja", "{{ field(form.name) }}\n{% call list(x) %}", {"1 field", "2 list"}),
        ("html", "{{ forms.field(x) }}", {"1 field"}),
        ("yaml", 'name: {{ include "shop.name" . }}\n{{- $x := include "shop.labels" . }}', {"1 shop.name", "2 shop.labels"}),
        ("gotemplate", '{{- if (include "a.b" .) }}\n{{ template "c/d" . }}', {"1 a.b", "2 c/d"}),
        ("handlebars", "{{> card}}\n{{#> layouts/main}}", {"1 card", "2 layouts/main"}),
        ("html", '<p th:replace="~{parts/head :: header(1)}">', {"1 header"}),
    ],
)
def test_tags_use_macros_and_named_templates(language, text, expected):
    assert called(language, text) == expected


@pytest.mark.parametrize(
    ("language", "spec", "path", "expected"),
    [
        ("html", "shop/card.html", "app/templates/shop/card.html", "app/templates/shop/card.html"),
        ("html", "base.html", "app/templates/base.html", "app/templates/base.html"),
        ("html", "/css/site.css", "public/css/site.css", "public/css/site.css"),
        ("html", "https://example.org/site.css", "site.css", ""),
        ("twig", "@Blog/layout.html.twig", "templates/layout.html.twig", "templates/layout.html.twig"),
        ("liquid", "price", "snippets/price.liquid", "snippets/price.liquid"),
        ("handlebars", "jobs/list", "views/partials/jobs/list.hbs", "views/partials/jobs/list.hbs"),
        ("handlebars", "card", "src/cards.hbs", ""),
        ("jinja", "../secret.j2", "elsewhere/secret.j2", ""),
    ],
)
def test_an_included_template_is_found_below_any_directory(language, spec, path, expected):
    assert resolve(language, Import(1, 1, spec, kind="include"), "app/pages/index.x", InMemoryPaths([path])) == expected


@pytest.mark.parametrize("language", TEMPLATES)
@pytest.mark.parametrize(
    "unit",
    [
        "{% block a %}",
        "{% block a",
        "{% endblock %}",
        '{{ define "a" }}',
        "{{ if a }}",
        "{{",
        "{{ end }}",
        '{{#*inline "a"}}',
        "{#",
        "{% raw %}",
        "{{!--",
        "<script>",
        "<script>a(</script>",
        "<style>.a{",
        "<script src=",
        ' th:fragment="a',
        "{{ a(",
        "<h1>{{ a }}",
        "{% macro a(",
        '<a id="b{',
    ],
)
def test_a_hostile_template_takes_bounded_time(language, unit):
    text = unit * (60_000 // len(unit))
    with interrupting_limit(CPU_SECONDS):
        read(language, text)
        occurrences(language, text, ())


@pytest.mark.parametrize(
    ("language", "units"),
    [
        ("blade", "{{ {!! @php <?php @a( @section('a') @if(( {{-- <x-a @include("),
        ("razor", '@{ @code{ @( @a.b( @if( @* <A @code{" @a[ @section_A{'),
        ("mdx", "` ``` { <A {` {/* export_const"),
        ("rmarkdown", "```{r} ``` ~~~{r #_a"),
        ("literatehaskell", "> \\begin{code} \\end{code}"),
    ],
)
def test_a_hostile_text_with_code_takes_bounded_time(language, units):
    for unit in units.split():
        for line in (unit, f"{unit}\n"):
            text = line * (60_000 // len(line))
            with interrupting_limit(CPU_SECONDS):
                list(load(language).regions.in_text(text))


def test_a_page_has_a_bounded_number_of_regions():
    text = "<script>function f() {}</script>\n" * (MAX_REGIONS + 100)

    assert len(read("html", text).symbols) == MAX_REGIONS


def test_blocks_may_be_nested_without_end():
    text = "{% block a %}\n" * 50 + "{% endblock %}\n" * 50

    symbols = read("jinja", text).symbols

    assert [(symbol.line_start, symbol.line_end) for symbol in symbols] == [(line, 101 - line) for line in range(1, 51)]


def test_a_broken_script_leaves_the_rest_of_its_page():
    text = "<h1>Orders</h1>\n<script>function a( {</script>\n<script>\nfunction b() {}\n</script>\n{% block c %}{% endblock %}\n"

    assert {(symbol.name, symbol.line_start) for symbol in read("html", text).symbols} >= {("Orders", 1), ("b", 4), ("c", 6)}


def test_scripts_of_templates_are_read_without_their_tags():
    text = "<script>\nconst a = {{ b }};\n{% if c %}\nfunction d() { return '{{ e }}'; }\n{% endif %}\n</script>"

    found = read("html", text)

    assert [(symbol.name, symbol.line_start) for symbol in found.symbols] == [("a", 2), ("d", 4)]
    assert not found.has_errors
