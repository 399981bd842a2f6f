"""Code locations as text: what the heading contains, which lines follow, each path once."""

import pytest

from codecompass.protocol.replies import Enclosing, Excerpt, HierarchyNode, MatchedLine, OutlineNode, RelatedSymbol, Result
from codecompass.protocol.text.code import (
    SIGNATURE_CHARACTERS,
    Name,
    described,
    grouped,
    hierarchy_lines,
    hit_entries,
    location_lines,
    one_line,
    outline_lines,
    related_lines,
    short_name,
    span,
)


def name(path: str, kind: str, qualified_name: str, signature: str = "", own: str | None = None) -> Name:
    last = qualified_name.replace("::", ".").replace("#", ".").rpartition(".")[2]
    return Name(kind, last if own is None else own, qualified_name, signature, path)


@pytest.mark.parametrize(
    ("path", "kind", "qualified_name", "expected"),
    [
        ("src/pkg/jwt.py", "fn", "pkg.jwt.validate", "validate"),
        ("src/pkg/jwt.py", "method", "pkg.jwt.Token.close", "Token.close"),
        ("auth/jwt.rs", "fn", "auth::jwt::validate", "validate"),
        ("com/shop/Cart.java", "method", "com.shop.Cart.total", "Cart.total"),
        ("lib/a.rb", "method", "A::B#m", "A::B#m"),
        ("x/x.go", "method", "x.(*T).Run", "(*T).Run"),
        ("other.py", "fn", "pkg.validate", "pkg.validate"),
        ("a.hs", "fn", "M.f", "M.f"),
    ],
)
def test_a_name_leaves_out_what_the_path_says(path, kind, qualified_name, expected):
    assert short_name(name(path, kind, qualified_name)) == expected


def test_a_name_of_odd_characters_is_shown_as_it_is():
    assert short_name(name("a.cpp", "fn", "ns::operator/", own="operator/")) == "ns::operator/"
    assert short_name(name("a.py", "fn", "", own="f")) == "f"


@pytest.mark.parametrize(
    ("of", "expected"),
    [
        (name("a.py", "method", "a.View.get", "def get(self, id: int) -> str"), "def View.get(self, id: int) -> str"),
        (name("a.java", "method", "A.next", "public int next()"), "method public int A.next()"),
        (name("a.c", "fn", "next", "static int next(struct list *l)"), "fn static int next(struct list *l)"),
        (name("a.rs", "fn", "Foo::spawn", "pub async fn spawn<T>(self) -> T"), "pub async fn Foo::spawn<T>(self) -> T"),
        (name("a.py", "class", "a.Next", "class Next(Base)"), "class Next(Base)"),
        (name("a.py", "var", "a.x", ""), "var x"),
        (name("a.cpp", "method", "ns::Server::run", "void Server::run()"), "method void Server::run()"),
        (name("a.go", "method", "a.(*T).Run", "func (t *T) Run() error"), "func (t *T) Run() error"),
    ],
)
def test_a_heading_is_the_signature_with_the_name_qualified_and_says_the_kind_once(of, expected):
    assert described(of) == expected


def test_a_long_signature_is_cut_and_says_so():
    shown = described(name("a.py", "fn", "a.f", "def f(" + "argument, " * 100 + ")"))

    assert len(shown) == SIGNATURE_CHARACTERS
    assert shown.endswith("…")


def result(path: str = "a.py", **fields: object) -> Result:
    given = {"line_start": 7, "line_end": 9, "kind": "fn", "name": "f", "qualified_name": "a.f", "result_type": "symbol"}
    return Result(path=path, **(given | fields))


def lines(*numbered: tuple[int, str]) -> tuple[MatchedLine, ...]:
    return tuple(MatchedLine(line=number, text=text) for number, text in numbered)


def test_each_path_stands_once_and_its_hits_below_it_in_their_order():
    excerpt = Excerpt(lines=lines((8, "    return 1")))
    hits = [
        result(signature="def f()", excerpt=excerpt),
        result("b.py", signature="def f()"),
        result(line_start=1, line_end=2, name="g", qualified_name="a.g", signature="def g()"),
    ]

    assert list(grouped(hit_entries(hits))) == [
        "a.py",
        "7-9 def f()",
        "8:    return 1",
        "1-2 def g()",
        "",
        "b.py",
        "7-9 def a.f()",
    ]


