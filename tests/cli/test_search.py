"""`search`, `locate` and `outline`: readable for people, exact for programs, and up to date with the tree."""

import fcntl
import shlex
from pathlib import Path

import pytest

from codecompass.actors.asking import query_settings
from codecompass.errors import REBUILD
from codecompass.hints import for_people
from codecompass.identity import project_id
from codecompass.protocol.encode import encode
from codecompass.protocol.metadata import AnswerState
from codecompass.protocol.requests import GetFileOutline, LocateSymbol, SearchCode
from codecompass.query.locate import locate_symbol
from codecompass.query.outline import get_file_outline
from codecompass.query.search import search_code
from codecompass.settings import Settings
from codecompass.store.index import WorkspaceIndex
from codecompass.store.layout import HomeLayout
from tests.cli.conftest import CommandLine, write


def paths(done) -> list[str]:
    return [result["path"] for result in done.json["results"]]


def test_the_first_search_indexes_and_says_so_beside_the_answer(cli, shop):
    done = cli("search", "total", "price")

    assert done.code == 0
    assert f"indexing {shop} first" in done.err
    assert "indexed 6 files" in done.err
    assert done.out.startswith("shop/cart.py:12  method Cart.total_price\n  12  def total_price(self) -> Money:\n")
    assert "indexing" not in cli("search", "total", "price").err


@pytest.mark.parametrize(("question", "are_read"), [(("search", "rounding"), False), (("refs", "total_price"), True)])
def test_a_first_question_that_asks_for_no_uses_leaves_them_unread(cli, shop, question, are_read):
    # So much text that it is published before the symbols.
    write(shop, {f"generated{number}.py": "# text of no words\n" * 40_000 for number in range(6)})

    assert cli(*question).code == 0

    with WorkspaceIndex(HomeLayout(cli.home).project(project_id(shop)), project_id(shop)).snapshot() as snapshot:
        assert bool(snapshot.facts.unread_uses()) != are_read
    references = cli("refs", "total_price")
    cli("sync")
    assert references.out == cli("refs", "total_price").out != ""


def test_a_hit_shows_the_lines_with_the_words(cli, shop):
    done = cli("search", "rounding")

    assert "  14  return Money(cents)  # rounding happens here and nowhere else\n" in done.out


@pytest.mark.invariant("The command line prints what the tool answers")
@pytest.mark.parametrize("tool", ["search", "locate", "outline"])
def test_json_is_exactly_what_the_tool_answers(cli, shop, tool, indexed):
    cli("sync")
    index = WorkspaceIndex(HomeLayout(cli.home).project(project_id(shop)), project_id(shop))
    state = AnswerState(workspace=str(shop), project_id="shop", ref="main")
    settings = query_settings(Settings(), "json")

    with index.snapshot() as snapshot:
        match tool:
            case "search":
                words = ("total price", "--limit", "3", "--detail-level", "context", "--ranking-explain-level", "full")
                request = SearchCode(query="total price", limit=3, detail_level="context", ranking_explain_level="full")
                expected = encode(search_code(snapshot, request, state, settings))
            case "locate":
                words = ("Cart.total_price", "--kind", "method", "--language", "python", "--compact")
                request = LocateSymbol(name="Cart.total_price", kind="method", language="python", compact=True)
                expected = encode(locate_symbol(snapshot, request, state, settings))
            case _:
                words = ("shop/cart.py", "--depth", "top")
                expected = encode(get_file_outline(snapshot, GetFileOutline(path="shop/cart.py", depth="top"), state))

    assert cli(tool, *words, "--json").raw == expected + b"\n"


@pytest.mark.invariant("The very next search finds an edit")
def test_an_edit_is_found_by_the_very_next_search(cli, shop, indexed):
    write(shop, {"shop/tax.py": "def tax_of(amount):\n    return amount * 0.19\n"})
    (shop / "shop" / "money.py").unlink()

    assert paths(cli("locate", "tax_of", "--json")) == ["shop/tax.py"]
    assert paths(cli("locate", "Money", "--kind", "class", "--json")) == []
    assert cli("locate", "tax_of", "--json").json["metadata"]["freshness_status"] == "fresh"


