"""The module roots that each kind of configuration file defines."""

import json
import random

import pytest

from codecompass.languages.ecmascript.ecmascript_configuration import RECORDS
from codecompass.languages.imports import module_roots
from codecompass.languages.imports.configuration import MAX_ROOTS_PER_FILE
from codecompass.languages.imports.jsonc import decode_jsonc
from codecompass.languages.imports.manifests import package_scope


def roots_in(path: str, text: str) -> list[tuple[str, ...]]:
    """Returns (prefix, directory) of each root of a file, and the scope if it has one."""
    return [
        (root.prefix, root.directory, root.scope) if root.scope else (root.prefix, root.directory)
        for root in module_roots(path, text.encode())
        if root.ecosystem != RECORDS
    ]


@pytest.mark.parametrize(
    ("path", "text", "expected"),
    [
        ("go.mod", "// tools\nmodule example.com/shop\n\ngo 1.22\n", [("example.com/shop", "")]),
        ("tools/go.mod", 'module "example.com/shop/tools"\n', [("example.com/shop/tools", "tools/")]),
        ("net/Cargo.toml", '[package]\nname = "shop-net"\n', [("shop_net", "net/src/")]),
        ("x/Cargo.toml", '[package]\nname = "a"\n[lib]\nname = "b"\npath = "b.rs"\n', [("a", "x/b.rs"), ("b", "x/b.rs")]),
        ("Cargo.toml", '[workspace]\nmembers = ["net"]\n', []),
        ("examples/x/Cargo.toml", '[package]\nname = "x"\n', [("x", "examples/x/src/", "examples/")]),
        ("Package.swift", '.target(name: "A"), .target(name: "B", path: "Source/B/")', [("B", "Source/B/")]),
        (
            "src/Shop/Shop.csproj",
            "<RootNamespace>Company.Shop</RootNamespace>",
            [("Company/Shop", "src/Shop/"), ("Shop", "src/Shop/")],
        ),
        ("build.zig", 'b.addModule("core", .{ .root_source_file = b.path("lib/core.zig") });', [("core", "lib/core.zig")]),
        ("src/Job.kt", "package org.shop\n", [("org/shop", "src/")]),
        ("src/org/shop/Job.kt", "package org.shop\n", []),
        ("src/x/Job.kt", "package org.`shop-x`.y\n", [("org/shop-x/y", "src/x/")]),
        ("src/Job.kt", "package android.os\n", []),
        ("src/Job.kt", "class Job\n", []),
        ("README.md", "module x\n", []),
    ],
)
def test_a_configuration_file_gives_its_module_roots(path, text, expected):
    assert roots_in(path, text) == expected


@pytest.mark.parametrize(
    ("path", "text", "expected"),
    [
        ("pyproject.toml", '[project]\nname = "a"\n', [""]),
        ("p/pyproject.toml", '[tool.setuptools]\npackage-dir = {"" = "code"}\n', ["p/", "p/code/"]),
        ("pyproject.toml", '[tool.setuptools.packages.find]\nwhere = ["a", "b"]\n', ["", "a/", "b/"]),
        ("pyproject.toml", '[tool.poetry]\npackages = [{include = "x", from = "code"}]\n', ["", "code/"]),
        ("pyproject.toml", '[tool.hatch.build.targets.wheel]\npackages = ["code/x"]\n', ["", "code/"]),
        ("pyproject.toml", '[tool.maturin]\npython-source = "py"\n', ["", "py/"]),
        ("pyproject.toml", '[tool.pytest.ini_options]\npythonpath = "tests/lib"\n', ["", "tests/lib/"]),
        ("setup.cfg", "[metadata]\nname = a\n[options.packages.find]\nwhere = code\n", ["", "code/"]),
        ("setup.cfg", "[flake8]\nmax-line-length = 100\n", []),
        ("setup.py", 'setup(package_dir={"": "code"}, packages=find_packages("code"))', ["", "code/"]),
        ("setup.py", "setup(packages=find_packages(where='lib2'))", ["", "lib2/"]),
        ("pyproject.toml", '[tool.maturin]\npython-source = "../../outside"\n', [""]),
    ],
)
def test_python_projects_give_the_directories_of_their_packages(path, text, expected):
    roots = module_roots(path, text.encode())

    assert [root.directory for root in roots] == expected
    assert {root.scope for root in roots} <= {path.rpartition("/")[0] + "/" if "/" in path else ""}


def test_a_composer_file_gives_its_prefixes_with_slashes():
    text = '{"autoload": {"psr-4": {"App\\\\Model\\\\": "src/model/", "": "lib"}}, "autoload-dev": {"psr-0": {"Old": "old/"}}}'

    assert roots_in("composer.json", text) == [("App/Model", "src/model/"), ("", "lib/"), ("Old", "old/Old/")]


def test_roots_are_ranked_in_the_order_of_the_file_without_repetitions():
    roots = module_roots("x/Cargo.toml", b'[package]\nname = "b"\n[lib]\nname = "a"\n')

    assert [(root.prefix, root.rank) for root in roots] == [("b", 0), ("a", 1)]
    assert len(module_roots("x/Cargo.toml", b'[package]\nname = "b"\n[lib]\nname = "b"\n')) == 1


