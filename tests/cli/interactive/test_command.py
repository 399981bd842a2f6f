"""`codecompass search -i` as its user sees it: the real command on a real pseudo-terminal."""

import fcntl
import re
import signal
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import CommandLine, write
from tests.support import pseudo_terminal as keys
from tests.support.pseudo_terminal import LEAVES_ALTERNATE_SCREEN, PseudoTerminal

UP_TO_DATE = "up to date"


class Opener:
    """Starts interactive searches in the current directory of the command line."""

    def __init__(self, cli: CommandLine, opened: ExitStack) -> None:
        self._cli, self._opened = cli, opened

    def __call__(self, *words: str, columns: int = 100, rows: int = 30, **variables: str) -> PseudoTerminal:
        environment = {name: value for name, value in self._cli.environment.items() if name != "NO_COLOR"}
        environment |= variables
        terminal = PseudoTerminal(["search", "--interactive", *words], environment, self._cli.cwd, columns=columns, rows=rows)
        return self._opened.enter_context(terminal)


@pytest.fixture
def opener(cli: CommandLine) -> Iterator[Opener]:
    with ExitStack() as opened:
        yield Opener(cli, opened)


@pytest.fixture
def editor(tmp_path: Path) -> Any:
    """Returns `make`, which creates an editor that records its arguments and then runs a shell command."""

    def make(name: str, then: str = "true") -> tuple[Path, Path]:
        program, noted = tmp_path / "programs" / name, tmp_path / "noted"
        program.parent.mkdir(exist_ok=True)
        program.write_text(
            f"#!/bin/sh\nfor each; do echo \"$each\"; done > '{noted}.part'\nmv '{noted}.part' '{noted}'\n{then}\n"
        )
        program.chmod(0o755)
        return program, noted

    return make


def is_back(terminal: PseudoTerminal) -> None:
    """Waits until the search controls the terminal again; before that, the editor or the kernel's line editing gets the keys."""
    terminal.until(lambda: terminal.raw.count(keys.ENTERS_ALTERNATE_SCREEN) == 2)


def test_hits_come_while_one_types_with_the_code_around_the_selected_one(cli, opener, indexed):
    terminal = opener()
    terminal.until("type to search")

    terminal.send("total")
    terminal.until("total_price")
    terminal.send(" price")
    terminal.until("> total price")
    terminal.settled()
    terminal.until(">12▌")  # the code comes after the hit

    assert "method Cart.total_price" in terminal.selected
    assert terminal.selected.rstrip().endswith("shop/cart.py:12")
    assert terminal.line(">12").startswith(">12▌    def total_price(self) -> Money:")
    assert "rounding happens here" in terminal.text


def test_the_first_search_indexes_before_anything_is_drawn(cli, shop, opener):
    terminal = opener("total", "price")

    terminal.until("method Cart.total_price")
    assert f"indexing {shop} first".encode() in terminal.raw.split(keys.ENTERS_ALTERNATE_SCREEN)[0]


def test_enter_opens_the_selected_hit_at_its_line_and_comes_back(cli, shop, opener, editor, indexed):
    vim, noted = editor("vim")
    terminal = opener("cart", EDITOR=str(vim))
    terminal.settled()
    first = terminal.selected

    terminal.send(keys.DOWN)
    terminal.until(lambda: terminal.selected != first)
    place = terminal.selected.rstrip().rpartition(" ")[2]
    path, _, line = place.rpartition(":")
    terminal.send(keys.ENTER)
    terminal.until(noted.exists)
    is_back(terminal)

    assert noted.read_text().split() == [f"+{line}", str(shop / path)]
    terminal.send(keys.ESCAPE)
    assert terminal.ended() == 0


