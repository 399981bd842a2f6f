"""A language is one module: engines name none, and a language that nobody has heard of works from its module alone."""

import ast
import subprocess
import sys
from collections.abc import Iterator
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

TABLES = ("languages/table.py", "languages/detect.py")
"""Where languages are named besides their modules: how files of each are recognised."""

MECHANISMS = ("languages", "imports", "uses", "walk")
"""The folders whose modules are of no language; the others hold those of languages, each of a family of them."""

OTHER_MEANINGS = {
    ("cli/commands/installation.py", "bash"): "a shell whose completion is installed",
    ("cli/commands/installation.py", "fish"): "a shell whose completion is installed",
    ("cli/interactive/preview.py", "c"): "the class of comments",
    ("cli/main.py", "r"): "a mode in which a file is opened",
    ("languages/uses/arguments.py", "d"): "the exponent of a literal",
    ("query/uses/overloads.py", "c"): "a literal of one character",
    ("query/uses/overloads.py", "d"): "a literal with a fraction",
    ("query/words/regex_branches.py", "d"): "a class of characters",
    ("query/words/regex_branches.py", "r"): "an escaped control character",
    ("store/schema.py", "c"): "the kind of a record",
    ("worker/highlighting.py", "c"): "the class of comments",
}
"""The literals that are a language's name and mean something else, with what they mean."""


def is_of_language(path: Path) -> bool:
    return path.is_relative_to(PACKAGE / "languages") and path.parent.name not in MECHANISMS


def named_languages(path: Path) -> Iterator[tuple[str, str]]:
    """Yields the place and the text of each literal that is the name of a language or of a family of them."""
    # Names of formats have other meanings too: `json` is the form of an answer.
    parsed = [language for language in table.MODULES if not table.LANGUAGES[language].is_read_as_text]
    names = {*parsed, *(rules.family for rules in map(lexical_rules, parsed) if rules is not None)}
    tree = ast.parse(path.read_text("utf-8"))
    docstrings = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and id(node) not in docstrings and node.value in names:
            yield path.relative_to(PACKAGE).as_posix(), node.value


def test_only_the_table_and_its_own_modules_name_a_language():
    paths = [path for path in PACKAGE.rglob("*.py") if not is_of_language(path)]
    named = {each for path in paths for each in named_languages(path) if each[0] not in TABLES}

    assert len(paths) > 400
    assert sorted(named - set(OTHER_MEANINGS)) == []
    assert sorted(set(OTHER_MEANINGS) - named) == []


def test_the_table_names_the_grammars_of_languages_as_their_modules_do():
    for language in languages.SYMBOL_LANGUAGES:
        row = table.LANGUAGES[language]
        assert languages.load(language).grammar == ("" if row.is_read_as_text else row.grammar or language)


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