def test_a_generated_map_of_names_is_cut():
    paths = ", ".join(f'"n{number}": ["./{number}"]' for number in range(2 * MAX_ROOTS_PER_FILE))

    assert len(module_roots("tsconfig.json", f'{{"compilerOptions": {{"paths": {{{paths}}}}}}}'.encode())) == MAX_ROOTS_PER_FILE


SAMPLES = {
    "Cargo.toml": b'[package]\nname = "a"\n[lib]\npath = "x.rs"\n',
    "Package.swift": b'.target(name: "A", path: "B")',
    "build.zig": b'b.addModule("a", .{ .root_source_file = b.path("a.zig") });',
    "composer.json": b'{"autoload": {"psr-4": {"A\\\\": ["a", "b"]}}}',
    "go.mod": b"module a.io/b",
    "package.json": b'{"name": "a", "exports": {".": {"import": "./a.js"}, "./b/*": ["./b/*.js"]}, "imports": {"#a": "./a.js"}}',
    "pyproject.toml": b'[tool.setuptools]\npackage-dir = {"" = "src"}',
    "setup.cfg": b"[options]\npackage_dir =\n  = src",
    "setup.py": b'setup(package_dir={"": "src"})',
    "tsconfig.json": b'{"compilerOptions": {"baseUrl": ".", "paths": {"@/*": ["src/*"]}}}',
    "x/A.csproj": b"<RootNamespace>A.B</RootNamespace>",
    "x/a.kt": b"package a.b",
}


@pytest.mark.parametrize("path", sorted(SAMPLES))
def test_garbage_in_a_file_gives_no_roots_and_raises_nothing(path):
    """The value of any key may have any type, and a file may end anywhere."""
    source = random.Random(path)
    sample = SAMPLES[path]
    assert module_roots(path, sample)
    for _ in range(400):
        broken = bytearray(sample)
        for _ in range(source.randint(1, 4)):
            at = source.randrange(len(broken))
            broken[at : at + source.randrange(6)] = source.choice(
                (b"", b"{", b"[1]", b"\xff", b"null", b"3", b'"', b"*", b"../../", b"\x00")
            )
        module_roots(path, bytes(broken))
    for garbage in (
        b"",
        b"\x00" * 100,
        b"\xff\xfe",
        b"[" * 20_000,
        b"{" * 20_000,
        b"a.b = 1\n" * 3,
        b'{"name": 3, "exports": [null]}',
    ):
        module_roots(path, garbage)


@pytest.mark.parametrize(
    "text",
    [
        '{"compilerOptions": []}',
        '{"compilerOptions": {"paths": []}}',
        '{"compilerOptions": {"paths": {"a": "b"}}}',
        '{"compilerOptions": {"paths": {"a": [1]}, "baseUrl": 3}}',
        "[]",
    ],
)
def test_a_typescript_configuration_of_unexpected_types_gives_no_roots(text):
    assert module_roots("tsconfig.json", text.encode()) == ()


def names_in(path: str, **fields: object) -> list[tuple[str, str]]:
    roots = module_roots(path, json.dumps(fields).encode())
    return [(root.prefix, root.directory) for root in roots if root.ecosystem != RECORDS]


def test_aliases_are_seen_from_the_base_url_else_from_the_file():
    assert names_in("a/tsconfig.json", compilerOptions={"paths": {"@/*": ["./src/*", "../shared/*"]}}) == [
        ("@/*", "a/src/*"),
        ("@/*", "shared/*"),
    ]
    assert names_in("a/tsconfig.build.json", compilerOptions={"baseUrl": "./src", "paths": {"ui": ["lib/ui"]}}) == [
        ("ui", "a/src/lib/ui"),
        ("*", "a/src/*"),
    ]
    assert names_in("jsconfig.json", compilerOptions={"baseUrl": "."}) == [("*", "*")]


def test_what_cannot_be_matched_backwards_or_leads_outside_is_left_out():
    assert (
        names_in("tsconfig.json", compilerOptions={"paths": {"a*b": ["x/*"], "c/*": ["x.y*"], "d/*/*": ["*/*"], "e": ["../out"]}})
        == []
    )


def test_the_source_of_a_built_entry_is_tried_first():
    found = names_in("packages/core/package.json", name="core", exports={".": "./dist/esm/index.js", "./x/*": "./lib/x/*.js"})

    assert found[:4] == [
        ("core", "packages/core/src/index.js"),
        ("core", "packages/core/dist/esm/index.js"),
        ("core/x/*", "packages/core/src/x/*.js"),
        ("core/x/*", "packages/core/lib/x/*.js"),
    ]
    assert found[-2:] == [("core", "packages/core/"), ("core/*", "packages/core/")]


def test_every_condition_of_an_entry_is_a_candidate():
    found = names_in(
        "package.json", name="a", exports={"import": {"types": "./a.d.ts", "default": "./a.js"}, "require": ["./a.cjs"]}
    )

    assert [directory for prefix, directory in found if prefix == "a"][:3] == ["a.d.ts", "a.js", "a.cjs"]


def test_a_package_without_name_has_only_private_imports():
    assert names_in("x/package.json", private=True, imports={"#db": {"node": "./db.js"}}) == [("#db", "x/db.js")]
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
