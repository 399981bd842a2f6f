"""`get_call_graph` and the relations of `get_symbol_hierarchy`: the trees are bounded and show each symbol once."""

import pytest

from codecompass.protocol import text
from codecompass.protocol.requests import GetCallGraph, GetSymbolHierarchy
from codecompass.query import get_call_graph, get_symbol_hierarchy

FILES = {
    "app/core.py": (
        "class Handler:\n"
        "    def handle(self): ...\n"
        "\n"
        "class Upload(Handler):\n"
        "    def handle(self):\n"
        "        return check(1)\n"
        "\n"
        "class Large(Upload):\n"
        "    def handle(self): ...\n"
        "\n"
        "def check(n):\n"
        "    return n and check(n - 1)\n"
        "\n"
        "def first():\n"
        "    second()\n"
        "    check(2)\n"
        "    check(3)\n"
        "\n"
        "def second():\n"
        "    first()\n"
    ),
    "app/main.py": "from app.core import first, Handler\n\ndef main():\n    first()\n    Handler().handle()\n",
    "tests/test_core.py": "from app.core import check\n\ndef test_check():\n    check(4)\n",
}


@pytest.fixture(scope="module")
def project(index_of):
    return index_of(FILES)


@pytest.fixture(scope="module")
def graph_of(project, state):
    def asked(symbol_name, **arguments):
        return get_call_graph(project, GetCallGraph(symbol_name=symbol_name, **arguments), state)

    return asked


def names(reply):
    return [(node.name, node.distance) for node in reply.nodes]


def edges(reply):
    return [(reply.nodes[edge.caller].name, reply.nodes[edge.callee].name, edge.lines) for edge in reply.edges]


def test_callers_come_by_distance_each_once_with_the_lines_of_their_calls(graph_of):
    reply = graph_of("check", depth=3)

    assert names(reply) == [("check", 0), ("handle", 1), ("first", 1), ("test_check", 1), ("second", 2), ("main", 2)]
    assert edges(reply) == [
        ("handle", "check", (6,)),
        ("first", "check", (16, 17)),
        ("test_check", "check", (4,)),
        ("second", "first", (20,)),
        ("main", "first", (4,)),
        ("first", "second", (15,)),
    ]
    assert [node.is_test for node in reply.nodes] == [False, False, False, True, False, False]


def test_a_cycle_is_shown_once_in_the_tree(graph_of):
    assert text.render(graph_of("check", depth=3)).splitlines() == [
        "fn check, app/core.py:11",
        "  method Upload.handle, app/core.py:5 (at 6)",
        "  fn first, app/core.py:14 (at 16, 17)",
        "    fn second, app/core.py:19 (at 20)",
        "      fn first, app/core.py:14 (at 15) ...",
        "    fn main, app/main.py:3 (at 4)",
        "  fn test_check, tests/test_core.py:3 (at 4)",
    ]


def test_callees_are_what_is_called_inside(graph_of):
    reply = graph_of("first", direction="callees", depth=1)

    assert edges(reply) == [("first", "second", (15,)), ("first", "check", (16, 17))]


def test_without_tests_none_is_there(graph_of):
    assert "test_check" not in dict(names(graph_of("check", include_tests=False)))


def test_the_limit_bounds_the_symbols_and_the_answer_says_so(graph_of):
    reply = graph_of("check", depth=3, limit=2)

    assert len(reply.nodes) == 3
    assert reply.metadata.result_completeness == "truncated"
    assert "only 2 symbols are shown" in reply.metadata.warnings[0]


def test_an_impact_counts_callers_tests_and_importers(graph_of):
    reply = graph_of("check", direction="impact", depth=3)

    impact = reply.impact
    assert (impact.callers_by_distance, impact.tests) == ((2, 2), 1)
    assert (impact.importing_files, impact.importers) == (1, ("tests/test_core.py",))
    lines = text.render(reply).splitlines()
    assert lines[1] == "a change reaches: 2 callers, 2 at distance 2, 1 test, 1 importing file"
    assert lines.index("tests:") < lines.index("callers:")


def test_an_impact_has_subtypes_of_a_class_and_overriding_methods_of_a_method(graph_of):
    assert graph_of("Handler", direction="impact").impact.subtypes == (
        "app/core.py:4 app.core.Upload",
        "app/core.py:8 app.core.Large",
    )
    assert graph_of("Handler.handle", direction="impact").impact.overriding == (
        "app/core.py:5 app.core.Upload.handle",
        "app/core.py:9 app.core.Large.handle",
    )


