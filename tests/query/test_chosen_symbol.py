"""What `symbol_name` and `path` mean in the tools about a symbol: the name chooses the definition, `path` what is returned."""

import pytest

from codecompass.errors import AmbiguousSymbol, SymbolNotFound
from codecompass.protocol.requests import (
    FindReferences,
    FindRelatedSymbols,
    GetCallGraph,
    GetCodeContext,
    GetFileOutline,
    GetSymbolHierarchy,
    LocateSymbol,
    SearchCode,
)
from codecompass.query import (
    find_references,
    find_related_symbols,
    get_call_graph,
    get_code_context,
    get_file_outline,
    get_symbol_hierarchy,
    locate_symbol,
    search_code,
)

FILES = {
    "app/store.py": (
        "class Store:\n"
        "    def save(self, item): ...\n"
        "\n"
        "    def load(self): ...\n"
        "\n"
        "class Disk(Store):\n"
        "    def save(self, item): ...\n"
    ),
    "app/main.py": (
        "from app.store import Store\n\ndef run(store: Store):\n    store.save(1)\n    helper()\n\ndef helper(): ...\n"
    ),
    "app/cloud.py": "from app.store import Store\n\nclass Cloud(Store): ...\n\nclass Far(Cloud): ...\n",
    "jobs/nightly.py": "from app.store import Store\n\ndef nightly(store: Store):\n    store.save(2)\n\ndef run(): ...\n",
    "tests/test_store.py": "from app.store import Store\n\ndef test_it():\n    Store().save(3)\n",
}
ROOT = "/home/me/shop"


@pytest.fixture(scope="module")
def shop(index_of):
    return index_of(FILES)


@pytest.fixture(scope="module")
def uses(shop, state):
    def ask(symbol_name, **arguments):
        return find_references(shop, FindReferences(symbol_name=symbol_name, **arguments), state)

    return ask


def places(reply):
    return [f"{each.path}:{each.line_start}" for each in reply.references]


ALL = ["app/main.py:4", "jobs/nightly.py:4", "tests/test_store.py:4"]


@pytest.mark.parametrize(
    "name",
    [
        "app/store.py:2",
        "store.py:2",
        "./app/store.py:2",
        "app\\store.py:2",
        "app/store.py:2-2",
        "app/store.py:2:9",
        "app/store.py#L2",
        "app/store.py#L2-L2",
        f"{ROOT}/app/store.py:2",
        f"file://{ROOT}/app/store.py#L2",
        "app/store.py:2 fn app.store.Store.save",
        "app/store.py:2 method Store.save",
        "method Store.save, app/store.py:2",
        "Store.save",
        "app.store.Store.save",
        "method Store.save",
        "def Store.save(self, item)",
    ],
)
def test_every_form_in_which_an_answer_prints_a_definition_names_it(shop, uses, state, name):
    reply = uses(name)

    assert (reply.definition.path, reply.definition.line_start) == ("app/store.py", 2)
    assert places(reply) == ALL
    assert uses(reply.definition.symbol_id) == reply

    graph = get_call_graph(shop, GetCallGraph(symbol_name=name), state)
    nesting = get_symbol_hierarchy(shop, GetSymbolHierarchy(symbol_name=name), state)
    related = find_related_symbols(shop, FindRelatedSymbols(symbol_name=name), state)
    located = locate_symbol(shop, LocateSymbol(name=name), state)
    assert {
        (first.path, first.line_start) for first in (graph.nodes[0], nesting.hierarchy[0], related.anchor, located.results[0])
    } == {("app/store.py", 2)}


@pytest.mark.parametrize("name", ["app/store.py:2", f"file://{ROOT}/app/store.py#L2", "app/store.py:2 method Store.save"])
def test_a_search_takes_them_too(shop, state, name):
    found = search_code(shop, SearchCode(query=name), state).results

    assert [(each.path, each.line_start) for each in found] == [("app/store.py", 2)]


def test_a_place_that_has_moved_is_found_by_the_name_printed_with_it(uses):
    assert uses("app/store.py:5 method Store.load").definition.line_start == 4


def test_a_place_without_a_definition_is_said_to_be_one(uses):
    near = "The nearest: app/main.py:3 fn app.main.run, app/main.py:7 fn app.main.helper."
    with pytest.raises(SymbolNotFound, match=f"app/main.py defines nothing at line 1. {near}"):
        uses("app/main.py:1")


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("app/main.py", ALL[:1]),
        ("main.py", ALL[:1]),
        ("app/", ALL[:1]),
        ("app", ALL[:1]),
        ("**/*.py", ALL),
        ("jobs/**,tests/**", ALL[1:]),
        ("!tests/**", ALL[:2]),
        ("jobs\\nightly.py", ALL[1:2]),
        (f"{ROOT}/jobs", ALL[1:2]),
        ("jobs/nightly.py:4", ALL[1:2]),
    ],
)
def test_path_filters_the_uses_and_the_counts(uses, path, found):
    reply = uses("Store.save", path=path)

    assert places(reply) == found
    assert reply.total == reply.counts.exact == len(found)
    left_out = len(ALL) - len(found)
    assert reply.metadata.warnings == ((f"path leaves out {left_out} of 3 uses",) if left_out else ())


