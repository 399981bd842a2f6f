"""Of functions with one name a call means those that its arguments fit; a name without arguments means them all."""

import pytest

from codecompass.protocol.requests import FindReferences, GetCallGraph
from codecompass.query import find_references, get_call_graph
from codecompass.query.names.exact_names import symbol_handle

CASES = {
    "java": (
        "A.java",
        "class A {\n"
        "  static int f(int x) { return 0; }\n"
        "  static int f(String x) { return 1; }\n"
        "  static int f(int x, int y) { return 2; }\n"
        "  static int f(int[] x) { return 3; }\n"
        "  static int f(Object x, boolean y) { return 4; }\n"
        "  String name;\n"
        "  int[] all;\n"
        "  String called() { return name; }\n"
        "  void run(String a, int b, int[] c, Unknown u) {\n"
        "    f(1);\n"
        '    f("x");\n'
        "    f(a);\n"
        "    f(b, 20);\n"
        "    f(c);\n"
        "    f(name);\n"
        "    f(called());\n"
        "    f(u, true);\n"
        "    f((String) u.some(1));\n"
        "    f(new int[] {1});\n"
        "    f(u.some());\n"
        "    f(all);\n"
        "  }\n"
        "}\n",
        {2: [11], 3: [12, 13, 16, 17, 19], 4: [14], 5: [15, 20, 22], 6: [18]},
        [21],
    ),
    "csharp": (
        "A.cs",
        "class A {\n"
        "  static int F(int x) => 0;\n"
        "  static int F(string x, int width = 1) => 1;\n"
        "  static int F(int x, int y) => 2;\n"
        "  static int F(object[] x) => 3;\n"
        "  void Run(string a, int b, object[] c, Unknown u) {\n"
        "    F(1);\n"
        '    F("x");\n'
        "    F(a, 2);\n"
        "    F(b, 2);\n"
        "    F(c);\n"
        "    F(u.Some());\n"
        "  }\n"
        "}\n",
        {2: [7], 3: [8, 9], 4: [10], 5: [11]},
        [12],
    ),
    "kotlin": (
        "A.kt",
        "class A {\n"
        "  fun f(x: Int): Int = 0\n"
        "  fun f(x: String, width: Int = 1): Int = 1\n"
        "  fun f(x: Int, block: () -> Unit): Int = 2\n"
        "  fun run(a: String, b: Int) {\n"
        "    f(1)\n"
        '    f("x")\n'
        "    f(a, 2)\n"
        "    f(b, { })\n"
        "    f(b) { }\n"
        "  }\n"
        "}\n",
        {2: [6], 3: [7, 8], 4: [9, 10]},
        [],
    ),
    "cpp": (
        "a.cc",
        "struct M { int x; };\n"
        "int f(int x) { return 0; }\n"
        "int f(M* m, int id) { return 1; }\n"
        "int f(const M& m, long id, int z = 3) { return 2; }\n"
        "int run(M* m) {\n"
        "  f(1);\n"
        "  f(m, 2);\n"
        "  f(*m, 2, 3);\n"
        "  return 0;\n"
        "}\n",
        {2: [6], 3: [7], 4: [8]},
        [],
    ),
    "scala": (
        "A.scala",
        "class A {\n"
        "  def f(x: Int): Int = 0\n"
        "  def f(x: String): Int = 1\n"
        "  def f(x: Int, y: Int): Int = 2\n"
        "  def run(a: String): Unit = {\n"
        "    f(1)\n"
        "    f(a)\n"
        "    f(1, 2)\n"
        "  }\n"
        "}\n",
        {2: [6], 3: [7], 4: [8]},
        [],
    ),
    "swift": (
        "A.swift",
        "class A {\n"
        "  func f(_ x: Int) -> Int { return 0 }\n"
        "  func f(_ x: Int, y: Int) -> Int { return 1 }\n"
        "  func run() {\n"
        "    f(1)\n"
        "    f(1, y: 2)\n"
        "  }\n"
        "}\n",
        {2: [5], 3: [6]},
        [],
    ),
}