def test_what_overrides_a_called_method_is_a_likely_callee(graph_of):
    reply = graph_of("main", direction="callees", depth=1)

    found = {(reply.nodes[edge.callee].qualified_name, edge.confidence) for edge in reply.edges}
    assert found == {
        ("app.core.first", "exact"),
        ("app.core.Handler", "exact"),
        ("app.core.Handler.handle", "exact"),
        ("app.core.Upload.handle", "likely"),
        ("app.core.Large.handle", "likely"),
    }


def test_an_impact_reaches_those_that_call_what_is_overridden(graph_of):
    changed = graph_of("Large.handle", direction="impact", depth=1)
    callers = graph_of("Large.handle", depth=1)

    assert [(changed.nodes[edge.caller].name, edge.confidence) for edge in changed.edges] == [("main", "likely")]
    assert callers.edges == ()


def test_an_impact_names_tests_that_import_under_an_alias(index_of, state):
    snapshot = index_of(
        {
            "app/core.py": "class Store:\n    def save(self): ...\n\ndef check(): ...\n",
            "tests/test_a.py": "from app.core import check as verify\n\ndef test_verify():\n    verify()\n",
            "tests/test_b.py": "import app.core as core\n\ndef test_core():\n    core.check()\n",
            "tests/test_c.py": "from app.core import Store as S\n\ndef test_store():\n    S().save()\n",
        }
    )

    def tests_of(name):
        reply = get_call_graph(snapshot, GetCallGraph(symbol_name=name, direction="impact"), state)
        return [node.name for node in reply.nodes if node.is_test], reply.impact.tests

    assert tests_of("check") == (["test_verify", "test_core"], 2)
    assert tests_of("Store.save") == (["test_store"], 1)
    assert tests_of("Store") == (["test_store"], 1)


def test_callers_of_each_of_several_definitions_are_told_apart(index_of, state):
    snapshot = index_of(
        {
            "a.py": "def go(): ...\n\ndef one():\n    go()\n",
            "b.py": "def go(): ...\n\ndef two():\n    go()\n",
            "c.py": "class C:\n    def go(self): ...\n\ndef three(x):\n    x.go()\n",
        }
    )

    reply = get_call_graph(snapshot, GetCallGraph(symbol_name="go"), state)

    assert [each.path for each in reply.definitions] == ["a.py", "b.py", "c.py"]
    assert [node.distance for node in reply.nodes[:3]] == [0, 0, 0]
    assert text.render(reply).splitlines() == [
        "= fn go, a.py:1",
        "  fn one, a.py:3 (at 4)",
        "= fn go, b.py:1",
        "  fn two, b.py:3 (at 4)",
        "= method C.go, c.py:2",
        "  ~fn three, c.py:4 (at 5)",
    ]


def test_no_callers_are_said_to_be_none(graph_of):
    assert text.render(graph_of("main")).splitlines() == ["fn main, app/main.py:3", "no callers"]


@pytest.mark.parametrize(
    ("relation", "name", "expected"),
    [
        ("subtypes", "Handler", [("Handler", 0), ("Upload", 1), ("Large", 2)]),
        ("supertypes", "Large", [("Large", 0), ("Upload", 1), ("Handler", 2)]),
        ("subtypes", "Large", [("Large", 0)]),
    ],
)
def test_types_that_inherit_are_found_to_any_depth(relation, name, expected, project, state):
    reply = get_symbol_hierarchy(project, GetSymbolHierarchy(symbol_name=name, relation=relation), state)

    assert [(symbol.name, symbol.depth) for symbol in reply.symbols] == expected
    assert reply.total == len(expected) - 1


