"""What a question needs of files that no index holds, and which of them are read."""

import time

import pytest

from codecompass.errors import InvalidInput
from codecompass.protocol.requests import (
    MAX_QUERY_LENGTH,
    SEARCH_MODES,
    FindReferences,
    GetCodeContext,
    GetFileOutline,
    IndexStatus,
    LocateSymbol,
    SearchCode,
)
from codecompass.query.sought import MAX_NAMES, MAX_RANKED_FILES, MAX_WORDS, Sought, order_of_reading, sought_for
from codecompass.worker.messages import AS_A_DEFINITION, AS_A_WORD, AS_WRITTEN, IN_ANOTHER_CASE
from tests.support.text_shapes import MOST_CPU_SECONDS, SHAPES

ROOT = "/home/me/project"

DOTTED = {"numbers with dots": lambda length: "1." * (length // 2), "at signs": lambda length: "1.5@" * (length // 4)}


def names(sought: Sought) -> list[str]:
    return [name for name, _worth in sought.names]


def read(sought: Sought, files: dict[str, dict[str, int]]) -> list[str]:
    """Returns the paths of `files` that are read, in order; each is given by the levels of the texts that it holds."""
    texts = [text for text, _worth in (*sought.names, *sought.words)]
    n_names = len(sought.names)
    paths = list(files)
    levels = {
        number: bytes(_level(files[path], text, is_word=at >= n_names) for at, text in enumerate(texts))
        for number, path in enumerate(paths)
    }
    order = order_of_reading(
        sought,
        paths,
        {text: at for at, text in enumerate(texts) if at < n_names},
        {text: at for at, text in enumerate(texts) if at >= n_names},
        levels,
    )
    return [paths[number] for number in order.numbers]


def _level(held: dict[str, int], text: str, *, is_word: bool) -> int:
    return min(held.get(text, 0), 1) if is_word else held.get(text, 0)


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("TOKIO_WORKER_THREADS", ["TOKIO_WORKER_THREADS"]),
        ("`--retry-max-time`", ["--retry-max-time"]),
        ("class_attribute :retry_jitter", ["class_attribute :retry_jitter", "class_attribute", "retry_jitter"]),
        ("where does --bail end the run", ["where does --bail end the run", "--bail"]),
        ("active_storage_blobs.key", ["active_storage_blobs.key", "active_storage_blobs", "key"]),
        ("how is {:x} printed", ["{:x}"]),
    ],
)
def test_tokens_are_sought_as_they_are_written(query, expected):
    assert set(expected) <= set(names(sought_for(SearchCode(query=query), ROOT)))


def test_words_are_sought_by_their_stems():
    sought = sought_for(GetCodeContext(query="where are the routes matched"), ROOT)

    assert [word for word, _worth in sought.words] == ["rout", "match"]


def test_a_long_text_seeks_a_bounded_number_of_texts():
    text = " ".join(f"some_name_{number} word{number}-x" for number in range(500))

    sought = sought_for(SearchCode(query=text), ROOT)

    assert len(sought.names) <= MAX_NAMES
    assert len(sought.words) <= MAX_WORDS


@pytest.mark.parametrize("pattern", ["([{<", "[a", "(a", "[a-", "\\"])
def test_a_regular_expression_that_is_refused_seeks_nothing(pattern):
    with pytest.raises(InvalidInput):
        sought_for(SearchCode(query=pattern, mode="regex"), ROOT)


@pytest.mark.parametrize("shape", [*SHAPES, *DOTTED])
def test_reading_a_question_takes_linear_time(shape):
    """Of a project without an index this runs in the server, and a regular expression holds up everybody else."""
    text = {**SHAPES, **DOTTED}[shape](MAX_QUERY_LENGTH)
    requests = [SearchCode(query=text, mode=mode) for mode in SEARCH_MODES]
    for request in (*requests, GetCodeContext(query=text), LocateSymbol(name=text), FindReferences(symbol_name=text)):
        before = time.process_time()
        try:
            sought_for(request, ROOT)
        except InvalidInput:
            continue  # no regular expression
        assert time.process_time() - before < MOST_CPU_SECONDS


def test_a_file_that_holds_the_phrase_comes_before_one_that_holds_its_words():
    sought = sought_for(SearchCode(query="retry jitter"), ROOT)
    words = dict.fromkeys((word for word, _worth in sought.words), 1)

    assert read(sought, {"words.py": words, "none.py": {}, "phrase.py": {"retry jitter": AS_WRITTEN, **words}}) == [
        "phrase.py",
        "words.py",
    ]