def test_strict_refuses_a_stale_index_and_best_effort_says_that_it_is_stale(cli, shop, indexed):
    cli("sync")
    assert cli("locate", "Cart", "--freshness-policy", "strict").code == 0
    write(shop, {"shop/tax.py": "def tax_of(amount): ...\n"})

    strict = cli("locate", "Cart", "--json", "--freshness-policy", "strict")
    lax = cli("locate", "tax_of", "--json", "--freshness-policy", "best_effort")
    readable = cli("locate", "Cart", "--freshness-policy", "best_effort")

    assert strict.code == 1
    assert strict.json["error"]["code"] == "index_stale"
    assert strict.json["error"]["data"]["changed_files"] == 1
    assert (lax.code, paths(lax)) == (3, [])
    assert lax.json["metadata"]["freshness_status"] == "stale"
    assert lax.json["metadata"]["result_completeness"] == "partial"
    assert "1 file has changed since the index was built" in readable.err
    assert "shop/tax.py" in readable.err


@pytest.mark.parametrize("command", [["refs", "newest"], ["outline", "newest.py"]])
def test_not_found_in_an_index_that_is_behind_is_said_with_the_reason(cli, shop, command):
    assert cli("index").code == 0
    (shop / "newest.py").write_text("def newest():\n    return 1\n")
    (lock,) = cli.home.glob("projects/*/writer.lock")

    with lock.open() as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        done = cli(*command)

    assert done.code == 3
    assert "1 file has changed since the index was built" in done.err


def test_a_touched_file_does_not_make_the_index_stale(cli, shop, indexed):
    """Checkouts and builds touch files; only a change of content counts."""
    (shop / "shop" / "cart.py").touch()

    assert cli("locate", "Cart", "--freshness-policy", "strict").code == 0


def test_the_policy_can_come_from_the_projects_settings(cli, shop, indexed):
    settings = "[query]\nfreshness_policy = 'strict'\n"
    write(shop, {".codecompass/config.toml": settings, "shop/tax.py": "RATE = 0.19\n"})

    assert cli("locate", "Cart").code == 1
    assert cli("locate", "Cart", "--freshness-policy", "balanced").code == 0


def test_while_another_process_writes_the_published_index_answers(cli, shop, indexed):
    (lock,) = cli.home.glob("projects/*/writer.lock")
    write(shop, {"shop/cart.py": "class Cart: ...\n", "shop/tax.py": "def tax_of(amount): ...\n"})

    with lock.open() as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        done = cli("locate", "Cart", "--json", "--kind", "class")

    metadata = done.json["metadata"]
    assert (done.code, paths(done)) == (0, ["shop/cart.py"])
    assert (metadata["freshness_status"], metadata["result_completeness"]) == ("stale", "partial")
    assert any("2 files have changed" in warning for warning in metadata["warnings"])
    assert done.json["results"][0]["stale"] is True


def test_a_switch_of_branches_is_followed(cli, shop):
    cli.git(shop, "add", "-A")
    cli.git(shop, "commit", "-q", "-m", "all")
    cli("index")
    cli.git(shop, "switch", "-q", "-c", "other")
    write(shop, {"shop/tax.py": "def tax_of(amount): ...\n"})

    done = cli("locate", "tax_of", "--json")

    assert done.json["metadata"]["ref"] == "other"
    assert paths(done) == ["shop/tax.py"]
    assert cli("locate", "Cart", "--ref", "nowhere", "--json").json["error"]["code"] == "ref_not_indexed"


def test_a_ref_is_answered_without_a_checkout(cli, shop):
    cli.git(shop, "add", "-A")
    cli.git(shop, "commit", "-q", "-m", "all")
    cli.git(shop, "tag", "v1")
    write(shop, {"shop/tax.py": "def tax_of(amount): ...\n"})
    cli.git(shop, "add", "-A")
    cli.git(shop, "commit", "-q", "-m", "tax")

    then, now = cli("locate", "tax_of", "--ref", "v1", "--json"), cli("locate", "tax_of", "--ref", "HEAD", "--json")

    assert (then.code, paths(then)) == (3, [])
    assert (now.code, paths(now)) == (0, ["shop/tax.py"])
    assert then.json["metadata"]["ref"] == "v1"
    assert len(then.json["metadata"]["commit"]) == 40
    assert "of v1, commit" in cli("search", "Cart", "--ref", "v1").err
    assert {each["names"][0] for each in cli("branches", "--json").json["indexed"]} == {"main", "v1"}
    assert "tag v1:" in cli("branches").out