def test_the_file_of_a_definition_that_needs_no_choice_filters_like_any_other(uses):
    """Nothing is hidden: the warning says how many uses are elsewhere."""
    reply = uses("Store.load", path="app/store.py")

    assert places(reply) == []
    assert uses("Store.save", path="app/store.py").metadata.warnings == ("path leaves out 3 of 3 uses",)


def test_a_path_that_no_file_has_is_said_to_be_none(uses):
    reply = uses("Store.save", path="lib/**")

    assert places(reply) == []
    assert reply.metadata.warnings[0].startswith("no indexed file fits path 'lib/**'")


def test_a_name_of_several_files_means_all_of_them_and_one_by_its_place_or_by_path(uses):
    definitions = uses("run").definitions
    assert [f"{each.path}:{each.line_start}" for each in definitions] == ["app/main.py:3", "jobs/nightly.py:6"]
    for each in definitions:
        printed = f"{each.path}:{each.line_start} {each.kind} {each.qualified_name}"
        assert uses(printed).definition.path == each.path
        assert uses(printed).definitions == ()

    assert uses("run", path="jobs/nightly.py").definition.path == "jobs/nightly.py"
    assert uses("run", path="nightly.py").definition.path == "jobs/nightly.py"
    assert uses("run", path="jobs/").definition.path == "jobs/nightly.py"
    assert len(uses("run", path="tests/").definitions) == 2
    assert uses("jobs.nightly.run", path="app/").definition.path == "jobs/nightly.py"


def test_more_than_twenty_unrelated_definitions_are_listed_with_the_call_that_chooses(index_of, state):
    files = {f"app/m{number:02}.py": "def go(): ...\n" for number in range(22)}
    snapshot = index_of(files)

    def ask(name):
        return find_references(snapshot, FindReferences(symbol_name=name), state)

    with pytest.raises(AmbiguousSymbol, match=r'22 definitions .*such as "app/m00\.py:1"') as caught:
        ask("go")
    assert (caught.value.data["candidate_count"], len(caught.value.data["candidates"])) == (22, 20)
    for each in caught.value.data["candidates"]:
        assert ask(f"{each['path']}:{each['line']}").definition.path == each["path"]

    del files["app/m00.py"], files["app/m01.py"]
    twenty = index_of(files)
    assert len(find_references(twenty, FindReferences(symbol_name="go"), state).definitions) == 20


def test_the_end_of_a_qualified_name_is_not_taken_for_the_ending_of_a_file(uses):
    """`app.store.Store.save` is not `save` of anything in app/store.Store."""
    assert uses("app.store.Store.save").definitions == ()


def test_the_file_that_chooses_among_several_definitions_does_not_filter(index_of, state):
    snapshot = index_of({"a.py": "def go(): ...\n", "b.py": "def go(): ...\n", "c.py": "from a import go\n\ngo()\n"})

    reply = find_references(snapshot, FindReferences(symbol_name="go", path="a.py"), state)

    assert places(reply) == ["c.py:1", "c.py:3"]
    assert reply.metadata.warnings == ()


def test_path_filters_callers_subtypes_relatives_and_context(shop, state):
    callers = get_call_graph(shop, GetCallGraph(symbol_name="Store.save", path="jobs/"), state)
    assert [node.name for node in callers.nodes] == ["save", "nightly"]
    assert callers.metadata.warnings == ("path leaves out 2 of 3 symbols",)

    request = GetSymbolHierarchy(symbol_name="Store", relation="subtypes", path="app/cloud.py")
    subtypes = get_symbol_hierarchy(shop, request, state)
    assert [each.name for each in subtypes.symbols] == ["Store", "Cloud", "Far"]
    assert subtypes.metadata.warnings == ("path leaves out 1 of 3 subtypes",)

    related = find_related_symbols(shop, FindRelatedSymbols(symbol_name="Store.save", path="tests/"), state)
    assert [each.path for each in related.related] == ["tests/test_store.py"]

    context = get_code_context(shop, GetCodeContext(query="store save", path="jobs/**"), state)
    assert {each.path for each in context.context_items} == {"jobs/nightly.py"}


@pytest.mark.parametrize(
    "path", ["app/store.py:2", "app\\store.py", f"{ROOT}/app/store.py#L2-L4", "/app/store.py", "app/st*.py", "./app/store.py"]
)
def test_an_outline_takes_a_path_in_every_form(shop, state, path):
    assert get_file_outline(shop, GetFileOutline(path=path), state).file_path == "app/store.py"


@pytest.mark.parametrize("path", ["app/store.py:2", "app\\store.py", f"{ROOT}/app/store.py", "app/store.py#L2", "app/st*"])
def test_a_filter_takes_a_path_in_every_form(shop, state, path):
    found = search_code(shop, SearchCode(query="save", path=path), state).results
    located = locate_symbol(shop, LocateSymbol(name="save", path=path), state).results

    assert {each.path for each in (*found, *located)} == {"app/store.py"}
