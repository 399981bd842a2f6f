import random
import re
from pathlib import Path

import pytest

from codecompass.scan.ignore import IgnoreFile, parse
from codecompass.scan.wildmatch import literal_length, translate

from .trees import git, repository


def matches(pattern: str, path: str) -> bool:
    source = translate(pattern.encode())
    return source is not None and re.compile(source, re.DOTALL).fullmatch(path.encode()) is not None


@pytest.mark.parametrize(
    ("pattern", "path", "expected"),
    [
        ("a", "a", True),
        ("a", "ab", False),
        ("*.c", "x.c", True),
        ("*.c", "d/x.c", False),
        ("a?c", "abc", True),
        ("a?c", "a/c", False),
        ("a*c", "ac", True),
        ("a/**", "a/b/c", True),
        ("a/**", "a", False),
        ("a/**/b", "a/b", True),
        ("a/**/b", "a/x/y/b", True),
        ("a/**/b", "a/xb", False),
        ("**/b", "b", True),
        ("**/b", "a/b", True),
        ("a**b", "axxb", True),
        ("a**b", "a/b", False),
        ("[a-c]x", "bx", True),
        ("[!a-c]x", "bx", False),
        ("[]x]", "]", True),
        (r"[\]]", "]", True),
        ("[z-a]", "z", True),
        ("[z-a]", "m", False),
        ("[[:digit:]]", "7", True),
        ("[[:nonsense:]]", "n", False),
        ("[/]", "/", False),
        ("[a", "[a", False),
        ("\\", "\\", False),
        (r"\*", "*", True),
        ("a.c", "abc", False),
        ("*\n", "x\n", True),
        ("?", "é", False),
        ("??", "é", True),
    ],
)
def test_a_pattern_matches_as_git_documents(pattern: str, path: str, expected: bool):
    assert matches(pattern, path) is expected


def test_the_literal_beginning_ends_at_the_first_special_byte():
    assert literal_length(b"src/*.c") == 4
    assert literal_length(b"src/main.c") == 10
    assert literal_length(rb"a\b") == 1


@pytest.mark.invariant("No ignore pattern and no search pattern takes exponential time")
def test_a_hostile_pattern_does_not_backtrack():
    """Without atomic groups each of these would take hours."""
    assert not matches("*a" * 30 + "b", "a" * 200)
    assert not matches("**/" + "*a" * 30 + "/**/b/**/c", "/".join(["a" * 50] * 40))
    assert not matches("**/a/" * 12 + "b", "a/" * 400 + "c")


ODD_PATTERNS = r"""
a b ab * ? ** *** [ab] [!a] [^b] [a-c] [a-] [--0] [z-a] [a [é] []a] [!]a] [a\]] [\]] [[:alpha:]] [[:digit:]x] [[:foo:]]
[[:alpha] ] - ! # \a \* \? \[ é *.c .c x.c /**/ **/ /** //
"""
ATOMS = [*ODD_PATTERNS.split(), " ", r"\ ", "\t"]

ODD_NAMES = r"a b ab abc aab a.c x.c x.c.c é aé c z 0 * ? [a ] - a] !a #a a\ \ "
NAMES = [*ODD_NAMES.split(), "a b", " "]


def random_pattern(rng: random.Random) -> str:
    pattern = "".join(rng.choice(ATOMS) + rng.choice(["", "", "", "/"]) for _ in range(rng.randint(1, 5)))
    before = rng.choice(["", "", "", "/", "!", "!/"])
    after = rng.choice(["", "", "", "", "/", "\r", " ", "\\"])
    return before + pattern + after


def random_tree(rng: random.Random, top: Path) -> list[tuple[str, bool]]:
    entries: dict[str, bool] = {}
    for _ in range(40):
        components = [rng.choice(NAMES) for _ in range(rng.randint(1, 4))]
        parents = ["/".join(components[:depth]) for depth in range(1, len(components))]
        path, is_directory = "/".join(components), rng.random() < 0.5
        if entries.get(path, is_directory) != is_directory or not all(entries.get(parent, True) for parent in parents):
            continue
        entries.update(dict.fromkeys(parents, True))
        entries[path] = is_directory
    for path, is_directory in entries.items():
        if is_directory:
            (top / path).mkdir(parents=True, exist_ok=True)
        else:
            (top / path).parent.mkdir(parents=True, exist_ok=True)
            (top / path).touch()
    return sorted(entries.items())


def deciding_line(file: IgnoreFile, path: str, *, is_directory: bool) -> str:
    """Returns the deciding line by `git check-ignore --verbose`, which names an excluded parent first."""
    components = path.split("/")
    line = ""
    for depth in range(1, len(components) + 1):
        is_last = depth == len(components)
        found, _ = file.match("/".join(components[:depth]).encode(), is_directory=is_directory if is_last else True)
        line = "" if found is None else str(found.rule.line)
        if found is not None and not found.is_negated:
            break
    return line


@pytest.mark.invariant(of="test_a_repository_is_scanned_as_git_lists_it")
@pytest.mark.parametrize("seed", range(60))
def test_every_decision_is_the_same_as_that_of_git(seed: int, tmp_path: Path):
    rng = random.Random(seed)
    repository(tmp_path)
    entries = random_tree(rng, tmp_path)
    content = "\n".join(random_pattern(rng) for _ in range(rng.randint(1, 8))).encode()
    (tmp_path / ".git/info/exclude").write_bytes(content)

    stdin = b"".join(path.encode() + b"\0" for path, _ in entries)
    options = ["-z", "--stdin", "--verbose", "--non-matching", "--no-index"]
    fields = git(tmp_path, "check-ignore", *options, stdin=stdin, statuses=(0, 1)).split(b"\0")[:-1]

    expected = {fields[i + 3].decode(): fields[i + 1].decode() for i in range(0, len(fields), 4)}
    file = IgnoreFile(parse(content, "exclude"))
    actual = {path: deciding_line(file, path, is_directory=is_directory) for path, is_directory in entries}
    assert actual == expected, content
