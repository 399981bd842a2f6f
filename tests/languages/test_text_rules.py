"""Readers of text: whatever a file holds, they take time in its size, and find nothing that is not well formed."""

import random

import pytest

from codecompass import languages
from codecompass.languages.records import DOCUMENT_KINDS, SYMBOL_KINDS
from codecompass.languages.table import LANGUAGES
from codecompass.languages.uses.occurrences import occurrences
from codecompass.languages.walk.text_symbols import outlined
from codecompass.worker.parsing import interrupting_limit
from tests.languages.test_golden_samples import TESTDATA, samples_of

FORMATS = [name for name in languages.SYMBOL_LANGUAGES if LANGUAGES[name].is_read_as_text]

CPU_SECONDS = 4
"""Several times the cost of the slowest text below; at quadratic cost, a text takes minutes."""

_PIECES = r"""
" | ' | ` | { | } | ( | ) | [ | ] | < | > | # | / | * | = | - | : | . | \\ | $ | \n | \t | a | , | # a\n | == a\n
* a\n | a\n=\n | a\n---\n\n | ```\n | <!-- | /* | // | --\n | \n\n | a:\n |  a: b\n | - a\n | -  | "a": | {a | a {
a {  | .a, | .a {\n | a= | a =  | a:  | $( | ${ | ${a | {{ | \\section{ | \\label{ | \\ref{a} | message A {\n
A = 1; | rpc A( | resource "a" "b" {\n | FROM a AS b\n | define a\n | function(a\n | add_library(a\n | def f(\n
a(\n | a(name = "b" | [a]\n | [[a]]\n | a. | <h1> | <h1>a | <a id= | <a  | @mixin a { | @a | &-a { | :a( | {"a":
{"a":[ | "a" "b" | ---\n | apiVersion: a\nkind: b\nmetadata:\n  name: c\n---\n | a: |\n  b: c\n | ? a\n | \\def\\a
type A {\n | a(b:  | 1: i32 a,  | model A {\n | alias a := b\n | a b c: | test('a' | #+begin_src\n | ....\n
a b=c d
"""
"""What is repeated, separated by bars and written with escapes."""

SHAPES = [
    " ",
    *(piece.encode().decode("unicode_escape") for line in _PIECES.strip("\n").split("\n") for piece in line.split(" | ")),
]


@pytest.mark.parametrize("name", FORMATS)
def test_repeated_pieces_take_time_in_their_number(name):
    language = languages.load(name)
    meanings = {"yaml": (".github/workflows/a.yml", "compose.yaml"), "json": ("package.json",)}
    for shape in SHAPES:
        text = shape * (20_000 // len(shape))
        for path in (f"a.{name}", *meanings.get(name, ())):
            with interrupting_limit(CPU_SECONDS):
                found = outlined(language, text.encode(), path)
        with interrupting_limit(CPU_SECONDS):
            occurrences(name, text, found.symbols[:1_000])


@pytest.mark.parametrize("name", FORMATS)
def test_bytes_changed_at_random_raise_nothing(name):
    language = languages.load(name)
    chosen = random.Random(name)
    samples = samples_of(name) if (TESTDATA / name).is_dir() else []
    for sample in samples:
        source = sample.read_bytes()
        for _ in range(40):
            changed = bytearray(source)
            for _ in range(chosen.randrange(1, 30)):
                changed[chosen.randrange(len(changed))] = chosen.choice(b"\"'{}()[]<>#=:-*/\\\n\t \x00\xff.,;")

            found = outlined(language, bytes(changed), sample.name)

            lines = changed.count(b"\n") + 1
            assert all(1 <= symbol.line_start <= symbol.line_end <= lines for symbol in found.symbols)
            assert all(symbol.parent < index for index, symbol in enumerate(found.symbols))
            occurrences(name, bytes(changed).decode("utf-8", "replace"), found.symbols)


def test_kinds_of_documents_are_kinds():
    assert set(SYMBOL_KINDS) >= DOCUMENT_KINDS
