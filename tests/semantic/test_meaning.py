"""How places close in meaning are joined with those found by words, on a real snapshot with constructed vectors."""

import math
from array import array

import pytest

from codecompass.protocol.metadata import AnswerState
from codecompass.protocol.requests import GetCodeContext, LocateSymbol, SearchCode
from codecompass.query.options import QueryOptions
from codecompass.query.search import find, search_code
from codecompass.query.semantic_search import JOINED, QuestionMeaning, question_of
from codecompass.store.vectors import FileTexts, TextPlace, VectorSpace, vectors_for_writing
from tests.support.workspace import TestWorkspace

SPACE = VectorSpace(model="m", dimensions=2, reading="1")

FILES = {
    "app/carts.py": "def add_to_cart(item):\n    cart.append(item)\n\n\ndef empty_cart():\n    cart.clear()\n",
    "app/users.py": "class User:\n    def rename(self, name):\n        self.name = name\n",
    "app/util.rs": "pub fn shorten(text: &str) -> String {\n    text.into()\n}\n",
    "tests/test_carts.py": "def test_cart():\n    assert empty_cart() is None\n",
    "notes.md": "# Notes\n\nSome words about carts.\n",
}


def towards(similarity: float) -> bytes:
    """Returns a vector with this cosine similarity to QUESTION."""
    return array("f", [similarity, math.sqrt(1 - similarity * similarity)]).tobytes()


QUESTION = towards(1.0)


@pytest.fixture
async def workspace(tmp_path):
    made = TestWorkspace(tmp_path / "tree", tmp_path / "home")
    made.write(FILES)
    await made.sync()
    return made


def put(workspace: TestWorkspace, near: dict[tuple[str, int, int, str], float], **other_content: bytes) -> None:
    """Writes vectors for {(path, first line, last line, kind): similarity to the question}."""
    with workspace.index.snapshot() as snapshot, vectors_for_writing(workspace.layout, SPACE) as store:
        by_path: dict[str, list[TextPlace]] = {}
        for number, (place, similarity) in enumerate(near.items()):
            path, first, last, kind = place
            text_hash = number.to_bytes(16, "big")
            store.add([(text_hash, towards(similarity))])
            by_path.setdefault(path, []).append(TextPlace(text_hash, first, last, kind))
        for path, places in by_path.items():
            row = snapshot.facts.file(path)
            content = other_content.get("content") or (row.content_hash if row else b"gone")
            store.put_files([FileTexts(path, content, tuple(places))])


def meaning(workspace: TestWorkspace, **changes) -> QuestionMeaning:
    return QuestionMeaning(**{"layout": workspace.layout, "space": SPACE, "vector": QUESTION, "least": 0.2, **changes})


def places(workspace: TestWorkspace, query: str, *, with_meaning: QuestionMeaning | None, limit: int = 10, **filters):
    with workspace.index.snapshot() as snapshot:
        hits = find(snapshot, SearchCode(query=query, **filters), limit, QueryOptions(meaning=with_meaning))
        shown = [(hit.place.file.path, hit.place.line_start, hit.place.signals.meaning) for hit in hits.shown]
        scores = [hit.place.score for hit in hits.shown]
        assert scores == sorted(scores, reverse=True)
        return shown, hits.warnings


SHORTEN = ("app/util.rs", 1, 3, "fn")
EMPTY = ("app/carts.py", 5, 6, "fn")
USER = ("app/users.py", 1, 3, "class")


async def test_what_words_do_not_find_stands_among_what_they_find(workspace):
    put(workspace, {SHORTEN: 0.9})
    by_words, _ = places(workspace, "carts", with_meaning=None)

    joined, warnings = places(workspace, "carts", with_meaning=meaning(workspace))

    n_files = len({path for path, _, _ in by_words})
    assert joined[n_files] == ("app/util.rs", 1, 0.9)
    assert [place for place in joined if place[0] != "app/util.rs"] == by_words
    assert warnings == ()


async def test_a_place_that_both_rankings_have_is_shown_once_and_rises(workspace):
    by_words, _ = places(workspace, "cart words", with_meaning=None)
    last = by_words[-1]
    put(workspace, {EMPTY: 0.9, ("notes.md", 1, 3, ""): 0.8})

    joined, _ = places(workspace, "cart words", with_meaning=meaning(workspace))

    assert len({(path, line) for path, line, _ in joined}) == len(joined)
    assert last not in joined[:1]
    assert ("app/carts.py", 5, 0.9) in joined
    assert [near for path, _, near in joined if path == "notes.md"] == [0.8]


async def test_a_question_without_a_known_word_is_answered_by_meaning_alone_and_says_so(workspace):
    put(workspace, {SHORTEN: 0.9, USER: 0.5})

    joined, warnings = places(workspace, "abridge a phrase", with_meaning=meaning(workspace))
    with workspace.index.snapshot() as snapshot:
        hits = find(snapshot, SearchCode(query="abridge a phrase"), 10, QueryOptions(meaning=meaning(workspace)))

    assert joined == [("app/util.rs", 1, 0.9), ("app/users.py", 1, 0.5)]
    assert warnings == ()
    assert hits.notice == "no word of the query occurs in the index: abridge, phrase"


async def test_a_text_that_is_not_near_enough_is_no_answer(workspace):
    put(workspace, {SHORTEN: 0.9, USER: 0.19})

    joined, _ = places(workspace, "abridge a phrase", with_meaning=meaning(workspace))

    assert joined == [("app/util.rs", 1, 0.9)]


