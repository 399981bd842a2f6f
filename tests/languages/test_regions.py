"""Files in files: which of their text is code, in which language, and at which lines."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from codecompass.languages import described
from codecompass.languages.ecmascript.vue import vue_code
from codecompass.languages.uses.occurrences import occurrences
from codecompass.languages.walk.extract import Extraction
from codecompass.languages.walk.markup import braces_code, in_pascal_case
from codecompass.languages.walk.regions import uses_in_file, with_regions
from codecompass.worker.parsing import Parsers, interrupting_limit

COMPONENTS = ("astro", "svelte", "vue")

CPU_SECONDS = 3


NOTHING = Extraction((), (), has_errors=False)


def regions_of(language, text):
    return list(described(language).regions.in_text(text))


def code_of(language, text):
    """Returns the region with the code of a component."""
    return regions_of(language, text)[0]


def contents(language, text, path="a/b"):
    return with_regions(language, text, path, NOTHING, Parsers().read)


def uses(language, text):
    """Returns `name line usage` of all uses."""
    found = uses_in_file(contents(language, text), text, language, (), occurrences)
    return {f"{each.name} {use.line} {use.usage}" for each in found for use in each.uses}


@pytest.mark.parametrize(
    ("language", "head", "expected"),
    [
        ("vue", "<script>", "javascript"),
        ("vue", "<script setup>", "javascript"),
        ("vue", "<script setup lang='ts'>", "typescript"),
        ("vue", '<script lang="tsx" setup>', "tsx"),
        ("svelte", '<script lang="ts" generics="T extends Record<string, number>">', "typescript"),
        ("svelte", '<script context="module" type="text/javascript">', "javascript"),
        ("astro", "<script>", "tsx"),
    ],
)
def test_a_script_is_in_the_language_that_it_names(language, head, expected):
    code = code_of(language, f"<p>a</p>\n{head}\nb()\n</script>\n")

    assert code.language == expected
    assert code.code.split("\n")[2] == "b()"
    assert code.code.replace("b()", "").strip() == ""


@pytest.mark.parametrize(
    "text",
    [
        "<script type='application/ld+json'>a()</script>",
        "<style>a()</style>",
        "<!-- <script>a()</script> -->",
        "<p title='a()'>a() {{ }}</p>",
        "<script lang='coffee'>a()</script>",
    ],
)
def test_what_is_no_code_is_blank(text):
    assert not uses("vue", text)


def test_scripts_of_a_component_that_nothing_closes_reach_to_its_end():
    assert uses("vue", "<script>\na()\n") == {"a 2 call"}


@pytest.mark.parametrize(
    ("markup", "expected"),
    [
        ('<p :a="b(1)">', {"b 1 call"}),
        ("<p\n  @click.stop='b'>", {"b 2 read"}),
        ('<p v-if="a.b" v-else>', {"a 1 read", "b 1 read"}),
        ('<p v-for="(a, b) in c()">', {"c 1 call"}),
        ("<p>{{ a({ b: c }) }} d</p>", {"a 1 call", "b 1 key", "c 1 read"}),
        ('<Card/><my-panel a="b"/><div/>', {"Card 1 call", "MyPanel 1 call"}),
        ("<a-b-c></a-b-c>", {"ABC 1 call"}),
        ('<p #item="{ a }" v-slot="b">', set()),
        ("<p :a=\"'b' + c\">", {"c 1 read"}),
        ('<p :a="`b">{{ c }}', {"c 1 read"}),
        ('<p a="b" :c>', set()),
    ],
)
def test_the_code_in_a_template_of_vue(markup, expected):
    assert uses("vue", f"<template>{markup}</template>") == expected


@pytest.mark.parametrize(
    ("markup", "expected"),
    [
        ("<p on:click={a} {b}>", {"a 1 read", "b 1 read"}),
        ("{#if a(1)}b{:else if c}d{/if}", {"a 1 call", "c 1 read"}),
        ('<p title="a {b} c">it\'s {d}</p>', {"b 1 read", "d 1 read"}),
        ("{@html a({ b: '}' })} c", {"a 1 call", "b 1 key"}),
        ("<p use:a={b} transition:c>", {"a 1 read", "b 1 read", "c 1 read"}),
        ("<Card/>\n{a.map((b) => <Item/>)}", {"Card 1 call", "a 2 read", "map 2 call", "b 2 read", "Item 2 call"}),
        ("a } {b}", {"b 1 read"}),
        ("{a", set()),
    ],
)
def test_the_code_in_braces(markup, expected):
    assert uses("svelte", markup) - {"b 2 read"} == expected - {"b 2 read"}


def test_front_matter_is_code():
    assert uses("astro", "---\na()\n---\n<p>{b()} c()</p>") == {"a 2 call", "b 4 call"}
    assert uses("astro", "<p>{b()} c()</p>\n---\n") == {"b 1 call"}


@pytest.mark.parametrize(
    ("name", "expected"), [("my-panel", "MyPanel"), ("card", "Card"), ("a.b_c d", "ABCD"), ("MyPanel", "MyPanel"), ("", "")]
)
def test_the_name_of_a_component(name, expected):
    assert in_pascal_case(name) == expected


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("src/ui/my-panel.vue", ("MyPanel", "ui.MyPanel")),
        ("ui/panel/index.vue", ("Panel", "ui.Panel")),
        ("routes/+page.svelte", None),
        ("pages/[id].astro", None),
    ],
)
def test_a_component_is_named_like_its_file_unless_that_is_no_name(path, expected):
    symbols = contents("vue", "<p/>\n", path).extraction.symbols

    assert [(symbol.name, symbol.qualified_name) for symbol in symbols] == ([] if expected is None else [expected])


def notebook(*cells, language="python", indent=1):
    made = [{"cell_type": "code", "metadata": {}, "outputs": [], "source": source} for source in cells]
    return json.dumps({"cells": made, "metadata": {"kernelspec": {"name": language, "language": language}}}, indent=indent)


def line_of(text, wanted):
    return next(number for number, line in enumerate(text.split("\n"), 1) if wanted in line)


def test_code_of_a_notebook_is_at_the_line_of_the_file_that_holds_it():
    text = notebook(["import a\n", "\n", "first(1)"], ["%matplotlib inline\n", "x = second('\\n', \"é\")\n", "third()"])

    assert uses("jupyter", text) == {
        f"a {line_of(text, 'import a')} read",
        f"first {line_of(text, 'first')} call",
        f"second {line_of(text, 'second')} call",
        f"third {line_of(text, 'third')} call",
    }


@pytest.mark.parametrize("indent", [None, 1])
def test_a_cell_may_be_one_string(indent):
    text = notebook("a()\nb()\n", "c()", indent=indent)

    lines = {name: line_of(text, f"{name}()") for name in "abc"}
    assert uses("jupyter", text) == {f"{name} {line} call" for name, line in lines.items()}


@pytest.mark.parametrize(
    "text",
    [
        notebook("a()", language="R"),
        notebook("%%bash\na()"),
        notebook("!a()\n%a()\na?"),
        '{"cells": [{"cell_type": "markdown", "source": ["a()"]}]}',
        '{"cells": [{"cell_type": "code", "outputs": [{"source": "a()"}], "metadata": {"source": ["a()"]}}]}',
        '{"cells": [',
        "",
        "[]",
    ],
)
def test_what_is_no_python_of_a_cell_is_not_read(text):
    assert not uses("jupyter", text)


def test_regions_are_read_three_deep():
    """Front matter, a page in a string of it, a script in that page; a query in that script is one too many."""
    text = """---
