"""Relative files, aliases and packages of JavaScript and TypeScript."""

import json

import pytest

from tests.support.imports import repository, target

FILES = """
    web/src/main.ts web/src/App.tsx web/src/api/index.ts web/src/api/client.ts web/src/types.d.ts web/src/legacy.js
    web/src/legacy.ts web/src/theme.css web/src/data.json web/src/foo.bar.ts web/index.js
"""


@pytest.mark.parametrize(
    ("from_path", "spec", "expected"),
    [
        ("web/src/main.ts", "./App", "web/src/App.tsx"),
        ("web/src/main.ts", "./api", "web/src/api/index.ts"),
        ("web/src/main.ts", "./api/", "web/src/api/index.ts"),
        ("web/src/main.ts", "./api/client.js", "web/src/api/client.ts"),
        ("web/src/main.ts", "./types", "web/src/types.d.ts"),
        ("web/src/main.ts", "./legacy.js", "web/src/legacy.ts"),
        ("web/src/legacy.js", "./legacy.js", "web/src/legacy.js"),
        ("web/src/main.ts", "./foo.bar", "web/src/foo.bar.ts"),
        ("web/src/main.ts", "./theme.css?inline", "web/src/theme.css"),
        ("web/src/main.ts", "./data.json", "web/src/data.json"),
        ("web/src/main.ts", "raw!./theme.css", "web/src/theme.css"),
        ("web/src/api/client.ts", ".", "web/src/api/index.ts"),
        ("web/src/api/client.ts", "./", "web/src/api/index.ts"),
        ("web/src/api/client.ts", "..", ""),
        ("web/src/api/client.ts", "../..", "web/index.js"),
        ("web/src/api/client.ts", "../../../../etc/passwd", ""),
        ("web/src/main.ts", "react", ""),
        ("web/src/main.ts", "node:fs", ""),
        ("web/src/main.ts", "https://example.org/api/client.ts", ""),
    ],
)
def test_a_relative_path_leads_to_the_file_that_a_bundler_would_take(from_path, spec, expected):
    assert target(repository(FILES), from_path, spec) == expected


def test_aliases_hold_below_their_configuration_the_nearest_first():
    paths = repository(
        "a/src/util.ts a/src/deep/x.ts b/lib/util.ts b/x.ts shared/util.ts",
        {
            "tsconfig.json": '{"compilerOptions": {"paths": {"@/*": ["./shared/*"], "#all": ["./shared/util.ts"]}}}',
            "a/tsconfig.json": '{"compilerOptions": {"baseUrl": "src", /* here */ "paths": {"@/*": ["*"],},}}',
        },
    )

    assert target(paths, "a/src/deep/x.ts", "@/util") == "a/src/util.ts"
    assert target(paths, "b/x.ts", "@/util") == "shared/util.ts"
    assert target(paths, "b/x.ts", "#all") == "shared/util.ts"
    assert target(paths, "a/src/deep/x.ts", "util") == "a/src/util.ts"
    assert target(paths, "b/x.ts", "util") == ""


def test_the_usual_alias_of_bundlers_is_understood_without_configuration():
    paths = repository("app/src/store/cart.js app/src/views/Cart.js")

    assert target(paths, "app/src/views/Cart.js", "@/store/cart") == "app/src/store/cart.js"


def manifest(**fields):
    return json.dumps(fields)


def test_a_package_of_the_workspace_leads_to_the_source_of_its_entry():
    paths = repository(
        "packages/core/src/index.ts packages/core/src/errors.ts packages/core/extra/deep.ts packages/app/src/main.ts",
        {
            "packages/core/package.json": manifest(
                name="@shop/core",
                exports={".": {"types": "./dist/index.d.ts", "import": "./dist/index.js"}, "./errors": "./dist/errors.js"},
            )
        },
    )

    assert target(paths, "packages/app/src/main.ts", "@shop/core") == "packages/core/src/index.ts"
    assert target(paths, "packages/app/src/main.ts", "@shop/core/errors") == "packages/core/src/errors.ts"
    assert target(paths, "packages/app/src/main.ts", "@shop/core/extra/deep") == "packages/core/extra/deep.ts"
    assert target(paths, "packages/app/src/main.ts", "@shop/core/generated") == "packages/core/"
    assert target(paths, "packages/app/src/main.ts", "@shop/other") == ""


