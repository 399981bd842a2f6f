"""`find_references`: what a use of a name refers to in each language, and how the answer is cut."""

import pytest

from codecompass.errors import AmbiguousSymbol, SymbolNotFound
from codecompass.protocol.requests import FindReferences
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
    assert counts.elsewhere == 3


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


def test_an_unknown_name_is_never_answered_for_another(python, uses_of):
    with pytest.raises(SymbolNotFound) as refused:
        uses_of(python, "open_stores")

    assert "open_store" in refused.value.data["similar_names"]


def test_several_definitions_of_a_name_are_told_apart_by_path_or_scope(python, uses_of):
    with pytest.raises(AmbiguousSymbol) as refused:
        uses_of(python, "save")

    assert refused.value.data["candidate_count"] == 4


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
