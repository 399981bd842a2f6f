"""Requests of four clients while the working tree is switched between two commits; each answer is checked against git.

    python -m tests.soak.checkouts REPOSITORY COMMIT COMMIT N_QUESTIONS      the same with a real history

An answer must match the commit that it names completely: its lines are those of `git show COMMIT:PATH`, and it lists everything
in these files.
"""

import argparse
import ast
import json
import random
import re
import subprocess
import tempfile
import textwrap
from collections import Counter, defaultdict
from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path

import trio

from codecompass.store.layout import HomeLayout
from codecompass.store.registry import open_registry
from tests.support.live import http_server, started
from tests.support.wire import Posting, http_connection, pipe_client
from tests.support.workspace import TestWorkspace

PAUSES = [0.0, 0.02, 0.1, 0.4, 1.5]
"""Seconds between two checkouts: some are indexed before the next one, some are not."""

MAX_HITS = 100
ANSWER_SECONDS = 120


class Truth:
    """A commit's contents by git: the lines of its Python files."""

    def __init__(self, workspace, name):
        self.name = name
        self.commit = workspace.git("rev-parse", f"{name}^{{commit}}").strip()
        paths = workspace.git("ls-tree", "-r", "--name-only", "-z", self.commit).split("\0")[:-1]
        self.paths = [path for path in paths if path.endswith(".py")]
        self.lines = {path: self._show(workspace, path) for path in self.paths}
        self.defined = defaultdict(set)
        for path, lines in self.lines.items():
            for node in ast.walk(ast.parse("\n".join(lines))):
                if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                    self.defined[node.name].add(path)
        self.names = sorted(self.defined)

    def _show(self, workspace, path):
        shown = subprocess.run(["git", "show", f"{self.commit}:{path}"], cwd=workspace.root, capture_output=True, check=True)
        return shown.stdout.decode().split("\n")

    def places(self, text):
        """Returns (path, line) of every line that contains `text`."""
        return {(path, n) for path, lines in self.lines.items() for n, line in enumerate(lines, 1) if text in line}

    def excerpt(self, path, first, last):
        return textwrap.dedent("\n".join(self.lines[path][first - 1 : last])).strip()


