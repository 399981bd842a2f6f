"""`find_references`: what a use of a name refers to in each language, and how the answer is cut."""

import pytest

from codecompass.errors import SymbolNotFound
from codecompass.protocol.requests import FindReferences
from codecompass.protocol.text import render
from codecompass.query import find_references

PYTHON = {
    "app/store.py": (
        "class Store:\n"
        "    def save(self, item):\n"
        "        self.check(item)\n"
        "\n"
        "    def check(self, item): ...\n"
        "\n"
        "class Disk(Store):\n"
        "    def save(self, item):\n"
        "        super().save(item)\n"
        "\n"
        "def open_store() -> Disk:\n"
        "    return Disk()\n"
    ),
    "app/other.py": "class Other:\n    def save(self): ...\n\ndef save(): ...\n",
    "app/main.py": (
        "from app.store import Store, open_store as opened\n"
        "from app import other\n"
        "import json\n"
        "\n"
        "def run(store: Store, unknown):\n"
        "    store.save(1)\n"
        "    opened().save(2)\n"
        "    other.save()\n"
        "    unknown.save(3)\n"
        "    json.save(4)\n"
        "    save = 5\n"
        "    print(save)  # save(6)\n"
        "    return f'{store.save(7)} store.save(8)'\n"
    ),
    "tests/test_store.py": "from app.store import Store\n\ndef test_it():\n    Store().save(1)\n",
}


@pytest.fixture(scope="module")
def python(index_of):
    return index_of(PYTHON)


@pytest.fixture(scope="session")
def uses_of(state):
    def asked(snapshot, symbol_name, **arguments):
        return find_references(snapshot, FindReferences(symbol_name=symbol_name, **arguments), state)

    return asked


def places(reply):
    return [(each.path, each.line_start, each.role, each.confidence) for each in reply.references]


def test_a_use_is_bound_by_types_that_are_written_by_imports_and_by_what_functions_return(python, uses_of):
    assert places(uses_of(python, "Store.save", confidence="possible")) == [
        ("app/main.py", 6, "call", "exact"),
        ("app/main.py", 9, "call", "possible"),
        ("app/main.py", 13, "call", "exact"),
        ("app/store.py", 9, "call", "exact"),
        ("tests/test_store.py", 4, "call", "exact"),
    ]
    assert places(uses_of(python, "Disk.save")) == [("app/main.py", 7, "call", "exact")]
    assert places(uses_of(python, "app.other.save")) == [("app/main.py", 8, "call", "exact")]
    assert places(uses_of(python, "Other.save")) == []


def test_each_use_says_its_role_and_the_function_around_it(python, uses_of):
    reply = uses_of(python, "Store")

    assert places(reply) == [
        ("app/main.py", 1, "import", "exact"),
        ("app/main.py", 5, "type", "exact"),
        ("app/store.py", 7, "inherit", "exact"),
        ("tests/test_store.py", 1, "import", "exact"),
        ("tests/test_store.py", 4, "construct", "exact"),
    ]
    assert [each.enclosing and each.enclosing.name for each in reply.references] == [None, "run", "Disk", None, "test_it"]
    assert [each.is_test for each in reply.references] == [False, False, False, True, True]
    assert reply.references[1].text == "def run(store: Store, unknown):"


def test_uses_under_an_alias_are_found(python, uses_of):
    assert places(uses_of(python, "open_store")) == [
        ("app/main.py", 1, "import", "exact"),
        ("app/main.py", 7, "call", "exact"),
    ]


def test_counts_are_of_all_uses_whatever_is_listed(python, uses_of):
    reply = uses_of(python, "Store.save", role="call", include_tests=False, limit=1)

    assert places(reply) == [("app/main.py", 6, "call", "exact")]
    assert (reply.total, reply.metadata.result_completeness) == (3, "truncated")
    counts = reply.counts
    assert (counts.exact, counts.likely, counts.possible, counts.tests, counts.roles) == (4, 0, 1, 1, {"call": 4})
    assert counts.elsewhere == 8


def test_the_rest_of_a_page_follows_from_an_offset(python, uses_of):
    whole = places(uses_of(python, "Store.save", confidence="possible"))

    pages = [places(uses_of(python, "Store.save", confidence="possible", limit=2, offset=offset)) for offset in (0, 2, 4, 6)]

    assert [place for page in pages for place in page] == whole


