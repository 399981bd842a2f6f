"""A client that edits a repository and queries it at once, over every transport, and checks each answer against the disk.

An answer is right, or says that it may be stale, or is a retryable error; and some time after each edit it must be right.
"""

import json
import os
from collections import Counter, deque

import trio

from bench.freshness import asking, judge
from bench.world import KINDS
from tests.soak.faults import LOST
from tests.soak.load import connected
from tests.support.wire import PATIENCE, modern

WAYS = ("POST /", "/mcp", "/mcp, modern", "SSE", "/ws", "/ws, modern", "bridge", "stdio")
RECOVERY_SECONDS = 180
"""All faults pass within seconds; an answer that is still stale after this time will stay so."""

REFUSALS = {"permission_denied", "index_not_ready", "workspace_busy", "session_busy", "deadline_exceeded", "server_unreachable"}

BRIDGE_LOST = "server_gone"
"""A bridge's error for a request in progress when its server was killed; the bridge finds the next server."""

KINDS_AND_FAULTS = {**KINDS, "revoked directory": 3, "damaged times": 3}


class Lost(Exception):
    """The connection broke because the server was killed; the request is repeated."""


class Editor:
    """Works on one `World` until told to end, but makes each kind of edit in `first`. `outcomes` counts its answers, `kinds` its
    edits."""

    def __init__(self, server, world, first=()):
        self.server, self.world = server, world
        self.outcomes = Counter()
        self.kinds = Counter()
        self.n_answered = 0
        self._first = list(first)
        self._is_over = False
        self._last = ""
        self._history = deque(maxlen=12)

    def end(self):
        """Ends the run after the current edit, or the last one of `first`."""
        self._is_over = True

    @property
    def _has_ended(self):
        return self._is_over and not self._first

    async def run(self):
        """Edits and sends requests. Raises AssertionError for an answer that never comes or never becomes right."""
        kinds, weights = zip(*KINDS_AND_FAULTS.items(), strict=True)
        while not self._has_ended:
            way = self.world.random.choice(WAYS)
            life = self.server.n_lives
            try:
                async with connected(way.partition(",")[0], self.server.url, self.server.home, is_modern="," in way) as client:
                    for _ in range(self.world.random.randrange(3, 12)):
                        if self._has_ended:
                            break
                        kind = self._first.pop() if self._first else self.world.random.choices(kinds, weights)[0]
                        await self._edit_and_ask(client, way, kind)
            except* (Lost, *LOST):
                await self.server.next_life(life, way)
            self.outcomes["connections"] += 1

    async def _edit_and_ask(self, client, way, kind):
        world = self.world
        self._history.append((kind, way, f"life {self.server.n_lives}"))
        match kind:
            case "revoked directory":
                words = await self._revoke(client, way)
            case "damaged times":
                words = world.edit(2)
                for word in words[::2]:
                    (path,) = world.where(word)
                    os.utime(world.root / path, (seconds := world.random.choice([0, 1, 2**31, 2**33]), seconds))
            case "two edits of one size":
                words = world.edit(1)
                await self._ask(client, way, words[0])
                (path,) = world.where(words[0])
                words = [*world.rewrite(path), *words]
            case _:
                words = await trio.to_thread.run_sync(world.change, kind, lambda word: None)
        self.kinds[kind] += 1
        asked = world.some(words)
        for word in asked:
            await self._ask(client, way, word)
        deadline = trio.current_time() + RECOVERY_SECONDS
        for word in asked:
            while not await self._ask(client, way, word):
                assert trio.current_time() < deadline, (
                    f"{kind}: never right about {word}",
                    self.world.where(word),
                    self._evidence(),
                )
                await trio.sleep(0.2)

    async def _revoke(self, client, way):
        """Revokes read access to a directory, queries another one, and restores it."""
        world = self.world
        words = list(world.words.values())
        inside = world.random.choice(list(world.words)).rpartition("/")[0]
        elsewhere = [word for path, word in world.words.items() if not path.startswith(inside + "/")]
        self._history.append(inside)
        (world.root / inside).chmod(0)
        try:
            for word in world.random.sample(elsewhere, 2):
                await self._ask(client, way, word)
        finally:
            (world.root / inside).chmod(0o755)
        return [word for path, word in world.words.items() if path.startswith(inside + "/")] or words

    async def _ask(self, client, way, word):
        """Queries a word once; returns whether the answer was right. It may be wrong only if it says so.

        Raises Lost if the server was killed meanwhile.
        """
        question = asking(word, self.world.random)
        params = {"name": question.tool, "arguments": {**question.arguments, "workspace": str(self.world.root)}}
        life = self.server.n_lives
        expected = self.world.where(word)
        message = None
        with trio.move_on_after(PATIENCE) as waited:
            try:
                message = await client.call("tools/call", modern(params) if way == "/ws, modern" else params)
            except LOST:
                message = None
        if message is None:
            assert not waited.cancelled_caught, f"no answer over {way}: {params}"
            await self.server.next_life(life, (way, params))
            self.outcomes["cut off"] += 1
            raise Lost
        self.n_answered += 1
        if "error" in message:
            code = message["error"]["data"]["code"]
            if way == "bridge" and code == BRIDGE_LOST:
                await self.server.next_life(life, (way, params))
            else:
                assert code in REFUSALS, (way, message)
            self.outcomes[code] += 1
            return False
        self._last = text = message["result"]["content"][0]["text"]
        if message["result"]["isError"]:
            code = json.loads(text)["error"]["code"]
            assert code in REFUSALS, (way, params, text)
            self.outcomes[code] += 1
            return False
        judgement = judge(question, text, expected)
        if judgement.is_right:
            self.outcomes["right"] += 1
            return True
        if judgement.says_so:
            self.outcomes["late"] += 1
            return False
        raise AssertionError(("wrong, and does not say so", way, question, expected, judgement.found, self._evidence()))

    def _evidence(self):
        """Returns data for debugging: the last edits, the last answer, and what the server has logged about this workspace."""
        return list(self._history), self._last[:2000], [line for line in self.server.said if str(self.world.root) in line][-15:]
