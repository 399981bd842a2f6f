"""What is true of a tree of Python files, according to other programs: ast, Universal Ctags, ripgrep.

A question is a tool call and a check of its answer. Everything is chosen in a fixed order, nothing at random.
"""

import ast
import json
import subprocess
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.conftest import tool

FUNCTIONS = {"fn", "method"}
TYPES = {"class", "struct", "enum", "interface", "trait"}


@dataclass(frozen=True)
class Definition:
    """A class or function. `parents` are the enclosing definitions, outermost first. Lines count from 1."""

    name: str
    path: str
    line: int
    parents: tuple[tuple[str, int], ...]
    is_class: bool
    is_in_class: bool


@dataclass(frozen=True)
class Question:
    """A tool call and a check of its answer."""

    tool: str
    arguments: dict
    check: Callable[[dict], None]

    def judge(self, answer: dict) -> None:
        """Raises AssertionError if the answer is wrong."""
        try:
            self.check(answer)
        except AssertionError as error:
            error.add_note(f"asked: {self.tool} {self.arguments}")
            raise


def definitions(root: Path) -> list[Definition]:
    """Returns all classes and functions of the tree, ordered by path and line."""
    found = []
    for file in sorted(root.rglob("*.py")):
        path = file.relative_to(root).as_posix()
        _collect(ast.parse(file.read_text()), path, (), False, found)
    return found


def _collect(node: ast.AST, path: str, parents: tuple, is_in_class: bool, found: list[Definition]) -> None:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            is_class = isinstance(child, ast.ClassDef)
            found.append(Definition(child.name, path, child.lineno, parents, is_class, is_in_class))
            _collect(child, path, (*parents, (child.name, child.lineno)), is_class, found)
        else:
            _collect(child, path, parents, is_in_class, found)


