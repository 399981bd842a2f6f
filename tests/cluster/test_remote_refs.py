"""Which refs of a remote are selected: by name, by pattern or by default, and never names that git would misread."""

import pytest

from codecompass.cluster.indexing.remote_refs import MAX_REFS, listing_patterns, parse_listing, select_refs

A, B, C, D = ("a" * 40, "b" * 40, "c" * 40, "d" * 40)

LISTING = (
    f"ref: refs/heads/main\tHEAD\n{A}\tHEAD\n{A}\trefs/heads/main\n{B}\trefs/heads/release/1.9\n"
    f"{C}\trefs/heads/release/1.10\n{D}\trefs/tags/v1\n{B}\trefs/tags/v1^{{}}\n{C}\trefs/tags/main\n"
).encode()


def selected(wanted=(), output=LISTING):
    return select_refs(parse_listing(output), wanted)


def test_without_a_wish_the_default_branch_is_taken_by_its_name():
    selection = selected()

    assert [(ref.name, ref.object_id) for ref in selection.refs] == [("main", A)]
    assert selection.default == "main"
    assert selected(("HEAD",)).refs == selection.refs


def test_a_name_means_the_branch_before_the_tag():
    assert [ref.reference for ref in selected(("main",)).refs] == ["refs/heads/main"]
    assert [ref.reference for ref in selected(("refs/tags/main",)).refs] == ["refs/tags/main"]


def test_a_branch_and_a_tag_of_one_name_are_told_apart():
    assert [ref.name for ref in selected(("refs/heads/main", "refs/tags/main")).refs] == ["main", "tags/main"]


def test_an_annotated_tag_is_the_commit_that_it_is_of():
    assert selected(("v1",)).seen == {"v1": B}


def test_a_pattern_takes_the_highest_versions_first():
    assert [ref.name for ref in selected(("release/*",)).refs] == ["release/1.10", "release/1.9"]


def test_the_default_branch_comes_first_wherever_it_is_named():
    selection = selected(("release/*", "HEAD"))

    assert [ref.name for ref in selection.refs] == ["main", "release/1.10", "release/1.9"]
    assert selection.default == "main"


def test_where_the_default_branch_is_not_wanted_the_first_ref_answers():
    assert selected(("release/1.9", "v1")).default == "release/1.9"


def test_what_is_not_there_is_named():
    selection = selected(("main", "nope", "feature/*"))

    assert selection.missing == ("nope", "feature/*")
    assert [ref.name for ref in selection.refs] == ["main"]


def test_an_empty_remote_has_nothing():
    selection = selected((), b"")

    assert selection.refs == ()
    assert selection.default == ""
    assert selection.missing == ("HEAD",)


def test_a_detached_head_is_called_head():
    assert selected((), f"{A}\tHEAD\n{B}\trefs/heads/x\n".encode()).seen == {"HEAD": A}


def test_the_number_of_refs_is_bounded():
    many = "".join(f"{A}\trefs/heads/b{number}\n" for number in range(1000)).encode()

    selection = selected(("b*",), many)

    assert len(selection.refs) == MAX_REFS
    assert selection.n_left_out == 1000 - MAX_REFS
    assert selection.refs[0].name == "b999"


@pytest.mark.parametrize(
    "name",
    ["refs/heads/a:b", "refs/heads/a..b", "refs/heads/a\x01b", "refs/heads/a b", "refs/heads/a*", "refs/heads/\udcff", "a/b"],
)
def test_names_that_a_command_line_could_read_otherwise_are_passed_over(name):
    line = f"{A}\t{name}\n".encode("utf-8", "surrogateescape")

    assert selected(("*", "refs/*", "a*"), line).refs == ()


@pytest.mark.parametrize("output", [b"\xff\xfe", b"x\ty\nz", b"\t\t\t\n", b"ref: \tHEAD\n", b"ref: refs/heads/x\tHEAD\n"])
def test_any_output_is_a_listing(output):
    assert selected((), output).refs == ()


def test_refs_that_exclude_each_other_as_files_have_places_of_their_own():
    both = selected(("*",), f"{A}\trefs/heads/a\n{B}\trefs/heads/A\n{C}\trefs/heads/a/b\n".encode())

    assert len({ref.local.lower() for ref in both.refs}) == 3
    assert all(ref.local.count("/") == 2 for ref in both.refs)


def test_the_remote_is_asked_for_what_is_wanted_alone():
    assert listing_patterns(()) == ("HEAD",)
    assert listing_patterns(("v1", "refs/notes/x")) == (
        "HEAD",
        "refs/heads/v1",
        "refs/heads/v1^{}",
        "refs/tags/v1",
        "refs/tags/v1^{}",
        "refs/notes/x",
        "refs/notes/x^{}",
    )
