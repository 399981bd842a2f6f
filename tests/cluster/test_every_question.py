"""Every tool is called in every way with each identity, and no answer contains anything invisible.

Two checks of each answer: it contains no word that only an invisible repository has, except those of the request itself; and it
is the same, byte for byte, in an organisation without the invisible repositories, so that it reveals nothing about them, not even
that they exist.
"""

import json
import re
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from itertools import chain

import msgspec
import pytest
import trio
from msgspec import Struct
from msgspec.structs import replace

from codecompass.cluster.access.tokens import token_id
from codecompass.cluster.engine.client import Engine
from codecompass.transport.tools import several_projects
from codecompass.transport.tools.listing import GROUPS as LISTINGS
from tests.cluster.organisation import GROUPS, Organisation, files_of, organisation, serving_library, url_of
from tests.support.waiting import until
from tests.transport.http.client import JSON, UPGRADE, ask, call, connect, message

pytestmark = pytest.mark.cluster

NAMES = tuple(GROUPS)
RED = {"alpha", "shared", "public"}
BLUE = {"beta", "shared", "public"}

AT_ONCE = 8
PROXY: Mapping[str, object] = {
    "trusted_proxies": ("127.0.0.1/32",),
    "user_header": "X-Forwarded-User",
    "groups_header": "X-Forwarded-Groups",
}
"""The peer of every test is the proxy."""

ELSEWHERE = {**PROXY, "trusted_proxies": ("192.0.2.0/24", "2001:db8::/32")}
"""No test's peer is in these networks."""

VOLATILE = re.compile(rb'("(?:uptime_seconds|answered_seconds_ago|pending_tasks)\\?":)\d+')


class Identity(Struct, frozen=True, kw_only=True):
    """The headers and access settings of a caller, and the repositories visible to it; None if it is refused."""

    headers: Mapping[str, str]
    sees: frozenset[str] | None
    access: Mapping[str, object] = msgspec.field(default_factory=lambda: ELSEWHERE)


class Question(Struct, frozen=True, kw_only=True):
    """One request."""

    method: str = "POST"
    path: str = "/"
    body: bytes = b""
    headers: Mapping[str, str] = {}

    @property
    def text(self) -> str:
        return f"{self.path} {self.body.decode()}"


@pytest.fixture(scope="module")
def house(engine_cluster, tmp_path_factory) -> Iterator[Organisation]:
    """Five repositories, of which each identity sees different ones."""
    with organisation(engine_cluster.urls, tmp_path_factory.mktemp("house")) as made:

        async def fill() -> None:
            for name, groups in GROUPS.items():
                await made.publish(name, files_of(name), groups=groups)

        trio.run(fill)
        engine_cluster.wait("green", 3)  # two servers tell the same health
        yield made


@pytest.fixture(scope="module")
def identities(house) -> Mapping[str, Identity]:
    tokens = {
        "red": house.tokens.add("anna", ["red"]),
        "blue": house.tokens.add("ben", ["blue"]),
        "both": house.tokens.add("carla", ["red", "blue"]),
        "none of them": house.tokens.add("dora", ["green"]),
        "admin": house.tokens.add("operations", [], is_admin=True),
        "expired": house.tokens.add("emil", ["red", "blue"], days=1),
        "revoked": house.tokens.add("frida", ["red", "blue"]),
    }
    house.tokens.revoke("frida")
    _expire(house, tokens["expired"])

    def bearer(name: str) -> dict[str, str]:
        return {"authorization": f"Bearer {tokens[name]}"}

    forged = {"x-forwarded-user": "root", "x-forwarded-groups": "blue,admins"}
    admins = {**PROXY, "admin_groups": ("admins",)}

    def proxied(user: str, groups: str, access: Mapping[str, object] = PROXY) -> dict:
        return {"headers": {"x-forwarded-user": user, "x-forwarded-groups": groups}, "access": access}

    return {
        "none": Identity(headers={}, sees=None),
        "wrong token": Identity(headers={"authorization": "Bearer cct_wrong"}, sees=None),
        "no bearer": Identity(headers={"authorization": f"Basic {tokens['red']}"}, sees=None),
        "the hash of a token": Identity(headers={"authorization": f"Bearer {token_id(tokens['red'])}"}, sees=None),
        "expired": Identity(headers=bearer("expired"), sees=None),
        "revoked": Identity(headers=bearer("revoked"), sees=None),
        "forged headers": Identity(headers=forged, sees=None),
        "forged headers and a wrong token": Identity(headers={**forged, "authorization": "Bearer x"}, sees=None),
        "a proxy that names nobody": Identity(headers={"x-forwarded-groups": "red,blue"}, sees=None, access=PROXY),
        "a proxy that names two": Identity(**proxied("anna, ben", "red,blue"), sees=None),
        "red": Identity(headers=bearer("red"), sees=frozenset(RED)),
        "blue": Identity(headers=bearer("blue"), sees=frozenset(BLUE)),
        "both": Identity(headers=bearer("both"), sees=frozenset(RED | BLUE)),
        "none of them": Identity(headers=bearer("none of them"), sees=frozenset({"public"})),
        "admin": Identity(headers=bearer("admin"), sees=frozenset(NAMES)),
        "red, forged headers": Identity(headers={**bearer("red"), **forged}, sees=frozenset(RED)),
        "red, through the proxy": Identity(headers=bearer("red"), sees=frozenset(RED), access=PROXY),
        "the proxy, blue": Identity(**proxied("ben", "blue, green"), sees=frozenset(BLUE)),
        "the proxy, no group": Identity(**proxied("gerd", ""), sees=frozenset({"public"})),
        "the proxy, a group of that name": Identity(**proxied("gerd", "admins"), sees=frozenset({"public"})),
        "the proxy, its administrators": Identity(**proxied("hanna", "red, admins", admins), sees=frozenset(NAMES)),
        "the proxy, before a token": Identity(
            headers={**bearer("admin"), "x-forwarded-user": "ben", "x-forwarded-groups": "blue"},
            sees=frozenset(BLUE),
            access=PROXY,
        ),
    }


