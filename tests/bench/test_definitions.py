"""The definitions that other programs find, without those that a code index need not have."""

import pytest

from bench.definitions import Definition, Tag, bare_name, comparable, heredoc_lines, python_definitions

PYTHON = """\
LIMIT: int = 1
first, *rest = 1, 2, 3

def outer():
    local = 1
    def inner(): ...

class Shop:
    name = "x"

    @property
    def owner(self): ...

    def __init__(self):
        self.open = True
        if self.open:
            self.open, self.till = False, 0

try:
    import fast
except ImportError:
    def fallback(): ...
"""


def tag(
    name: str, kind: str = "function", *, scope: str = "", scope_kind: str = "", pattern: str = "/^x$/", line: int = 1
) -> Tag:
    return Tag(name, "a", kind, line, pattern, scope, scope_kind)


def names(language: str, *tags: Tag) -> list[str]:
    return [definition.name for definition in comparable(language, tags)]


def test_python_defines_classes_functions_variables_and_attributes():
    found = python_definitions("a.py", PYTHON)

    assert sorted((definition.line, definition.name, definition.kind) for definition in found) == [
        (1, "LIMIT", "variable"),
        (2, "first", "variable"),
        (2, "rest", "variable"),
        (4, "outer", "function"),
        (6, "inner", "function"),
        (8, "Shop", "class"),
        (9, "name", "class variable"),
        (12, "owner", "method"),
        (14, "__init__", "method"),
        (15, "open", "attribute"),
        (17, "till", "attribute"),
        (22, "fallback", "function"),
    ]


def test_python_that_cannot_be_parsed_is_said_so():
    with pytest.raises(SyntaxError):
        python_definitions("a.py", "print 'x'\n")


@pytest.mark.parametrize(
    ("language", "left_out"),
    [
        ("go", tag("main", "package")),
        ("javascript", tag("AnonymousFunctionb55813350100")),
        ("kotlin", tag("<lambda>", "method")),
        ("c", tag("__anon1234", "struct")),
        ("cpp", tag("TEST")),
        ("cpp", tag("SHOP_CART_H_", "macro")),
        ("bash", tag("names=")),
        ("ruby", tag("total=", "accessor")),
        ("haskell", tag("where")),
        ("typescript", tag("Props", "alias", pattern="/^import { type Props } from 'x';$/")),
        ("typescript", tag("count", "constant", pattern="/^  const count = 1$/")),
        ("kotlin", tag("count", "constant", scope="f", scope_kind="method")),
        ("kotlin", tag("index", "method", pattern="/^    items.map { index ->$/")),
        ("lua", tag("keys", pattern="/^  local keys = vim.tbl_filter(function(p)$/")),
        ("javascript", tag("http", "variable", pattern="/^var http = require('http');$/")),
        ("javascript", tag("later", "constant", pattern="/^const later = await import('./later.js');$/")),
        ("javascript", tag("exports", "class", pattern="/^module.exports = { total };$/")),
        ("javascript", tag("inner", pattern="/^const total = function inner() {$/")),
        ("javascript", tag("inner", "class", pattern="/^var Cart = class inner {$/")),
        ("javascript", tag("options", "class", pattern="/^  const options = {$/")),
        ("javascript", tag("Cart", "class", pattern="/^Cart.prototype.total = function () {$/")),
        ("haskell", tag("infixr", pattern="/^infixr 6 >*<$/")),
        ("haskell", tag("Text", pattern="/^  { names :: [(Text, Int)]$/")),
        ("haskell", tag("total", pattern="/^  :: Basket -> Int$/")),
        ("haskell", tag("deriveJSON", pattern="/^$(deriveJSON options ''Basket)$/")),
        ("kotlin", tag("item", "method", pattern="/^    fun total() = items.map { item ->$/")),
        ("typescript", tag("uuid", "constant", pattern="/^export const uuid4 = uuid(4)$/")),
        ("csharp", tag("Token", "property", pattern="/^    public T First<T>() where T : Token$/")),
        ("go", tag("_", "const")),
    ],
)
def test_what_is_no_definition_of_a_file_is_left_out(language, left_out):
    kept = tag("kept", pattern="/^function kept()$/")

    assert names(language, left_out, kept) == ["kept"]


def test_what_only_looks_like_it_is_kept():
    assert names("cpp", tag("MAX", "macro"), tag("Test")) == ["MAX", "Test"]
    assert names("typescript", tag("LIMIT", "constant", pattern="/^const LIMIT = 1$/")) == ["LIMIT"]
    assert names("typescript", tag("size", "constant", scope="N", scope_kind="namespace", pattern="/^  const size$/")) == ["size"]
    assert names("typescript", tag("a", "constant", pattern="/^export const { a, b } = shop$/")) == ["a"]
    assert names("kotlin", tag("count", "constant", scope="Shop", scope_kind="class")) == ["count"]
    assert names("javascript", tag("options", "class", pattern="/^const options = {$/")) == ["options"]
    assert names("javascript", tag("Cart", "class", pattern="/^  function Cart(items) {$/")) == ["Cart"]
    assert names("javascript", tag("total", pattern="/^Cart.prototype.total = function total() {$/")) == ["total"]
    assert names("javascript", tag("render", pattern="/^module.exports = function render() {$/")) == ["render"]
    assert names("kotlin", tag("total", "method", pattern="/^    fun total() = 1$/")) == ["total"]
    assert names("lua", tag("M.total", pattern="/^M.total = function(x)$/")) == ["total"]


def test_names_are_written_as_an_index_would():
    functions = [tag(name, pattern=f"/^function {name}(x)$/") for name in ("M.setup", "Cart:add", "plain")]

    assert names("lua", *functions) == ["setup", "add", "plain"]
    assert names("csharp", tag("IList.IsFixedSize", "property")) == ["IsFixedSize"]
    assert names("go", tag("a.b")) == ["a.b"]


@pytest.mark.parametrize(
    ("language", "theirs", "ours"),
    [
        ("pascal", "TForm.Create", "Create"),
        ("tcl", "count", "::votes::count"),
        ("cpp", "operator ==", "operator=="),
        ("r", "`[.votes`", "[.votes"),
        ("elm", "Status a", "Status"),
        ("commonlisp", "#:votes", "votes"),
    ],
)
def test_one_name_may_be_written_in_two_ways(language, theirs, ours):
    assert bare_name(language, theirs) == bare_name(language, ours)


def test_the_clauses_of_one_function_are_one_definition():
    clauses = [tag("cast", scope="Types", line=4), tag("cast", scope="Types", line=11), tag("cast", scope="Other", line=20)]

    assert comparable("elixir", clauses) == [
        Definition("a", "cast", "function", 4),
        Definition("a", "cast", "function", 20),
    ]
    assert len(comparable("ruby", clauses)) == 3


def test_text_between_three_quotes_is_no_elixir():
    source = (
        "defmodule Shop do\n  @doc \"\"\"\n  def sold, do: 1\n  \"\"\"\n  def open do\n    ~S'''\n    x\n    '''\n  end\nend\n"
    )

    assert heredoc_lines(source) == {3, 4, 7, 8}


def test_a_typedef_begins_where_the_type_in_it_begins():
    held = Tag("cart_st", "a", "struct", 3, end=7)
    named = Tag("cart_t", "a", "typedef", 7, typeref="struct:cart_st")
    apart = Tag("cart_p", "a", "typedef", 12, typeref="struct:cart_st")

    assert [(found.name, found.line) for found in comparable("c", [held, named, apart])] == [
        ("cart_st", 3),
        ("cart_t", 3),
        ("cart_p", 12),
    ]