def test_visual_comes_before_editor_and_may_have_arguments(cli, shop, opener, editor, indexed):
    code, noted = editor("code")
    terminal = opener("total", "price", VISUAL=f"{code} --wait", EDITOR="false")
    terminal.until("method Cart.total_price")

    terminal.send(keys.ENTER)
    terminal.until(noted.exists)

    assert noted.read_text().split() == ["--wait", "--goto", f"{shop}/shop/cart.py:12"]


def test_enter_waits_for_the_answer_to_what_was_typed(cli, shop, opener, editor, indexed):
    """Otherwise a fast typist would open the first hit for half a query."""
    vim, noted = editor("vim")
    terminal = opener("cart", VISUAL=str(vim))
    terminal.until("› ")

    terminal.send(keys.CONTROL_U + "class Money" + keys.ENTER)
    terminal.until(noted.exists)

    assert noted.read_text().split() == ["+1", f"{shop}/shop/money.py"]


def test_an_editor_that_is_not_there_or_fails_is_told(cli, opener, editor, indexed):
    failing, _ = editor("failing", "exit 7")
    for program, told in [("/nowhere/vim", "cannot be started"), (str(failing), "ended with exit code 7"), ("'", "$EDITOR")]:
        terminal = opener("total price", EDITOR=program)
        terminal.until("method Cart.total_price")
        terminal.send(keys.ENTER)
        terminal.until(told)


def test_what_the_editor_has_changed_is_found(cli, opener, editor, indexed):
    program, noted = editor("vim", "printf '\\ndef rounded_sum(a):\\n    return a\\n' >> shop/money.py")
    terminal = opener("rounded_sum", EDITOR=str(program))
    terminal.until("nothing found")
    terminal.send(keys.CONTROL_U + "class Money")
    terminal.until("class Money", absent="…")

    terminal.send(keys.ENTER)
    terminal.until(noted.exists)
    is_back(terminal)
    terminal.send(keys.CONTROL_U + "rounded_sum")

    terminal.until("fn rounded_sum")
    terminal.settled()


def test_a_change_is_taken_in_and_the_shown_answer_replaced(cli, shop, opener, indexed):
    terminal = opener("tax_of")
    terminal.until("nothing found")
    terminal.settled()
    write(shop, {"shop/tax.py": "def tax_of(amount):\n    return amount\n"})

    terminal.send(keys.CONTROL_R)

    terminal.until("fn tax_of")
    terminal.settled()


def test_each_question_has_the_tree_compared_without_a_key_for_it(cli, shop, opener, indexed):
    terminal = opener("class Cart")
    terminal.settled()
    write(shop, {"shop/tax.py": "def tax_of(amount):\n    return amount\n"})

    terminal.send(keys.CONTROL_U + "tax_of")

    terminal.until("fn tax_of")


def test_while_another_process_writes_nothing_is_called_up_to_date(cli, shop, opener, indexed):
    (lock,) = cli.home.glob("projects/*/writer.lock")
    write(shop, {"shop/tax.py": "def tax_of(amount): ...\n"})

    with lock.open() as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        terminal = opener("class Cart")
        terminal.until("another process is indexing")
        assert "class Cart" in terminal.text
        assert UP_TO_DATE not in terminal.text
        # Waiting for the other process does not keep anybody from leaving.
        another = opener("class Cart")
        another.until("another process is indexing")
        another.send(keys.ESCAPE)
        assert another.ended() == 0

    terminal.settled()
    terminal.send(keys.CONTROL_U + "tax_of")
    terminal.until("fn tax_of")


def test_policies_that_take_nothing_in_say_what_has_changed(cli, shop, opener, indexed):
    write(shop, {"shop/cart.py": "class Cart:\n    pass\n"})

    lax = opener("total price", "--freshness-policy", "best_effort")
    lax.until("not up to date: 1 changed file")
    lax.until("cart.py:12 (changed)")

    strict = opener("total price", "--freshness-policy", "strict")
    strict.until("not up to date: 1 changed file")
    assert "total_price" not in strict.text


