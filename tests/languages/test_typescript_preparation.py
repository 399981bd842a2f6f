"""The preparation of TypeScript source before parsing."""

from tree_sitter_language_pack import get_parser

from codecompass import languages
from codecompass.languages.ecmascript.ecmascript import prepare
from codecompass.languages.walk.extract import extract, parse

INTERFACES = """\
interface Each {
  <T extends any[]>(cases: List<T>): Reply<T>
  <T extends List<any>>(cases: List<T>): Reply<
    Arguments<T>
  >
  <T>(cases: List<T>): Reply<T[]>
  (...args: any): Reply<any[]>
  <const T>(a: T): void
  // With a default.
  <T = string>(a: T): T
}

interface Later {
  name: string
}

export const limit = 1
"""


def test_an_interface_of_signatures_without_names_loses_nothing_below_it():
    typescript = languages.load("typescript")
    source = INTERFACES.encode()

    found = extract(typescript, parse(typescript, get_parser("typescript"), source).root_node, source, "a.ts")

    assert not found.has_errors
    assert [(symbol.name, symbol.kind) for symbol in found.symbols] == [
        ("Each", "interface"),
        ("Later", "interface"),
        ("name", "field"),
        ("limit", "const"),
    ]


def test_the_parser_gets_as_many_bytes_and_the_same_line_breaks():
    source = INTERFACES.replace("\n", "\r\n").encode()

    result = prepare(source)

    assert result != source
    assert len(result) == len(source)
    assert [at for at, byte in enumerate(result) if byte == 10] == [at for at, byte in enumerate(source) if byte == 10]


def test_comparisons_arrows_and_casts_are_left_alone():
    source = b"const f = () =>\n  <T>(value)\nif (a >\n  b) {}\nconst x = a\n  <b\ntype E = A extends\n  <T>() => T ? 1 : 2\n"

    assert prepare(source) == source


def test_a_variable_of_using_is_a_constant():
    source = (
        b"using a = f()\nawait using b: B = g()\nfor (using c of d) {}\nusing(e)\nusing = 1\nclass A { m() { using h = i() } }\n"
    )

    prepared = prepare(source)

    assert len(prepared) == len(source)
    assert " ".join(prepared.decode().split()) == (
        "const a = f() const b: B = g() for (const c of d) {} using(e) using = 1 class A { m() { const h = i() } }"
    )
