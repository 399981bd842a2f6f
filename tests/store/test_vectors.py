"""The file of vectors: the nearest ones, under filters and after changes; behaviour when it is damaged or in use."""

import os
import stat
from array import array

import pytest

from codecompass.store.housekeeping import remove_project
from codecompass.store.layout import HomeLayout
from codecompass.store.vectors import (
    FileTexts,
    TextPlace,
    VectorsMissing,
    VectorSpace,
    VectorsUnusable,
    embedding_turn,
    vectors_for_reading,
    vectors_for_writing,
)

SPACE = VectorSpace(model="m", dimensions=4, reading="1")


def vector(*numbers: float) -> bytes:
    return array("f", numbers).tobytes()


X, Y, Z = vector(1, 0, 0, 0), vector(0, 1, 0, 0), vector(0.6, 0.8, 0, 0)


@pytest.fixture
def layout(tmp_path):
    made = HomeLayout(tmp_path).project("0123456789abcdef")
    made.root.mkdir(parents=True)
    made.current.write_text("{}")
    return made


@pytest.fixture
def filled(layout):
    with vectors_for_writing(layout, SPACE) as store:
        store.add([(b"x", X), (b"y", Y), (b"z", Z), (b"orphan", X)], refused=[b"r"])
        store.put_files(
            [
                FileTexts("a.py", b"1", (TextPlace(b"x", 1, 3, "fn"), TextPlace(b"z", 5, 9, "class"))),
                FileTexts("b.py", b"2", (TextPlace(b"y", 1, 2, ""), TextPlace(b"r", 3, 4, "fn"))),
            ]
        )
    return layout


def nearest(layout, wanted=X, limit=10, **filters):
    with vectors_for_reading(layout, SPACE) as store:
        return [(each.path, each.line_start, round(each.similarity, 3)) for each in store.nearest(wanted, limit, **filters)]


def test_the_nearest_come_first_with_their_cosine(filled):
    assert nearest(filled) == [("a.py", 1, 1.0), ("a.py", 5, 0.6), ("b.py", 1, 0.0)]
    assert nearest(filled, Y) == [("b.py", 1, 1.0), ("a.py", 5, 0.8), ("a.py", 1, 0.0)]
    assert nearest(filled, limit=1) == [("a.py", 1, 1.0)], "a text that no file has took the place of one"


def test_filters_hold_before_the_nearest_are_chosen(filled):
    assert nearest(filled, limit=1, paths=["b.py", "unknown.py"]) == [("b.py", 1, 0.0)]
    assert nearest(filled, limit=1, kinds=["class"]) == [("a.py", 5, 0.6)]
    assert nearest(filled, paths=["b.py"], kinds=["class"]) == []
    assert nearest(filled, paths=[]) == []


def test_a_file_is_replaced_whole_and_a_text_in_two_places_is_there_once(filled):
    with vectors_for_writing(filled, SPACE) as store:
        store.put_files([FileTexts("b.py", b"3", (TextPlace(b"x", 7, 8, "fn"),))])
        assert store.files() == {"a.py": b"1", "b.py": b"3"}
        assert store.counts().texts == 2

    assert nearest(filled)[:2] == [("a.py", 1, 1.0), ("b.py", 7, 1.0)]


def test_texts_that_were_added_or_refused_are_not_missing(filled):
    with vectors_for_writing(filled, SPACE) as store:
        assert store.missing([b"x", b"r", b"orphan", b"new"]) == {b"new"}


def test_a_text_that_went_away_keeps_its_vector_while_there_is_room(filled):
    with vectors_for_writing(filled, SPACE) as store:
        store.remove_files(["a.py"])
        store.trim(5)
        assert store.missing([b"x", b"orphan"]) == set()
        store.trim(3)
        assert store.missing([b"x", b"y", b"z", b"orphan", b"r"]) == {b"x", b"z"}

    assert nearest(filled) == [("b.py", 1, 0.0)]


@pytest.mark.parametrize("other", [{"model": "n"}, {"dimensions": 3}])
def test_another_space_has_none_of_these_vectors(filled, other):
    space = VectorSpace(**{"model": "m", "dimensions": 4, "reading": "1", **other})

    with pytest.raises(VectorsMissing), vectors_for_reading(filled, space):
        pass
    with vectors_for_writing(filled, space) as store:
        assert (store.files(), store.missing([b"x"])) == ({}, {b"x"})


def test_another_reading_reads_all_files_again_and_keeps_the_vectors(filled):
    with vectors_for_writing(filled, VectorSpace(model="m", dimensions=4, reading="2")) as store:
        assert (store.files(), store.missing([b"x"])) == ({}, set())
        assert not store.has_any()


def test_the_last_error_is_kept_until_it_is_cleared(filled):
    with vectors_for_writing(filled, SPACE) as store:
        store.note_error("timeout")
    with vectors_for_reading(filled, SPACE) as store:
        assert store.counts().last_error == "timeout"


def test_without_an_index_no_vectors_are_made(layout):
    """Work that was in progress must not undo a removal."""
    layout.current.unlink()

    with pytest.raises(VectorsMissing), vectors_for_writing(layout, SPACE):
        pass

    assert not layout.vectors.exists()


@pytest.mark.parametrize("content", [b"no database" * 1000, b""])
def test_a_damaged_file_is_unusable_to_readers_and_made_anew_by_the_writer(filled, content):
    for path in filled.root.glob("vectors.db*"):
        path.unlink()
    filled.vectors.write_bytes(content)

    with pytest.raises((VectorsUnusable, VectorsMissing)), vectors_for_reading(filled, SPACE) as store:
        store.nearest(X, 1)
    with vectors_for_writing(filled, SPACE) as store:
        assert store.files() == {}


def test_one_process_makes_the_vectors_of_a_project(layout):
    with embedding_turn(layout) as first, embedding_turn(layout) as second:
        assert (first, second) == (True, False)
    with embedding_turn(layout) as third:
        assert third


def test_the_file_is_private_and_goes_with_the_project(filled):
    for path in filled.root.glob("vectors.*"):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600, path

    remove_project(filled)

    assert not os.path.lexists(filled.root)
