"""The languages that `codecompass.languages.detect` assigns to names, `#!` lines and headers."""

import subprocess
import sys

import pytest

from codecompass import languages
from codecompass.languages import SYMBOL_LANGUAGES, detect
from codecompass.languages.table import LANGUAGES


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("a.py", "python"),
        ("src/a.b.ts", "typescript"),
        ("types/index.d.ts", "typescript"),
        ("ui/App.tsx", "tsx"),
        ("ui/App.jsx", "javascript"),
        ("A.JAVA", "java"),
        ("x.c", "c"),
        ("x.C", "cpp"),
        ("x.h", "c"),
        ("include/version.h.in", "c"),
        ("scripts/run.py.in", "python"),
        ("Makefile.in", "make"),
        ("requirements.in", "text"),
        ("deploy/Dockerfile", "dockerfile"),
        ("deploy/Dockerfile.dev", "dockerfile"),
        ("Makefile", "make"),
        ("CMakeLists.txt", "cmake"),
        ("notes.txt", "text"),
        ("tsconfig.json", "jsonc"),
        ("package.json", "json"),
        ("Cargo.lock", "toml"),
        ("Gemfile", "ruby"),
        (".bashrc", "bash"),
        (".py", "text"),
        ("directory.py/file", "text"),
        ("LICENSE", "text"),
        ("", "text"),
        ("odd/\udcff.rs", "rust"),
        ("src/kernel.cu", "cuda"),
        ("BUILD", "bazel"),
        ("Jenkinsfile", "groovy"),
        ("build.gradle", "groovy"),
    ],
)
def test_the_language_follows_from_the_name(path, expected):
    assert detect.language_of(path, b"") == expected


@pytest.mark.parametrize(
    ("head", "expected"),
    [
        (b"#!/bin/sh\necho", "bash"),
        (b"#! /bin/bash -e\n", "bash"),
        (b"#!/usr/bin/env python3.11", "python"),
        (b"#!/usr/bin/env -S python3 -u\n", "python"),
        (b"#!/usr/bin/env LANG=C ruby\n", "ruby"),
        (b"#!/usr/bin/env node\r\n", "javascript"),
        (b"#!/usr/bin/env\n", "text"),
        (b"#!\n", "text"),
        (b"#!/opt/unheard-of\n", "text"),
        (b"# !/bin/sh\n", "text"),
        (b"\n#!/bin/sh\n", "text"),
        (b"", "text"),
    ],
)
def test_a_file_of_unknown_name_has_the_language_of_its_interpreter(head, expected):
    assert detect.language_of("bin/tool", head) == expected


def test_the_name_wins_over_the_interpreter():
    assert detect.language_of("build.rb", b"#!/bin/sh\n") == "ruby"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("#ifndef A_H\n#define A_H\nint f(void);\n#endif\n", "c"),
        ("// the class Foo is elsewhere\n/* namespace x {\n class Y {\n */\nstruct s { int a; };\n", "c"),
        ('#ifdef __cplusplus\nextern "C" {\nnamespace x {}\n#endif\nint f(void);\n', "c"),
        ("struct class_info { int namespace_id; };\nint class;\n", "c"),
        ("namespace a::b {\nint f();\n}\n", "cpp"),
        ("class Foo;\n", "cpp"),
        ("class EXPORT(x) Foo final : public Bar {\n", "cpp"),
        ("template <typename T> T id(T t);\n", "cpp"),
        ("struct S {\n public:\n  int a;\n};\n", "cpp"),
        ("#include <string>\nvoid f(const char*);\n", "cpp"),
        ("@class A;\n@protocol P <NSObject>\n@end\n", "objectivec"),
        ("#import <a.h>\n@interface A : B\n@end\n", "objectivec"),
        ("#ifdef __OBJC__\n@class A;\n#endif\nint f(void);\n", "c"),
        ("/**\n@class A\n*/\nint f(void);\n", "c"),
        ("/* licence */\n" + "#include <a.h>\n" * 400 + "inline void f() { std::abort(); }\n", "cpp"),
        ("", "c"),
    ],
)
def test_a_header_is_cplusplus_only_if_its_code_is(text, expected):
    assert detect.language_of("include/a.h", text.encode()) == expected


def test_a_template_of_a_header_is_read_like_the_header():
    assert detect.language_of("config.h.in", b"namespace shop {\n#cmakedefine HAS_QUEUE\n}\n") == "cpp"
    assert detect.language_of("config.h.in", b"#define HAS_QUEUE @HAS_QUEUE@\n") == "c"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("<?php\nfunction f() {}\n", "php"),
        ("#define A 1\n", "c"),
        ("#include <vector>\n", "cpp"),
        ("mov eax, ebx\n", "text"),
    ],
)
def test_an_include_file_is_known_by_its_content(text, expected):
    assert detect.language_of("a.inc", text.encode()) == expected


@pytest.mark.parametrize(
    ("path", "text", "expected"),
    [
        ("a.m", "% A comment.\nfunction x = f(y)\n", "matlab"),
        ("a.m", "classdef A < handle\nend\n", "matlab"),
        ("a.m", '#import "a.h"\n@implementation A\n@end\n', "objectivec"),
        ("a.m", "", "objectivec"),
        ("a.v", "module top(input clk);\nendmodule\n", "verilog"),
        ("a.v", "module main\n\nfn main() {\n}\n", "v"),
        ("a.v", "", "verilog"),
    ],
)
def test_a_file_whose_extension_two_languages_share_is_known_by_its_content(path, text, expected):
    assert detect.language_of(path, text.encode()) == expected


def test_a_translation_that_shares_the_typescript_extension_is_xml():
    assert detect.language_of("app_de.ts", b'<?xml version="1.0"?>\n<!DOCTYPE TS>') == "xml"
    assert detect.language_of("app.ts", b"export {}") == "typescript"


def test_no_name_is_listed_twice():
    for field in ("extensions", "names", "interpreters"):
        names = [name for row in LANGUAGES.values() for name in getattr(row, field).split()]

        assert len(names) == len(set(names))


def test_what_people_write_for_a_language_means_the_languages_whose_rows_list_it():
    assert detect.ALIASES["ts"] == detect.ALIASES["typescript"] == ("typescript", "tsx")
    assert detect.ALIASES["c++"] == ("cpp",)
    assert {name for names in detect.ALIASES.values() for name in names} <= set(LANGUAGES)


def test_every_language_with_symbols_is_detected_by_an_extension_or_a_name():
    assert set(SYMBOL_LANGUAGES) <= {*detect.EXTENSIONS.values(), *detect.FILENAMES.values()}


def test_a_language_without_symbols_is_not_loaded():
    for name in ("csv", "text", "base", "detect", "", "os"):
        with pytest.raises(KeyError):
            languages.load(name)


def test_detection_loads_neither_grammars_nor_language_modules():
    """The server process detects languages too, and must stay small."""
    script = (
        "import sys; from codecompass.languages import detect; detect.language_of('a.h', b'class A;')\n"
        "print([m for m in sys.modules if m.startswith('tree_sitter') or m.endswith('languages.base')])"
    )

    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)

    assert result.stdout.strip() == "[]"
