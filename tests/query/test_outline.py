"""`get_file_outline`: the tree of a file as in the seed."""

import json

import pytest

from codecompass.errors import FileNotFound
from codecompass.protocol.encode import encode
from codecompass.protocol.requests import GetFileOutline
from codecompass.query import QueryOptions, get_file_outline


@pytest.fixture(scope="session")
def outline(shop, state):
    def outlined(path, **arguments):
        return get_file_outline(shop, GetFileOutline(path=path, **arguments), state)

    return outlined


def tree(nodes):
    return [(node.kind, node.name, node.line_start, tree(node.children)) for node in nodes]


def depth_of(nodes):
    return 1 + max(map(depth_of, (node.children for node in nodes)), default=0) if nodes else 0


def test_the_tree_has_imports_types_impl_blocks_and_their_members_in_source_order(outline):
    reply = outline("src/auth/handler.rs")

    assert tree(reply.symbols) == [
        ("use", "crate::auth::Claims", 1, []),
        ("use", "std::fmt", 2, []),
        ("use", "std::sync::Arc as Shared", 2, []),
        ("struct", "AuthHandler", 5, [("field", "claims", 6, [])]),
        ("impl", "AuthHandler", 9, [("fn", "new", 10, []), ("fn", "authenticate", 14, [])]),
        ("module", "tests", 20, [("use", "super::*", 21, []), ("fn", "rejects_expired", 23, [])]),
    ]
    assert (reply.file_path, reply.language, reply.metadata.symbol_count) == ("src/auth/handler.rs", "rust", 11)


def test_nodes_have_exactly_the_keys_that_apply(outline):
    use, _, _, struct, impl, _ = json.loads(encode(outline("src/auth/handler.rs")))["symbols"]

    assert set(use) == {"kind", "name", "line_start", "line_end"}
    assert set(struct) == {"kind", "name", "line_start", "line_end", "visibility", "signature", "children"}
    assert set(impl) == {"kind", "name", "line_start", "line_end", "signature", "children"}
    assert struct["signature"] == "pub struct AuthHandler"
    assert struct["visibility"] == "public"


def test_depth_top_leaves_members_out(outline):
    reply = outline("src/auth/handler.rs", depth="top")

    assert [node.kind for node in reply.symbols] == ["use", "use", "use", "struct", "impl", "module"]
    assert all(node.children == () for node in reply.symbols)
    assert reply.metadata.result_completeness == "complete"


def test_imports_are_written_as_people_of_the_language_write_them(outline):
    def imports(path):
        return [node.name for node in outline(path).symbols if node.kind == "use"]

    assert imports("shop/limits.py") == ["shop.storage.Storage", "shop.storage.open_storage as opened", "json"]
    assert imports("web/server.ts") == [
        "express from express",
        "Router as BaseRouter from express",
        "* as path from node:path",
        "parseHeader from ./header",
    ]
    assert imports("native/queue.h") == ["<stddef.h>"]
    assert imports("native/queue.c") == ["queue.h"]


def test_a_path_is_taken_in_every_form_that_names_the_file(outline):
    for path in (
        "src/auth/jwt.rs",
        "./src/auth/jwt.rs",
        "src\\auth\\jwt.rs",
        "/home/me/shop/src/auth/jwt.rs",
        " src/auth/jwt.rs ",
    ):
        assert outline(path).file_path == "src/auth/jwt.rs"


def test_a_known_file_without_symbols_is_an_empty_outline_and_a_document_has_its_headings(outline):
    assert outline("shop/__init__.py").symbols == ()
    assert [(node.kind, node.name) for node in outline("docs/limits.md").symbols] == [("section", "Rate limiter")]


def test_an_unknown_path_is_an_error_that_suggests_similar_ones(outline):
    with pytest.raises(FileNotFound) as caught:
        outline("auth/jwt.rs")

    assert caught.value.data["similar_paths"][0] == "src/auth/jwt.rs"
    assert "src/auth/jwt.rs" in caught.value.message


@pytest.mark.parametrize(
    ("path", "meant"),
    [("src/auth/jwtt.rs", "src/auth/jwt.rs"), ("src/auth/wjt.rs", "src/auth/jwt.rs"), ("shop/__int__.py", "shop/__init__.py")],
)
def test_a_misspelt_file_name_finds_its_neighbour_first(outline, path, meant):
    with pytest.raises(FileNotFound) as caught:
        outline(path)

    assert caught.value.data["similar_paths"][0] == meant