def test_a_strict_search_shows_what_is_up_to_date(cli, shop, opener, indexed):
    terminal = opener("total price", "--freshness-policy", "strict")

    terminal.until("method Cart.total_price")
    assert UP_TO_DATE in terminal.text
    write(shop, {"shop/cart.py": "class Cart:\n    pass\n"})
    terminal.send(keys.CONTROL_U)
    terminal.until("type to search")
    drawn = len(terminal.raw)
    terminal.send("total_pric")
    terminal.until("not up to date: 1 changed file; run codecompass sync")
    assert b"Cart" not in terminal.raw[drawn:]


def test_an_unfinished_word_is_looked_for_as_text(cli, opener, indexed):
    terminal = opener("tal_pri")

    terminal.until("as a part of one")
    assert "def total_price" in terminal.text


def test_the_filters_of_search_hold_and_a_key_changes_the_mode(cli, opener, indexed):
    terminal = opener("cart", "-l", "typescript", "-n", "3")
    terminal.settled()
    assert "renderCart" in terminal.selected
    assert "cart.py" not in terminal.text

    terminal.send(keys.CONTROL_T)
    terminal.until("literal> cart")
    terminal.send(keys.CONTROL_T + keys.CONTROL_U + "(")
    terminal.until("missing )")
    assert terminal.text.startswith("regex> (")
    terminal.send(keys.CONTROL_U + "render.art")
    terminal.until("app.ts:1", absent="missing )")


def test_a_ref_is_searched_without_a_checkout(cli, shop, opener, editor):
    cli.git(shop, "add", "-A")
    cli.git(shop, "commit", "-q", "-m", "all")
    cli.git(shop, "tag", "v1")
    (shop / "shop/money.py").unlink()
    vim, _ = editor("vim")
    terminal = opener("--ref", "v1", "class", "Money", EDITOR=str(vim))

    terminal.until("class Money")
    terminal.until("of v1")
    terminal.send(keys.ENTER)

    terminal.until("shop/money.py is not in the working tree")


def test_control_y_prints_the_place_and_leaves(cli, opener, indexed):
    terminal = opener("total price")
    terminal.until("method Cart.total_price")

    terminal.send(keys.CONTROL_Y)

    assert terminal.ended() == 0
    assert terminal.raw.rpartition(LEAVES_ALTERNATE_SCREEN)[2].endswith(b"shop/cart.py:12\r\n")


MANY = {f"pkg/part_{number:02}.py": f"def handler_{number:02}():\n    return {number}\n" for number in range(40)}


def test_the_selection_moves_by_rows_and_pages_and_goes_round(cli, opener):
    cli.tree("many", MANY)
    cli("index")
    terminal = opener("handler", rows=20)
    terminal.settled()
    first = terminal.selected

    terminal.send(keys.TAB)
    terminal.until(lambda: terminal.selected != first)
    second = terminal.selected
    terminal.send(keys.UP + keys.UP)
    terminal.until(lambda: terminal.selected == first)
    terminal.send(keys.PAGE_DOWN)
    terminal.until(lambda: first.strip("› ") not in terminal.text or terminal.selected not in (first, second))
    terminal.send(keys.PAGE_DOWN * 10)
    terminal.until(lambda: terminal.selected not in (first, second))
    terminal.send(keys.TAB)  # wraps from the last hit to the first
    terminal.until(lambda: terminal.selected == first)
    terminal.send(keys.BACK_TAB)
    terminal.until(lambda: terminal.selected != first)


def test_an_answer_that_is_replaced_leaves_the_reader_at_the_same_hit(cli, opener):
    root = cli.tree("many", MANY)
    cli("index")
    terminal = opener("handler")
    terminal.settled()
    terminal.send(keys.DOWN * 3)
    terminal.until(lambda: terminal.screen.display[5].startswith("› "))
    chosen = terminal.selected
    write(root, {"pkg/zzz.py": "def other():\n    handler = 3\n    return handler\n"})

    terminal.send(keys.CONTROL_R)

    terminal.until("of 41")
    terminal.settled()
    assert terminal.selected == chosen


