"""Why a file is or is not among the answers to a search, and at which rank."""

import pytest

from codecompass.protocol.requests import SearchCode
from codecompass.query.search import explain_path, search_code


@pytest.fixture(scope="session")
def why(shop):
    def explained(file, query="rate limiter token bucket", **arguments):
        return explain_path(shop, SearchCode(query=query, **arguments), file)

    return explained


def test_a_file_of_the_page_is_shown_with_its_rank_and_the_factors_of_its_best_place(shop, state, why):
    page = search_code(shop, SearchCode(query="rate limiter token bucket", ranking_explain_level="full"), state)

    for path in {result.path for result in page.results}:
        explained = why(path)
        first = next(index for index, result in enumerate(page.results) if result.path == path)

        assert (explained.verdict, explained.rank) == ("shown", first + 1)
        assert explained.reason == page.metadata.ranking_reasons[first]


def test_a_file_below_the_limit_has_a_rank_too(why):
    explained = why("docs/limits.md", limit=1)

    assert explained.verdict == "below_the_limit"
    assert 1 < explained.rank <= explained.total


def test_the_words_that_a_file_lacks_are_named(why):
    explained = why("docs/limits.md", "rate limiter zebra")

    assert explained.missing_words == ("zebra",)


def test_a_file_without_any_word_of_the_query_does_not_match(why):
    explained = why("native/queue.c", "bucket zebra")

    assert (explained.verdict, explained.rank) == ("no_match", None)
    assert set(explained.missing_words) == {"bucket", "zebra"}


def test_the_end_of_a_path_will_do_where_only_one_file_has_it(why):
    whole = why("docs/limits.md")

    assert why("limits.md") == why("./docs/limits.md") == why("docs\\limits.md") == whole
    assert whole.path == "docs/limits.md"
    assert why("limits.py").verdict == "not_indexed"


def test_the_answer_to_a_search_explains_a_file_where_it_is_asked_to(shop, state, why):
    request = SearchCode(query="rate limiter token bucket", limit=1, why_not="docs/limits.md")
    explained = search_code(shop, request, state)
    plain = search_code(shop, SearchCode(query="rate limiter token bucket", limit=1), state)

    assert explained.metadata.why_not == why("docs/limits.md", limit=1)
    assert explained.results == plain.results
    assert plain.metadata.why_not is None


def test_filters_are_named_as_the_reason(why):
    assert why("shop/limits.py", language="rust").verdict == "filtered_out"
    assert why("shop/limits.py", path="src/**").verdict == "filtered_out"
    assert why("docs/limits.md", kind="class").verdict == "filtered_out"


def test_literal_and_regex_searches_are_explained_too(why):
    assert why("shop/limits.py", "token bucket", mode="literal").verdict == "shown"
    assert why("native/queue.c", "token bucket", mode="literal").verdict == "no_match"


def test_a_file_that_is_not_in_the_index_is_said_to_be_so_with_the_reason_it_was_skipped_for(index_of):
    snapshot = index_of({"a.py": "needle = 1\n", "big.py": b"\x00needle"})

    assert explain_path(snapshot, SearchCode(query="needle"), "nowhere.py").verdict == "not_indexed"
    skipped = explain_path(snapshot, SearchCode(query="needle"), "big.py")
    assert (skipped.verdict, skipped.skip_reason) == ("skipped", "binary")


def test_a_file_that_has_the_words_but_was_not_fetched_is_said_to_be_so(index_of):
    snapshot = index_of({f"f{number:03}.txt": f"needle {'needle ' * (number % 5)}\n" for number in range(400)})
    request = SearchCode(query="needle")
    verdicts = {explain_path(snapshot, request, f"f{number:03}.txt").verdict for number in (0, 5, 395)}

    assert "not_among_the_candidates" in verdicts
