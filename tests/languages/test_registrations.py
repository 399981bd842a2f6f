"""Routes, tasks and the like that files register: what the golden samples do not contain."""

import pytest
from tree_sitter_language_pack import get_parser

from codecompass import languages
from codecompass.languages.uses.occurrences import occurrences, occurrences_of
from codecompass.languages.walk.extract import extract, parse
from codecompass.languages.walk.registrations import MAX_REGISTRATIONS, arguments_of, joined
from codecompass.worker.parsing import interrupting_limit

CPU_SECONDS = 10


def symbols_of(name, source, path="a/b"):
    language = languages.load(name)
    return extract(language, parse(language, get_parser(language.grammar), source).root_node, source, path).symbols


def routes_of(name, source, path="a/b"):
    return [symbol.signature for symbol in symbols_of(name, source, path) if symbol.kind == "route"]


@pytest.mark.parametrize(
    ("name", "source"),
    [
        ("python", b'"""\n@app.get("/x")\ndef f(): ...\n"""\n'),
        ("python", b'# @app.get("/x")\ndef f(): ...\n'),
        ("python", b'@cache.get("key")\ndef f(): ...\n'),
        ("java", b'class A {\n  String s = "@GetMapping(/x)";\n  void f() {}\n}\n'),
        ("kotlin", b'class A {\n  // @GetMapping("/x")\n  fun f() {}\n}\n'),
        ("csharp", b'class A {\n  // [HttpGet("x")]\n  void F() {}\n}\n'),
        ("javascript", b"axios.get('/x', options);\nrequest(app).get('/x', f);\napp.get('/setting');\n"),
        ("typescript", b"@Get('x')\nclass A {}\n"),
        ("php", b"<?php\n// Route::get('/x', [A::class, 'b']);\n"),
        ("ruby", b"get '/x'\nresources :orders\n"),
        ("elixir", b'get "/x", A, :b\n'),
    ],
)
def test_what_only_looks_like_a_route_is_none(name, source):
    assert routes_of(name, source) == []


def test_a_call_of_what_serves_a_route_is_a_use_at_the_route():
    source = b"X.routes.draw do\n  resources :orders, only: :create\n  get 'a', to: 'admin/stats#show'\nend\n"
    symbols = symbols_of("ruby", source)

    found = {each.name: each.uses for each in occurrences("ruby", source.decode(), symbols)}

    assert [(use.line, use.usage, use.receiver) for use in found["create"]] == [(2, "call", "<OrdersController>")]
    assert [(use.line, use.usage, use.receiver) for use in found["show"]] == [(3, "call", "<Admin::StatsController>")]
    assert occurrences_of("ruby", source.decode(), symbols, "create") == found["create"]


def test_a_handler_that_the_route_names_is_used_once():
    source = b"const app = express();\napp.get('/x', show);\nfunction show() {}\n"

    found = {each.name: each.uses for each in occurrences("javascript", source.decode(), symbols_of("javascript", source))}

    assert [use.line for use in found["show"]] == [2]


def test_a_function_within_a_route_keeps_its_parent():
    symbols = symbols_of("javascript", b"function all(app) {\n  app.get('/x', () => {\n    function inner() {}\n  });\n}\n")

    assert [(symbol.name, symbol.parent) for symbol in symbols] == [("all", -1), ("GET /x", 0), ("inner", 0)]


def test_arguments_have_the_names_under_which_they_are_given():
    found = arguments_of('("/a", methods=["GET", "POST"], name: verb, x => 1)')

    assert [(each.name, each.value, each.is_text) for each in found] == [
        ("", "/a", True),
        ("methods", "GET", True),
        ("methods", "POST", True),
        ("name", "verb", False),
        ("", "x", False),
    ]


def test_parts_of_a_path_are_joined_with_one_slash():
    assert [joined(), joined("", ""), joined("a/", "/b/"), joined("/a", "")] == ["/", "/", "/a/b/", "/a"]


@pytest.mark.parametrize(
    ("name", "unit"),
    [
        ("python", b"@a.get('/x')\n"),
        ("python", b"urlpatterns=path('x', "),
        ("java", b'@GetMapping("/x", '),
        ("kotlin", b"@GetMapping(("),
        ("csharp", b'[HttpGet("x")] '),
        ("php", b"Route::get('/x', "),
        ("ruby", b"x.routes.draw do\nresources :a do\n"),
        ("ruby", b"x.routes.draw "),
        ("javascript", b"app.get('/x', "),
        ("elixir", b'use X, :router\nscope "/a" do\n'),
    ],
)
def test_a_hostile_file_takes_bounded_time_and_leaves_the_rest(name, unit):
    source = (b"<?php\n" if name == "php" else b"") + unit * (60_000 // len(unit))

    with interrupting_limit(CPU_SECONDS):
        assert len(routes_of(name, source)) <= MAX_REGISTRATIONS