def spread(items: list, count: int) -> list:
    """Returns `count` of the items, at equal distances."""
    assert len(items) >= count, (len(items), count)
    return [items[index * len(items) // count] for index in range(count)]


def questions(root: Path) -> list[Question]:
    """Returns the questions about the tree at `root`."""
    known = definitions(root)
    return [
        *_where(known),
        *_outlines(root),
        *_literal(root, known),
        *_regular(root),
        *_ancestors(known),
        *_descendants(known),
        *_context(root),
        *_files(root),
    ]


def _where(known: list[Definition]) -> Iterator[Question]:
    places = defaultdict(set)
    for each in known:
        places[each.name].add((each.path, each.line))
    names = sorted(name for name, at in places.items() if len(at) <= 20)
    for name in spread(names, 70):

        def check(answer: dict, name: str = name) -> None:
            hits = [hit for hit in answer["results"] if hit["path"].endswith(".py")]  # `known` covers Python files only
            found = [hit for hit in hits if hit["kind"] in FUNCTIONS | TYPES and hit["name"] == name]
            assert {(hit["path"], hit["line_start"]) for hit in found} == places[name]
            assert answer["results"][0]["name"] == name

        yield Question("locate_symbol", {"name": name, "limit": 100}, check)


def _outlines(root: Path) -> Iterator[Question]:
    files = sorted(file.relative_to(root).as_posix() for file in root.rglob("*.py") if file.stat().st_size > 1000)
    chosen = spread(files, 40)
    command = [
        tool("ctags"),
        "--output-format=json",
        "--languages=Python",
        "--kinds-Python=cfm",
        "--fields=+n",
        "-f",
        "-",
        *chosen,
    ]
    told = defaultdict(set)
    for line in subprocess.run(command, cwd=root, capture_output=True, check=True).stdout.splitlines():
        tag = json.loads(line)
        told[tag["path"]].add((tag["name"], tag["line"], tag["kind"] == "class"))
    for path in chosen:

        def check(answer: dict, path: str = path) -> None:
            found = {(node["name"], node["line_start"], node["kind"] in TYPES) for node in _flat(answer["symbols"])}
            is_whole = answer["metadata"]["result_completeness"] != "truncated"
            # What is left out may be members that are neither functions nor types.
            assert found == told[path] if is_whole else found and found <= told[path]

        yield Question("get_file_outline", {"path": path, "limit": 10_000}, check)


def _flat(nodes: list[dict]) -> Iterator[dict]:
    for node in nodes:
        if node["kind"] in FUNCTIONS | TYPES:
            yield node
        yield from _flat(node.get("children", []))


def _matches(root: Path, *arguments: str) -> set[tuple[str, int]]:
    """Returns the (path, line) of each match of ripgrep."""
    command = [tool("rg"), "--line-number", "--no-heading", "--no-config", "--sort", "path", *arguments, "."]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    assert done.returncode in (0, 1), done.stderr
    return {(path.removeprefix("./"), int(line)) for path, line, _ in (each.split(":", 2) for each in done.stdout.splitlines())}


def _matched(answer: dict) -> set[tuple[str, int]]:
    return {(hit["path"], line["line"]) for hit in answer["results"] for line in hit["matched_lines"]}


def _literal(root: Path, known: list[Definition]) -> Iterator[Question]:
    """Names, and whole lines of code with their punctuation."""
    lines = [
        line.strip()
        for file in sorted(root.rglob("*.py"))
        for line in file.read_text().splitlines()
        if 20 < len(line.strip()) < 100 and line.isascii() and "(" in line
    ]
    names = sorted({each.name for each in known if len(each.name) > 8 and not each.name.startswith("__")})
    candidates = [*spread(names, 30), *spread(lines, 30)]
    n_asked = 0
    for text in candidates:
        expected = _matches(root, "--fixed-strings", "--", text)
        if not 0 < len(expected) <= 40 or n_asked >= 40:
            continue
        n_asked += 1

        def check(answer: dict, expected: set = expected) -> None:
            assert _matched(answer) == expected

        yield Question("search_code", {"query": text, "mode": "literal", "limit": 100}, check)
    assert n_asked == 40


PATTERNS = (
    r"class \w+Error\(",
    r"def _?open_\w+\(",
    r"trio\.move_on_\w+",
    r"^from typing import .*Protocol",
    r"raise \w+ from \w+$",
    r"os\.(dup2?|close)\(",
    r"[0-9]+ \* KIB",
    r"@cached_property$",
    r"^    async def \w+\(self\) -> bool",
    r"\bsqlite3\.\w+Error\b",
    r'"[a-z]+_[a-z]+_[a-z]+_[a-z]+"',
    r"if not isinstance\(",
    r"return None if .* else",
    r"Final = 0\.[0-9]+$",
    r"# noqa: [A-Z]+[0-9]+",
)


def _regular(root: Path) -> Iterator[Question]:
    for pattern in PATTERNS:
        expected = _matches(root, "--regexp", pattern)

        def check(answer: dict, expected: set = expected) -> None:
            assert _matched(answer) == expected

        if len(expected) > 90:
            continue  # a page holds 100 results
        yield Question("search_code", {"query": pattern, "mode": "regex", "limit": 100}, check)


def _single(known: list[Definition]) -> list[Definition]:
    """Returns definitions whose name is unique in their file and that are not inside a function."""
    count = defaultdict(int)
    for each in known:
        count[each.path, each.name] += 1
    functions = {(each.path, each.line) for each in known if not each.is_class}
    return [
        each
        for each in known
        if count[each.path, each.name] == 1 and not any((each.path, line) in functions for _, line in each.parents)
    ]


def _ancestors(known: list[Definition]) -> Iterator[Question]:
    for each in spread([each for each in _single(known) if each.parents], 25):

        def check(answer: dict, each: Definition = each) -> None:
            # A variable or field of that name, which is not among the known definitions, is answered with a chain of its own.
            begins = [at for at, node in enumerate(answer["hierarchy"]) if node["depth"] == 0]
            own = next(at for at in begins if answer["hierarchy"][at]["line_start"] == each.line)
            end = next((at for at in begins if at > own), len(answer["hierarchy"]))
            nodes = answer["hierarchy"][own:end]
            chain = [(node["name"], node["line_start"]) for node in nodes if node["kind"] in FUNCTIONS | TYPES]
            assert chain == [(each.name, each.line), *reversed(each.parents)]

        yield Question("get_symbol_hierarchy", {"symbol_name": each.name, "path": each.path, "direction": "ancestors"}, check)


def _descendants(known: list[Definition]) -> Iterator[Question]:
    for each in spread([each for each in _single(known) if each.is_class], 15):
        inside = {
            (other.name, other.line)
            for other in known
            if other.path == each.path and other.parents[: len(each.parents) + 1] == (*each.parents, (each.name, each.line))
        }

        def check(answer: dict, each: Definition = each, inside: set = inside) -> None:
            found = {(node["name"], node["line_start"]) for node in _flat(answer["hierarchy"])}
            assert found == {(each.name, each.line), *inside}

        yield Question("get_symbol_hierarchy", {"symbol_name": each.name, "path": each.path, "direction": "descendants"}, check)


def _context(root: Path) -> Iterator[Question]:
    for words in (
        "how are jobs cancelled",
        "where is the log written",
        "parse a grammar",
        "watch directories",
        "lock of the writer",
    ):

        def check(answer: dict) -> None:
            n_bodies = 0
            for item in answer["context_items"]:
                lines = (root / item["path"]).read_text().splitlines()[item["line_start"] - 1 : item["line_end"]]
                assert item.get("name", "") in lines[0] or item.get("result_id")
                if "body" in item:
                    # A long body is cut at its end, with a note.
                    n_bodies += 1
                    body = item["body"].removesuffix("# ... truncated ...").strip()
                    assert "\n".join(lines).strip().startswith(body)
                    assert len(body) > 20
            assert n_bodies

        yield Question("get_code_context", {"query": words, "max_tokens": 3000, "strategy": "depth"}, check)


def _files(root: Path) -> Iterator[Question]:
    listed = subprocess.run([tool("rg"), "--files", "--no-config"], cwd=root, capture_output=True, text=True, check=True)
    # Binary files are not indexed.
    paths = sorted(path for path in listed.stdout.splitlines() if b"\0" not in (root / path).read_bytes())

    def check_all(answer: dict) -> None:
        assert answer["file_count"] == len(paths)
        assert answer["languages"]["python"] == sum(path.endswith(".py") for path in paths)
        assert answer["source_bytes"] == sum((root / path).stat().st_size for path in paths)

    yield Question("index_status", {}, check_all)
    for path in spread(paths, 5):

        def check(answer: dict, path: str = path) -> None:
            assert answer["file"]["status"] == "indexed"
            assert answer["file"]["size"] == (root / path).stat().st_size
            assert answer["file"]["line_count"] == len((root / path).read_text().splitlines())

        yield Question("index_status", {"path": path}, check)
