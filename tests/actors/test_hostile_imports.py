"""Hostile imports and configuration: each file reaches at most its own limits, in whatever process it is read."""

import msgspec
import pytest
import trio

from codecompass.actors.worker_pool import open_worker_pool
from codecompass.languages.imports.configuration import MAX_ROOTS_PER_FILE
from codecompass.languages.walk.extract import MAX_IMPORT_LENGTH, MAX_IMPORTS_PER_FILE
from tests.support.workspace import LIMITS, TestWorkspace

pytestmark = pytest.mark.invariant(of="test_an_import_at_every_bound_makes_a_bounded_number_of_queries")

HANG_SECONDS = 200
"""Seconds for a job with one hostile file on any machine; without limits each took minutes or never ended."""

GOOD = {"good.py": "def good(): pass\n", "zebra.py": "import good\n"}
WIDE = 19_800
DEEP = 400_000

DOTTED = "a." * (WIDE // 2) + "a"
SLASHED = "a/" * (WIDE // 2) + "a"
COLONS = "a::" * (WIDE // 3) + "a"
BACKSLASHES = "a\\" * (WIDE // 2) + "a"
CLIMBING = "../" * (WIDE // 3) + "a"
MODULES = ".".join(["A"] * (WIDE // 2))

LONG_LINES = {
    "using.cs": [f"using {DOTTED};", f"using x = {DOTTED};", f"using static {DOTTED};", f"global using {DOTTED};"],
    "use.php": [
        "<?php",
        f"use {BACKSLASHES};",
        f"use {BACKSLASHES} as b;",
        f"require '{SLASHED}.php';",
        f"use function {BACKSLASHES};",
    ],
    "group.php": ["<?php", "use a\\{" + ", ".join(["b\\c"] * 4000) + "};"],
    "use.rs": [
        f"use {COLONS};",
        f"use crate::{COLONS};",
        f"use {'super::' * 3000}a;",
        f"pub use {COLONS}::*;",
        f"extern crate {'a' * WIDE};",
    ],
    "nested.rs": ["use " + "a::{" * 4000 + "b" + "}" * 4000 + ";", '#[path = "' + SLASHED + '"]', "mod x;"],
    "inline.rs": ["mod a { " * 3000 + "use super::b;" + "}" * 3000],
    "a.py": [
        f"import {DOTTED}",
        f"from {DOTTED} import a",
        f"from {'.' * WIDE} import a",
        f"from {'.' * 9000}{DOTTED[:9000]} import *",
    ],
    "a.js": [f"import a from '{SLASHED}';", f"import '{CLIMBING}';", f"require('{DOTTED}');", f"export * from './{SLASHED}';"],
    "a.ts": [f"import type {{a}} from '{SLASHED}';", f"import a = require('{CLIMBING}');"],
    "a.tsx": [f"import {{a}} from '@/{SLASHED}';"],
    "a.go": ["package a", f'import "{SLASHED}"', "import (", f'\tx "{DOTTED}"', f'\t_ "{CLIMBING}"', ")"],
    "a.c": [f'#include "{SLASHED}.h"', f"#include <{SLASHED}.h>", f'#include "{CLIMBING}.h"', f'#include "{"./" * 9000}a.h"'],
    "a.cpp": [f'#include "{SLASHED}.h"', f"import {DOTTED};", f"using namespace {COLONS};"],
    "a.m": [f'#import "{SLASHED}.h"', f"@import {DOTTED};"],
    "a.java": [f"import {DOTTED};", f"import static {DOTTED}.*;", f"import {MODULES};"],
    "a.kt": [f"import {DOTTED}", f"import {DOTTED} as b", f"import {MODULES}.*"],
    "a.scala": [f"import {DOTTED}", f"import {DOTTED}.{{b => c, _}}", "import " + "a.{" * 5 + "b" + "}" * 5],
    "a.groovy": [f"import {DOTTED}", f"import static {DOTTED}.*"],
    "a.rb": [f"require '{SLASHED}'", f"require_relative '{CLIMBING}'", f"load '{DOTTED}'", f"autoload :A, '{SLASHED}'"],
    "a.ex": [f"alias {MODULES}", f"import {MODULES}", f"use {MODULES}", f"alias A.{{{', '.join(['B'] * 5000)}}}"],
    "A.hs": [f"import {MODULES}", f"import qualified {MODULES} as B", f"import A ({', '.join('b' * 5000)})"],
    "a.lua": [f'require("{DOTTED}")', f"require '{SLASHED}'"],
    "a.swift": [f"import {DOTTED}", f"import struct {DOTTED}"],
    "a.zig": [f'const a = @import("{SLASHED}");', f'const b = @import("{CLIMBING}.zig");'],
    "a.sh": [f"source {SLASHED}", f". $DIR/{SLASHED}", f'. "{"$(a" * 4000}"', f". {'${a}' * 4000}/b.sh", f"source {CLIMBING}"],
    "a.sql": [f"\\i {SLASHED}"],
}

MANY = {
    "many.cs": ("", "using a{0}.b;\n"),
    "many.php": ("<?php\n", "use a{0}\\b;\n"),
    "many.rs": ("", "use a{0}::b;\n"),
    "many.py": ("", "from a{0} import b\n"),
    "many.js": ("", "import './a{0}';\n"),
    "many.go": ("package a\n", 'import "x.y/a{0}"\n'),
    "many.h": ("", '#include "a{0}.h"\n'),
    "Many.java": ("", "import a{0}.B;\n"),
    "many.rb": ("", "require 'a{0}'\n"),
    "many.sh": ("", ". a{0}.sh\n"),
}

CONFIGURATION = {
    "go.mod": ["\n" * 900_000, "module " + "a/" * 9_000 + "\n", "module a\n" * 90_000, " " * 19_000 + "\n"],
    "Cargo.toml": [
        "a." * 9_000 + "a = 1\n",
        "[" + "a." * 9_000 + "a]\n",
        ("a." * 4_000 + "a = 1\n") * 100,
        "a = " + "[" * 9_000 + "]" * 9_000,
        "[package]\nname = '" + "a" * 19_000 + "'\n",
        "".join(f"[a{number}]\n" for number in range(90_000)),
    ],
    "pyproject.toml": [
        "a = " + "{a = " * 4_000 + "1" + "}" * 4_000,
        "[tool.pytest.ini_options]\npythonpath = [\n" + "".join(f"'p{number}',\n" for number in range(60_000)) + "]\n",
        "[tool.setuptools.package-dir]\n" + "".join(f"p{number} = 'q/{number}'\n" for number in range(50_000)),
    ],
    "setup.cfg": [
        ("a" + " " * 19_000 + "b\n") * 50,
        "[options]\npackage_dir =\n" + "  =a\n" * 200_000,
        "".join(f"[s{number}]\na=1\n" for number in range(60_000)),
        "[options]\n" + "a = %(a)s\n" * 90_000,
    ],
    "setup.py": [
        "package_dir={" * 80_000,
        "package_dir" + " " * 19_000,
        "find_packages(" * 70_000,
        "package_dir = {" + "'a':'b'," * 90_000,
    ],
    "package.json": [
        "{" + '"a":{' * 90_000,
        '{"name":"x","exports":' + '{"a":' * 500 + '"./a"' + "}" * 501,
        '{"name":"x","exports":{' + ",".join(f'\n"./a{number}":"./b"' for number in range(50_000)) + "}}",
        '{"a":"' + ("\\\\" * 4_000 + "\n") * 100,
        '{"a": "' + '\\"' * 9_000,
        ('"' + '\\"' * 9_000 + "\n") * 50,
        "{" + "/*" * 200_000,
        "{" + ",\n" * 300_000,
        '{"name":"x","imports":{' + ",".join(f'\n"#{"a" * (number % 400)}{number}*":"./b*"' for number in range(4_000)) + "}}",
        '{"name":"x","exports":{"./*":[' + ",".join('\n"./b/*"' for _ in range(90_000)) + "]}}",
    ],
    "tsconfig.json": [
        '{"extends":"./tsconfig.json","compilerOptions":{"baseUrl":"' + "../" * 5_000 + '"}}',
        '{"compilerOptions":{"paths":{"*":[' + ",".join(f'\n"{number % 499}/*"' for number in range(90_000)) + "]}}}",
        '{"compilerOptions":{"paths":{'
        + ",".join(f'\n"{"a" * (number % 300)}*":["{number}/*"]' for number in range(3_000))
        + "}}}",
        "[" * DEEP,
    ],
    "tsconfig-x.json": ['{"compilerOptions":{"paths":{' + ",".join('\n"a/*":["b/*"]' for _ in range(50_000)) + "}}}"],
    "composer.json": [
        '{"autoload":{"psr-4":{' + ",".join(f'\n"A\\\\{number}\\\\":"src"' for number in range(30_000)) + "}}}",
        '{"autoload":{"psr-4":{"' + "A\\\\" * 6_000 + '":["' + "a/" * 5_000 + '"]}}}',
        '{"autoload":{"psr-4":{"A\\\\":[' + ",".join('\n"src"' for _ in range(90_000)) + "]}}}",
    ],
    "Package.swift": ['.target(name: "' * 60_000, '.target(name: "a", path: "b")\n' * 30_000, ".target(" + " " * 19_000],
    "a.csproj": [
        "<RootNamespace>" * 60_000,
        ("<RootNamespace>" + "a." * 9_000 + "\n") * 50,
        "<AssemblyName> a </AssemblyName>\n" * 30_000,
    ],
    "build.zig": [
        'addModule("x"' * 70_000,
        'addModule("x", .{' + " " * 19_000,
        ('addModule("x", root_source_file = .{' + " " * 950 + ");\n") * 1_000,
        'addImport("x", .{ .root_source_file = b.path("y.zig") });\n' * 15_000,
    ],
    "A.kt": ["package " + "a." * 9_000 + "\n", "\n" * 900_000 + "package a.b", ("package " + "`a`." * 4_000 + "\n") * 50],
}


async def job_of(workspace: TestWorkspace, files: dict[str, str]) -> None:
    """Runs two jobs without a limit on line length. A worker may be killed by its CPU limit."""
    workspace.write(GOOD)
    workspace.write(files)
    limits = msgspec.structs.replace(LIMITS, parse_cpu_seconds=2.0, max_line_characters=1 << 30)
    with trio.fail_after(HANG_SECONDS):
        async with open_worker_pool(1) as pool:
            await workspace.sync(limits=limits, pool=pool)
            assert ("good.py", "good") in workspace.names()
            # The second job resolves the same edges again, with changed targets.
            workspace.write({"a.py": "def a(): pass\n", "a/a.py": "", "A.kt": "", "a.h": "", "a.cs": ""})
            await workspace.sync(limits=limits, pool=pool)


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(LONG_LINES))
async def test_imports_of_thousands_of_parts_are_left_out_where_they_are_read(workspace, name):
    lines = LONG_LINES[name]
    head, body = (lines[:1], lines[1:]) if lines[0] in ("<?php", "package a") else ([], lines)

    source = "\n".join([*head, *(body * 50)][:51])[: (1 << 20) - 1] + "\n"
    await job_of(workspace, {f"x/{name}": source})

    with workspace.index.snapshot() as snapshot:
        row = snapshot.facts.file(f"x/{name}")
        assert row is not None
        assert row.status == "indexed"
        imports = snapshot.facts.imports_of(row.id)
    assert len(imports) <= MAX_IMPORTS_PER_FILE
    assert all(len(item.spec) + len(item.name) <= MAX_IMPORT_LENGTH for item in imports)


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(MANY))
async def test_of_a_list_of_imports_without_end_the_first_thousands_are_kept(workspace, name):
    head, line = MANY[name]
    n_lines = MAX_IMPORTS_PER_FILE + 1_000

    await job_of(workspace, {name: head + "".join(line.format(number) for number in range(n_lines))})

    with workspace.index.snapshot() as snapshot:
        row = snapshot.facts.file(name)
        assert row is not None
        imports = snapshot.facts.imports_of(row.id)
    assert len(imports) <= MAX_IMPORTS_PER_FILE


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "number"), [(name, number) for name, all_of in CONFIGURATION.items() for number in range(len(all_of))]
)
async def test_hostile_configuration_says_a_bounded_number_of_things(workspace, name, number):
    """Deep nesting, a million entries, long names, keys with thousands of parts, files that extend themselves."""
    content = CONFIGURATION[name][number][: 1 << 20]

    await job_of(workspace, {f"x/{name}": content, "x/index.ts": "import 'a/b';\nimport '#a';\n", "x/b.rs": "use a::b;\n"})

    with workspace.index.snapshot() as snapshot:
        row = snapshot.facts.file(f"x/{name}")
        assert row is not None
        assert row.status in ("indexed", "skipped")
    assert n_roots(workspace) <= MAX_ROOTS_PER_FILE


def n_roots(workspace: TestWorkspace) -> int:
    with workspace.index.snapshot() as snapshot:
        return int(snapshot.facts._rows("SELECT count(*) FROM module_roots")[0][0])
