"""A server over an organisation's code: the commit of its answers, interchangeable servers, and a missing engine."""

import json
import secrets
import socket
from contextlib import contextmanager

import pytest
import trio
from msgspec.structs import replace
from structlog.testing import capture_logs

from codecompass.cluster.engine import calls
from codecompass.settings import ClusterSettings, ServerSettings, Settings
from tests.cluster.organisation import files_of, serving_library, url_of
from tests.support.waiting import until
from tests.transport.harness import modern
from tests.transport.http.client import JSON, ask, call, connect, message, modern_headers

cluster = pytest.mark.cluster

EDITION = "def edition_{n}():\n    return 'edition {n}'\n"


async def add_alpha(house):
    await house.publish("alpha", files_of("alpha"), groups=["red"])
    return {"authorization": f"Bearer {house.tokens.add('anna', ['red'])}"}


async def said(served, headers, tool, **arguments):
    answer = await ask(served.port, "POST", "/", call(tool, arguments), **headers)
    assert answer.status == 200, answer.body
    return answer.said()


# Who asked what.


@cluster
async def test_each_answer_is_a_line_of_the_audit_without_the_question(house, tmp_path):
    headers = await add_alpha(house)
    await house.publish("beta", files_of("beta"), groups=["red"])
    with capture_logs() as logs:
        async with serving_library(house.settings(), tmp_path / "cache") as served:
            await said(served, headers, "locate_symbol", name="turn_alpha", workspace="alpha")
            many = await said(served, headers, "search_code", query="wheels", workspace="*")
            await said(served, headers, "search_code", query="wheels", workspace="gamma")

    one, several, failed = [each for each in logs if each["event"] == "audit"]
    assert {each["viewer"] for each in (one, several, failed)} == {"anna"}
    assert len(one["token"]) == 12
    assert (one["tool"], one["outcome"], one["count"]) == ("locate_symbol", "ok", 1)
    assert [len(each["repositories"]) for each in (one, several, failed)] == [1, 2, 0]
    assert several["count"] == len(many["results"])
    assert failed["outcome"] == "project_not_found"
    assert "wheels" not in f"{several} {failed}"


async def test_a_question_is_in_the_audit_if_that_is_wanted(tmp_path, monkeypatch):
    monkeypatch.setattr(calls, "LOOKUP_SECONDS", 0.5)
    access = {"trusted_proxies": ("127.0.0.1/32",), "user_header": "X-User", "audit_queries": True}
    with closed_port() as port, capture_logs() as logs:
        async with serving_library(settings_at(port, **access), tmp_path / "cache", n_ready=0) as served:
            await ask(served.port, "POST", "/", call("search_code", {"query": "wheels", "workspace": "alpha"}), x_user="ben")

    [line] = [each for each in logs if each["event"] == "audit"]
    assert (line["viewer"], line["token"], line["query"]) == ("ben", "", "wheels")
    assert (line["outcome"], line["repositories"]) == ("engine_unavailable", [])


# Which commit.


@pytest.mark.invariant(of="test_no_answer_mixes_two_generations")
@cluster
async def test_a_question_is_answered_of_the_newest_publication_and_names_it(house, tmp_path):
    headers = await add_alpha(house)
    async with serving_library(house.settings(), tmp_path / "cache") as served:
        first = await said(served, headers, "locate_symbol", name="turn_alpha", workspace="alpha")
        await house.publish("alpha", {"src/new.py": EDITION.format(n=2)}, groups=["red"])
        second = await said(served, headers, "locate_symbol", name="edition_2", workspace="alpha")
        many = await said(served, headers, "search_code", query="edition_2", workspace="*")
        status = await said(served, headers, "index_status", workspace="alpha")

    newest = house.published["alpha"].default_head
    assert first["results"][0]["name"] == "turn_alpha"
    assert second["results"][0]["name"] == "edition_2"
    assert second["metadata"]["commit"] == status["metadata"]["commit"] == newest.commit != first["metadata"]["commit"]
    assert [each["commit"] for each in many["metadata"]["projects"]] == [newest.commit]
    assert many["metadata"]["freshness_status"] == status["metadata"]["freshness_status"] == "fresh"
    assert status["last_indexed_at"]


