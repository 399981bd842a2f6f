"""Questions about something else: the answer has places, and says that none of them fits."""

import pytest

from codecompass.hints import for_people
from codecompass.protocol.requests import SearchCode
from codecompass.query import search_code
from codecompass.query.options import QueryOptions

ELSEWHERE = [
    "how does the renderer compile shaders for a request of the graphics device",
    "where is the garbage collector triggered for the request arena",
    "FooterComposer lays out the user columns",
]

HERE = [
    "where is a token validated against the claims",
    "authenticate a request by its token",
    "validate token",
    "AuthHandler",
    "validate_token",
    "src/auth/jwt.rs",
]

LONG = """\
Shaders are compiled twice when the graphics device is lost

The `PipelineCache` drops `ShaderModule` objects as soon as the device is lost, and every frame after that compiles
them again, which takes a hundred milliseconds on this machine. It should keep them until the user asks for a new swap
chain.
"""


@pytest.fixture
def ask(shop, state):
    return lambda query, **arguments: search_code(shop, SearchCode(query=query, **arguments), state)


@pytest.mark.parametrize("query", ELSEWHERE)
def test_a_question_about_something_else_has_a_weak_answer_with_places_and_what_to_do(ask, query):
    reply = ask(query)

    assert reply.weak
    assert reply.results
    assert reply.notice.startswith("weak: ")
    assert "pass * as workspace" in reply.notice
    assert len(reply.notice) < 200


@pytest.mark.parametrize("query", HERE)
def test_a_question_about_this_code_has_no_weak_answer(ask, query):
    reply = ask(query)

    assert not reply.weak
    assert not reply.notice


def test_a_weak_answer_shows_three_places_and_the_others_on_the_next_page(shop, state, ask):
    text = QueryOptions(answers="text")
    whole = ask(ELSEWHERE[1], limit=10)

    first = search_code(shop, SearchCode(query=ELSEWHERE[1], limit=10), state, text)
    following = search_code(shop, SearchCode(query=ELSEWHERE[1], limit=10, offset=first.next_offset), state, text)

    assert first.weak
    assert len(whole.results) > 3
    assert len(first.results) == len(ask(ELSEWHERE[1]).results) == 3
    assert [each.path for each in (*first.results, *following.results)] == [each.path for each in whole.results]


def test_people_are_told_the_option_for_all_projects(ask):
    assert for_people(ask(ELSEWHERE[0]).notice).endswith("Ask in names of this code, or elsewhere with --all")


def test_the_reason_names_the_words_that_are_nowhere(ask):
    assert (
        "not found in the index: renderer, shaders" in ask("how does the renderer check tokens of shaders with a device").notice
    )


def test_words_that_are_all_there_but_nowhere_together_are_no_answer(index_of, state):
    topics = {
        "orders": "refund ledger",
        "mail": "letter envelope",
        "maps": "route tile",
        "audio": "mixer channel",
        "login": "token",
    }
    files = {
        f"src/{topic}.py": f"def {words.replace(' ', '_')}():\n    # {words} of the {topic} only\n    return {index}\n"
        for index, (topic, words) in enumerate(topics.items())
    }
    snapshot = index_of({**files, **{f"src/part{n}.py": f"def part_{n}():\n    return {n}\n" for n in range(30)}})

    reply = search_code(snapshot, SearchCode(query="does the mixer route a refund envelope by tile and token"), state)

    assert reply.results
    assert reply.weak
    assert "no place has much of the question" in reply.notice


def test_a_long_text_about_another_project_has_a_weak_answer(ask):
    reply = ask(LONG)

    assert reply.weak
    assert reply.results


def test_nothing_at_all_is_weak_too(ask):
    assert ask("zzqxv frobnicate").weak


def test_literals_and_patterns_are_never_weak(ask):
    assert not ask("pipeline cache of shaders", mode="literal").weak
    assert not ask("shaders.*pipeline", mode="regex").weak
