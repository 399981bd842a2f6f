"""The text that the C and C++ grammars parse instead of the source: of equal length, without what they cannot parse."""

import random

import pytest
from tree_sitter_language_pack import get_parser

from codecompass.languages.c_family.c_preprocessing import prepare, prepare_cpp


def squeezed(source: str) -> str:
    """Returns `source` after preparation, with white space collapsed."""
    return " ".join(prepare(source.encode()).decode().split())


@pytest.mark.parametrize(
    ("source", "left"),
    [
        ("API_EXTERN Code f(void);", "Code f(void);"),
        ('API_EXTERN\nDEPRECATED(1, "x")\nCode f(void);', "Code f(void);"),
        ("class EXPORT Foo : public Bar {};", "class Foo : public Bar {};"),
        ("class EXPORT(1) LOCKABLE Foo final {};", "class Foo final {};"),
        ("class EXPORT Foo;", "class Foo;"),
        ("int CALLBACK f(int a);", "int f(int a);"),
        ("typedef int (CALLBACK *f)(int a);", "typedef int ( *f)(int a);"),
        ("static int __init start(void) {}", "static int start(void) {}"),
        ("void f() EXCLUDES(mu_, other_) NO_ANALYSIS;", "void f() ;"),
        ("API int (*f)(int a) ATTRIBUTE;", "int (*f)(int a) ;"),
        ("int f(int a) UNUSED { }", "int f(int a) { }"),
        ("int size() const& LIFETIME_BOUND { }", "int size() const& { }"),
        ("size_t size_ GUARDED_BY(mu_) = 0;", "size_t size_ = 0;"),
        ("enum { A, B DEPRECATED(3) = 4, C };", "enum { A, B = 4, C };"),
        ("namespace a {\nA_NAMESPACE_BEGIN\n\nA::A() {}\nA_NAMESPACE_END\n}", "namespace a { A::A() {} }"),
        ("struct s { CONSTEXPR s() : a(1) {} };", "struct s { s() : a(1) {} };"),
        ("FLAG(int, name, 3);", ";"),
        ("BENCH(Sort, uint8_t);", ";"),
        ("char* nullable name;", "char* name;"),
        ("BEGIN_EXPORT\n\n/* a comment */ template <class T> class C {};", "/* a comment */ template <class T> class C {};"),
        ("class C { PRIVATE_UNLESS_TESTED: int a; };", "class C { int a; };"),
        ("typedef REMOVE_CONST(T) Name;", "typedef REMOVE_CONST Name;"),
        ("struct a {\n  FIELDS\n};", "struct a { };"),
        ("struct a {\n  FIELDS\n  MORE_FIELDS\n};", "struct a { };"),
        ("union {\n  int a;\n  FIELDS\n  MORE_FIELDS\n};", "union { int a; };"),
        ("case 1: a();\nYY_BREAK\ncase 2: b();", "case 1: a(); case 2: b();"),
    ],
)
def test_a_macro_that_breaks_the_tree_is_blanked(source, left):
    assert squeezed(source) == left


@pytest.mark.parametrize(
    "source",
    [
        "enum a { ONLY };",
        "int a[] = { ONLY };",
        "BOOL f(void);",
        "static BOOL f(void) { }",
        "FILE *open_it(void);",
        "struct RECT bounds;",
        "struct RECT corners(int a) { }",
        "enum { FIRST, SECOND = MAX(1, 2), LAST };",
        "int x = CONSTANT;",
        "int f(void) { if(a) CALL(b); return MAX(a, b); }",
        "int f(void) { CHECK(a); ASSERT(b) ; }",
        "int MAX(int a, int b);",
        "unsigned int LIMIT = 3;",
        "TEST(Suite, Name) { }",
        "return (long)VALUE(x);",
        "a = b * sizeof c; d = *const_cast<int*>(e);",
        'char *s = "API class EXPORT Foo { } #if";',
        "int operator*(A a, B b);",
    ],
)
def test_a_word_in_capitals_that_may_be_a_type_or_a_value_stays(source):
    assert squeezed(source) == source


