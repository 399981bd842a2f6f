"""Filters as people write them."""

import pytest
import re2

from codecompass.errors import InvalidInput
from codecompass.protocol.requests import LocateSymbol, SearchCode
from codecompass.query import locate_symbol, search_code
from codecompass.query.filters import languages_meant, symbol_kinds
from codecompass.query.path_globs import PathGlobs, expression_of, path_globs, relative_to_root


@pytest.mark.parametrize(
    ("glob", "inside", "outside"),
    [
        ("*.py", ["a.py", "src/deep/a.py"], ["a.pyi", "py/a.rs"]),
        ("src/**/*.py", ["src/a.py", "src/x/y/a.py"], ["a.py", "lib/src/a.py"]),
        ("src/*.py", ["src/a.py"], ["src/x/a.py"]),
        ("src", ["src/a.py", "lib/src/b.rs", "src"], ["srcs/a.py"]),
        ("src/", ["src/a.py"], ["a/srcs.py"]),
        ("./src/auth", ["src/auth/jwt.rs"], ["x/src/auth/jwt.rs"]),
        ("/src/auth", ["src/auth/jwt.rs"], ["x/src/auth/jwt.rs"]),
        ("**/tests/**", ["tests/a.py", "a/tests/b/c.py"], ["tests.py"]),
        ("src\\auth\\*.rs", ["src/auth/jwt.rs"], ["src/jwt.rs"]),
        ("*.{ts,tsx}", ["a.ts", "b/a.tsx"], ["a.js"]),
        ("file?.go", ["file1.go"], ["file.go", "file12.go"]),
        ("[ab].py", ["a.py"], ["c.py"]),
        ("[!ab].py", ["c.py"], ["a.py"]),
        ("a+b(c).py", ["a+b(c).py"], ["aab(c).py"]),
        ("[", ["["], ["a"]),
    ],
)
def test_globs(glob, inside, outside):
    pattern = re2.compile(expression_of(glob))

    assert all(pattern.fullmatch(path) for path in inside)
    assert not any(pattern.fullmatch(path) for path in outside)


def test_languages_go_by_their_common_names():
    assert languages_meant("C++") == ("cpp",)
    assert languages_meant("TypeScript") == ("typescript", "tsx")
    assert languages_meant(" rs ") == ("rust",)
    assert languages_meant("python") == ("python",)
    assert languages_meant(None) == ()


@pytest.mark.parametrize(
    ("glob", "inside", "outside"),
    [
        ("{a,b}/**", ["a/x.py", "b/c/x.py"], ["c/x.py", "x/a/y.py"]),
        ("src/{a,b/{c,d}}/*.rs", ["src/a/x.rs", "src/b/c/x.rs", "src/b/d/x.rs"], ["src/b/x.rs", "src/c/x.rs"]),
        ("{**/x,y/*}.py", ["a/b/x.py", "x.py", "y/z.py"], ["y.py"]),
        ("src/**/**/**/x.py", ["src/x.py", "src/a/b/x.py"], ["x.py"]),
        ("**/x", ["x", "a/x", "a/x/y.py"], ["ax"]),
        (".", ["a.py", "b/c.py"], []),
        ("app/[id]/page.tsx", ["app/[id]/page.tsx", "app/i/page.tsx"], ["app/x/page.tsx"]),
        ("app/[...slug]/page.tsx", ["app/[...slug]/page.tsx"], ["app/xy/page.tsx"]),
        ("[z-a].py", ["[z-a].py"], ["b.py"]),
        ("a{b", ["a{b"], ["ab"]),
        ("a}b", ["a}b"], ["ab"]),
    ],
)
def test_globs_of_braces_and_brackets(glob, inside, outside):
    pattern = re2.compile(expression_of(glob))

    assert all(pattern.fullmatch(path) for path in inside)
    assert not any(pattern.fullmatch(path) for path in outside)


def test_a_filter_is_cut_at_commas_outside_of_braces_and_brackets():
    assert path_globs("a/**, b/{c,d}/* ,!x,[a,b].py") == PathGlobs(("a/**", "b/{c,d}/*", "[a,b].py"), ("x",))
    assert path_globs("!a/**,!b/**") == PathGlobs((), ("a/**", "b/**"))
    assert path_globs("a{b,c") == PathGlobs(("a{b", "c"), ())


@pytest.mark.parametrize(
    "text",
    [
        "x" * 4097,
        "**/" * 100_000,
        ",".join("abcdefgh" * 10),
        "{" + ",".join("abcdefgh" * 10) + "}",
        "/".join(["**/a"] * 20),
        "*a" * 100,
        "!",
        " , ,",
    ],
)
def test_a_path_filter_that_is_too_large_or_empty_is_refused(text):
    with pytest.raises(InvalidInput) as caught:
        path_globs(text)

    assert caught.value.data["field"] == "path"


def test_a_path_filter_below_the_root_is_made_relative_to_it():
    assert relative_to_root("/w/shop/src/**,!/w/shop/src/x", "/w/shop") == "//src/**,!//src/x"
    assert relative_to_root("{/w/shop/a,/w/shop/b}", "/w/shop") == "{//a,//b}"
    assert relative_to_root("/w/shops/**", "/w/shop") == "/w/shops/**"
    assert relative_to_root("/w/shop", "/w/shop/") == "/"


def paths_with(shop, state, query="token", **filters):
    reply = search_code(shop, SearchCode(query=query, limit=100, **filters), state)
    return {result.path for result in reply.results}, reply.metadata.warnings


