"""Compares the scanner with git, ripgrep and its own explanations on random trees. Seeds are fixed and part of the test names."""

import os
import random
import subprocess
from pathlib import Path

import pytest

from codecompass.scan.explain import explain
from codecompass.scan.rules import ScanRules
from codecompass.scan.walk import scan
from tests.conftest import tool

from .trees import git, indexed, paths, repository, write

PLAIN_NAMES = ["a", "b", "src", "lib", "out", "a.py", "b.py", "c.log", "d.txt", "x y", "é.py"]
PLAIN_PATTERNS = ["*.log", "*.py", "out/", "out", "/a", "/src/", "src/b", "lib/*", "**/b", "a/**", "src/**/c.log", "[ab]"]
PLAIN_PATTERNS += ["*", "*/", "!*/", "!*.py", "!a", "!out/", "!/src", "!lib/a", "x y", "\\*", "?.py", "!b.py", "/*", "# no"]


def random_paths(rng: random.Random, names: list[str], count: int) -> list[str]:
    """Paths of files, none below another."""
    chosen: set[str] = set()
    directories: set[str] = set()
    for _ in range(count):
        components = [rng.choice(names) for _ in range(rng.randint(1, 5))]
        parents = {"/".join(components[:depth]) for depth in range(1, len(components))}
        path = "/".join(components)
        if path in directories or parents & chosen:
            continue
        chosen.add(path)
        directories |= parents
    return sorted(chosen)


def random_lines(rng: random.Random, patterns: list[str]) -> str:
    return "".join(rng.choice(patterns) + "\n" for _ in range(rng.randint(0, 5)))


def random_ignore_files(rng: random.Random, files: list[str], name: str, patterns: list[str]) -> dict[str, str]:
    parents = sorted({os.path.dirname(path) for path in files})
    directories = ["", *rng.sample(parents, min(3, len(parents)))]
    return {os.path.join(directory, name): random_lines(rng, patterns) for directory in directories}


@pytest.mark.invariant("A scan includes what git lists")
@pytest.mark.parametrize("seed", range(60))
def test_a_repository_is_scanned_as_git_lists_it(seed: int, tmp_path: Path):
    rng = random.Random(seed)
    files = random_paths(rng, PLAIN_NAMES, 60)
    tracked = rng.sample(files, len(files) // 3)
    repository(tmp_path, tracked=tracked)
    write(tmp_path, files)
    write(tmp_path, random_ignore_files(rng, files, ".gitignore", PLAIN_PATTERNS))
    write(tmp_path, {".git/info/exclude": random_lines(rng, PLAIN_PATTERNS)})

    listed = git(tmp_path, "ls-files", "-z", "--cached", "--others", "--exclude-standard").decode().split("\0")[:-1]

    assert indexed(tmp_path) == sorted(set(listed))


@pytest.mark.parametrize("seed", range(20))
def test_a_directory_of_a_repository_is_scanned_as_git_lists_it(seed: int, tmp_path: Path):
    rng = random.Random(1000 + seed)
    files = [f"src/lib/{path}" for path in random_paths(rng, PLAIN_NAMES, 60)]
    repository(tmp_path, tracked=rng.sample(files, 5))
    write(tmp_path, files)
    # The root itself is never excluded; here we differ from git on purpose.
    above, beside, own = (random_lines(rng, PLAIN_PATTERNS) for _ in range(3))
    write(tmp_path, {".gitignore": above + "!src\n", "src/.gitignore": beside + "!lib\n", "src/lib/.gitignore": own})
    root = tmp_path / "src/lib"

    listed = git(root, "ls-files", "-z", "--cached", "--others", "--exclude-standard").decode().split("\0")[:-1]

    assert indexed(root) == sorted(set(listed))


@pytest.mark.parametrize("seed", range(30))
def test_a_tree_without_git_is_scanned_as_ripgrep_lists_it(seed: int, tmp_path: Path):
    rng = random.Random(2000 + seed)
    files = random_paths(rng, PLAIN_NAMES, 60)
    write(tmp_path, files)
    write(tmp_path, random_ignore_files(rng, files, ".gitignore", PLAIN_PATTERNS))

    options = ["--files", "--hidden", "--null", "--no-config", "--no-require-git", "--no-ignore-global", "--no-ignore-parent"]
    done = subprocess.run([tool("rg"), *options], cwd=tmp_path, stdout=subprocess.PIPE, check=False)

    assert done.returncode in (0, 1)
    assert indexed(tmp_path) == sorted(done.stdout.decode().split("\0")[:-1])


ODD_NAMES = [*PLAIN_NAMES, "build", "vendor", "node_modules", ".hid", ".github", ".env", "k.pem", "CACHEDIR.TAG"]
OWN_PATTERNS = [*PLAIN_PATTERNS, "!build/", "!vendor/a", "!node_modules/src/**", "!.hid", "!.env", "!*.pem", "!build/**/*.py"]


@pytest.mark.invariant("The reason given for a file is the real one")
@pytest.mark.slow
@pytest.mark.parametrize("seed", range(40))
def test_every_entry_is_explained_as_it_was_scanned(seed: int, tmp_path: Path):
    rng = random.Random(3000 + seed)
    files = random_paths(rng, ODD_NAMES, 80)
    if rng.random() < 0.7:
        repository(tmp_path, tracked=rng.sample(files, len(files) // 4))
    write(tmp_path, files)
    write(tmp_path, random_ignore_files(rng, files, ".gitignore", PLAIN_PATTERNS))
    write(tmp_path, random_ignore_files(rng, files, ".codecompassignore", OWN_PATTERNS))
    for directory in rng.sample(sorted({path.rpartition("/")[0] for path in files} - {""}), 2):
        if not (tmp_path / directory / ".git").exists():
            repository(tmp_path / directory)
    os.symlink("/", tmp_path / "to_root")
    rules = ScanRules(extra_excludes=("d.txt",), extra_includes=("/vendor/",))

    result = scan(str(tmp_path), rules)

    reasons = {file.path: file.reason for file in result.skipped}
    listed = set(paths(result))
    for directory, _, names in os.walk(tmp_path):
        for name in names:
            path = os.path.relpath(os.path.join(directory, name), tmp_path)
            if "/.git/" in f"/{path}":
                continue
            explanation = explain(str(tmp_path), path, rules)
            assert (explanation.verdict == "indexed") is (path in listed), path
            assert explanation.skip_reason == reasons.get(path), path
            assert (explanation.rule is not None) is (path not in listed and path not in reasons), path
