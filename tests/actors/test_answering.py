"""Decisions about a question before its index is asked."""

import msgspec
import pytest

from codecompass.actors.answering import is_about_differences, patience_of, told_freshness
from codecompass.protocol.requests import DiffContext, LocateSymbol, SearchCode
from codecompass.settings import Settings


def test_an_answer_that_waited_for_changes_in_vain_is_stale():
    assert told_freshness("balanced", "syncing") == "stale"
    assert told_freshness("strict", "syncing") == "stale"


def test_an_answer_that_does_not_wait_says_that_a_job_runs():
    assert told_freshness("best_effort", "syncing") == "syncing"


@pytest.mark.parametrize("policy", ["best_effort", "balanced", "strict"])
def test_a_fresh_index_is_fresh_under_every_policy(policy):
    assert told_freshness(policy, "fresh") == "fresh"


def test_waits_are_read_from_the_settings_in_seconds():
    settings = Settings()
    query = msgspec.structs.replace(settings.query, freshness_wait_ms=1500, first_answer_wait_ms=2500, files_answer_after_ms=500)

    patience = patience_of(msgspec.structs.replace(settings, query=query))

    assert (patience.freshness_wait, patience.first_answer_wait, patience.files_answer_after) == (1.5, 2.5, 0.5)


def test_comparisons_alone_need_the_differences_of_git():
    assert is_about_differences(DiffContext())
    assert is_about_differences(SearchCode(query="alpha", changed_since="main"))
    assert not is_about_differences(SearchCode(query="alpha"))
    assert not is_about_differences(LocateSymbol(name="alpha"))