@pytest.mark.invariant("An answer about an organisation's code is from a single generation, the newest when the question arrived")
@cluster
async def test_no_answer_mixes_two_generations(house, tmp_path):
    """Each edition has three definitions with its number: an answer has those of one edition."""
    headers = await add_alpha(house)

    def edition(n):
        return {f"{part}.py": f"def part_{part}():\n    return 'edition{n}'\n" for part in ("one", "two", "three")}

    mixed, seen = [], set()
    await house.publish("alpha", edition(0), groups=["red"])
    async with serving_library(house.settings(), tmp_path / "cache") as served, trio.open_nursery() as nursery:

        async def ask_all_the_time():
            while True:
                answer = await said(served, headers, "search_code", query="edition\\d", mode="regex", workspace="alpha")
                found = {line["text"] for each in answer["results"] for line in each["matched_lines"]}
                seen.update(found)
                if len(found) != 1 or len(answer["results"]) != 3:
                    mixed.append(answer)

        for _ in range(3):
            nursery.start_soon(ask_all_the_time)
        for n in range(1, 5):
            await until(lambda: len(seen) >= n)  # noqa: B023 (called in this round alone)
            await house.publish("alpha", edition(n), groups=["red"])
        last = await said(served, headers, "search_code", query="edition\\d", mode="regex", workspace="alpha")
        nursery.cancel_scope.cancel()

    assert mixed == []
    assert len(seen) > 1
    assert "edition4" in json.dumps(last["results"])


@cluster
async def test_refs_are_those_that_are_indexed(house, tmp_path):
    headers = await add_alpha(house)
    await house.publish("alpha", {"src/next.py": EDITION.format(n=9)}, groups=["red"], ref="release/9")
    heads = house.published["alpha"].heads
    async with serving_library(house.settings(), tmp_path / "cache") as served:

        async def locate(ref):
            return await said(served, headers, "locate_symbol", name="edition_9", workspace="alpha", ref=ref)

        answers = {ref: await locate(ref) for ref in ("release/9", "origin/release/9", heads["release/9"].commit[:9])}
        head = await said(served, headers, "locate_symbol", name="turn_alpha", workspace="alpha", ref="HEAD")
        unknown = await locate("release/10")
        listed = await said(served, headers, "list_refs", workspace="alpha", filter="release")

    for ref, answer in answers.items():
        assert answer["results"][0]["name"] == "edition_9", ref
        assert (answer["metadata"]["ref"], answer["metadata"]["commit"]) == ("release/9", heads["release/9"].commit)
    assert (head["metadata"]["ref"], head["metadata"]["commit"]) == ("main", heads["main"].commit)
    assert unknown["error"]["code"] == "ref_not_indexed"
    assert "main, release/9" in unknown["error"]["message"]
    assert [each["name"] for each in listed["refs"]] == ["release/9"]
    assert (listed["default_branch"], len(listed["indexed"])) == ("main", 2)


@cluster
async def test_a_repository_that_no_worker_has_indexed_says_so(house, tmp_path):
    headers = await add_alpha(house)
    house.repositories.add(url_of("fresh"), groups=("red",))
    house.engine.refresh(house.engine.names.repositories)
    async with serving_library(house.settings(), tmp_path / "cache") as served:
        refused = await said(served, headers, "search_code", query="x", workspace="fresh")
        status = await said(served, headers, "index_status", workspace="fresh")
        many = await said(served, headers, "search_code", query="wheels", workspace="*")

    assert refused["error"]["code"] == "index_not_ready"
    assert status["index_status"] == "not_indexed"
    assert {each["project"] for each in many["results"]} == {"alpha"}
    assert any("fresh" in warning for warning in many["metadata"]["warnings"])


