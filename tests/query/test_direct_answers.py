"""Questions such as "who calls X" are first answered with the places that have the relation to X."""

import pytest

from codecompass.protocol.requests import SearchCode
from codecompass.query import search_code
from codecompass.query.direct_answers import RelationQuestion, relation_question

FILES = {
    "app/store.py": (
        "class Store:\n    def save(self): ...\n\nclass Disk(Store):\n    def save(self): ...\n\n"
        "def open_store():\n    return Disk()\n"
    ),
    "app/main.py": (
        "from app.store import open_store\n\n"
        "def run():\n    open_store()\n\n"
        "def who_calls_open_store():\n    text = 'Who calls open_store is asked here.'\n"
    ),
    "tests/test_store.py": "from app.store import open_store\n\ndef test_it():\n    open_store()\n",
}


@pytest.fixture(scope="module")
def project(index_of):
    return index_of(FILES)


@pytest.mark.parametrize(
    ("text", "relation", "name"),
    [
        ("who calls open_store", "uses", "open_store"),
        ("What uses the class `Session`?", "uses", "Session"),
        ("callers of Session.close()", "uses", "Session.close"),
        ("find all references to a::b", "uses", "a::b"),
        ("where is validate_token used?", "uses", "validate_token"),
        ("implementations of Reader", "subtypes", "Reader"),
        ("which classes extend Base", "subtypes", "Base"),
        ('subclasses of "Base"', "subtypes", "Base"),
        ("tests for parse", "tests", "parse"),
        ("which tests test parse?", "tests", "parse"),
        ("tests for src/app/store.py", "tests", "src/app/store.py"),
        ("which tests cover `Session.close`?", "tests", "Session.close"),
        ("Which tests should I run when I change src/store.py?", "tests", "src/store.py"),
        ("what tests must run after changing parse", "tests", "parse"),
        ("what else must change with src/store.py", "changes", "src/store.py"),
        ("What else has to be changed if I change parse?", "changes", "parse"),
        ("what changes when parse changes", "changes", "parse"),
        ("files that change together with app/store.py", "changes", "app/store.py"),
    ],
)
def test_what_is_asked_is_read(text, relation, name):
    assert relation_question(text) == RelationQuestion(relation, name)


@pytest.mark.parametrize(
    "text",
    [
        "calls", "who calls", "open_store", "how are callers of the api limited by rate", "where is the token used for refresh",
        "uses of memory in the cache " * 20, "tests", "error: no callers of x found in y",
    ],
)  # fmt: skip
def test_other_texts_are_no_such_questions(text):
    assert relation_question(text) is None


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("who calls open_store", [("app/main.py", "run"), ("tests/test_store.py", "test_it")]),
        ("tests for open_store", [("tests/test_store.py", "test_it")]),
        ("subclasses of Store", [("app/store.py", "Disk")]),
    ],
)
def test_what_is_meant_comes_before_what_has_the_words(query, expected, project, state):
    results = search_code(project, SearchCode(query=query), state).results

    assert [(result.path, result.name) for result in results][: len(expected)] == expected
    assert len({(result.path, result.line_start) for result in results}) == len(results)


def test_of_a_name_that_nothing_has_the_words_are_searched(project, state):
    whole = search_code(project, SearchCode(query="who calls nobody_at_all"), state)

    assert "nobody_at_all" in whole.notice
