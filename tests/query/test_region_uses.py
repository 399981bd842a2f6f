"""Uses of names in code of another language than that of its file: scripts of pages, chunks, queries in strings."""

import pytest

from codecompass.protocol.requests import FindReferences, GetCallGraph, GetSymbolHierarchy
from codecompass.query import find_references, get_call_graph, get_symbol_hierarchy

SITE = {
    "static/menu.js": (
        "function openMenu(name) {\n  return name;\n}\n\nclass Drawer {\n  slide(width) {\n    return width;\n  }\n}\n"
    ),
    "static/tool.mjs": "export function measure(a) {\n  return a;\n}\n",
    "static/site.css": ":root {\n  --accent: #123456;\n}\n",
    "pages/index.html": (
        "<html>\n"
        '<head><script src="../static/menu.js"></script></head>\n'
        "<style>.bar { color: var(--accent); }</style>\n"
        "<body>\n"
        '<h1 id="top">Start</h1>\n'
        "<script>\n"
        "function start() {\n"
        "  openMenu('main');\n"
        "  const drawer = new Drawer();\n"
        "  drawer.slide(3);\n"
        "}\n"
        "start(); openMenu('second');\n"
        "</script>\n"
        '<script type="module">\n'
        'import { measure as size } from "../static/tool.mjs";\n'
        "size(4);\n"
        "</script>\n"
        "</body>\n"
        "</html>\n"
    ),
    "pages/mail.jinja": ("{% block body %}\n<script>\nfunction mailTo() { openMenu({{ name }}); }\n</script>\n{% endblock %}\n"),
    "pages/card.vue": (
        "<template><p>{{ size }}</p></template>\n"
        "<script>\nimport { measure } from '../static/tool.mjs';\n"
        "export default { data() { return { size: measure(1) }; } };\n</script>\n"
        "<style>\n.card { color: var(--accent); }\n</style>\n"
    ),
    "pages/list.js": (
        "export const list = () => html`\n"
        '  <p class="card">a</p>\n'
        "  <script>openMenu('in a string');</script>\n"
        "`;\n"
        "const sheet = css`\n  a { color: var(--accent); }\n`;\n"
    ),
}

DATA = {
    "schema/tables.sql": (
        "CREATE TABLE orders (\n"
        "  id int,\n"
        "  total_cents int\n"
        ");\n"
        "\n"
        "CREATE VIEW big_orders AS SELECT * FROM orders WHERE total_cents > 100;\n"
    ),
    "app/store.py": (
        "def marked(db):\n"
        '    return db.run("""-- sql\n'
        "        SELECT total_cents\n"
        "        FROM orders\n"
        '    """)\n'
        "\n"
        "def plain(db, number):\n"
        '    return db.run(f"SELECT o.total_cents FROM orders o WHERE id = {number}")\n'
        "\n"
        "def prose(orders):\n"
        '    return "the orders are FROM here", orders\n'
    ),
    "app/store.go": (
        "package app\n\nfunc Load(db DB) {\n\tdb.Query(`\n\t\tSELECT id\n\t\tFROM orders\n\t`)\n"
        '\tdb.Exec("DELETE FROM orders")\n}\n'
    ),
    "app/Store.java": 'class Store {\n  void save() {\n    run("INSERT INTO orders (id) VALUES (?)");\n  }\n}\n',
    "app/store.rb": "class Store\n  def all\n    run(<<~SQL)\n      SELECT * FROM orders\n    SQL\n  end\nend\n",
    "app/store.ts": "export function change(db: Db) {\n  return db.run('UPDATE orders SET total_cents = 1');\n}\n",
    "notes/report.rmd": (
        "# Report\n\n```{r}\nshare <- function(x) x\nshare(1)\n```\n\n```{python}\nimport app.tools\n\n"
        "def summed(a):\n    return app.tools.added(a)\n\nsummed(2)\n```\n"
    ),
    "app/tools.py": "def added(a):\n    return a\n",
}


@pytest.fixture(scope="module")
def site(index_of):
    return index_of(SITE)