@cluster
async def test_what_would_index_says_who_does(house, tmp_path):
    headers = await add_alpha(house)
    async with serving_library(house.settings(), tmp_path / "cache") as served:
        answers = [
            await said(served, headers, tool, workspace="alpha", **more)
            for tool, more in (("index_repo", {}), ("sync_repo", {}), ("index_repository", {"repo_path": "/x"}))
        ]
        tools = (await ask(served.port, "POST", "/", message("tools/list"), **headers)).json()["result"]["tools"]

    assert {each["error"]["code"] for each in answers} == {"not_here"}
    assert all("cluster add" in each["error"]["message"] for each in answers)
    assert not {each["name"] for each in tools} & {"index_repo", "sync_repo", "index_repository"}
    assert {"search_code", "diff_context", "list_refs", "read_file", "health_check"} <= {each["name"] for each in tools}


@cluster
async def test_metrics_need_no_token_on_a_port_of_their_own_which_answers_for_nothing_else(house, tmp_path):
    headers = await add_alpha(house)
    async with serving_library(house.settings(), tmp_path / "cache", has_metrics_port=True) as served:
        await said(served, headers, "search_code", query="wheels", workspace="alpha")
        open_to_all = await ask(served.metrics_port, "GET", "/metrics")
        elsewhere = await ask(served.port, "GET", "/metrics")
        question = await ask(served.metrics_port, "POST", "/", call("search_code", {"query": "wheels"}))

    assert b'codecompass_tool_calls_total{tool="search_code",transport="http",outcome="ok"} 1' in open_to_all.body
    assert b"alpha" not in open_to_all.body
    assert (elsewhere.status, question.status) == (401, 404)


@cluster
async def test_lines_of_a_file_are_read_where_no_client_has_it(house, tmp_path):
    headers = await add_alpha(house)
    async with serving_library(house.settings(), tmp_path / "cache") as served:
        whole = await said(served, headers, "read_file", workspace="alpha", path="src/alpha_engine.py")
        second = await said(served, headers, "read_file", workspace="alpha", path="src/alpha_engine.py:2")
        missing = await said(served, headers, "read_file", workspace="alpha", path="/etc/passwd")

    assert any("def turn_alpha" in line for line in whole["lines"])
    assert second["lines"] == whole["lines"][1:2]
    assert missing["error"]["code"] == "file_not_found"


# Several servers.


@cluster
async def test_each_request_can_go_to_another_server(house, tmp_path):
    headers = await add_alpha(house)
    opening = {"protocolVersion": "2025-11-25", "capabilities": {"roots": {}}, "clientInfo": {"name": "t", "version": "1"}}
    revision = {**JSON, **headers, "mcp_protocol_version": "2025-11-25"}
    question = call("locate_symbol", {"name": "turn_alpha", "workspace": "alpha"})
    settings = house.settings()
    async with serving_library(settings, tmp_path / "one") as one, serving_library(settings, tmp_path / "two") as two:
        opened = await ask(one.port, "POST", "/mcp", message("initialize", opening), **JSON, **headers)
        noted = await ask(two.port, "POST", "/mcp", b'{"jsonrpc":"2.0","method":"notifications/initialized"}', **revision)
        asked = [await ask(each.port, "POST", "/mcp", question, **revision) for each in (two, one)]
        body = message("tools/call", modern({"name": "health_check", "arguments": {}}))
        recent = await ask(two.port, "POST", "/mcp", body, **modern_headers("tools/call", "health_check"), **headers)
        stream = await ask(one.port, "GET", "/mcp", accept="text/event-stream", **headers)
        ended = await ask(one.port, "DELETE", "/mcp", **headers)

    assert opened.status == 200
    assert "mcp-session-id" not in opened.headers
    assert "organisation" in opened.json()["result"]["instructions"]
    assert noted.status == 202
    assert asked[0].said() == asked[1].said()
    assert asked[0].said()["results"][0]["name"] == "turn_alpha"
    assert asked[0].json()["result"]["structuredContent"]
    assert recent.status == 200, recent.body
    assert (stream.status, ended.status) == (405, 405)


