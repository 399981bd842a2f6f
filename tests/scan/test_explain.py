import os
from pathlib import Path

import pytest

from codecompass.scan.explain import Explanation, explain
from codecompass.scan.ignore import Rule
from codecompass.scan.rules import ScanRules

from .trees import git, repository, without_privileges, write


def ask(root: Path, path: str, rules: ScanRules | None = None) -> Explanation:
    return explain(str(root), path, rules or ScanRules())


def test_an_indexed_file_is_explained_as_indexed(tmp_path: Path):
    repository(tmp_path, tracked=["src/a.py"])
    write(tmp_path, ["src/b.py"])

    tracked, untracked = ask(tmp_path, "src/a.py"), ask(tmp_path, "src/b.py")

    assert (tracked.verdict, tracked.is_tracked, tracked.rule) == ("indexed", True, None)
    assert (untracked.verdict, untracked.is_tracked) == ("indexed", False)


def test_an_ignored_file_names_file_line_and_pattern(tmp_path: Path):
    write(tmp_path, {"sub/.gitignore": "# logs\n*.log\n", "sub/deep/a.log": ""})

    explanation = ask(tmp_path, "sub/deep/a.log")

    assert explanation.verdict == "ignored"
    assert explanation.rule == Rule("sub/.gitignore", 2, "*.log")
    assert explanation.sentence == "sub/deep/a.log: it is left out by `*.log` (sub/.gitignore:2)"


def test_a_file_in_an_ignored_directory_names_the_rule_of_the_directory(tmp_path: Path):
    write(tmp_path, {".gitignore": "out/\n", "out/deep/a.py": ""})

    assert ask(tmp_path, "out/deep/a.py").rule == Rule(".gitignore", 1, "out/")
    assert ask(tmp_path, "out/never/existed.py").rule == Rule(".gitignore", 1, "out/")


@pytest.mark.parametrize(
    ("path", "rule"),
    [
        ("node_modules/a/index.js", Rule("built-in", 0, "node_modules/")),
        ("build/a.py", Rule("built-in", 0, "build/")),
        (".cache/a.py", Rule("built-in", 0, ".*")),
        (".hidden", Rule("built-in", 0, ".*")),
        (".git/config", Rule("built-in", 0, ".git")),
        ("excluded.py", Rule(".git/info/exclude", 1, "excluded.py")),
        ("own.py", Rule(".codecompassignore", 2, "own.py")),
        ("settings.py", Rule("index.exclude", 2, "settings.py")),
        ("trees/feature/a.py", Rule("built-in", 0, "a linked work tree of a repository in this workspace")),
        ("env/lib/a.py", Rule("built-in", 0, "pyvenv.cfg (a Python virtual environment)")),
    ],
)
def test_every_kind_of_rule_is_named(path: str, rule: Rule, tmp_path: Path):
    repository(tmp_path, tracked=["kept.py"])
    git(tmp_path, "worktree", "add", "--quiet", "trees/feature")
    write(tmp_path, {".git/info/exclude": "excluded.py\n", ".codecompassignore": "\nown.py\n"})
    write(tmp_path, ["node_modules/a/index.js", "build/a.py", ".cache/a.py", ".hidden", "excluded.py", "own.py"])
    write(tmp_path, ["settings.py", "trees/feature/a.py", "env/pyvenv.cfg", "env/lib/a.py"])

    explanation = ask(tmp_path, path, ScanRules(extra_excludes=("*.csv", "settings.py")))

    assert (explanation.verdict, explanation.rule) == ("ignored", rule)


def test_a_rule_above_the_root_is_named_with_its_way_there(tmp_path: Path):
    repository(tmp_path, tracked={".gitignore": "*.log\n", "pkg/sub/a.py": ""})
    write(tmp_path, ["pkg/sub/a.log"])

    assert ask(tmp_path / "pkg/sub", "a.log").rule == Rule("../../.gitignore", 1, "*.log")


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("a.bin", b"\x7fELF\0", "binary"),
        ("odd.txt", b"\xc0\xaf", "not_utf8"),
        ("bundle.js", b"x" * 30_000, "minified"),
        ("large.sql", b"x\n" * 60_000, "too_large"),
        ("server.key", b"", "secret"),
    ],
)
def test_a_skipped_file_says_why(name: str, content: bytes, reason: str, tmp_path: Path):
    write(tmp_path, {name: content})

    explanation = ask(tmp_path, name, ScanRules(max_file_bytes=100_000))

    assert (explanation.verdict, explanation.skip_reason) == ("skipped", reason)


