import pytest

from codecompass.scan.ignore import MAX_GLOBS, IgnoreFile, Rule, parse, parse_bounded


def rules(content: str) -> list[str]:
    return [pattern.rule.pattern for pattern in parse(content.encode(), "f")]


def deciding(content: str, path: str, *, is_directory: bool = False, base: str = "", root_prefix: str = "") -> str | None:
    found = IgnoreFile(parse(content.encode(), "f"), base=base, root_prefix=root_prefix).match(
        path.encode(), is_directory=is_directory
    )[0]
    return None if found is None else found.rule.pattern


def test_comments_and_empty_lines_are_no_patterns():
    assert rules("# comment\n\na\n\\#b\n") == ["a", "\\#b"]


def test_a_rule_has_the_line_of_its_pattern():
    patterns = parse(b"# comment\n\n*.log\n", "sub/.gitignore")

    assert [pattern.rule for pattern in patterns] == [Rule("sub/.gitignore", 3, "*.log")]


def test_a_byte_order_mark_and_windows_line_ends_are_no_part_of_a_pattern():
    assert rules("\ufeff*.log\r\nbuild/\r\n") == ["*.log", "build/"]


def test_trailing_blanks_go_unless_escaped():
    assert rules("a  \nb\\ \nc\t\n") == ["a", "b\\ ", "c\t"]


def test_a_pattern_that_is_not_utf8_matches_the_bytes_it_has():
    file = IgnoreFile(parse(b"caf\xe9\n", "f"))

    assert file.match(b"caf\xe9", is_directory=False)[0] is not None
    assert file.match("café".encode(), is_directory=False)[0] is None


def test_the_last_matching_pattern_decides():
    assert deciding("*.log\n!keep.log\n", "keep.log") == "!keep.log"
    assert deciding("!keep.log\n*.log\n", "keep.log") == "*.log"
    assert deciding("/a/b\nb\n!*b\n/a/*\n", "a/b") == "/a/*"


def test_a_pattern_for_directories_passes_files_by():
    assert deciding("out/\n", "out") is None
    assert deciding("out/\n", "out", is_directory=True) == "out/"


def test_a_slash_inside_or_before_a_pattern_binds_it_to_its_directory():
    assert deciding("/top\n", "top") == "/top"
    assert deciding("/top\n", "a/top") is None
    assert deciding("a/b\n", "a/b") == "a/b"
    assert deciding("a/b\n", "x/a/b") is None
    assert deciding("name/\n", "x/name", is_directory=True) == "name/"


def test_patterns_count_from_the_directory_of_their_file():
    assert deciding("/x\n", "sub/x", base="sub/") == "/x"
    assert deciding("/x\n", "sub/deep/x", base="sub/") is None


def test_a_file_above_the_root_counts_from_there():
    assert deciding("/pkg/x\n", "x", root_prefix="pkg/") == "/pkg/x"
    assert deciding("/x\n", "x", root_prefix="pkg/") is None


def test_extensions_are_told_apart():
    assert deciding("*.js\n", "a.min.js") == "*.js"
    assert deciding("*.min.js\n", "a.js") is None
    assert deciding("*.min.js\n", "a.min.js") == "*.min.js"
    assert deciding("*.js\n", "js") is None


@pytest.mark.parametrize(
    ("pattern", "directory", "expected"),
    [
        ("!vendor/acme/", "vendor", True),
        ("!vendor/acme/", "vendor/acme", False),
        ("!vendor/acme/", "vendor/other", False),
        ("!/vendor/*/api.go", "vendor/any", True),
        ("!vendor/**/*.go", "vendor/a/b/c", True),
        ("!vendor/acme/**", "vendor", True),
        ("!vendor/acme/**", "vendor/acme/deep", True),
        ("!vendor/acme/**", "vendor/other", False),
        ("!*.go", "vendor", False),
        ("!**/acme/x", "vendor", False),
        ("!/vendor/", "vendor", False),
        ("vendor/acme/x", "vendor", False),
    ],
)
def test_a_fixed_beginning_may_match_below_its_directories(pattern: str, directory: str, expected: bool):
    file = IgnoreFile(parse(pattern.encode(), "f"))

    assert file.may_match_below(directory.encode()) is expected


def test_many_globs_are_decided_by_the_last_one():
    """The patterns are spread over several expressions."""
    lines = [f"{sign}*{number}*" for number in range(130) for sign in ("", "!")]

    assert deciding("\n".join(lines), "x7y") == "!*7*"
    assert deciding("\n".join(lines), "x129y") == "!*129*"
    assert deciding("\n".join(lines[:-1]), "x129y") == "*129*"
    assert deciding("\n".join(lines), "xy") is None


def test_an_extremely_deep_pattern_makes_no_excluded_directory_entered():
    file = IgnoreFile(parse(b"!" + b"a/" * 5000 + b"b", "f"))

    assert not file.may_match_below(b"a")


def test_only_a_pattern_with_a_name_names_its_target():
    named = {pattern.rule.pattern: pattern.names_its_target for pattern in parse(b"!*.pem\n!a/**\n!a/*\n!.env\n!a/", "f")}

    assert named == {"!*.pem": True, "!a/**": False, "!a/*": False, "!.env": True, "!a/": True}


HOSTILE = (
    *(b"**/" * 1300 + b"b", b"**/a" * 1000, b"?" * 4000, b"[" * 4000),
    *(b"*a" * 2000, b"[[:alpha:]]" * 370, b"!a*/" * 1000, b"\\" * 5000),
)


@pytest.mark.timeout(60)
@pytest.mark.parametrize("line", HOSTILE)
def test_a_pattern_of_hostile_length_is_left_out_and_reported(line):
    patterns, is_truncated = parse_bounded((line + b"\n") * 60 + b"*.log\nbuild/\nkept*x\n", "x")

    assert is_truncated
    file = IgnoreFile(patterns)
    for path in (b"/".join([b"a"] * 2000), b"a" * 255, b"a.log"):
        file.match(path, is_directory=False)
        file.may_match_below(path)
    assert file.match(b"a.log", is_directory=False)[0] is not None
    assert file.match(b"keptx", is_directory=False)[0] is not None


def test_only_the_first_thousands_of_globs_are_used():
    content = b"".join(b"a*%d/x\n" % number for number in range(MAX_GLOBS + 100)) + b"*.log\nname\n"

    patterns, is_truncated = parse_bounded(content, "x")

    assert is_truncated
    assert len(patterns) == MAX_GLOBS + 2


def test_patterns_that_need_no_comparison_are_not_limited():
    content = b"".join(b"f%d\n*.e%d\n/a/b%d\n" % (number, number, number) for number in range(5_000))

    patterns, is_truncated = parse_bounded(content, "x")

    assert (len(patterns), is_truncated) == (15_000, False)