@pytest.mark.parametrize("tool", ["search", "locate"])
def test_nothing_found_is_exit_code_3_and_an_empty_list(cli, shop, tool):
    readable = cli(tool, "zzyzx")
    machine = cli(tool, "zzyzx", "--json")

    assert (readable.code, readable.out) == (3, "")
    assert "nothing found for 'zzyzx'" in readable.err
    assert ("try: codecompass" in readable.err) is (tool == "locate")
    assert (machine.code, machine.json["results"]) == (3, [])


@pytest.mark.parametrize("query", ["zzyzx|zzyzy", "zzyzx $(whoami)", "-zzyzx"])
def test_what_is_proposed_instead_can_be_copied_into_a_shell(cli, shop, query):
    done = cli("search", "--mode", "regex", "--", query)

    line = next(line for line in done.err.splitlines() if line.startswith("try: "))
    program, *words = shlex.split(line.removeprefix("try: "))
    assert (program, words[-1]) == ("codecompass", query)
    assert cli(*words).code in (0, 3)


@pytest.mark.parametrize(
    ("options", "field"),
    [
        (("--limit", "abc"), "limit"),
        (("--limit", "1.5"), "limit"),
        (("--kind", "func_"), "kind"),
        (("--detail-level", "all"), "detail_level"),
        (("--mode", "fuzzy"), "mode"),
        (("--freshness-policy", "lax"), "freshness_policy"),
        (("--timeout-ms", "soon"), "timeout_ms"),
    ],
)
def test_a_value_that_makes_no_sense_is_wrong_usage_before_anything_is_indexed(cli, shop, options, field):
    done = cli("search", "x", "--json", *options)

    assert done.code == 2
    assert done.json["error"]["data"]["field"] == field
    assert cli("projects", "list", "--json").json == {"projects": []}


def test_a_limit_above_the_range_is_clamped_with_a_warning(cli, shop):
    readable = cli("search", "cart", "--limit", "101")
    machine = cli("search", "cart", "--limit", "1000", "--json")

    assert readable.code == machine.code == 0
    assert "warning: limit '101' is out of the range 1..100; 100 was used" in readable.err
    assert machine.json["metadata"]["warnings"] == ["limit '1000' is out of the range 1..100; 100 was used"]
    assert machine.err == ""


def test_filters_narrow_the_answer(cli, indexed):
    assert paths(cli("search", "cart", "--json", "-l", "typescript")) == ["web/app.ts"]
    assert set(paths(cli("search", "cart", "--json", "-p", "tests/**"))) == {"tests/test_cart.py"}
    assert len(paths(cli("search", "cart", "--json", "-n", "1"))) == 1


def test_a_regular_expression_finds_lines(cli, shop):
    done = cli("search", "--mode", "regex", r"items\.\w+")

    assert "shop/cart.py:10:        self.items.append((name, price))" in done.out
    assert cli("search", "--mode", "regex", "(", "--json").json["error"]["code"] == "invalid_input"


def test_a_hit_that_is_no_definition_points_at_the_line_that_matters(cli, shop):
    write(shop, {"notes.txt": "one\n" * 10 + "the zebra crossing\n"})

    assert cli("search", "zebra").out.startswith("notes.txt:11  lines 11-11\n")


def test_a_literal_is_taken_as_it_is(cli, shop):
    done = cli("search", "--mode", "literal", "`/cart/${id}`", "--json")

    assert [line["line"] for result in done.json["results"] for line in result["matched_lines"]] == [2]


def test_a_query_that_begins_with_a_hyphen_is_possible(cli, shop):
    assert cli("search", "--mode", "literal", "--", "-> Money").code == 0


