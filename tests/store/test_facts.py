"""Which imports lead to a file, whether they name a file, a package or a module; the order of many files."""

import sqlite3
from collections.abc import Iterator

import pytest

from codecompass.store.facts import FactsReader, leading_to
from codecompass.store.file_table import MOST_IN_ORDER, TableCache
from codecompass.store.schema import FACTS_TABLES, MANIFEST_INDEXES, SYMBOL_INDEXES


class Facts:
    """The tables of an index, with files and imports."""

    def __init__(self) -> None:
        self.connection = sqlite3.connect(":memory:", isolation_level=None)
        self.connection.executescript(FACTS_TABLES)
        for statement in (*MANIFEST_INDEXES, *SYMBOL_INDEXES):
            self.connection.execute(statement)
        self.reader = FactsReader(self.connection)
        self.n_files = 0

    def file(self, path: str, language: str, *targets: str) -> None:
        self.n_files += 1
        row = (self.n_files, path, "indexed", "", language, 1, 1, 1, 1, b"", b"", 1, 1, 0, 1, "", 0, 0)
        self.connection.execute(f"INSERT INTO files VALUES ({', '.join('?' * len(row))})", row)
        for line, target in enumerate(targets, start=1):
            values = (self.n_files, line, line, "spec", "", "", "module", "", "", target)
            self.connection.execute("INSERT INTO imports VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", values)

    def importers(self, path: str) -> list[str]:
        file = self.reader.file(path)
        language = file.language if file else ""
        where, arguments = leading_to(path, language)
        statement = (
            f"SELECT f.path FROM imports i JOIN files f ON f.id = i.file_id WHERE {where} ORDER BY f.path, i.line_start, i.id"
        )
        found = [row[0] for row in self.connection.execute(statement, arguments)]
        assert self.reader.importer_counts({path: language}, 100) == {path: len(found)}
        return found


@pytest.fixture
def facts() -> Iterator[Facts]:
    facts = Facts()
    yield facts
    facts.connection.close()


def test_an_import_of_a_file_leads_to_that_file(facts: Facts):
    facts.file("pkg/a.py", "python")
    facts.file("pkg/b.py", "python")
    facts.file("main.py", "python", "pkg/a.py", "")

    assert facts.importers("pkg/a.py") == ["main.py"]
    assert facts.importers("pkg/b.py") == []


def test_an_import_of_a_package_leads_to_its_files_and_not_to_what_is_below(facts: Facts):
    facts.file("pkg/a.go", "go")
    facts.file("pkg/README.md", "markdown")
    facts.file("pkg/tool.py", "python")
    facts.file("pkg/sub/b.go", "go")
    facts.file("main.go", "go", "pkg/")

    assert facts.importers("pkg/a.go") == ["main.go"]
    assert facts.importers("pkg/README.md") == facts.importers("pkg/tool.py") == facts.importers("pkg/sub/b.go") == []


def test_the_root_can_be_a_package(facts: Facts):
    facts.file("lib.go", "go")
    facts.file("cmd/main.go", "go", "/")

    assert facts.importers("lib.go") == ["cmd/main.go"]
    assert facts.importers("cmd/main.go") == []


def test_languages_of_one_machine_share_their_packages(facts: Facts):
    facts.file("src/app/A.java", "java")
    facts.file("src/app/b.kt", "kotlin", "src/app/A.java")
    facts.file("src/main/C.kt", "kotlin", "src/app/")
    facts.file("src/app/d.cs", "csharp", "src/app/")

    assert facts.importers("src/app/A.java") == ["src/app/b.kt", "src/main/C.kt"]
    assert facts.importers("src/app/b.kt") == ["src/main/C.kt"]
    assert facts.importers("src/app/d.cs") == ["src/app/d.cs"]


def test_a_module_is_everything_below_its_directory(facts: Facts):
    facts.file("Sources/Core/A.swift", "swift")
    facts.file("Sources/Core/Deep/Deeper/B.swift", "swift")
    facts.file("Sources/Core/include/c.h", "c")
    facts.file("Sources/Core/notes.md", "markdown")
    facts.file("Sources/CoreTests/T.swift", "swift", "Sources/Core/")

    for path in ("Sources/Core/A.swift", "Sources/Core/Deep/Deeper/B.swift", "Sources/Core/include/c.h"):
        assert facts.importers(path) == ["Sources/CoreTests/T.swift"]
    assert facts.importers("Sources/Core/notes.md") == facts.importers("Sources/CoreTests/T.swift") == []


def test_counting_stops_at_the_cap_and_an_unknown_path_has_no_importers(facts: Facts):
    facts.file("a.py", "python")
    for number in range(5):
        facts.file(f"m{number}.py", "python", "a.py")

    assert facts.reader.importer_counts({"a.py": "python", "missing.py": ""}, 3) == {"a.py": 3, "missing.py": 0}


@pytest.mark.parametrize("language", ["python", "go", "swift"])
def test_importers_are_looked_up_in_the_index(facts: Facts, language: str):
    where, arguments = leading_to("a/b/c", language)

    plan = facts.connection.execute(
        f"EXPLAIN QUERY PLAN SELECT 1 FROM imports i JOIN files f ON f.id = i.file_id WHERE {where}", arguments
    ).fetchall()

    assert any("imports_target" in row[3] for row in plan)
    assert not any(row[3].startswith("SCAN") for row in plan)


@pytest.mark.parametrize("text", ["a" * 70_000, "%" * 60_000, "/" * 100_000])
def test_what_is_too_long_for_a_pattern_is_not_found_and_no_sign_of_damage(facts, text):
    facts.file("src/a.py", "python", "src/b.py")

    assert facts.reader.paths_ending(text, 10) == []
    assert facts.reader.imports_named(text, 10) == []


def test_the_cost_of_the_order_of_all_files_grows_with_their_number_alone(facts: Facts):
    """The database index that has this order is read once."""
    costs = []
    for count in (2 * MOST_IN_ORDER, 8 * MOST_IN_ORDER):
        for number in range(facts.n_files, count):
            facts.file(f"{number:06}.c", "c")
        steps = []
        facts.connection.set_progress_handler(lambda found=steps: found.append(1), 100)

        found = [each.file_id for each in TableCache().in_order(facts.reader, range(1, count + 1), count)]

        facts.connection.set_progress_handler(None, 0)
        costs.append(len(steps))
        assert found == list(range(1, count + 1))
    assert costs[1] < 6 * costs[0], costs