ANSWERED: Mapping[str, frozenset[str]] = {
    "red": frozenset({"red"}),
    "the proxy, blue": frozenset({"blue", "green"}),
    "both": frozenset({"red", "blue"}),
    "none of them": frozenset({"green"}),
    "admin": frozenset({"red", "blue", "everyone"}),
}
"""The identities for which every request is sent, and their groups. For the others, only what they see is checked."""

SAMPLED = ("both", "none of them")
"""Identities for which few repositories count as many, as in an organisation of thousands: one query selects which to search."""

REFUSED = (
    "none",
    "wrong token",
    "no bearer",
    "the hash of a token",
    "expired",
    "revoked",
    "forged headers",
    "forged headers and a wrong token",
    "a proxy that names nobody",
    "a proxy that names two",
)


@pytest.mark.invariant(of="test_every_question_is_answered_as_if_the_invisible_did_not_exist")
@pytest.mark.timeout(600)
@pytest.mark.parametrize("who", REFUSED)
async def test_who_is_not_known_is_answered_nothing(house, identities, who, tmp_path):
    identity = identities[who]
    async with serving_library(house.settings(**identity.access), tmp_path / "cache") as served:
        asked = [*questions_about(house, NAMES[:1]), *pages()]
        answers = await ask_all(served.port, identity.headers, asked)
        async with connect(served.port) as socket:
            await socket.send("GET", "/ws", **UPGRADE, **identity.headers)
            head = await socket.head()
        open_pages = await ask_all(
            served.port, identity.headers, [Question(method="GET", path="/health"), Question(method="GET", path="/ready")]
        )

    for question, answer in zip(asked, answers, strict=True):
        assert answer.status == 401, question.text
        assert answer.headers["www-authenticate"].startswith("Bearer"), question.text
        assert leaked(house, answer.body, frozenset(), question.text) == set()
    assert head.status == 401
    assert [each.status for each in open_pages] == [200, 200]
    for each in open_pages:
        assert leaked(house, each.body, frozenset(), "") == set()
        assert json.loads(each.body)["total_projects"] == 0


@pytest.mark.invariant("Code of an organisation that a viewer may not see appears in no answer and affects none")
@pytest.mark.timeout(600)
@pytest.mark.parametrize("who", ANSWERED)
async def test_every_question_is_answered_as_if_the_invisible_did_not_exist(house, identities, who, tmp_path, monkeypatch):
    if who in SAMPLED:
        monkeypatch.setattr(several_projects, "FULL_SEARCHES", 1)
    identity = identities[who]
    assert identity.sees is not None
    asked = [*questions_about(house, NAMES, few=identity.sees), *pages()]
    settings = house.settings(**identity.access)

    async with serving_library(settings, tmp_path / "cache") as served:
        answers = await ask_all(served.port, identity.headers, asked)
    with alone(house, identity.sees, ANSWERED[who]):
        async with serving_library(settings, tmp_path / "other") as served:
            others = await ask_all(served.port, identity.headers, asked)

    told = set()
    for question, answer, other in zip(asked, answers, others, strict=True):
        assert answer.status in (200, 400, 404), (question.text, answer.status)
        found = leaked(house, answer.body, identity.sees, question.text)
        assert found == set(), (question.text, answer.body)
        if question.path != "/metrics":
            assert VOLATILE.sub(rb"\1", answer.body) == VOLATILE.sub(rb"\1", other.body), question.text
        told |= {name for name in NAMES if f"team-{name}".encode() in answer.body}
    assert told >= identity.sees, "what may be seen was found, so that something was tested"
    codes = {code for each in answers for code in re.findall(rb'\\?"code\\?":\s?\\?"(\w+)', each.body)}
    assert b"internal_error" not in codes