def test_the_location_level_has_no_code(python, uses_of):
    assert {each.text for each in uses_of(python, "Store", detail_level="location").references} == {""}


def test_no_uses_say_what_was_searched(python, uses_of):
    counts = uses_of(python, "Other.save").counts

    assert (counts.exact, counts.likely, counts.possible) == (0, 0, 1)
    assert counts.elsewhere > 0


@pytest.mark.invariant(of="test_a_method_is_told_from_others_of_its_name")
def test_an_unknown_name_is_never_answered_for_another(python, uses_of):
    with pytest.raises(SymbolNotFound) as refused:
        uses_of(python, "open_stores")

    assert "open_store" in refused.value.data["similar_names"]


def test_several_definitions_of_a_name_are_answered_together(python, uses_of):
    reply = uses_of(python, "save")

    assert {(each.path, each.qualified_name, each.n_uses) for each in reply.definitions} == {
        ("app/other.py", "app.other.save", 1),
        ("app/other.py", "app.other.Other.save", 0),
        ("app/store.py", "app.store.Store.save", 4),
        ("app/store.py", "app.store.Disk.save", 1),
    }
    by_definition = {}
    for each in reply.references:
        name = None if each.definition is None else reply.definitions[each.definition].qualified_name
        by_definition.setdefault(name, []).append(f"{each.path}:{each.line_start}")
    assert by_definition == {
        "app.other.save": ["app/main.py:8"],
        "app.store.Store.save": ["app/main.py:6", "app/main.py:13", "app/store.py:9", "tests/test_store.py:4"],
        "app.store.Disk.save": ["app/main.py:7"],
        None: ["app/main.py:9"],
    }
    assert [each.confidence for each in reply.references if each.definition is None] == ["likely"]


def test_what_is_not_bound_follows_with_the_reason_and_tests_last(python, uses_of):
    reply = uses_of(python, "Other.save")

    assert reply.references == ()
    assert [(f"{each.path}:{each.line_start}", each.reason) for each in reply.elsewhere] == [
        ("app/main.py:9", "several fit"),
        ("app/main.py:10", "unresolved import"),
        ("app/main.py:6", "other type"),
        ("app/main.py:7", "other type"),
        ("app/main.py:13", "other type"),
    ]
    everything = uses_of(python, "Other.save", limit=1000)
    assert everything.elsewhere[-1].reason in ("other definition", "local or text")
    assert len(everything.elsewhere) == everything.counts.elsewhere + everything.counts.possible
    assert everything.elsewhere[2].enclosing.name == "run"


def test_a_name_that_occurs_in_text_alone_is_not_said_to_be_unused(index_of, uses_of):
    snapshot = index_of(
        {
            "app/hooks.py": "def on_start(): ...\n\ndef on_stop(): ...\n",
            "app/config.py": "HOOKS = ['app.hooks.on_start']\n",
            "deploy/run.unknown": "call on_start\n",
            "README.md": "`on_start` is called first.\n",
        }
    )

    reply = uses_of(snapshot, "on_start")

    assert [(each.path, each.reason) for each in reply.elsewhere] == [
        ("deploy/run.unknown", "text"),
        ("app/config.py", "local or text"),
        ("README.md", "document"),
    ]
    assert (reply.references, reply.counts.elsewhere) == ((), 3)
    text = render(reply).splitlines()
    assert text[0] == "no use is bound to it, 3 of the name elsewhere"
    assert "elsewhere? text:" in text
    assert render(uses_of(snapshot, "on_stop")).splitlines()[0] == "0 uses"


def test_many_bound_uses_are_followed_by_doubtful_lines_alone(index_of, uses_of):
    calls = "".join(f"def f{number}():\n    work()\n" for number in range(6))
    snapshot = index_of(
        {
            "app/work.py": "def work(): ...\n\n# work hard\n",
            "app/main.py": f"from app.work import work\n\n{calls}\ndef g(x):\n    x.work()\n",
            "app/other.py": "class Other:\n    def work(self): ...\n",
        }
    )

    reply = uses_of(snapshot, "app.work.work")

    assert len(reply.references) == 7
    assert all(each.reason in ("unknown receiver", "several fit") for each in reply.elsewhere)


def test_a_path_filters_what_is_listed_as_elsewhere(python, uses_of):
    reply = uses_of(python, "Other.save", path="tests/", limit=1000)

    assert {each.path for each in reply.elsewhere} == {"tests/test_store.py"}


