"""Paths without a disk: joins, tails, packages, nearness."""

import pytest

from codecompass.languages.imports.paths import (
    ancestors,
    directory_tail,
    ending_in,
    join,
    nearest,
    package_of,
    path_tails,
    tail_of,
)


@pytest.mark.parametrize(
    ("directory", "relative", "expected"),
    [
        ("a/b/", "c", "a/b/c"),
        ("a/b/", "./c.js", "a/b/c.js"),
        ("a/b/", "../c/./d", "a/c/d"),
        ("a/b/", "..", "a"),
        ("a/", "..", ""),
        ("a/", "../..", None),
        ("", "../a", None),
        ("", ".", ""),
        ("a/", "b//c", "a/b/c"),
    ],
)
def test_joining_never_leaves_the_repository(directory, relative, expected):
    assert join(directory, relative) == expected


def test_a_tail_is_the_part_before_the_first_dot():
    assert [tail_of(name) for name in ("a.ts", "a.d.ts", "a", ".env.local", ".bashrc", "")] == [
        "a",
        "a",
        "a",
        ".env",
        ".bashrc",
        "",
    ]


def test_ancestors_go_from_the_nearest_to_the_root():
    assert list(ancestors("a/b/c.py")) == ["a/b/", "a/", ""]
    assert list(ancestors("c.py")) == [""]


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("web/src/types.d.ts", {"types"}),
        ("web/src/api/index.ts", {"index", "api"}),
        ("lua/lazy.nvim/init.lua", {"init", "lazy"}),
        ("shop/cart/mod.rs", {"mod", "cart"}),
        ("shop/__init__.py", {"__init__", "shop", "shop/:python"}),
        ("index.js", {"index"}),
        ("pkg/api/v1/types.go", {"pkg/api/v1/:go"}),
        ("main.go", {":go"}),
        ("src/org/shop/Cart.java", {"Cart", "src/org/shop/:jvm", "shop/"}),
        ("src/Shop.Core/Cart.cs", {"Cart", "src/Shop.Core/:dotnet", "Core/"}),
        ("Sources/Shop/Model/Item.swift", {"Item", "Sources/Shop/:swift", "Shop/"}),
        ("README.md", {"README"}),
        ("Makefile", {"Makefile"}),
    ],
)
def test_a_file_is_found_under_its_stem_its_directory_and_its_package(path, expected):
    assert set(path_tails(path)) == expected
    assert len(path_tails(path)) == len(expected)


def test_a_package_is_the_directory_of_its_files_for_swift_that_of_the_target():
    assert package_of("a/b/c.go") == ("go", "a/b/")
    assert package_of("c.py") == ("python", "")
    assert package_of("x/Sources/Net/Http/Client.swift") == ("swift", "x/Sources/Net/")
    assert package_of("App/Views/Main.swift") == ("swift", "App/")
    assert package_of("Package.swift") is None
    assert package_of("a/b.rs") is None


def test_the_tail_of_a_directory_is_the_last_word_of_its_name():
    assert [directory_tail(path) for path in ("a/v1/", "Src/Shop.Core/", "")] == ["v1/", "Core/", ""]


def test_a_path_ends_in_another_only_at_a_directory():
    assert ending_in(["a/net/x.h", "subnet/x.h", "net/x.h", "x.h"], "net/x.h") == ["a/net/x.h", "net/x.h"]


def test_the_nearest_shares_most_directories_then_is_shortest_then_first():
    assert nearest(["z/x.h", "a/b/deep/x.h", "a/x.h"], "a/b/main.c") == "a/b/deep/x.h"
    assert nearest(["a/bb/x.h", "a/b/x.h"], "c/main.c") == "a/b/x.h"
    assert nearest(["b/x.h", "a/x.h"], "c/main.c") == "a/x.h"
    assert nearest([], "c/main.c") == ""