def test_a_definition_that_is_shown_whole_does_not_repeat_its_signature():
    excerpt = Excerpt(lines=lines((7, "def f():"), (8, "    return 1")), is_whole=True)

    (entry,) = hit_entries([result(line_end=8, signature="def f()", excerpt=excerpt)])

    assert entry.lines == ("7-8 fn f", "7:def f():", "8:    return 1")


def test_lines_outside_of_a_hit_that_is_a_definition_name_the_one_that_they_lie_in():
    around = Enclosing(kind="class", name="C", qualified_name="a.C", line_start=5, line_end=90)
    excerpt = Excerpt(lines=lines((14, "    x = 1")), enclosing=around)

    (entry,) = hit_entries([result(result_type="snippet", kind="class", name="C", excerpt=excerpt)])

    assert entry.lines == ("in class C 5-90", "14:    x = 1")


def test_a_piece_of_text_outside_of_all_definitions_has_no_heading():
    (entry,) = hit_entries([result(result_type="snippet", kind="", name="", excerpt=Excerpt(lines=lines((14, "text"))))])

    assert entry.lines == ("14:text",)


def test_code_that_goes_on_says_so():
    (entry,) = hit_entries([result(excerpt=Excerpt(lines=lines((7, "def f():")), n_omitted=12))])

    assert entry.lines[-1] == "… 12 more lines"


def test_places_alone_are_a_line_each():
    hits = [result(), result("b.md", result_type="file", kind="", name="", qualified_name="", line_start=1, line_end=80)]

    assert list(location_lines(hits)) == ["a.py:7-9 fn f", "b.md"]


@pytest.mark.invariant(of="test_every_line_of_code_is_that_line_of_the_file")
@pytest.mark.parametrize("hostile", ["a\nb", "a\rb", "a\x1b[31mb", "a\u2028b", "a\x85b", "a\x00b"])
def test_nothing_that_a_repository_holds_ends_a_line_or_commands_a_terminal(hostile):
    shown = one_line(hostile)

    assert shown.splitlines() == [shown]
    assert "\x1b" not in shown
    assert shown.startswith("a")
    assert shown.endswith("b")
    assert one_line("a\tb é 漢") == "a\tb é 漢"


def test_a_range_of_one_line_is_that_line():
    assert (span(3, 3), span(3, 9)) == ("3", "3-9")


def test_an_outline_is_indented_by_depth_with_imports_together():
    nodes = (
        OutlineNode(kind="use", name="os", line_start=1, line_end=1),
        OutlineNode(kind="use", name="re", line_start=2, line_end=2),
        OutlineNode(
            kind="class",
            name="A",
            line_start=4,
            line_end=9,
            signature="class A(B)",
            children=(OutlineNode(kind="method", name="m", line_start=5, line_end=6, signature="def m(self)"),),
        ),
    )

    assert list(outline_lines(nodes, "a.py")) == ["1-2 use os, re", "4-9 class A(B)", "  5-6 def m(self)"]


def node(line: int, own: str, kind: str, depth: int, path: str = "a.py", children: tuple = ()) -> HierarchyNode:
    return HierarchyNode(
        symbol_id="1",
        symbol_stable_id="2",
        name=own,
        kind=kind,
        qualified_name=f"a.{own}",
        path=path,
        line_start=line,
        line_end=line + 1,
        depth=depth,
        children=children,
    )


def test_a_hierarchy_names_a_path_where_it_changes():
    tree = node(1, "A", "class", 0, children=(node(2, "m", "fn", 1), node(1, "n", "fn", 1, "b.py")))

    assert list(hierarchy_lines((tree,))) == ["a.py:1-2 class A", "  2-3 fn m", "  b.py:1-2 fn a.n"]


def test_related_symbols_stand_below_their_relation():
    related = [
        RelatedSymbol(
            symbol_id="1",
            symbol_stable_id="2",
            kind="fn",
            name=own,
            qualified_name=f"a.{own}",
            path="a.py",
            line_start=1,
            line_end=2,
            signature=f"def {own}()",
            relation=relation,
            language="python",
        )
        for own, relation in (("f", "same_file"), ("g", "same_file"), ("h", "imported"))
    ]

    assert list(related_lines(related)) == [
        "same file:",
        "a.py",
        "1-2 def f()",
        "1-2 def g()",
        "",
        "imported:",
        "a.py",
        "1-2 def h()",
    ]