@pytest.fixture(scope="module")
def data(index_of):
    return index_of(DATA)


@pytest.fixture(scope="module")
def uses_of(state):
    def asked(snapshot, name, **arguments):
        reply = find_references(snapshot, FindReferences(symbol_name=name, **arguments), state)
        return [
            (
                f"{each.path}:{each.line_start}",
                each.role,
                each.confidence,
                "" if each.enclosing is None else each.enclosing.name,
            )
            for each in reply.references
        ]

    return asked


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        (
            "openMenu",
            [
                ("pages/index.html:8", "call", "exact", "start"),
                ("pages/index.html:12", "call", "exact", ""),
                ("pages/mail.jinja:3", "call", "likely", "mailTo"),
            ],
        ),
        ("Drawer", [("pages/index.html:9", "construct", "exact", "start")]),
        ("slide", [("pages/index.html:10", "call", "exact", "start")]),
        (
            "measure",
            [
                ("pages/card.vue:3", "import", "exact", "Card"),
                ("pages/card.vue:4", "call", "exact", "data"),
                ("pages/index.html:15", "import", "exact", ""),
                ("pages/index.html:16", "call", "exact", ""),
            ],
        ),
    ],
)
def test_scripts_of_pages_use_what_they_load_and_import(site, uses_of, name, expected):
    assert uses_of(site, name) == expected


def test_scripts_of_one_page_use_each_other(site, uses_of):
    assert uses_of(site, "start") == [("pages/index.html:12", "call", "exact", "")]


def test_styles_use_properties_in_all_that_hold_styles(site, uses_of):
    assert uses_of(site, "--accent") == [
        ("pages/card.vue:7", "read", "likely", "card"),
        ("pages/index.html:3", "read", "likely", "bar"),
        ("pages/list.js:6", "read", "likely", "a"),
    ]


MARKUP = (
    "<p>a</p>\n<style>\n.b {{ color: var(--accent); }}\n</style>\n"
    "<script>\nfunction own() {{ openMenu({0}); }}\nown();\n</script>\n"
)
KINDS = {
    "a.html": MARKUP.format("1"),
    "a.jinja": "{% block a %}\n" + MARKUP.format("{{ a }}") + "{% endblock %}\n",
    "a.twig": MARKUP.format("{{ a }}"),
    "a.hbs": MARKUP.format("{{a}}"),
    "a.gohtml": '{{ define "a" }}\n' + MARKUP.format("{{ .A }}") + "{{ end }}\n",
    "a.liquid": MARKUP.format("{{ a }}"),
    "b.liquid": "{% stylesheet %}\n.b { color: var(--accent); }\n{% endstylesheet %}\n"
    "{% javascript %}\nfunction own() { openMenu(1); }\nown();\n{% endjavascript %}\n",
    "a.blade.php": "@if (a())\n@endif\n" + MARKUP.format("{{ b() }}"),
    "a.cshtml": "@{ var a = 1; }\n" + MARKUP.format("@a"),
    "a.html.erb": "<% if a %>\n<% end %>\n" + MARKUP.format("<%= b %>"),
    "a.ejs": "<% if (a) { %>\n<% } %>\n" + MARKUP.format("<%= b %>"),
    "a.html.heex": "<%= a %>\n" + MARKUP.format("1"),
    "a.js": "const a = html`\n" + MARKUP.format("1") + "`;\n",
    "a.py": 'A = """-- sql\nSELECT 1"""\n# language=html\nB = """\n' + MARKUP.format("1") + '"""\n',
}


@pytest.fixture(scope="module")
def kinds(index_of):
    return index_of({**KINDS, "menu.js": SITE["static/menu.js"], "site.css": SITE["static/site.css"]})