def test_a_definition_comes_before_the_uses_and_product_code_before_tests():
    sought = sought_for(LocateSymbol(name="Pool.close"), ROOT)

    files = {
        "lib/use.py": {"close": AS_A_WORD},
        "tests/test_pool.py": {"close": AS_A_DEFINITION},
        "lib/pool.py": {"close": AS_A_DEFINITION},
        "lib/other.py": {"close": IN_ANOTHER_CASE},
    }
    assert read(sought, files) == ["lib/pool.py", "tests/test_pool.py", "lib/use.py", "lib/other.py"]


def test_of_many_files_only_the_best_are_read_for_a_ranked_answer_and_all_for_uses():
    files = {f"lib/f{number:03}.py": {"close": AS_A_WORD} for number in range(300)}

    assert len(read(sought_for(LocateSymbol(name="close"), ROOT), files)) == MAX_RANKED_FILES
    assert len(read(sought_for(FindReferences(symbol_name="close"), ROOT), files)) == 300


def test_a_literal_needs_the_text_as_written():
    sought = sought_for(SearchCode(query="Foo(bar", mode="literal"), ROOT)

    assert read(sought, {"a.py": {"Foo(bar": IN_ANOTHER_CASE}, "b.py": {"Foo(bar": AS_WRITTEN}}) == ["b.py"]


def test_a_pattern_needs_what_every_match_holds():
    sought = sought_for(SearchCode(query=r"alpha.*beta|gamma", mode="regex"), ROOT)

    files = {"a.py": {"alpha": 1}, "ab.py": {"alpha": 1, "beta": 1}, "c.py": {"gamma": 1}, "none.py": {}}
    assert sorted(read(sought, files)) == ["ab.py", "c.py"]


def test_a_pattern_without_letters_is_looked_for_in_every_file():
    sought = sought_for(SearchCode(query=r"[-+]{3}", mode="regex"), ROOT)

    assert sorted(read(sought, {"a.py": {}, "b.py": {}})) == ["a.py", "b.py"]


def test_only_files_that_pass_the_filter_are_read():
    sought = sought_for(SearchCode(query="token", path="lib/**"), ROOT)
    held = {"token": AS_A_WORD}

    assert read(sought, {"lib/a.py": held, "app/b.py": held}) == ["lib/a.py"]


@pytest.mark.parametrize(
    "request_",
    [
        GetFileOutline(path="lib/pool.py"),
        GetFileOutline(path=f"{ROOT}/lib/pool.py"),
        GetFileOutline(path="./lib/pool.py"),
        LocateSymbol(name="lib/pool.py:12"),
        FindReferences(symbol_name="pool.py:12"),
        SearchCode(query='File "/srv/app/lib/pool.py", line 12, in close'),
        SearchCode(query="what does lib/pool.py do"),
    ],
)
def test_a_file_that_is_named_is_read_whatever_it_holds(request_):
    assert read(sought_for(request_, ROOT), {"lib/other.py": {}, "lib/pool.py": {}}) == ["lib/pool.py"]


def test_listing_files_reads_none():
    sought = sought_for(SearchCode(query="*.py", mode="files"), ROOT)

    assert read(sought, {"a.py": {}}) == []


def test_a_request_about_the_index_itself_seeks_nothing():
    assert sought_for(IndexStatus(), ROOT) == Sought()


PASTED = """\
The nightly export of our reports ends too early

Some more details about what was seen, by whom, in which office, under what circumstances, and after how many attempts overall.
Everything else works as before, colleagues elsewhere observe nothing unusual, restarts help sometimes, sometimes they do not.

I think that `ExportQueue.drain` is to blame, in jobs/export_queue.py, it forgets what `enqueue` was given.

```python
import gadget
gadget.run_everything(widget_count=3)
```
"""


def test_a_long_text_is_sought_by_what_it_is_about_wherever_that_stands():
    sought = sought_for(SearchCode(query=PASTED), ROOT)
    words = [word for word, _ in sought.words]

    assert names(sought)[:2] == ["ExportQueue.drain", "drain"]
    assert not [name for name in names(sought) if "gadget" in name or "widget" in name]
    assert "jobs/export_queue.py" in sought.paths
    assert {"enqueu", "drain"} <= set(words)
    assert len(words) <= MAX_WORDS
