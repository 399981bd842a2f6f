"""`diff_context` and `changed_since` over real repositories, workers and indexes."""

import os
import signal
from collections.abc import Callable

import pytest
import trio
from msgspec.structs import replace

from codecompass.actors.asking import query_settings
from codecompass.actors.differences import IsCancelled, read_changed_since, read_difference
from codecompass.actors.worker_pool import open_worker_pool
from codecompass.errors import AmbiguousSymbol, InvalidInput, InvalidMaxTokens, RefNotIndexed, SymbolNotFound
from codecompass.protocol.encode import encode
from codecompass.protocol.metadata import AnswerState
from codecompass.protocol.requests import DiffContext, LocateSymbol, SearchCode
from codecompass.protocol.text import render
from codecompass.query.diff_context import diff_context
from codecompass.query.locate import locate_symbol
from codecompass.query.options import QueryOptions
from codecompass.query.search import search_code
from codecompass.query.token_budget import estimate_tokens
from codecompass.scan.git_changes import GitChanges
from codecompass.settings import Settings
from tests.support.workspace import LIMITS

STATE = AnswerState(workspace="/w", project_id="p", ref="main")

SHOP = {
    "shop/__init__.py": "",
    "shop/prices.py": '''\
"""Prices."""

RATE = 0.2


def total(items):
    """Adds up."""
    result = 0
    for item in items:
        result += item.price
    return result


def with_tax(amount):
    return amount * (1 + RATE)


class Basket:
    """Holds items."""

    limit = 10

    def __init__(self, items):
        self.items = items

    def amount(self):
        return with_tax(total(self.items))
''',
    "shop/orders.py": """\
from shop.prices import Basket, total


def order(items):
    basket = Basket(items)
    return basket.amount()


def estimate(items):
    return total(items)
""",
    "tests/test_prices.py": """\
from shop.prices import total


def test_total_is_a_sum():
    assert total([]) == 0
""",
    "notes.txt": "# Notes\n\nfirst\n",
}


def difference_of(workspace, limits=LIMITS, **arguments):
    async def blocking(work: Callable[[IsCancelled], GitChanges]) -> GitChanges:
        return work(lambda: False)

    async def read():
        async with open_worker_pool(1) as pool:
            return await read_difference(workspace.root, DiffContext(**arguments), limits, pool, blocking)

    return trio.run(read)


def answers(workspace, options=QueryOptions(), **arguments):  # noqa: B008 (frozen)
    trio.run(workspace.sync)
    difference = difference_of(workspace, **arguments)
    with workspace.index.snapshot() as snapshot:
        return diff_context(snapshot, DiffContext(**arguments), difference, STATE, options)


def summary(reply):
    """Returns what is reported of each change, in order."""
    return [(item.change, item.parts, item.name) for item in reply.items if item.change != "lines"]


@pytest.fixture
def shop(repository):
    repository.write(SHOP)
    repository.commit("first")
    return repository


def edited(workspace, path, *replacements):
    text = (workspace.root / path).read_text()
    for old, new in replacements:
        assert old in text
        text = text.replace(old, new)
    workspace.write({path: text})


# Differences.


def test_a_changed_signature_with_users_elsewhere_comes_first_and_names_them(shop):
    edited(shop, "shop/prices.py", ("def total(items):", "def total(items, start=0):"), ("RATE = 0.2", "RATE = 0.3"))
    shop.write({"shop/extra.py": "def fresh():\n    return 1\n"})

    reply = answers(shop)

    assert summary(reply) == [
        ("changed", ("signature",), "total"),
        ("changed", ("body",), "RATE"),
        ("added", (), "fresh"),
    ]
    total = reply.items[0]
    assert [(user.path, user.lines, user.name, user.in_diff) for user in total.users] == [
        ("shop/orders.py", (10,), "estimate", False),
        ("shop/prices.py", (27,), "amount", False),
    ]
    assert (total.users_outside, total.tests_inside, total.tests_outside) == (2, 0, 1)
    assert (total.pieces[0].removed, total.pieces[0].added) == (("def total(items):",), ("def total(items, start=0):",))
    assert reply.base.reason.startswith("HEAD, which is part of main")


