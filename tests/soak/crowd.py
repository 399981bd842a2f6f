"""Many small projects in the home of a soaked server: questions to all of them at once, and indexes of earlier formats that are
taken up while it runs.

SOAK_PROJECTS sets their number.
"""

import json
import os
import random
import shutil
from collections import Counter

import trio

from codecompass.actors.worker_pool import open_worker_pool
from codecompass.store.layout import HomeLayout
from codecompass.store.registry import open_registry
from tests.cli.conftest import SHOP
from tests.soak.editing import RECOVERY_SECONDS, REFUSALS
from tests.soak.faults import LOST
from tests.support.old_homes import all_homes, unpack
from tests.support.wire import PATIENCE, Posting, http_connection
from tests.support.workspace import TestWorkspace

BYTES_A_PROJECT = 1 << 20
"""Room in the home for the index of one."""

MOST_TAKEN_UP = 300
"""Indexes of earlier formats that one run takes up: each is of a project of its own, and `*` means at most 1,000 projects."""

PAUSE_SECONDS = 0.2
UPGRADE_PAUSE_SECONDS = 2


class Crowd:
    """`n` projects that nobody edits; only project k defines `unique_<k>`. `outcomes` counts the answers."""

    def __init__(self, server, top, n, *, seed):
        self.server, self.n = server, n
        self.outcomes = Counter()
        self._random = random.Random(seed)
        self._workspaces = [TestWorkspace(top / f"small-{number}", server.home) for number in range(n)]

    async def prepare(self):
        """Writes, registers and indexes the projects. No server may run yet."""
        with open_registry(HomeLayout(self.server.home), busy_timeout_ms=5_000) as registry:
            for number, workspace in enumerate(self._workspaces):
                text = (
                    f"def unique_{number}():\n    return 'only here {number}.'\n\n\ndef shared():\n    return unique_{number}()\n"
                )
                workspace.write({f"only_{number}.py": text})
                registry.register(workspace.root)
        async with open_worker_pool(2) as pool:
            for workspace in self._workspaces:
                await workspace.sync(pool=pool)

    async def run(self):
        """Asks all projects at once until cancelled. Raises AssertionError for an answer that is wrong and does not say so."""
        while True:
            await self._ask(self._random.randrange(self.n))
            await trio.sleep(PAUSE_SECONDS)

    async def check(self):
        """Returns once questions are answered rightly. Raises AssertionError if that takes too long."""
        for number in self._random.sample(range(self.n), min(self.n, 10)):
            deadline = trio.current_time() + RECOVERY_SECONDS
            while not await self._ask(number):
                assert trio.current_time() < deadline, f"project {number} is not found among all"

    async def _ask(self, number):
        """Asks for what one project has; returns whether the answer was right."""
        tool, arguments = self._random.choice(
            (
                ("locate_symbol", {"name": f"unique_{number}"}),
                ("search_code", {"query": f"only here {number}.", "mode": "literal"}),
            )
        )
        answer = await answered(self.server, tool, {**arguments, "workspace": "*"})
        if answer is None:
            self.outcomes["cut off"] += 1
            return False
        if "error" in answer:
            assert answer["error"]["code"] in REFUSALS, answer
            self.outcomes[answer["error"]["code"]] += 1
            return False
        hits = answer["results"]
        found = {hit["path"] for hit in hits if tool == "search_code" or hit.get("name") == f"unique_{number}"}
        if found == {f"only_{number}.py"}:
            self.outcomes["right"] += 1
            return True
        assert found == set(), (number, answer)
        assert answer["metadata"]["result_completeness"] == "partial", (number, answer)
        self.outcomes["late"] += 1
        return False


class Upgrades:
    """Puts indexes of earlier formats into the home, one after the other, and asks about their projects at once.

    `outcomes` counts the answers, `taken_up` names the formats.
    """

    def __init__(self, server, top):
        self.server = server
        self.outcomes = Counter()
        self.taken_up = []
        self.has_taken_up = trio.Event()
        self._top = top

    async def run(self):
        """Works until cancelled, or until MOST_TAKEN_UP. Raises AssertionError if a project of an old index is not answered about
        rightly."""
        number = 0
        while number < MOST_TAKEN_UP:
            for name in all_homes():
                number += 1
                await self._take_up(name, self._top / f"shop-{number}")
                self.taken_up.append(name)
                self.has_taken_up.set()
                await trio.sleep(UPGRADE_PAUSE_SECONDS)

    async def _take_up(self, name, root):
        for path, text in SHOP.items():
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text(text)
        deadline = trio.current_time() + RECOVERY_SECONDS
        is_known = False
        while True:
            try:
                if not is_known:
                    await trio.to_thread.run_sync(bring, name, self.server.home, root)
                    is_known = True
            except OSError:
                self.outcomes["no room"] += 1  # the disk is full
            else:
                arguments = {"name": "total_price", "workspace": str(root)}
                answer = await answered(self.server, "locate_symbol", arguments)
                if (
                    answer is not None
                    and "error" not in answer
                    and [hit["path"] for hit in answer["results"][:1]] == ["shop/cart.py"]
                ):
                    self.outcomes["right"] += 1
                    return
                code = "cut off" if answer is None else answer["error"]["code"] if "error" in answer else "late"
                self.outcomes[code] += 1
                assert code in REFUSALS | {"cut off"} or answer["metadata"]["result_completeness"] == "partial", (name, answer)
            assert trio.current_time() < deadline, f"the index of {name} was not taken up: {dict(self.outcomes)}"
            await trio.sleep(PAUSE_SECONDS)


def begin_old(name, home, root):
    """Fills the empty directory `home` with the home of an earlier version, of a project at `root`."""
    scratch = root.with_name(f"{root.name}.home")
    unpack(name, scratch, root)
    shutil.copytree(scratch, home, dirs_exist_ok=True)
    shutil.rmtree(scratch)


def bring(name, home, root):
    """Puts the index of an earlier version, of a project at `root`, into the home of today's, and registers the project.

    Raises OSError if there is no room; then nothing has changed.
    """
    scratch = root.with_name(f"{root.name}.home")
    unpack(name, scratch, root)
    [index] = (scratch / "projects").iterdir()
    place = home / "projects" / index.name
    try:
        shutil.copytree(index, place)
        with open_registry(HomeLayout(home), busy_timeout_ms=5_000) as registry:
            registry.register(root)
    except Exception as error:
        shutil.rmtree(place, ignore_errors=True)
        raise OSError(f"not brought: {error}") from error
    finally:
        shutil.rmtree(scratch)


async def answered(server, tool, arguments):
    """Returns the decoded answer of a tool, None if the server was killed meanwhile."""
    life = server.n_lives
    try:
        with trio.fail_after(PATIENCE):
            async with http_connection(server.url) as http:
                message = await Posting(http, "/").call("tools/call", {"name": tool, "arguments": arguments})
    except LOST:
        await server.next_life(life, (tool, arguments))
        return None
    return json.loads(message["result"]["content"][0]["text"])


def n_projects(in_ci, soaked, soak_scale):
    """Returns how many small projects a run has."""
    return int(os.environ.get("SOAK_PROJECTS", "") or (in_ci if soak_scale == 1 else soaked))
