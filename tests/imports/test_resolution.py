"""The invariant behind incremental updates, tested on random repositories: only imports with affected tails change."""

import random

import pytest

from codecompass.languages.imports import (
    InMemoryPaths,
    ModuleRoot,
    Resolver,
    affected_tails,
    import_tails,
    languages_of,
    resolve,
)
from codecompass.languages.imports.paths import package_of
from codecompass.languages.records import Import

NAMES = ("a", "b", "src", "lib")
EXTENSIONS = {
    "bash": (".sh",),
    "c": (".h", ".c"),
    "csharp": (".cs",),
    "elixir": (".ex",),
    "go": (".go",),
    "haskell": (".hs",),
    "java": (".java", ".kt"),
    "javascript": (".js", ".ts", ".d.ts", ".json"),
    "kotlin": (".kt",),
    "lua": (".lua",),
    "php": (".php",),
    "python": (".py", ".pyi"),
    "ruby": (".rb",),
    "rust": (".rs",),
    "scala": (".scala",),
    "swift": (".swift",),
    "typescript": (".ts", ".tsx"),
    "zig": (".zig",),
}
STEMS = ("a", "b", "A", "index", "__init__", "mod", "lib", "main", "init")
KINDS = {
    "c": ("include", "system"),
    "php": ("module", "include"),
    "ruby": ("module", "relative"),
    "rust": ("module", "mod", "inline:a", "inline:a::b"),
}
FIXED_SPECS = {
    "javascript": (".", "..", "../", "./index", "./a.js", "@b/a", "x-b", "@/a", "a/index.js", "#a", "./a/../b", "./lib/."),
    "go": ("v.io", "v.io/a", "v.io/b", "./b", "../lib"),
    "python": (".", "..", "...a", "a.lib"),
    "bash": ("$DIR/a.sh", "${X}/lib/b.sh", "lib/./b.sh", "a/../b.sh"),
    "c": ("a/./b.h", "lib/../a.h", "../src/a.h"),
    "ruby": ("./a", "../a", "a/b.rb"),
    "rust": ("crate", "super", "crate::src::a", "self::src::a"),
    "zig": ("a", "b"),
}
HEADS = {
    "bash": ("", "./", "../"),
    "c": ("", "", "../"),
    "go": ("h.io/a/", "h.io/a/b/", "v.io/", ""),
    "javascript": ("", "./", "../", "../../", "a/", "@b/"),
    "lua": ("",),
    "php": ("",),
    "python": ("", "", ".", "..", "..."),
    "ruby": ("", "./", "../"),
    "rust": ("crate::", "self::", "super::", "super::super::", "a::", "b::"),
    "zig": ("", "../"),
}
SEPARATORS = {"rust": "::", "php": "\\"} | dict.fromkeys(("bash", "c", "go", "javascript", "ruby", "zig"), "/")
ROOTS = (
    ModuleRoot("node", "a", "b/"),
    ModuleRoot("node", "a", "b/lib/main", rank=1),
    ModuleRoot("node", "a/*", "b/src/*"),
    ModuleRoot("node", "@b/*", "lib/*/src/index.ts", "a/"),
    ModuleRoot("node", "b", "src"),
    ModuleRoot("node", "#a", "a/b.js", "a/"),
    ModuleRoot("node", "x-*", "a/*.js"),
    ModuleRoot("node", "*", "lib/*", "lib/"),
    ModuleRoot("go", "h.io/a", ""),
    ModuleRoot("go", "h.io/a/b", "src/"),
    ModuleRoot("cargo", "a", "b/src/"),
    ModuleRoot("cargo", "b", "lib/main.rs"),
    ModuleRoot("python", "", "a/lib/", "a/"),
    ModuleRoot("python", "", "b/", "b/"),
    ModuleRoot("composer", "a", "src/"),
    ModuleRoot("composer", "", "lib/"),
    ModuleRoot("dotnet", "a/b", "src/"),
    ModuleRoot("jvm", "a/b", "src/"),
    ModuleRoot("jvm", "b", "lib/a/"),
    ModuleRoot("swift", "a", "b/"),
    ModuleRoot("zig", "a", "src/main.zig"),
)

