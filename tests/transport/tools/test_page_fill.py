"""When the page of a question about many projects is full, so that later projects need not be asked."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codecompass.identity import ProjectId
from codecompass.projects.selection import SelectedProject
from codecompass.protocol.replies import LocateSymbolReply, Result, SearchCodeReply, SearchEvidence
from codecompass.query.locate import SURE_MATCHES
from codecompass.query.merging import NAME_MATCHES, WorkspacePart, merged_results
from codecompass.store.registry import Project
from codecompass.transport.tools import project_answers
from codecompass.transport.tools.project_answers import PageFill, ProjectAnswer
from tests.transport.sample_tools import METADATA

pytestmark = pytest.mark.invariant(of="test_what_one_query_leaves_out_has_no_answer")

ALWAYS_ASKED = 3
ASKED_FOR_SIMILAR = 8


@pytest.fixture(autouse=True)
def few_are_enough(monkeypatch):
    monkeypatch.setattr(project_answers, "ALWAYS_ASKED", ALWAYS_ASKED)
    monkeypatch.setattr(project_answers, "ASKED_FOR_SIMILAR", ASKED_FOR_SIMILAR)


def answer(reply):
    project = Project(
        project_id=ProjectId("0123456789abcdef"),
        alias=None,
        root=Path("/w"),
        is_auto_discovered=False,
        is_default=False,
        created_at=0.0,
        last_used_at=0.0,
    )
    return ProjectAnswer(SelectedProject(project, "w"), reply)


def located(*matches):
    results = tuple(Result(path=f"{number}.py", line_start=1, line_end=1, match=match) for number, match in enumerate(matches))
    return LocateSymbolReply(results=results, total_candidates=len(matches), metadata=METADATA)


def found(n_hits, evidence=None):
    results = tuple(Result(path=f"{number}.py", line_start=1, line_end=1) for number in range(n_hits))
    return SearchCodeReply(results=results, query_intent="literal", total_candidates=n_hits, metadata=METADATA, evidence=evidence)


def asked(replies, limit):
    """Returns the replies of the projects that are asked, one after the other; of some only what has exactly the name."""
    page, those = PageFill(limit), []
    for reply in replies:
        if page.needs_no_more():
            break
        if page.has_enough_similar() and isinstance(reply, LocateSymbolReply):
            reply = located(*(result.match for result in reply.results if result.match in SURE_MATCHES))
        page.add(answer(reply))
        those.append(reply)
    return those


def page_of(replies, limit):
    parts = [WorkspacePart(str(number), reply) for number, reply in enumerate(replies)]
    return merged_results(parts, limit).results


names = st.lists(st.sampled_from(NAME_MATCHES), max_size=3).map(lambda matches: located(*sorted(matches, key=NAME_MATCHES.index)))
lines = st.integers(0, 3).map(found)


@given(st.one_of(st.lists(names, max_size=20), st.lists(lines, max_size=20)), st.integers(1, 6))
def test_the_page_is_that_of_all_projects(replies, limit):
    """Similar names fill it only where no exact ones are left."""
    page, whole = page_of(asked(replies, limit), limit), page_of(replies, limit)

    assert len(page) == len(whole)
    assert [each for each in page if each.match in SURE_MATCHES] == [each for each in whole if each.match in SURE_MATCHES]
    if len(replies) <= ASKED_FOR_SIMILAR:
        assert page == whole


@given(st.lists(st.integers(0, 9), max_size=12), st.integers(1, 6), st.integers(1, 5))
def test_what_projects_do_not_show_is_beyond_the_page_and_the_hit_after_it(counts, limit, n_at_once):
    """So many are asked at once, none of which knows what the others have."""
    page, shown = PageFill(limit), []
    for start in range(0, len(counts), n_at_once):
        replies = [found(min(count, page.room())) for count in counts[start : start + n_at_once]]
        shown += replies
        for reply in replies:
            page.add(answer(reply))

    whole = [found(min(count, limit)) for count in counts]
    assert page_of(shown, limit + 1) == page_of(whole, limit + 1)


def test_a_project_shows_less_the_more_others_have():
    page, rooms = PageFill(6), []
    for _ in range(8):
        rooms.append(page.room())
        page.add(answer(found(min(9, page.room()))))

    assert rooms == [6, 4, 3, 2, 2, 2, 1, 1]


def test_enough_projects_with_hits_fill_the_page_and_no_fewer():
    assert len(asked([found(1)] * 20, limit=5)) == 5
    assert len(asked([found(9)] * 20, limit=5)) == 5
    assert len(asked([found(0), found(1)] * 20, limit=5)) == 10


def test_some_are_asked_even_if_the_page_is_full():
    assert len(asked([found(9)] * 20, limit=1)) == ALWAYS_ASKED


def test_after_similar_names_all_projects_are_asked_for_exact_ones():
    assert asked([located("similar")] * 20, limit=2) == [located("similar")] * ASKED_FOR_SIMILAR + [located()] * 12
    assert asked([*[located("similar")] * 19, located("exact")], limit=2)[-1] == located("exact")
    assert len(asked([located("exact")] * 20, limit=4)) == 4
    assert len(asked([*[located("similar")] * 4, *[located("exact")] * 20], limit=2)) == 6


def test_all_are_asked_if_there_is_no_page_or_their_hits_are_compared():
    evidence = SearchEvidence(n_texts=1, words=(), hits=())

    assert len(asked([found(1)] * 20, limit=None)) == 20
    assert len(asked([found(1, evidence)] * ASKED_FOR_SIMILAR, limit=1)) == ASKED_FOR_SIMILAR
