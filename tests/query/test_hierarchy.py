"""`get_symbol_hierarchy`: the chain of enclosing symbols, and the tree of nested ones."""

import pytest

from codecompass.errors import SymbolNotFound
from codecompass.protocol.encode import encode
from codecompass.protocol.requests import GetSymbolHierarchy
from codecompass.protocol.text import render
from codecompass.query import get_symbol_hierarchy


@pytest.fixture(scope="session")
def hierarchy(shop, state):
    def asked(symbol_name, **arguments):
        return get_symbol_hierarchy(shop, GetSymbolHierarchy(symbol_name=symbol_name, **arguments), state)

    return asked


def names(nodes):
    return [(node.kind, node.name, node.depth, names(node.children)) for node in nodes]


def test_ancestors_are_a_flat_chain_from_the_symbol_outwards(hierarchy):
    reply = hierarchy("Window.reset")

    assert names(reply.hierarchy) == [("method", "reset", 0, []), ("class", "Window", 1, []), ("class", "RateLimiter", 2, [])]
    assert (reply.direction, reply.chain_length) == ("ancestors", 3)


def test_a_type_that_is_written_in_no_other_says_how_to_ask_for_those_that_inherit(hierarchy):
    *_, last = render(hierarchy("RateLimiter")).split("\n")

    assert last.startswith("written in no other definition; what is written in it: direction descendants; ")
    assert last.endswith("types that inherit from it: relation subtypes")
    assert "written in" not in render(hierarchy("Window.reset"))
    assert "written in" not in render(hierarchy("RateLimiter", direction="descendants"))


def test_descendants_are_one_tree_and_hold_the_impl_blocks_of_a_type(hierarchy):
    reply = hierarchy("AuthHandler", direction="descendants")

    assert names(reply.hierarchy) == [
        (
            "struct",
            "AuthHandler",
            0,
            [
                ("field", "claims", 1, []),
                ("impl", "AuthHandler", 1, [("fn", "new", 2, []), ("fn", "authenticate", 2, [])]),
            ],
        )
    ]
    assert reply.chain_length == 5


def test_methods_that_stand_outside_their_type_are_inside_it(index_of, state):
    snapshot = index_of(
        {
            "limits/limiter.go": "package limits\n\ntype Limiter struct {\n\tn int\n}\n\nfunc (l *Limiter) Allow() {}\n",
            "limits/reset.go": "package limits\n\nfunc (l Limiter) Reset() {}\n\nfunc Free() {}\n",
        }
    )

    reply = get_symbol_hierarchy(snapshot, GetSymbolHierarchy(symbol_name="Limiter", direction="descendants"), state)

    assert [(node.kind, node.name) for node in reply.hierarchy[0].children] == [
        ("field", "n"),
        ("method", "Allow"),
        ("method", "Reset"),
    ]


def test_a_name_of_several_definitions_is_answered_with_the_chain_of_each(hierarchy):
    reply = hierarchy("reset")

    first = reply.definitions[0]
    assert len(reply.definitions) == 3
    assert (first.path, first.line_start, first.kind) == ("shop/storage.py", 14, "fn")
    assert [(node.path, node.line_start) for node in reply.hierarchy if not node.depth] == [
        (each.path, each.line_start) for each in reply.definitions
    ]


def test_of_several_definitions_the_types_are_asked_for_subtypes(index_of, state):
    snapshot = index_of(
        {
            "a.py": "class Shape: ...\n\nclass Round(Shape): ...\n",
            "b.py": "class Shape: ...\n\nclass Flat(Shape): ...\n",
            "c.py": "def Shape(): ...\n",
        }
    )

    reply = get_symbol_hierarchy(snapshot, GetSymbolHierarchy(symbol_name="Shape", relation="subtypes"), state)

    assert [(each.path, each.name, each.depth) for each in reply.symbols] == [
        ("a.py", "Shape", 0),
        ("a.py", "Round", 1),
        ("b.py", "Shape", 0),
        ("b.py", "Flat", 1),
    ]
    assert (len(reply.definitions), reply.total) == (2, 2)


def test_the_members_of_all_parts_of_a_type_are_inside_it(index_of, state):
    snapshot = index_of(
        {
            "A.cs": "namespace N { public partial class Reader { public void Read() {} } }\n",
            "B.cs": "namespace N { public partial class Reader { public Reader() {} public void Skip() {} } }\n",
        }
    )

    reply = get_symbol_hierarchy(snapshot, GetSymbolHierarchy(symbol_name="Reader", direction="descendants"), state)

    assert [[child.name for child in node.children] for node in reply.hierarchy] == [["Read", "Reader", "Skip"]]


def test_a_path_or_a_qualified_name_settles_which_one_is_meant(hierarchy):
    by_path = hierarchy("reset", path="shop/storage.py")
    by_end_of_path = hierarchy("reset", path="storage.py")
    by_name = hierarchy("storage.reset")

    assert by_path.hierarchy == by_end_of_path.hierarchy == by_name.hierarchy
    assert by_path.hierarchy[0].path == "shop/storage.py"


def test_a_definition_and_its_declaration_are_not_two_meanings(hierarchy):
    assert hierarchy("queue_push").hierarchy[0].path == "native/queue.c"


def test_an_unknown_name_is_an_error_with_similar_names(hierarchy):
    with pytest.raises(SymbolNotFound) as caught:
        hierarchy("RateLimiters")

    assert "RateLimiter" in caught.value.data["similar_names"]


def test_too_large_a_type_loses_its_deepest_level_first_then_its_last_members(index_of, state):
    methods = "".join(f"    def method_{number}(self):\n        def inner(): pass\n" for number in range(60))
    snapshot = index_of({"deep.py": f"class Deep:\n{methods}", "wide.py": f"class Wide:\n{methods * 5}"})

    deep, wide = (
        get_symbol_hierarchy(snapshot, GetSymbolHierarchy(symbol_name=name, direction="descendants"), state)
        for name in ("Deep", "Wide")
    )

    assert [node.name for node in deep.hierarchy[0].children] == [f"method_{number}" for number in range(60)]
    assert deep.hierarchy[0].children[0].children
    assert deep.hierarchy[0].children[-1].children == ()
    assert len(wide.hierarchy[0].children) < 300
    for reply in (deep, wide):
        assert len(encode(reply)) <= 30_000
        assert reply.metadata.result_completeness == "truncated"
        assert reply.metadata.warnings == (
            f"only the upper {reply.chain_length} symbols are shown; ask for one of them to see more",
        )
