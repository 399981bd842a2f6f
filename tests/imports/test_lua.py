"""Lua modules below an entry of the search path."""

from tests.support.imports import repository, target


def test_a_module_is_found_above_and_in_the_lua_directory_of_a_plugin():
    paths = repository(
        "lua/lazy/init.lua lua/lazy/core/config.lua tests/helpers.lua tests/core/spec.lua src/util.lua other/x/a.lua"
    )

    assert target(paths, "tests/core/spec.lua", "lazy") == "lua/lazy/init.lua"
    assert target(paths, "tests/core/spec.lua", "lazy.core.config") == "lua/lazy/core/config.lua"
    assert target(paths, "tests/core/spec.lua", "lazy/core/config") == "lua/lazy/core/config.lua"
    assert target(paths, "tests/core/spec.lua", "tests.helpers") == "tests/helpers.lua"
    assert target(paths, "tests/core/spec.lua", "util") == "src/util.lua"
    assert target(paths, "tests/core/spec.lua", "ffi") == ""
    assert target(paths, "tests/core/spec.lua", "x.a") == "other/x/a.lua"
    assert target(paths, "tests/core/spec.lua", "a") == ""


def test_a_plugin_below_another_directory_is_found_by_its_lua_directory():
    paths = repository("plugins/tree/lua/tree/view.lua init.lua")

    assert target(paths, "init.lua", "tree.view") == "plugins/tree/lua/tree/view.lua"


def test_of_files_with_one_name_the_one_on_the_search_path_is_meant():
    paths = repository(
        "lua/tree/view.lua lua/tree/config.lua lua/config.lua tests/config.lua "
        "game/main.lua game/util.lua game/states/util.lua game/states/menu.lua "
        "tools/a/b.lua tools/a/c.lua"
    )

    assert target(paths, "lua/tree/view.lua", "config") == "lua/config.lua"
    assert target(paths, "tests/config_spec.lua", "config") == "lua/config.lua"
    assert target(paths, "game/states/menu.lua", "util") == "game/util.lua"
    assert target(paths, "game/states/menu.lua", "states.util") == "game/states/util.lua"
    assert target(paths, "tools/a/b.lua", "c") == "tools/a/c.lua"