def test_the_rest_of_what_is_elsewhere_follows_from_an_offset(python, uses_of):
    whole = [each.line_start for each in uses_of(python, "Other.save", confidence="possible").elsewhere]

    pages = [uses_of(python, "Other.save", confidence="possible", limit=3, offset=offset).elsewhere for offset in range(0, 15, 3)]

    assert [each.line_start for page in pages for each in page] == whole


ONE_SYMBOL = {
    "a prototype, its definition and a test double": (
        {
            "inc/net.h": "int net_open(int port);\n",
            "lib/net.c": '#include "net.h"\n\nint net_open(int port)\n{\n  return port;\n}\n',
            "tests/fake.c": "int net_open(int port)\n{\n  return 0;\n}\n",
            "src/main.c": '#include "net.h"\n\nint run(void)\n{\n  return net_open(1);\n}\n',
        },
        "net_open",
        ["lib/net.c:3", "tests/fake.c:1", "inc/net.h:1"],
        ["src/main.c:5"],
    ),
    "a class and its constructors": (
        {
            "src/shop/Cart.java": (
                "package shop;\n\npublic class Cart {\n  public Cart() {}\n  public Cart(int n) {}\n"
                "  static Cart of() { return new Cart(); }\n}\n"
            ),
            "src/shop/Main.java": "package shop;\n\nclass Main {\n  void run() { Cart cart = new Cart(2); }\n}\n",
        },
        "Cart",
        ["src/shop/Cart.java:3", "src/shop/Cart.java:4", "src/shop/Cart.java:5"],
        ["src/shop/Cart.java:6", "src/shop/Main.java:4"],
    ),
    "partial classes": (
        {
            "A.cs": "namespace N { public partial class Reader { public void Read() {} } }\n",
            "B.cs": "namespace N {\n  public partial class Reader {\n    public Reader() {}\n  }\n}\n",
            "C.cs": "namespace N { class User { void Run() { var r = new Reader(); r.Read(); } } }\n",
        },
        "Reader",
        ["A.cs:1", "B.cs:2", "B.cs:3"],
        ["C.cs:1"],
    ),
    "overloads in two files": (
        {
            "fmt/base.h": "namespace fmt {\nvoid vformat(int a);\nvoid vformat(int a, int b);\n}\n",
            "fmt/inl.h": "namespace fmt {\nvoid vformat(int a) {}\nvoid vformat(int a, int b) {}\n}\n",
            "src/main.cc": '#include "fmt/base.h"\n\nvoid run() {\n  fmt::vformat(1);\n}\n',
        },
        "vformat",
        ["fmt/inl.h:2", "fmt/inl.h:3", "fmt/base.h:2", "fmt/base.h:3"],
        ["src/main.cc:4"],
    ),
    "functions of shell scripts and of their tests": (
        {
            "lib.sh": "download() {\n  curl $1\n}\n\nmain() {\n  download x\n}\n",
            "test/fast/one.sh": "download() {\n  echo fake\n}\n",
            "test/fast/two.sh": "download() {\n  echo fake\n}\n",
        },
        "download",
        ["lib.sh:1", "test/fast/one.sh:1", "test/fast/two.sh:1"],
        ["lib.sh:6"],
    ),
}


@pytest.mark.parametrize("case", ONE_SYMBOL)
def test_one_symbol_has_several_places(index_of, uses_of, case):
    files, name, own_places, found = ONE_SYMBOL[case]
    snapshot = index_of(files)

    reply = uses_of(snapshot, name)

    definition = reply.definition
    assert reply.definitions == ()
    assert [f"{each.path}:{each.line_start}" for each in (definition, *definition.places)] == own_places
    assert sorted({f"{each.path}:{each.line_start}" for each in reply.references}) == found
    for place in own_places:
        again = uses_of(snapshot, place).definition
        assert again.n_places <= len(own_places)


def test_static_functions_of_two_files_are_two_symbols(index_of, uses_of):
    body = "static int parse(int a)\n{\n  return a;\n}\n\nint NAME(void)\n{\n  return parse(1);\n}\n"
    snapshot = index_of({"a.c": body.replace("NAME", "one"), "b.c": body.replace("NAME", "two")})

    reply = uses_of(snapshot, "parse")

    assert [(each.path, each.n_uses) for each in reply.definitions] == [("a.c", 1), ("b.c", 1)]
    assert [(each.path, each.definition) for each in reply.references] == [("a.c", 0), ("b.c", 1)]
    assert [each.path for each in uses_of(snapshot, "b.c:1").references] == ["b.c"]


