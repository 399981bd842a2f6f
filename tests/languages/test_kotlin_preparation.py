"""The text that the Kotlin grammar parses instead of the source."""

import pytest

from codecompass.languages.kotlin import prepare


@pytest.mark.parametrize(
    ("source", "left"),
    [
        ('@A\n@B(x = (1 + 2), y = ")")\nclass C', "class C"),
        ("object O { val x = 1 }", "object O { val x = 1;}"),
        ("class C { fun m() {} }", "class C { fun m() {};}"),
        ("val f = { a, b -> }", "val f = { a, b -> }"),
        ("when (x) {\n  is A if x > 0 -> 1\n}", "when (x) { is A -> 1 }"),
        ("val o = object : A by b {}", "val o = object : A {}"),
        ("class C(val a: A) : B(), D by a {\n}", "class C(val a: A) : B(), D { }"),
        ("val n: Int by lazy { 1 }", "val n: Int by lazy { 1;}"),
        ("var p by Parent referencedOn Child.id\n", "var p by Parent"),
        ("class C<T>\n@X internal constructor(val a: Int)", "class C<T> (val a: Int)"),
        ("val a = b!! // c\n", "val a = b // c"),
        ("context(A, b: B<C>) fun f() = 1", "fun f() = 1"),
        ("  context(A)\n  @B\n  private suspend fun f() {}", "private suspend fun f() {}"),
        ("context(a)\nreturn", "context(a) return"),
        ('val s = $$"a $b"', 'val s = "a $b"'),
        ('val s = "@A is B if c -> { d }"', 'val s = "@A is B if c -> { d }"'),
    ],
)
def test_what_the_grammar_does_not_know_is_blanked(source, left):
    data = source.encode()

    prepared = prepare(data)

    assert len(prepared) == len(data)
    assert " ".join(prepared.decode().split()) == left
