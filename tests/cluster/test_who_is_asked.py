"""Which of many repositories a question is put to: those that can have an answer, and no more of them than fill the page."""

from collections.abc import Iterator

import pytest

from codecompass.cluster.engine import Engine
from codecompass.cluster.repository_samples import SAMPLED_REPOSITORIES, Across
from codecompass.cluster.scoring import EngineRarities
from codecompass.query.words.regex_terms import regex_terms, text_terms
from codecompass.transport.tools import project_answers, several_projects
from tests.cluster.organisation import files_of, serving_library
from tests.transport.http.client import ask, call

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(600)]

DATA = "QmFzZTY0" * 40

OWN_FILES = {
    "one": {"pkg/session.py": "def close():\n    pass\n"},
    "two": {"pkg/door.py": "class Session:\n    def close(self):\n        pass\n"},
    "three": {"data.py": f"BLOB = '{DATA}getUserName{DATA}'\n"},
    "four": {"data.py": f"BLOB = '{DATA}'\n"},
    "five": {
        "docs/Release Notes.md": "notes\n",
        "app/[id].tsx": "export const page = 1;\n",
        "web/page.test.js": "import { shell } from 'turtle';\n\ntest('the page turns', () => {\n  expect(page()).toBe(1);\n});\n",
    },
}
NAMES = (*OWN_FILES, *(f"more{number}" for number in range(SAMPLED_REPOSITORIES)))


async def published(house) -> dict[str, str]:
    """Publishes the repositories, and returns the generation of each by its id."""
    generations = {}
    for name in NAMES:
        own = OWN_FILES.get(name, {"misc.py": "def close():\n    pass\n"})
        repository = await house.publish(name, {**files_of(name), **own}, groups=["everyone"])
        generations[repository.repo_id] = repository.default_head.generation
    return generations


@pytest.fixture
def across(house) -> Iterator[Across]:
    engine = Engine(house.urls, prefix=house.prefix)
    yield Across(engine, EngineRarities(engine))
    engine.close()


@pytest.mark.invariant(of="test_what_one_query_leaves_out_has_no_answer")
@pytest.mark.parametrize("house", ["documents"], indirect=True)
async def test_only_repositories_that_can_answer_are_asked(house, across):
    generations = await published(house)
    ids = {name: house.published[name].repo_id for name in NAMES}

    def names(found):
        return None if found is None else {name for name in NAMES if ids[name] in found}

    def defining(text):
        return names(across.defining(generations, text))

    def resembling(text):
        return names(across.resembling(generations, text))

    def listing(query):
        return names(across.listing(generations, query))

    for text in ("turn_one", "TURN_ONE", "OneEngine.turn_one", "def turn_one(self, wheel)", "turn_one(wheel)"):
        assert defining(text) == {"one"}, text
    assert defining('  File "src/one_engine.py", line 7, in turn_one') == {"one"}
    # The scope of a name can be a definition or a file.
    assert defining("Session.close") == {"one", "two"}
    assert defining("close") == set(NAMES) - {"three", "four", "five"}
    assert defining("nowhere.close") == defining("close")
    # No one has the name: a few are asked for similar ones.
    assert defining("tern_one") == defining("turns_one") == set()
    assert "one" in resembling("tern_one")
    assert "one" in resembling("turns_one")
    assert 0 < len(resembling("turn_wheel")) <= SAMPLED_REPOSITORIES
    assert resembling("qqqzzzxxx") == set()

    for query in (
        "src/one_engine.py",
        "one_engine",
        "ONE_ENGINE.PY",
        "src/one*",
        "**/one_*.py",
        "{one,none}_engine.py",
        "OneEngine",
    ):
        assert listing(query) == {"one"}, query
    assert listing("release notes") == listing("docs/Release Notes.md") == {"five"}
    assert listing("[id].tsx") == listing("app/[id].tsx") == {"five"}
    assert listing("README") == listing("*.py") == set(NAMES)
    # Most of the words, if no path has all.
    assert "one" in listing("one unheard engine")
    assert listing("qqqzzzxxx") == set()
    # Too short for the engine to know.
    assert listing("a?") is listing("id") is listing("*") is None

    # Of long words, those that may have the text.
    assert names(across.holding(generations, text_terms("getUserName"))) == {"three"}
    assert names(across.holding(generations, regex_terms(r"getUser\w+Z"))) == {"three"}
    assert names(across.holding(generations, text_terms(DATA[:200]))) == {"three", "four"}


