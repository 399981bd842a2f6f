"""`locate_symbol`: interpretations of a name from strictest to loosest, with definitions before everything else."""

import json

import pytest

from codecompass.protocol.encode import encode
from codecompass.protocol.requests import GetSymbolHierarchy, LocateSymbol
from codecompass.query import get_symbol_hierarchy, locate_symbol
from codecompass.query.names.known_names import MANY
from codecompass.query.names.name_lookup import edit_distance


@pytest.fixture(scope="session")
def locate(shop, state):
    def located(name, **arguments):
        return locate_symbol(shop, LocateSymbol(name=name, **arguments), state)

    return located


def places(reply):
    return [(result.path, result.line_start, result.name) for result in reply.results]


def test_an_exact_name_gives_its_definition_with_its_lines(locate):
    reply = locate("validate_token")

    assert places(reply) == [("src/auth/jwt.rs", 8, "validate_token")]
    assert reply.results[0].line_end == 13
    assert reply.total_candidates == 1


@pytest.mark.parametrize("separator", [".", "::", "#", "/", ":", "\\", "->"])
def test_a_qualified_name_takes_any_separator(locate, separator):
    assert places(locate(separator.join(["RateLimiter", "Window", "reset"]))) == [("shop/limits.py", 22, "reset")]
    assert places(locate(separator.join(["jwt", "validate_token"])))[0][0] == "src/auth/jwt.rs"


def test_a_qualified_name_leaves_out_the_same_name_elsewhere(locate):
    assert {path for path, _, _ in places(locate("reset"))} == {"shop/limits.py", "shop/storage.py", "tests/test_limits.py"}
    assert places(locate("storage.reset")) == [("shop/storage.py", 14, "reset")]
    assert places(locate("shop/storage.py::reset")) == [("shop/storage.py", 14, "reset")]


def test_calls_are_names_too(locate):
    assert places(locate("open_storage()"))[0] == ("shop/storage.py", 9, "open_storage")


def test_product_code_comes_before_tests_and_vendored_code(locate):
    assert [path for path, _, _ in places(locate("RateLimiter"))] == ["shop/limits.py", "third_party/limiter/limits.py"]
    assert [path for path, _, _ in places(locate("reset"))][-1] == "tests/test_limits.py"


def test_a_definition_comes_before_its_impl_block_and_its_declaration(locate):
    handler = locate("AuthHandler").results
    push = locate("queue_push").results
    queue = locate("queue", kind="struct").results

    assert [result.kind for result in handler] == ["struct", "impl"]
    assert [result.path for result in push] == ["native/queue.c", "native/queue.h"]
    assert queue[0].path == "native/queue.c"


def test_a_function_on_one_line_is_a_definition_and_a_prototype_on_two_is_none(index_of, state):
    """Distinguished by the body, not by the number of lines."""
    snapshot = index_of(
        {
            "a.h": "int short_one(void) { return 1; }\nint long_one(\n    int value);\n",
            "b.h": "int short_one(void);\n",
            "c.c": "int long_one(int value) { return value; }\n",
        }
    )

    def located(name):
        return [result.path for result in locate_symbol(snapshot, LocateSymbol(name=name), state).results]

    assert located("short_one") == ["a.h", "b.h"]
    assert located("long_one") == ["c.c", "a.h"]


def test_a_stub_is_a_declaration_of_what_its_own_language_defines_for_the_same_owner(index_of, state):
    """A stub stays a definition if what it declares is defined only in another language or for another class."""
    snapshot = index_of(
        {
            "kit/core.pyi": "class Url:\n    def build(self) -> str: ...\n\nclass Host:\n    def build(self) -> str: ...\n",
            "kit/url.py": "class Url:\n    def build(self):\n        return str(self)\n",
            "src/host.rs": "impl Host {\n    fn build(&self) -> String {\n        String::new()\n    }\n}\n",
            "tests/test_kit.py": "class Fake:\n    def build(self):\n        return 1\n",
        }
    )

    found = [result.qualified_name for result in locate_symbol(snapshot, LocateSymbol(name="build"), state).results]

    assert found == [
        "kit.core.Host.build",
        "kit.url.Url.build",
        "host::Host::build",
        "tests.test_kit.Fake.build",
        "kit.core.Url.build",
    ]


