"""What is not the repository's own binds to nothing in it; of several types with one name a file means the one it can see."""

import pytest

from codecompass.protocol.requests import FindReferences
from codecompass.query import find_references
from codecompass.query.names.exact_names import symbol_handle

BUILT_IN = {
    "Codec.java": (
        "package x;\n"
        "class Codec { static int parse(String s) { return 1; } static int max(int a, int b) { return a; } "
        "int trim2() { return 1; } static Codec of(int a) { return null; } }\n"
        "class User { void run() { Integer.parse(1); Math.max(1, 2); int.max(1); java.util.List.of(3); Unknown.of(4); } }\n"
    ),
    "Codec.cs": (
        "namespace X;\n"
        "public class Codec { public static bool TryParse(string s, out int x) { x = 1; return true; } "
        'public static string Join(string a) => a; public static int Max(int a) => a; public string Trim() => ""; }\n'
        'class User { void Run() { int.TryParse("1", out var n); string.Join("a"); Math.Max(1); Guid.TryParse("x", out var g); '
        '"x".Trim(); Enum.GetValues<Foo>().Max(1); System.Int32.TryParse("1", out var z); } }\n'
    ),
    "codec.js": (
        "export class Codec { static parse(s) { return s; } static keys(o) { return o; } log(x) {} push(x) {} toFixed(n) {} }\n"
        "export function user(a) { JSON.parse(a); Object.keys(a); console.log(a); [1].push(2); "
        "Number.parse(a); 1.5.toFixed(2) }\n"
    ),
    "codec.ts": (
        "export class Codec { static parse(s: string) { return s } static of(o: number) { return o } }\n"
        "export function user(a: string) { JSON.parse(a); Array.of(1); globalThis.JSON.parse(a) }\n"
    ),
    "codec.py": (
        "import json, os\n"
        "class Codec:\n"
        "    @classmethod\n"
        "    def from_bytes(cls, b): return cls()\n"
        "    def join(self, x): return x\n"
        "    def loads(self, s): return s\n"
        "    @staticmethod\n"
        "    def fromkeys(x): return x\n"
        "    def bit_length(self): return 1\n"
        "def user(a):\n"
        '    int.from_bytes(a); os.path.join(a, a); json.loads(a); dict.fromkeys(a); ",".join(a); [1].join(a)\n'
    ),
    "codec.rs": (
        "struct Codec;\n"
        "impl Codec { fn make() -> Self { Codec } fn from_str_radix(s: &str) -> u8 { 1 } fn len2(&self) -> usize { 0 } }\n"
        'fn user() { String::make(); u32::from_str_radix("1"); Vec::<u8>::make(); "x".len2(); '
        "std::collections::HashMap::make(); }\n"
    ),
    "codec.rb": (
        "module Shop\n  class Codec\n    def self.now; end\n    def self.join(a); end\n    def each_slice2; end\n  end\nend\n"
        "Time.now\nFile.join(1)\n[1].each_slice2\n"
    ),
    "codec.php": (
        "<?php\nnamespace Shop;\n"
        "class Codec { static function createFromFormat($a) {} static function bind($a) {} static function make($a) {} }\n"
        "function user() { DateTime::createFromFormat(1); \\Closure::bind(2); Unknown::make(3); }\n"
    ),
    "Codec.kt": (
        "package shop\n"
        "class Codec { companion object { fun parseInt(s: String) = 1; fun of(s: String) = 1 } }\n"
        'fun user() { Integer.parseInt("1"); Unknown.of("1") }\n'
    ),
    "Codec.swift": (
        'class Codec { static func current() {} ; func trimmed() {} }\nfunc user() { Calendar.current(); "x".trimmed() }\n'
    ),
    "Codec.scala": (
        'package shop\nobject Codec { def parseInt(s: String) = 1 }\nobject User { def run() = { Integer.parseInt("1") } }\n'
    ),
    "codec.lua": (
        "local M = {}\nfunction M.format(s) end\nfunction M.insert(s) end\nstring.format(1)\ntable.insert(2)\nreturn M\n"
    ),
    "codec.ex": (
        "defmodule Shop.String do\n  def trim(a), do: a\nend\ndefmodule Shop.User do\n  def run(a), do: String.trim(a)\nend\n"
    ),
    "codec.cc": "struct Codec { static int move(int a); };\nint user() { return std::move(1); }\n",
}


@pytest.fixture(scope="session")
def asked(state):
    def asked(snapshot, symbol_name, **arguments):
        return find_references(snapshot, FindReferences(symbol_name=symbol_name, **arguments), state)

    return asked


def found(reply):
    return [(each.path, each.line_start, each.confidence) for each in reply.references]


@pytest.mark.parametrize("path", BUILT_IN)
def test_a_member_of_something_built_in_is_none_of_a_type_of_the_repository(path, index_of, asked):
    snapshot = index_of({path: BUILT_IN[path]})
    (file,) = snapshot.facts.files()
    members = [
        row
        for row in snapshot.facts.symbols_in_file(file.id)
        if row.kind in ("fn", "method") and row.name not in ("user", "run", "Run")
    ]

    replies = {row.name: asked(snapshot, symbol_handle(snapshot, row), confidence="possible") for row in members}

    assert members
    assert {name: found(reply) for name, reply in replies.items()} == {name: [] for name in replies}
    assert sum(reply.counts.elsewhere for reply in replies.values()) >= 1


