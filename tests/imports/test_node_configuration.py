"""Aliases and packages as `tsconfig.json` and `package.json` give them."""

import json

import pytest

from codecompass.imports import module_roots
from codecompass.imports.node_configuration import decode_jsonc, package_scope


def roots_in(path: str, **fields: object) -> list[tuple[str, str]]:
    return [(root.prefix, root.directory) for root in module_roots(path, json.dumps(fields).encode())]


def test_aliases_are_seen_from_the_base_url_else_from_the_file():
    assert roots_in("a/tsconfig.json", compilerOptions={"paths": {"@/*": ["./src/*", "../shared/*"]}}) == [
        ("@/*", "a/src/*"),
        ("@/*", "shared/*"),
    ]
    assert roots_in("a/tsconfig.build.json", compilerOptions={"baseUrl": "./src", "paths": {"ui": ["lib/ui"]}}) == [
        ("ui", "a/src/lib/ui"),
        ("*", "a/src/*"),
    ]
    assert roots_in("jsconfig.json", compilerOptions={"baseUrl": "."}) == [("*", "*")]


def test_what_cannot_be_matched_backwards_or_leads_outside_is_left_out():
    assert (
        roots_in("tsconfig.json", compilerOptions={"paths": {"a*b": ["x/*"], "c/*": ["x.y*"], "d/*/*": ["*/*"], "e": ["../out"]}})
        == []
    )


def test_the_source_of_a_built_entry_is_tried_first():
    found = roots_in("packages/core/package.json", name="core", exports={".": "./dist/esm/index.js", "./x/*": "./lib/x/*.js"})

    assert found[:4] == [
        ("core", "packages/core/src/index.js"),
        ("core", "packages/core/dist/esm/index.js"),
        ("core/x/*", "packages/core/src/x/*.js"),
        ("core/x/*", "packages/core/lib/x/*.js"),
    ]
    assert found[-2:] == [("core", "packages/core/"), ("core/*", "packages/core/")]


def test_every_condition_of_an_entry_is_a_candidate():
    found = roots_in(
        "package.json", name="a", exports={"import": {"types": "./a.d.ts", "default": "./a.js"}, "require": ["./a.cjs"]}
    )

    assert [directory for prefix, directory in found if prefix == "a"][:3] == ["a.d.ts", "a.js", "a.cjs"]


def test_a_package_without_name_has_only_private_imports():
    assert roots_in("x/package.json", private=True, imports={"#db": {"node": "./db.js"}}) == [("#db", "x/db.js")]
    assert module_roots("x/package.json", b'{"imports": {"#db": "./db.js"}}')[0].scope == "x/"


def test_examples_and_fixtures_keep_their_names_to_themselves():
    assert package_scope("test/fixtures/react/") == "test/fixtures/"
    assert package_scope("examples/a/b/") == "examples/"
    assert package_scope("packages/core/") == ""


def test_comments_and_last_commas_are_no_part_of_the_value():
    source = b"""\xef\xbb\xbf// first
    {
        "url": "https://x/*not*/", /* a
        comment */ "list": [1, 2, /* three */ ], // end
        "quote": "\\"// kept, ]",
    }"""

    assert decode_jsonc(source) == {"url": "https://x/*not*/", "list": [1, 2], "quote": '"// kept, ]'}


@pytest.mark.parametrize("source", [b"", b"[]", b"3", b"{", b'{"a": }', b"\xff\xfe{}", b'{"a": 1} x', b"/*" * 50_000])
def test_anything_but_an_object_is_a_value_error(source):
    with pytest.raises(ValueError):
        decode_jsonc(source)
