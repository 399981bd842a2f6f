"""A git repository that is edited in every way that programs edit, from a seed, and the content of each of its files.

Every file holds a word that no other file ever held, so the right answer is known without reading anything.
"""

import ctypes
import mmap
import os
import random
import shutil
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

N_FILES: Final = 1_000
FILES_A_DIRECTORY: Final = 25
CHECKED_OUT: Final = 800
MAIN, OTHER = "main", "other"
WORKTREE: Final = "checked-out"
"""A linked worktree inside the tree, whose files are no part of it."""

CHECKOUT: Final = "checkout of 800 files"

KINDS: Final[Mapping[str, int]] = {
    "edit 1 file": 40,
    "edit 10 files": 14,
    "edit 150 files": 3,
    "new files": 8,
    "rename": 7,
    "delete": 7,
    "directory moved in": 5,
    CHECKOUT: 2,
    "two edits of one size": 6,
    "write through a hard link": 2,
    "write through a mapping": 2,
    "exchange": 3,
    "second name in the tree": 3,
    "linked worktree": 1,
    ".git elsewhere": 1,
}
"""Kinds of edit with their weights, about a hundred in total."""


class World:
    """A repository that is edited, and the words of its files. `beside` is a directory outside it, on the same file system."""

    def __init__(self, top: Path, seed: int, n_files: int = N_FILES) -> None:
        self.random = random.Random(seed)
        self.root = top / "tree"
        self.beside = top / "beside"
        self.words: dict[str, str] = {}
        self.gone: list[str] = []
        self.branch = MAIN
        self._other: dict[str, str] = {}
        self._n_words = 0
        self._n_places = 0
        self._links: dict[str, Path] = {}
        self._make(n_files)

    def where(self, word: str) -> tuple[str, ...]:
        """Returns the files that hold a word, sorted: one, none, or all names of a file with several."""
        return tuple(sorted(path for path, held in self.words.items() if held == word))

    def change(self, kind: str, ask: Callable[[str], None]) -> list[str]:
        """Makes one of KINDS; returns the words to ask for, new ones first. `ask` is called between two edits."""
        match kind:
            case "edit 1 file":
                return self.edit(1)
            case "edit 10 files":
                return self.edit(10)
            case "edit 150 files":
                return self.edit(150)
            case "new files":
                return self.add()
            case "rename":
                return self.rename()
            case "delete":
                return self.delete()
            case "directory moved in":
                return self.move_in()
            case "checkout of 800 files":
                return self.check_out()
            case "two edits of one size":
                return self.edit_twice(ask)
            case "write through a hard link":
                return self.write_link()
            case "write through a mapping":
                return self.write_mapped()
            case "exchange":
                return self.exchange()
            case "second name in the tree":
                return self.link_inside()
            case "linked worktree":
                return self.add_worktree()
            case ".git elsewhere":
                return self.move_git()
        raise ValueError(kind)

    def some(self, words: Sequence[str]) -> list[str]:
        """Returns the first word, a middle one and the last, and one that was removed earlier."""
        chosen = dict.fromkeys([words[0], words[len(words) // 2], words[-1]])
        if self.gone:
            chosen[self.random.choice(self.gone)] = None
        return list(chosen)

    def edit(self, count: int) -> list[str]:
        """Writes new words into files; returns the new and the old words."""
        paths = self.random.sample(sorted(self.words), min(count, len(self.words)))
        return [word for path in paths for word in self.rewrite(path)]

    def add(self) -> list[str]:
        """Creates files, some in new directories; returns their words."""
        paths = [self._new_place() for _ in range(self.random.randint(1, 8))]
        return [self._write(path) for path in paths]

    def rename(self) -> list[str]:
        """Moves files within the tree, one of them over another; returns their words and the overwritten one."""
        paths = self.random.sample(sorted(self.words), 4)
        words = []
        for path, place in ((paths[0], self._new_place()), (paths[1], self._new_place()), (paths[2], paths[3])):
            (self.root / place).parent.mkdir(parents=True, exist_ok=True)
            os.rename(self.root / path, self.root / place)
            self._links.pop(path, None)
            self._links.pop(place, None)
            if place in self.words:
                words.append(self._forget(place))
            self.words[place] = self.words.pop(path)
            words.append(self.words[place])
        return words

    def delete(self) -> list[str]:
        """Removes files, or a directory; returns their words."""
        paths = self.random.sample(sorted(self.words), 5)
        if self.random.random() < 0.3:
            directory = paths[0].rpartition("/")[0] + "/"
            paths = [path for path in self.words if path.startswith(directory)]
            shutil.rmtree(self.root / directory)
        else:
            for path in paths:
                (self.root / path).unlink()
        return [self._forget(path) for path in paths]

    def move_in(self) -> list[str]:
        """Moves a directory of files from outside into the tree; returns their words."""
        self._n_places += 1
        name = f"moved{self._n_places}"
        words = {}
        for number in range(self.random.randint(2, 30)):
            path = f"{name}/deep{number % 3}/m{number}.py"
            file = self.beside / path
            file.parent.mkdir(parents=True, exist_ok=True)
            words[path] = self._word()
            file.write_text(_source(words[path]))
        os.rename(self.beside / name, self.root / name)
        self.words.update(words)
        return list(words.values())

    def check_out(self) -> list[str]:
        """Commits the tree, and checks out the other branch, which differs in 800 files; returns the words that differ."""
        _git(self.root, "add", "-A")
        _git(self.root, "commit", "-q", "--allow-empty", "-m", "as it is")
        here = dict(self.words)
        there = OTHER if self.branch == MAIN else MAIN
        _git(self.root, "checkout", "-q", there)
        self.branch = there
        self.words, self._other = self._other, here
        self._links.clear()
        self.gone = [word for word in here.values() if word not in set(self.words.values())]
        return [word for path, word in self.words.items() if here.get(path) != word]

    def edit_twice(self, ask: Callable[[str], None]) -> list[str]:
        """Edits a file, calls `ask`, and edits it again at once, to the same size."""
        path = self.random.choice(sorted(self.words))
        words = self.rewrite(path)
        ask(words[0])
        return [*self.rewrite(path), words[0]]

    def write_link(self) -> list[str]:
        """Writes a file through a hard link outside the tree that an earlier edit created; the first call creates one."""
        known = [path for path in self._links if path in self.words]
        if not known:
            path = self._new_place()
            other = self.beside / f"link{self._n_places}.py"
            self.words[path] = self._word()
            other.write_text(_source(self.words[path]))
            (self.root / path).parent.mkdir(parents=True, exist_ok=True)
            os.link(other, self.root / path)
            self._links[path] = other
            return [self.words[path]]
        path = self.random.choice(known)
        old, self.words[path] = self.words[path], self._word()
        self.gone.append(old)
        with self._links[path].open("w") as file:
            file.write(_source(self.words[path]))
        return [self.words[path], old]

    def write_mapped(self) -> list[str]:
        """Writes a file through a shared mapping, the last part of it after its times have been set."""
        path = self.random.choice(sorted(path for path in self.words if not self._is_linked(path)))
        old, new = self.words[path], self._word()
        with (self.root / path).open("r+b") as file, mmap.mmap(file.fileno(), 0) as mapping:
            content = _source(new).encode()
            assert len(content) == len(mapping), "words are of one length"
            mapping[:10] = content[:10]
            time.sleep(0.03)
            mapping[10:] = content[10:]
        self.words[path] = new
        self.gone.append(old)
        return [new, old]

    def exchange(self) -> list[str]:
        """Exchanges two files, or two directories, in one step (renameat2, Linux); by three renames elsewhere."""
        if self.random.random() < 0.5:
            one, other = self.random.sample(sorted(self.words), 2)
            _exchange(self.root / one, self.root / other)
            self.words[one], self.words[other] = self.words[other], self.words[one]
            links = {path: self._links.pop(path, None) for path in (one, other)}
            self._links.update({path: link for path, link in zip((other, one), links.values(), strict=True) if link is not None})
            return [self.words[one], self.words[other]]
        one, other = self.random.sample(sorted({path.partition("/")[0] for path in self.words}), 2)
        _exchange(self.root / one, self.root / other)
        before = dict(self.words)
        swapped = {one: other, other: one}
        for held in (self.words, self._links):
            moved = {_under(path, swapped): value for path, value in held.items()}
            held.clear()
            held.update(moved)
        return [word for path, word in self.words.items() if before.get(path) != word]

    def link_inside(self) -> list[str]:
        """Gives a file a second name in the tree, or writes a file that has several through one of them."""
        linked = sorted(path for path in self.words if path not in self._links and self._is_linked(path))
        if not linked or self.random.random() < 0.4:
            path = self.random.choice(sorted(self.words.keys() - self._links.keys()))
            place = self._new_place()
            (self.root / place).parent.mkdir(parents=True, exist_ok=True)
            os.link(self.root / path, self.root / place)
            self.words[place] = self.words[path]
            return [self.words[path]]
        written = self.root / self.random.choice(linked)
        old, new = self.words[str(written.relative_to(self.root))], self._word()
        for path in linked:
            if written.samefile(self.root / path):
                self.words[path] = new
        with written.open("w") as file:
            file.write(_source(new))
        self.gone.append(old)
        return [new, old]

    def add_worktree(self) -> list[str]:
        """Adds a linked worktree inside the tree, or removes it; returns words that its files hold too."""
        place = self.root / WORKTREE
        if place.exists():
            shutil.rmtree(place)
        else:
            _git(self.root, "worktree", "prune")
            _git(self.root, "worktree", "add", "-q", "--detach", str(place), "HEAD")
        return [self.words[path] for path in self.random.sample(sorted(self.words), 3)]

    def move_git(self) -> list[str]:
        """Moves the repository out of the tree and leaves a `.git` file that leads to it, or moves it back."""
        pointer, away = self.root / ".git", self.beside / "repository.git"
        if pointer.is_file():
            pointer.unlink()
            os.rename(away, pointer)
        else:
            os.rename(pointer, away)
            pointer.write_text(f"gitdir: {away}\n")
        return [self.words[path] for path in self.random.sample(sorted(self.words), 3)]

    # the tree

    def _make(self, n_files: int) -> None:
        self.beside.mkdir(parents=True)
        self.root.mkdir()
        _git(self.root, "init", "-q", "-b", MAIN)
        (self.root / ".git/info/exclude").write_text(f"{WORKTREE}/\n")
        for number in range(n_files):
            self._write(f"pkg{number // FILES_A_DIRECTORY}/m{number}.py")
        _git(self.root, "add", "-A")
        _git(self.root, "commit", "-q", "-m", "first")
        first = dict(self.words)
        _git(self.root, "checkout", "-q", "-b", OTHER)
        for path in sorted(first)[:CHECKED_OUT]:
            self._write(path)
        _git(self.root, "commit", "-q", "-a", "-m", "other")
        self._other = self.words
        self.words = first
        _git(self.root, "checkout", "-q", MAIN)

    def _write(self, path: str) -> str:
        word = self._word()
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(_source(word))
        self.words[path] = word
        return word

    def rewrite(self, path: str) -> tuple[str, str]:
        """Writes a new word into a file; returns the new word and the old one."""
        old = self.words[path]
        if self._is_linked(path):
            # As editors do: another file under the same name.
            self._links.pop(path, None)
            (self.root / path).unlink()
        self.gone.append(old)
        return self._write(path), old

    def _is_linked(self, path: str) -> bool:
        return (self.root / path).stat().st_nlink > 1

    def _forget(self, path: str) -> str:
        self._links.pop(path, None)
        word = self.words.pop(path)
        self.gone.append(word)
        return word

    def _word(self) -> str:
        self._n_words += 1
        return f"quokka{self._n_words:07d}"

    def _new_place(self) -> str:
        self._n_places += 1
        directory = self.random.choice((f"new{self._n_places}/deeper", f"pkg{self.random.randrange(20)}", f"new{self._n_places}"))
        return f"{directory}/n{self._n_places}.py"


def _source(word: str) -> str:
    """Returns the text of a file that defines a word; the size is the same for all words."""
    body = "".join(f"    value = value * {number} + total - {number + 1}\n" for number in range(1, 12))
    return f"def {word}(value, total):\n{body}    return value\n"


def _git(root: Path, *arguments: str) -> None:
    command = ["git", "-c", "user.name=bench", "-c", "user.email=bench@example.com", "-c", "commit.gpgsign=false", *arguments]
    subprocess.run(command, cwd=root, check=True, capture_output=True)


_AT_CWD: Final = -100
_EXCHANGE: Final = 2
"""AT_FDCWD of fcntl.h and RENAME_EXCHANGE of linux/fs.h."""


def _exchange(one: Path, other: Path) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if hasattr(libc, "renameat2") and not libc.renameat2(_AT_CWD, os.fsencode(one), _AT_CWD, os.fsencode(other), _EXCHANGE):
        return
    between = one.parent / "between"
    os.rename(one, between)
    os.rename(other, one)
    os.rename(between, other)


def _under(path: str, renamed: Mapping[str, str]) -> str:
    top, slash, rest = path.partition("/")
    return renamed.get(top, top) + slash + rest
