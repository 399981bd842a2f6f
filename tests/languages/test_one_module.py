"""A language is one module: engines name none, and a language that nobody has heard of works from its module alone."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import codecompass
from codecompass import languages
from codecompass.languages import detect, table
from codecompass.languages.uses.lexical_rules import lexical_rules
from codecompass.languages.uses.packed_uses import unpacked_all
from codecompass.worker.messages import Batch, FileText
from codecompass.worker.parsing import Parsers, parse_file

PACKAGE = Path(codecompass.__file__).parent

ENGINES = PACKAGE / "languages"
"""Where no language is named, but for the paths below."""

NAMING = ("languages/detect.py", "languages/table.py", "languages/imports/", "languages/path_modules.py")
"""Beginnings of the paths where languages may be named, besides the modules of languages."""


def is_of_language(path: Path) -> bool:
    """Whether the module is that of a language, or a helper beside it, whose name begins with that of the module."""
    modules = {row.module for row in table.LANGUAGES.values() if row.module}
    return path.parent == PACKAGE / "languages" and any(
        path.stem == module or path.stem.startswith(f"{module}_") for module in modules
    )


def named_languages(path: Path) -> list[str]:
    """Returns the place of each literal that is the name of a language with symbols."""
    return [
        f"{path.relative_to(PACKAGE)}:{node.lineno} {node.value}"
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Constant) and node.value in languages.SYMBOL_LANGUAGES
    ]


def test_no_engine_names_a_language():
    paths = [
        path
        for path in sorted(ENGINES.rglob("*.py"))
        if not is_of_language(path) and not str(path.relative_to(PACKAGE)).startswith(NAMING)
    ]

    assert len(paths) > 20
    assert [place for path in paths for place in named_languages(path)] == []


def test_no_module_of_a_language_loads_the_library_of_grammars():
    """The server reads what languages are, and never parses."""
    script = (
        "import sys; from codecompass.languages import SYMBOL_LANGUAGES, load\n"
        "from codecompass.languages.uses.lexical_rules import lexical_rules\n"
        "for name in SYMBOL_LANGUAGES: load(name), lexical_rules(name)\n"
        "print([name for name in sys.modules if name.startswith('tree_sitter')])"
    )

    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)

    assert result.stdout.strip() == "[]"


@pytest.fixture
def invented(monkeypatch):
    """Adds the language of `tests/support/invented.py`, in files `*.inv`."""
    monkeypatch.setitem(table.MODULES, "invented", "tests.support.invented")
    monkeypatch.setitem(detect.EXTENSIONS, ".inv", "invented")
    languages.described.cache_clear()
    lexical_rules.cache_clear()
    yield
    languages.described.cache_clear()
    lexical_rules.cache_clear()


SCRIPT = """\
-- Keeps jobs in "order".
function queue(limit)
    local first = Job()
    first.run(limit, size)
    retry!{first}
end
"""


@pytest.mark.usefixtures("invented")
def test_symbols_and_uses_of_an_invented_language_come_from_its_module_alone():
    language = detect.language_of("jobs.inv", SCRIPT.encode())
    batch = Batch(b"", (), True, 1 << 20, 20_000, 10.0)

    found = parse_file(batch, FileText("jobs.inv", "indexed", language=language), SCRIPT.encode(), Parsers())

    assert [(symbol.name, symbol.kind, symbol.line_start, symbol.line_end, symbol.doc) for symbol in found.symbols] == [
        ("queue", "fn", 2, 6, 'Keeps jobs in "order".')
    ]
    assert [(each.name, [(use.line, use.usage, use.receiver) for use in each.uses]) for each in unpacked_all(found.uses)] == [
        ("Job", [(3, "call", "")]),
        ("retry", [(5, "call", "")]),
        ("run", [(4, "call", "Job()")]),
        ("size", [(4, "read", "")]),
    ]