LIKELY_FILES = {
    "csharp": ("src/a/A.cs", "a.b/a/A.cs"),
    "javascript": ("b/lib/main.js", "b/src/a.js", "lib/a/src/index.ts", "src.ts", "b/index.js"),
    "go": ("vendor/v.io/a/b.go", "vendor/v.io/c.go", "a/vendor/v.io/b/b.go", "a/b/a.go", "lib/main.go"),
    "python": ("a/__init__.py", "a/b/__init__.py", "a/lib.py", "a/b/a.py", "b/__init__.py", "b/a/lib/b.py", "b/b.py"),
    "rust": ("b/src/lib.rs", "b/src/a/mod.rs", "lib/main.rs", "lib/src/a.rs", "src/lib.rs", "src/a.rs", "lib.rs"),
    "zig": ("src/main.zig", "src/b.zig"),
}
"""Files that the roots and rules refer to, so that random trees contain them often enough."""


def some_file(source, language):
    if source.random() < 0.3 and language in LIKELY_FILES:
        return source.choice(LIKELY_FILES[language])
    directory = "".join(source.choice(NAMES) + "/" for _ in range(source.randrange(4)))
    return directory + source.choice(STEMS) + source.choice(EXTENSIONS[language])


def some_files(source, language, most):
    return {some_file(source, language) for _ in range(source.randint(1, most))}


def some_import(source, language):
    spelled = "javascript" if language == "typescript" else language
    parts = [source.choice(("a", "b", "A", "lib", "src")) for _ in range(source.randint(1, 4))]
    spec = source.choice(HEADS.get(spelled, ("",))) + SEPARATORS.get(spelled, ".").join(parts)
    if language in ("bash", "c", "ruby", "zig") and source.random() < 0.7:
        spec += EXTENSIONS[language][0]
    if source.random() < 0.3:
        spec = source.choice(FIXED_SPECS.get(spelled, (spec,)))
    kind = source.choice(KINDS.get(language, ("module",)))
    name = source.choice(("", "*", "a", "A", "b"))
    return Import(1, 1, "a" if kind == "mod" else spec, "" if kind == "mod" else name, kind=kind)


@pytest.mark.invariant("An import's resolution changes only with a path that shares a tail with it")
@pytest.mark.slow
@pytest.mark.parametrize("language", sorted(EXTENSIONS))
def test_an_answer_changes_only_when_a_tail_of_the_import_is_affected(language):
    changed = 0
    for seed in range(400):
        source = random.Random(f"{language} {seed}")
        before = some_files(source, language, 14)
        removed = {path for path in before if source.random() < 0.15}
        after = before - removed | some_files(source, language, 4)
        roots = source.choice((ROOTS, ()))
        old, new = InMemoryPaths(before, roots), InMemoryPaths(after, roots)

        affected = affected_tails(after - before, before - after, new)

        for _ in range(20):
            item, from_path = some_import(source, language), some_file(source, language)
            if resolve(language, item, from_path, old) != resolve(language, item, from_path, new):
                changed += 1
                assert affected.intersection(import_tails(language, item, from_path)), (seed, item, from_path)
    assert changed > 20


@pytest.mark.slow
@pytest.mark.parametrize("language", sorted(EXTENSIONS))
def test_an_answer_is_in_the_repository_and_does_not_depend_on_the_order_of_files(language):
    for seed in range(200):
        source = random.Random(f"{language} {seed}")
        files = sorted(some_files(source, language, 14))
        paths, mirrored = InMemoryPaths(files, ROOTS), InMemoryPaths(reversed(files), reversed(ROOTS))
        directories = {package[1] or "/" for package in map(package_of, files) if package is not None}
        directories |= {root.directory or "/" for root in ROOTS}

        for _ in range(12):
            item, from_path = some_import(source, language), source.choice(files)
            target = resolve(language, item, from_path, paths)

            assert target == "" or target in files or target in directories, (seed, item, from_path)
            assert resolve(language, item, from_path, mirrored) == target, (seed, item, from_path)


@pytest.mark.parametrize("language", sorted(EXTENSIONS))
def test_an_import_has_at_most_two_tails_without_blanks(language):
    for seed in range(300):
        source = random.Random(f"{language} {seed}")
        item, from_path = some_import(source, language), some_file(source, language)

        tails = import_tails(language, item, from_path)

        assert len(tails) <= 2
        assert len(set(tails)) == len(tails)
        assert all(tails)