def test_a_method_that_differs_is_the_answer_and_not_its_class(shop):
    edited(shop, "shop/prices.py", ("        self.items = items", "        self.items = list(items)"))
    assert summary(answers(shop)) == [("changed", ("body",), "__init__")]

    edited(shop, "shop/prices.py", ("class Basket:", "class Basket(dict):"))
    assert ("changed", ("signature",), "Basket") in summary(answers(shop))


def test_an_annotation_is_part_of_the_signature_and_a_comment_of_the_body(shop):
    edited(shop, "shop/prices.py", ("def with_tax", "@cached\ndef with_tax"), ("def total", "# Adds.\ndef total"))

    assert sorted(summary(answers(shop))) == [("changed", ("body",), "total"), ("changed", ("signature",), "with_tax")]


def test_what_stands_elsewhere_in_its_file_has_not_changed(shop):
    text = SHOP["shop/prices.py"]
    tax = "def with_tax(amount):\n    return amount * (1 + RATE)\n\n\n"
    shop.write({"shop/prices.py": text.replace(tax, "").replace("def total", tax + "def total")})

    reply = answers(shop)

    assert reply.items == ()
    assert (reply.totals.files, reply.totals.symbols) == (1, 0)
    assert reply.files[0].lines_added > 0


def test_blank_lines_are_no_change_of_a_definition(shop):
    edited(shop, "shop/prices.py", ("    result = 0\n", "    result = 0\n\n"))

    assert answers(shop).items == ()


def test_a_renamed_function_is_one_change_and_who_still_names_the_old_one_is_said(shop):
    edited(shop, "shop/prices.py", ("def total", "def sum_of"), ("with_tax(total(", "with_tax(sum_of("))

    renamed = answers(shop).items[0]

    assert (renamed.change, renamed.parts, renamed.name, renamed.old_name) == ("renamed", (), "sum_of", "shop.prices.total")
    assert {(user.path, user.lines[0]) for user in renamed.users if not user.in_diff} == {
        ("shop/orders.py", 1), ("shop/orders.py", 10),
    }  # fmt: skip
    assert renamed.tests_outside == 2


def test_a_moved_function_is_one_change_with_what_differs_in_it(shop):
    text = SHOP["shop/prices.py"]
    start, end = text.index("def total"), text.index("def with_tax")
    shop.write({"shop/prices.py": text[:start] + text[end:], "shop/sums.py": text[start:end].replace("Adds up", "Sums up")})

    reply = answers(shop)

    moved = reply.items[0]
    assert (moved.change, moved.parts, moved.path, moved.old_path) == ("moved", ("body",), "shop/sums.py", "shop/prices.py")
    assert [(piece.removed, piece.added) for piece in moved.pieces] == [(('    """Adds up."""',), ('    """Sums up."""',))]
    assert ("shop/orders.py", 1) in {(user.path, user.lines[0]) for user in moved.users}


def test_a_renamed_file_with_an_edit_is_compared_with_what_it_was(shop):
    shop.git("mv", "shop/prices.py", "shop/costs.py")
    edited(shop, "shop/costs.py", ("def with_tax(amount):", "def with_tax(amount, rate):"))

    reply = answers(shop)

    assert summary(reply) == [("changed", ("signature",), "with_tax")]
    assert reply.items[0].old_path == "shop/prices.py"
    assert (reply.files[0].status, reply.files[0].old_path, reply.files[0].similarity > 80) == ("renamed", "shop/prices.py", True)


def test_a_deleted_file_says_who_still_uses_what_it_had(shop):
    (shop.root / "shop/prices.py").unlink()

    reply = answers(shop)

    gone = {item.name: item for item in reply.items if item.change != "lines"}
    assert {name: item.change for name, item in gone.items()} == dict.fromkeys(("RATE", "total", "with_tax", "Basket"), "removed")
    assert ("shop/orders.py", "order") in {(user.path, user.name) for user in gone["Basket"].users}
    assert (gone["Basket"].inner, gone["total"].tests_outside > 0) == (3, True)
    assert reply.items[0].users_outside > 0
    assert gone["RATE"].users_outside == 0