@pytest.mark.invariant("The terminal is restored, however an interactive search ends")
@pytest.mark.slow
@pytest.mark.parametrize(("key", "code"), [(keys.CONTROL_C, 130), (keys.ESCAPE, 0), (keys.CONTROL_D, 0), ("TERM", 143)])
def test_leaving_restores_the_terminal(cli, opener, key, code, indexed):
    terminal = opener()
    terminal.until("type to search")
    assert terminal.attributes != terminal.attributes_before

    if key == "TERM":
        terminal.process.send_signal(signal.SIGTERM)
    else:
        terminal.send(key)

    assert terminal.ended() == code
    assert terminal.attributes == terminal.attributes_before
    assert terminal.raw.rstrip().endswith(b"\x1b[?25h") or LEAVES_ALTERNATE_SCREEN in terminal.raw
    assert b"Traceback" not in terminal.raw


def test_a_narrow_terminal_shows_where_and_what(cli, opener, indexed):
    terminal = opener("total price", columns=40, rows=16)
    terminal.settled()
    terminal.until(">12")

    assert "shop/cart.py:12" in terminal.selected
    assert "method Cart" in terminal.selected
    assert "def total_price(self)" in terminal.line(">12")


@pytest.mark.slow
@pytest.mark.parametrize(("columns", "rows"), [(40, 5), (20, 10), (12, 4), (200, 60)])
def test_a_terminal_of_any_size_is_drawn_on(cli, opener, columns, rows, indexed):
    terminal = opener("total price", columns=columns, rows=rows)

    terminal.until("› ")
    terminal.send(keys.ESCAPE)
    assert terminal.ended() == 0


def test_a_resize_is_followed(cli, opener, indexed):
    terminal = opener("total price", columns=60, rows=24)
    terminal.settled()
    assert "│" not in terminal.text

    terminal.resize(160, 40)
    terminal.until("│>12")
    assert "def total_price" in terminal.line("│>12")

    terminal.resize(40, 12)
    terminal.until("> total price", absent="│")
    terminal.until("cart.py:12")


COLORS = re.compile(rb"\x1b\[[0-9;]*\b(?:3[0-8]|4[0-8]|9[0-7]|10[0-7])\b[0-9;]*m")


def test_no_color_is_honoured_and_the_selection_seen_all_the_same(cli, opener, indexed):
    plain, colored = opener("total price", NO_COLOR="1"), opener("total price")
    for terminal in (plain, colored):
        terminal.settled()

    assert not COLORS.search(plain.raw)
    assert "method Cart.total_price" in plain.selected
    assert COLORS.search(colored.raw)
    assert b"38;2;" not in colored.raw, "24-bit colours"


HOSTILE = {
    "src/\x1b]0;owned\x07\u202eevil.py": "def hostile_name():\n    pass\n",
    "src/code.py": "def hostile_code():\n    s = '\x1b[31mred\x1b]0;owned\x07\u202e'  # \x9b31m \x08\x08\n    return s\n",
    "src/日本語.py": "def hostile_width():\n    return '漢字かな交じり文' * 3  # 寛い\n",
}


@pytest.mark.invariant("No content of a repository can control the terminal of an interactive search")
def test_nothing_of_a_repository_commands_the_terminal(cli, opener):
    cli.tree("hostile", HOSTILE)
    cli("index")
    for query, shown in [("hostile_name", r"\x1b]0;owned\x07\u202eevil.py"), ("hostile_code", r"\x1b[31mred\x1b]0;owned\x07")]:
        terminal = opener(query)
        terminal.until(shown)
        terminal.settled()
        terminal.send(keys.CONTROL_Y)
        assert terminal.ended() == 0
        for command in (b"\x1b]0;", b"\x1b[31mred", b"\x07", "\u202e".encode(), "\x9b".encode(), b"\x08\x08"):
            assert command not in terminal.raw