const page = /* html */ "<h1>Second</h1><script>class Third {} gql`query Fourth { a }`</script>";
---
"""

    found = {symbol.name for symbol in contents("astro", text).extraction.symbols}

    assert found == {"page", "Second", "Third", "B"}


def test_a_definition_in_a_region_is_a_member_of_what_is_around_it():
    text = "<template>\n</template>\n<script>\nconst QUERY = gql`\n  query Orders { id }\n`;\n</script>\n"

    symbols = contents("vue", text).extraction.symbols

    assert [(symbol.name, symbol.line_start, symbols[symbol.parent].name) for symbol in symbols if symbol.parent >= 0] == [
        ("Orders", 5, "QUERY")
    ]


def test_a_region_in_a_language_that_is_not_read_leaves_the_others():
    text = "<script>\nfunction a() {}\n</script>\n<style lang='stylus'>\n.b\n  c d\n</style>\n<style>\n.e {}\n</style>\n"

    assert [symbol.name for symbol in contents("vue", text).extraction.symbols] == ["B", "a", "e"]


PIECES = st.sampled_from(
    (
        *("<script>", "</script>", "<script lang='ts'>", "<style>", "<!--", "-->", "---\n", "{{", "}}", "{", "}", "\n", "\r\n"),
        *("'", '"', "`", "<A", "<a-b", ' :a="', " v-for='", "a in b", "//", "/*", "é", "\u2028", " use:a"),
    )
)


@pytest.mark.parametrize("language", COMPONENTS)
@settings(max_examples=60, deadline=None)
@given(pieces=st.lists(PIECES, max_size=30))
def test_all_lines_of_a_component_stay_where_they_are(language, pieces):
    text = "".join(pieces)

    code = code_of(language, text)

    breaks = [at for at, character in enumerate(text) if character in "\r\n"]
    for left in (code.code, code.searched):
        assert len(left) == len(text)
        assert [at for at, character in enumerate(left) if character in "\r\n"] == breaks
    assert (code.start, code.end, code.lines) == (0, len(text), None)


@settings(max_examples=60, deadline=None)
@given(text=st.text())
def test_no_text_is_refused(text):
    for language in (*COMPONENTS, "jupyter"):
        regions_of(language, text)


@pytest.mark.slow
def test_the_cost_of_repeated_openings_grows_with_their_length_alone():
    shapes = (
        "<script",
        "<script>",
        "<script '",
        "<!--",
        "{",
        "{{",
        "{{ {",
        "}",
        ' :a="',
        " :a='b' ",
        "<a-",
        "'",
        "`",
        "{`",
        " v-a",
        "---\n",
    )
    for shape in shapes:
        text = shape * (60_000 // len(shape))
        with interrupting_limit(CPU_SECONDS):
            for language in COMPONENTS:
                code_of(language, text)
    for shape in ("{", "[", '"a', '{"cells":[', '"\\', ",", "\n"):
        with interrupting_limit(CPU_SECONDS):
            regions_of("jupyter", shape * (60_000 // len(shape)))


def test_markup_without_code_is_blank():
    assert vue_code("<p>a</p>").strip() == braces_code("<p>a</p>").strip() == ""