def test_paths_are_shown_as_one_can_open_them_from_here(cli, shop, indexed):
    below = cli("locate", "renderCart", cwd=shop / "shop").out
    outside = cli("locate", "renderCart", "--workspace", shop, cwd=cli.user).out

    assert below.startswith("../web/app.ts:1  fn renderCart\n")
    assert outside.startswith(f"{shop}/web/app.ts:1  fn renderCart\n")


def test_detail_levels_show_more_or_less(cli, indexed):
    location = cli("locate", "total_price", "-d", "location").out
    context = cli("locate", "Cart.total_price", "-d", "context").out

    assert location.splitlines()[0] == "shop/cart.py:12  method Cart.total_price"
    assert "def total_price" not in location
    assert "  14      return Money(cents)" in context


@pytest.mark.invariant("A file's content never reaches the terminal as control characters")
def test_what_is_in_a_file_cannot_take_over_the_terminal(cli, shop):
    write(shop, {"evil.py": 'title = "\x1b]0;owned\x07\x1b[2J"  # clear\n\n\ndef \u202eevil(): ...\n'})

    done = cli("search", "title clear", "-p", "evil.py")

    assert done.code == 0
    assert "\x1b" not in done.out
    assert "\\x1b]0;owned\\x07" in done.out


def test_a_project_named_by_its_name_answers_with_content(cli, shop):
    cli("init", "--project-id", "web-shop")

    found = cli("search", "total price", "--project-id", "web-shop", "--json", "-d", "context", "-n", "1").json

    assert found["metadata"]["project_id"] == "web-shop"
    assert found["metadata"]["schema_name"] == "project_web_shop"
    assert found["results"][0]["start_line"] == 12


def test_the_outline_of_a_file_is_a_tree(cli, shop):
    done = cli("outline", "shop/cart.py")

    assert done.code == 0
    assert done.out.splitlines() == [
        "shop/cart.py  python",
        "   3  use shop.money.Money",
        "   6  class Cart",
        "   9    def add_item(self, name: str, price: Money) -> None",
        "  12    def total_price(self) -> Money",
    ]
    assert "add_item" not in cli("outline", "shop/cart.py", "--depth", "top").out


def test_people_see_the_whole_outline_and_programs_what_fits(cli, shop):
    write(shop, {"large.py": "".join(f"class Class{n}:\n    def a_method_of_class_{n}(self): ...\n\n\n" for n in range(400))})

    readable = cli("outline", "large.py")
    machine = cli("outline", "large.py", "--json")

    assert len(readable.out.splitlines()) == 801
    assert readable.err.count("warning") == 0
    assert len(machine.raw) <= 30_000
    assert "left out" in machine.json["metadata"]["warnings"][0]


@pytest.mark.parametrize("name", ["cart.py", "./cart.py", "../shop/cart.py", "shop/cart.py"])
def test_a_file_is_named_from_here_or_from_the_project(cli, shop, name):
    assert cli("outline", name, "--json", cwd=shop / "shop").json["file_path"] == "shop/cart.py"


def test_a_file_that_is_not_indexed_is_not_found_and_similar_ones_are_named(cli, shop):
    done = cli("outline", "lib/cart.py", "--json")

    assert done.code == 3
    assert done.json["error"]["code"] == "file_not_found"
    assert "shop/cart.py" in done.json["error"]["message"]


def test_people_are_told_commands_and_programs_tools(cli, shop):
    assert "Search for it with codecompass search" in cli("outline", "nowhere").err
    assert "Search for it with search_code" in cli("outline", "nowhere", "--json").json["error"]["message"]


def test_of_a_remedy_in_both_forms_people_are_told_the_command_alone():
    assert for_people(f"It is damaged. {REBUILD}") == "It is damaged. Rebuild it: codecompass index --force"
    told = for_people(
        "a.b.py is too large. index_status with this path (on the command line: codecompass status --path a.b.py) says more."
    )
    assert told == "a.b.py is too large. codecompass status --path a.b.py says more."


def test_a_file_without_definitions_says_so_instead_of_nothing(cli, shop):
    (shop / "notes.txt").write_text("only words\n")
    done = cli("outline", "notes.txt")

    assert done.code == 0
    assert "its text is searchable" in done.err