def test_wide_characters_take_two_columns(cli, opener):
    cli.tree("wide", HOSTILE)
    cli("index")
    terminal = opener("hostile_width", columns=40)
    # The preview of the hit comes after the hit.
    terminal.until(lambda: "漢字かな交じり文" in terminal.text.replace(" ", ""))

    assert terminal.selected.replace(" ", "").endswith("日本語.py:1")


def test_control_characters_of_a_query_are_written_out(cli, opener, indexed):
    terminal = opener("a\u202eb\x1b[31m")

    terminal.until(r"> a\u202eb\x1b[31m")
    terminal.send("x")
    terminal.until(r"> a\u202eb\x1b[31mx")
    assert "\u202e".encode() not in terminal.raw


def test_a_pasted_text_is_one_query_and_opens_nothing(cli, opener, editor, indexed):
    vim, noted = editor("vim")
    terminal = opener(EDITOR=str(vim))
    terminal.until("type to search")

    terminal.send("\x1b[200~total\nprice\n\x1b[201~")

    terminal.until("> total price")
    terminal.until("method Cart.total_price")
    assert not noted.exists()


def test_without_a_terminal_it_says_what_to_do_instead(cli, shop, program):
    done = program("search", "--interactive", "total")

    assert done.code == 2
    assert "needs a terminal" in done.err
    assert "codecompass search QUERY" in done.err
    assert not cli.home.exists(), "refused before anything is indexed"


def test_a_terminal_that_cannot_be_drawn_on_is_refused(cli, shop, opener):
    terminal = opener("total", TERM="dumb")

    assert terminal.ended() == 2
    assert "needs a terminal" in terminal.text.replace("\n", " ")


@pytest.mark.parametrize("option", ["--json", "--compact", "--detail-level=body", "--why-not=a.py", "--changed-since=main"])
def test_options_that_shape_a_printed_answer_are_refused(cli, shop, option):
    done = cli("search", "--interactive", "total", option)

    assert done.code == 2
    assert option.partition("=")[0] in done.err + done.out


def test_a_search_still_needs_a_query_when_it_is_not_interactive(cli, shop):
    done = cli("search")

    assert done.code == 2
    assert "QUERY" in done.err


def test_what_is_written_to_stderr_meanwhile_is_shown_after_leaving(cli, shop, opener, indexed):
    """With this variable Python writes a line for each imported module, and an index job imports many."""
    write(shop, {"shop/tax.py": "def tax_of(amount): ...\n"})
    terminal = opener("tax_of", PYTHONPROFILEIMPORTTIME="1")
    terminal.until("fn tax_of")

    terminal.send(keys.ESCAPE)

    assert terminal.ended() == 0
    _, _, drawn = terminal.raw.partition(keys.ENTERS_ALTERNATE_SCREEN)
    drawn, _, after = drawn.rpartition(LEAVES_ALTERNATE_SCREEN)
    assert b"import time:" not in drawn
    assert b"codecompass.actors.indexing" in after


LOADED = """
import sys
from codecompass.cli.main import main
assert main(["search", "total", "price"]) == 0
print(*sys.modules, file=sys.stderr)
"""


@pytest.mark.invariant(of="test_the_list_of_tools_is_answered_before_anything_of_the_index_is_loaded")
def test_a_search_that_is_not_interactive_loads_nothing_of_it(cli, shop):
    import subprocess

    cli("index")
    done = subprocess.run(
        [sys.executable, "-c", LOADED], cwd=shop, env=cli.environment, capture_output=True, text=True, check=True
    )

    loaded = set(done.stderr.split())
    assert "codecompass.cli.searching" in loaded
    assert not {name for name in loaded if name.partition(".")[0] in ("prompt_toolkit", "pygments", "wcwidth")}
    assert "codecompass.cli.interactive" not in loaded