async def said(served, headers, tool, **arguments):
    answer = await ask(served.port, "POST", "/", call(tool, arguments), **headers)
    assert answer.status == 200, answer.body
    return answer.said()


def hits(answer):
    return [(hit["project"], hit["path"], hit["line_start"]) for hit in answer["results"]]


@pytest.mark.invariant(of="test_what_one_query_leaves_out_has_no_answer")
async def test_whatever_form_a_definition_is_asked_in_it_is_found_wherever_it_is(house, tmp_path):
    await published(house)
    headers = {"authorization": f"Bearer {house.tokens.add('anna', ['everyone'])}"}
    async with serving_library(house.settings(), tmp_path / "cache") as served:

        async def located(name, **arguments):
            answer = await said(served, headers, "locate_symbol", name=name, workspace="*", **arguments)
            return [(hit["project"], hit["path"]) for hit in answer["results"]], answer["metadata"].get("warnings", [])

        by_id = (await said(served, headers, "locate_symbol", name="turn_two", workspace="two"))["results"][0]["symbol_id"]
        for name in ("src/two_engine.py:7", "turn_two", "TwoEngine.turn_two", "def turn_two(self, wheel):"):
            assert await located(name) == ([("two", "src/two_engine.py")], []), name
        assert (await located(by_id))[0] == [("two", "src/two_engine.py")]
        for trace in ('File "/srv/two/src/two_engine.py", line 8, in turn_two', "at /srv/x/src/two_engine.py:8"):
            assert (await located(trace))[0] == [("two", "src/two_engine.py")], trace
        assert await located("shell", kind="use") == ([("five", "web/page.test.js")], [])
        assert await located("the page turns", kind="test") == ([("five", "web/page.test.js")], [])
        similar, _ = await located("tern_two")
        assert ("two", "src/two_engine.py") in similar
        nothing = await said(served, headers, "locate_symbol", name="qqqzzzxxx", workspace="*")

    assert nothing["results"] == []
    assert nothing["notice"] == "nothing is named qqqzzzxxx; search_code finds it in all text"


async def test_repositories_after_those_that_fill_the_page_are_passed_over_and_counted(house, tmp_path, monkeypatch):
    await published(house)
    headers = {"authorization": f"Bearer {house.tokens.add('anna', ['everyone'])}"}
    asked = {"tool": "search_code", "workspace": "*", "limit": 4, "timeout_ms": 60_000}
    many, few = {**asked, "query": "README", "mode": "files"}, {**asked, "query": "onesecret", "mode": "literal"}
    async with serving_library(house.settings(), tmp_path / "cache") as served:
        everything = await said(served, headers, **many)
        monkeypatch.setattr(project_answers, "ALWAYS_ASKED", 1)
        monkeypatch.setattr(several_projects, "MAX_AT_ONCE", 1)
        enough = await said(served, headers, **many)
        rare = await said(served, headers, **few)

    # The page is the same, and what was not counted is said.
    assert hits(enough) == hits(everything)
    assert len({project for project, *_ in hits(enough)}) == 4
    assert everything["total_candidates"] == len(NAMES)
    assert enough["total_candidates"] == 4
    (warning,) = enough["metadata"]["warnings"]
    assert warning.startswith(f"{len(NAMES) - 4} more projects may have hits")
    assert "warnings" not in everything["metadata"]
    assert "warnings" not in rare["metadata"]
    assert {project for project, *_ in hits(rare)} == {"one"}