def test_two_searches_that_meet_an_unindexed_project_both_answer(cli: CommandLine, program, shop: Path):
    """One indexes; the others find the lock held and must not fail because there is nothing to read yet."""
    processes = [program.start("search", "total", "price", "--json") for _ in range(3)]

    for process in processes:
        out, err = process.communicate(timeout=60)
        assert process.returncode == 0, err
        assert b"total_price" in out


@pytest.mark.slow
def test_questions_at_the_same_moment_all_see_the_edit_before_them(cli, program, shop, indexed):
    """One of them indexes the change, the others wait for it."""
    write(shop, {"shop/tax.py": "def tax_of(amount): ...\n"})
    processes = [program.start("locate", "tax_of", "--json") for _ in range(4)]

    for process in processes:
        out, err = process.communicate(timeout=60)
        assert process.returncode == 0, err
        assert b'"freshness_status":"fresh"' in out


def test_it_says_what_became_of_a_file_that_was_expected(cli, indexed):
    shown = cli("search", "total", "price", "--why-not", "cart.py")
    missing = cli("search", "zebra", "crossing", "--why-not", "shop/cart.py")
    unknown = cli("search", "total", "price", "--why-not", "nowhere.py", "--json").json["metadata"]["why_not"]

    assert "shop/cart.py is hit 1 of " in shown.err
    assert '"path_affinity"' in shown.err
    assert "shop/cart.py has nothing of the query; it lacks: zebra, crossing" in missing.err
    assert unknown == {"path": "nowhere.py", "verdict": "not_indexed"}


@pytest.mark.slow
def test_a_page_that_finds_nothing_is_not_repeated(cli, shop):
    done = cli("search", "x" * 10_000)

    assert done.code == 3
    assert len(done.err.replace(str(shop), "")) < 500


def test_lines_beyond_the_page_are_counted_up_to_a_bound(cli):
    cli.tree("many", {f"m{n}.txt": "line\n" * 5000 for n in range(5)}, git=False)

    done = cli("search", "--mode", "regex", "l.")

    assert "of at least 1,0" in done.err
    assert "not complete" not in done.err


@pytest.mark.invariant(of="tests/query/test_query_language.py")
def test_filters_in_the_query_are_those_of_the_options(cli, shop):
    write(shop, {"web/cart.js": "class Cart { total() { return 1 } }\n"})
    plain = paths(cli("search", "Cart", "total", "--json"))

    in_text = cli("search", "Cart lang:py", "total -file:test", "--json")
    in_options = cli("search", "Cart", "total", "-l", "py", "-p", "!*test*", "--json")

    assert "web/cart.js" in plain
    assert paths(in_text) == paths(in_options)
    assert "web/cart.js" not in paths(in_text)


def test_a_phrase_and_a_pattern_find_lines_and_sym_finds_the_definition(cli, shop):
    phrase = cli("search", '"Rounding Happens"', "--json")
    exact = cli("search", 'case:yes "Rounding Happens"', "--json")
    pattern = cli("search", "/rounding .* nowhere/", "--json")
    symbol = cli("search", "sym:Cart.total_price", "--json")

    assert (paths(phrase), exact.code, paths(exact)) == (["shop/cart.py"], 3, [])
    assert paths(pattern) == ["shop/cart.py"]
    assert symbol.json["results"][0]["qualified_name"].endswith("Cart.total_price")
    assert "query_intent" not in symbol.json


def test_with_a_mode_the_query_is_taken_as_it_stands(cli, shop):
    write(shop, {"notes.py": "WORDS = 'lang:py total'\n"})

    assert paths(cli("search", "lang:py total", "--mode", "literal", "--json")) == ["notes.py"]


def test_repo_in_the_query_names_the_project(cli, shop, tmp_path):
    write(tmp_path, {"bakery/oven.py": "def bread():\n    return 1\n"})
    cli("index")
    cli("index", str(tmp_path / "bakery"))

    done = cli("search", "bread", "repo:bakery", "--json")

    assert paths(done) == ["oven.py"]


def test_a_query_of_case_alone_is_wrong_usage(cli, shop):
    done = cli("search", "case:yes")

    assert done.code == 2
    assert "Add words" in done.err
