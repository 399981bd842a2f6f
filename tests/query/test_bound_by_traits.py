"""A language that nobody knows is bound by its traits."""

import sys
from collections.abc import Callable, Iterator
from types import ModuleType

import pytest
from msgspec.structs import replace

from codecompass import languages
from codecompass.languages import table
from codecompass.languages.binding import Binding, Calls, Members
from codecompass.languages.language import Language
from codecompass.languages.records import Use
from codecompass.languages.uses.lexical_rules import LexicalRules, known_rules, lexical_rules
from codecompass.languages.written_types import WrittenTypes
from codecompass.query.uses.binder import Binder
from codecompass.query.uses.definitions import FileNames
from codecompass.store.rows import ImportRow, SymbolRow


class Facts:
    """The facts of a repository in memory, as far as a binder asks for them."""

    def __init__(self, symbols: list[SymbolRow], imports: list[ImportRow] = ()) -> None:
        self._symbols = symbols
        self._imports = imports

    def symbols_named(self, name: str, _limit: int) -> list[SymbolRow]:
        return [row for row in self._symbols if row.name == name]

    def symbols_named_in(self, name: str, directory: str) -> list[SymbolRow]:
        return [row for row in self._symbols if row.name == name and row.path.rpartition("/")[0] == directory]

    def symbols_in_file(self, file_id: int) -> list[SymbolRow]:
        return [row for row in self._symbols if row.file_id == file_id]

    def imports_of(self, file_id: int) -> list[ImportRow]:
        return [row for row in self._imports if row.file_id == file_id]

    def file(self, _path: str) -> None:
        return None


def symbol(number: int, path: str, kind: str, qualified_name: str, signature: str = "", parent: SymbolRow | None = None):
    return SymbolRow(
        id=number,
        file_id=ord(path.rpartition("/")[2][0]),
        path=path,
        language="sketch",
        parent_id=parent.id if parent is not None else None,
        name=qualified_name.rpartition(".")[2],
        kind=kind,
        qualified_name=qualified_name,
        line_start=number,
        line_end=number + 5,
        ordinal=0,
        signature=signature,
        visibility="",
        doc="",
        parent_kind=parent.kind if parent is not None else None,
    )


@pytest.fixture
def speak(monkeypatch) -> Iterator[Callable[[Language], None]]:
    """Makes `sketch` a language with the given traits; it looks like Lua."""

    def forget() -> None:
        languages.described.cache_clear()
        lexical_rules.cache_clear()

    def registered(language: Language) -> None:
        module = ModuleType("codecompass.languages.sketch")
        module.SKETCH = replace(language, uses=sketched)
        monkeypatch.setitem(sys.modules, module.__name__, module)
        forget()

    monkeypatch.setitem(table.MODULES, "sketch", "codecompass.languages.sketch")
    yield registered
    forget()


def sketched() -> LexicalRules:
    lua = known_rules("lua")
    return LexicalRules(
        family="sketch", comments_and_strings=lua.comments_and_strings, name=lua.name, keywords=frozenset({"end"})
    )


RUN = symbol(1, "lib/a.sk", "fn", "run", "run()")
JOB = symbol(10, "lib/b.sk", "class", "Job", "Job < Base")
BASE = symbol(20, "lib/b.sk", "class", "Base", "Base")
START = symbol(21, "lib/b.sk", "method", "Base.start", "start()", BASE)
STOP = symbol(40, "lib/c.sk", "method", "Job.stop", "stop()")
WORK = symbol(50, "lib/a.sk", "var", "work", "work: Job")
NESTED = symbol(60, "lib/a.sk", "class", "Shelf.Job", "Job")
PRIVATE = symbol(70, "lib/d.sk", "fn", "hide", "own hide()")
PAIR = [symbol(80, "lib/a.sk", "fn", "pair", "pair(a: Job, b: Job)"), symbol(85, "lib/a.sk", "fn", "pair", "pair(a: Job)")]


def bound(*symbols: SymbolRow, name: str, receiver: str = "", path: str = "app/e.sk") -> tuple[str, list[int]]:
    binder = Binder(Facts(list(symbols)))
    file: FileNames = binder.definitions.names_of(ord(path.rpartition("/")[2][0]), path, "sketch")
    binding = binder.bind(name, Use(3, "call", receiver, 0), file)
    return binding.certainty, [row.id for row in binding.symbols]


def test_a_language_of_which_nothing_is_said_binds_a_name_to_the_only_definition(speak):
    speak(Language())

    assert bound(RUN, name="run") == ("likely", [1])
    assert bound(JOB, NESTED, name="Job") == ("possible", [10, 60])
    assert bound(JOB, STOP, WORK, name="stop", receiver="work", path="lib/a.sk") == ("likely", [40])


@pytest.mark.parametrize(
    ("binding", "path", "expected"),
    [
        (Binding(has_no_other_names=True), "app/e.sk", ("elsewhere", [])),
        (Binding(directories_are_packages=True), "lib/e.sk", ("exact", [1])),
        (Binding(directories_are_packages=True), "app/e.sk", ("likely", [1])),
        (Binding(only_types_are_everywhere=True), "app/e.sk", ("likely", [1])),
    ],
)
def test_a_bare_name_is_bound_by_what_files_see_of_each_other(speak, binding, path, expected):
    speak(Language(binding=binding))

    assert bound(RUN, name="run", path=path) == expected


def test_what_only_its_own_file_sees_is_not_meant_elsewhere(speak):
    speak(Language(binding=Binding(constants_of_enums_are_bare=True, own_file_prefix="own ", own_file_endings=(".sk",))))

    assert bound(PRIVATE, name="hide") == ("elsewhere", [])
    assert bound(PRIVATE, name="hide", path="lib/d.sk") == ("exact", [70])


def test_a_receiver_is_what_its_written_type_says_and_has_the_members_that_are_written_elsewhere(speak):
    speak(Language(members=Members(place="parts"), types=WrittenTypes(variables="colon")))

    assert bound(JOB, STOP, WORK, name="stop", receiver="work", path="lib/a.sk") == ("exact", [40])


def test_members_are_inherited_from_the_types_in_the_head(speak):
    speak(Language(types=WrittenTypes(variables="colon", supertypes="less_than")))

    assert bound(JOB, BASE, START, WORK, name="start", receiver="work", path="lib/a.sk") == ("exact", [21])


@pytest.mark.parametrize(("calls", "expected"), [(Calls(), [80, 85]), (Calls(arity_is_exact=True), [])])
def test_the_number_of_arguments_chooses_where_it_says_so(speak, calls, expected):
    speak(Language(calls=calls))
    members = [symbol(row.id, row.path, "method", f"Job.{row.name}", row.signature) for row in PAIR]

    assert bound(*members, name="pair", receiver="unknown")[1] == expected