@pytest.mark.parametrize(
    ("path", "fits"),
    [
        ("src/**", lambda path: path.startswith("src/")),
        ("!tests/**", lambda path: not path.startswith("tests/")),
        ("!tests/**, !third_party/**", lambda path: not path.startswith(("tests/", "third_party/"))),
        ("src/**,shop/**", lambda path: path.startswith(("src/", "shop/"))),
        ("src/**,shop/**,!**/storage.py", lambda path: path.startswith(("src/", "shop/")) and "storage" not in path),
        ("/home/me/shop/src/auth/**", lambda path: path.startswith("src/auth/")),
        ("./src", lambda path: path.startswith("src/")),
        ("src/", lambda path: path.startswith("src/")),
        ("src/auth/jwt.rs", lambda path: path == "src/auth/jwt.rs"),
        ("*.{py,rs}", lambda path: path.endswith((".py", ".rs"))),
        ("!*.md", lambda path: not path.endswith(".md")),
    ],
)
def test_searches_and_lookups_keep_to_a_path_filter(shop, state, path, fits):
    every, _ = paths_with(shop, state)
    found, warnings = paths_with(shop, state, path=path)
    literal, _ = paths_with(shop, state, mode="literal", path=path)
    every_literal, _ = paths_with(shop, state, mode="literal")
    named = locate_symbol(shop, LocateSymbol(name="reset", path=path), state)
    every_named = locate_symbol(shop, LocateSymbol(name="reset"), state)

    assert found
    assert found <= set(filter(fits, shop.files().paths))
    assert literal == set(filter(fits, every_literal))
    assert {hit.path for hit in named.results} == set(filter(fits, (hit.path for hit in every_named.results)))
    assert len(found) < len(every)
    assert warnings == ()


def test_a_filter_keeps_the_same_files_however_many_it_leaves_out(shop, state):
    """If few files are excluded, the text index is queried for those, otherwise for the files that remain."""
    few_out, _ = paths_with(shop, state, path="!src/auth/jwt.rs")
    many_out, _ = paths_with(shop, state, path="src/auth/jwt.rs")

    assert many_out == {"src/auth/jwt.rs"}
    assert few_out
    assert "src/auth/jwt.rs" not in few_out


@pytest.mark.parametrize(
    ("filters", "said"),
    [
        ({"path": "srv/**"}, "no indexed file fits path 'srv/**'; the root has: src/, "),
        ({"path": "src/atuh/*.rs"}, "no indexed file fits path 'src/atuh/*.rs'; src/ has: auth/"),
        ({"path": "SRC/**"}, "where case counts; there is src/auth/error.rs"),
        ({"path": "auth/*.rs"}, "begins at the root; **/auth/*.rs would find src/auth/error.rs"),
        ({"path": "!**"}, "leaves out every indexed file"),
        ({"path": "/usr/include/**"}, "no indexed file fits path '/usr/include/**'; the root has: "),
        ({"language": "cobol"}, "no indexed file is of language 'cobol'; indexed are: python"),
        ({"language": "cobol,fortran"}, "no indexed file is of language 'cobol,fortran'"),
        ({"path": "src/**", "language": "py"}, "no file that fits path 'src/**' is of language 'py'; those files are: rust"),
        ({"kind": "macro"}, "the index has no definition of kind 'macro'; it has: "),
    ],
)
@pytest.mark.parametrize("mode", ["auto", "literal"])
def test_a_filter_that_nothing_can_pass_is_said(shop, state, mode, filters, said):
    found, warnings = paths_with(shop, state, mode=mode, **filters)
    named = locate_symbol(shop, LocateSymbol(name="reset", **filters), state)

    assert found == set()
    assert said in warnings[-1]
    assert said in named.metadata.warnings[-1]


def test_filters_that_something_passes_are_not_warned_of(shop, state):
    """The query itself may still find nothing."""
    for filters in ({"path": "src/**"}, {"language": "py,cobol"}, {"kind": "class,macro"}, {"kind": "method", "language": "rs"}):
        reply = locate_symbol(shop, LocateSymbol(name="zzqqzz", **filters), state)
        assert reply.metadata.warnings == ()
        assert reply.notice.startswith("nothing is named zzqqzz")


def test_languages_and_kinds_come_in_lists(shop, state):
    found, _ = paths_with(shop, state, language="py, rs")
    named = locate_symbol(shop, LocateSymbol(name="Storage", kind="class,function"), state)

    assert {path.rpartition(".")[2] for path in found} == {"py", "rs"}
    assert named.results[0].kind == "class"
    assert symbol_kinds("class,function") == {"class", "struct", "fn", "method"}
    assert languages_meant("ts, py,ts") == ("typescript", "tsx", "python")


def test_a_path_with_marks_of_globs_in_it_means_itself(index_of, state):
    snapshot = index_of({"a,b/{x}.py": "def both(): ...\n", "a/x.py": "def both(): ...\n", "!y.py": "def both(): ...\n"})

    for path in ("a,b/{x}.py", "a,b", "!y.py"):
        (hit,) = locate_symbol(snapshot, LocateSymbol(name="both", path=path), state).results
        assert hit.path.startswith(path)


def test_line_breaks_in_a_path_are_matched_by_wildcards(index_of, state):
    snapshot = index_of({"a\nb.py": "def odd(): ...\n", "c.py": "def odd(): ...\n"})

    (hit,) = locate_symbol(snapshot, LocateSymbol(name="odd", path="a*b.py"), state).results
    assert hit.path == "a\nb.py"
