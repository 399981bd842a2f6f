"""Asks a real server about symbols right after edits, and compares each answer with a parse of the tree as it is.

    python -m tests.soak.symbol_questions --seconds 600 --seeds 1,2,3

An answer that is wrong must say that it may be out of date; one that is wrong and claims to be `fresh` or `complete` is a lie.
Some time after each edit it must be right.
"""

import argparse
import json
import os
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final

import msgspec
from msgspec import Struct

from bench.client import serving
from tests.soak.symbol_truth import Node, Parsed, Place, matching, parsed
from tests.soak.symbol_world import SymbolWorld

RECOVERY_SECONDS: Final = 180.0
MAX_HITS: Final = 100
MAX_REFERENCES: Final = 200
REFUSED: Final = frozenset({"index_not_ready", "workspace_busy", "deadline_exceeded", "index_stale"})


class Lie(Struct, frozen=True, kw_only=True):
    """A wrong answer that does not say that it may be wrong, or an answer that does not become right."""

    number: int
    kind: str
    question: str
    expected: object
    found: object
    metadata: object
    history: tuple[str, ...]


class Answer(Struct, frozen=True, kw_only=True):
    """What an answer says about the tree, in the form of the truth; `code` of an error."""

    found: object
    says_so: bool
    metadata: object
    code: str = ""


class SymbolQuestions:
    """One run: edits of a world, and questions. `outcomes` counts the answers, `kinds` the edits."""

    def __init__(self, world: SymbolWorld, home: Path, *options: str) -> None:
        self.world = world
        self.lies: list[Lie] = []
        self.outcomes: Counter[str] = Counter()
        self.kinds: Counter[str] = Counter()
        self._home, self._options = home, options
        self._number = 0
        self._pending: list[int] = []

    def run(self, *, n_edits: int = 1 << 60, seconds: float = float("inf")) -> None:
        """Edits and asks until `n_edits` or `seconds` are over. Now and then the server ends and the next one continues."""
        over = time.monotonic() + seconds
        while self._number < n_edits and time.monotonic() < over:
            with ExitStack() as stack:
                self._server = stack.enter_context(serving(self.world.root, self._home, *self._options))
                self._server.initialize()
                for _ in range(self.world.random.randint(15, 60)):
                    if self._number >= n_edits or time.monotonic() >= over:
                        break
                    self._edit_and_ask()
                    self._number += 1
            # Edits while no server runs.
            for _ in range(self.world.random.randrange(3)):
                self.kinds[self.world.edit()] += 1

    def _edit_and_ask(self) -> None:
        world = self.world
        for _ in range(world.random.choice((1, 1, 1, 2, 3))):
            kind = world.edit(self._ask_in_between)
            self.kinds[kind] += 1
        truth = parsed(world.root)
        questions = [self._question(truth) for _ in range(world.random.randint(2, 5))]
        first = [self._answer(*each[:2]) for each in questions]
        for (tool, arguments, expected), answer in zip(questions, first, strict=True):
            if self._is_right(tool, answer, expected):
                self.outcomes["right"] += 1
            else:
                self._wrong(kind, tool, arguments, expected, answer)
        for id_ in self._pending:
            self._server.wait(id_)
        self._pending.clear()

    def _ask_in_between(self) -> None:
        """Sends a question in the middle of an edit. Its answer may be anything: it has jobs run meanwhile."""
        if len(self._pending) < 20:
            name = self.world.random.choice(self.world.names())
            self._pending.append(self._server.send_call("locate_symbol", {"name": name}))

    def _question(self, truth: Parsed) -> tuple[str, dict[str, Any], object]:
        """Returns a tool, its arguments and what the answer must be."""
        world = self.world
        known = world.random.random() < 0.8
        name = world.random.choice(world.touched if known and world.touched else world.names())
        match world.random.randrange(4):
            case 0:
                return "locate_symbol", {"name": name, "limit": MAX_HITS}, sorted(truth.definitions.get(name, ()))
            case 1:
                arguments = {"symbol_name": name, "confidence": "possible", "limit": MAX_REFERENCES}
                defined = truth.definitions.get(name, set())
                # Of many uses those in languages that do not define the name are not searched for.
                suffixes = {_suffix(place) for place in defined}
                uses = {place for place in truth.uses.get(name, ()) if _suffix(place) in suffixes}
                return "find_references", arguments, (defined - truth.blocks or defined, uses)
            case 2:
                path = world.random.choice(sorted(truth.outlines))
                return "get_file_outline", {"path": path, "limit": 10_000}, truth.outlines[path]
            case _:
                query = {"query": rf"\b{name}\b", "mode": "regex", "limit": MAX_HITS}
                return "search_code", query, sorted(matching(world.root, name))

    def _answer(self, tool: str, arguments: dict[str, Any]) -> Answer:
        timed = self._server.wait(self._server.send_call(tool, arguments))
        result = json.loads(bytes(timed.result))
        reply = json.loads(result["content"][0]["text"])
        if result["isError"]:
            error = reply["error"]
            self.outcomes[error["code"]] += 1
            metadata = reply.get("metadata", {})
            return Answer(found=_NOTHING.get(tool), says_so=_says_so(metadata), metadata=metadata, code=error["code"])
        return Answer(found=_READ[tool](reply, arguments), says_so=_says_so(reply["metadata"]), metadata=reply["metadata"])

    def _is_right(self, tool: str, answer: Answer, expected: object) -> bool:
        if answer.code in REFUSED:
            return False
        if tool == "find_references" and not answer.code:
            definitions, uses = answer.found
            wanted, used = expected
            # Lines of definitions and blocks may be listed as well; no line of a use may be missing.
            return wanted <= definitions | uses and used <= uses | definitions
        if tool == "find_references":
            return answer.code == "symbol_not_found" and not expected[0]
        return bool(answer.found == expected)

    def _wrong(self, kind: str, tool: str, arguments: dict[str, Any], expected: object, answer: Answer) -> None:
        """Notes a wrong answer, and asks again until it is right."""
        if answer.says_so or answer.code in REFUSED:
            self.outcomes["late"] += 1
        else:
            self._lie(kind, tool, arguments, expected, answer)
        over = time.monotonic() + RECOVERY_SECONDS
        while not self._is_right(tool, again := self._answer(tool, arguments), expected):
            if time.monotonic() > over:
                self._lie(f"{kind}, for {RECOVERY_SECONDS} s", tool, arguments, expected, again)
                break
            time.sleep(0.1)

    def _lie(self, kind: str, tool: str, arguments: dict[str, Any], expected: object, answer: Answer) -> None:
        self.outcomes["lies"] += 1
        self.lies.append(
            Lie(
                number=self._number,
                kind=kind,
                question=f"{tool} {arguments}",
                expected=expected,
                found=answer.found if not answer.code else answer.code,
                metadata=answer.metadata,
                history=tuple(self.world.history[-6:]),
            )
        )


