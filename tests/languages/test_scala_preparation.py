"""The text that the Scala grammar parses instead of the source."""

import pytest

from codecompass.languages.scala import prepare


@pytest.mark.parametrize(
    ("source", "left"),
    [
        ("class A extends B[C](x)(y) with D {}", "class A extends B[C](x) with D {}"),
        ("given a: Ord[Int] with { def x = 1 }", "given a: Ord[Int] =new { def x = 1 }"),
        ("given a: Ord[Int] with\n  def x = 1", "given a: Ord[Int] with def x = 1"),
        ("class A extends B { end match { case 1 => 2 } }", "class A extends B { qqq match { case 1 => 2 } }"),
        ("class A extends B\nend match\n", "class A extends B end match"),
        ("val `a-b`: C = end.x; f(extension: Int, extension = 1)", "val qaqbq: C = end.x; f(qqqqqqqqq: Int, qqqqqqqqq = 1)"),
        ("extension (a: A) def b = 1", "extension (a: A) def b = 1"),
        ('val s = "class A extends B(x)(y)"', 'val s = "class A extends B(x)(y)"'),
    ],
)
def test_what_the_grammar_does_not_know_is_replaced(source, left):
    data = source.encode()

    prepared = prepare(data)

    assert len(prepared) == len(data)
    assert " ".join(prepared.decode().split()) == left