def test_a_call_of_several_lines_is_shown_whole_up_to_a_bound(index_of, uses_of):
    lines = "".join(f"        {number},\n" for number in range(20))
    snapshot = index_of(
        {
            "a.py": (
                "def send(*args): ...\n\ndef short():\n    return send(\n        1,\n        ')',\n    )\n\n"
                f"def long():\n    send(\n{lines}    )\n\ndef one():\n    send(1); print(\n2)\n"
            )
        }
    )

    first, long, one = uses_of(snapshot, "send").references

    assert (first.line_start, first.line_end) == (4, 7)
    assert first.text == "    return send(\n        1,\n        ')',\n    )"
    assert (long.line_end - long.line_start, long.text) == (0, "    send(")
    assert one.text == "    send(1); print("
    assert render(uses_of(snapshot, "send", limit=1)).splitlines()[1:7] == [
        "a.py",
        "in short",
        "4:    return send(",
        "5:        1,",
        "6:        ')',",
        "7:    )",
    ]


def test_the_definition_around_a_use_is_no_property(index_of, uses_of):
    snapshot = index_of(
        {
            "src/Box.kt": "package a\n\nclass Clock\n\nclass Box(\n    val clock: Clock = Clock(),\n)\n",
        }
    )

    assert {each.enclosing.name for each in uses_of(snapshot, "Clock").references} == {"Box"}