def test_a_suffix_alone_makes_no_path_similar(outline):
    with pytest.raises(FileNotFound) as caught:
        outline("zzzz.rs")

    assert caught.value.data["similar_paths"] == []


@pytest.mark.parametrize(
    "path", ["nothing/like/it", "", "/", "..", "../../etc/passwd", "a\x00b", "%", "x" * 5000, "\\", "\ufffd"]
)
def test_any_path_that_is_not_there_is_the_same_error(outline, path):
    with pytest.raises(FileNotFound):
        outline(path)


def test_a_skipped_file_says_why(index_of, state):
    snapshot = index_of({"a.py": "x = 1\n", "big.py": b"\x00\x01binary"})

    with pytest.raises(FileNotFound) as caught:
        get_file_outline(snapshot, GetFileOutline(path="big.py"), state)

    assert caught.value.data["reason"] == "binary"


def test_too_large_an_outline_loses_its_deepest_level_first_then_its_last_nodes(index_of, state):
    members = "".join(f"    def method_{number}(self, argument_of_the_method): pass\n" for number in range(400))
    many = "".join(f"def function_{number}(argument_of_the_function): pass\n" for number in range(900))
    snapshot = index_of({"deep.py": f"class A:\n{members}\n\ndef last(): pass\n", "wide.py": many})

    deep = get_file_outline(snapshot, GetFileOutline(path="deep.py"), state)
    wide = get_file_outline(snapshot, GetFileOutline(path="wide.py"), state)

    assert [node.name for node in deep.symbols] == ["A", "last"]
    assert deep.symbols[0].children == ()
    assert 150 < len(wide.symbols) < 900
    assert wide.symbols[0].name == "function_0"
    for reply in (deep, wide):
        assert len(encode(reply)) <= QueryOptions().max_outline_bytes
        assert reply.metadata.result_completeness == "truncated"
        assert reply.metadata.safety_limit_applied
        assert "left out" in reply.metadata.warnings[0]


def test_a_limit_counts_nodes_and_keeps_the_upper_levels(outline):
    reply = outline("src/auth/handler.rs", limit=6)

    assert reply.metadata.symbol_count == 6
    assert depth_of(reply.symbols) == 1
    assert reply.metadata.result_completeness == "truncated"
    assert not reply.metadata.safety_limit_applied
    assert outline("src/auth/handler.rs", limit=2).metadata.symbol_count == 2
    assert outline("src/auth/handler.rs", limit=100).metadata.symbol_count == 11


def test_thousands_of_imports_between_thousands_of_definitions_are_nested_in_one_pass(index_of, state):
    """Comparing each import with each definition would take 10 million comparisons for every question about the file."""
    source = "".join(f"def f_{number}():\n    import a{number}\n\n" for number in range(3_000)) + "import last\n"
    snapshot = index_of({"many.py": source})

    reply = get_file_outline(snapshot, GetFileOutline(path="many.py"), state, QueryOptions(max_outline_bytes=10_000_000))

    assert [node.name for node in reply.symbols] == [*(f"f_{number}" for number in range(3_000)), "last"]
    assert all([child.name for child in node.children] == [f"a{number}"] for number, node in enumerate(reply.symbols[:-1]))


def test_an_import_stands_in_the_innermost_definition_that_holds_all_of_its_lines(index_of, state):
    inner = "    class B:\n        from a import (\n            b,\n            c,\n        )\n"
    snapshot = index_of({"a.py": f"class A:\n{inner}\n    import d\n\nimport e\n"})

    (outer, last) = get_file_outline(snapshot, GetFileOutline(path="a.py"), state).symbols

    assert [(child.kind, len(child.children)) for child in outer.children] == [("class", 2), ("use", 0)]
    assert (last.kind, last.name) == ("use", "e")


def test_the_outline_of_tests_in_tests_without_end_is_an_answer(index_of, state):
    source = "describe('a', () => {\n" * 2_500 + "});\n" * 2_500
    snapshot = index_of({"deep.test.js": source})

    reply = get_file_outline(snapshot, GetFileOutline(path="deep.test.js"), state)

    assert reply.symbols[0].name == "a"
    assert len(encode(reply)) <= QueryOptions().max_outline_bytes