def _suffix(place: Place) -> str:
    return place.path.rpartition(".")[2]


def _says_so(metadata: dict[str, Any]) -> bool:
    return bool(metadata) and metadata.get("freshness_status") != "fresh" and metadata.get("result_completeness") != "complete"


def _located(reply: dict[str, Any], arguments: dict[str, Any]) -> list[Place]:
    name = arguments["name"]
    return sorted({Place(hit["path"], hit["line_start"]) for hit in reply["results"] if hit.get("name") == name})


def _referred(reply: dict[str, Any], _arguments: dict[str, Any]) -> tuple[set[Place], set[Place]]:
    definitions = reply.get("definitions") or [reply["definition"]]
    places = {Place(one["path"], one["line_start"]) for each in definitions for one in (each, *each.get("places", ()))}
    lines = {
        Place(each["path"], line)
        for each in (*reply["references"], *reply.get("elsewhere", ()))
        for line in range(each["line_start"], each.get("line_end", each["line_start"]) + 1)
    }
    return places, lines


def _outlined(reply: dict[str, Any], _arguments: dict[str, Any]) -> list[Node]:
    pending, found = list(reply["symbols"]), []
    while pending:
        node = pending.pop()
        pending += node.get("children", ())
        if node["kind"] != "use":
            found.append(Node(node["line_start"], node["line_end"], node["kind"], node["name"]))
    return sorted(found)


def _matched(reply: dict[str, Any], _arguments: dict[str, Any]) -> list[Place]:
    return sorted({Place(hit["path"], line["line"]) for hit in reply["results"] for line in hit.get("matched_lines", ())})


_READ: Final[dict[str, Callable[[dict[str, Any], dict[str, Any]], object]]] = {
    "locate_symbol": _located,
    "find_references": _referred,
    "get_file_outline": _outlined,
    "search_code": _matched,
}
_NOTHING: Final[dict[str, object]] = {"locate_symbol": [], "find_references": (set(), set()), "search_code": []}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seeds", default="1")
    parser.add_argument("--files", type=int, default=90)
    parser.add_argument("--wait-ms", type=int, default=5_000, help="how long questions wait for changes to be indexed")
    parser.add_argument("--scratch", type=Path)
    given = parser.parse_args()
    os.environ["CODECOMPASS_QUERY_FRESHNESS_WAIT_MS"] = str(given.wait_ms)
    for seed in map(int, given.seeds.split(",")):
        with tempfile.TemporaryDirectory(dir=given.scratch) as top:
            world = SymbolWorld(Path(top), seed, given.files)
            run = SymbolQuestions(world, Path(top) / "home")
            run.run(seconds=given.seconds)
        print(f"seed {seed}: {dict(run.kinds)}; {dict(run.outcomes)}", flush=True)
        for lie in run.lies[:5]:
            print(msgspec.json.format(msgspec.json.encode(lie)).decode(), flush=True)


if __name__ == "__main__":
    main()