CASES = {
    "typescript": (
        {
            "src/shapes.ts": (
                "export interface Shape { area(): number }\n"
                "export class Circle implements Shape {\n"
                "  constructor(private radius: number) {}\n"
                "  area() { return this.scale(2) }\n"
                "  scale(by: number): number { return by }\n"
                "}\n"
                "export class Square { scale(by: number) { return by } }\n"
            ),
            "src/main.ts": (
                "import { Circle as Round, Shape } from './shapes'\n"
                "import * as shapes from './shapes'\n"
                "export function draw(shape: Shape, any: any) {\n"
                "  const round = new Round(1)\n"
                "  round.scale(3)\n"
                "  new shapes.Square().scale(4)\n"
                "  any.scale(5)\n"
                "  return `${round.scale(6)} scale`\n"
                "}\n"
            ),
        },
        "Circle.scale",
        [("src/main.ts", 5, "exact"), ("src/main.ts", 7, "possible"), ("src/main.ts", 8, "exact"), ("src/shapes.ts", 4, "exact")],
    ),
    "go": (
        {
            "go.mod": "module example.com/shop\n",
            "cart/cart.go": (
                "package cart\n\n"
                "type Cart struct{ Total int }\n\n"
                "func New() *Cart { return &Cart{Total: 1} }\n\n"
                "func (c *Cart) Add(n int) { c.Total += n }\n"
            ),
            "list/list.go": "package list\n\ntype List struct{}\n\nfunc (l List) Add(n int) {}\n",
            "main.go": (
                "package main\n\n"
                'import "example.com/shop/cart"\n\n'
                "func main() {\n"
                "\tc := cart.New()\n"
                "\tc.Add(1)\n"
                "\tvar other any\n"
                "\tother.Add(2)\n"
                "}\n"
            ),
        },
        "Cart.Add",
        [("main.go", 7, "exact"), ("main.go", 9, "possible")],
    ),
    "go fields": (
        {
            "go.mod": "module example.com/shop\n",
            "cart/cart.go": (
                "package cart\n\n"
                "type Cart struct{ Total int }\n\n"
                "type Bill struct{ Total int }\n\n"
                "func New() *Cart { return &Cart{Total: 1} }\n\n"
                "func (c *Cart) Add(n int) { c.Total += n }\n"
            ),
        },
        "Cart.Total",
        [("cart/cart.go", 7, "exact"), ("cart/cart.go", 9, "exact")],
    ),
    "rust": (
        {
            "Cargo.toml": '[package]\nname = "shop"\nversion = "0.1.0"\n',
            "src/lib.rs": "pub mod cart;\npub mod list;\n",
            "src/cart.rs": (
                "pub struct Cart { total: u32 }\n\n"
                "impl Cart {\n"
                "    pub fn new() -> Self { Cart { total: 0 } }\n"
                "    pub fn add(&mut self, n: u32) { self.total += n; }\n"
                "    pub fn twice(&mut self) { self.add(1); Self::add(self, 2); }\n"
                "}\n"
            ),
            "src/list.rs": (
                "use crate::cart::Cart;\n\n"
                "pub struct List;\n"
                "impl List { pub fn add(&mut self, n: u32) {} }\n\n"
                "pub fn fill() {\n"
                "    let mut cart = Cart::new();\n"
                "    cart.add(3);\n"
                "    List.add(4);\n"
                "}\n"
            ),
        },
        "Cart::add",
        [("src/cart.rs", 6, "exact"), ("src/list.rs", 8, "exact")],
    ),
    "java": (
        {
            "src/shop/Cart.java": (
                "package shop;\n\n"
                "public class Cart extends Base {\n"
                "  private int total;\n"
                "  public void add(int n) { total += n; }\n"
                "  public void twice() { add(1); this.add(2); }\n"
                "}\n"
            ),
            "src/shop/Base.java": "package shop;\n\npublic class Base {\n  public void done() {}\n}\n",
            "src/shop/Main.java": (
                "package shop;\n\n"
                "import java.util.List;\n\n"
                "class Main {\n"
                "  void run(Cart cart, List<Integer> list) {\n"
                "    cart.add(3);\n"
                "    list.add(4);\n"
                "    new Cart().add(5);\n"
                "    cart.done();\n"
                "  }\n"
                "}\n"
            ),
        },
        "Cart.add",
        [("src/shop/Cart.java", 6, "exact"), ("src/shop/Main.java", 7, "exact"), ("src/shop/Main.java", 9, "exact")],
    ),
    "cpp": (
        {
            "cart.h": "namespace shop {\nclass Cart {\n public:\n  void add(int n);\n  int total_;\n};\n}\n",
            "cart.cc": '#include "cart.h"\nnamespace shop {\nvoid Cart::add(int n) { total_ += n; }\n}\n',
            "main.cc": (
                '#include "cart.h"\n'
                "struct List { void add(int n) {} };\n"
                "void run(shop::Cart* cart, List& list) {\n"
                "  cart->add(1);\n"
                "  list.add(2);\n"
                '  const char* text = "add(3)";\n'
                "}\n"
            ),
        },
        "Cart::add",
        [("main.cc", 4, "exact")],
    ),
    "c": (
        {
            "pool.h": "int pool_open(int n);\n",
            "pool.c": '#include "pool.h"\nint pool_open(int n) { return n; }\nstatic int helper(void) { return pool_open(1); }\n',
            "other.c": "static int helper(void) { return 2; }\nint other(void) { return helper(); }\n",
        },
        "pool_open",
        [("pool.c", 3, "exact")],
    ),
    "ruby": (
        {
            "lib/cart.rb": (
                "class Cart\n  def add(n)\n    @total = n\n  end\n\n  def twice\n    add(1)\n    self.add(2)\n  end\nend\n"
            ),
            "lib/list.rb": "class List\n  def add(n)\n  end\nend\n\nCart.new\n",
        },
        "Cart#add",
        [("lib/cart.rb", 7, "exact"), ("lib/cart.rb", 8, "exact")],
    ),
    "php": (
        {
            "src/Cart.php": (
                "<?php\nclass Cart {\n  public function add($n) { $this->total = $n; }\n"
                "  public function twice() { $this->add(1); }\n}\n"
            ),
            "src/main.php": "<?php\nfunction run(Cart $cart) {\n  $cart->add(2);\n  $list->add(3);\n}\n",
        },
        "Cart.add",
        [("src/Cart.php", 4, "exact"), ("src/main.php", 3, "exact"), ("src/main.php", 4, "possible")],
    ),
    "kotlin": (
        {
            "src/Cart.kt": "class Cart {\n  fun add(n: Int) {}\n  fun twice() { add(1) }\n}\n",
            "src/Main.kt": (
                'fun run(cart: Cart) {\n  cart.add(2)\n  val own = Cart()\n  own.add(3)\n  println("${own.add(4)}")\n}\n'
            ),
        },
        "Cart.add",
        [("src/Cart.kt", 3, "exact"), ("src/Main.kt", 2, "exact"), ("src/Main.kt", 4, "exact"), ("src/Main.kt", 5, "exact")],
    ),
    "csharp": (
        {
            "Cart.cs": "class Cart {\n  public void Add(int n) {}\n  public void Twice() { Add(1); }\n}\n",
            "Main.cs": (
                "class Main {\n  void Run(Cart cart) {\n    cart.Add(2);\n    var own = new Cart();\n    own.Add(3);\n  }\n}\n"
            ),
        },
        "Cart.Add",
        [("Cart.cs", 3, "exact"), ("Main.cs", 3, "exact"), ("Main.cs", 5, "exact")],
    ),
    "swift": (
        {
            "Sources/Cart.swift": "class Cart {\n  func add(_ n: Int) {}\n  func twice() { add(1); self.add(2) }\n}\n",
            "Sources/Main.swift": "func run(cart: Cart) {\n  cart.add(3)\n  let own = Cart()\n  own.add(4)\n}\n",
        },
        "Cart.add",
        [("Sources/Cart.swift", 3, "exact"), ("Sources/Main.swift", 2, "exact"), ("Sources/Main.swift", 4, "exact")],
    ),
    "scala": (
        {
            "Cart.scala": "class Cart {\n  def add(n: Int): Unit = {}\n  def twice(): Unit = { add(1) }\n}\n",
            "Main.scala": "object Main {\n  def run(cart: Cart): Unit = {\n    cart.add(2)\n  }\n}\n",
        },
        "Cart.add",
        [("Cart.scala", 3, "exact"), ("Main.scala", 3, "exact")],
    ),
}


