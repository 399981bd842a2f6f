"""A tree of six languages that is edited in every way that programs edit.

Names are few, so that files share them: a definition that is not in the index any more, or not yet, shows in the answer about its
name. `symbol_truth` says what the tree holds.
"""

import ctypes
import os
import random
import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from tests.soak.symbol_truth import WORKTREE

TEMPLATES: Final = {
    "py": "def {f}(value, total):\n    return {g}(value) + {n}\n\n\n"
    "class {c}:\n    def {m}(self):\n        return {f}(1, {n})\n\n\n",
    "ts": "export function {f}(value: number): number {{\n  return {g}(value) + {n};\n}}\n\n"
    "export class {c} {{\n  {m}(): number {{\n    return {f}({n});\n  }}\n}}\n\n",
    "java": "class {c} {{\n    int {m}(int value) {{\n        return {g}(value) + {n};\n    }}\n\n"
    "    static int {f}(int value) {{\n        return value;\n    }}\n}}\n\n",
    "go": "func {f}(value int) int {{\n\treturn {g}(value) + {n}\n}}\n\ntype {c} struct {{\n\tsize int\n}}\n\n"
    "func (c *{c}) {m}() int {{\n\treturn {f}({n})\n}}\n\n",
    "c": "struct {c} {{\n    int size;\n}};\n\nint {f}(int value)\n{{\n    return {g}(value) + {n};\n}}\n\n"
    "static int {m}(struct {c} *it)\n{{\n    return {f}(it->size);\n}}\n\n",
    "rs": "pub fn {f}(value: i64) -> i64 {{\n    {g}(value) + {n}\n}}\n\npub struct {c} {{\n    size: i64,\n}}\n\n"
    "impl {c} {{\n    pub fn {m}(&self) -> i64 {{\n        {f}({n})\n    }}\n}}\n\n",
}
"""What files are made of, by suffix: a function `f`, which calls `g`, a type `c` and its member `m`."""

HEADS: Final = {"go": "package {p}\n\n", "java": "package {p};\n\n"}
N_NAMES: Final = 60
"""Names of each kind. A tree of 90 files defines most of them two or three times."""

DIRECTORIES: Final = ("core", "core/deep", "web", "web/api", "lib", "tools", "tools/x/y")
BRANCHES: Final = ("main", "side", "old")
IGNORED: Final = "scratch"
"""A directory that some edits add to the ignore file and some remove from it."""

QUICK_SECONDS: Final = (0, 0, 0.001, 0.004, 0.012, 0.03, 0.06, 0.2)
"""Pauses between edits that follow each other quickly: shorter and longer than the ticks of clocks and than debouncing."""


