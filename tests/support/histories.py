"""Git repositories with a history for checkouts: generated from a seed, or real ones named by the environment."""

import os
import random
import subprocess
from pathlib import Path

from tests.support.workspace import TestWorkspace

HISTORIES_VARIABLE = "CODECOMPASS_HISTORIES"
"""Paths of git repositories (bare or not), separated as in PATH."""

NAMES = ("alpha", "beta", "gamma", "delta", "store", "index", "reader", "writer")
DIRECTORIES = ("", "app/", "app/core/", "lib/", "lib/deep/er/", "tests/")
EXTENSIONS = ("py", "py", "js", "ts", "rs", "lua", "go", "c", "rb", "md", "bin")


def make_history(workspace: TestWorkspace, seed: int, n_commits: int) -> list[str]:
    """Fills a git workspace with commits that add, edit, move and remove files; returns their ids, oldest first.

    Some commits start new branches, so that two commits can differ a lot.
    """
    rng = random.Random(seed)
    commits: list[str] = []
    for number in range(n_commits):
        if commits and rng.random() < 0.3:
            workspace.git("checkout", "-q", "--detach", rng.choice(commits))
        files = sorted(path for path in workspace.git("ls-files", "-z").split("\0") if path)
        for _ in range(rng.randint(1, 6)):
            change(workspace, rng, files, number)
        workspace.commit(f"commit {number}")
        commits.append(workspace.git("rev-parse", "HEAD").strip())
    return commits


def change(workspace: TestWorkspace, rng: random.Random, files: list[str], number: int) -> None:
    """Makes one random change to the tree, and updates `files`, its tracked files."""
    kind = rng.choice(("add", "add", "edit", "move", "remove", "copy", "configure"))
    if kind in ("edit", "move", "remove", "copy") and not files:
        kind = "add"
    if kind == "configure":
        workspace.write({"go.mod": f"module example.org/{rng.choice(NAMES)}\n"})
        return
    if kind == "add":
        path = new_path(rng)
        workspace.write({path: content(rng, path, number)})
        files.append(path)
        return
    path = rng.choice(files)
    source = workspace.root / path
    if not source.is_file():
        return
    if kind == "edit":
        source.write_text(content(rng, path, number))
    elif kind == "remove":
        source.unlink()
    else:
        target = new_path(rng, path.rpartition(".")[2])
        workspace.write({target: source.read_bytes()})
        files.append(target)
        if kind == "move" and target != path:
            source.unlink()


def new_path(rng: random.Random, extension: str = "") -> str:
    """Returns a random path, which may exist already."""
    return f"{rng.choice(DIRECTORIES)}{rng.choice(NAMES)}.{extension or rng.choice(EXTENSIONS)}"


def content(rng: random.Random, path: str, number: int) -> str:
    """Returns a file with a few definitions and imports, in the language of its path."""
    names = rng.sample(NAMES, 3)
    if path.endswith(".py"):
        imports = "".join(f"from {rng.choice(('app', 'lib', 'app.core'))} import {name}\n" for name in names)
        return f"{imports}\n\nclass {names[0].title()}:\n    def {names[1]}(self):\n        return {names[2]}({number})\n"
    if path.endswith(".js"):
        return f"import {{ {names[0]} }} from './{names[1]}';\nexport function {names[2]}() {{ return {names[0]}({number}); }}\n"
    if path.endswith(".ts"):
        title = f"describe('{names[0]}', () => {{ it('has {names[1]}', () => {{}}); }});"
        owner = f"export class {names[0].title()} {{ {names[1]}(): number {{ return {number}; }} }}"
        return f"{owner}\nexport default {names[2]};\n{title}\n"
    if path.endswith(".rs"):
        owner, method = names[0].title(), f"pub fn {names[1]}() -> i32 {{ {number} }}"
        inner = f"mod inner {{ fn {names[2]}() {{}} }}"
        return f"use crate::{names[2]};\n\npub struct {owner};\n\nimpl {owner} {{ {method} }}\n\n{inner}\n"
    if path.endswith(".lua"):
        return (
            f"local M = {{}}\n\nfunction M.{names[0]}()\n  return {number}\nend\n\nlocal function {names[1]}() end\n\nreturn M\n"
        )
    if path.endswith(".go"):
        package = f'import "example.org/{names[1]}/lib"\n'
        return f"package {names[0]}\n\n{package}\nfunc {names[2].title()}() int {{ return {number} }}\n"
    if path.endswith(".c"):
        return f'#include "{names[0]}.c"\n\nstatic int {names[1]}(int x) {{ return {names[2]}(x + {number}); }}\n'
    if path.endswith(".rb"):
        scope = names[1].title()
        return f"require_relative '{names[0]}'\n\nmodule {scope}\n  def self.{names[2]}\n    {number}\n  end\nend\n"
    if path.endswith(".bin"):
        return f"\0\0{names[0]}{number}"
    return f"# {names[0]}\n\n{names[1]} and {names[2]} {number}\n"


def real_histories() -> list[Path]:
    """Returns the repositories named by the environment."""
    return [Path(each) for each in os.environ.get(HISTORIES_VARIABLE, "").split(os.pathsep) if each]


def commits_of(repository: Path, rng: random.Random, count: int) -> list[str]:
    """Returns `count` random commits of a repository."""
    listed = subprocess.run(["git", "-C", str(repository), "rev-list", "--all"], capture_output=True, text=True, check=True)
    return rng.sample(listed.stdout.split(), count)


def clone(repository: Path, target: Path) -> None:
    """Clones a repository without a checkout, sharing its objects."""
    subprocess.run(["git", "clone", "-q", "--shared", "--no-checkout", str(repository), str(target)], check=True)
