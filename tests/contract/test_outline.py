"""`get_file_outline` as JSON."""

import pytest

HANDLER = [
    {"kind": "use", "name": "crate::auth::Claims", "line_start": 1, "line_end": 1},
    {
        "kind": "struct",
        "name": "AuthHandler",
        "line_start": 12,
        "line_end": 18,
        # The protocol's word; the spelling in the source is in the signature.
        "visibility": "public",
        "signature": "pub struct AuthHandler",
    },
    {
        "kind": "impl",
        "name": "AuthHandler",
        "line_start": 20,
        "line_end": 130,
        "signature": "impl AuthHandler",
        "children": [
            {
                "kind": "fn",
                "name": "new",
                "line_start": 21,
                "line_end": 33,
                "visibility": "public",
                "signature": "pub fn new(config: AuthConfig) -> Self",
            },
            {
                "kind": "fn",
                "name": "authenticate",
                "line_start": 35,
                "line_end": 66,
                "visibility": "public",
                "signature": "pub fn authenticate(&self, req: &Request) -> Result<User>",
            },
        ],
    },
]


def without_fields(nodes):
    """Returns the tree without the fields of structs, which the seed's example omits."""
    kept = [{**node, "children": without_fields(node.get("children", []))} for node in nodes if node["kind"] != "field"]
    return [{key: value for key, value in node.items() if value != []} for node in kept]


async def test_a_file_is_a_tree_of_uses_types_impls_and_their_functions(backend):
    """The seed's example, field by field."""
    reply = await backend.call("get_file_outline", path="src/auth/handler.rs", ref="main", depth="all", language="rust")

    assert list(reply) == ["file_path", "language", "symbols", "metadata"]
    assert (reply["file_path"], reply["language"]) == ("src/auth/handler.rs", "rust")
    assert without_fields(reply["symbols"]) == HANDLER
    metadata = {"codecompass_protocol_version": "1.0", "freshness_status": "fresh", "ref": "main"}
    assert metadata.items() <= reply["metadata"].items()
    assert reply["metadata"]["symbol_count"] == 5 + 5, "of all nodes, five of them fields"


async def test_the_fields_of_a_struct_are_its_children(backend):
    """`field` is a kind."""
    reply = await backend.call("get_file_outline", path="src/auth/handler.rs")

    fields = reply["symbols"][1]["children"]
    assert [(field["kind"], field["name"], field["line_start"]) for field in fields] == [
        ("field", "config", 13),
        ("field", "attempts", 14),
        ("field", "locked", 15),
        ("field", "name", 16),
        ("field", "realm", 17),
    ]


async def test_top_has_no_children(backend):
    reply = await backend.call("get_file_outline", path="src/auth/handler.rs", depth="top")

    assert [node["kind"] for node in reply["symbols"]] == ["use", "struct", "impl"]
    assert all("children" not in node for node in reply["symbols"])
    assert reply["metadata"]["symbol_count"] == 3


async def test_nested_is_the_default(backend):
    """`depth`: default `"all"`."""
    assert await backend.call("get_file_outline", path="src/auth/jwt.rs") == await backend.call(
        "get_file_outline", path="src/auth/jwt.rs", depth="all"
    )


@pytest.mark.parametrize("arguments", [{"path": "src/auth/none.rs"}, {"path": "../secret.rs"}])
async def test_a_path_that_is_not_indexed_is_file_not_found(backend, arguments):
    assert (await backend.refusal("get_file_outline", **arguments))["error"]["code"] == "file_not_found"


async def test_a_project_that_is_not_known_is_project_not_found(backend):
    refusal = await backend.refusal("get_file_outline", path="src/auth/jwt.rs", project_id="frontend")

    assert refusal["error"]["code"] == "project_not_found"


async def test_depth_is_one_of_two_words(backend):
    """The error names the allowed values."""
    refusal = await backend.refusal("get_file_outline", path="src/auth/jwt.rs", depth="2")

    assert refusal["error"]["data"]["allowed"] == ["top", "all"]
