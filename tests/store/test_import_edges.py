"""Import edges in SQLite: an update finds what a fresh build finds, with no more queries than necessary."""

import random
import sqlite3
from collections.abc import Iterator
from contextlib import closing

import pytest

from codecompass.languages.detect import language_of
from codecompass.languages.imports import module_roots, path_tails
from codecompass.languages.records import Import
from codecompass.store.import_edges import ImportEdges
from codecompass.store.manifest import ManifestEntry
from codecompass.store.overlay import SharedRows
from codecompass.store.schema import FACTS_TABLES, MANIFEST_INDEXES, SYMBOL_INDEXES

Files = dict[str, tuple[Import, ...] | bytes]
"""The files of a repository: path to the imports of a source file, or the text of a configuration file."""


class Index:
    """The tables that hold edges, filled as the writer fills them."""

    def __init__(self) -> None:
        self.connection = sqlite3.connect(":memory:")
        self.connection.executescript(FACTS_TABLES)
        for statement in (*MANIFEST_INDEXES, *SYMBOL_INDEXES):
            self.connection.execute(statement)
        self.files: Files = {}
        self.ids: dict[str, int] = {}
        self.edges = ImportEdges(self.connection, SharedRows(self.connection))

    def update(self, files: Files) -> int:
        """Updates the index to `files` and returns how many edge rows were written."""
        for path in self.files.keys() - files.keys():
            self._forget(path)
            self.connection.execute("DELETE FROM files WHERE path = ?", (path,))
            self.edges.path_removed(path)
        for path in sorted(files):
            if self.files.get(path) != files[path]:
                self._write(path, files[path], is_new=path not in self.files)
        self.files = dict(files)
        entry = ManifestEntry(0, "indexed", "", "", 0, 0, 0, 0, b"", 0, is_parsed=True)
        return self.edges.resolve_all(dict.fromkeys(files, entry))

    def _forget(self, path: str) -> None:
        self.edges.file_removed(self.ids[path])
        self.connection.execute("DELETE FROM path_tails WHERE file_id = ?", (self.ids[path],))

    def _write(self, path: str, content: tuple[Import, ...] | bytes, *, is_new: bool) -> None:
        language = language_of(path, b"")
        if is_new:
            row = (path, "indexed", "", language, 0, 0, 0, 0, b"", b"", 0, 0, 0, 1, "", 0, 0)
            marks = ", ".join("?" * len(row))
            self.ids[path] = self.connection.execute(f"INSERT INTO files VALUES (NULL, {marks})", row).lastrowid
            self.edges.path_added(path)
        else:
            self._forget(path)
        file_id = self.ids[path]
        self.connection.executemany("INSERT INTO path_tails VALUES (?, ?)", [(tail, file_id) for tail in path_tails(path)])
        if isinstance(content, bytes):
            self.edges.write_roots(file_id, module_roots(path, content))
        else:
            self.edges.add(file_id, path, language, content)

    def targets(self) -> list[tuple[str, str, str, str]]:
        """Returns (file, spec, name, target) of every edge."""
        rows = self.connection.execute("SELECT f.path, i.spec, i.name, i.target FROM imports i JOIN files f ON f.id = i.file_id")
        return sorted(rows)

    def close(self) -> None:
        self.connection.close()


@pytest.fixture
def index() -> Iterator[Index]:
    with closing(Index()) as index:
        yield index


def imports(*specs: str) -> tuple[Import, ...]:
    return tuple(Import(1, 1, *spec.split("|")) for spec in specs)


SPECS = {
    ".py": ("a", "a.b", ".|a", "..|b", "b.a|b", "src.a", ".a.b|a"),
    ".ts": ("./a", "../b", "./a/index.js", "@/a", "pkg", "pkg/b", ".."),
    ".go": ("m.io/x", "m.io/x/a", "m.io/x/a/b", "fmt"),
    ".rs": ("crate::a|B", "super|*", "self::b", "shop::a", "crate::a::b|f"),
    ".kt": ("org.a.b|C", "org.a|*", "org.b.a|f"),
}
CONFIGURATION = {
    "tsconfig.json": (b'{"compilerOptions": {"paths": {"@/*": ["./src/*"]}}}', b"{}", b'{"compilerOptions": {"baseUrl": "a"}}'),
    "a/package.json": (b'{"name": "pkg", "main": "./b"}', b'{"name": "other"}'),
    "go.mod": (b"module m.io/x", b"module m.io/y"),
    "b/Cargo.toml": (b'[package]\nname = "shop"', b""),
    "setup.cfg": (b"[options]\npackage_dir =\n  = b", b""),
}