def test_fields_do_not_hide_the_functions_and_types_of_their_name(index_of, state):
    """Fields and enumerators are identified by their owner; what its name alone identifies comes first, even in tests."""
    fields = "".join(f"struct Part{index} {{\n    int state;\n}};\n" for index in range(12))
    snapshot = index_of(
        {
            "lib/parts.c": fields + "enum Mode {\n    state\n};\n",
            "tests/state_test.c": "struct state {\n    int value;\n};\n",
            "third_party/other.c": "int state(void)\n{\n    return 1;\n}\n",
        }
    )

    results = locate_symbol(snapshot, LocateSymbol(name="state", limit=100), state).results

    assert (results[0].path, results[0].kind) == ("tests/state_test.c", "struct")
    assert [result.kind for result in results[1:14]] == ["const", *["field"] * 12]
    assert results[14].path == "third_party/other.c"


def test_constants_that_have_no_owner_stay_with_product_code(index_of, state):
    snapshot = index_of(
        {
            "src/store.ts": "export const useStore = create(options);\n",
            "tests/store.ts": "export function useStore() {\n  return null;\n}\n",
        }
    )

    results = locate_symbol(snapshot, LocateSymbol(name="useStore"), state).results

    assert [result.path for result in results] == ["src/store.ts", "tests/store.ts"]


def test_a_line_that_names_a_module_comes_after_what_has_a_body(index_of, state):
    """Every file of the namespace contains `namespace A\\View;`."""
    files = {f"src/View/Part{index}.php": f"<?php\nnamespace App\\View;\n\nclass Part{index}\n{{\n}}\n" for index in range(12)}
    snapshot = index_of({**files, "tests/ViewTest.php": "<?php\n\nclass View\n{\n}\n"})

    results = locate_symbol(snapshot, LocateSymbol(name="View"), state).results

    assert [result.kind for result in results] == ["class", *["module"] * 9]


def test_a_function_of_a_type_is_one_of_its_members(index_of, state):
    """Rust calls those without `self` functions; they are no closer to the name than a method."""
    rust = "pub struct Deep;\n\nimpl Deep {\n    pub fn build() -> Deep {\n        Deep\n    }\n}\n"
    python = "class Plain:\n    def build(self):\n        return 1\n"
    snapshot = index_of(
        {"core/src/deep.rs": rust, "kit/plain.py": python, "core/src/free.rs": "pub fn build() {\n    deep()\n}\n"}
    )

    results = locate_symbol(snapshot, LocateSymbol(name="build"), state).results

    assert [result.path for result in results] == ["core/src/free.rs", "kit/plain.py", "core/src/deep.rs"]


def test_what_is_inside_its_namesake_comes_after_it(index_of, state):
    """In Elixir a struct is named after its module; a class represents its constructors."""
    module = "defmodule Shop.Basket do\n  @moduledoc false\n\n  defstruct [:items]\nend\n"
    snapshot = index_of({"lib/basket.ex": module, "src/Crate.java": "class Crate {\n    Crate() {\n    }\n}\n"})

    def located(name):
        return [(result.kind, result.line_start) for result in locate_symbol(snapshot, LocateSymbol(name=name), state).results]

    assert located("Basket") == [("module", 1), ("struct", 4)]
    assert [line for _, line in located("Crate")] == [1, 2]


def test_a_macro_comes_before_the_prototypes_of_its_name(index_of, state):
    snapshot = index_of({"a.h": "void *grow(void *at, int size);\n", "z.h": "#define grow(at, size) shop_grow(at, size)\n"})

    results = locate_symbol(snapshot, LocateSymbol(name="grow"), state).results

    assert [result.kind for result in results] == ["macro", "fn"]


def test_a_prototype_and_its_definition_are_the_same_symbol(locate):
    """The semicolon shows which of them is the prototype."""
    definition, prototype = locate("queue_push", detail_level="context").results

    assert prototype.signature == f"{definition.signature};"
    assert prototype.symbol_stable_id == definition.symbol_stable_id


