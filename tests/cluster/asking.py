"""Clients that query servers over HTTP continuously and check each answer: only repositories visible to the token, all of one
generation, and none older than what the same server returned before."""

import http.client
import json
import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from tests.cluster.cluster import LOOPBACK
from tests.cluster.thirty import COPIES, EVERYWHERE, NUMBER, Thirty, wait_until
from tests.transport.http.client import call

ANSWER_SECONDS = 60
"""Seconds after which a client gives up."""

PATIENCE_MS = 8_000
"""The timeout sent with queries that take time; long, because the tests keep the CPUs busy."""

PAUSE_SECONDS = 0.05
"""Seconds between two rounds of a client, to leave CPU time for what is tested."""

UNAVAILABLE = "engine_unavailable"
PASSING_ERRORS = ("deadline_exceeded", "index_not_ready", "workspace_busy")
"""Errors while a part of the engine is unavailable or behind; the request can be repeated."""

WORDS = ("parse the headers of a request", "encode a frame", "read the configuration from a file", "close the connection")


class Unanswered(Exception):
    """The server reports that its engine is unavailable or was too slow."""


def ask(port: int, token: str, tool: str, **arguments: object) -> tuple[str, dict[str, Any]]:
    """Returns a tool's answer, as text and decoded.

    Raises OSError or HTTPException if the server is gone, Unanswered if its engine is unavailable.
    """
    connection = http.client.HTTPConnection(LOOPBACK, port, timeout=ANSWER_SECONDS)
    headers = {
        "Authorization": f"Bearer {token}",
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
    }
    try:
        connection.request("POST", "/", call(tool, arguments), headers)
        answer = connection.getresponse()
        text = answer.read().decode()
    finally:
        connection.close()
    if answer.status != 200:
        if answer.status == 503 and UNAVAILABLE in text:
            raise Unanswered(text)
        raise AssertionError(f"{answer.status}: {text}")
    said: dict[str, Any] = json.loads(json.loads(text)["result"]["content"][0]["text"])
    if said.get("error", {}).get("code") == UNAVAILABLE:
        raise Unanswered(text)
    return text, said


class Client:
    """A client with one token at one server, in its own thread."""

    def __init__(self, house: Thirty, group: str, server: int, seed: int) -> None:
        self.name = f"{group} at server {server}"
        self._house = house
        self._token = house.tokens[group]
        self._shown = house.seen_by(group)
        self._hidden = sorted(set(house.pushed) - self._shown)
        self._edited = [name for name in house.edited if name in self._shown]
        self._port = house.ports[server]
        self._draw = random.Random(seed)
        self._newest: Counter[str] = Counter()
        self._wait = threading.Event()
        self._questions = (self._one, self._one, self._numbers, self._marks, self._words, self._listed, self._hidden_one)
        self.answered: Counter[str] = Counter()
        """Number of answers by kind of request."""
        self.in_a_row = 0
        """Answers since the last unanswered request."""
        self.unanswered: list[str] = []
        self.dropped: list[str] = []
        """Requests to a server that was gone."""
        self.wrong: list[str] = []
        self.thread = threading.Thread(target=self._ask, name=self.name, daemon=True)

    def end(self) -> None:
        self._wait.set()
        self.thread.join(ANSWER_SECONDS)

    def _ask(self) -> None:
        while not self._wait.wait(PAUSE_SECONDS):
            for question in self._questions:
                if self._wait.is_set():
                    return
                self._ask_one(question)

    def _ask_one(self, question: Callable[[], None]) -> None:
        began = time.monotonic()
        try:
            question()
        except Unanswered as error:
            self.unanswered.append(f"{question.__name__} after {time.monotonic() - began:.1f} s: {error}")
            self.in_a_row = 0
        except (OSError, http.client.HTTPException) as error:
            self.dropped.append(f"{question.__name__} after {time.monotonic() - began:.1f} s: {error!r}")
            self.in_a_row = 0
        except Exception as error:  # noqa: BLE001 (reported by the test)
            self.wrong.append(f"{question.__name__}: {error!r}")
            self.in_a_row = 0
        else:
            self.answered[question.__name__] += 1
            self.in_a_row += 1

    def _said(self, tool: str, **arguments: object) -> dict[str, Any]:
        text, said = ask(self._port, self._token, tool, **arguments)
        leaked = [name for name in self._hidden if self._house.pushed[name].word in text]
        assert not leaked, f"{leaked} in {text}"
        if said.get("error", {}).get("code") in PASSING_ERRORS:
            raise Unanswered(text)
        warnings = said.get("metadata", {}).get("warnings", ())
        if any(warning.startswith("timed out") for warning in warnings):
            assert said["metadata"]["result_completeness"] == "partial", said
            raise Unanswered(text)
        return said

    def _one(self) -> None:
        """Checks the commit numbers in all files of one repository: each file has it once, and it belongs to the named commit."""
        name = self._draw.choice(self._edited)
        mode = "regex" if self._draw.random() < 0.5 else "literal"
        said = self._said("search_code", query=NUMBER, mode=mode, workspace=name, timeout_ms=PATIENCE_MS)
        assert "error" not in said, said
        numbers = [int(number) for result in said["results"] for number in numbers_in(result)]
        number = self._house.pushed[name].commits[said["metadata"]["commit"]]
        assert numbers == [number] * len(COPIES), f"{numbers} of {name}, of commit {number}: {said}"
        self._is_no_older(name, number)

    def _numbers(self) -> None:
        """Checks the commit numbers of all repositories at once."""
        said = self._said("search_code", query=NUMBER, mode="literal", workspace="*", limit=50, timeout_ms=PATIENCE_MS)
        found: dict[str, list[int]] = {}
        for result in said["results"]:
            found.setdefault(result["project"], []).extend(int(number) for number in numbers_in(result))
        self._is_all(found, self._edited, said)
        for name, numbers in found.items():
            assert len(numbers) == len(COPIES), f"{numbers} of {name}: {said}"
            assert len(set(numbers)) == 1, f"{numbers} of {name}: {said}"
            self._is_no_older(name, numbers[0])

    def _marks(self) -> None:
        """Checks that a word of every repository is found in all visible ones."""
        said = self._said("search_code", query=EVERYWHERE, mode="literal", workspace="*", limit=50, timeout_ms=PATIENCE_MS)
        self._is_all([result["project"] for result in said["results"]], self._shown, said)

    def _words(self) -> None:
        """Searches all repositories in natural language."""
        said = self._said("search_code", query=self._draw.choice(WORDS), workspace="*", limit=20, timeout_ms=PATIENCE_MS)
        assert "error" not in said, said
        found = {result["project"] for result in said["results"]}
        assert found <= self._shown, f"{found - self._shown} in {said}"
        if not found:
            self._require_said(said)

    def _listed(self) -> None:
        """Lists the repositories: all visible ones, or none while the engine is unavailable."""
        said = self._said("health_check")
        found = {each["project_id"] for each in said["projects"]}
        assert found <= self._shown, f"{found - self._shown} in {said}"
        assert said["total_projects"] in (0, len(self._shown)), said
        if not found:
            raise Unanswered("no repositories")

    def _hidden_one(self) -> None:
        """Checks that an invisible repository is unknown."""
        said = self._said("search_code", query=NUMBER, mode="literal", workspace=self._draw.choice(self._hidden))
        assert said["error"]["code"] == "project_not_found", said

    def _is_all(
        self, found: Sequence[str] | dict[str, Any], expected: Sequence[str] | frozenset[str], said: dict[str, Any]
    ) -> None:
        """Asserts that all of `expected` are found once; if some are missing, the answer must report missing repositories."""
        assert set(found) <= set(expected), said
        missing = set(expected) - set(found)
        if missing:
            self._require_said(said)
        assert len(found) == len(set(found)), said

    @staticmethod
    def _require_said(said: dict[str, Any]) -> None:
        """Asserts that an incomplete answer reports missing repositories, and raises Unanswered."""
        warnings = said["metadata"].get("warnings", ())
        assert any(warning.startswith("no answer from") for warning in warnings), said
        raise Unanswered(f"a part: {warnings}")

    def _is_no_older(self, name: str, number: int) -> None:
        assert number >= self._newest[name], f"{name}: commit {number} after {self._newest[name]}"
        self._newest[name] = number


