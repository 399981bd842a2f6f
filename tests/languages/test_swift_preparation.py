"""The text that the Swift grammar parses instead of the source."""

import pytest

from codecompass.languages.swift import prepare


@pytest.mark.parametrize(
    ("source", "left"),
    [
        ("let a = b\n#if A\nfunc f() {}\n#elseif B\nfunc g() {}\n#endif", "let a = b func f() {} func g() {}"),
        ("x\n#if A\n  .a()\n#else\n  .b()\n#endif", "x .a()"),
        ("#if A\nclass C: D {\n#else\nclass C {\n#endif\n}", "class C: D { }"),
        ("nonisolated(unsafe) var a: Int", "var a: Int"),
        ("func f(_ a: sending A) {}", "func f(_ a: A) {}"),
        ("@A #Preview { }\nif #available(iOS 13, *) {}", "@A #Preview { } if #available(iOS 13, *) {}"),
        ('let s = """\n#if A\n"""', 'let s = """ #if A """'),
    ],
)
def test_directives_and_unknown_words_are_blanked(source, left):
    data = source.encode()

    prepared = prepare(data)

    assert len(prepared) == len(data)
    assert " ".join(prepared.decode().split()) == left
