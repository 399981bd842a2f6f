"""The charset that an `.editorconfig` declares."""

import os
from pathlib import Path

import pytest

from codecompass.scan.editorconfig import MAX_PATTERN, charset_of, matches


def charset(root: Path, path: str) -> str:
    return charset_of(os.fsencode(root), path)


def write(root: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, "utf-8")


@pytest.mark.parametrize(
    ("pattern", "path", "is_match"),
    [
        ("*", "a/b.c", True),
        ("*.c", "a/b.c", True),
        ("*.c", "a/b.cc", False),
        ("a/*.c", "a/b.c", True),
        ("a/*.c", "a/b/c.c", False),
        ("/*.c", "b.c", True),
        ("/*.c", "a/b.c", False),
        ("a/**.c", "a/b/c.c", False),
        ("a/**/*.c", "a/b/c.c", True),
        ("*.{c,h}", "x.h", True),
        ("*.{c,h}", "x.py", False),
        ("{a,b{1,2}}.c", "b2.c", True),
        ("f{1..3}.c", "f2.c", True),
        ("f{1..3}.c", "f4.c", False),
        ("[ab].c", "a.c", True),
        ("[!ab].c", "a.c", False),
        ("{single}.c", "{single}.c", True),
        ("Makefile", "a/Makefile", True),
    ],
)
def test_sections_match_paths(pattern: str, path: str, is_match: bool):
    assert matches(pattern, path) == is_match


def test_the_nearest_file_and_in_it_the_last_section_count(tmp_path: Path):
    write(
        tmp_path,
        {
            ".editorconfig": "root = true\n[*]\ncharset = utf-8\n[*.c]\nCharset = Latin1\n[lib/*.c]\ncharset = koi8-r\n",
            "old/.editorconfig": "[*.c]\ncharset = cp1250\n",
            "alone/.editorconfig": "root = true\n",
        },
    )

    assert charset(tmp_path, "a.py") == "utf-8"
    assert charset(tmp_path, "a.c") == "latin1"
    assert charset(tmp_path, "lib/a.c") == "koi8-r"
    assert charset(tmp_path, "old/deep/a.c") == "cp1250"
    assert charset(tmp_path, "old/a.py") == "utf-8"
    assert charset(tmp_path, "alone/a.c") == ""


def test_nothing_above_the_root_and_no_link_is_read(tmp_path: Path):
    write(tmp_path, {".editorconfig": "[*]\ncharset = latin1\n", "root/a/b.c": ""})
    (tmp_path / "root/a/.editorconfig").symlink_to(tmp_path / ".editorconfig")

    assert charset(tmp_path / "root", "a/b.c") == ""


@pytest.mark.parametrize(
    "section",
    [
        "{" * 900,
        "{a,b}" * 190,
        "{0..999999999}",
        "*a" * 400,
        "[" * 900,
        "{,{,{,{,}}}}" * 80,
        "x" * (MAX_PATTERN + 1),
        "{1..2}" * 150,
    ],
)
def test_a_hostile_section_takes_no_time(section: str, tmp_path: Path):
    write(tmp_path, {".editorconfig": f"[{section}]\ncharset = latin1\n[*.c]\ncharset = koi8-r\n"})

    assert charset(tmp_path, "a" * 200 + ".c") == "koi8-r"