def test_a_deleted_module_says_who_names_it_in_front_of_what_it_had(repository):
    repository.write(
        {
            "Cargo.toml": '[package]\nname = "shop"\nversion = "1.0.0"\n',
            "src/main.rs": "mod notes;\n\nfn main() {\n    say!();\n    notes::write();\n    other::write();\n}\n",
            "src/flags.rs": "fn read() {\n    crate::notes::write();\n}\n",
            "src/notes.rs": "pub fn write() {}\n\n#[macro_export]\nmacro_rules! say {\n    () => {};\n}\n",
            "lib/page.ex": "defmodule Shop.Page do\n  def show(), do: Shop.Html.escape()\nend\n",
            "lib/html.ex": "defmodule Shop.Html do\n  def escape(), do: :ok\nend\n",
        }
    )
    repository.commit("first")
    (repository.root / "src/notes.rs").unlink()
    (repository.root / "lib/html.ex").unlink()

    users = {item.name: [(user.path, user.lines) for user in item.users] for item in answers(repository).items if item.name}

    assert users["write"] == [("src/flags.rs", (2,)), ("src/main.rs", (5,))]
    assert users["say"] == [("src/main.rs", (4,))]
    assert users["Html"] == [("lib/page.ex", (2,))]


def test_a_prototype_that_is_left_does_not_hide_who_uses_what_is_gone(repository):
    header, source = "int area(int side);\n", "int area(int side)\n{\n    return side * side;\n}\n"
    repository.write({"area.h": header, "area.c": source})
    repository.write({"main.c": '#include "area.h"\n\nint main(void)\n{\n    return area(2);\n}\n'})
    repository.commit("first")
    repository.write({"area.c": source.replace("area", "surface")})

    (item,) = answers(repository).items

    assert (item.change, item.name) == ("renamed", "surface")
    assert [(user.path, user.name, user.confidence) for user in item.users] == [("main.c", "main", "likely")]


def test_staged_and_committed_changes_count_against_the_default_branch(shop):
    shop.git("checkout", "-q", "-b", "side")
    edited(shop, "shop/orders.py", ("basket = Basket(items)", "basket = Basket(list(items))"))
    shop.commit("on side")
    edited(shop, "shop/prices.py", ("limit = 10", "limit = 11"))
    shop.git("add", "-A")
    shop.write({"untracked.py": "def new():\n    pass\n"})

    reply = answers(shop)

    assert {name for _, _, name in summary(reply)} == {"order", "limit", "new"}
    assert reply.base.reason == "where it left main"
    assert {name for _, _, name in summary(answers(shop, base="HEAD"))} == {"limit", "new"}


def test_lines_in_no_definition_are_given_and_files_without_a_grammar_too(shop):
    shop.write({"notes.txt": "# Notes\n\nsecond\n"})
    edited(shop, "shop/orders.py", ("import Basket, total", "import Basket, total, with_tax"))

    reply = answers(shop)

    assert [(item.change, item.path, item.pieces[0].added) for item in reply.items] == [
        ("lines", "shop/orders.py", ("from shop.prices import Basket, total, with_tax",)),
        ("lines", "notes.txt", ("second",)),
    ]


def test_two_commits_are_compared_and_users_said_to_be_those_of_the_working_tree(shop):
    edited(shop, "shop/prices.py", ("def with_tax(amount):", "def with_tax(amount, rate):"))
    shop.commit("second")
    shop.write({"later.py": "def later():\n    pass\n"})

    reply = answers(shop, base="HEAD~1", head="HEAD")

    assert summary(reply) == [("changed", ("signature",), "with_tax")]
    assert any("users are those of the working tree" in warning for warning in reply.metadata.warnings)


def test_a_path_filter_leaves_what_fits(shop):
    edited(shop, "shop/prices.py", ("RATE = 0.2", "RATE = 0.3"))
    shop.write({"notes.txt": "other\n", "tests/test_new.py": "def test_new():\n    pass\n"})

    assert [file.path for file in answers(shop, path="**/*.py,!tests/**").files] == ["shop/prices.py"]
    with pytest.raises(InvalidInput, match="path"):
        difference_of(shop, path=" , ")


def test_a_first_commit_that_is_not_there_yet_is_compared_with_nothing(repository):
    repository.write({"a.py": "def first():\n    pass\n"})

    reply = answers(repository)

    assert summary(reply) == [("added", (), "first")]
    assert reply.base.name == "the empty tree"


def test_without_a_difference_it_says_so(shop):
    reply = answers(shop)

    assert (reply.items, reply.files, reply.truncated) == ((), (), False)
    assert render(reply).startswith("nothing differs between HEAD")


def test_a_secret_is_listed_without_its_lines(shop):
    shop.write({".env": "TOKEN=one\n"})
    shop.git("add", "-f", ".env")
    shop.commit("secret")
    shop.write({".env": "TOKEN=another\n"})

    said = encode(answers(shop))

    assert b'".env"' in said
    assert b"TOKEN" not in said


