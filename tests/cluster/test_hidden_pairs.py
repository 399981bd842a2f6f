"""What is hidden and what was never there are the same to a viewer: of each request there are two, one that names a repository,
a group or a commit that the viewer may not see, and one that names an invented one. Everything is compared but the echo.
"""

import difflib
import re
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from urllib.parse import quote, quote_plus, urlencode

import pytest
import trio
from msgspec import Struct

from codecompass.cluster.repositories.repository import Repository
from tests.cluster.organisation import Organisation, files_of, organisation, serving_library, url_of
from tests.cluster.page_client import NAVIGATION, ORIGIN, PageBrowser
from tests.transport.http.client import ask, call

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(600)]

FETCH = {"Sec-Fetch-Site": "same-origin", "Sec-Fetch-Mode": "cors", "Sec-Fetch-Dest": "empty"}
GROUPS = {"alpha": ["red"], "beta": ["blue"], "shared": ["red", "blue"], "public": ["everyone"], "orphan": []}
HIDDEN = ("beta", "orphan")
"""What a viewer in `red` may not see: it is in another group, or in none."""

FORMER = Repository(
    repo_id="fedcba9876543210", name="team-omega/omega", url=url_of("omega"), added_at=0, changed_at=0, former=("omega-before",)
)
"""What `beta` was at another address."""

N_PAIRS = 512
CHANGING = ("date", "content-length")

TIME = re.compile(r'<time datetime="[^"]*" title="[^"]*">[^<]*</time>')
"""How long ago something was indexed, which changes between two requests."""


class Target(Struct, frozen=True):
    """What a request names: `text` in place of a repository or group, files called after `name`, and a commit."""

    text: str
    name: str
    commit: str


class Pair(Struct, frozen=True):
    """Something hidden, and something of the same kind that there is not."""

    hidden: Target
    invented: Target


@pytest.fixture(scope="module")
def house(engine_cluster, tmp_path_factory) -> Iterator[Organisation]:
    with organisation(engine_cluster.urls, tmp_path_factory.mktemp("house")) as made:

        async def fill() -> None:
            for name, groups in GROUPS.items():
                await made.publish(name, files_of(name), groups=groups)
            made.repositories.note_former(made.published["beta"].repo_id, FORMER)
            made.engine.refresh(made.engine.names.repositories)

        trio.run(fill)
        yield made


def invented(name: str) -> str:
    """Returns a name as long as another, that nothing has."""
    return {"beta": "bqta", "orphan": "orqhan", "blue": "blqe"}[name]


def pairs_of(house: Organisation) -> list[Pair]:
    """Returns all ways to name each hidden repository, and a group."""
    found = []
    for name in HIDDEN:
        repository, other = house.published[name], invented(name)
        commit = repository.default_head.commit
        texts = [
            (repository.repo_id, repository.repo_id[::-1]),
            (repository.name, f"team-{other}/{other}"),
            (name, other),
            (url_of(name), url_of(other)),
            (url_of(name).removeprefix("https://"), url_of(other).removeprefix("https://")),
            (f"team-{name}", f"team-{other}"),
            ("blue", "blqe"),
            ("group:blue", "group:blqe"),
        ]
        if name == "beta":
            texts += [(text, text[::-1]) for text in (FORMER.repo_id, FORMER.name, *FORMER.former)]
        found += [Pair(Target(text, name, commit), Target(none, other, commit[::-1])) for text, none in texts]
    return found


def pages(target: Target) -> list[tuple[str, Mapping[str, object]]]:
    """Returns requests of the page."""
    text, name, commit = target.text, target.name, target.commit
    path = f"src/{name}_engine.py"
    there = {"project": text, "path": path}
    return [
        ("/ui", {"project": text, "q": "wheels"}),
        ("/ui", {"q": f"repo:{text} wheels"}),
        ("/ui", {"project": text, "q": "wheels", "why_not": path, "why": 1}),
        ("/ui/results", {"project": text, "q": f"{name}secret"}),
        ("/ui/results", {"q": f"repo:{text} turn_{name}"}),
        ("/ui/facets", {"project": text, "q": f"{name}secret"}),
        ("/ui/complete", {"project": text, "q": "file:src"}),
        ("/ui/complete", {"q": f"repo:{text}"}),
        ("/ui/file", there),
        ("/ui/file", {**there, "ref": "main", "line": 3}),
        ("/ui/file", {**there, "ref": commit, "line": 3, "mark": "0a1b2c"}),
        ("/ui/file", {**there, "ref": "0" * 40, "line": 3, "mark": "0a1b2c"}),
        ("/ui/file", {**there, "search": urlencode({"project": text, "q": "wheels"})}),
        ("/ui/file", {"project": text, "path": "README.md", "view": "rendered"}),
        ("/ui/raw", there),
        ("/ui/raw", {**there, "ref": commit}),
        ("/ui/tree", {"project": text}),
        ("/ui/tree", {"project": text, "path": "src", "ref": commit}),
        ("/ui/refs", {"project": text, "q": "ma"}),
        ("/ui/permalink", {**there, "line": 3}),
        ("/ui/permalink", {**there, "ref": commit, "line": 3, "last": 5}),
        ("/ui/goto", {**there, "name": f"turn_{name}", "line": 7}),
        ("/ui/goto", {**there, "name": "10-20"}),
        ("/ui/card", {**there, "name": f"turn_{name}"}),
        ("/ui/symbol", {"project": text, "name": f"turn_{name}", "view": "everywhere"}),
        ("/ui/uses", {**there, "first": 1, "last": 20}),
        ("/ui/diff", {"project": text}),
        ("/ui/diff", {"project": text, "base": commit, "head": "main", "path": path}),
        ("/ui/project", {"project": text}),
        ("/ui/project", there),
        ("/ui/projects", {"q": text}),
        ("/ui/sign-in", {"to": f"/ui/tree?project={quote(text, safe='')}"}),
        (f"/ui/{quote(text, safe='')}", {}),
    ]


