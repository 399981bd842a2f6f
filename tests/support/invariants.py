"""The page `docs/invariants.md`, written from the tests: each invariant is declared at a test that guards it.

    @pytest.mark.invariant("A second writer of an index is refused")    declares the sentence, at a test or in `pytestmark`
    @pytest.mark.invariant(of="test_a_second_writer_is_refused")        another test that guards what that test declares
    pytestmark = pytest.mark.invariant(of="tests/store/test_lock.py")   the same for all tests of a module, of a whole module

`python -m tests.support.invariants` writes the page; a test checks that the one in the repository is what it would write.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from msgspec import Struct

ROOT: Final = Path(__file__).parents[2]
PAGE: Final = Path("docs/invariants.md")
COMMAND: Final = "python -m tests.support.invariants"
MARKER: Final = "invariant"
MAX_LENGTH: Final = 200
"""Characters of a sentence."""

HEAD: Final = f"""# Invariants

What always holds, and the tests that fail if it does not, by the directory of the first of them. `{COMMAND}`
writes this page from the marker `invariant` of the tests: change a sentence there. [architecture.md](architecture.md) explains
the parts.
"""

TABLE: Final = "| invariant | guarded by |\n|---|---|\n"


class Guard(Struct, frozen=True):
    """A test, or a whole module if `test` is empty. `path` is relative to the repository."""

    path: str
    test: str = ""

    @property
    def name(self) -> str:
        """What `of` calls it."""
        return self.test or self.path


class Invariant(Struct):
    """A sentence with its guards; the first declares it."""

    sentence: str
    guards: list[Guard]


def invariants(root: Path = ROOT) -> list[Invariant]:
    """Returns all invariants, by the path of the declaring module and in its order.

    Raises ValueError if a guard declares two, a sentence is declared twice, or `of` names nothing that declares one.
    """
    found: dict[str, Invariant] = {}
    further: list[tuple[Guard, str]] = []
    for path in sorted((root / "tests").rglob("test_*.py")):
        for guard, sentence, of in _marked(path.relative_to(root).as_posix(), path.read_text(encoding="utf-8")):
            if of:
                further.append((guard, of))
            elif guard.name in found or sentence in {each.sentence for each in found.values()}:
                raise ValueError(f"{guard.path}: {guard.name} or its sentence is there twice: {sentence}")
            else:
                found[guard.name] = Invariant(sentence, [guard])
    for guard, of in further:
        if of not in found:
            raise ValueError(f"{guard.path}: {guard.name} is said to guard what {of!r} declares, which declares nothing")
        found[of].guards.append(guard)
    return list(found.values())


def page(root: Path = ROOT) -> str:
    """Returns the content of the page."""
    sections: dict[str, list[str]] = {}
    for each in invariants(root):
        directory = each.guards[0].path.rpartition("/")[0]
        sections.setdefault(directory, []).append(f"| {each.sentence} | {_shown(each.guards)} |")
    tables = [f"\n## {name}\n\n{TABLE}" + "\n".join(rows) for name, rows in sorted(sections.items())]
    return HEAD + "\n".join(tables) + "\n"


def _shown(guards: list[Guard]) -> str:
    """Returns the guards as links to their modules."""
    return ", ".join(f"[`{each.test or Path(each.path).name}`](../{each.path})" for each in guards)


def _marked(path: str, source: str) -> Iterator[tuple[Guard, str, str]]:
    """Yields each marker of a module: what it is at, its sentence and its `of`, of which one is empty."""
    if f"mark.{MARKER}(" not in source:
        return
    for node in ast.parse(source).body:
        if isinstance(node, ast.Assign) and any(isinstance(each, ast.Name) and each.id == "pytestmark" for each in node.targets):
            yield from _arguments(Guard(path), [node.value])
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield from _arguments(Guard(path, node.name), node.decorator_list)


def _arguments(guard: Guard, markers: list[ast.expr]) -> Iterator[tuple[Guard, str, str]]:
    for call in (each for marker in markers for each in ast.walk(marker)):
        if isinstance(call, ast.Call) and re.fullmatch(rf"pytest\.mark\.{MARKER}", ast.unparse(call.func)):
            values = [ast.literal_eval(each) for each in call.args] + [""]
            yield guard, values[0], next((ast.literal_eval(each.value) for each in call.keywords if each.arg == "of"), "")


if __name__ == "__main__":
    (ROOT / PAGE).write_text(page(), encoding="utf-8")
