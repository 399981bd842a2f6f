"""The module part of qualified names, taken from the path or from a clause in the file."""

import pytest
from tree_sitter_language_pack import get_parser

from codecompass import languages


@pytest.mark.parametrize(
    ("name", "path", "expected"),
    [
        ("python", "pkg/mod.py", "pkg.mod"),
        ("python", "src/pkg/__init__.py", "pkg"),
        ("python", "setup.py", "setup"),
        ("python", "__init__.py", "__init__"),
        ("rust", "src/auth/jwt.rs", "auth.jwt"),
        ("rust", "src/lib.rs", ""),
        ("rust", "src/main.rs", ""),
        ("rust", "src/auth/mod.rs", "auth"),
        ("rust", "crates/net-io/src/tcp.rs", "net_io.tcp"),
        ("rust", "tokio/src/lib.rs", "tokio"),
        ("rust", "tokio/tests/io_copy.rs", "tokio.tests.io_copy"),
        ("rust", "build.rs", "build"),
        ("javascript", "src/a/b.js", "a.b"),
        ("javascript", "lib/index.js", "lib"),
        ("javascript", "index.js", "index"),
        ("typescript", "packages/ui/src/menu.ts", "packages.ui.menu"),
        ("typescript", "types/index.d.ts", "types"),
        ("tsx", "src/App.tsx", "App"),
    ],
)
def test_the_path_names_the_module(name, path, expected):
    assert ".".join(languages.load(name).path_module(path)) == expected


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("go", "// Licence\n\n/* more */\npackage queue\n", "queue"),
        ("go", "func f() {}", ""),
        ("go", "", ""),
        ("java", "/* Licence */\npackage org . example;\nclass A {}", "org.example"),
        ("java", "@A package b;", "b"),
        ("java", "class A {}", ""),
    ],
)
def test_the_package_clause_names_the_module(name, text, expected):
    language = languages.load(name)
    source = text.encode()
    root = get_parser(language.grammar).parse(source).root_node

    assert ".".join(language.module("some/where", root, source)) == expected
