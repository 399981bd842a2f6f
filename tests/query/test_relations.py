"""`find_references` with a relation: what a server that lists few tools says about types and callers, however far."""

import pytest

from codecompass.protocol import text
from codecompass.protocol.encode import encode
from codecompass.protocol.requests import FindReferences, GetCallGraph, GetSymbolHierarchy
from codecompass.query import find_references, find_relation, get_call_graph, get_symbol_hierarchy

FILES = {
    "a.py": "class Base:\n    def run(self): ...\n\nclass Near(Base): ...\n\nclass Far(Near): ...\n",
    "b.py": (
        "from a import Far\n\nclass Farthest(Far): ...\n\n"
        "def go(base):\n    start()\n\ndef start(): ...\n\ndef main():\n    go(1)\n"
    ),
    "tests/test_b.py": "from b import go\n\ndef test_go():\n    go(2)\n",
}


@pytest.fixture(scope="module")
def tree(index_of):
    return index_of(FILES)


def ask(tree, state, name, relation, **arguments):
    return find_relation(tree, FindReferences(symbol_name=name, relation=relation, **arguments), state)


def test_all_subtypes_are_listed_however_deep_and_all_supertypes(tree, state):
    below, above = ask(tree, state, "Base", "subtypes"), ask(tree, state, "Farthest", "supertypes")

    assert [(each.name, each.depth) for each in below.symbols] == [("Base", 0), ("Near", 1), ("Far", 2), ("Farthest", 3)]
    assert [each.name for each in above.symbols] == ["Farthest", "Far", "Near", "Base"]
    assert text.render(below) == "class Base, a.py:1\n  class Near, a.py:4\n    class Far, a.py:6\n      class Farthest, b.py:3"


@pytest.mark.parametrize("direction", ["callers", "callees", "impact"])
def test_callers_callees_and_the_impact_of_a_change_are_those_of_the_call_graph(tree, state, direction):
    assert ask(tree, state, "start", direction) == get_call_graph(
        tree, GetCallGraph(symbol_name="start", direction=direction), state
    )


def test_the_impact_names_the_tests(tree, state):
    reply = ask(tree, state, "start", "impact")

    assert [(node.name, node.distance, node.is_test) for node in reply.nodes[1:]] == [
        ("go", 1, False),
        ("main", 2, False),
        ("test_go", 2, True),
    ]
    assert [node.name for node in ask(tree, state, "start", "impact", include_tests=False).nodes] == ["start", "go", "main"]
    assert len(ask(tree, state, "start", "callers", limit=1).nodes) == 2


def test_uses_are_what_is_asked_for_without_a_relation(tree, state):
    assert ask(tree, state, "go", "uses") == find_references(tree, FindReferences(symbol_name="go"), state)


def test_path_filters_them_too(tree, state):
    assert [each.name for each in ask(tree, state, "Base", "subtypes", path="b.py").symbols] == ["Base", "Farthest"]


def test_more_subtypes_than_an_answer_holds_are_counted(index_of, state):
    wide = index_of({"a.py": "class Base: ...\n" + "".join(f"class Subtype{n}(Base): ...\n" for n in range(400))})
    request = GetSymbolHierarchy(symbol_name="Base", relation="subtypes")

    reply = get_symbol_hierarchy(wide, request, state)

    assert reply.total == 400
    assert 100 < len(reply.symbols) < 400
    assert len(encode(reply)) < 30_000
    assert reply.metadata.warnings == (f"{len(reply.symbols) - 1} of 400 subtypes are shown; pass path, or ask for one of them",)
    assert reply.metadata.result_completeness == "truncated"
