"""The demonstration chooses its questions from the repository itself, and works on any."""

import os
import subprocess
import sys
from pathlib import Path

import bench.demo
from bench.demo import choose
from tests.support.workspace import TestWorkspace

CART = '''\
class ShoppingCart:
    """Holds what a customer wants to buy."""

    def total_price(self):
        return 0

    def add(self, item): ...
    def drop(self, item): ...
'''
ORDERS = '''\
from cart import ShoppingCart


def refund(order):
    """Returns the money for every item that came back damaged."""
    return ShoppingCart().total_price()


def _private(order):
    """Keeps what nobody outside of this module may ever see."""
'''


def run_demo(root: Path, home: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "CODECOMPASS_HOME": str(home), "XDG_CONFIG_HOME": str(home)}
    command = [sys.executable, bench.demo.__file__, *arguments]
    return subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True, check=False, timeout=120)


async def test_it_asks_for_what_the_code_speaks_of_and_what_a_comment_says(workspace: TestWorkspace):
    workspace.write({"cart.py": CART, "orders.py": ORDERS, "tests/test_cart.py": "class CartTestCase:\n    pass\n" * 3})
    await workspace.sync()

    with workspace.index.snapshot() as snapshot:
        asked = choose(snapshot)

    assert asked.name == "ShoppingCart"
    assert asked.sentence == "money for every item that came back damaged"
    assert asked.outlined == "cart.py"


async def test_a_repository_without_definitions_is_asked_nothing(workspace: TestWorkspace):
    workspace.write({"README.md": "# Notes\n"})
    await workspace.sync()

    with workspace.index.snapshot() as snapshot:
        asked = choose(snapshot)

    assert (asked.name, asked.sentence, asked.outlined) == ("", "", "")


def test_it_shows_each_command_before_its_output_and_ends_with_what_to_do_next(tmp_path):
    root = tmp_path / "shop"
    root.mkdir()
    (root / "cart.py").write_text(CART)
    (root / "orders.py").write_text(ORDERS)
    # A module of the repository with the name of one that we import.
    (root / "msgspec.py").write_text("raise SystemExit('not this one')\n")

    done = run_demo(tmp_path, tmp_path / "home", str(root))

    commands = [line for line in done.stdout.splitlines() if line.startswith("$ ")]
    assert done.returncode == 0, done.stderr
    assert [command.split()[1:3] for command in commands] == [
        ["cd", str(root)],
        ["codecompass", "index"],
        ["codecompass", "search"],
        ["codecompass", "locate"],
        ["codecompass", "search"],
        ["codecompass", "outline"],
    ]
    assert "orders.py:4" in done.stdout
    assert "cart.py:1" in done.stdout
    assert done.stdout.index("What to do next") > done.stdout.index(commands[-1])


def test_a_path_that_is_no_directory_is_wrong_usage(tmp_path):
    done = run_demo(tmp_path, tmp_path / "home", str(tmp_path / "nowhere"))

    assert done.returncode == 2
    assert "is not a directory" in done.stderr