class SymbolWorld:
    """The tree. `touched` are names that recent edits wrote or removed; `history` says what was done, newest last."""

    def __init__(self, top: Path, seed: int, n_files: int = 90) -> None:
        self.random = random.Random(seed)
        self.root, self.beside = top / "tree", top / "beside"
        self.beside.mkdir(parents=True)
        self.root.mkdir()
        self.touched: list[str] = []
        self.history: list[str] = []
        self._n_files = 0
        self._half: dict[str, str] = {}
        self._make(n_files)

    def edit(self, between: Callable[[], None] = lambda: None) -> str:
        """Makes one edit of a random kind and returns the kind. `between` is called in the middle of edits of several steps."""
        self.touched = self.touched[-12:]
        kinds = {
            self.write: 14,
            self.write_in_place: 8,
            self.write_quickly: 10,
            self.write_half: 8,
            self.same_size: 6,
            self.add: 6,
            self.rename: 8,
            self.exchange: 3,
            self.delete: 6,
            self.link_in: 4,
            self.link_out: 3,
            self.write_through: 6,
            self.symlink: 3,
            self.move_directory: 3,
            self.switch: 5,
            self.commit: 2,
            self.reset: 2,
            self.stash: 2,
            self.worktree: 2,
            self.pointer: 1,
            self.ignore: 2,
            self.restore_times: 3,
        }
        (chosen,) = self.random.choices(list(kinds), list(kinds.values()))
        self._between = between
        what = chosen()
        self.history.append(f"{chosen.__name__} {what}")
        del self.history[:-12]
        return chosen.__name__

    def names(self) -> list[str]:
        """Returns every name that a file may define or use."""
        return [f"{kind}{number}" for kind in ("compute", "Shape", "apply") for number in range(N_NAMES)]

    def files(self) -> list[str]:
        """Returns the source files, without those of nested repositories and ignored ones."""
        found = (path for path in self.root.rglob("*") if path.suffix[1:] in TEMPLATES and not path.is_symlink())
        paths = (path.relative_to(self.root).as_posix() for path in found if path.is_file())
        return sorted(path for path in paths if not path.startswith((f"{IGNORED}/", f"{WORKTREE}/")))

    # single files

    def write(self) -> str:
        """As editors save: a new file over the old one."""
        path = self._file()
        self._replace(path, self._source(path))
        return path

    def write_in_place(self) -> str:
        path = self._file()
        self._note(path)
        (self.root / path).write_text(self._source(path))
        return path

    def write_quickly(self) -> str:
        """Several saves of one file within milliseconds, in place or by renaming."""
        path = self._file()
        for _ in range(self.random.randint(2, 7)):
            if self.random.random() < 0.5:
                self._replace(path, self._source(path))
            else:
                self._note(path)
                (self.root / path).write_text(self._source(path))
            if self.random.random() < 0.3:
                self._between()
            time.sleep(self.random.choice(QUICK_SECONDS))
        return path

    def write_half(self) -> str:
        """A file that is written in two steps, with something else in between, or whose second half comes with a later edit."""
        if self._half and self.random.random() < 0.6:
            path, rest = self._half.popitem()
            if (self.root / path).is_file() and not (self.root / path).is_symlink():
                with (self.root / path).open("a") as file:
                    file.write(rest)
                self._note(path)
            return f"{path}, the rest"
        path = self._file()
        text = self._source(path)
        cut = self.random.randrange(len(text))
        self._note(path)
        with (self.root / path).open("w") as file:
            file.write(text[:cut])
            file.flush()
            self._between()
            time.sleep(self.random.choice(QUICK_SECONDS))
            if self.random.random() < 0.5:
                file.write(text[cut:])
            else:
                self._half[path] = text[cut:]
        return path

    def same_size(self) -> str:
        """Two writes of one size, the second maybe with the times of the first."""
        path = self._file()
        file = self.root / path
        keeps_times = self.random.random() < 0.5
        for _ in range(2):
            self._note(path)
            before = file.stat()
            text = file.read_text()
            names = [name for name in self.names() if name in text]
            if names:
                old = self.random.choice(names)
                new = self.random.choice([name for name in self.names() if len(name) == len(old)])
                file.write_text(text.replace(old, new))
            if keeps_times:
                os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
            self._between()
            self._note(path)
        return path

    def restore_times(self) -> str:
        """A write after which the file has an old modification time, as unpacked archives have."""
        path = self.write()
        os.utime(self.root / path, (seconds := self.random.choice([0, 1, 2**31, 1_500_000_000]), seconds))
        return path

    def add(self) -> str:
        paths = [self._new() for _ in range(self.random.randint(1, 5))]
        for path in paths:
            self._create(path)
        return " ".join(paths)

    def rename(self) -> str:
        """To a new name, over another file, or to another language."""
        path = self._file()
        self._note(path)
        place = self._new(path.rpartition(".")[2]) if self.random.random() < 0.6 else self._file()
        self._note(place)
        self._parent(place)
        os.rename(self.root / path, self.root / place)
        return f"{path} -> {place}"

    def exchange(self) -> str:
        """Two files of one suffix, or two directories, in one step."""
        if self.random.random() < 0.7:
            one = self._file()
            same = [path for path in self.files() if path.rpartition(".")[2] == one.rpartition(".")[2]]
            other = self.random.choice(same)
        else:
            one, other = self.random.sample(sorted({path.partition("/")[0] for path in self.files()}), 2)
        for path in (one, other):
            self._note(path)
        if one != other:
            _exchange(self.root / one, self.root / other)
        return f"{one} <-> {other}"

    def delete(self) -> str:
        path = self._file()
        self._note(path)
        if self.random.random() < 0.2:
            directory = path.rpartition("/")[0]
            for each in self.files():
                if each.startswith(directory + "/"):
                    self._note(each)
            shutil.rmtree(self.root / directory)
            return directory
        (self.root / path).unlink()
        return path

    # links

    def link_in(self) -> str:
        """A second name in the tree."""
        path = self._file()
        place = self._new(path.rpartition(".")[2])
        self._parent(place)
        os.link(self.root / path, self.root / place)
        self._note(path)
        return f"{path} = {place}"

    def link_out(self) -> str:
        """A second name outside of the tree, of a file in it or the other way round."""
        path = self._file()
        other = self.beside / f"out{self._next()}.{path.rpartition('.')[2]}"
        if self.random.random() < 0.5:
            os.link(self.root / path, other)
        else:
            other.write_text(self._source(path))
            self._note(path)
            between = self.root / path
            between = between.with_name(f".{between.name}.new")
            os.link(other, between)
            os.rename(between, self.root / path)
        self._note(path)
        return f"{path} = {other.name}"

    def write_through(self) -> str:
        """Writes a file through another of its names, in the tree or outside."""
        outside = [path for path in self.beside.iterdir() if path.is_file() and path.stat().st_nlink > 1]
        inside = [self.root / path for path in self.files() if (self.root / path).stat().st_nlink > 1]
        if not outside + inside:
            return self.link_in()
        file = self.random.choice(sorted(outside) * 2 + sorted(inside))
        self._note_text(file.read_text())
        file.write_text(self._source(file.name))
        self._note_text(file.read_text())
        return str(file)

    def symlink(self) -> str:
        """A symbolic link to a file or directory, inside or outside, in place of a file or beside it; or its end."""
        links = [path for path in self.root.rglob("*") if path.is_symlink()]
        if links and self.random.random() < 0.5:
            chosen = self.random.choice(sorted(links))
            chosen.unlink()
            return f"{chosen.name} ends"
        path = self._file()
        self._note(path)
        target = self.random.choice([self.root / self._file(), self.beside, self.root / "core", self.root / "nowhere"])
        if self.random.random() < 0.5:
            (self.root / path).unlink()
            (self.root / path).symlink_to(target)
        else:
            (self.root / f"link{self._next()}.{path.rpartition('.')[2]}").symlink_to(target)
        return f"{path} {target.name}"

    # directories, git

    def move_directory(self) -> str:
        """A directory of files out of the tree or into it, or to another name."""
        away = sorted(self.beside.glob("away*"))
        if away and self.random.random() < 0.7:
            chosen = self.random.choice(away)
            os.rename(chosen, self.root / f"back{self._next()}")
            return f"{chosen.name} comes"
        top = self.random.choice(sorted({path.partition("/")[0] for path in self.files() if "/" in path}))
        for path in self.files():
            if path.startswith(top + "/"):
                self._note(path)
        if self.random.random() < 0.5:
            os.rename(self.root / top, self.root / f"moved{self._next()}")
            return f"{top} moved"
        os.rename(self.root / top, self.beside / f"away{self._next()}")
        for _ in range(6):
            self._create(self._new())
        return f"{top} goes"

    def switch(self) -> str:
        """Commits what there is and checks out another branch."""
        self.commit()
        branch = self.random.choice(BRANCHES)
        self._git("checkout", "-q", branch)
        if not self.files():
            self.add()
        return branch

    def commit(self) -> str:
        self._add_all()
        self._git("commit", "-q", "--allow-empty", "-m", "as it is")
        return ""

    def reset(self) -> str:
        """Back to an earlier commit, with all files."""
        self._add_all()
        n_commits = int(self._git("rev-list", "--count", "HEAD"))
        self._git("reset", "-q", "--hard", f"HEAD~{self.random.randrange(min(n_commits, 3))}")
        return ""

    def stash(self) -> str:
        """Edits put away and maybe brought back."""
        path = self.write()
        self._git("stash", "-q", "-u")
        self._between()
        if self.random.random() < 0.6:
            self._git("stash", "pop", "-q")
        else:
            self._git("stash", "drop", "-q")
        return path

    def worktree(self) -> str:
        """A linked worktree inside the tree, whose `.git` is a file; or its end."""
        place = self.root / WORKTREE
        if place.exists():
            shutil.rmtree(place)
            return "ends"
        self._git("worktree", "prune")
        self._git("worktree", "add", "-q", "--detach", str(place), "HEAD")
        return "begins"

    def pointer(self) -> str:
        """The repository itself moved away and a `.git` file that leads to it, or back."""
        pointer, away = self.root / ".git", self.beside / "repository.git"
        if pointer.is_file():
            os.rename(pointer, self.beside / "pointer")
            os.rename(away, pointer)
            self._git("worktree", "repair")
            return "back"
        os.rename(pointer, away)
        pointer.write_text(f"gitdir: {away}\n")
        self._git("worktree", "repair")
        return "away"

    def ignore(self) -> str:
        """A directory with files that the ignore file begins to name, or ceases to name."""
        for _ in range(2):
            self._create(f"{IGNORED}/s{self._next()}.{self.random.choice(list(TEMPLATES))}")
        file = self.root / ".gitignore"
        if file.exists():
            file.unlink()
            return "ends"
        file.write_text(f"{IGNORED}/\n")
        return "begins"

    # the tree

    def _make(self, n_files: int) -> None:
        self._git("init", "-q", "-b", BRANCHES[0])
        (self.root / ".git/info/exclude").write_text(f"{WORKTREE}/\n")
        for number in range(n_files):
            self._create(f"{DIRECTORIES[number % len(DIRECTORIES)]}/m{number}.{list(TEMPLATES)[number % len(TEMPLATES)]}")
        self.commit()
        for branch in BRANCHES[1:]:
            self._git("checkout", "-q", "-b", branch, BRANCHES[0])
            for path in self.random.sample(self.files(), n_files // 2):
                (self.root / path).write_text(self._source(path))
            for path in self.random.sample(self.files(), n_files // 10):
                (self.root / path).unlink()
            for _ in range(n_files // 10):
                self._create(self._new())
            self.commit()
        self._git("checkout", "-q", BRANCHES[0])

    def _source(self, path: str) -> str:
        suffix = path.rpartition(".")[2]
        pieces = [HEADS.get(suffix, "").format(p=path.split("/")[0])]
        for _ in range(self.random.randint(1, 4)):
            f, g, c, m = (f"{kind}{self.random.randrange(N_NAMES)}" for kind in ("compute", "compute", "Shape", "apply"))
            if self.random.random() < 0.5:
                # A name that nothing has defined before: in an index that is behind it is not found.
                f = f"compute{1_000 + self._next()}"
            pieces.append(TEMPLATES[suffix].format(f=f, g=g, c=c, m=m, n=self.random.randrange(100)))
            self.touched += [f, c, m]
        return "".join(pieces)

    def _file(self) -> str:
        files = self.files()
        while len(files) < 20:
            self._create(self._new())
            files = self.files()
        return self.random.choice(files)

    def _new(self, suffix: str = "") -> str:
        suffix = suffix or self.random.choice(list(TEMPLATES))
        directory = self.random.choice((*DIRECTORIES, f"new{self._next()}", f"new{self._next()}/deep"))
        return f"{directory}/n{self._next()}.{suffix}"

    def _next(self) -> int:
        self._n_files += 1
        return self._n_files

    def _parent(self, path: str) -> None:
        parent = (self.root / path).parent
        while parent != self.root:
            if parent.is_symlink() or parent.is_file():
                parent.unlink()
            parent = parent.parent
        (self.root / path).parent.mkdir(parents=True, exist_ok=True)

    def _create(self, path: str) -> None:
        self._parent(path)
        (self.root / path).write_text(self._source(path))

    def _replace(self, path: str, text: str) -> None:
        self._note(path)
        beside = self.root / path
        beside = beside.with_name(f".{beside.name}.tmp")
        beside.write_text(text)
        os.replace(beside, self.root / path)

    def _note(self, path: str) -> None:
        file = self.root / path
        if file.is_file():
            self._note_text(file.read_text())

    def _note_text(self, text: str) -> None:
        words = set(text.replace("(", " ").replace(":", " ").replace(";", " ").split())
        self.touched += sorted(words & set(self.names()))[:6]

    def _add_all(self) -> None:
        """Stages everything but the directory that is ignored at times: a tracked file is never ignored."""
        self._git("add", "-A")
        self._git("rm", "-r", "-q", "--cached", "--ignore-unmatch", IGNORED)

    def _git(self, *arguments: str) -> str:
        identity = ["-c", "user.name=t", "-c", "user.email=t@example.invalid", "-c", "commit.gpgsign=false", "-c", "gc.auto=0"]
        done = subprocess.run(["git", *identity, *arguments], cwd=self.root, capture_output=True, text=True)
        assert done.returncode == 0, (arguments, done.stderr)
        return done.stdout


_AT_CWD: Final = -100
_EXCHANGE: Final = 2


def _exchange(one: Path, other: Path) -> None:
    """Exchanges two names (renameat2 of Linux)."""
    result = ctypes.CDLL(None, use_errno=True).renameat2(_AT_CWD, os.fsencode(one), _AT_CWD, os.fsencode(other), _EXCHANGE)
    if result:
        raise OSError(ctypes.get_errno(), f"{one} <-> {other}")
