"""The text that a grammar parses instead of the source: of equal length, without what the grammar does not know."""

import pytest

from codecompass.languages.dotnet import csharp
from codecompass.languages.jvm import kotlin, scala
from codecompass.languages.systems import swift, zig

CASES = {
    csharp: [
        ("#if A\nclass X : Y\n#else\nclass X\n#endif\n{ }", "class X : Y { }"),
        ("class X {\n#region R\n#if A\nint a;\n#else\nint b;\n#endif\n#endregion\n}", "class X { int a; int b; }"),
        ("void F(int a\n#if A\n, int b\n#endif\n) { }", "void F(int a , int b ) { }"),
        ("\ufeff#if A\nclass X { }\n#endif", "class X { }"),
        ("public ref partial struct S { }", "public partial struct S { }"),
        ("{ *(int*)p = *(int*)&x; }", "{ p = x; }"),
        (
            "class X { extension(string s) { int A => 1; int B() { return 2; } } extension<T>(List<T>) where T : C { } int D; }",
            "class X { int A => 1; int B() { return 2; } int D; }",
        ),
        ("class X { void f() { extension(1); } }", "class X { void f() { extension(1); } }"),
        ("class X { extension(string s) { int A;", "class X { int A;"),
        ('s = @"C:\\"; t = "#if {"; u = \'"\';\n', 's = @"C:\\"; t = "#if {"; u = \'"\';'),
        ('s = """\n#if {\n""";', 's = """ #if { """;'),
    ],
    kotlin: [
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
    scala: [
        ("class A extends B[C](x)(y) with D {}", "class A extends B[C](x) with D {}"),
        ("given a: Ord[Int] with { def x = 1 }", "given a: Ord[Int] =new { def x = 1 }"),
        ("given a: Ord[Int] with\n  def x = 1", "given a: Ord[Int] with def x = 1"),
        ("class A extends B { end match { case 1 => 2 } }", "class A extends B { qqq match { case 1 => 2 } }"),
        ("class A extends B\nend match\n", "class A extends B end match"),
        ("val `a-b`: C = end.x; f(extension: Int, extension = 1)", "val qaqbq: C = end.x; f(qqqqqqqqq: Int, qqqqqqqqq = 1)"),
        ("extension (a: A) def b = 1", "extension (a: A) def b = 1"),
        ('val s = "class A extends B(x)(y)"', 'val s = "class A extends B(x)(y)"'),
    ],
    swift: [
        ("let a = b\n#if A\nfunc f() {}\n#elseif B\nfunc g() {}\n#endif", "let a = b func f() {} func g() {}"),
        ("x\n#if A\n  .a()\n#else\n  .b()\n#endif", "x .a()"),
        ("#if A\nclass C: D {\n#else\nclass C {\n#endif\n}", "class C: D { }"),
        ("nonisolated(unsafe) var a: Int", "var a: Int"),
        ("func f(_ a: sending A) {}", "func f(_ a: A) {}"),
        ("@A #Preview { }\nif #available(iOS 13, *) {}", "@A #Preview { } if #available(iOS 13, *) {}"),
        ('let s = """\n#if A\n"""', 'let s = """ #if A """'),
    ],
    zig: [
        ("const a, const b = f();", "const a = f();"),
        ("const a: u8, var b: usize, _ = f();", "const a: u8 = f();"),
        ("const x = label: switch (y) {};", "const x = switch (y) {};"),
        ("const a = f(b, c); if (a == b) {}", "const a = f(b, c); if (a == b) {}"),
        ('const a = "const a, const b = c";', 'const a = "const a, const b = c";'),
        ("const A = struct { a: *const B, b: u8 = 0 };", "const A = struct { a: *const B, b: u8 = 0 };"),
    ],
}


@pytest.mark.parametrize(
    ("language", "source", "left"),
    [(language, *row) for language, rows in CASES.items() for row in rows],
)
def test_what_the_grammar_does_not_know_is_replaced(language, source, left):
    data = source.encode()

    prepared = language.prepare(data)

    assert len(prepared) == len(data)
    assert " ".join(prepared.decode().split()) == left