def uses(snapshot, row, state):
    reply = find_references(snapshot, FindReferences(symbol_name=symbol_handle(snapshot, row)), state)
    return {each.line_start: each.confidence for each in reply.references}


@pytest.mark.parametrize("case", CASES)
def test_a_call_means_the_overload_that_takes_its_arguments(case, index_of, state):
    path, text, expected, unsure = CASES[case]
    snapshot = index_of({path: text})
    (file,) = snapshot.facts.files()
    rows = {row.line_start: row for row in snapshot.facts.symbols_in_file(file.id) if row.name in ("f", "F")}

    found = {line: uses(snapshot, row, state) for line, row in rows.items()}

    exact = {line: [use for use, confidence in each.items() if confidence == "exact"] for line, each in found.items()}
    assert exact == expected
    for use in unsure:
        assert {each[use] for each in found.values() if use in each} == {"likely"}
        assert sum(use in each for each in found.values()) > 1


@pytest.mark.parametrize("case", CASES)
def test_the_name_alone_means_all_overloads(case, index_of, state):
    path, text, expected, unsure = CASES[case]
    snapshot = index_of({path: text})

    reply = find_references(snapshot, FindReferences(symbol_name="F" if case == "csharp" else "f"), state)

    assert {each.line_start: each.confidence for each in reply.references} == dict.fromkeys(
        [*(use for each in expected.values() for use in each), *unsure], "exact"
    )


def test_a_declaration_and_its_definition_are_one_overload(index_of, state):
    snapshot = index_of(
        {
            "a.h": "namespace n {\nclass C {\n  int f(int);\n  int f(const std::string& s, int n = 2);\n};\n}\n",
            "a.cc": (
                '#include "a.h"\nnamespace n {\n'
                "int C::f(int x) { return 1; }\n"
                "int C::f(const std::string& s, int n) { return 2; }\n}\n"
            ),
            "b.cc": '#include "a.h"\nint run(n::C& c) {\n  c.f(1);\n  c.f("x", 1);\n  return 0;\n}\n',
        }
    )
    rows = {(row.path, row.line_start): row for row in snapshot.facts.symbols_named("f", 10)}

    assert {place: list(uses(snapshot, row, state)) for place, row in rows.items()} == {
        ("a.h", 3): [3],
        ("a.cc", 3): [3],
        ("a.h", 4): [4],
        ("a.cc", 4): [4],
    }


def test_a_field_and_a_method_of_one_name_are_told_apart_by_the_call(index_of, state):
    snapshot = index_of(
        {
            "A.java": (
                "class A {\n  int size;\n  int size() { return size; }\n  void run(A other) {\n    size = 1;\n    other.size();\n"
                "    other.size = 2;\n  }\n}\n"
            )
        }
    )
    rows = {row.kind: row for row in snapshot.facts.symbols_named("size", 10)}

    assert list(uses(snapshot, rows["method"], state)) == [6]
    assert sorted(uses(snapshot, rows["field"], state)) == [3, 5, 7]


def test_callers_and_callees_are_those_of_one_overload(index_of, state):
    path, text, *_ = CASES["java"]
    snapshot = index_of({path: text + "class B {\n  int one() { return A.f(1); }\n  int two() { return A.f(1, 2); }\n}\n"})
    first, *_ = [row for row in snapshot.facts.symbols_named("f", 10) if row.line_start == 2]

    reply = get_call_graph(snapshot, GetCallGraph(symbol_name=symbol_handle(snapshot, first), depth=1), state)

    assert [node.name for node in reply.nodes[1:]] == ["run", "one"]

    reply = get_call_graph(snapshot, GetCallGraph(symbol_name="B.two", depth=1, direction="callees"), state)

    assert [(node.name, node.line_start) for node in reply.nodes[1:]] == [("f", 4)]
