"""Uses of names, encoded as bytes."""

import zlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from codecompass.languages.records import NameUses, Use
from codecompass.languages.uses.packed_uses import DamagedUses, packed, unpacked, unpacked_all

USES = (
    NameUses("a", (Use(1, "call", "", 0), Use(7, "write", "self"))),
    NameUses("ab", (Use(2, "inherit"),)),
    NameUses("é", (Use(3, "key", "<T>"), Use(3, "decorate"), Use(100_000, "read", "?"))),
)


def test_the_uses_of_each_name_come_back():
    content = packed(USES)

    assert [unpacked(content, each.name) for each in USES] == [[each] for each in USES]
    assert unpacked_all(content) == USES


def test_uses_of_one_name_in_several_languages_are_apart():
    uses = (
        NameUses("a", (Use(1, "call"),)),
        NameUses("a", (Use(2, "read"),), "javascript"),
        NameUses("a", (Use(3, "read"),), "sql"),
        NameUses("ab", (Use(4, "call"),), "sql"),
    )

    content = packed(uses)

    assert unpacked(content, "a") == list(uses[:3])
    assert unpacked(content, "ab") == [uses[3]]
    assert unpacked_all(content) == uses


@pytest.mark.parametrize("name", ["b", "", "aab", "a\nab", "A", "ab\tsql"])
def test_a_name_that_is_not_in_the_file_has_no_uses(name):
    assert unpacked(packed(USES), name) == []


def test_no_uses_are_no_bytes():
    assert packed(()) == b""
    assert unpacked_all(b"") == ()
    assert unpacked(b"", "a") == []


@given(
    st.dictionaries(
        st.text(st.characters(exclude_characters="\n\t"), min_size=1, max_size=5),
        st.lists(st.builds(Use, st.integers(1, 2**40), st.sampled_from(("call", "read")), st.text(max_size=5)), max_size=3),
        max_size=6,
    )
)
@settings(max_examples=50, deadline=None)
def test_any_names_and_uses_come_back(uses):
    names = tuple(NameUses(name, tuple(found)) for name, found in sorted(uses.items()))

    content = packed(names)

    assert unpacked_all(content) == names
    assert all(unpacked(content, each.name) == [each] for each in names)


@pytest.mark.parametrize("read", [lambda content: unpacked(content, "a"), unpacked_all], ids=["one", "all"])
@given(content=st.one_of(st.binary(max_size=40), st.binary(max_size=80).map(zlib.compress)))
@settings(max_examples=80, deadline=None)
def test_damaged_bytes_are_either_read_or_reported(read, content):
    try:
        read(content)
    except DamagedUses:
        pass


@pytest.mark.parametrize("cut", [1, 5, 20])
def test_bytes_that_end_too_early_are_reported(cut):
    data = zlib.decompress(packed(USES))

    for damaged in (packed(USES)[:-cut], zlib.compress(data[:-cut])):
        with pytest.raises(DamagedUses):
            unpacked_all(damaged)