@pytest.mark.parametrize(
    ("source", "left"),
    [
        ("x = a\n#ifdef A\n  && b\n#else\n  && c\n#endif\n;", "x = a && b ;"),
        ("enum { A,\n#ifdef X\n B,\n#else\n C,\n#endif\n D };", "enum { A, B, C, D };"),
        ("#ifdef A\nint f(int a)\n#else\nint f(void)\n#endif\n{\n}", "int f(int a) { }"),
        ("if (a)\n#ifdef X\n b();\n#else\n c();\n#endif\n", "if (a) b();"),
        ("if (a) { }\n#ifdef X\nelse if (b) { }\n#else\nelse { }\n#endif\n", "if (a) { } else if (b) { }"),
        ("#if 0\nnot code ' { (\n#else\nint a;\n#endif\n", "int a;"),
        (
            '#ifdef __cplusplus\nextern "C" {\n#endif\nint f(void);\n#ifdef __cplusplus\n}\n#endif\n',
            'extern "C" { int f(void); }',
        ),
        ("#else /* about\n{ this */\n#endif\nint a;", "int a;"),
        # A condition that splits a construct keeps its first branch, one between whole declarations all of them,
        ("#ifdef A\nif (a) {\n#else\nif (b) {\n#endif\n  c();\n}\n", "if (a) { c(); }"),
        ("#if A\nint f(int a) { }\n#elif B\nint f(void) { }\n#else\nint f;\n#endif\n", "int f(int a) { } int f(void) { } int f;"),
        # and so do branches that only define macros.
        ("int a\n#if A\n#define X {\n#else\n#define X [\n#endif\n;", "int a #define X { #define X [ ;"),
        # Definitions and inclusions stay, but not among values.
        ("enum { A,\n#define A A\n B };\nint t[] = {\n#define X 1\n X };", "enum { A, B }; int t[] = { X };"),
        # Comments and Windows line breaks do not end a macro.
        (
            "#include <a.h>\n#define F(x) \\\n  { /* note */ \\\n    x }\n#pragma once\nint a;\n",
            "#include <a.h> #define F(x) \\ { \\ x } int a;",
        ),
        (
            "#define A { /* x \\\n y */ \\\n }\n#define B {1, \\\r\n 2}\r\n#define C (/* c */1) /* about\n C */\nint a;",
            "#define A { \\ \\ } #define B {1, \\ 2} #define C ( 1) int a;",
        ),
    ],
)
def test_directives_leave_what_can_be_parsed(source, left):
    assert squeezed(source) == left


@pytest.mark.parametrize("blanks", [" ", "\t\t", "  \r", " \r"])
def test_the_line_below_an_empty_macro_is_not_its_value(blanks):
    source = f"#define A{blanks}\nint f(void);\n".encode()

    tree = get_parser("c").parse(prepare(source))

    assert [child.type for child in tree.root_node.children] == ["preproc_def", "declaration"]


def test_a_defaulted_function_gets_a_body_in_cplusplus():
    assert prepare_cpp(b"A::A() = default;\nA::~A() =delete;") == b"A::A() {}       ;\nA::~A() {}     ;"


@pytest.mark.parametrize("seed", range(40))
def test_preparation_keeps_length_and_line_breaks_of_any_source(seed):
    """Offsets in the tree must be offsets in the source, even in a truncated file or one that is not C at all."""
    pieces = [
        b"#if A\n",
        b"#else\n",
        b"#endif\n",
        b"{",
        b"}",
        b"(",
        b")",
        b"class X Y {",
        b"API_F int f(",
        b"//",
        b"/*",
        b"*/",
        b'"',
        b"'",
    ]
    pieces += [b"\\\n", b"\r\n", b" ", b"ABC(", b";", b"= default;", b"\xff\xfe", b'R"x(', b')x"', b"__init ", b"* nullable p"]
    chosen = random.Random(seed)
    source = b"".join(chosen.choice(pieces) for _ in range(chosen.randrange(200)))

    for prepared in (prepare(source), prepare_cpp(source)):
        assert len(prepared) == len(source)
        assert [i for i, byte in enumerate(prepared) if byte == 10] == [i for i, byte in enumerate(source) if byte == 10]