def test_the_encoding_and_lines_that_are_left_out_are_said(tmp_path: Path):
    write(tmp_path, {".editorconfig": "[*.pl]\ncharset = koi8-r\n", "latin.txt": "café\n".encode("latin-1")})
    write(tmp_path, {"a.pl": "# ош\n".encode("koi8-r"), "data.py": "A = 1\n" + "x" * 30_000 + "\n" + "y" * 30_000})

    assert ask(tmp_path, ".editorconfig").sentence == ".editorconfig: it is indexed"
    assert ask(tmp_path, "latin.txt").sentence == "latin.txt: it is indexed, read as cp1252"
    assert ask(tmp_path, "a.pl").sentence == "a.pl: it is indexed, read as koi8-r"
    assert ask(tmp_path, "data.py").sentence == "data.py: it is indexed, without 2 lines longer than index.max_line_length"


def test_links_and_special_files_are_explained_without_being_opened(tmp_path: Path):
    write(tmp_path, ["real/a.py"])
    os.symlink("real", tmp_path / "link")
    os.symlink("/etc/passwd", tmp_path / "out")
    os.mkfifo(tmp_path / "fifo")

    assert ask(tmp_path, "link").skip_reason == "symlink"
    assert ask(tmp_path, "link/a.py").skip_reason == "symlink"
    assert ask(tmp_path, "out").skip_reason == "symlink_outside_root"
    assert ask(tmp_path, "fifo").skip_reason == "special_file"


def test_a_path_that_does_not_exist_is_missing(tmp_path: Path):
    write(tmp_path, ["a.py"])

    for path in ("b.py", "no/such/file.py", "a.py/b.py", "x" * 300, "A.py"):
        assert ask(tmp_path, path).verdict in ("missing", "skipped"), path
    assert ask(tmp_path, "b.py").verdict == "missing"
    assert ask(tmp_path / "gone", "b.py").verdict == "missing"


@pytest.mark.parametrize("path", ["../a.py", "/etc/passwd", "sub/../../a.py", "..", "nul\0byte"])
def test_a_path_outside_the_workspace_is_explained_as_outside(path: str, tmp_path: Path):
    root = write(tmp_path / "root", ["sub/a.py"])
    write(tmp_path, ["a.py", "root-sibling/a.py"])

    assert ask(root, path).verdict == "outside_root"
    assert ask(root, str(tmp_path / "root-sibling/a.py")).verdict == "outside_root"


def test_a_path_can_be_absolute_and_the_root_a_link(tmp_path: Path):
    root = write(tmp_path / "root", ["a.py"])
    os.symlink(root, tmp_path / "link")

    assert ask(root, str(root / "a.py")).path == "a.py"
    assert ask(tmp_path / "link", str(tmp_path / "link/a.py")).verdict == "indexed"
    assert ask(tmp_path / "link", str(root / "./x/../a.py")).verdict == "indexed"


def test_a_directory_is_explained_too(tmp_path: Path):
    write(tmp_path, ["src/a.py", "build/b.py"])

    assert ask(tmp_path, "src").verdict == "directory"
    assert ask(tmp_path, ".").verdict == "directory"
    assert ask(tmp_path, "").verdict == "directory"
    assert ask(tmp_path, "build").verdict == "ignored"


def test_what_may_not_be_read_is_unreadable(open_path: Path):
    write(open_path, ["closed/a.py", "b.py"])
    (open_path / "b.py").chmod(0)
    (open_path / "closed").chmod(0)

    with without_privileges():
        assert ask(open_path, "b.py").skip_reason == "unreadable"
        assert ask(open_path, "closed/a.py").skip_reason == "unreadable"
        assert ask(open_path, "closed").skip_reason == "unreadable"


def test_a_submodule_is_explained_by_its_own_repository(tmp_path: Path):
    library = repository(tmp_path / "library", tracked={".gitignore": "*.tmp\n", ".flags": ""})
    root = repository(tmp_path / "root", tracked={".gitignore": "*.log\n"})
    git(root, "submodule", "--quiet", "add", str(library), "vendor/sub")
    write(root, ["vendor/sub/a.tmp", "vendor/sub/a.log"])

    assert ask(root, "vendor/sub/.flags").is_tracked
    assert ask(root, "vendor/sub/a.tmp").rule == Rule("vendor/sub/.gitignore", 1, "*.tmp")
    assert ask(root, "vendor/sub/a.log").verdict == "indexed"


def test_the_longest_line_allowed_is_the_one_that_is_configured(tmp_path: Path):
    write(tmp_path, {"wide.js": "x" * 30_000})

    def verdict(max_line_characters: int) -> str:
        return explain(str(tmp_path), "wide.js", ScanRules(), max_line_characters=max_line_characters).verdict

    assert ask(tmp_path, "wide.js").skip_reason == "minified"
    assert verdict(1 << 21) == "indexed"
    # Below that the line is short enough, but not the mean line of a file with one line.
    assert verdict(30_000) == "skipped"
