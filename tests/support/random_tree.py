"""Random trees in several languages and random changes to them, reproducible from a seed."""

import random
import shutil
from collections.abc import Callable
from pathlib import Path

from tests.support.workspace import TestWorkspace

NAMES = ["alpha", "beta", "gamma", "Delta", "epsilon", "utils", "index", "mod", "main", "readHTTPHeader", "Config"]
DIRECTORIES = ["", "src", "src/pkg", "pkg", "lib", "app/core", "app/ui", "internal/auth", "build", "docs", ".hidden"]


def source(kind: str, rng: random.Random) -> str:
    """Returns a small file in a language, with a few definitions and imports."""
    name, other = rng.choice(NAMES), rng.choice(NAMES)
    number = rng.randrange(100)
    match kind:
        case "py":
            return (
                f"import {other}\nfrom .{other} import thing\nfrom pkg.{name} import *\n\n"
                f"LIMIT_{number} = {number}\n\n\n"
                f"class {name.title()}{number}:\n    def {other}(self):\n        return {number}\n\n\n"
                f"def {name}_{number}(): pass\n"
            )
        case "go":
            return (
                f'package {name.lower()}\n\nimport (\n\t"fmt"\n\t"example.com/m/pkg"\n\t"example.com/m/internal/auth"\n)\n\n'
                f"type {name.title()} struct {{ A{number} int }}\n\nfunc (t *{name.title()}) Do{number}() {{ fmt.Println(1) }}\n"
            )
        case "ts":
            return (
                f"import {{ a }} from './{other}';\nimport b from '../{name}';\nimport c from '@app/{other}';\n\n"
                f"export class {name.title()} {{ run{number}(): void {{}} }}\nexport const {other}{number} = () => 1;\n"
            )
        case "rs":
            return (
                f"mod {other};\nuse crate::{name}::Thing;\n\n"
                f"pub struct S{number};\nimpl S{number} {{ pub fn {name}(&self) {{}} }}\n"
            )
        case "c":
            return f'#include "{other}.h"\n#include <{name}.h>\n\nint {name}_{number}(void) {{ return {number}; }}\n'
        case "h":
            return f"#define LIMIT{number} 1\nint {name}(int);\n"
        case "md":
            return f"# {name} {number}\n\n" + "\n".join(f"line {index} about {other}" for index in range(rng.randrange(150)))
        case _:
            return f"{name} = {number}\n"


KINDS = ["py", "py", "go", "go", "ts", "ts", "rs", "c", "h", "md", "toml"]


