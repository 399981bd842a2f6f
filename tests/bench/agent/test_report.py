"""The table shows, for each kind of task and each system, how often it was right and what that cost."""

from bench.agent.asking import FIRST, Asked
from bench.agent.freshness import FreshAnswer
from bench.agent.report import agent_table, first_table, fresh_table


def asked(system="codecompass", *, rank=1, characters=100, ms=5.0, **more):
    fields = {"set": "nav", "category": "unique", "repo": "shop", "id": "n1", "query": "q", "places": 3, "calls": 1, **more}
    return Asked(system=system, rank=rank, characters=characters, ms=ms, **fields)


def fresh(system="codecompass", verdict="right", settled_ms=0.0):
    fields = {"repo": "shop", "kind": "new file", "files": 1, "round": 0, "order": 1, "tool": "search_code", "name": "n"}
    return FreshAnswer(
        system=system, verdict=verdict, settled_ms=settled_ms, path="a.py", ms=4.0, calls=1, characters=30, **fields
    )


def cells(table, *beginning):
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()]
    return next(row[len(beginning) :] for row in rows if row[: len(beginning)] == [*beginning])


def test_ranks_become_shares_and_costs_medians():
    ours = [
        asked(rank=1, characters=120, same_places=100, n_bytes=120, useful_bytes=90),
        asked(rank=10, characters=300, same_places=100, n_bytes=300, useful_bytes=120),
        asked(rank=11, characters=100, same_places=100, n_bytes=100, useful_bytes=50),
        asked(rank=None, characters=80, n_bytes=80, same_places=0),
    ]

    table = agent_table([*ours, asked("rg", rank=None, characters=7)], [])

    row = cells(table, "nav, unique", "codecompass")
    assert row[:5] == ["4", "0.250", "0.500", "0.750", ""]
    assert row[5:] == ["110", "150", "1.0", "5", "5", "1.20", "1.73", "0.50"]
    assert cells(table, "nav, unique", "rg")[-3:] == ["", "", ""]


def test_answers_after_edits_are_right_or_admit_it_or_do_not():
    rows = [fresh(), fresh(verdict="admitted", settled_ms=90.0), fresh(verdict="silent", settled_ms=None), fresh("rg")]

    table = fresh_table(rows)

    assert cells(table, "new file") == ["3", "1", "1", "1", "4", "4", "90", "1"]
    assert cells(table, "all") == cells(table, "new file")
    assert cells(agent_table([], rows), "names after edits", "codecompass")[:5] == ["3", "0.333", "0.333", "0.333", "1"]


def test_a_first_question_counts_its_first_answer_and_the_time_to_a_right_one():
    rows = [
        asked(set=FIRST, rank=None, admits=True, ms=10.0, right_ms=900.0),
        asked(set=FIRST, rank=None, ms=20.0),
        asked(set=FIRST, rank=2, ms=30.0, right_ms=30.0),
    ]

    assert cells(first_table(rows), "shop") == ["3", "0.333", "20", "30", "30", "900", "1"]
    assert cells(agent_table(rows, []), "first question, unique", "codecompass")[4] == "1"


def test_all_tasks_together_have_a_row_without_first_questions():
    rows = [asked(), asked(set="commits", category="named", rank=None), asked(set=FIRST, rank=None)]

    table = agent_table(rows, [])

    assert cells(table, "all tasks", "codecompass")[:3] == ["2", "0.500", "0.500"]
    assert "all tasks" not in agent_table(rows[:1], [])