@pytest.mark.invariant("A use is bound only to the definition that the evidence supports, and no name is answered with another")
@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_method_is_told_from_others_of_its_name(case, index_of, uses_of):
    files, name, expected = CASES[case]
    arguments = {"path": "cart.cc"} if case == "cpp" else {"path": "pool.c"} if case == "c" else {}

    reply = uses_of(index_of(files), name, confidence="possible", **arguments)

    assert [(each.path, each.line_start, each.confidence) for each in reply.references] == expected


@pytest.mark.parametrize(
    ("path", "text", "name", "lines"),
    [
        ("a.lua", "local function add(n) return n end\nprint(add(1))\n-- add(2)\n", "add", [2]),
        ("a.ex", "defmodule Cart do\n  def add(n), do: n\n  def twice(n), do: add(n)\nend\n", "add", [3]),
        ("A.hs", "module A where\nadd :: Int -> Int\nadd n = n\ntwice n = add (add n)\n-- add\n", "add", [4]),
        ("a.sh", 'add() { echo "$1"; }\nadd 1 # add\necho "$(add 2)"\n', "add", [2, 3]),
        ("a.zig", "fn add(n: u32) u32 { return n; }\npub fn main() void { _ = add(1); }\n", "add", [2]),
        ("a.sql", "CREATE FUNCTION add_one(n int) RETURNS int AS 'select 1';\nSELECT add_one(1);\n", "add_one", [2]),
        ("a.js", "function add(n) { return n }\nadd(1)\nconst text = 'add(2)'\n", "add", [2]),
        ("a.tsx", "export function Add(p: {}) { return null }\nconst x = <Add />\n", "Add", [2]),
    ],
    ids=lambda value: value if isinstance(value, str) and "." in value else "",
)
def test_every_language_has_uses(path, text, name, lines, index_of, uses_of):
    reply = uses_of(index_of({path: text}), name, confidence="possible")

    assert sorted({each.line_start for each in reply.references}) == lines


COMPONENTS = {
    "src/api.ts": "export function copy(text: string) { return text }\n",
    "src/Card.vue": "<template><p/></template>\n<script>\nexport default { methods: { open() {} } }\n</script>\n",
    "src/MyPanel.vue": (
        '<script setup lang="ts">\n'
        "import { copy } from './api'\n"
        "import Renamed from './Card.vue'\n"
        "function onCopy() { copy('x') }\n"
        "</script>\n"
        '<template>\n  <Renamed @click="onCopy" />\n</template>\n'
    ),
    "src/App.vue": (
        '<template>\n  <my-panel @done="finish" />\n</template>\n'
        "<script>\nimport MyPanel from './MyPanel.vue'\n"
        "export default {\n  components: { MyPanel },\n  methods: {\n    finish() {},\n  },\n}\n</script>\n"
    ),
    "src/Global.vue": "<template>\n  <my-panel/>\n</template>\n",
    "src/main.tsx": "import App from './App.vue'\nexport const main = () => {\n  return <App />\n}\n",
    "src/Note.svelte": (
        "<script>\n  import { copy } from './api'\n</script>\n<button on:click={() => copy('y')}>copy(it)</button>\n"
    ),
    "src/page.astro": "---\nimport Note from './Note.svelte'\n---\n<Note client:load />\n",
    "lib/models.py": "def load(): ...\n",
    "lib/__init__.py": "",
    "try.ipynb": (
        '{\n "cells": [\n  {\n   "cell_type": "code",\n   "source": [\n    "from lib.models import load\\n",\n'
        '    "def again():\\n",\n    "    return load()"\n   ]\n  }\n ]\n}\n'
    ),
}


