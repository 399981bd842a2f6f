"""Merges the hits of several workspaces into one ranking."""

import pytest
from msgspec.structs import replace

from codecompass.protocol.metadata import Metadata, RankingReason
from codecompass.protocol.replies import HitEvidence, LocateSymbolReply, Result, SearchCodeReply, SearchEvidence, WordEvidence
from codecompass.query.merging import WorkspacePart, asked_words, merged_results, most_promising

METADATA = Metadata(
    codecompass_protocol_version="1.0",
    freshness_status="fresh",
    indexing_status="ready",
    result_completeness="complete",
    ref="main",
    schema_status="compatible",
    workspace="/srv/x",
    project_id="x",
)
WORDS = ("retry", "delay")


def found(label, *hits, frequencies=(1, 1), n_texts=100):
    """Returns a reply with hits given as (name, score, how well it matches each word)."""
    return WorkspacePart(
        label,
        SearchCodeReply(
            results=tuple(Result(path=f"{name}.py", line_start=1, line_end=2, name=name) for name, _, _ in hits),
            query_intent="natural_language",
            total_candidates=len(hits),
            metadata=METADATA,
            evidence=evidence(*[(score, has) for _, score, has in hits], frequencies=frequencies, n_texts=n_texts),
        ),
    )


def evidence(*hits, frequencies=(1, 1), n_texts=100):
    words = tuple(WordEvidence(word, 1.0, frequency) for word, frequency in zip(WORDS, frequencies, strict=True))
    return SearchEvidence(n_texts, words, tuple(HitEvidence(score, has) for score, has in hits))


def order(parts, limit=10):
    return [(result.project, result.name) for result in merged_results(parts, limit).results]


def test_a_hit_with_more_of_the_question_comes_before_the_best_of_a_workspace_with_less():
    some = found("some", ("loop", 3.0, (1.0, 0.0)), frequencies=(5, 0))
    all_of_it = found("all", ("retry_delay", 3.0, (1.0, 1.0)), ("retry", 1.0, (1.0, 0.0)))

    assert order([some, all_of_it])[0] == ("all", "retry_delay")
    assert order([found("some", ("loop", 9.0, (1.0, 0.0)), frequencies=(5, 0)), all_of_it])[1] == ("some", "loop")


def test_a_word_is_weighed_by_how_rare_it_is_over_all_workspaces():
    """`retry` occurs in nearly every text of one workspace, so a match says little, although the word is rare in the other."""
    common = found("common", ("retry_it", 3.0, (1.0, 0.0)), frequencies=(90, 1))
    rare = found("rare", ("delay_it", 3.0, (0.0, 1.0)), frequencies=(1, 1))

    assert order([common, rare])[0] == ("rare", "delay_it")


def test_the_order_inside_a_workspace_holds_among_hits_that_have_the_same():
    part = found("one", ("first", 3.0, (1.0, 1.0)), ("second", 2.0, (1.0, 1.0)), ("third", 1.0, (1.0, 1.0)))

    assert [name for _, name in order([part])] == ["first", "second", "third"]


def test_a_page_has_as_many_as_asked_for_and_ties_in_the_order_of_the_workspaces():
    parts = [found(label, ("same", 1.0, (1.0, 1.0))) for label in ("b", "a", "c")]

    assert order(parts, limit=2) == [("b", "same"), ("a", "same")]


def test_names_are_ordered_by_how_well_they_fit_then_by_their_place():
    def located(label, *matches):
        results = tuple(
            Result(path="x.py", line_start=1, line_end=1, name=f"{label}{number}", match=match)
            for number, match in enumerate(matches)
        )
        return WorkspacePart(label, LocateSymbolReply(results=results, total_candidates=len(results), metadata=METADATA))

    parts = [located("a", "parts", "similar"), located("b", "exact", "exact"), located("c", "exact", "case")]

    assert [name for _, name in order(parts)] == ["b0", "c0", "b1", "c1", "a0", "a1"]


def test_hits_without_evidence_come_from_each_workspace_in_turns():
    def lines(label, count):
        results = tuple(Result(path="x.py", line_start=n, line_end=n, name=f"{label}{n}") for n in range(count))
        return WorkspacePart(
            label, SearchCodeReply(results=results, query_intent="symbol", total_candidates=count, metadata=METADATA)
        )

    assert [name for _, name in order([lines("a", 3), lines("b", 1)])] == ["a0", "b0", "a1", "a2"]


def test_the_reasons_of_a_hit_follow_it():
    reason = RankingReason(result_index=0, exact_match_boost=0.0, path_affinity=0.5, definition_boost=0.0, final_score=0.5)
    low = found("low", ("retry", 1.0, (1.0, 0.0)))
    explained = WorkspacePart("low", replace(low.reply, metadata=replace(METADATA, ranking_reasons=(reason,))))
    merged = merged_results([explained, found("high", ("retry_delay", 3.0, (1.0, 1.0)))], 10)

    assert [(each.result_index, each.path_affinity) for each in merged.reasons] == [(1, 0.5)]


@pytest.mark.parametrize("count", [1, 2])
def test_the_workspaces_with_most_of_the_question_are_the_most_promising(count):
    nothing = evidence(frequencies=(0, 0))
    most = evidence((1.0, (1.0, 0.8)))
    whole = evidence((1.0, (1.0, 1.0)))

    assert most_promising([nothing, most, whole], count) == [2, 1][:count]


def test_a_workspace_with_much_less_of_the_question_than_the_best_one_is_not_searched():
    half = evidence((1.0, (1.0, 0.0)), frequencies=(9, 0))
    whole = evidence((1.0, (1.0, 1.0)))

    assert most_promising([half, whole], 2) == [1]
    assert most_promising([half, half], 2) == [0, 1]


def test_a_workspace_that_has_no_word_of_the_question_is_not_searched():
    assert most_promising([evidence(frequencies=(0, 0))], 5) == []


def test_of_workspaces_with_all_words_the_one_with_the_text_itself_is_the_most_promising():
    whole = evidence((3.0, (1.0, 1.0)))

    assert most_promising([whole, replace(whole, quoted=1.0)], 2) == [1]
    assert most_promising([whole, replace(whole, quoted=0.2)], 2) == [1, 0]


def test_workspaces_are_compared_by_the_words_that_weigh_most_in_a_long_text_not_by_its_first_ones():
    padding = " ".join(f"remark{letter}{other}" for letter in "abcdefgh" for other in "abcdefgh")
    text = f"The export ends too early\n\n{padding}.\n\nI think that `ExportQueue` loses what `drain_all` returns.\n"

    words = {word.text for word in asked_words(text)}

    assert {"export", "early", "exportqueue", "drain"} <= words