SUBTYPES = {
    "go": (
        {
            "go.mod": "module example.com/x\n",
            "a.go": (
                "package x\n\ntype Reader interface {\n\tRead() int\n\tClose()\n}\n\n"
                "type Base struct{}\n\nfunc (b Base) Close() {}\n\n"
                "type File struct{ Base }\n\nfunc (f *File) Read() int { return 1 }\n\n"
                "type Half struct{}\n\nfunc (h Half) Read() int { return 2 }\n"
            ),
        },
        "Reader",
        ["File"],
    ),
    "rust": (
        {
            "src/lib.rs": "pub mod a;\npub trait Run { fn run(&self); }\n",
            "src/a.rs": (
                "use crate::Run;\npub struct Fast;\nimpl Run for Fast { fn run(&self) {} }\n"
                "pub struct Slow;\nimpl Clone for Slow {}\n"
            ),
        },
        "Run",
        ["Fast"],
    ),
    "rust, a type of another module": (
        {
            "src/lib.rs": "pub mod net;\npub mod tests;\n",
            "src/net/mod.rs": "hidden! {\n    mod tcp;\n    pub use tcp::Stream;\n}\n",
            "src/net/tcp.rs": "pub struct Stream<T>(T);\npub struct Socket;\n",
            "src/other.rs": "pub struct Stream;\n",
            "src/tests.rs": (
                "use crate::net;\nuse crate::net::tcp::Socket;\ntrait Check {}\nimpl<T> Check for net::Stream<T> {}\n"
                "impl Check for Socket {}\nimpl Check for std::net::TcpStream {}\nimpl Check for &Socket {}\n"
            ),
        },
        "Check",
        ["Stream", "Socket"],
    ),
    "haskell": (
        {
            "src/A.hs": "module A where\nclass Shape a where\n  area :: a -> Int\n\ndata Box = Box Int\n\n"
            "instance Shape Box where\n  area (Box n) = n\n\ndata Ring = Ring\n"
        },
        "Shape",
        ["Box"],
    ),
    "elixir": (
        {
            "lib/a.ex": "defprotocol Shape do\n  def area(it)\nend\n\ndefmodule Box do\n  defstruct [:n]\nend\n\n"
            "defimpl Shape, for: Box do\n  def area(it), do: it.n\nend\n"
        },
        "Shape",
        ["Box"],
    ),
    "elixir behaviours": (
        {
            "lib/a.ex": "defmodule Store do\n  @callback get(term) :: term\nend\n\n"
            "defmodule Memory do\n  @behaviour Store\n  def get(it), do: it\nend\n"
        },
        "Store",
        ["Memory"],
    ),
    "ruby modules": (
        {
            "a.rb": "module Countable\nend\nclass List\n  include Countable\nend\n"
            "class Bag\n  prepend Countable\nend\nclass C\nend\n"
        },
        "Countable",
        ["List", "Bag"],
    ),
    "typescript": (
        {
            "a.ts": (
                "export interface A<T extends object> { x: T }\n"
                "interface B extends\n  A<{ y: 1 }>,\n  Other {}\nclass C implements B {}\n"
            ),
        },
        "A",
        ["B", "C"],
    ),
    "java": ({"A.java": "interface A {}\nclass B implements A {}\nclass C extends B {}\nclass D {}\n"}, "A", ["B", "C"]),
    "cpp": (
        {"a.h": "class A { public: A(); };\nclass B : public A {};\ntemplate <class T> class C : private B {};\n"},
        "A",
        ["B", "C"],
    ),
    "csharp": ({"a.cs": "interface IA {}\nclass B : IA {}\nclass C : B, System.IDisposable {}\n"}, "IA", ["B", "C"]),
    "kotlin": ({"a.kt": "interface A\nopen class B(val n: Int) : A\nclass C : B(1)\n"}, "A", ["B", "C"]),
    "ruby": ({"a.rb": "class A\nend\nclass B < A\nend\n"}, "A", ["B"]),
    "php": ({"a.php": "<?php\ninterface A {}\nclass B implements A {}\nclass C extends B {}\n"}, "A", ["B", "C"]),
    "php traits": (
        {"a.php": "<?php\ntrait A { function f() {} }\nclass B {\n    use A;\n}\nclass C {\n    function f() {}\n}\n"},
        "A",
        ["B"],
    ),
    "swift": ({"a.swift": "protocol A {}\nclass B: A {}\nstruct C: A, Codable {}\n"}, "A", ["B", "C"]),
    "scala": ({"a.scala": "trait A\nclass B extends A\nclass C extends B with Serializable\n"}, "A", ["B", "C"]),
}


@pytest.mark.slow
@pytest.mark.parametrize("case", SUBTYPES, ids=str)
def test_subtypes_are_found_in_every_language_with_types(case, index_of, state):
    files, name, expected = SUBTYPES[case]

    reply = get_symbol_hierarchy(index_of(files), GetSymbolHierarchy(symbol_name=name, relation="subtypes"), state)

    assert [symbol.name for symbol in reply.symbols][1:] == expected


def test_no_callers_says_what_was_looked_at(index_of, state):
    files = {
        "a.py": "class A:\n    def run(self):\n        return 1\n",
        "b.py": "class B:\n    def run(self):\n        return 2\n\n\ndef use(it):\n    return B().run() + it.run()\n",
        "c.py": "def alone():\n    return 1\n",
    }

    def warnings(name):
        return get_call_graph(index_of(files), GetCallGraph(symbol_name=name), state).metadata.warnings

    assert warnings("A.run") == (
        "0 callers; 1 use of the name bind elsewhere, 1 fit several definitions "
        "(find_references lists them with confidence possible)",
    )
    assert warnings("alone") == ()