async def test_each_identity_is_the_viewer_that_it_is_said_to_be(house, identities, tmp_path):
    shown = {}
    for number, (who, identity) in enumerate(identities.items()):
        async with serving_library(house.settings(**identity.access), tmp_path / f"cache{number}") as served:
            asked = [call("health_check"), call("search_code", {"query": "wheels", "workspace": "*", "limit": 50})]
            asked += [call("search_code", {"query": "wheels", "workspace": name}) for name in house.published]
            health, found, *alone = [await ask(served.port, "POST", "/", body, **identity.headers) for body in asked]
        if health.status == 401:
            shown[who] = None
            assert found.status == 401
            continue
        shown[who] = frozenset(each["project_id"] for each in health.said()["projects"])
        of_all = {each["project"] for each in found.said()["results"]}
        assert of_all <= shown[who]
        assert of_all or not shown[who]
        answering = {name for name, reply in zip(house.published, alone, strict=True) if reply.said().get("results")}
        assert answering == shown[who]

    assert shown == {who: identity.sees for who, identity in identities.items()}


async def test_the_invisible_costs_the_work_of_what_does_not_exist(house, identities, tmp_path, monkeypatch):
    requests: list[tuple[str, str]] = []
    request = Engine._request

    def noted(engine, method, path, *arguments, **options):
        # Tokens are looked up again at times and the health of the engine is read all the time, whatever is sent.
        if not path.startswith((f"/{house.engine.names.access}/", "/_cluster/health", "/_nodes/stats")):
            requests.append((method, path))
        return request(engine, method, path, *arguments, **options)

    hidden, nobody = house.published["hidden"], "team-nobody/nobody"
    identity = identities["red"]
    async with serving_library(house.settings(), tmp_path / "cache") as served:
        server = served.server
        await ask(served.port, "POST", "/", call("health_check"), **identity.headers)
        # Summaries are read after the start, in the background.
        summaries = server.libraries.summaries
        await until(lambda: not summaries._wanted and not summaries._in_work)
        monkeypatch.setattr(Engine, "_request", noted)
        costs = {}
        for name in (hidden.repo_id, hidden.url, hidden.name, nobody, "0" * 16, url_of("nobody")):
            for tool, arguments in (("search_code", {"query": "x"}), ("locate_symbol", {"name": "x"}), ("index_status", {})):
                server.libraries._listed_until = float("inf")
                requests.clear()
                await ask(served.port, "POST", "/", call(tool, {**arguments, "workspace": name}), **identity.headers)
                costs[name, tool] = list(requests)

    assert set(map(tuple, costs.values())) == {()}


async def test_a_socket_that_is_open_ends_with_its_token(house, tmp_path):
    token = house.tokens.add("ida", ["red"])
    status = call("search_code", {"query": "common_helper", "workspace": "alpha"})
    async with serving_library(house.settings(), tmp_path / "cache") as served, connect(served.port) as socket:
        await socket.send("GET", "/ws", **UPGRADE, authorization=f"Bearer {token}")
        assert (await socket.head()).status == 101
        before = await said_on(socket, status)
        house.tokens.revoke("ida")
        served.server.authenticator._known.clear()  # as after the seconds for which a token is cached
        after = await said_on(socket, status)

    assert "alpha_engine" in before
    assert json.loads(after)["error"]["code"] == "unauthorized"
    assert "alpha" not in after


