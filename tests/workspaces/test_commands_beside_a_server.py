"""A command asks the servers that run whether they watch its tree, and compares the tree itself if none does."""

import os
import stat
import subprocess
import sys

import pytest

from codecompass.store.server_sockets import listen
from tests.support.waiting import until
from tests.workspaces.machine import Machine, word

pytestmark = [pytest.mark.interaction, pytest.mark.skipif(sys.platform != "linux", reason="only Linux watches exactly")]

PATIENCE_MS = 60_000
"""How long a command waits for a server here, because a busy machine must not change what is asserted."""

ASKING = f"""
import os, sys
from codecompass.cli.main import main
from codecompass.store import server_sockets
server_sockets.CONNECT_SECONDS = float(os.environ.get("PATIENCE_SECONDS", {PATIENCE_MS / 1000}))
code = main(sys.argv[1:])
print("compared" if "codecompass.scan.walk" in sys.modules else "told", file=sys.stderr)
sys.exit(code)
"""


class Shell:
    """Runs commands about one project, each in a new process."""

    def __init__(self, machine: Machine, root) -> None:
        self._machine = machine
        self._root = root

    def __call__(self, *arguments: str, **variables: str) -> tuple[str, str]:
        """Returns what a command prints, and whether it `compared` the tree or was `told`."""
        done = subprocess.run(
            [sys.executable, "-c", ASKING, "--workspace", str(self._root), *arguments],
            env={**self._machine.environment, **variables},
            capture_output=True,
            text=True,
            check=False,
        )
        return done.stdout, done.stderr.split("\n")[-2]

    def sockets(self) -> list[str]:
        return os.listdir(self._machine.home.servers)


@pytest.fixture
def shell(machine):
    machine.environment["CODECOMPASS_QUERY_FRESHNESS_WAIT_MS"] = str(PATIENCE_MS)
    root = machine.project("shop", {"src/cart.py": "class Cart:\n    pass\n"})
    machine.index(root)
    return Shell(machine, root)


async def watching(machine: Machine, desk, root) -> None:
    """Waits until the server of `desk` watches a project and can be asked about it."""
    await desk.ready(word(root), workspace=root)
    await until(lambda: os.listdir(machine.home.servers) if machine.home.servers.exists() else [])


@pytest.mark.invariant("A command beside a server gives the same bytes as without one, and is as current")
@pytest.mark.parametrize("command", ["locate Cart", "locate Cart --json", "search cart", "outline src/cart.py"])
async def test_a_command_is_told_by_a_server_and_prints_the_same_bytes(machine, shell, command):
    root = machine.dev / "shop"
    alone, how = shell(*command.split())
    assert how == "compared"

    async with machine.serve() as desk:
        await watching(machine, desk, root)

        def told():
            # While a server takes in what it has just found, a command compares the tree itself.
            printed, how = shell(*command.split())
            return printed if how == "told" else None

        assert await until(told) == alone


async def test_the_next_command_finds_an_edit_that_a_server_watches(machine, shell):
    root = machine.dev / "shop"
    async with machine.serve() as desk:
        await watching(machine, desk, root)
        for number in range(5):
            (root / "src" / "cart.py").write_text(f"class Cart{number}:\n    pass\n")
            assert f"class Cart{number}" in shell("locate", f"Cart{number}")[0]
        await until(lambda: shell("locate", "Cart4")[1] == "told")


async def test_a_command_with_other_rules_than_the_server_compares_the_tree(machine, shell):
    root = machine.dev / "shop"
    async with machine.serve() as desk:
        await watching(machine, desk, root)
        printed, how = shell("locate", "Cart", CODECOMPASS_INDEX_EXCLUDE="src/cart.py")
        assert ("class Cart" in printed, how) == (False, "compared")


async def test_a_server_that_reads_git_only_within_its_roots_tells_nobody(machine, shell):
    root = machine.dev / "shop"
    async with machine.serve("--allowed-root", machine.dev) as desk:
        await desk.ready(word(root), workspace=root)
        assert shell("locate", "Cart")[1] == "compared"


async def test_a_server_that_does_not_run_costs_a_command_no_answer(machine, shell):
    root = machine.dev / "shop"
    async with machine.serve() as desk:
        await watching(machine, desk, root)
        (root / "src" / "cart.py").write_text("class Basket:\n    pass\n")
        desk.stop()
        try:
            # It is given up in any case; with the patience of the others that takes a minute.
            how = shell("locate", "Basket", "--freshness-policy", "best_effort", PATIENCE_SECONDS="0.2")[1]
        finally:
            desk.go_on()
        assert how == "compared"


async def test_what_a_killed_server_leaves_is_ignored_and_then_removed(machine, shell):
    root = machine.dev / "shop"
    async with machine.serve() as desk:
        await watching(machine, desk, root)
        desk.kill()
        (root / "src" / "cart.py").write_text("class Basket:\n    pass\n")
        printed, how = shell("locate", "Basket")
        assert ("class Basket" in printed, how) == (True, "compared")
    left = shell.sockets()
    assert len(left) == 1

    listener = listen(machine.home)
    assert listener is not None
    with listener:
        assert not set(left) & set(shell.sockets())


async def test_only_the_user_can_ask_and_the_socket_goes_with_its_server(machine, shell):
    async with machine.serve() as desk:
        await watching(machine, desk, machine.dev / "shop")
        (name,) = shell.sockets()
        assert stat.S_IMODE(machine.home.servers.stat().st_mode) == 0o700
        assert stat.S_IMODE((machine.home.servers / name).stat().st_mode) == 0o600
    assert shell.sockets() == []
