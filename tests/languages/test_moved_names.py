"""The module that a file's path implies, and how moving the file changes its names."""

import pytest
from tree_sitter import Parser
from tree_sitter_language_pack import get_language

from codecompass.languages import SYMBOL_LANGUAGES, load
from codecompass.languages.language import no_module, no_path_module
from codecompass.languages.moved_names import moved_name


@pytest.mark.parametrize(
    ("language", "old", "new", "name", "moved"),
    [
        ("python", "src/a/b.py", "lib/c.py", "a.b.Client.send", "c.Client.send"),
        ("python", "a/__init__.py", "a.py", "a.f", "a.f"),
        ("rust", "net/src/io/mod.rs", "net/src/tcp.rs", "net::io::Stream::read", "net::tcp::Stream::read"),
        ("lua", "lua/a/init.lua", "lua/b.lua", "a.setup", "b.setup"),
        ("typescript", "src/menu/index.ts", "packages/ui/menu.ts", "menu.Menu.open", "packages.ui.menu.Menu.open"),
        ("swift", "Sources/Core/A.swift", "Sources/Core/B.swift", "Core.open", "Core.open"),
        ("python", "a/b.py", "c.py", "other.f", None),
        ("swift", "A.swift", "Sources/Core/A.swift", "open", None),
    ],
)
def test_a_name_in_a_file_that_moves(language, old, new, name, moved):
    assert moved_name(language, old, new, name) == moved


BY_PATH = [language for language in SYMBOL_LANGUAGES if load(language).path_module is not no_path_module]


@pytest.mark.parametrize("language", BY_PATH)
def test_where_the_path_names_the_module_nothing_else_does(language):
    description = load(language)

    assert description.module is no_module
    assert description.member_separator in (None, description.separator)


@pytest.mark.parametrize("language", sorted(set(SYMBOL_LANGUAGES) - set(BY_PATH)))
def test_in_all_other_languages_the_path_says_nothing(language):
    description = load(language)

    if description.outline is None:
        root = Parser(get_language(description.grammar)).parse(b"").root_node
        assert description.module("src/a/b.x", root, b"") == description.module("c.x", root, b"")
    assert moved_name(language, "src/a/b.x", "c.x", "b.f") == "b.f"