@pytest.mark.parametrize("path", [path for path in KINDS if path not in ("a.ejs", "a.js")])
def test_every_kind_of_file_uses_what_its_scripts_and_styles_use(kinds, uses_of, path):
    text = KINDS[path].split("\n")
    line_of = {
        word: next(n for n, line in enumerate(text, 1) if word in line) for word in ("openMenu", "var(--accent)", "own();")
    }

    assert [each[0] for each in uses_of(kinds, "openMenu", path=path)] == [f"{path}:{line_of['openMenu']}"]
    assert [each[0] for each in uses_of(kinds, "--accent", path=path)] == [f"{path}:{line_of['var(--accent)']}"]
    own = [each[0] for each in uses_of(kinds, "own", path=path)]
    assert own == [f"{path}:{line_of['own();']}"]


def test_queries_in_strings_of_other_languages_use_tables(data, uses_of):
    assert uses_of(data, "orders") == [
        ("app/Store.java:3", "construct", "likely", "save"),
        ("app/store.go:6", "type", "likely", "Load"),
        ("app/store.go:8", "type", "likely", "Load"),
        ("app/store.py:4", "type", "likely", "marked"),
        ("app/store.py:8", "type", "likely", "plain"),
        ("app/store.rb:4", "type", "likely", "all"),
        ("app/store.ts:2", "type", "likely", "change"),
        ("schema/tables.sql:6", "type", "exact", "big_orders"),
    ]


def test_queries_in_strings_of_other_languages_use_columns(data, uses_of):
    assert uses_of(data, "total_cents") == [
        ("app/store.py:3", "read", "likely", "marked"),
        ("app/store.py:8", "read", "likely", "plain"),
        ("app/store.ts:2", "write", "likely", "change"),
        ("schema/tables.sql:6", "read", "likely", "big_orders"),
    ]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("share", [("notes/report.rmd:5", "call", "exact", "Report")]),
        ("summed", [("notes/report.rmd:14", "call", "exact", "")]),
        ("added", [("notes/report.rmd:12", "call", "exact", "summed")]),
    ],
)
def test_chunks_in_each_language_use_what_that_language_sees(data, uses_of, name, expected):
    assert uses_of(data, name) == expected


def test_the_call_graph_leads_into_a_page_and_out_of_it(site, state):
    def names(direction, name):
        reply = get_call_graph(site, GetCallGraph(symbol_name=name, direction=direction), state)
        return {node.name for node in reply.nodes if node.distance == 1}

    assert names("callers", "openMenu") == {"mailTo", "start"}
    assert names("callees", "start") == {"Drawer", "openMenu", "slide"}


def test_a_definition_in_a_page_is_in_the_language_of_its_script(site):
    [start] = [row for row in site.facts.symbols_named("start", 10) if row.kind == "fn"]

    assert (start.language, start.file_language, start.parent_kind) == ("javascript", "html", None)


def test_subtypes_of_a_type_in_a_page_are_in_its_language(index_of, state):
    snapshot = index_of(
        {
            "a.html": "<script>\nclass Base {}\nclass Leaf extends Base {}\n</script>\n",
            "b.py": "class Base: ...\nclass Other(Base): ...\n",
        }
    )

    request = GetSymbolHierarchy(symbol_name="Base", relation="subtypes", direction="descendants", path="a.html")
    reply = get_symbol_hierarchy(snapshot, request, state)

    assert [(each.name, each.path) for each in reply.symbols if each.depth] == [("Leaf", "a.html")]


PAGE = (
    "<style>.b { color: var(--x); }</style>\n<script>target();</script>\n"
    "<script>const q = sql`SELECT * FROM things WHERE 1`;</script>\n"
)


@pytest.mark.parametrize(
    "text",
    [
        PAGE * 400,
        "<script>html`" * 4_000 + "target()",
        '"SELECT a FROM ' * 10_000,
        "<script>" + "function f(){ target(" * 3_000,
        "x = '''SELECT " * 10_000,
    ],
    ids=["many", "nested", "unclosed", "deep", "openings"],
)
def test_hostile_regions_leave_other_files_as_they_are(index_of, uses_of, text):
    files = {f"a.{ending}": text for ending in ("html", "js", "py", "vue")}

    snapshot = index_of({**files, "ok.html": "<script>function fine() {}\nfine();</script>\n"})

    assert uses_of(snapshot, "fine") == [("ok.html:2", "call", "exact", "")]