class Checkouts:
    """One run. `lies` describes every answer that differs from the commit it names."""

    def __init__(self, workspace, names, *, seed=0, asks_refs=True):
        self.workspace = workspace
        self.truths = [Truth(workspace, name) for name in names]
        self.lies = []
        self.answers = Counter()
        self.refusals = Counter()
        self.n_checkouts = 0
        self._asks_refs = asks_refs
        self._rng = random.Random(seed)
        self._left = 0

    async def run(self, n_questions):
        """Sends this many requests, to two servers over stdio and one over HTTP."""
        home, root = self.workspace.home, self.workspace.root
        self._left = n_questions
        with open_registry(HomeLayout(home), busy_timeout_ms=5_000) as registry:
            registry.register(root)
        variables = {"CODECOMPASS_QUERY_FRESHNESS_WAIT_MS": "300"}
        self.workspace.git("checkout", "-q", self.truths[0].name)
        async with AsyncExitStack() as stack:
            server = await stack.enter_async_context(http_server("--workspace", root, home=home, **variables))
            clients = [Posting(await stack.enter_async_context(http_connection(server.url)), "/") for _ in range(2)]
            for _ in range(2):
                process = await stack.enter_async_context(started("serve-mcp", "--workspace", root, home=home, **variables))
                client = await stack.enter_async_context(pipe_client(process))
                await client.initialize()
                clients.append(client)
            await clients[0].call("tools/call", {"name": "index_repo", "arguments": {"wait_seconds": 50}})
            async with trio.open_nursery() as switching:
                switching.start_soon(self._switch)
                async with trio.open_nursery() as asking:
                    for number, client in enumerate(clients):
                        asking.start_soon(self._ask_all, client, random.Random(f"{self._rng.random()} {number}"))
                switching.cancel_scope.cancel()

    async def _switch(self):
        while True:
            for truth in reversed(self.truths):
                await trio.to_thread.run_sync(partial(self.workspace.git, "checkout", "-q", truth.name))
                self.n_checkouts += 1
                await trio.sleep(self._rng.choice(PAUSES))

    async def _ask_all(self, client, rng):
        while self._left > 0:
            self._left -= 1
            asked = rng.choice(self.truths)
            ref = asked.name if self._asks_refs and rng.random() < 0.3 else None
            tool, arguments = self._question(rng, asked)
            policy = {} if tool == "get_file_outline" else {"freshness_policy": rng.choice(["balanced", "best_effort"])}
            about = {} if ref is None else {"ref": ref}
            with trio.fail_after(ANSWER_SECONDS):
                answer = await client.call("tools/call", {"name": tool, "arguments": {**arguments, **policy, **about}})
            reply = json.loads(answer["result"]["content"][0]["text"])
            self._judge(tool, arguments, ref, reply)

    def _question(self, rng, asked):
        """Returns a request about something in one of the commits."""
        match rng.randrange(3):
            case 0:
                return "locate_symbol", {"name": rng.choice(asked.names), "detail_level": "body", "limit": MAX_HITS}
            case 1:
                name = rng.choice(asked.names)
                query = {"query": f"{rng.choice(['def', 'class'])} {name}", "path": "**/*.py", "detail_level": "location"}
                return "search_code", {**query, "mode": "literal", "limit": MAX_HITS}
            case _:
                return "get_file_outline", {"path": rng.choice(asked.paths), "limit": 10_000}

    def _judge(self, tool, arguments, ref, reply):
        if "error" in reply:
            self.refusals[reply["error"]["code"]] += 1
            truth = next((truth for truth in self.truths if truth.name == ref), None)
            if truth is not None and reply["error"]["code"] == "file_not_found" and arguments["path"] in truth.lines:
                self._lie(tool, arguments, ref, reply, "the file is in that commit")
            return
        metadata = reply["metadata"]
        named = metadata["ref"]
        truth = next((each for each in self.truths if named in (each.name, each.commit[:12])), None)
        if truth is None:
            return self._lie(tool, arguments, ref, reply, f"names {named}, which was never checked out")
        if ref is not None and (named != ref or metadata.get("commit") != truth.commit):
            return self._lie(tool, arguments, ref, reply, f"was asked about {ref}")
        self.answers[truth.name, "ref" if ref else metadata["freshness_status"]] += 1
        wrong = getattr(self, f"_wrong_{tool}")(truth, arguments, reply)
        if wrong:
            self._lie(tool, arguments, ref, reply, wrong)

    def _wrong_locate_symbol(self, truth, arguments, reply):
        for hit in reply["results"]:
            path = hit["path"]
            if not path.endswith(".py"):
                continue
            if path not in truth.lines:
                return f"{path} is not in {truth.name}"
            if "body" in hit and not hit.get("body_lines_omitted"):
                # Decorators are above the definition; the lines are dedented together.
                shown = textwrap.dedent(hit["body"]).strip()
                if truth.excerpt(path, hit.get("body_line_start", hit["line_start"]), hit["line_end"]) != shown:
                    return f"{path}:{hit['line_start']} reads otherwise in {truth.name}"
        name = arguments["name"]
        found = {hit["path"] for hit in reply["results"] if hit.get("match") == "exact" and hit["name"] == name}
        missing = truth.defined.get(name, set()) - found
        return f"{missing} define it in {truth.name}" if missing and len(reply["results"]) < MAX_HITS else ""

    def _wrong_search_code(self, truth, arguments, reply):
        found = set()
        for hit in reply["results"]:
            for match in hit.get("matched_lines", ()):
                found.add((hit["path"], match["line"]))
        expected = truth.places(arguments["query"])
        if len(reply["results"]) >= MAX_HITS or reply["metadata"].get("safety_limit_applied"):
            return "" if found <= expected else f"{found - expected} are not in {truth.name}"
        return "" if found == expected else f"{truth.name} has {sorted(expected - found)[:3]}, not {sorted(found - expected)[:3]}"

    def _wrong_get_file_outline(self, truth, arguments, reply):
        lines = truth.lines.get(arguments["path"])
        if lines is None:
            return f"{truth.name} does not have that file"
        pending, names = list(reply["symbols"]), set()
        while pending:
            node = pending.pop()
            pending.extend(node.get("children", ()))
            if node["kind"] in ("fn", "method", "class"):
                names.add(node["name"])
                block = "\n".join(lines[node["line_start"] - 1 : node["line_end"]])
                if not re.search(rf"(?:class|def) {re.escape(node['name'])}\b", block):
                    return f"line {node['line_start']} of {truth.name} does not define {node['name']}"
        return ""

    def _lie(self, tool, arguments, ref, reply, why):
        said = json.dumps(reply)[:600]
        self.lies.append(f"{tool} {arguments} ref={ref}: {why}; answered {said} ... {reply.get('metadata')}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("repository")
    parser.add_argument("commits", nargs=2)
    parser.add_argument("n_questions", type=int)
    parser.add_argument("--no-refs", action="store_true")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        workspace = TestWorkspace(Path(scratch) / "project", Path(scratch) / "home")
        workspace.git("clone", "-q", "--shared", "--no-checkout", given.repository, ".")
        run = Checkouts(workspace, given.commits, asks_refs=not given.no_refs)
        trio.run(run.run, given.n_questions)
    print(f"{run.n_checkouts} checkouts, answers {dict(run.answers)}, refusals {dict(run.refusals)}, {len(run.lies)} lies")
    for lie in run.lies[:10]:
        print(lie)


if __name__ == "__main__":
    main()
