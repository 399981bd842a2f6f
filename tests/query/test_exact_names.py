"""A `symbol_id` in place of a name finds exactly the definition for which it was issued, or nothing once that is gone."""

import pytest
import trio

from codecompass.errors import SymbolNotFound
from codecompass.protocol.requests import FindRelatedSymbols, GetCodeContext, GetSymbolHierarchy, LocateSymbol, SearchCode
from codecompass.query import find_related_symbols, get_code_context, get_symbol_hierarchy, locate_symbol, search_code
from codecompass.query.names.exact_names import find_exactly, symbol_handle, symbol_of_handle
from tests.query.project import FILES


def rows(snapshot):
    return [row for path in FILES if (file := snapshot.facts.file(path)) for row in snapshot.facts.symbols_in_file(file.id)]


@pytest.fixture(scope="session")
def reset(shop, state):
    """The `symbol_id` of one of three definitions with the same name."""
    found = locate_symbol(shop, LocateSymbol(name="reset", path="shop/storage.py"), state)
    return found.results[0].symbol_id


@pytest.mark.invariant("A `symbol_id` resolves to the definition for which it was issued, or to nothing")
def test_every_symbol_is_found_by_its_id_and_is_the_one_that_has_it(shop):
    known = rows(shop)

    assert len(known) > 40
    assert [symbol_of_handle(shop, symbol_handle(shop, row)) for row in known] == known


def test_every_tool_that_takes_a_name_takes_an_id(shop, state, reset):
    place = ("shop/storage.py", 14)

    located = locate_symbol(shop, LocateSymbol(name=f" {reset} "), state).results
    searched = search_code(shop, SearchCode(query=reset), state)
    hierarchy = get_symbol_hierarchy(shop, GetSymbolHierarchy(symbol_name=reset), state).hierarchy
    anchor = find_related_symbols(shop, FindRelatedSymbols(symbol_name=reset), state).anchor
    context = get_code_context(shop, GetCodeContext(query=reset, detail_level="body"), state).context_items

    assert [(hit.path, hit.line_start, hit.match) for hit in located] == [(*place, "exact")]
    assert [(hit.path, hit.line_start) for hit in searched.results] == [place]
    assert searched.query_intent == "symbol"
    assert (hierarchy[0].path, hierarchy[0].line_start) == place
    assert (anchor.path, anchor.line_start) == place
    assert (context[0].path, context[0].line_start) == place
    assert context[0].body.startswith("def reset()")


def test_an_id_that_means_nothing_is_an_error_that_says_what_to_do(shop, state):
    unknown = "0123456789abcdef"

    for ask in (
        lambda: locate_symbol(shop, LocateSymbol(name=unknown), state),
        lambda: get_symbol_hierarchy(shop, GetSymbolHierarchy(symbol_name=unknown), state),
        lambda: find_related_symbols(shop, FindRelatedSymbols(symbol_name=unknown), state),
    ):
        with pytest.raises(SymbolNotFound, match=r"no symbol has the id 0123456789abcdef now.*Ask again with the name"):
            ask()
    searched = search_code(shop, SearchCode(query=unknown), state)
    assert searched.results == ()
    assert searched.metadata.warnings[0].startswith(f"no symbol has the id {unknown} now")


def test_a_text_of_that_form_that_is_a_name_or_stands_in_a_text_is_found_as_such(index_of, state):
    snapshot = index_of({"a.py": 'def deadbeefdeadbeef():\n    return "0123456789abcdef"\n'})

    assert locate_symbol(snapshot, LocateSymbol(name="deadbeefdeadbeef"), state).results[0].match == "exact"
    assert search_code(snapshot, SearchCode(query="0123456789abcdef"), state).results[0].path == "a.py"


@pytest.mark.invariant(of="test_every_symbol_is_found_by_its_id_and_is_the_one_that_has_it")
async def test_an_id_outlives_the_index_and_ends_with_its_line(repository):
    repository.write({"a.py": "def first():\n    pass\n", "b.py": "def second():\n    pass\n"})
    await repository.sync()
    with repository.index.snapshot() as snapshot:
        handles = {
            row.name: symbol_handle(snapshot, row)
            for path in ("a.py", "b.py")
            for row in snapshot.facts.symbols_in_file(snapshot.facts.file(path).id)
        }

    repository.write({"a.py": "\n\ndef first():\n    pass\n", "c.py": "def third():\n    pass\n"})
    await repository.sync()
    with repository.index.snapshot() as snapshot:
        updated = {name: symbol_of_handle(snapshot, handle) for name, handle in handles.items()}
    repository.write({"a.py": "def first():\n    pass\n"})
    await repository.sync(force=True)
    with repository.index.snapshot() as snapshot:
        rebuilt = {name: symbol_of_handle(snapshot, handle) for name, handle in handles.items()}

    assert updated["first"] is None
    assert updated["second"].path == "b.py"
    assert (rebuilt["first"].line_start, rebuilt["second"].path) == (1, "b.py")
    await trio.lowlevel.checkpoint()


def test_a_dollar_sign_belongs_to_a_name_that_has_it_and_else_only_marks_a_variable(index_of):
    snapshot = index_of(
        {
            "core/shapes.ts": "export class Box {}\nexport class $Box {}\n",
            "Cart.php": "<?php\nclass Cart {\n    private $owner;\n}\n",
        }
    )

    assert [row.name for row in find_exactly(snapshot, "shapes.$Box")] == ["$Box"]
    assert [row.name for row in find_exactly(snapshot, "shapes.Box")] == ["Box"]
    assert [row.name for row in find_exactly(snapshot, "Cart::$owner")] == ["owner"]