# A single definition.


def test_the_two_versions_of_a_definition(shop):
    edited(shop, "shop/prices.py", ("    return amount * (1 + RATE)", "    return amount"))

    (item,) = answers(shop, symbol="prices.with_tax").items

    assert item.old.body == "def with_tax(amount):\n    return amount * (1 + RATE)"
    assert item.new.body == "def with_tax(amount):\n    return amount"
    assert (item.change, item.users_outside) == ("changed", 1)


def test_a_definition_that_does_not_differ_says_so_whether_its_file_does_or_not(shop):
    edited(shop, "shop/prices.py", ("RATE = 0.2", "RATE = 0.3"))

    for name, said in (("with_tax", "same on both sides"), ("estimate", "file of this definition does not differ")):
        reply = answers(shop, symbol=name)
        assert (reply.items[0].change, reply.items[0].name) == ("unchanged", name)
        assert reply.items[0].new.body.startswith(f"def {name}(")
        assert any(said in warning for warning in reply.metadata.warnings), name


def test_a_definition_of_one_side_alone_has_one_version(shop):
    edited(shop, "shop/prices.py", ("def with_tax(amount):\n    return amount * (1 + RATE)\n", ""))

    (item,) = answers(shop, symbol="with_tax").items

    assert (item.change, item.new) == ("removed", None)
    assert "1 + RATE" in item.old.body


def test_all_definitions_of_a_name_are_compared_and_those_that_differ_come_alone(shop):
    edited(shop, "shop/prices.py", ("RATE = 0.2", "RATE = 0.3"))
    shop.write({"a.py": "def twin():\n    pass\n", "b.py": "def twin():\n    return 1\n"})

    with pytest.raises(SymbolNotFound):
        answers(shop, symbol="nobody")
    assert [(item.path, item.change) for item in answers(shop, symbol="twin").items] == [("a.py", "added"), ("b.py", "added")]
    assert answers(shop, symbol="twin", path="b.py").items[0].path == "b.py"


def test_more_definitions_that_differ_than_are_compared_are_listed_as_candidates(shop):
    shop.write({f"twin_{number:02}.py": f"def twin():\n    return {number}\n" for number in range(21)})

    with pytest.raises(AmbiguousSymbol) as caught:
        answers(shop, symbol="twin")
    assert caught.value.data["candidates"][0]["path"] == "twin_00.py"


# Budget.


@pytest.mark.parametrize("form", ["json", "text"])
def test_an_answer_keeps_its_budget_and_counts_what_it_leaves_out(shop, form):
    shop.write({f"many/m{number}.py": "".join(f"def f{n}():\n    return {n}\n\n\n" for n in range(10)) for number in range(20)})
    edited(shop, "shop/prices.py", ("def total(items):", "def total(items, start):"))
    options = query_settings(Settings(), form)
    trio.run(shop.sync)
    difference = difference_of(shop)

    with shop.index.snapshot() as snapshot:
        for max_tokens in (700, 1500, 4000, 20_000):
            reply = diff_context(snapshot, DiffContext(max_tokens=max_tokens), difference, STATE, options)
            said = render(reply).encode() if form == "text" else encode(reply)
            assert estimate_tokens(said) <= reply.estimated_tokens <= max_tokens
            assert len(reply.items) + reply.items_omitted == 201
            assert len(reply.files) + reply.files_omitted == 21
            assert reply.items[0].name == "total"
        with pytest.raises(InvalidMaxTokens) as caught:
            diff_context(snapshot, DiffContext(max_tokens=20), difference, STATE, options)
        least = caught.value.data["minimum"]
        assert diff_context(snapshot, DiffContext(max_tokens=least), difference, STATE, options).estimated_tokens <= least


# Hostile input.


@pytest.mark.parametrize("name", ["-rf", "--output=/tmp/x", "a..b", ":/x", "HEAD:notes.txt", "x" * 300, "nowhere"])
@pytest.mark.parametrize("field", ["base", "head"])
def test_what_names_no_commit_is_refused_by_its_field(shop, field, name):
    with pytest.raises((InvalidInput, RefNotIndexed)) as caught:
        difference_of(shop, **{field: name})
    assert caught.value.data["field"] == field