@pytest.mark.parametrize(
    ("files", "added", "expected"),
    [
        ("pkg/v1/a.go", "pkg/v1/b.go", set()),
        ("pkg/v1/a.go", "pkg/v2/a.go", {"pkg/v2", "v2"}),
        ("org/shop/A.kt", "org/shop/B.kt", {"B", "shop/B"}),
        ("org/shop/A.kt", "org/cart/B.kt", {"B", "cart/B", "cart", "org/cart"}),
        ("Sources/Net/A.swift", "Sources/Net/Http/B.swift", {"B", "Http/B"}),
        ("web/a.ts", "web/api/index.ts", {"index", "api/index", "api", "web/api"}),
        ("pkg/__init__.py pkg/a.py", "pkg/b.py", {"b", "pkg/b"}),
        ("pkg/a.py", "pkg/__init__.py", {"__init__", "pkg/__init__", "pkg", "a", "pkg/a"}),
        ("src/lib.rs src/a.rs", "src/b/c.rs", {"b", "c", "b/c"}),
        ("a.md", "docs/b.md", {"b", "docs/b"}),
    ],
)
def test_a_new_file_affects_what_is_found_by_its_name_and_nothing_else(files, added, expected):
    paths = InMemoryPaths([*files.split(), added])

    assert affected_tails([added], [], paths) == expected
    paths.remove(added)
    assert affected_tails([], [added], paths) == expected


def test_a_package_that_loses_and_gains_files_at_once_is_still_there():
    paths = InMemoryPaths(["pkg/v1/b.go"])

    assert affected_tails(["pkg/v1/b.go"], ["pkg/v1/a.go"], paths) == set()


def test_configuration_gives_a_file_the_names_of_others():
    roots = [
        ModuleRoot("go", "example.com/shop", "x/"),
        ModuleRoot("node", "ui", "src/main"),
        ModuleRoot("cargo", "net", "net/src/"),
    ]
    files = "x/main.go x/api/a.go x/vendor/a.io/b/c.go src/main.ts net/src/lib.rs net/src/io.rs"
    paths = InMemoryPaths(files.split(), roots)

    assert affected_tails(["x/main.go"], [], paths) == {"x", "example.com/shop"}
    assert affected_tails(["x/api/a.go"], [], paths) == {"x/api", "shop/api"}
    assert affected_tails(["x/vendor/a.io/b/c.go"], [], paths) == {"a.io/b"}
    assert affected_tails(["src/main.ts"], [], paths) == {"main", "src/main", "ui"}
    assert affected_tails(["net/src/lib.rs"], [], paths) >= {"net", "crate"}
    assert affected_tails(["net/src/io.rs"], [], paths) == {"io", "src/io", "net::io"}


@pytest.mark.parametrize("language", ["sql", "markdown", "", "text"])
def test_a_language_without_imports_resolves_nothing(language):
    paths = InMemoryPaths(["a.sql"])

    assert resolve(language, Import(1, 1, "a"), "b.sql", paths) == ""
    assert import_tails(language, Import(1, 1, "a"), "b.sql") == ()


def test_every_language_with_roots_is_named_by_its_ecosystem():
    assert {root.ecosystem for root in ROOTS} == {
        ecosystem
        for ecosystem in ("cargo", "composer", "dotnet", "go", "jvm", "node", "python", "swift", "zig")
        if languages_of(ecosystem)
    }
    assert languages_of("unknown") == ()


@pytest.mark.parametrize("language", sorted(EXTENSIONS))
def test_no_text_of_an_import_makes_resolving_fail(language):
    source = random.Random(language)
    paths = InMemoryPaths([some_file(source, language) for _ in range(30)], ROOTS)
    pieces = (
        "",
        ".",
        "..",
        "/",
        "//",
        "::",
        ":",
        "\\",
        "*",
        "@",
        "#",
        "~",
        "$",
        "${",
        "`",
        "a",
        "A",
        "é",
        " ",
        "\0",
        "!",
        "?",
        "r#",
        "crate",
    )

    for _ in range(2000):
        spec, name = ("".join(source.choices(pieces, k=source.randrange(5))) for _ in range(2))
        kind = source.choice(("module", "mod", "include", "system", "relative", "inline:", "inline:a", ""))
        item, from_path = Import(1, 1, spec, name, kind=kind), some_file(source, language)

        assert len(import_tails(language, item, from_path)) <= 2
        assert isinstance(resolve(language, item, from_path, paths), str)


def test_a_resolver_gives_what_each_import_resolves_to_alone():
    """It remembers what follows from a directory and a spec."""
    files = ["go.mod", "a/a.go", "a/b.go", "b/vendor/x.org/y/y.go", "b/b.go", "x/y/c.go"]
    paths = InMemoryPaths(files, [ModuleRoot("go", "example.org/m", "")])
    imports = [Import(1, 1, spec) for spec in ("example.org/m/b", "x.org/y", "../b", "fmt", "x.org/y")]
    resolver = Resolver(paths)

    for path in ("a/a.go", "a/b.go", "b/b.go", "x/y/c.go", "a/" * 100 + "z.go"):
        alone = [(import_tails("go", item, path), resolve("go", item, path, paths)) for item in imports]
        assert [resolver.resolved("go", item, path) for item in imports] == alone
