"""Whole definitions: exactly their lines, up to a budget, with a note if they are cut."""

import textwrap

import pytest

from codecompass.protocol.encode import encoded_size
from codecompass.protocol.requests import LocateSymbol, SearchCode
from codecompass.query import locate_symbol, search_code
from codecompass.query.excerpts import BODY_BYTES, BODY_LINES
from codecompass.query.options import MAX_DEFAULT_RESULT_BYTES, QueryOptions


@pytest.fixture(scope="session")
def body(index_of, state):
    """Returns the only hit for a name in a file, at level `body`."""

    def located(path, text, name, **arguments):
        snapshot = index_of({path: text})
        (result,) = locate_symbol(snapshot, LocateSymbol(name=name, detail_level="body", **arguments), state).results
        return result

    return located


def test_a_body_is_the_definition_to_its_last_line_without_its_indentation(shop, state):
    (result,) = locate_symbol(shop, LocateSymbol(name="RateLimiter.allow", detail_level="body"), state).results

    assert result.body == textwrap.dedent(
        '''\
        def allow(self, client: str) -> bool:
            """Takes one token from the bucket of a client."""
            if self.storage.count(client) >= self.per_minute:
                raise LimitExceeded("too many requests from this client")
            return True'''
    )
    assert (result.body_line_start, result.body_lines_omitted, result.signature != "") == (0, 0, True)


def test_a_body_beyond_the_budget_ends_early_and_says_how_much_is_missing(body):
    result = body("a.py", "def long():\n" + "".join(f"    x{n} = {n}\n" for n in range(1, 301)), "long")

    assert result.body.splitlines() == ["def long():", *(f"    x{n} = {n}" for n in range(1, BODY_LINES))]
    assert result.body_lines_omitted == result.line_end - result.line_start + 1 - BODY_LINES == 301 - BODY_LINES


def test_wide_lines_count_by_their_bytes_and_a_very_long_one_is_cut(body):
    wide = body("a.py", "def wide():\n" + ("    x = '" + "é" * 200 + "'\n") * 100, "wide")
    long = body("b.py", "def far():\n    x = '" + "y" * 5000 + "'\n    return x\n", "far")

    assert len(wide.body.encode()) <= BODY_BYTES
    assert len(wide.body.splitlines()) + wide.body_lines_omitted == 101
    assert [line[-1] for line in long.body.splitlines()] == [":", "…", "x"]
    assert long.body_lines_omitted == 0


LEADS = {
    "a.py": ("# Says it.\n", "@cache\n@wraps(\n    other,\n)\n", "def greet():\n    pass\n"),
    "a.rs": ("/// Says it.\n/// Twice.\n", "#[inline]\n", "fn greet() {}\n"),
    "a.ts": ("/**\n * Says it.\n */\n", "", "export function greet() {}\n"),
    "A.java": ("    /** Says it. */\n", "    @Override\n", "    void greet() {}\n"),
    "a.ex": ('  @doc """\n  Says it.\n  """\n', "  @spec greet() :: atom\n", "  def greet do\n    :ok\n  end\n"),
    "a.go": ("// greet says it.\n", "", "func greet() {}\n"),
    "a.lua": ("-- Says it.\n", "", "function greet() end\n"),
}
FRAMES = {"A.java": ("class A {\n", "}\n"), "a.ex": ("defmodule A do\n", "end\n"), "a.go": ("package a\n\n", "")}


@pytest.mark.parametrize("path", LEADS)
def test_what_belongs_to_a_definition_comes_with_it_and_the_comment_where_it_is_asked_for(body, path):
    docs, attributes, text = LEADS[path]
    head, tail = FRAMES.get(path, ("x = 1\n\n" if path.endswith(("py", "lua")) else "", ""))
    source = head + "\n" + docs + attributes + text + tail

    plain, whole = body(path, source, "greet"), body(path, source, "greet", docs=True)

    assert plain.body == textwrap.dedent(attributes + text).removesuffix("\n")
    assert whole.body == textwrap.dedent(docs + attributes + text).removesuffix("\n")
    assert (whole.body_line_start or whole.line_start) == head.count("\n") + 2
    assert plain.body_line_start == (plain.line_start - attributes.count("\n") if attributes else 0)


def test_an_assignment_to_an_instance_variable_is_no_decorator(body):
    result = body("a.rb", "class A\n  @count = 1\n  def greet\n    :ok\n  end\nend\n", "greet")

    assert result.body == "def greet\n  :ok\nend"


def test_a_hit_that_is_no_definition_shows_its_lines(index_of, state):
    snapshot = index_of({"notes.md": "# Notes\n\n    The kettle is blue.\n"})

    (result,) = search_code(snapshot, SearchCode(query="kettle blue", detail_level="body"), state).results

    assert result.result_type == "snippet"
    assert result.body == "# Notes\n\n    The kettle is blue."


def test_a_line_in_a_short_definition_shows_that(index_of, state):
    fields = "".join(f"    field_{n}: int\n" for n in range(50))
    snapshot = index_of({"a.py": f"class Wide:\n{fields}    kettle: str\n    other: str\n"})

    (result,) = search_code(snapshot, SearchCode(query="kettle", mode="literal", detail_level="body"), state).results

    assert result.body.splitlines()[0] == "class Wide:"
    assert [line.line for line in result.matched_lines] == [52]


def test_bodies_make_room_for_the_places_of_later_hits(index_of, state):
    text = "def handle_order(order):\n" + "".join(f"    total_{n} = order.lines[{n}].price * order.rate\n" for n in range(110))
    snapshot = index_of({f"m{n}.py": text for n in range(10)})

    reply = locate_symbol(snapshot, LocateSymbol(name="handle_order", detail_level="body"), state)

    assert len(reply.results) == 10
    assert 3 <= sum(bool(result.body) for result in reply.results) < 10
    assert all(bool(result.body) != (result.body_lines_omitted == 111) for result in reply.results)
    assert sum(map(encoded_size, reply.results)) <= MAX_DEFAULT_RESULT_BYTES
    assert reply.metadata.result_completeness == "complete"


def test_compact_has_no_body(shop, state):
    (result,) = locate_symbol(shop, LocateSymbol(name="allow", detail_level="body", compact=True), state).results

    assert (result.body, result.lines) == ("", ())


def _lines_shown(index_of, state, text):
    options = QueryOptions(answers="text")
    (first, *_) = search_code(
        index_of({"a.py": text}), SearchCode(query="how is the invoice ledger settled"), state, options
    ).results
    return [line.text.strip() for line in first.excerpt.lines]


def test_lines_of_a_signature_are_not_shown_below_it(index_of, state):
    text = "def settle(\n    invoice: Invoice,\n    ledger: Ledger,\n) -> Settled:\n" + "    step()\n" * 10
    assert _lines_shown(index_of, state, text + "    return close(invoice, ledger)\n") == ["return close(invoice, ledger)"]


def test_three_lines_with_most_of_the_question_are_shown_however_many_words_they_share(index_of, state):
    text = "def settle(x):\n" + "    step()\n" * 10 + "".join(f"    invoice.ledger(x, {n})\n" for n in range(5))
    assert _lines_shown(index_of, state, text) == [f"invoice.ledger(x, {n})" for n in range(3)]


def test_of_lines_with_one_word_of_the_question_one_is_shown(index_of, state):
    text = "def settle(x):\n" + "    step()\n" * 10 + "".join(f"    invoice(x, {n})\n" for n in range(5))
    assert _lines_shown(index_of, state, text) == ["invoice(x, 0)"]
