"""Ranks and figures of the evaluation, compared with values calculated by hand."""

from math import inf

import pytest

from bench.lexicon.data_file import Relation
from bench.lexicon.evaluation import Expansion, Sentence, compare, figures, held_out, rank_of
from bench.lexicon.records import ChangeWords, DefinitionWords

RELATIONS = {"delet": [Relation("remov", 0.5)]}


def definition(name, doc, *body):
    return DefinitionWords("a.py", name, tuple(name.split("_")), tuple(doc.split()), body)


DEFINITIONS = [
    definition("remove_row", "drops one row of a table", "row", "table"),
    definition("print_table", "prints all rows of a table", "table", "row", "line"),
    definition("open_file", "opens", "path"),
    DefinitionWords("a.py", "Table", ("table",), ("holds", "rows", "of", "data"), ()),
]


def asked(*changes):
    return held_out(DEFINITIONS, changes)


def test_types_do_not_compete_and_short_comments_are_not_asked():
    repository = asked()

    assert repository.n_functions == 3
    assert [sentence.right for sentence in repository.comments] == [frozenset({0}), frozenset({1})]


def test_a_commit_is_right_at_the_functions_that_are_still_there():
    there = ChangeWords(("delete", "rows"), (("a.py", "remove_row"), ("a.py", "gone")), ("row",))
    gone = ChangeWords(("delete", "more", "rows"), (("b.py", "remove_row"),), ("row",))

    assert asked(there, gone).commits == (Sentence(("delet", "row"), frozenset({0})),)


def test_comments_are_hidden_where_they_are_the_question():
    repository = asked()

    assert 0 in repository.with_comments["drop"]
    assert "drop" not in repository.without_comments


@pytest.mark.parametrize(
    ("said", "right", "expansion", "rank"),
    [
        (("open",), 2, None, 1),
        (("open",), 0, None, inf),
        (("tabl",), 0, None, 2),  # in another name
        (("row",), 1, None, 2),
        (("delet", "lin"), 0, None, inf),
        (("delet",), 0, Expansion(0.4, 8), 1),
        (("delet",), 0, Expansion(0.4, 0), inf),
        (("delet", "remov"), 0, Expansion(0.4, 8), 1),
    ],
)
def test_the_rank_of_the_right_function(said, right, expansion, rank):
    repository = asked()

    assert rank_of(Sentence(said, frozenset({right})), repository.with_comments, 3, RELATIONS, expansion) == rank


def test_equal_functions_share_the_mean_of_their_ranks():
    table = {"row": {0: 1.0, 1: 1.0, 2: 1.0}}

    assert rank_of(Sentence(("row",), frozenset({1})), table, 4, {}, None) == 2


def test_figures_of_ranks():
    found = figures([1, 2, 10, 11, inf])

    assert found.n == 5
    assert found.reciprocal_rank == round((1 + 1 / 2 + 1 / 10 + 1 / 11) / 5, 4)
    assert (found.first, found.in_ten) == (0.2, 0.6)
    assert figures([]).reciprocal_rank == 0


def test_sentences_with_few_shared_words_are_counted_apart():
    few = ChangeWords(("delete", "everything"), (("a.py", "remove_row"),), ("row",))
    many = ChangeWords(("open", "file", "path"), (("a.py", "open_file"),), ("path",))

    plain, _ = compare([asked(few, many)], RELATIONS, None)
    expanded, _ = compare([asked(few, many)], RELATIONS, Expansion(0.4, 8))

    assert (plain.all.n, plain.few_shared.n) == (2, 1)
    assert (plain.few_shared.first, expanded.few_shared.first) == (0.0, 1.0)
    assert (plain.all.first, expanded.all.first) == (0.5, 1.0)
