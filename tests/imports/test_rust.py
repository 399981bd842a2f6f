"""Rust: module files in both styles, paths within the crate, other crates of the workspace."""

import pytest

from tests.support.imports import repository, target

WORKSPACE = repository(
    """
    net/src/lib.rs net/src/io.rs net/src/io/read.rs net/src/io/buffer/mod.rs net/src/io/tests/slow.rs net/src/sys/unix.rs
    net/src/bin/serve.rs net/src/task.rs net/src/tests/task.rs net/src/tests/mod.rs
    net/tests/common/mod.rs net/tests/server.rs net/examples/echo.rs net/build.rs
    cli/src/main.rs cli/src/args.rs core/root.rs core/value.rs
    """,
    {
        "net/Cargo.toml": '[package]\nname = "shop-net"\n',
        "cli/Cargo.toml": '[package]\nname = "cli"\n',
        "core/Cargo.toml": '[package]\nname = "shop-core"\n[lib]\nname = "shop"\npath = "root.rs"\n',
    },
)


@pytest.mark.parametrize(
    ("from_path", "spec", "name", "expected"),
    [
        ("net/src/io/read.rs", "crate", "task", "net/src/task.rs"),
        ("net/src/io/read.rs", "crate::io", "Reader", "net/src/io.rs"),
        ("net/src/io/read.rs", "crate::io::buffer", "Buffer", "net/src/io/buffer/mod.rs"),
        ("net/src/io/read.rs", "crate::io::read::inline::deeper", "f", "net/src/io/read.rs"),
        ("net/src/io/read.rs", "crate", "Error", "net/src/lib.rs"),
        ("net/src/io/read.rs", "super", "*", "net/src/io.rs"),
        ("net/src/io/read.rs", "super::buffer", "Buffer", "net/src/io/buffer/mod.rs"),
        ("net/src/io/buffer/mod.rs", "super::read", "Reader", "net/src/io/read.rs"),
        ("net/src/io/buffer/mod.rs", "super::super::task", "spawn", "net/src/task.rs"),
        ("net/src/io.rs", "super", "Error", "net/src/lib.rs"),
        ("net/src/io.rs", "self::read", "Reader", "net/src/io/read.rs"),
        ("net/src/io.rs", "self", "Reader", "net/src/io.rs"),
        ("net/src/io.rs", "read", "Reader", "net/src/io/read.rs"),
        ("net/src/tests/task.rs", "crate::task", "spawn", "net/src/task.rs"),
        ("net/tests/server.rs", "common", "start", "net/tests/common/mod.rs"),
        ("cli/src/args.rs", "crate", "run", "cli/src/main.rs"),
        ("cli/src/main.rs", "shop_net::io", "Reader", "net/src/io.rs"),
        ("cli/src/main.rs", "shop_net", "Error", "net/src/lib.rs"),
        ("cli/src/main.rs", "shop_net", "io", "net/src/io.rs"),
        ("cli/src/main.rs", "shop::value", "Value", "core/value.rs"),
        ("cli/src/main.rs", "shop", "Value", "core/root.rs"),
        ("core/value.rs", "crate", "Error", "core/root.rs"),
        ("cli/src/main.rs", "std::io", "Read", ""),
        ("cli/src/main.rs", "serde", "Serialize", ""),
        ("net/src/sys/unix.rs", "super", "*", ""),
    ],
)
def test_a_path_leads_to_the_file_of_its_deepest_module(from_path, spec, name, expected):
    assert target(WORKSPACE, from_path, spec, name) == expected


@pytest.mark.parametrize(
    ("from_path", "spec", "expected"),
    [
        ("net/src/lib.rs", "io", "net/src/io.rs"),
        ("net/src/lib.rs", "tests", "net/src/tests/mod.rs"),
        ("net/src/io.rs", "buffer", "net/src/io/buffer/mod.rs"),
        ("net/src/io.rs", "r#read", "net/src/io/read.rs"),
        ("net/src/lib.rs", "sys::unix", "net/src/sys/unix.rs"),
        ("net/src/lib.rs", "sys/unix.rs", "net/src/sys/unix.rs"),
        ("net/tests/server.rs", "common", "net/tests/common/mod.rs"),
        ("core/root.rs", "value", "core/value.rs"),
        ("net/src/io.rs", "generated", ""),
    ],
)
def test_a_declared_module_is_a_file_beside_or_below(from_path, spec, expected):
    assert target(WORKSPACE, from_path, spec, kind="mod") == expected


def test_super_in_an_inline_module_is_the_file_itself():
    """`mod tests { use super::*; }` at the end of a file refers to that file."""
    assert target(WORKSPACE, "net/src/io/read.rs", "super", "*", "inline:tests") == "net/src/io/read.rs"
    assert target(WORKSPACE, "net/src/io.rs", "super::read", "Reader", "inline:tests") == "net/src/io/read.rs"
    assert target(WORKSPACE, "net/src/io/read.rs", "super::super", "*", "inline:tests") == "net/src/io.rs"
    assert target(WORKSPACE, "net/src/lib.rs", "self::unix", "f", "inline:sys") == "net/src/sys/unix.rs"
