"""A scan reads its candidates in the order of the answer, and no more of them than needed."""

import pytest

from codecompass.protocol.requests import SearchCode
from codecompass.query import QueryOptions, search_code
from codecompass.query.words.exact_scan import in_order
from codecompass.store.file_table import FEW_IN_ORDER
from codecompass.store.text_queries import Narrowing, TermPattern

HAS_NEEDLE = Narrowing(alternatives=(((TermPattern("body", ("needle",)),),),), is_everything=False)

FILES = {
    "third_party/a.py": "needle\n",
    "tests/test_b.py": "needle\n",
    "docs/c.md": "needle\n",
    "src/z.py": "needle\n",
    "src/a.py": "needle\n" + "\n" * 100 + "x = needle\n",
    "src/m.py": "import needle\n" + "\n" * 100 + "def needle():\n    pass\n",
    "tests/test_a.py": "def needle():\n    pass\n",
    "none.py": "nothing\n",
}


def paths_in_order(snapshot):
    held = snapshot.text.chunks_holding(HAS_NEEDLE)
    paths = dict(snapshot.facts.paths())
    definitions = snapshot.facts.symbols_named("needle", 10)
    places = [held.place(number) for number in in_order(snapshot, held, definitions)]
    return [(paths[place.file_id], place.line_start > 1) for place in places]


def test_product_code_comes_first_and_in_it_the_definition(index_of):
    assert paths_in_order(index_of(FILES)) == [
        ("src/m.py", True),
        ("src/a.py", False),
        ("src/a.py", True),
        ("src/m.py", False),
        ("src/z.py", False),
        ("docs/c.md", False),
        ("tests/test_a.py", False),
        ("tests/test_b.py", False),
        ("third_party/a.py", False),
    ]


def test_more_files_than_are_looked_up_one_by_one_come_in_the_same_order(index_of):
    count = FEW_IN_ORDER + 10
    files = {f"{'src' if number % 2 else 'tests'}/{number:05}.txt": "needle\n" for number in range(count)}

    snapshot = index_of(files)
    found = [path for path, _ in paths_in_order(snapshot)]

    assert found == sorted(files, key=lambda path: (path.startswith("tests/"), path))
    ids = [file_id for file_id, _ in snapshot.facts.paths()][::3]
    assert list(snapshot.in_order(ids)) == list(snapshot.facts.in_order(ids))


@pytest.fixture
def many(index_of):
    return index_of({f"{number:03}.txt": "needle\n" * 10 for number in range(50)})


def test_when_the_page_is_full_the_rest_is_counted_up_to_a_bound(many, state):
    looks = []

    def reply(counted):
        looks.clear()
        settings = QueryOptions(counted_lines=counted)
        request = SearchCode(query="needle", mode="literal", limit=3)
        return search_code(many, request, state, settings, lambda: bool(looks.append(1)))

    everything, bounded = reply(1000), reply(100)

    assert everything.total_candidates == 500
    assert everything.metadata.warnings == ()
    assert len(looks) < 15
    assert bounded.total_candidates == 100
    assert (everything.is_counted, bounded.is_counted) == (True, False)
    assert bounded.metadata.result_completeness == everything.metadata.result_completeness == "complete"
    assert bounded.results == everything.results


def test_a_page_that_is_not_full_is_not_ended_by_the_count(many, state):
    request = SearchCode(query="needle", mode="literal", limit=50)

    assert len(search_code(many, request, state, QueryOptions(counted_lines=1)).results) == 50


def test_for_a_suggestion_only_some_of_the_text_is_looked_through(index_of, state, monkeypatch):
    snapshot = index_of({**{f"{number}.txt": "thread needle\n" for number in range(8)}, "8.txt": "needle thread\n"})
    request = SearchCode(query="Needle thread", mode="literal")

    def suggested(looks):
        monkeypatch.setattr("codecompass.query.search.NEAR_MISS_LOOKS", looks)
        return [action.mode for action in search_code(snapshot, request, state).suggested_next_actions]

    assert suggested(9) == ["regex", ""]
    assert suggested(3) == [""]


def test_an_answer_that_is_merged_with_others_suggests_nothing_of_its_own(index_of, state):
    snapshot = index_of({"a.py": "HEADER = 1\n"})
    request = SearchCode(query="header", mode="literal")

    alone = search_code(snapshot, request, state)
    part = search_code(snapshot, request, state, QueryOptions(n_merged=2))

    assert [action.mode for action in alone.suggested_next_actions] == ["regex", ""]
    assert part.suggested_next_actions == ()
    assert (part.results, part.total_candidates) == (alone.results, alone.total_candidates) == ((), 0)
