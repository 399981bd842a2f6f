"""Zig files and the modules of the build script."""

from tests.support.imports import repository, target

BUILD = """
    const core = b.addModule("core", .{
        .root_source_file = b.path("lib/core_root.zig"),
    });
    exe.root_module.addImport("core", core);
"""


def test_a_path_is_seen_from_the_importing_file():
    paths = repository("src/main.zig src/parse/Tree.zig src/shop.zig")

    assert target(paths, "src/main.zig", "parse/Tree.zig") == "src/parse/Tree.zig"
    assert target(paths, "src/parse/Tree.zig", "../main.zig") == "src/main.zig"
    assert target(paths, "src/main.zig", "Tree.zig") == ""


def test_a_name_is_a_module_of_the_build_script_else_the_source_of_that_name():
    paths = repository("src/main.zig src/shop.zig lib/core_root.zig tests/all.zig", {"build.zig": BUILD})

    assert target(paths, "tests/all.zig", "core") == "lib/core_root.zig"
    assert target(paths, "tests/all.zig", "shop") == "src/shop.zig"
    assert target(paths, "tests/all.zig", "std") == ""
