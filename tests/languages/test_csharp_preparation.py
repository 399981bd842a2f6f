"""The text that the C# grammar parses instead of the source."""

import pytest

from codecompass.languages.csharp import prepare


@pytest.mark.parametrize(
    ("source", "left"),
    [
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
)
def test_directives_and_pointers_that_break_the_grammar_are_blanked(source, left):
    data = source.encode()

    prepared = prepare(data)

    assert len(prepared) == len(data)
    assert " ".join(prepared.decode().split()) == left