async def test_a_repository_that_is_taken_out_of_a_group_is_gone_with_the_next_question(house, identities, tmp_path):
    repository = house.published["alpha"]
    question = call("search_code", {"query": "alphasecret", "workspace": repository.repo_id})
    async with serving_library(house.settings(), tmp_path / "cache") as served:
        before = await ask(served.port, "POST", "/", question, **identities["red"].headers)
        house.repositories.update(repository.repo_id, lambda old: replace(old, groups=()))
        try:
            after = await ask(served.port, "POST", "/", question, **identities["red"].headers)
        finally:
            house.repositories.update(repository.repo_id, lambda old: replace(old, groups=GROUPS["alpha"]))
            house.engine.refresh(house.engine.names.repositories)

    assert "results" in before.said()
    assert after.said()["error"]["code"] == "project_not_found"
    assert "alpha" not in after.body.decode()


# The requests.


def questions_about(house: Organisation, names, *, few=frozenset()) -> list[Question]:
    """Returns requests of every tool about each repository by each of its names, about all, about groups, and by words of each.

    Those in `few` are named in two ways only.
    """
    made: list[Question] = []
    for name in names:
        repository = house.published[name]
        ways = [
            {"workspace": repository.repo_id},
            {"workspace": repository.name},
            {"workspace": name},
            {"workspace": repository.url},
            {"workspace": f"/git.example.org/team-{name}/{name}"},
            {"project_id": repository.repo_id},
            {"workspace": [name, "public"]},
            {"workspace": f"public, team-{name}/{name}"},
        ]
        if name in few:
            ways = [ways[0], ways[-2]]
        secrets = (name,) if name in few else (name, "public")
        for tool, arguments in chain.from_iterable(tools_about(name, secret) for secret in secrets):
            made += [Question(body=call(tool, {**arguments, **way})) for way in ways]
        made += [
            Question(body=call(tool, {**arguments, "workspace": "*"}))
            for tool, arguments in tools_about(name, name)
            if tool in ("search_code", "locate_symbol", "find_references", "health_check", "index_status")
        ]
        made.append(Question(path=f"/?project_path={repository.repo_id}", body=call("index_status")))
        made.append(Question(path=f"/?project_path=team-{name}/{name}", body=call("search_code", {"query": "wheels"})))
        made += resources_about(name)
    for group in ("red", "blue", "green", "everyone", "admins", "red,blue"):
        for tool, arguments in (("search_code", {"query": "wheels"}), ("locate_symbol", {"name": "turn"}), ("index_status", {})):
            made.append(Question(body=call(tool, {**arguments, "workspace": group})))
            made.append(Question(body=call(tool, {**arguments, "project_id": group})))
    made += [Question(body=call(tool, arguments)) for tool, arguments in tools_about("shared", "shared")]
    made += [Question(body=call("search_code", {"query": near, "workspace": near})) for near in ("betta", "hiden", "alpah")]
    return made


def tools_about(name: str, secret: str) -> list[tuple[str, dict]]:
    """Returns a request of each tool about `name`, by a name, a path and a word that only the repository `secret` has."""
    path, symbol = f"src/{secret}_engine.py", f"turn_{secret}"
    asked = [
        ("search_code", {"query": f"{secret}secret wheels"}),
        ("search_code", {"query": f"{secret}secret", "mode": "literal"}),
        ("search_code", {"query": f"{secret}.e.ret", "mode": "regex"}),
        ("search_code", {"query": f"*{secret}*", "mode": "files"}),
        ("search_code", {"query": "wheels", "why_not": path, "ranking_explain_level": "full"}),
        ("search_code", {"query": "wheels", "ref": "main"}),
        ("search_code", {"query": "wheels", "ref": "feature"}),
        ("search_code", {"query": "wheels", "changed_since": "main"}),
        ("locate_symbol", {"name": symbol}),
        ("locate_symbol", {"name": f"{path}:7"}),
        ("locate_symbol", {"name": f"{secret.title()}Engin"}),
        ("get_file_outline", {"path": path}),
        ("read_file", {"path": path}),
        ("find_references", {"symbol_name": "common_helper"}),
        ("get_call_graph", {"symbol_name": "common_helper"}),
        ("get_symbol_hierarchy", {"symbol_name": symbol}),
        ("find_related_symbols", {"symbol_name": symbol}),
        ("get_code_context", {"query": f"{secret}secret wheels", "max_tokens": 2000}),
        ("list_refs", {}),
        ("diff_context", {"base": "main"}),
        ("diff_context", {"head": "main"}),
        ("index_status", {}),
        ("index_status", {"path": path}),
        ("index_repo", {}),
        ("index_repo", {"force": True}),
        ("sync_repo", {}),
        ("health_check", {}),
        ("index_repository", {"repo_path": f"/git.example.org/team-{name}/{name}"}),
    ]
    assert {tool for tool, _ in asked} == set(LISTINGS["all"]), "a tool is not asked"
    return asked


