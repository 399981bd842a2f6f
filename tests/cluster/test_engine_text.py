"""Lines are known only if all chunks that contain them are known."""

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from codecompass.cluster.engine_text import ChunkTexts, keys_with_lines
from codecompass.languages.chunk import MAX_LINES as LONGEST_CHUNK
from codecompass.languages.records import Chunk
from codecompass.store.snapshot import MAX_LINE, pack_chunk_key

FILE = 7

lengths = st.lists(st.integers(1, LONGEST_CHUNK), min_size=1, max_size=12)


def chunks_of(lengths: Sequence[int]) -> list[Chunk]:
    found, line = [], 1
    for length in lengths:
        found.append(Chunk(line, line + length - 1, f"from {line}\n"))
        line += length
    return found


def key(chunk: Chunk, file_id: int = FILE) -> int:
    return pack_chunk_key(file_id, chunk.line_start, chunk.line_end)


@given(lengths, st.data())
def test_lines_are_those_of_the_whole_file_or_not_known(lengths, data):
    chunks = chunks_of(lengths)
    last = chunks[-1].line_end
    known = data.draw(st.lists(st.sampled_from(chunks), unique_by=lambda each: each.line_start))
    first = data.draw(st.integers(1, last))
    end = data.draw(st.integers(first, last))
    texts = ChunkTexts()
    for chunk in known:
        texts.keep(key(chunk), chunk.text)
        texts.keep(key(chunk, FILE + 1), "of another file")

    wanted = [each for each in chunks if each.line_start <= end and each.line_end >= first]

    expected = tuple(wanted) if all(each in known for each in wanted) else None
    assert texts.between(FILE, first, end) == expected


@given(lengths)
def test_a_whole_file_is_never_taken_for_known(lengths):
    texts = ChunkTexts()
    for chunk in chunks_of(lengths):
        texts.keep(key(chunk), chunk.text)

    # There may be more chunks after the last one.
    assert texts.between(FILE, 1, MAX_LINE) is None


@given(lengths, st.data())
def test_keys_that_are_asked_for_have_all_chunks_with_the_lines_and_none_of_other_files(lengths, data):
    chunks = chunks_of(lengths)
    first = data.draw(st.integers(1, chunks[-1].line_end))
    end = data.draw(st.one_of(st.integers(first, chunks[-1].line_end), st.just(MAX_LINE)))

    least, behind = keys_with_lines(FILE, first, end)

    asked_for = [each for each in chunks if least <= key(each) < behind]
    wanted = [each for each in chunks if each.line_start <= end and each.line_end >= first]
    assert [each for each in asked_for if each.line_end >= first] == wanted
    assert not any(least <= key(each, other) < behind for each in chunks for other in (FILE - 1, FILE + 1))


def test_texts_that_are_not_known_are_named_once_and_in_order():
    texts = ChunkTexts()
    texts.keep(5, "five")

    assert texts[5] == "five"
    assert texts.missing([9, 5, 3, 9]) == [9, 3]
