"""How a worker finds out which files hold a text."""

import os
from pathlib import Path

import pytest

from codecompass.worker.messages import ABSENT, AS_A_DEFINITION, AS_A_WORD, AS_WRITTEN, IN_ANOTHER_CASE, Probe
from codecompass.worker.probing import probe


def levels(root: Path, content: bytes, *names: str, words: tuple[str, ...] = (), max_file_bytes: int = 1 << 20) -> bytes:
    (root / "file").write_bytes(content)
    order = Probe(os.fsencode(root), ("file",), names, words, max_file_bytes, 20_000, 5.0)
    return probe(order).files[0]


@pytest.mark.parametrize(
    ("content", "level"),
    [
        (b"nothing of it", ABSENT),
        (b"RETRY_JITTER = 1", IN_ANOTHER_CASE),
        (b"x = default_retry_jitter_now", AS_WRITTEN),
        (b"x = self.retry_jitter + 1", AS_A_WORD),
        (b"return retry_jitter(3)", AS_A_WORD),
        (b"  def retry_jitter(x):", AS_A_DEFINITION),
        (b"static int retry_jitter(void)", AS_A_DEFINITION),
        (b"func (s *Server) retry_jitter() {", AS_A_DEFINITION),
        (b"retry_jitter :: Int -> Int", AS_A_DEFINITION),
        (b"pub const retry_jitter: f64 = 0.1;", AS_A_DEFINITION),
        (b"#define retry_jitter 3", AS_A_DEFINITION),
        (b"class Job < retry_jitter::Base", AS_A_WORD),
        (b"if retry_jitter == 3:", AS_A_WORD),
    ],
)
def test_a_name_is_held_as_it_is_written(tmp_path, content, level):
    assert levels(tmp_path, b"first line\n" + content + b"\nlast line\n", "retry_jitter") == bytes([level])


def test_a_text_of_marks_is_held_as_written(tmp_path):
    content = "if a <=> b { --retry-max 🚀 {:x} }".encode()

    assert levels(tmp_path, content, "<=>", "--retry-max", "🚀", "{:x}", "->") == bytes([3, 3, 3, 3, 0])


def test_words_are_held_in_any_case(tmp_path):
    assert levels(tmp_path, b"The Router matches ROUTES", words=("router", "route", "match", "xyz")) == bytes([1, 1, 1, 0])


def test_a_text_in_utf_16_is_searched_as_it_is_indexed(tmp_path):
    assert levels(tmp_path, "def größe(): pass".encode("utf-16"), "größe") == bytes([AS_A_DEFINITION])


@pytest.mark.parametrize("content", [b"\x00\x01 token", b"\xff\xfe\xfd token \x80"], ids=["binary", "no text"])
def test_what_is_not_indexed_is_not_searched(tmp_path, content):
    assert levels(tmp_path, content, "token") == b""


def test_a_file_that_is_too_large_is_not_searched(tmp_path):
    assert levels(tmp_path, b"token " * 100, "token", max_file_bytes=50) == b""


@pytest.mark.invariant(of="test_nothing_is_read_that_would_not_be_indexed")
@pytest.mark.parametrize("kind", ["link", "link above", "fifo", "directory", "missing"])
def test_what_is_no_file_of_the_tree_is_not_read(tmp_path, kind):
    outside, root = tmp_path / "outside", tmp_path / "root"
    outside.mkdir()
    root.mkdir()
    (outside / "secret").write_text("token")
    path = "secret"
    match kind:
        case "link":
            (root / "secret").symlink_to(outside / "secret")
        case "link above":
            (root / "above").symlink_to(outside)
            path = "above/secret"
        case "fifo":
            os.mkfifo(root / "secret")
        case "directory":
            (root / "secret").mkdir()

    assert probe(Probe(os.fsencode(root), (path,), ("token",), (), 1 << 20, 20_000, 5.0)).files == (b"",)


def test_a_hostile_line_takes_linear_time(tmp_path):
    """The test itself has no clock: a quadratic search of this line would not end."""
    content = (b"class " + b"a.b::" * 150_000 + b"name ") * 1 + b"\n" + b"x " * 20_000 + b"name ("

    assert levels(tmp_path, content, "name", max_file_bytes=8 << 20)[0] >= AS_A_WORD
