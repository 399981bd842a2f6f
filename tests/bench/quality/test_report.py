"""Tables of a quality run: groups, published figures next to ours, and changes since an earlier run."""

from bench.quality.data import Answer, Hit, Target, Truth
from bench.quality.report import (
    ablation_table,
    judge_searches,
    published_table,
)


def truth(number: int, repo: str = "shop", language: str = "go", category: str = "semantic") -> Truth:
    return Truth(
        id=f"{repo}-{number}",
        repo=repo,
        language=language,
        query=f"question {number}",
        category=category,
        relevant=(Target(path=f"right{number}"),),
    )


def answer(number: int, *paths: str, repo: str = "shop") -> Answer:
    return Answer(repo=repo, query=f"question {number}", results=tuple(Hit(path=path) for path in paths), ms=1.0)


def test_a_query_without_an_answer_scores_zero():
    judged = judge_searches([truth(1), truth(2)], [answer(1, "right1")])

    assert [item.score.ndcg for item in judged] == [1.0, 0.0]


def test_an_answer_belongs_to_its_repository_and_query():
    judged = judge_searches([truth(1, repo="one"), truth(1, repo="two")], [answer(1, "right1", repo="two")])

    assert [item.score.ndcg for item in judged] == [0.0, 1.0]


def test_published_systems_stand_beside_ours_over_the_common_repositories():
    judged = judge_searches([truth(1), truth(1, repo="unknown")], [answer(1, "right1")])
    published = {"shop": {"theirs": 0.5}, "elsewhere": {"theirs": 0.1}}

    lines = published_table(judged, published).splitlines()

    assert [line.split() for line in lines[2:]] == [
        ["codecompass,", "this", "run", "1.000", "1"],
        ["theirs", "0.500", "1"],
    ]


def test_an_ablation_shows_what_is_lost_without_each_signal_the_greatest_loss_first():
    truths = [truth(1), truth(2, category="symbol")]
    whole = judge_searches(truths, [answer(1, "right1"), answer(2, "right2")])
    without = {
        "little": judge_searches(truths, [answer(1, "right1"), answer(2, "x", "right2")]),
        "much": judge_searches(truths, [answer(1, "x"), answer(2, "right2")]),
        "nothing at all": whole,
    }

    rows = [line.split("  ") for line in ablation_table(whole, without).splitlines()]
    cells = [[cell.strip() for cell in row if cell.strip()] for row in rows]

    assert cells[0] == ["without", "overall", "semantic", "symbol"]
    assert cells[2:] == [
        ["nothing", "1.000", "1.000", "1.000"],
        ["much", "-0.500", "-1.000", "+0.000"],
        ["little", "-0.185", "+0.000", "-0.369"],
        ["nothing at all", "+0.000", "+0.000", "+0.000"],
    ]