class RandomTree:
    """A workspace and a random number generator; each step is one named change."""

    def __init__(self, workspace: TestWorkspace, rng: random.Random, *, git: bool) -> None:
        self.workspace = workspace
        self.rng = rng
        self.git = git
        for _ in range(rng.randrange(8, 25)):
            self.create()
        if git:
            workspace.commit()

    @property
    def root(self) -> Path:
        return self.workspace.root

    def files(self) -> list[Path]:
        return sorted(path for path in self.root.rglob("*") if path.is_file() and ".git" not in path.relative_to(self.root).parts)

    def step(self) -> str:
        """Makes one random change and returns its name."""
        changes: list[Callable[[], None]] = [
            self.create,
            self.create,
            self.edit,
            self.edit,
            self.append,
            self.delete,
            self.rename,
            self.change_case,
            self.rename_directory,
            self.touch,
            self.make_binary,
            self.make_large,
            self.write_ignore_file,
            self.write_configuration,
            self.swap,
            self.duplicate,
            self.replace_by_directory,
        ]
        if self.git:
            changes += [self.branch_switch, self.commit, self.untrack]
        change = self.rng.choice(changes)
        change()
        return change.__name__

    def _some(self) -> Path | None:
        files = self.files()
        return self.rng.choice(files) if files else None

    def _new_path(self) -> Path:
        kind = self.rng.choice(KINDS)
        name = "__init__" if kind == "py" and self.rng.random() < 0.15 else self.rng.choice(NAMES)
        return self.root / self.rng.choice(DIRECTORIES) / f"{name}.{kind}"

    def _put(self, path: Path, content: str | bytes) -> None:
        for parent in [path, *path.parents]:
            if parent == self.root:
                break
            if parent.is_file() and parent != path:
                parent.unlink()
        if path.is_dir():
            shutil.rmtree(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)

    def create(self) -> None:
        path = self._new_path()
        self._put(path, source(path.suffix[1:], self.rng))

    def edit(self) -> None:
        if (path := self._some()) is not None:
            self._put(path, source(path.suffix[1:], self.rng))

    def append(self) -> None:
        if (path := self._some()) is not None:
            path.write_bytes(path.read_bytes() + b"\n# one more line\n")

    def delete(self) -> None:
        if (path := self._some()) is not None:
            path.unlink()

    def rename(self) -> None:
        if (path := self._some()) is not None:
            content = path.read_bytes()
            path.unlink()
            self._put(self._new_path(), content)

    def change_case(self) -> None:
        if (path := self._some()) is not None:
            content = path.read_bytes()
            path.unlink()
            self._put(path.with_name(path.name.swapcase() if self.rng.random() < 0.3 else path.name.capitalize()), content)

    def rename_directory(self) -> None:
        directories = [path for path in self.root.iterdir() if path.is_dir() and path.name != ".git"]
        if directories:
            directory = self.rng.choice(directories)
            target = self.root / self.rng.choice(["moved", "src", "vendor", "node_modules", "other"])
            if not target.exists():
                directory.rename(target)

    def touch(self) -> None:
        if (path := self._some()) is not None:
            path.touch()

    def make_binary(self) -> None:
        if (path := self._some()) is not None:
            path.write_bytes(b"\x00\x01" + path.read_bytes())

    def make_large(self) -> None:
        if (path := self._some()) is not None:
            path.write_bytes(b"word " * 300_000)

    def write_ignore_file(self) -> None:
        name = self.rng.choice([".gitignore", ".gitignore", ".codecompassignore", "src/.gitignore", "app/.codecompassignore"])
        lines = self.rng.sample(
            ["*.md", "src/", "!src/pkg", "build", "!build", "utils.*", "/app/*", "!/app/core", "*.h", "# x"], 3
        )
        self._put(self.root / name, "\n".join(lines) + "\n")

    def write_configuration(self) -> None:
        name, content = self.rng.choice(
            [
                ("go.mod", f"module example.com/{self.rng.choice('mn')}\n\ngo 1.21\n"),
                ("tsconfig.json", '{"compilerOptions": {"baseUrl": ".", "paths": {"@app/*": ["app/*"]}}}'),
                ("tsconfig.json", '{"compilerOptions": {"paths": {"@app/*": ["src/*"]}}}'),
                ("Cargo.toml", '[package]\nname = "alpha"\n'),
                ("app/package.json", '{"name": "@app/core"}'),
            ]
        )
        self._put(self.root / name, content)

    def swap(self) -> None:
        """Swaps the contents of two files: both hashes are known, but at other paths."""
        first, second = self._some(), self._some()
        if first is not None and second is not None:
            a, b = first.read_bytes(), second.read_bytes()
            first.write_bytes(b)
            second.write_bytes(a)

    def duplicate(self) -> None:
        if (path := self._some()) is not None:
            self._put(self._new_path(), path.read_bytes())

    def replace_by_directory(self) -> None:
        if (path := self._some()) is not None:
            path.unlink()
            self._put(path / f"{self.rng.choice(NAMES)}.py", source("py", self.rng))

    def branch_switch(self) -> None:
        self.workspace.commit()
        branches = self.workspace.git("branch", "--format=%(refname:short)").split()
        if len(branches) < 3 and self.rng.random() < 0.5:
            self.workspace.git("checkout", "-q", "-b", f"branch{len(branches)}")
        else:
            self.workspace.git("checkout", "-q", self.rng.choice(branches))

    def commit(self) -> None:
        self.workspace.commit()

    def untrack(self) -> None:
        tracked = self.workspace.git("ls-files").splitlines()
        if tracked:
            self.workspace.git("rm", "-q", "--cached", "-f", "--", self.rng.choice(tracked))
