"""What a query with `type:` asks of the history: times, words, and what is refused."""

import pytest

from codecompass.errors import InvalidInput
from codecompass.protocol.requests import SearchCode
from codecompass.query.commit_question import asks_for_commits, commit_question
from codecompass.query.query_language import parse_query

NOW = 1_714_564_800.0
"""2024-05-01T12:00:00Z."""

DAY = 86_400
MIDNIGHT = int(NOW) - DAY // 2


def asked(query, **arguments):
    return commit_question(SearchCode(query=query, **arguments), NOW)


@pytest.mark.parametrize("query", ["type:commit", "fix type:diff", 'type:diff "a phrase" author:ada'])
def test_a_query_with_a_type_asks_for_commits(query):
    assert asks_for_commits(SearchCode(query=query))


@pytest.mark.parametrize(
    "query", ["type: commit", "type:file x", "type:commit\nand more", "author:ada since:2024", "mytype:diff"]
)
def test_any_other_query_searches_code_as_it_is_written(query):
    assert not asks_for_commits(SearchCode(query=query))
    assert parse_query(query).query == query


def test_a_query_in_another_mode_is_taken_as_it_stands():
    assert not asks_for_commits(SearchCode(query="type:commit", mode="literal"))


@pytest.mark.parametrize(
    ("filters", "since", "until"),
    [
        ("", None, None),
        ("since:2024-05-01", MIDNIGHT, None),
        ("after:2024-05-01", MIDNIGHT, None),
        ("until:2024-05-01", None, MIDNIGHT + DAY - 1),
        ("before:2024-05-01", None, MIDNIGHT - 1),
        ("until:2024-04 before:2024-05-03", None, MIDNIGHT - 1),
        ("since:2024 until:2024", 1_704_067_200, 1_735_689_599),
        ("since:2023-12 until:2023-12", 1_701_388_800, 1_704_067_199),
        ("since:2weeks", int(NOW) - 14 * DAY, None),
        ('since:"3 days ago"', int(NOW) - 3 * DAY, None),
        ("since:yesterday until:yesterday", MIDNIGHT - DAY, MIDNIGHT - 1),
        ("since:2024-05-01T10:00Z", MIDNIGHT + 10 * 3600, None),
        ("since:2024-05-01T10:00+02:00", MIDNIGHT + 8 * 3600, None),
        ("until:9999-12-31", None, 253_402_214_399 + DAY - DAY),
    ],
)
def test_times_are_days_months_years_moments_or_how_long_ago(filters, since, until):
    question = asked(f"type:commit {filters} x")

    assert (question.since, question.until) == (since, until)


@pytest.mark.parametrize("value", ["tomorrow", "2024-13", "2024-02-31", "0000", "soon", "99999years", "1e9", "--output=x"])
def test_a_time_that_cannot_be_read_is_refused_with_how_to_write_one(value):
    if value == "99999years":
        assert asked(f"type:commit since:{value}").since == 0
        return
    with pytest.raises(InvalidInput, match="2024-05-01"):
        asked(f"type:commit since:{value}")


def lines(query, text):
    found = asked(query).sought(text)
    return None if found is None else [line for line, _, _ in found]


def test_each_word_has_to_occur_and_lines_with_more_of_them_come_first():
    text = "Retry uploads\nthe proxy fails\nretry the PROXY"

    assert lines("type:commit retry proxy", text) == [2, 0, 1]
    assert lines("type:commit retry absent", text) is None
    assert lines("type:commit", text) == []
    assert lines("type:commit case:yes PROXY", text) == [2]
    assert lines('type:commit "the proxy"', text) == [1, 2]
    assert lines("type:commit /^re.*y$/", text) == [2]
    assert lines("type:commit case:yes /^re.*Y$/", text) == [2]


def test_a_pattern_that_is_none_is_refused():
    with pytest.raises(InvalidInput, match="regular expression"):
        asked("type:diff /a(/")


def test_what_means_nothing_of_commits_is_said_or_refused():
    assert "lang:" in asked("type:diff lang:py x").warnings[0]
    assert "kind" in asked("type:diff x", kind="fn").warnings[0]
    assert not asked("type:diff file:src/ x").warnings
    for arguments in ({"changed_since": "main"}, {"why_not": "a.py"}):
        with pytest.raises(InvalidInput, match=next(iter(arguments))):
            asked("type:diff x", **arguments)
    with pytest.raises(InvalidInput, match="workspace"):
        asked("type:diff repo:api x")


def test_a_filter_replaces_the_argument_for_the_same_thing():
    assert asked("type:diff x", path="lib/**").path == "lib/**"
    assert asked("type:diff file:^src/ x", path="lib/**").path == "/src/**"