def numbers_in(result: dict[str, Any]) -> list[str]:
    """Returns the commit numbers in the matched lines of a result."""
    lines = [line["text"] for line in result["matched_lines"]]
    return [line.rpartition("= ")[2] for line in lines if line.startswith(f"{NUMBER} = ")]


class Clients:
    """One client for each token and server."""

    def __init__(self, house: Thirty, seed: int) -> None:
        self.each = [
            Client(house, group, server, seed + number)
            for number, (group, server) in enumerate(
                (group, server) for group in house.tokens for server in range(len(house.ports))
            )
        ]

    @property
    def wrong(self) -> list[str]:
        return [f"{client.name}: {what}" for client in self.each for what in client.wrong]

    def unanswered(self, server: int | None = None) -> list[str]:
        """Returns the requests that failed because the engine or the server was unavailable, at one server or at all."""
        asked = [client for client in self.each if server is None or client.name.endswith(f"server {server}")]
        return [what for client in asked for what in (*client.unanswered, *client.dropped)]

    def wait_for_answers(self) -> None:
        """Waits until each client has received new answers of every kind, without a failure since the first of them."""
        before = [sum(client.answered.values()) for client in self.each]
        kinds = 7

        def are_answered() -> bool:
            return all(
                client.in_a_row >= kinds and sum(client.answered.values()) >= n + kinds
                for client, n in zip(self.each, before, strict=True)
            )

        wait_until(are_answered, lambda: f"not answered: {self.wrong[-3:]} {self.unanswered()[-3:]}")

    def wait_for_refusals(self) -> None:
        """Waits until each client has been told several more times that the engine is unavailable."""
        before = [len(client.unanswered) for client in self.each]

        def are_refused() -> bool:
            return all(len(client.unanswered) > n + 3 for client, n in zip(self.each, before, strict=True))

        wait_until(are_refused, lambda: f"not told: {self.wrong[-3:]} {[client.dropped[-1:] for client in self.each]}")


@contextmanager
def clients_asking(house: Thirty, seed: int = 0) -> Iterator[Clients]:
    """Runs clients for the duration of the block; then fails if any answer was wrong."""
    clients = Clients(house, seed)
    for client in clients.each:
        client.thread.start()
    try:
        clients.wait_for_answers()
        yield clients
    finally:
        for client in clients.each:
            client.end()
    if clients.wrong:
        raise AssertionError("\n".join(clients.wrong[:5]))