def test_case_is_forgiven_only_where_no_exact_name_exists(locate):
    assert places(locate("ratelimiter"))[0][2] == "RateLimiter"
    assert {name for _, _, name in places(locate("RateLimiter"))} == {"RateLimiter"}


@pytest.mark.parametrize("words", ["parse http header", "httpHeaderParse", "parse-http", "http_header"])
def test_the_words_of_a_name_find_it_in_any_order_and_notation(locate, words):
    assert places(locate(words))[0] == ("shop/limits.py", 30, "parse_http_header")


@pytest.mark.parametrize(
    ("typo", "name"), [("validate_tokn", "validate_token"), ("RateLimter", "RateLimiter"), ("Calims", "Claims")]
)
def test_typing_errors_are_forgiven(locate, typo, name):
    assert places(locate(typo))[0][2] == name


def test_the_beginning_of_a_name_finds_it(locate):
    assert places(locate("latest_ver"))[0][2] == "latest_version"


def test_kind_and_language_filter(locate):
    assert {result.kind for result in locate("AuthHandler", kind="struct").results} == {"struct"}
    assert {result.language for result in locate("reset", language="py").results} == {"python"}
    assert places(locate("authenticate", kind="method")) == [("src/auth/handler.rs", 14, "authenticate")]
    assert places(locate("validate_token", path="web/**")) == []


def test_the_kind_use_answers_where_a_name_is_imported(locate):
    reply = locate("Storage", kind="use")

    assert places(reply) == [("shop/limits.py", 3, "shop.storage.Storage")]
    assert reply.results[0].kind == "use"
    assert [name for _, _, name in places(locate("BaseRouter", kind="use"))] == ["Router as BaseRouter from express"]
    assert places(locate("storage.Storage", kind="use")) == places(reply)


def test_an_unknown_name_is_an_empty_answer_that_suggests_a_search(locate):
    reply = locate("zzzzqqqq")

    assert reply.results == ()
    assert reply.suggested_next_actions[0].tool == "search_code"


def test_scores_sort_the_page(locate):
    for name in ("reset", "RateLimiter", "limit"):
        scores = [result.score for result in locate(name, limit=100).results]

        assert scores == sorted(scores, reverse=True)
        assert all(0.0 < score < 1.0 for score in scores)


@pytest.mark.parametrize(
    "name", ["::", "*", "'", '"', "(", "a b c d e f g h i j k l m n o p", "x" * 9000, "\x00", "\ufffd", "😀", "%", "_", "\\"]
)
def test_any_text_is_a_name(locate, name):
    json.loads(encode(locate(name)))


def test_same_named_symbols_of_one_file_are_all_there(index_of, state):
    snapshot = index_of({"a.py": "def f(): return 1\n\n\nif True:\n    def f(): return 2\n\n\nclass C:\n    def f(self): pass\n"})

    reply = locate_symbol(snapshot, LocateSymbol(name="f"), state)

    assert [result.line_start for result in reply.results] == [1, 5, 9]
    assert len({result.symbol_id for result in reply.results}) == 3


@pytest.mark.parametrize(
    ("left", "right", "distance"),
    [("abc", "abc", 0), ("abc", "abd", 1), ("abc", "acb", 1), ("abc", "ab", 1), ("abc", "xyz", 3), ("", "", 0)],
)
def test_the_distance_between_words(left, right, distance):
    assert edit_distance(left, right, cap=3) == edit_distance(right, left, cap=3) == distance


@pytest.mark.parametrize(
    ("name", "match", "found"),
    [
        ("validate_token", "exact", "validate_token"),
        ("RateLimiter.Window.reset", "exact", "reset"),
        ("fn validate_token(token: &str)", "exact", "validate_token"),
        ("ratelimiter", "case", "RateLimiter"),
        ("limiter_rate", "parts", "RateLimiter"),
        ("Elsewhere.open_storage", "parts", "open_storage"),
        ("validate_tokn", "similar", "validate_token"),
    ],
)
def test_every_hit_says_how_it_has_the_name(locate, name, match, found):
    reply = locate(name)

    assert (reply.results[0].match, reply.results[0].name) == (match, found)
    assert all(hit.match for hit in reply.results)