SEEN = {
    "csharp": (
        {
            "A.cs": 'namespace Acme.Identity;\npublic class UserInfo { public string Describe() => "a"; }\n',
            "B.cs": 'namespace Acme.Office.Identity;\npublic class UserInfo { public string Describe() => "b"; }\n',
            "C.cs": (
                "using Acme.Office.Identity;\nnamespace Acme.Office.Web;\npublic class Page {\n"
                "  public string Go() { var u = new UserInfo(); return u.Describe(); }\n"
                "  public string Of(UserInfo info) => info.Describe();\n}\n"
            ),
        },
        [("B.cs", [("C.cs", 4, "exact"), ("C.cs", 5, "exact")]), ("A.cs", [])],
    ),
    "csharp, in the namespace around it": (
        {
            "A.cs": 'namespace Acme\n{\n  public class UserInfo { public string Describe() => "a"; }\n}\n',
            "B.cs": 'namespace Other\n{\n  public class UserInfo { public string Describe() => "b"; }\n}\n',
            "C.cs": "namespace Acme.Web\n{\n  class Page { string Of(UserInfo info) => info.Describe(); }\n}\n",
        },
        [("A.cs", [("C.cs", 3, "exact")]), ("B.cs", [])],
    ),
    "java": (
        {
            "src/A.java": "package acme.a;\npublic class UserInfo { public String describe() { return null; } }\n",
            "src/B.java": "package acme.b;\npublic class UserInfo { public String describe() { return null; } }\n",
            "test/C.java": "package acme.a;\nclass Page { String of(UserInfo info) { return info.describe(); } }\n",
            "test/D.java": "package acme.d;\nimport acme.b.*;\n"
            "class Page { String of(UserInfo info) { return info.describe(); } }\n",
            "test/E.java": "package acme.e;\nimport acme.b.UserInfo;\n"
            "class Page { String of() { return new UserInfo().describe(); } }\n",
            "test/F.java": "package acme.f;\nclass Page { String of(UserInfo info) { return info.describe(); } }\n",
        },
        [
            ("src/A.java", [("test/C.java", 2, "exact")]),
            ("src/B.java", [("test/D.java", 3, "exact"), ("test/E.java", 3, "exact")]),
        ],
    ),
    "kotlin": (
        {
            "A.kt": "package acme.a\nclass UserInfo { fun describe() = 1 }\n",
            "B.kt": "package acme.b\nclass UserInfo { fun describe() = 2 }\n",
            "C.kt": "package acme.c\nimport acme.b.UserInfo\nfun of(info: UserInfo) = info.describe()\n",
        },
        [("A.kt", []), ("B.kt", [("C.kt", 3, "exact")])],
    ),
    "php": (
        {
            "A.php": "<?php\nnamespace Acme\\A;\nclass UserInfo { function describe() {} }\n",
            "B.php": "<?php\nnamespace Acme\\B;\nclass UserInfo { function describe() {} }\n",
            "C.php": "<?php\nnamespace Acme\\C;\nuse Acme\\B\\UserInfo;\nfunction of(UserInfo $info) { $info->describe(); }\n",
            "D.php": "<?php\nnamespace Acme\\A;\nfunction of(UserInfo $info) { $info->describe(); }\n",
        },
        [("A.php", [("D.php", 3, "exact")]), ("B.php", [("C.php", 4, "exact")])],
    ),
}


@pytest.mark.parametrize("case", SEEN)
def test_of_two_types_with_one_name_a_file_means_the_one_that_its_namespace_and_imports_show(case, index_of, asked):
    files, expected = SEEN[case]
    snapshot = index_of(files)

    for path, uses in expected:
        (row,) = [
            row
            for name in ("Describe", "describe")
            for row in snapshot.facts.symbols_named(name, 10)
            if row.name == name and row.path == path
        ]
        assert found(asked(snapshot, symbol_handle(snapshot, row), confidence="possible")) == uses


def test_members_that_the_repository_adds_to_built_in_types_are_found(index_of, asked):
    snapshot = index_of(
        {
            "Ext.cs": (
                "namespace X;\nstatic class Ext { public static string Shout(this string s) => s; }\n"
                'class C { void Go() { "x".Shout(); } }\n'
            ),
            "Ext.kt": 'package x\nfun String.whisper(): String = this\nfun go() { "x".whisper() }\n',
            "ext.rs": 'trait Sing { fn sing(&self); }\nimpl Sing for str { fn sing(&self) {} }\nfn go() { "x".sing(); }\n',
            "ext.swift": 'extension String { func hum() {} }\nfunc go() { "x".hum() }\n',
            "ext.rb": 'class String\n  def mumble; end\nend\n"x".mumble\n',
        }
    )

    assert {
        name: [line for _, line, _ in found(asked(snapshot, name))] for name in ("Shout", "whisper", "Sing.sing", "hum", "mumble")
    } == {
        "Shout": [3],
        "whisper": [3],
        "Sing.sing": [3],
        "hum": [2],
        "mumble": [4],
    }
