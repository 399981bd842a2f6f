"""No answer contains a path, symbol, word or count of another workspace, even under evictions.

All projects hold the same tree with the same names; each also has a unique word in a file, a symbol and a path, and its own
number of files. Random requests to random projects, named in random ways, run concurrently while workspaces are evicted and
return, because fewer may be known and live than are queried.
"""

import random

import pytest
import trio

from codecompass.identity import project_id

pytestmark = pytest.mark.interaction

N_PROJECTS = 7
N_STEPS = 160
N_AT_A_TIME = 6

MISSING = {"symbol_not_found", "file_not_found"}
PASSING = {"", "workspace_limit_exceeded", "workspace_busy", "index_not_ready", "index_in_progress", "sync_in_progress", *MISSING}
"""Error codes (empty: success) allowed while a workspace is busy or indexed again. Unknown and not indexed are not allowed."""


class Inhabited:
    """A project and its unique contents."""

    def __init__(self, machine, number: int, rng: random.Random) -> None:
        self.canary = f"canary{rng.getrandbits(48):012x}"
        self.n_files = 4 + number
        files = {
            "src/main.py": f"def shared():\n    return '{self.canary}'\n\n\nclass Common:\n    def method(self):\n        pass\n",
            "src/other.py": f"from src.main import shared\n\n\ndef {self.canary}():\n    return shared()\n",
            f"lib/{self.canary}.py": "def same_everywhere():\n    pass\n",
            **{f"more/m{each}.py": "x = 1\n" for each in range(number)},
        }
        # Each name is a prefix of the next one.
        self.root = machine.project("p" * (number + 1), files)
        (self.root / "src" / "main.py").write_text(files["src/main.py"])
        self.names: list[dict[str, object]] = [
            {"workspace": self.root},
            {"workspace": self.root / "src"},
            {"workspace": f"{self.root}/lib/../more/.." if number else self.root},
            {"project_id": project_id(self.root)},
        ]

    def question(self, rng: random.Random) -> tuple[str, dict[str, object]]:
        word = rng.choice([self.canary, "shared", "Common", "same_everywhere", "method", "canary", "return", "main.py"])
        return rng.choice(
            [
                ("search_code", {"query": word, "detail_level": rng.choice(["location", "signature", "context"]), "limit": 50}),
                ("search_code", {"query": word, "mode": rng.choice(["literal", "regex"])}),
                ("locate_symbol", {"name": word, "limit": 50}),
                (
                    "get_file_outline",
                    {"path": rng.choice(["src/main.py", "src/other.py", f"lib/{self.canary}.py", "lib/none.py"])},
                ),
                ("get_symbol_hierarchy", {"symbol_name": "Common"}),
                ("find_related_symbols", {"symbol_name": "shared", "path": "src/main.py"}),
                ("find_references", {"symbol_name": "shared", "path": "src/main.py", "confidence": "possible"}),
                ("get_call_graph", {"symbol_name": "shared", "path": "src/main.py", "direction": "impact"}),
                ("get_code_context", {"query": word, "max_tokens": 2000}),
                ("index_status", {}),
                ("index_repo", {"force": rng.random() < 0.2}),
                ("sync_repo", {}),
                ("health_check", {}),
            ]
        )

    def check(self, answer, others: "list[Inhabited]", asked: object) -> None:
        assert answer.code in PASSING, (asked, answer.text)
        for other in others:
            assert other.canary not in answer.text, (asked, answer.text)
            assert f'"{other.root}"' not in answer.text, (asked, answer.text)
            assert project_id(other.root) not in answer.text, (asked, answer.text)
        if answer.code:
            return
        assert answer.metadata["workspace"] == str(self.root), asked
        if answer.json.get("index_status") == "ready":
            assert answer.json["file_count"] == self.n_files, (asked, answer.text)
        for project in answer.json.get("projects", ()):
            assert project["repo_root"] == str(self.root)
            assert project["file_count"] in (0, self.n_files)


@pytest.mark.invariant("No answer contains anything from another workspace")
@pytest.mark.parametrize("seed", range(2))
async def test_no_answer_holds_anything_of_another_workspace(machine, seed, soak_scale):
    rng = random.Random(seed)
    projects = [Inhabited(machine, number, rng) for number in range(N_PROJECTS)]
    known: set[int] = set()
    codes: dict[str, int] = {}
    flags = ("--auto-workspace", "--allowed-root", machine.dev, "--max-auto-workspaces", "4", "--no-prewarm")
    async with machine.serve(*flags, CODECOMPASS_SERVER_MAX_LIVE_WORKSPACES="3") as desk:

        async def wander(rng: random.Random) -> None:
            for _ in range(N_STEPS * soak_scale // N_AT_A_TIME):
                number = rng.randrange(N_PROJECTS)
                named = rng.choice(projects[number].names if number in known else projects[number].names[:1])
                tool, arguments = projects[number].question(rng)
                answer = await desk.call(tool, **arguments, **named)
                projects[number].check(answer, [*projects[:number], *projects[number + 1 :]], (seed, tool, arguments, named))
                codes[answer.code] = codes.get(answer.code, 0) + 1
                if not answer.code:
                    known.add(number)

        with trio.fail_after(240 * soak_scale):
            async with trio.open_nursery() as nursery:
                for _ in range(N_AT_A_TIME):
                    nursery.start_soon(wander, random.Random(rng.random()))
            for project in projects:
                found = await desk.until(
                    lambda answer: not answer.code and answer.metadata["indexing_status"] == "ready",
                    "locate_symbol",
                    name=project.canary,
                    workspace=project.root,
                )
                assert project.canary in found.names
                project.check(found, [other for other in projects if other is not project], "at the end")
        log = desk.log.read_text()

    assert codes[""] > sum(codes.values()) / 4, codes
    assert log.count("workspace_evicted") > N_PROJECTS - 4
    assert "Traceback" not in log