def tools(target: Target) -> list[tuple[str, Mapping[str, object]]]:
    """Returns calls of the tools that the page and agents read code with."""
    text, name, commit = target.text, target.name, target.commit
    path, symbol = f"src/{name}_engine.py", f"turn_{name}"
    asked: list[tuple[str, dict[str, object]]] = [
        ("read_file", {"path": path}),
        ("read_file", {"path": path, "line_start": 2, "limit": 3, "ref": "main"}),
        ("read_file", {"path": path, "ref": commit}),
        ("find_references", {"symbol_name": symbol}),
        ("find_references", {"symbol_name": "common_helper", "timeout_ms": 20_000}),
        ("search_code", {"query": "type:commit wheels"}),
        ("search_code", {"query": "type:diff wheels author:ada since:2weeks"}),
        ("search_code", {"query": f"type:commit {name}secret", "ref": commit}),
        ("list_refs", {}),
        ("index_status", {"path": path}),
    ]
    return [
        *((tool, {**arguments, "workspace": text}) for tool, arguments in asked),
        *((tool, {**arguments, "project_id": text}) for tool, arguments in asked[:6]),
        *((tool, {**arguments, "workspace": f"public,{text}"}) for tool, arguments in asked[3:8]),
    ]


def without_echo(text: str, target: Target) -> str:
    """Returns an answer without what was asked, however it is written there, and without times."""
    for number, each in enumerate((target.text, target.commit, target.name)):
        ways = {each, quote(each, safe=""), quote_plus(each), quote(quote(each, safe=""), safe=""), escape(each)}
        for way in sorted(ways, key=lambda way: -len(way)):
            text = text.replace(way, f"ECHO{number}")
    return TIME.sub("TIME", text)


def difference(told: Sequence[tuple[object, ...]]) -> list[str]:
    """Returns the lines in which two answers differ."""
    of_each = [str(each[-1]).splitlines() for each in told]
    return [line for line in difflib.unified_diff(*of_each, lineterm="", n=0) if line[:1] in "+-"]


@pytest.mark.invariant(of="test_every_question_is_answered_as_if_the_invisible_did_not_exist")
async def test_what_is_hidden_and_what_was_never_there_differ_in_nothing_but_the_echo(house, tmp_path):
    token = house.tokens.add("anna", ["red"])
    n_pairs = n_shown = 0
    differ: list[object] = []
    async with serving_library(house.settings(page_url=ORIGIN), tmp_path / "cache") as served:
        signed_in, nobody = PageBrowser(served.port), PageBrowser(served.port)
        assert (await signed_in.post("/ui/sign-in", token=token)).status == 303
        turns = trio.CapacityLimiter(4)

        async def page_pair(browser: PageBrowser, headers: Mapping[str, str], pair: Pair, number: int) -> None:
            nonlocal n_pairs, n_shown
            told = []
            for target in (pair.hidden, pair.invented):
                path, fields = pages(target)[number]
                async with turns:
                    answer = await browser.get(path, headers, **fields)
                kept = [(key, without_echo(value, target)) for key, value in answer.headers if key not in CHANGING]
                told.append((answer.status, kept, without_echo(answer.body, target)))
            if told[0] != told[1]:
                differ.append((pages(pair.hidden)[number], told[0][:2], told[1][:2], difference(told)))
            n_pairs += 1
            n_shown += ">public</option>" in told[0][2]

        async def tool_pair(pair: Pair, number: int) -> None:
            nonlocal n_pairs
            told = []
            for target in (pair.hidden, pair.invented):
                async with turns:
                    answer = await ask(served.port, "POST", "/", call(*tools(target)[number]), authorization=f"Bearer {token}")
                told.append((answer.status, without_echo(answer.body.decode(), target)))
            if told[0] != told[1]:
                differ.append((tools(pair.hidden)[number], difference(told)))
            n_pairs += 1

        async with trio.open_nursery() as nursery:
            for pair in pairs_of(house):
                for number in range(len(pages(pair.hidden))):
                    nursery.start_soon(page_pair, signed_in, NAVIGATION, pair, number)
                    nursery.start_soon(page_pair, nobody, NAVIGATION if number % 2 else FETCH, pair, number)
                for number in range(len(tools(pair.hidden))):
                    nursery.start_soon(tool_pair, pair, number)

    assert differ[:3] == []
    assert n_pairs >= N_PAIRS
    assert n_shown, "some pages show what may be seen beside it, so that something was tested"


async def test_the_same_requests_about_what_may_be_seen_are_answered(house, tmp_path):
    """Otherwise the pairs would be the same because nothing is ever answered."""
    token = house.tokens.add("ben", ["red"])
    alpha = house.published["alpha"]
    target = Target(alpha.repo_id, "alpha", alpha.default_head.commit)
    async with serving_library(house.settings(page_url=ORIGIN), tmp_path / "cache") as served:
        browser = PageBrowser(served.port)
        await browser.post("/ui/sign-in", token=token)
        found = [await browser.get(path, **fields) for path, fields in pages(target)]
        said = [
            (await ask(served.port, "POST", "/", call(*each), authorization=f"Bearer {token}")).said() for each in tools(target)
        ]

    assert {each.status for each in found[:-1]} == {200, 303}
    assert sum("alpha_engine" in each.body or "alpha" in str(each.headers) for each in found) > len(found) // 2
    assert sum("error" not in each for each in said) > len(said) // 2