async def test_tests_come_after_product_code_that_is_as_near(workspace):
    put(workspace, {("tests/test_carts.py", 1, 2, "fn"): 0.9, SHORTEN: 0.7})

    joined, _ = places(workspace, "abridge a phrase", with_meaning=meaning(workspace))

    assert [path for path, _, _ in joined] == ["app/util.rs", "tests/test_carts.py"]


async def test_a_page_shows_several_files_before_a_second_place_of_one(workspace):
    put(workspace, {("app/carts.py", 1, 2, "fn"): 0.9, EMPTY: 0.8, SHORTEN: 0.5})

    joined, _ = places(workspace, "abridge a phrase", with_meaning=meaning(workspace))

    assert [path for path, _, _ in joined] == ["app/carts.py", "app/util.rs", "app/carts.py"]


async def test_a_vector_of_other_content_is_never_shown(workspace):
    put(workspace, {SHORTEN: 0.9, ("gone.py", 1, 2, "fn"): 0.9}, content=b"of yesterday")

    joined, _ = places(workspace, "abridge a phrase", with_meaning=meaning(workspace))

    assert joined == []


async def test_a_definition_that_is_not_where_its_vector_says_is_not_shown(workspace):
    put(workspace, {("app/util.rs", 1, 2, "fn"): 0.9, ("app/users.py", 1, 3, "fn"): 0.9})

    joined, _ = places(workspace, "abridge a phrase", with_meaning=meaning(workspace))

    assert joined == []


@pytest.mark.parametrize(
    ("filters", "wanted"),
    [
        ({"path": "app/*.rs"}, ["app/util.rs"]),
        ({"language": "python"}, ["app/users.py"]),
        ({"kind": "class"}, ["app/users.py"]),
        ({"kind": "fn"}, ["app/util.rs"]),
        ({"path": "tests/**"}, []),
    ],
)
async def test_filters_hold(workspace, filters, wanted):
    put(workspace, {SHORTEN: 0.9, USER: 0.5, ("notes.md", 1, 3, ""): 0.4})

    joined, _ = places(workspace, "abridge a phrase", with_meaning=meaning(workspace), **filters)

    assert [path for path, _, _ in joined] == wanted


async def test_of_a_file_that_both_rankings_have_the_other_definition_is_named_beside(workspace):
    put(workspace, {("app/users.py", 2, 3, "method"): 0.9, EMPTY: 0.8})
    with workspace.index.snapshot() as snapshot:
        request = SearchCode(query="append an item to the cart")
        (first, *_) = find(snapshot, request, 1, QueryOptions(meaning=meaning(workspace)), page=10).shown

    assert (first.place.file.path, first.place.symbol.name) == ("app/carts.py", "add_to_cart")
    assert "empty_cart" in [row.name for row in first.place.also]


async def test_places_beyond_the_fusion_keep_their_order_below_it(tmp_path):
    workspace = TestWorkspace(tmp_path / "tree", tmp_path / "home")
    names = [f"m{number:02}.py" for number in range(JOINED + 15)]
    workspace.write({name: f"def ship_{name[:-3]}():\n    parcel()\n" for name in names} | {"app/util.rs": FILES["app/util.rs"]})
    await workspace.sync()
    put(workspace, {SHORTEN: 0.9})

    by_words, _ = places(workspace, "ship a parcel", with_meaning=None, limit=100)
    joined, _ = places(workspace, "ship a parcel", with_meaning=meaning(workspace), limit=100)

    assert [place for place in joined if place[2] == 0.0] == by_words
    assert joined.index(("app/util.rs", 1, 0.9)) == 7


async def test_without_a_vector_the_answer_is_that_of_the_words_with_a_warning(workspace):
    put(workspace, {SHORTEN: 0.9})
    request = SearchCode(query="carts", ranking_explain_level="full")
    state = AnswerState(workspace=str(workspace.root), project_id="p", ref="main")
    unavailable = meaning(workspace, vector=b"", unavailable="semantic: unavailable (timeout)")
    with workspace.index.snapshot() as snapshot:
        plain = search_code(snapshot, request, state)
        failed = search_code(snapshot, request, state, QueryOptions(meaning=unavailable))

    assert failed.metadata.warnings == ("semantic: unavailable (timeout)",)
    assert failed.results == plain.results
    assert failed.metadata.ranking_reasons == plain.metadata.ranking_reasons


async def test_a_file_of_vectors_that_cannot_be_read_costs_a_warning(workspace):
    workspace.layout.vectors.write_bytes(b"no database" * 1000)

    joined, warnings = places(workspace, "carts", with_meaning=meaning(workspace))

    assert joined
    assert warnings == ("semantic: unavailable (store: NotADBError)",)


@pytest.mark.parametrize(
    ("request_", "wanted"),
    [
        (SearchCode(query='"how are carts emptied"'), ""),
        (SearchCode(query="how are carts emptied"), "how are carts emptied"),
        (GetCodeContext(query="how are carts emptied", max_tokens=1000), "how are carts emptied"),
        (SearchCode(query="how are carts emptied", mode="literal"), ""),
        (SearchCode(query="how are carts emptied", mode="regex"), ""),
        (SearchCode(query="carts", mode="files"), ""),
        (SearchCode(query="empty_cart"), ""),
        (SearchCode(query="app/carts.py"), ""),
        (SearchCode(query="app/carts.py:12"), ""),
        (SearchCode(query="KeyError: 'cart'"), ""),
        (SearchCode(query="0123456789abcdef"), ""),
        (SearchCode(query="x " * 5000), ("x " * 1000)),
        (LocateSymbol(name="empty cart"), ""),
    ],
)
def test_only_questions_in_words_are_asked_by_meaning(request_, wanted):
    assert question_of(request_) == wanted