def test_outside_of_a_repository_it_is_refused(workspace):
    workspace.write({"a.py": "x = 1\n"})

    with pytest.raises(InvalidInput, match="git repository"):
        difference_of(workspace)
    with pytest.raises(InvalidInput, match="changed_since needs"):
        read_changed_since(workspace.root, "main", LIMITS)


@pytest.mark.invariant("Any version of a changed file is parsed only in a worker process")
def test_a_version_that_kills_its_parser_costs_its_definitions_and_nothing_else(shop):
    shop.write({"endless.py": "def f(x):\n    return [x]\n" * 30_000, "good.py": "def good():\n    pass\n"})

    files = {file.change.path: file for file in difference_of(shop, limits=replace(LIMITS, parse_cpu_seconds=0.1)).files}

    assert files["good.py"].new.has_symbols
    endless = files["endless.py"]
    assert (endless.new.has_symbols, endless.new.reason, endless.change.n_added) == (False, "parse_failed", 60_000)


def test_workers_that_are_killed_while_they_read_versions_are_replaced(shop):
    shop.write({"good.py": "def good():\n    pass\n"})
    own = os.getpid()

    async def read():
        async def blocking(work):
            return work(lambda: False)

        async with open_worker_pool(1) as pool:
            await pool.warm_up()
            for worker in pool._idle:
                assert worker.process.pid != own
                os.kill(worker.process.pid, signal.SIGKILL)
            return await read_difference(shop.root, DiffContext(), LIMITS, pool, blocking)

    assert [file.new.has_symbols for file in trio.run(read).files] == [True]


def test_nothing_of_a_changed_file_commands_a_terminal(shop):
    shop.write({"evil.py": "def evil():\n    return '\x1b[2J\x07'\n", "\x1b[2Jname.py": "x = 1\n"})

    text = render(answers(shop))

    assert "\x1b" not in text
    assert "evil" in text


# changed_since.


def found(workspace, request):
    trio.run(workspace.sync)
    options = QueryOptions(changed=read_changed_since(workspace.root, request.changed_since, LIMITS))
    ask = search_code if isinstance(request, SearchCode) else locate_symbol
    with workspace.index.snapshot() as snapshot:
        return ask(snapshot, request, STATE, options)


@pytest.mark.parametrize("mode", ["auto", "literal", "regex", "files"])
def test_a_search_finds_only_what_differs(shop, mode):
    edited(shop, "shop/orders.py", ("    return total(items)", "    return total(items) + 0"))
    shop.write({"shop/total_new.py": "def total_of_all():\n    return total\n"})
    query = "*.py" if mode == "files" else "total"

    reply = found(shop, SearchCode(query=query, mode=mode, changed_since="HEAD"))

    assert {hit.path for hit in reply.results} == {"shop/orders.py", "shop/total_new.py"}


def test_a_name_is_found_where_a_line_of_its_definition_differs(shop):
    edited(shop, "shop/prices.py", ("        self.items = items", "        self.items = list(items)"))

    assert [hit.name for hit in found(shop, LocateSymbol(name="Basket.__init__", changed_since="main")).results] == ["__init__"]
    assert [hit.name for hit in found(shop, LocateSymbol(name="Basket", changed_since="main")).results] == ["Basket"]
    none = found(shop, LocateSymbol(name="with_tax", changed_since="main"))
    assert none.results == ()
    assert any("nothing found in what differs from main" in warning for warning in none.metadata.warnings)


def test_a_definition_is_found_where_lines_of_it_are_gone(shop):
    edited(shop, "shop/prices.py", ('    """Adds up."""\n', ""))

    assert [hit.name for hit in found(shop, LocateSymbol(name="total", changed_since="HEAD")).results] == ["total"]
    assert found(shop, LocateSymbol(name="with_tax", changed_since="HEAD")).results == ()


def test_a_ref_that_is_equal_to_the_tree_leaves_an_empty_page_that_says_why(shop):
    for request in (SearchCode(query="total", changed_since="main"), LocateSymbol(name="total", changed_since="main")):
        reply = found(shop, request)
        assert reply.results == ()
        assert any("no existing file differs from main" in warning for warning in reply.metadata.warnings)


def test_an_unknown_ref_is_refused(shop):
    with pytest.raises(RefNotIndexed, match="no commit 'nowhere'"):
        read_changed_since(shop.root, "nowhere", LIMITS)
