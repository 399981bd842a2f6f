"""Path roles depend on whole components and file name patterns, not on substrings."""

import pytest

from codecompass.scan.path_roles import (
    MAX_WORDS_ABOVE,
    PathWords,
    is_history,
    role_of,
    words_of,
)


@pytest.mark.parametrize(
    "path",
    [
        "tests/x.py",
        "src/__tests__/App.tsx",
        "pkg/server/foo_test.go",
        "src/test/java/com/acme/FooTest.java",
        "FooTest.java",
        "FooTests.cs",
        "test_x.py",
        "conftest.py",
        "web/x.spec.ts",
        "web/x.test.js",
        "spec/models/user_spec.rb",
        "Tests/AppTests/AppTests.swift",
        "MyApp.Tests/Unit.cs",
        "core-tests/main.rs",
        "benches/parse.rs",
        "testdata/input.json",
        "TestServer.kt",
        "src/page.snap",
        "web/__snapshots__/page.txt",
    ],
)
def test_tests_are_known(path):
    assert role_of(path).is_test


@pytest.mark.parametrize(
    "path",
    [
        "latest_version.py",
        "contest_api.rs",
        "src/attestation/quote.go",
        "fastest.java",
        "Latest.java",
        "protester/main.go",
        "src/testament.py",
        "inspect/specular.ts",
        "src/Manifest.cs",
    ],
)
def test_names_that_only_contain_the_word_are_no_tests(path):
    assert not role_of(path).is_test


@pytest.mark.parametrize(
    "path",
    ["api/v1/zz_generated.deepcopy.go", "a/service.pb.go", "service_pb2.py", "x.min.js", "src/gen/a.rs", "yarn.lock", "go.sum"],
)
def test_generated_files_are_known(path):
    assert role_of(path).is_generated
    assert not role_of("src/generator/main.rs").is_generated


@pytest.mark.parametrize(
    "path",
    [
        "PKG-INFO",
        "Shop.egg-info/SOURCES.txt",
        "shop-1.0.dist-info/METADATA",
        "docs/_build/index.html",
        "web/app.min.mjs",
        "web/app.css.map",
        "pnpm-lock.yaml",
        "packages.lock.json",
        ".terraform.lock.hcl",
        "bun.lockb",
        "gradle.lockfile",
        "Package.resolved",
    ],
)
def test_what_packagers_resolvers_and_builds_write_is_generated(path):
    assert role_of(path).is_generated


@pytest.mark.parametrize("path", ["src/file_lock.py", "src/rw-lock.ts", "src/Lock.java", "sync/lock.go"])
def test_code_about_locks_is_product_code(path):
    assert role_of(path).rank == 0


def test_vendored_directories_are_known_by_whole_segments():
    assert role_of("vendor/github.com/x/y.go").is_vendored
    assert role_of("a/third_party/zlib/inflate.c").is_vendored
    assert not role_of("src/vendors/list.py").is_vendored


def test_roles_order_product_code_first():
    paths = ["vendor/a.go", "a.pb.go", "a_test.go", "docs/a.go", "README.md", "config.yaml", "a.go"]

    assert [role_of(path).rank for path in paths] == [4, 3, 2, 1, 1, 1, 0]


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("src/auth/JwtHandler.rs", PathWords(("jwt", "handler"), ("auth",), ("src",), "src/auth")),
        ("src/auth/mod.rs", PathWords(("auth",), ("src",), (), "src")),
        ("packages/ui/src/index.test.ts", PathWords(("src",), ("ui",), ("packages",), "packages/ui")),
        ("pkg/__init__.py", PathWords(("pkg",), (), (), "")),
        ("main.go", PathWords(("main",), (), (), "")),
        (".eslintrc.json", PathWords(("eslintrc",), (), (), "")),
    ],
)
def test_the_words_of_a_path_by_where_they_stand(path, words):
    assert words_of(path) == words


@pytest.mark.parametrize(
    ("path", "tells"),
    [
        ("CHANGELOG.md", True),
        ("docs/release-notes.md", True),
        ("RELEASE-NOTES", True),
        ("src/changes/changes.xml", True),
        ("History.md", True),
        ("CHANGES.rst", True),
        ("changelogs/unreleased/12.yml", True),
        ("CHANGELOG-1.2.md", True),
        ("src/history/index.js", False),
        ("app/news/models.py", False),
        ("lib/changes.go", False),
        ("src/newsletter.md", False),
    ],
)
def test_changelogs_are_told_apart_from_code_about_changes(path, tells):
    assert is_history(path) is tells


@pytest.mark.slow
def test_a_path_of_any_depth_is_read():
    path = "tests/" + "some_words/" * 20_000 + "a.py"

    assert role_of(path).is_test
    words = words_of(path)
    assert (words.stem, words.directory) == (("a",), ("some", "words"))
    assert len(words.above) <= MAX_WORDS_ABOVE


@pytest.mark.parametrize("path", ["locale/de/app.ftl", "locale/de/app.po", "i18n/app.xliff"])
def test_translations_are_prose(path):
    assert role_of(path).is_prose


def test_templates_of_a_forge_are_no_product_code():
    assert role_of(".github/ISSUE_TEMPLATE/bug.yml").is_example