def test_guesses_alone_are_three_at_most_and_the_answer_says_what_they_are(index_of, state):
    snapshot = index_of({"a.py": "".join(f"def settle_invoice_{n}():\n    pass\n\n\n" for n in range(9))})

    reply = locate_symbol(snapshot, LocateSymbol(name="settl_invoice_1", limit=50), state)

    assert {hit.match for hit in reply.results} == {"similar"}
    assert len(reply.results) == reply.total_candidates == 3
    assert reply.notice == "nothing is named settl_invoice_1; similar:"


def test_no_symbol_of_the_name_is_said_and_so_is_one_that_a_filter_leaves_out(locate):
    assert locate("frobnicate").notice == "nothing is named frobnicate; search_code finds it in all text"
    assert locate("RateLimiter", kind="enum").metadata.warnings == (
        "2 of this name are left out by kind, language or path: RateLimiter",
    )
    assert (locate("RateLimiter").notice, locate("RateLimiter").metadata.warnings) == ("", ())


def test_a_place_of_an_import_is_exact(locate):
    assert {hit.match for hit in locate("Storage", kind="use").results} == {"exact"}


def test_tests_are_found_by_their_titles_and_come_behind_definitions(index_of, state):
    """A title is looked up like a name; by some of its words only if tests are requested."""
    files = {
        "src/parse.ts": "export function parse(text: string) {\n  return text;\n}\n",
        "test/parse.test.ts": "describe('parse', () => {\n  it('keeps an empty text as it is', () => {\nparse(''); });\n});\n",
    }
    snapshot = index_of(files)

    def located(name, **arguments):
        reply = locate_symbol(snapshot, LocateSymbol(name=name, **arguments), state)
        return [(hit.kind, hit.name) for hit in reply.results]

    assert located("parse") == [("fn", "parse"), ("test", "parse")]
    assert located("parse", kind="test") == [("test", "parse")]
    assert located("keeps an empty text as it is") == [("test", "keeps an empty text as it is")]
    assert located("empty text", kind="test") == [("test", "keeps an empty text as it is")]
    assert located("100% of_it", kind="test") == []
    anchor = get_symbol_hierarchy(snapshot, GetSymbolHierarchy(symbol_name="parse"), state)
    assert anchor.hierarchy[0].kind == "fn"
    chain = get_symbol_hierarchy(snapshot, GetSymbolHierarchy(symbol_name="keeps an empty text as it is"), state)
    assert [node.name for node in chain.hierarchy] == ["keeps an empty text as it is", "parse"]


def test_pages_of_a_name_of_many_follow_each_other_and_are_the_same_each_time(index_of, state):
    """The order of so many is kept with the first question."""
    files = {f"{'src' if number % 2 else 'tests'}/m{number:03}.py": "def run():\n    pass\n" for number in range(2 * MANY)}
    snapshot = index_of(files)

    def located(offset):
        return locate_symbol(snapshot, LocateSymbol(name="run", offset=offset, limit=30), state)

    first = [located(offset) for offset in range(0, 2 * MANY, 30)]
    again = [located(offset) for offset in range(0, 2 * MANY, 30)]

    assert [hit.path for reply in first for hit in reply.results] == sorted(files, key=lambda path: (path[0] == "t", path))
    assert {reply.total_candidates for reply in (*first, *again)} == {2 * MANY}
    assert again == first


def test_with_a_document_of_the_name_nothing_similar_is_shown(index_of, state):
    snapshot = index_of({"Makefile": "zapper:\n\techo\n", "src/a.py": "def zapped():\n    pass\n"})

    exact = locate_symbol(snapshot, LocateSymbol(name="zapper"), state)
    near = locate_symbol(snapshot, LocateSymbol(name="zappes"), state)

    assert [(hit.name, hit.match) for hit in exact.results] == [("zapper", "exact")]
    assert {hit.match for hit in near.results} == {"similar"}