def resources_about(name: str) -> list[Question]:
    uris = ("codecompass://workspaces", f"codecompass://outline/src/{name}_engine.py", f"codecompass://jobs/{name}")
    made = [Question(body=message("resources/read", {"uri": uri})) for uri in uris]
    made += [Question(body=message("resources/subscribe", {"uri": uri})) for uri in uris]
    for ref, argument in (
        ({"type": "ref/prompt", "name": "explain_symbol"}, "symbol"),
        ({"type": "ref/prompt", "name": "explore_codebase"}, "focus"),
        ({"type": "ref/resource", "uri": "codecompass://outline/{path}"}, "path"),
    ):
        params = {"ref": ref, "argument": {"name": argument, "value": name[:3]}}
        made.append(Question(body=message("completion/complete", params)))
        made.append(Question(path=f"/?project_path={name}", body=message("completion/complete", params)))
    return made


def pages() -> list[Question]:
    """Returns requests that are not tool calls."""
    methods = ("tools/list", "resources/list", "resources/templates/list", "prompts/list")
    made = [Question(body=message(method)) for method in methods]
    made += [Question(path="/mcp", body=message(method), headers=JSON) for method in methods]
    made.append(Question(path="/mcp", body=call("search_code", {"query": "wheels", "workspace": "*"}), headers=JSON))
    made.append(Question(method="GET", path="/metrics"))
    made.append(Question(body=b"no message"))
    return made


async def ask_all(port: int, headers: Mapping[str, str], questions: list[Question]):
    answers = [None] * len(questions)
    turns = trio.CapacityLimiter(AT_ONCE)

    async def one(number: int, question: Question) -> None:
        async with turns:
            given = {**question.headers, **headers}
            answers[number] = await ask(port, question.method, question.path, question.body, **given)

    async with trio.open_nursery() as nursery:
        for number, question in enumerate(questions):
            nursery.start_soon(one, number, question)
    return answers


async def said_on(socket, body: bytes) -> str:
    """Sends a message over a WebSocket; returns the tool's answer."""
    from tests.transport.http.client import masked

    await socket.stream.send_all(masked(body))
    received = b""
    with trio.fail_after(60):
        while b'"isError"' not in received:
            received += await socket.stream.receive_some(65_536)
    answer = json.loads(received[received.index(b"{") :])
    return answer["result"]["content"][0]["text"]


# The checks.


def leaked(house: Organisation, body: bytes, sees: frozenset[str], question: str) -> set[str]:
    """Returns the words of an answer that only invisible repositories have, except those in the request."""
    found = set()
    text = body.decode(errors="replace").lower()
    for name in set(NAMES) - sees:
        repository = house.published[name]
        heads = [part for head in repository.heads.values() for part in (head.generation, head.commit)]
        words = [f"{name}secret", f"team-{name}", f"{name}_engine", f"{name}engine", f"turn_{name}", f"{name}_constant"]
        found |= {word for word in (*words, repository.repo_id, *heads) if word in text and word not in question.lower()}
        if '"known: ' in text or "known: " in text:
            listed = text.partition("known: ")[2].partition(".")[0]
            found |= {name for _ in (0,) if name in re.split(r"[ ,]+", listed)}
    return found


@contextmanager
def alone(house: Organisation, sees: Collection[str], groups: Collection[str]) -> Iterator[None]:
    """Removes all repositories but the visible ones, and all groups but the viewer's and everyone's, for the block."""
    index = house.engine.names.repositories
    kept = {name: house.engine.get(index, house.published[name].repo_id) for name in NAMES}
    for name, document in kept.items():
        assert document is not None
        if name not in sees:
            house.engine.delete(index, document.id)
            continue
        own = tuple(group for group in GROUPS[name] if group in {*groups, "everyone"})
        house.repositories.update(document.id, lambda old, own=own: replace(old, groups=own))
    house.engine.refresh(index)
    try:
        yield
    finally:
        for document in kept.values():
            house.engine.put(index, document.id, document.source, expected=house.engine.get(index, document.id))
        house.engine.refresh(index)


def _expire(house: Organisation, text: str) -> None:
    """Makes a token expire."""
    index = house.engine.names.access
    document = house.engine.get(index, token_id(text))
    assert document is not None
    token = json.loads(document.source)
    house.engine.put(index, document.id, json.dumps({**token, "expires_at": 1.0}).encode(), expected=document)