@pytest.fixture(scope="module")
def components(index_of):
    return index_of(COMPONENTS)


def around(reply):
    return [(each.path, each.line_start, each.role, each.enclosing.name if each.enclosing else "") for each in reply.references]


def test_scripts_and_templates_of_components_use_what_they_import(components, uses_of):
    assert around(uses_of(components, "copy")) == [
        ("src/MyPanel.vue", 2, "import", "MyPanel"),
        ("src/MyPanel.vue", 4, "call", "onCopy"),
        ("src/Note.svelte", 2, "import", "Note"),
        ("src/Note.svelte", 4, "call", "Note"),
    ]


def test_a_tag_is_a_use_of_the_component_under_the_name_of_its_import_in_either_spelling(components, uses_of):
    assert places(uses_of(components, "MyPanel")) == [
        ("src/App.vue", 2, "construct", "exact"),
        ("src/App.vue", 5, "import", "exact"),
        ("src/App.vue", 7, "type", "exact"),
        ("src/Global.vue", 2, "construct", "likely"),
    ]
    assert places(uses_of(components, "App")) == [
        ("src/main.tsx", 1, "import", "exact"),
        ("src/main.tsx", 3, "construct", "exact"),
    ]
    assert places(uses_of(components, "Note")) == [
        ("src/page.astro", 2, "import", "exact"),
        ("src/page.astro", 4, "construct", "exact"),
    ]


def test_a_template_uses_the_methods_of_its_component(components, uses_of):
    assert places(uses_of(components, "finish")) == [("src/App.vue", 2, "read", "exact")]
    assert places(uses_of(components, "onCopy")) == [("src/MyPanel.vue", 7, "read", "exact")]


def test_cells_of_a_notebook_use_what_they_import_at_their_lines_in_the_file(components, uses_of):
    assert around(uses_of(components, "load")) == [("try.ipynb", 6, "import", ""), ("try.ipynb", 8, "call", "again")]


def test_a_use_among_the_properties_of_a_class_is_in_the_class(index_of, uses_of):
    snapshot = index_of(
        {"a.kt": "class Service\n\nclass User(\n    val service: Service,\n) {\n    val other: Service = make()\n}\n"}
    )

    assert [(line, name) for _, line, _, name in around(uses_of(snapshot, "Service"))] == [(4, "User"), (6, "User")]


def test_two_calls_in_one_function_are_told_apart_by_the_number_of_their_arguments(index_of, uses_of):
    text = (
        "package a\ntype Job struct{}\nfunc (j Job) Transmit(a int) {}\ntype Mail struct{}\n"
        "func (m Mail) Transmit(a int, b int) {}\nfunc both() {\n\tx := load()\n\tx.Transmit(1)\n\tx.Transmit(1, 2)\n}\n"
    )
    snapshot = index_of({"a.go": text})

    assert [each.line_start for each in uses_of(snapshot, "Job.Transmit").references] == [8]
    assert [each.line_start for each in uses_of(snapshot, "Mail.Transmit").references] == [9]


def test_a_test_that_is_named_after_a_function_does_not_hide_it(index_of, uses_of):
    """`describe('run', ..)` gives a test the name of what it tests, but declares no name."""
    snapshot = index_of(
        {
            "src/run.ts": "export function run(job: number) {}\n",
            "test/run.spec.ts": (
                "import { run } from '../src/run'\n"
                "\n"
                "describe('run', () => {\n"
                "  it('once', () => {\n"
                "    run(1)\n"
                "  })\n"
                "})\n"
                "\n"
                "run(2)\n"
            ),
        }
    )

    reply = uses_of(snapshot, "run")

    assert places(reply) == [
        ("test/run.spec.ts", 1, "import", "exact"),
        ("test/run.spec.ts", 5, "call", "exact"),
        ("test/run.spec.ts", 9, "call", "exact"),
    ]
