"""Files with several names, inside and outside of a tree, changed at random through any of them; the content of each is known."""

import ctypes
import os
import random
from collections.abc import Callable
from pathlib import Path

AT_CWD, EXCHANGE = -100, 2
DIRECTORIES = ("", "a", "a/b", "c")
NAMES_OF_A_FILE = 6
"""Fewer than an answer has hits, so that all are in it."""
MAX_NAMES = 60


class Tangle:
    """Each file holds the definition of one function, whose name no other file ever had. All contents have one size.

    `root` is the tree, `beside` a directory on the same file system. `steps` are the changes so far, for a failing seed.
    """

    def __init__(self, root: Path, beside: Path, seed: int, n_files: int = 12) -> None:
        self.random = random.Random(seed)
        self.root, self.beside = root, beside
        self.steps: list[str] = []
        self._words: dict[int, str] = {}
        self._names: dict[Path, int] = {}
        self._open: dict[int, int] = {}
        self._n_words = 0
        for directory in DIRECTORIES:
            (root / directory).mkdir(parents=True, exist_ok=True)
        beside.mkdir()
        for _ in range(n_files):
            self._create(self._free(self._inside()))

    def close(self) -> None:
        """Closes what is still open for writing."""
        for descriptor in self._open.values():
            os.close(descriptor)

    def where(self, word: str) -> list[str]:
        """Returns the names in the tree of the file that holds a word, sorted."""
        return sorted(
            str(path.relative_to(self.root))
            for path, file in self._names.items()
            if self._words[file] == word and path.is_relative_to(self.root)
        )

    def words(self) -> list[str]:
        """Returns the words that files hold."""
        return sorted(set(self._words.values()))

    def change(self) -> list[str]:
        """Makes one change; returns the words whose places it may have changed, and that it has removed."""
        changes: list[Callable[[], list[str]]] = [
            self._write, self._write, self._write, self._write_open, self._write_open, self._link_inside, self._link_inside,
            self._link_outside, self._link_outside, self._rename, self._exchange, self._replace, self._remove, self._remove,
            self._open_one, self._link_in_what_is_open, self._link_in_what_has_no_name, self._add, self._swap_directories,
        ]  # fmt: skip
        change = self._remove if len(self._names) > MAX_NAMES else self.random.choice(changes)
        self.steps.append(change.__name__)
        return change()

    # changes

    def _write(self) -> list[str]:
        path, file = self._some()
        with path.open("r+b") as writer:
            writer.write(self._new_content(file))
        return self._changed(file)

    def _write_open(self) -> list[str]:
        """Through a descriptor, whose name may be gone."""
        if not self._open:
            return self._open_one()
        file = self.random.choice(sorted(self._open))
        os.pwrite(self._open[file], self._new_content(file), 0)
        if self.random.random() < 0.3:
            os.close(self._open.pop(file))
        return self._changed(file)

    def _open_one(self) -> list[str]:
        path, file = self._some()
        if file not in self._open:
            self._open[file] = os.open(path, os.O_RDWR)
        return [self._words[file]]

    def _link_inside(self) -> list[str]:
        return self._link(self._inside())

    def _link_outside(self) -> list[str]:
        return self._link(self.beside)

    def _link(self, directory: Path) -> list[str]:
        path, file = self._some()
        if sum(other == file for other in self._names.values()) < NAMES_OF_A_FILE:
            os.link(path, new := self._free(directory))
            self._names[new] = file
        return [self._words[file]]

    def _rename(self) -> list[str]:
        path, file = self._some()
        new = self._free(self.random.choice((self.beside, self._inside(), self._inside())))
        path.rename(new)
        self._names[new] = self._names.pop(path)
        return [self._words[file]]

    def _exchange(self) -> list[str]:
        (one, first), (other, second) = self._some(), self._some()
        exchange(one, other)
        self._names[one], self._names[other] = second, first
        return [self._words[first], self._words[second]]

    def _replace(self) -> list[str]:
        """As editors save: the other names of the file keep the old content."""
        path, file = self._some()
        new = self._create(self._free(path.parent))
        new.rename(path)
        self._names[path] = self._names.pop(new)
        return [self._words[file], self._words[self._names[path]]]

    def _remove(self) -> list[str]:
        if len(self._names) < 6:
            return self._add()
        path, file = self._some()
        path.unlink()
        del self._names[path]
        return [self._words[file]]

    def _add(self) -> list[str]:
        path = self._create(self._free(self._inside()))
        return [self._words[self._names[path]]]

    def _link_in_what_is_open(self) -> list[str]:
        """A name that was removed again is still written through."""
        path = self._create(self._free(self.beside))
        file = self._names[path]
        self._open[file] = os.open(path, os.O_RDWR)
        os.link(path, new := self._free(self._inside()))
        path.unlink()
        self._names[new] = self._names.pop(path)
        return [self._words[file]]

    def _link_in_what_has_no_name(self) -> list[str]:
        file = self._new_file()
        descriptor = os.open(self.beside, os.O_TMPFILE | os.O_RDWR)
        os.write(descriptor, self._content(file))
        new = self._free(self._inside())
        # With a directory's descriptor, which an absolute path does not use, os.link follows links.
        os.link(f"/proc/self/fd/{descriptor}", new, src_dir_fd=descriptor, follow_symlinks=True)
        self._open[file] = descriptor
        self._names[new] = file
        return [self._words[file]]

    def _swap_directories(self) -> list[str]:
        one, other = self.random.sample([self.root / "a", self.root / "c", self.beside], 2)
        exchange(one, other)
        swapped = {one: other, other: one}
        moved = {}
        for path, file in self._names.items():
            top = next((each for each in swapped if path.is_relative_to(each)), None)
            moved[path if top is None else swapped[top] / path.relative_to(top)] = file
        self._names = moved
        for directory in DIRECTORIES:
            (self.root / directory).mkdir(parents=True, exist_ok=True)
        return [self._words[file] for _, file in (self._some(), self._some())]

    # parts

    def _some(self) -> tuple[Path, int]:
        path = self.random.choice(sorted(self._names))
        return path, self._names[path]

    def _inside(self) -> Path:
        return self.root / self.random.choice(DIRECTORIES)

    def _free(self, directory: Path) -> Path:
        """Returns a name that is not in use, but may have been."""
        names = [directory / f"f{number}.py" for number in range(100)]
        return self.random.choice([path for path in names if path not in self._names][:8])

    def _create(self, path: Path) -> Path:
        file = self._new_file()
        path.write_bytes(self._content(file))
        self._names[path] = file
        return path

    def _new_file(self) -> int:
        file = len(self._words)
        self._words[file] = self._new_word()
        return file

    def _new_word(self) -> str:
        self._n_words += 1
        return f"word_{self._n_words:08}"

    def _new_content(self, file: int) -> bytes:
        self._before = self._words[file]
        self._words[file] = self._new_word()
        return self._content(file)

    def _content(self, file: int) -> bytes:
        return f"def {self._words[file]}(): pass\n".encode()

    def _changed(self, file: int) -> list[str]:
        return [self._words[file], self._before]


def exchange(one: Path, other: Path) -> None:
    """Exchanges two names in one step (renameat2)."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.renameat2(AT_CWD, os.fsencode(one), AT_CWD, os.fsencode(other), EXCHANGE):
        raise OSError(ctypes.get_errno(), "renameat2", str(one))