def test_requiring_a_directory_leads_to_the_entry_of_its_package():
    paths = repository("lib/express.js index.js test/app.js", {"package.json": manifest(name="express", main="./lib/express")})

    assert target(paths, "test/app.js", "..") == "lib/express.js"
    assert target(paths, "test/app.js", "express") == "lib/express.js"


def test_private_imports_of_a_package_hold_inside_it():
    paths = repository(
        "a/src/db/sql.js a/src/main.js b/main.js", {"a/package.json": manifest(name="a", imports={"#db/*": "./src/db/*.js"})}
    )

    assert target(paths, "a/src/main.js", "#db/sql") == "a/src/db/sql.js"
    assert target(paths, "b/main.js", "#db/sql") == ""


def test_a_fixture_called_like_a_known_package_is_not_meant_by_others():
    paths = repository(
        "test/fixtures/react/index.js test/fixtures/app.js src/main.js",
        {"test/fixtures/react/package.json": manifest(name="react")},
    )

    assert target(paths, "src/main.js", "react") == ""
    assert target(paths, "test/fixtures/app.js", "react") == "test/fixtures/react/index.js"


def test_of_two_packages_of_one_name_the_nearer_is_meant():
    paths = repository(
        "v1/core/index.js v1/app/main.js v2/core/index.js v2/app/main.js",
        {"v1/core/package.json": manifest(name="core"), "v2/core/package.json": manifest(name="core")},
    )

    assert target(paths, "v1/app/main.js", "core") == "v1/core/index.js"
    assert target(paths, "v2/app/main.js", "core") == "v2/core/index.js"


def test_aliases_of_a_base_configuration_hold_below_those_that_extend_it():
    paths = repository(
        "config/shared/util.ts packages/a/src/util.ts packages/a/src/deep/x.ts packages/b/src/util.ts packages/b/x.ts c/x.ts",
        {
            "config/base.json": (
                "// The base of all packages.\n"
                '{ /* https://example.org */ "compilerOptions": {\n'
                '  "paths": { "@/*": ["${configDir}/src/*"], // here\n "#shared/*": ["./shared/*"], }, }, }\n'
            ),
            "packages/a/tsconfig.json": '{"extends": "../../config/base.json"}',
            "packages/b/tsconfig.json": '{"extends": ["@shop/strict", "../../config/base"], "compilerOptions": {"strict": true}}',
        },
    )

    assert target(paths, "packages/a/src/deep/x.ts", "@/util") == "packages/a/src/util.ts"
    assert target(paths, "packages/a/src/deep/x.ts", "#shared/util") == "config/shared/util.ts"
    assert target(paths, "packages/b/x.ts", "@/util") == "packages/b/src/util.ts"
    assert target(paths, "c/x.ts", "#shared/util") == ""


def test_a_configuration_inherits_through_packages_of_the_workspace_and_keeps_what_it_writes():
    paths = repository(
        "tools/config/lib/util.ts app/src/util.ts app/own/util.ts app/x.ts other/src/util.ts other/x.ts",
        {
            "tools/config/package.json": '{"name": "@shop/config"}',
            "tools/config/tsconfig.json": '{"extends": "./lib/top.json", "compilerOptions": {"baseUrl": "lib"}}',
            "tools/config/lib/top.json": '{"compilerOptions": {"paths": {"~util": ["${configDir}/src/util"], "lib/*": ["*"]}}}',
            "app/tsconfig.json": '{"extends": "@shop/config", "compilerOptions": {"paths": {"~util": ["./own/util"]}}}',
            "other/tsconfig.json": '{"extends": "@shop/config/tsconfig.json"}',
            "loop/tsconfig.json": '{"extends": "./tsconfig.json"}',
        },
    )

    assert target(paths, "app/x.ts", "~util") == "app/own/util.ts"
    assert target(paths, "app/x.ts", "lib/util") == ""
    assert target(paths, "app/x.ts", "util") == "tools/config/lib/util.ts"
    assert target(paths, "other/x.ts", "~util") == "other/src/util.ts"
    assert target(paths, "other/x.ts", "lib/util") == "tools/config/lib/util.ts"