def random_files(source: random.Random) -> Files:
    files: Files = {}
    for _ in range(source.randint(4, 12)):
        directory = "".join(source.choice(("a/", "b/", "src/")) for _ in range(source.randrange(3)))
        extension = source.choice(list(SPECS))
        stem = source.choice(("a", "b", "C", "index", "__init__", "mod", "lib"))
        files[f"{directory}{stem}{extension}"] = imports(*source.sample(SPECS[extension], 3))
    for path, texts in CONFIGURATION.items():
        if source.random() < 0.4:
            files[path] = source.choice(texts)
    return files


@pytest.mark.invariant("Import edges after any updates equal those of a fresh build")
@pytest.mark.parametrize("seed", range(40))
def test_after_any_updates_the_edges_equal_those_of_a_fresh_build(index, seed):
    source = random.Random(seed)
    files = random_files(source)
    index.update(files)

    for _ in range(8):
        kept = {path: content for path, content in files.items() if source.random() < 0.8}
        files = kept | dict(source.sample(sorted(random_files(source).items(), key=repr), 3))
        index.update(files)
        with closing(Index()) as fresh:
            fresh.update(files)

            assert index.targets() == fresh.targets()


def test_one_more_file_of_a_package_writes_no_edge(index):
    files = {"go.mod": b"module m.io/x", "a/a.go": (), "main.go": imports("m.io/x/a")}
    index.update(files)

    assert index.update({**files, "a/b.go": ()}) == 0
    assert index.targets() == [("main.go", "m.io/x/a", "", "a/")]


def test_a_configuration_file_that_says_the_same_as_before_moves_nothing(index):
    files = {"package.json": b'{"name": "pkg"}', "src/index.ts": (), "main.ts": imports("pkg")}
    index.update(files)
    statements: list[str] = []
    index.connection.set_trace_callback(statements.append)

    written = index.update({**files, "package.json": b'{"name": "pkg", "version": "2"}'})

    assert written == 0
    assert not any("f.language IN" in statement for statement in statements)
    assert index.targets() == [("main.ts", "pkg", "", "src/index.ts")]


@pytest.mark.parametrize("importer", ["main.ts", "App.vue", "App.svelte"])
def test_an_alias_that_changes_in_an_inherited_configuration_moves_the_imports_of_components_too(index, importer):
    base = '{"compilerOptions": {"paths": {"@/*": ["../%s/*"]}}}'
    files = {"tsconfig.json": b'{"extends": "./config/base.json"}', "a/x.ts": (), "b/x.ts": (), importer: imports("@/x")}
    index.update({**files, "config/base.json": (base % "a").encode()})
    before = index.targets()

    index.update({**files, "config/base.json": (base % "b").encode()})

    assert before == [(importer, "@/x", "", "a/x.ts")]
    assert index.targets() == [(importer, "@/x", "", "b/x.ts")]


def test_the_first_files_of_an_index_without_edges_look_for_none(index):
    statements: list[str] = []
    index.connection.set_trace_callback(statements.append)

    written = index.update({"a.py": (), "b.py": ()})
    looked = [statement for statement in statements if "FROM imports i" in statement]
    index.update({"a.py": (), "b.py": (), "main.py": imports("a")})

    assert written == 0
    assert looked == []
    assert index.targets() == [("main.py", "a", "", "a.py")]


def test_looking_for_the_edges_of_a_tail_does_not_read_all_edges(index):
    index.update({"main.py": imports("a")})
    statements: list[str] = []
    index.connection.set_trace_callback(statements.append)

    index.update({"main.py": imports("a"), "a.py": ()})

    selects = [statement for statement in statements if "FROM imports i" in statement]
    plans = [row[3] for select in selects for row in index.connection.execute(f"EXPLAIN QUERY PLAN {select}")]
    assert plans
    assert not any(plan.startswith("SCAN i") for plan in plans)


def test_a_checkpoint_that_raises_ends_the_resolution(index):
    """This is how a job is cancelled while a file with thousands of imports is being resolved."""
    imports = tuple(Import(number + 1, number + 1, f"a{number}") for number in range(500))
    asked = []

    def checkpoint() -> None:
        asked.append(1)
        if len(asked) == 3:
            raise KeyboardInterrupt

    index.edges.add(1, "a.py", "python", imports)
    with pytest.raises(KeyboardInterrupt):
        index.edges.resolve_all({}, checkpoint)

    assert len(asked) == 3