@cluster
async def test_a_push_has_a_worker_look(house, tmp_path):
    headers = await add_alpha(house)
    body = json.dumps({"repository": {"clone_url": url_of("alpha") + ".git"}}).encode()
    # A turn that waits already would find this push as well.
    done = house.repositories.update(house.published["alpha"].repo_id, lambda old: replace(old, done_changes=old.changes))
    async with serving_library(house.settings(), tmp_path / "cache", webhook_secret="hush") as served:
        signed = await ask(served.port, "POST", "/webhook", body, x_gitlab_token="hush")
        unknown = await ask(served.port, "POST", "/webhook", body.replace(b"alpha", b"nobody"), x_gitlab_token="hush")
        refused = [await ask(served.port, "POST", "/webhook", body, **wrong) for wrong in ({}, {"x_gitlab_token": "x"}, headers)]
        broken = await ask(served.port, "POST", "/webhook", b"{", x_gitlab_token="hush")

    assert (signed.status, signed.body) == (unknown.status, unknown.body) == (202, b"")
    assert [each.status for each in refused] == [403, 403, 403]
    assert broken.status == 400
    assert house.repositories.get(house.published["alpha"].repo_id).changes == done.changes + 1


# Without the engine.


@contextmanager
def silent_port():
    """A port that accepts connections and never answers."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(128)
        yield listener.getsockname()[1]


@contextmanager
def closed_port():
    """A port that refuses connections."""
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        yield holder.getsockname()[1]


def settings_at(port, **access):
    return Settings(
        cluster=ClusterSettings(url=(f"http://127.0.0.1:{port}",), prefix=f"t{secrets.token_hex(4)}", segments="/nowhere"),
        server=ServerSettings(transport="http", store="opensearch"),
        access=replace(Settings().access, **access),
    )


@pytest.mark.invariant("If the search engine is down, its questions get an error in time, and nothing else is affected")
@pytest.mark.parametrize("engine", [closed_port, silent_port])
async def test_without_its_engine_a_server_says_so_in_time_and_goes_on(engine, tmp_path, monkeypatch):
    """With more requests than threads, those that wait for a thread wait no longer than the others."""
    monkeypatch.setattr(calls, "LOOKUP_SECONDS", 0.5)
    proxy = {"trusted_proxies": ("127.0.0.1/32",), "user_header": "X-User", "groups_header": "X-Groups"}
    answers, healths = [], []
    with engine() as port:
        async with (
            serving_library(settings_at(port, **proxy), tmp_path / "cache", n_ready=0) as served,
            trio.open_nursery() as nursery,
        ):

            async def question(number):
                body = call("search_code", {"query": "x", "workspace": f"r{number}"})
                answers.append(await ask(served.port, "POST", "/", body, x_user="ben", x_groups="red"))

            async def token(number):
                answers.append(await ask(served.port, "POST", "/", call("health_check"), authorization=f"Bearer {number}"))

            with trio.fail_after(60):
                async with trio.open_nursery() as asking:
                    for number in range(30):
                        asking.start_soon(question, number)
                        asking.start_soon(token, number)
                    healths += [await ask(served.port, "GET", "/health") for _ in range(20)]
                ready = await ask(served.port, "GET", "/ready")
                told = await ask(served.port, "POST", "/", call("health_check"), x_user="ben")
                metrics = await ask(served.port, "GET", "/metrics", x_user="ben")
            nursery.cancel_scope.cancel()

    codes = {each.said()["error"]["code"] for each in answers if each.status == 200}
    assert codes == {"engine_unavailable"}
    assert {each.status for each in answers} == {200, 503}
    assert sum(each.status == 503 for each in answers) == 30
    assert [each.status for each in healths] == [200] * 20
    assert ready.status == 503
    assert json.loads(ready.body)["engine"]["status"] == "unavailable"
    assert told.said()["engine"]["status"] == "unavailable"
    assert b"codecompass_engine_ready 0" in metrics.body


@pytest.mark.invariant(of="test_without_its_engine_a_server_says_so_in_time_and_goes_on")
@cluster
async def test_an_engine_that_hangs_costs_its_questions_and_is_asked_again(breakable_cluster, house, tmp_path, monkeypatch):
    headers = await add_alpha(house)
    question = call("search_code", {"query": "wheels", "workspace": "alpha"})
    async with serving_library(house.settings(), tmp_path / "cache") as served:
        before = await ask(served.port, "POST", "/", question, **headers)
        monkeypatch.setattr(calls, "LOOKUP_SECONDS", 0.5)
        served.server.libraries._listed_until = float("-inf")
        for node in breakable_cluster.nodes:
            node.pause()
        try:
            hung = await ask(served.port, "POST", "/", question, **headers)
            health = await ask(served.port, "GET", "/health")
        finally:
            for node in breakable_cluster.nodes:
                node.resume()
        monkeypatch.undo()

        async def answered():
            said = await ask(served.port, "POST", "/", question, **headers)
            return said if said.status == 200 and "error" not in said.said() else None

        after = await until(answered)

    assert hung.said()["error"]["code"] == "engine_unavailable"
    assert health.status == 200
    assert after.said()["results"] == before.said()["results"]


async def test_a_path_that_is_none_of_ours_is_no_secret(tmp_path):
    with closed_port() as port:
        async with serving_library(settings_at(port), tmp_path / "cache", n_ready=0) as served, connect(served.port) as client:
            assert (await client.request("GET", "/ui")).status == 404
            assert (await client.request("GET", "/health")).status == 200


# Many repositories.


PACKAGES = {
    1: {
        "pyproject.toml": '[project]\nname = "libone"\n',
        "src/libone/__init__.py": "def shared_entry(value):\n    return value\n",
    },
    5: {"src/user.py": "from libone import shared_entry\n\n\ndef use():\n    return shared_entry(3)\n"},
}
"""A package, and a repository that imports it, by number."""


@pytest.mark.invariant(
    "A question to many repositories is put to all that can answer it, and a page that is full is that of asking all"
)
@cluster
@pytest.mark.timeout(600)
async def test_what_one_query_leaves_out_has_no_answer(house, tmp_path):
    """Beyond a few repositories, one query of the engine selects those that can have an answer; it misses none."""
    names = [f"r{number}" for number in range(9)]
    for number, name in enumerate(names):
        extra = {"src/odd.py": "def Zählwerk_naïve():\n    return 'fooBar' + snake_case_name\n"} if number % 3 == 0 else {}
        await house.publish(name, {**files_of(name), **extra, **PACKAGES.get(number, {})}, groups=["red"])
    headers = {"authorization": f"Bearer {house.tokens.add('anna', ['red'])}"}
    scans = [
        ("literal", "r3secret"),
        ("literal", "ecre"),
        ("literal", "3"),
        ("literal", "Zählwerk"),
        ("literal", "hlwerk_na"),
        ("literal", "Bar' + snake"),
        ("literal", "wheel):\n        return common"),
        ("literal", "nowhere_at_all"),
        ("regex", "turn_r[0-4]"),
        ("regex", "(?i)FOOBAR"),
        ("regex", "r4s|naïve"),
        ("regex", "."),
    ]
    async with serving_library(house.settings(), tmp_path / "cache") as served:

        async def found(workspace, **arguments):
            answer = await said(served, headers, workspace=workspace, limit=100, **arguments)
            assert "results" in answer, answer
            assert not any("no answer" in warning for warning in answer["metadata"].get("warnings", ()))
            return {(each.get("project", workspace), each["path"], each["line_start"]) for each in answer["results"]}

        for mode, query in scans:
            asked = {"tool": "search_code", "query": query, "mode": mode, "timeout_ms": 60_000}
            alone = set().union(*[await found(name, **asked) for name in names])
            together = await found("*", **asked)
            # A page is limited; it has only hits of those that answer alone.
            assert together == alone if len(alone) <= 100 else together <= alone, query
        located = {name: await found("*", tool="locate_symbol", name=f"turn_{name}") for name in names}
        guessed = await found("*", tool="locate_symbol", name="turn_r9")
        uses = await said(served, headers, "find_references", symbol_name="shared_entry", workspace="*", limit=50)

    assert {name: {project for project, *_ in found} for name, found in located.items()} == {name: {name} for name in names}
    assert guessed
    assert uses["definition"]["project"] == "r1"
    assert {each["project"] for each in uses["references"]} == {"r5"}
