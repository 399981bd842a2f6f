"""Uses of names in a text, and what precedes them."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tree_sitter_language_pack import get_parser

from codecompass import languages
from codecompass.languages.records import Symbol
from codecompass.languages.uses.arguments import count_arguments
from codecompass.languages.uses.code_only import code_only
from codecompass.languages.uses.lexical_rules import known_rules, lexical_rules
from codecompass.languages.uses.occurrences import occurrences, occurrences_of
from codecompass.languages.walk.extract import extract, parse
from codecompass.languages.walk.text_symbols import outlined
from codecompass.languages.words import word_set
from codecompass.worker.parsing import interrupting_limit

PARSED = [name for name in languages.SYMBOL_LANGUAGES if languages.load(name).outline is None]
FORMATS = [name for name in languages.SYMBOL_LANGUAGES if name not in PARSED and lexical_rules(name) is not None]
"""Formats that are read as text and whose references are known."""


def has_uses_in_regions(language):
    regions = languages.load(language).regions
    return regions is not None and regions.are_all


NAMES = [*PARSED, *FORMATS]
LANGUAGES = [name for name in PARSED if name not in ("tsx", "typescript") and not has_uses_in_regions(name)]
"""All languages except those that share their words with another."""

HEADS = ("cpp", "csharp", "java", "javascript", "php", "python", "ruby", "rust", "swift")
"""Languages whose type definitions name their supertypes."""

CPU_SECONDS = 3
"""Several times the cost of the slowest text below; at quadratic cost, a text takes minutes."""


def symbols_of(language, text):
    grammar = languages.load(language)
    source = text.encode("utf-8", "surrogatepass")
    if grammar.outline is not None:
        return outlined(grammar, source, "a").symbols
    return extract(grammar, parse(grammar, get_parser(grammar.grammar), source).root_node, source, "a").symbols


def uses(language, text):
    """Returns `name line usage receiver arity` of all uses; without an arity if it is unknown, or not needed to bind the use."""
    return {
        f"{each.name} {use.line} {use.usage} {use.receiver}{f' {use.arity}' if use.arity >= 0 else ''}".rstrip()
        for each in occurrences(language, text, symbols_of(language, text))
        for use in each.uses
    }


def names(language, text):
    return {each.name for each in occurrences(language, text, symbols_of(language, text))}


def test_every_parsed_language_has_its_words():
    assert [name for name in PARSED if lexical_rules(name) is None] == []


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("crystal", 'x = y =~ /in_it"/\ncalled(1)\n'),
        ("elixir", 'def f(<<?", t::binary>>), do: called(t, "in_it")\n'),
        ("elixir", 'x = ?\\"\ncalled("in_it")\n'),
        ("elixir", "x = ?'\ncalled(1)\n"),
        ("elixir", 'called(~r/in_it"#/, 1)\n'),
        ("elixir", "x = ~w(in_it in_it's)\ncalled(1)\n"),
        ("elixir", "x = ~r{['\"]}\ncalled(1)\n"),
        ("elixir", 'if empty?("in_it"), do: called("in_it")\n'),
        ("perl", "$x =~ /in_it'/;\ncalled(1);\n"),
        ("perl", "$x =~ s/'/in_it/;\ncalled(1);\n"),
        ("perl", "m{'};\ncalled(1);\n"),
        ("perl", "f(<<EOS, called(1));\nin_it's\nEOS\ncalled(1);\n"),
        ("php", "<?php\n$x = <<<EOS\nin_it's\n  EOS;\ncalled(1);\n"),
        ("php", "<p>in_it's</p>\n<?php called(1); ?>\nin_it\n"),
        ("php", "<?php\nif (f(1)) { // in_it's ?>\nin_it\n<?php called(1); }\n"),
        ("ruby", 'x = y.include?(?") && called("in_it")\n'),
        ("ruby", "x = y =~ /in_it['\"#]/\ncalled(1)\n"),
        ("ruby", "y.split /in_it'/\ncalled(1)\n"),
        ("ruby", 'x = %r{in_it"{2}} =~ y\ncalled(1)\n'),
        ("ruby", "x = %w[in_it in_it's]\ncalled(1)\n"),
        ("ruby", "f(<<~EOS, called(1))\n  in_it's\n  EOS\ncalled(1)\n"),
        ("ruby", "f <<EOS\nin_it's\nEOS\ncalled(1)\n"),
        ("ruby", "x = $'\ncalled(1, 'in_it')\n"),
        ("tcl", 'set x \\"\ncalled "in_it"\n'),
    ],
)
def test_a_quotation_mark_in_a_literal_of_another_form_begins_no_string(language, text):
    """Otherwise what is code and what is text would be confused up to the end of the file."""
    code = code_only(lexical_rules(language), text)

    assert "called" in code
    assert "in_it" not in code


@pytest.mark.parametrize(
    ("language", "text", "code"),
    [
        ("ruby", "a = b / called(1) / c\n", "a = b / called(1) / c\n"),
        ("ruby", "a = b % called(1)\nc <<called\n", "a = b % called(1)\nc <<called\n"),
        ("ruby", 'a = called? ? "x" : b\n', 'a = called? ? " " : b\n'),
        ("elixir", "a = called?(1) && b / 2\n", "a = called?(1) && b / 2\n"),
        ("perl", "my $y = $s / called(1) / $m;\n", "my $y = $s / called(1) / $m;\n"),
        ("php", "<?php\n$a = $b ? called(1) : 2;\n", "<?php\n$a = $b ? called(1) : 2;\n"),
    ],
)
def test_an_operator_begins_no_literal(language, text, code):
    assert code_only(lexical_rules(language), text) == code


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("ruby", "x = y =~ /a#{called(1)}'/\n"),
        ("ruby", "x = <<~EOS\n  a #{called(1)}\nEOS\n"),
        ("ruby", "x = %(a #{called(1)})\n"),
        ("elixir", "x = ~s(a #{called(1)})\n"),
    ],
)
def test_code_in_a_regular_expression_a_here_document_or_a_sigil_is_read(language, text):
    assert "called(1)" in code_only(lexical_rules(language), text)


@pytest.mark.parametrize(
    ("language", "text"),
    [("elixir", "f(~r/a/)"), ("elixir", "f(?a)"), ("ruby", "f(/a/)"), ("ruby", "f(%w[a])"), ("ruby", "f(<<~B)")],
)
def test_a_literal_of_any_form_is_an_argument(language, text):
    assert count_arguments(code_only(lexical_rules(language), text), 1, lexical_rules(language)) == 1


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("bash", "# in_it\ncalled 'x in_it' \"in_it x\"\n"),
        ("c", "// in_it\n/* in_it\nin_it */\nint a = called('i', \"in_it\");\n"),
        ("cpp", '// in_it\nauto a = called("in_it", R"x(in_it")x");\n'),
        ("csharp", '// in_it\nvar a = called("in_it", @"in_it\\", """in_it" """);\n'),
        ("elixir", '# in_it\ncalled("in_it")\n"""\nin_it\n"""\n'),
        ("go", "// in_it\nvar _ = called(`in_it\nin_it`, \"in_it\", 'i')\n"),
        ("haskell", '-- in_it\n{- in_it -}\nf = called "in_it"\n'),
        ("java", '// in_it\n/** in_it */\nvoid f() { called("in_it", """\nin_it "" """); }\n'),
        ("javascript", "// in_it\ncalled('in_it', \"in_it\", `in_it`, /in_it[/]in_it/)\n"),
        ("javascript", "function f(s) {\n  return /in_it[`'\"]/\n}\ncalled(`in_it`)\n"),
        ("typescript", "const f = (s: string) => /in_it[`'\"]/\ncalled(`in_it`)\n"),
        ("javascript", "x = y.of / called('in_it') / 2\n"),
        ("kotlin", '// in_it\nval a = called("in_it", """in_it""")\n'),
        ("lua", "-- in_it\n--[[ in_it\nin_it ]]\ncalled('in_it', \"in_it\", [==[in_it]]\n]==])\n"),
        ("php", "<?php\n// in_it\n# in_it\ncalled('in_it', \"in_it\");\n"),
        ("python", "# in_it\ncalled('in_it', \"in_it\", '''in_it\n''', rb'in_it', f'in_it')\n"),
        ("ruby", "=begin\nin_it\n=end\n# in_it\ncalled('in_it', \"in_it\")\n=begin\nin_it\n=end\n"),
        ("rust", '// in_it\n/* in_it */\nfn f() { called("in_it", r#"in_it" in_it"#, b\'i\', br"in_it"); }\n'),
        ("scala", '// in_it\nval a = called("in_it", """in_it""", s"in_it")\n'),
        ("sql", "-- in_it\ncalled('in_it')\n"),
        ("swift", '// in_it\nlet a = called("in_it", """\nin_it\n""")\n'),
        ("tsx", "// in_it\ncalled('in_it')\n"),
        ("typescript", "// in_it\ncalled('in_it', `in_it`)\n"),
        ("zig", '// in_it\ntest { called("in_it");\n\\\\in_it\n}\n'),
        ("ada", '-- in_it\nprocedure P is begin called ("in_it"); end P;\n'),
        ("assembly", "; in_it\n call called ; in_it\n db 'in_it'\n"),
        ("cairo", '// in_it\nfn f() { called("in_it"); }\n'),
        ("clojure", '; in_it\n(called "in_it" :in_it)\n'),
        ("cobol", '       PROCEDURE DIVISION.\n      * in_it\n           PERFORM called.\n           DISPLAY "in_it".\n'),
        ("commonlisp", '; in_it\n#| in_it |#\n(called "in_it")\n'),
        ("cuda", '// in_it\nauto a = called("in_it");\n'),
        ("d", '// in_it\n/* in_it */ /+ in_it +/\nauto a = called("in_it", `in_it`);\n'),
        ("dart", '// in_it\nfinal a = called(\'in_it\', "in_it", """in_it""");\n'),
        ("elm", '-- in_it\n{- in_it -}\na = called "in_it"\n'),
        ("emacslisp", '; in_it\n(called "in_it")\n'),
        ("erlang", '% in_it\nf() -> called("in_it").\n'),
        ("fish", "# in_it\ncalled 'in_it' \"in_it\"\n"),
        ("fortran", "! in_it\ncall called('in_it', \"in_it\")\n"),
        ("fsharp", '// in_it\n(* in_it *)\nlet a = called "in_it"\n'),
        ("gdscript", "# in_it\nfunc f():\n\tcalled('in_it')\n"),
        ("gleam", '// in_it\nfn f() { called("in_it") }\n'),
        ("glsl", "// in_it\n/* in_it */\nvoid f() { called(); }\n"),
        ("groovy", "// in_it\ncalled('in_it', \"in_it\")\n"),
        ("hlsl", "// in_it\nvoid f() { called(); }\n"),
        ("julia", '# in_it\n#= in_it =#\na = called("in_it", """in_it""")\n'),
        ("matlab", "% in_it\nfunction f()\n  called('in_it', \"in_it\");\nend\n"),
        ("nim", '# in_it\n#[ in_it ]#\nlet a = called("in_it", """in_it""")\n'),
        ("nix", "# in_it\n{ a = called \"in_it\" ''in_it''; }\n"),
        ("ocaml", '(* in_it *)\nlet a = called "in_it" {|in_it|}\n'),
        ("odin", '// in_it\nf :: proc() { called("in_it") }\n'),
        ("pascal", "{ in_it } // in_it\nbegin called('in_it'); end.\n"),
        ("perl", "# in_it\ncalled('in_it', \"in_it\", q{in_it});\n\n=pod\n\nin_it\n\n=cut\n"),
        ("powershell", "# in_it\n<# in_it #>\ncalled 'in_it' \"in_it\"\n"),
        ("purescript", '-- in_it\n{- in_it -}\na = called "in_it"\n'),
        ("r", "# in_it\ncalled('in_it', \"in_it\")\n"),
        ("racket", '; in_it\n#| in_it |#\n(called "in_it")\n'),
        ("scheme", '; in_it\n#| in_it |#\n(called "in_it")\n'),
        ("solidity", '// in_it\n/* in_it */\nfunction f() { called("in_it"); }\n'),
        ("starlark", "# in_it\na = called('in_it', \"in_it\")\n"),
        ("tcl", '# in_it\ncalled "in_it"\n'),
        ("v", "// in_it\nfn f() { called('in_it') }\n"),
        ("verilog", '// in_it\n/* in_it */\nmodule m; initial called("in_it"); endmodule\n'),
        ("vhdl", '-- in_it\narchitecture a of b is begin c : called("in_it"); end;\n'),
        ("vim", "\" in_it\ncall called('in_it')\n"),
        ("wgsl", "// in_it\n/* in_it */\nfn f() { called(); }\n"),
    ],
)
def test_names_in_comments_and_strings_are_no_uses(language, text):
    found = names(language, text)

    assert "called" in found
    assert not {name for name in found if "in" in name}


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("bash", 'echo "no $(used) no"\n'),
        ("csharp", 'var a = $"no {used} {{no}}";\n'),
        ("elixir", 'a = "no #{used} no"\n'),
        ("javascript", "a = `no ${used} ${ {a: 'no'} } no`\n"),
        ("kotlin", 'val a = "no $used no"\n'),
        ("kotlin", 'val a = """no ${used} no"""\n'),
        ("python", "a = f'no {used} {{no}}'\n"),
        ("python", "a = rf'''no\n{used['no']} no'''\n"),
        ("ruby", 'a = "no #{used} no"\n'),
        ("scala", 'val a = s"no ${used} no"\n'),
        ("swift", 'let a = "no \\(used) no"\n'),
        ("typescript", "a = `no ${used} no`\n"),
    ],
)
def test_names_in_the_code_of_a_string_are_uses(language, text):
    found = names(language, text)

    assert "used" in found
    assert "no" not in found


def test_attributes_of_php_are_no_comments():
    assert "Route 2 call" in uses("php", "<?php\n#[Route('a')]\nfunction f() {}\n")


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("bash", "f() {\n  g\n}\n"),
        ("c", "int f(int p) {\n  int v = p;\n  return g(v, p);\n}\n"),
        ("cpp", "int f(int p) {\n  auto v = p;\n  return g(v, p);\n}\n"),
        ("csharp", "class A {\n int f(int p) {\n  var v = p;\n  return g(v, p);\n }\n}\n"),
        ("elixir", "defmodule A do\n def f(p) do\n  v = p\n  g(v, p)\n end\nend\n"),
        ("go", "func f(p int) int {\n\tv := p\n\treturn g(v, p)\n}\n"),
        ("haskell", "f x = do\n  v <- g\n  h v\n"),
        ("java", "class A {\n int f(int p) {\n  int v = p;\n  return g(v, p);\n }\n}\n"),
        ("javascript", "function f(p) {\n  const v = p\n  return g(v, p)\n}\n"),
        ("kotlin", "fun f(p: Int): Int {\n  val v = p\n  return g(v, p)\n}\n"),
        ("lua", "function f(p)\n  local v = p\n  return g(v, p)\nend\n"),
        ("php", "<?php\nfunction f($p) {\n  $v = $p;\n  return g($v, $p);\n}\n"),
        ("python", "def f(p):\n  v = p\n  return g(v, p)\n"),
        ("ruby", "def f(p)\n  v = p\n  g(v, p)\nend\n"),
        ("rust", "fn f(p: i32) -> i32 {\n  let v = p;\n  g(v, p)\n}\n"),
        ("scala", "def f(p: Int): Int = {\n  val v = p\n  g(v, p)\n}\n"),
        ("swift", "func f(p: Int) -> Int {\n  let v = p\n  return g(v, p)\n}\n"),
        ("tsx", "function f(p: number) {\n  const v = p\n  return g(v, p)\n}\n"),
        ("typescript", "function f(p: number) {\n  const v = p\n  return g(v, p)\n}\n"),
        ("zig", "fn f(p: i32) i32 {\n  const v = p;\n  return g(v, p);\n}\n"),
    ],
)
def test_variables_of_functions_and_the_names_of_definitions_are_no_uses(language, text):
    found = names(language, text)

    assert "g" in found
    assert not found & {"f", "p", "v", "$p", "$v"}


@pytest.mark.parametrize(
    ("language", "text", "expected"),
    [
        ("python", "f(1, 2)\n", "f 1 call"),
        ("python", "def g(x):\n  x.f(1, 2)\n", "f 2 call ? 2"),
        ("python", "a.b.f()\n", "f 1 call a.b 0"),
        ("python", "a(1).b[2].f(g(1))\n", "f 1 call a().b[]"),
        ("python", "a.f = 1\n", "f 1 write a"),
        ("python", "a.f += 1\n", "f 1 write a"),
        ("python", "a.f == 1\n", "f 1 read a"),
        ("python", "@f\ndef g(): pass\n", "f 1 decorate"),
        ("python", "''.f()\n", 'f 1 call "" 0'),
        ("python", "(a + b).f\n", "f 1 read ?"),
        ("python", "a(f=1)\n", "f 1 key <a>"),
        ("python", "def g(a: A):\n  a.f()\n", "f 2 call <A> 0"),
        ("python", "def g():\n  a: A = h()\n  a.f()\n", "f 3 call <A> 0"),
        ("python", "def g():\n  a = h(1).i\n  a.f()\n", "f 3 call h().i 0"),
        ("python", "class A:\n  def g(self):\n    self.f()\n", "f 3 call self 0"),
        ("python", "class A:\n  def g(self):\n    super().f()\n", "f 3 call super() 0"),
        ("python", "def g():\n  for a in b:\n    a.f\n", "f 3 read b[]"),
        ("python", "class A(B, c.D, metaclass=E): pass\n", "D 1 inherit c"),
        ("javascript", "a?.b().f\n", "f 1 read a.b()"),
        ("javascript", "a({f: 1})\n", "f 1 key"),
        ("javascript", "class A extends B {}\n", "B 1 inherit"),
        ("typescript", "function g(a: A) {\n  a.f()\n}\n", "f 2 call <A> 0"),
        ("typescript", "function g() {\n  const a: A = h()\n  a.f()\n}\n", "f 3 call <A> 0"),
        ("typescript", "const g = (a: A) => a.f<B>(1)\n", "f 1 call <A>"),
        ("typescript", "function g() {\n  const a = new A(1)\n  a.f()\n}\n", "f 3 call <A> 0"),
        ("typescript", "interface A extends B<C>, D {}\n", "D 1 inherit"),
        ("tsx", "@f\nclass A {}\n", "f 1 decorate"),
        ("tsx", "const a = <F b={c} />\n", "F 1 call"),
        ("javascript", "a = b ? <F>{c}</F> : d\n", "F 1 call"),
        ("tsx", "const a: B<F> = c\n", "F 1 read"),
        ("typescript", "const a = <F>b\n", "F 1 read"),
        ("go", "package p\nfunc (a *A) g() {\n\ta.f()\n}\n", "f 3 call <*A> 0"),
        ("go", "package p\nfunc g() {\n\ta := &A{}\n\ta.f()\n}\n", "f 4 call <A> 0"),
        ("go", "package p\nvar a = []p.T{{f: 1}}\n", "f 2 key <p.T>"),
        ("go", "package p\ntype A struct {\n\tB\n}\n", "B 3 inherit"),
        ("rust", "fn g() {\n  A::f(1);\n}\n", "f 2 call A 1"),
        ("rust", "fn g() {\n  a::<B>().f::<C>();\n}\n", "f 2 call a()"),
        ("rust", "fn g() {\n  let a: A = h();\n  a.f();\n}\n", "f 3 call <A> 0"),
        ("rust", "fn g() {\n  let a = A { f: 1 };\n  a.h();\n}\n", "f 2 key <A>"),
        ("rust", "impl B for A {}\n", "B 1 inherit"),
        ("rust", "trait A: B {}\n", "B 1 inherit"),
        ("rust", "fn g() {\n  f!(1);\n}\n", "f 2 call"),
        ("c", "void g(struct A *a) {\n  a->f = 1;\n}\n", "f 2 write <A *>"),
        ("c", "int f(int a) {\n  return f(a);\n}\n", "f 2 call"),
        ("cpp", "class A : public B {};\n", "B 1 inherit"),
        ("cpp", "void g() {\n  A a(1);\n  a.f<B>();\n}\n", "f 3 call <A> 0"),
        ("cpp", "void g() {\n  n::A::f();\n}\n", "f 2 call n.A 0"),
        ("csharp", "class A : B, C {}\n", "C 1 inherit"),
        ("csharp", "class A {\n void g() {\n  var a = new B();\n  a.f();\n }\n}\n", "f 4 call <B> 0"),
        ("csharp", "class A {\n void g() { base.f(); }\n}\n", "f 2 call super 0"),
        ("java", "class A extends B implements C {}\n", "C 1 inherit"),
        ("java", "class A {\n void g(B b) {\n  b.f();\n }\n}\n", "f 3 call <B> 0"),
        ("java", "class A {\n int f(int a) {\n  return f(a);\n }\n}\n", "f 3 call  1"),
        ("java", "class A {\n @f void g() {}\n}\n", "f 2 decorate"),
        ("java", "class A {\n void g() { h(a -> a.f); }\n}\n", "f 2 read ?"),
        ("kotlin", "class A(a: Int) : B(a), C\n", "C 1 inherit"),
        ("kotlin", "fun g(a: A) {\n  a!!.f()\n}\n", "f 2 call <A> 0"),
        ("kotlin", "fun g() {\n  val a: A\n  a.f()\n}\n", "f 3 call <A> 0"),
        ("scala", "class A extends B with C\n", "B 1 inherit"),
        ("scala", "def g(a: A) = {\n  a.f()\n}\n", "f 2 call <A> 0"),
        ("swift", "class A: B {}\n", "B 1 inherit"),
        ("swift", "func g(of a: A) {\n  a.f()\n}\n", "f 2 call <A> 0"),
        ("php", "<?php\nclass A extends B {}\n", "B 2 inherit"),
        ("php", "<?php\nfunction g(A $a) {\n  $a->f();\n}\n", "f 3 call <A> 0"),
        ("ruby", "class A < B\nend\n", "B 1 inherit"),
        ("ruby", "def g\n  @a.f(1)\nend\n", "f 2 call self.a 1"),
        ("ruby", "a.f? 1\n", "f? 1 read a"),
        ("ruby", "a(f: 1)\n", "f 1 key"),
        ("cpp", "class A : public virtual B {};\n", "B 1 inherit"),
        ("cpp", "class A : public B,\n          C {};\n", "C 2 inherit"),
        ("cpp", "class A\n  : public B\n  , C {};\n", "C 3 inherit"),
        ("csharp", "class A :\n  B,\n  C {}\n", "C 3 inherit"),
        ("elixir", "defmodule A do\n  use B.C, d: 1\nend\n", "C 2 inherit B"),
        ("elixir", "defmodule A do\n  @behaviour B\nend\n", "B 2 inherit"),
        ("go", "package p\ntype A interface {\n\tb.B\n\tf()\n}\n", "B 3 inherit b"),
        ("go", "package p\ntype A interface{ B; C }\n", "C 2 inherit"),
        ("go", 'package p\ntype A struct {\n\t*b.B `json:"x"`\n}\n', "B 3 inherit b"),
        ("java", "record A(int b) implements B {}\n", "B 1 inherit"),
        ("java", "class A<T extends Z>\n    extends n.B<T>\n    implements C, D {}\n", "D 3 inherit"),
        ("kotlin", "class A @Inject constructor(\n  val b: B,\n) : C(b), D {\n}\n", "D 3 inherit"),
        ("kotlin", "class A : B by c, D\n", "D 1 inherit"),
        ("php", "<?php\nenum A: string implements B {}\n", "B 2 inherit"),
        ("php", "<?php\ntrait A { use B; }\n", "B 2 inherit"),
        ("ruby", "module A\n  prepend(B)\nend\n", "B 2 inherit"),
        ("rust", "#[derive(\n    B,\n    c::C,\n)]\nstruct A;\n", "C 3 inherit c"),
        ("rust", "impl<T: B> C for T {}\n", "C 1 inherit"),
        ("scala", "trait A[F[_]]\n    extends B[F]\n    with C[F] {\n}\n", "C 3 inherit"),
        ("scala", "class A[T](implicit val b: B) extends C[T]\n", "C 1 inherit"),
        ("scala", "case class A(b: Int)(c: Int) extends n.B(b)\nclass C\n", "B 1 inherit n"),
        ("lua", "a.b:f(1)\n", "f 1 call a.b 1"),
        ("lua", "local function g()\n  local a = h()\n  a.f()\nend\n", "f 3 call h() 0"),
        ("elixir", "A.B.f(1)\n", "f 1 call A.B 1"),
        ("haskell", "g = A.f 1\n", "f 1 read A"),
        ("bash", "f 1\n", "f 1 call"),
        ("bash", "a f_1\n", "f_1 1 read ?"),
        ("bash", "a $f\n", "f 1 read $"),
        ("bash", "a\nf=1\n", "a 1 call"),
        ("sql", "select f(1);\n", "f 1 call"),
        ("zig", "fn g() void {\n  const a = h();\n  a.f();\n}\n", "f 3 call h() 0"),
        ("zig", "const a = A{ .b = 1 };\nconst c = a.f(1, 2);\n", "f 2 call a 2"),
    ],
)
def test_a_use_has_its_usage_and_what_stands_before_it(language, text, expected):
    assert expected in uses(language, text)


@pytest.mark.parametrize(
    ("language", "text", "absent"),
    [
        ("python", "x = a\nclass A(B(C), D[E]): pass\n", {"C", "E"}),
        ("typescript", "interface A extends B<C> {}\n", {"C"}),
        ("java", "class A<T extends X> extends B<C> {}\n", {"C"}),
        ("cpp", "class A : B<C> {};\n", {"C"}),
        ("csharp", "class A<T> : B where T : C {}\n", {"T", "C"}),
        ("go", "package p\ntype A struct {\n\tB\n\tc C\n}\n", {"c", "C"}),
        ("kotlin", "class A : B by c\nclass D(e: E) {}\n", {"c", "D", "E"}),
        ("scala", "class A extends B\nclass C(d: D)\nval e = 1\n", {"C", "D", "e"}),
        ("scala", "class A extends B { self: C =>\n}\n", {"self", "C"}),
    ],
)
def test_arguments_of_a_supertype_are_no_supertypes(language, text, absent):
    inherited = {each.name for each in occurrences(language, text, symbols_of(language, text)) if each.uses[0].usage == "inherit"}

    assert "B" in inherited
    assert not inherited & absent


@pytest.mark.parametrize("language", PARSED)
@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_lines_are_counted_from_one_to_a_last_line_without_an_end(language, line_end):
    found = {
        each.name: [use.line for use in each.uses] for each in occurrences(language, line_end.join([" a1", "", " b1", " a1"]), ())
    }

    assert found == {"a1": [1, 4], "b1": [3]}


@pytest.mark.parametrize(
    ("language", "string"),
    [
        ("python", '"""\n\n"""'),
        ("javascript", "`\n\n`"),
        ("go", "`\n\n`"),
        ("lua", "[[\n\n]]"),
        ("rust", 'r"\n\n"'),
        ("kotlin", '"""\n\n"""'),
    ],
)
def test_a_string_of_several_lines_does_not_shift_the_lines_behind_it(language, string):
    found = {each.name: [use.line for use in each.uses] for each in occurrences(language, f"x1({string}, y1)\nz1", ())}

    assert found == {"x1": [1], "y1": [3], "z1": [4]}


def test_a_language_without_words_has_no_uses():
    assert occurrences("text", "a b", ()) == ()


PIECES = st.sampled_from(
    [
        *sorted(
            word_set('" \' ` \\ / // /* */ # -- --[[ [[ ]] {- -} ( ) [ ] { } < > << -> => := = == : :: . .. ? ! ?. @ $ ${ #{ f"{')
        ),
        *sorted(
            word_set(
                "case lambda for in let const var val class extends implements impl fn def function local self this new as with"
            )
        ),
        *("\n", "\r\n", "\r", " ", "\t", "a", "b1", "é", "\x00", "\ud800", "\u2028"),
        *('"""', "'''", 'R"(', 'r#"', "=begin\n", "=end"),
    ]
)
TEXTS = st.one_of(st.lists(PIECES, max_size=60).map("".join), st.lists(PIECES, max_size=40).map(" ".join), st.text(max_size=60))


def enclosing(text, name="a"):
    """Returns symbols that cover the whole text: a function, and types of all kinds on the first line."""
    lines = text.count("\n") + 1
    function = Symbol(name, "fn", name, 1, lines, f"{name}({' '.join(text.split())})"[:240])
    return [
        function,
        *(Symbol(name, kind, name, line, line, name, parent=0) for kind in ("class", "impl", "field") for line in (1, lines)),
    ]


@pytest.mark.parametrize("language", NAMES)
@settings(max_examples=40, deadline=None)
@given(text=TEXTS)
def test_no_text_is_refused_and_lines_are_within_it(language, text):
    found = occurrences(language, text, enclosing(text))

    assert [each.name for each in found] == sorted({each.name for each in found})
    assert all(1 <= use.line <= text.count("\n") + 1 for each in found for use in each.uses)


@pytest.mark.parametrize("language", NAMES)
@settings(max_examples=40, deadline=None)
@given(text=TEXTS)
def test_what_is_not_read_becomes_blanks_in_place(language, text):
    left = code_only(known_rules(language), text)

    assert len(left) == len(text)
    assert [at for at, character in enumerate(left) if character == "\n"] == [
        at for at, character in enumerate(text) if character == "\n"
    ]


SHAPES = (
    *(
        '"',
        "'",
        "`",
        "/",
        "(",
        ")",
        "<",
        "a.",
        ").a",
        "a=",
        "{",
        'f"{',
        "/*",
        "x:",
        "{x:",
        ",a",
        "[[",
        "a",
        " ",
        "\n",
        "\n ",
        "a<b,",
    ),
    *("lambda ", "let (", "val a:", "with ", "for a, ", "rescue ", "function ", "impl<", "impl < > ", "class A(", "class A<>(>("),
    *("class A extends ", "case ", 'R"(', 'r#"', "{-", "=/[", "{[", "(a ", "x: ", "{a ", "a->"),
)


@pytest.mark.slow
@pytest.mark.parametrize("language", LANGUAGES)
def test_the_cost_of_repeated_openings_grows_with_their_length_alone(language):
    """Each of these began a match at every repetition, and searched to the end of the text for the closing part."""
    for shape in SHAPES:
        text = shape * (60_000 // len(shape))

        with interrupting_limit(CPU_SECONDS):
            occurrences(language, text, enclosing(text, "A"))


@pytest.mark.slow
@pytest.mark.parametrize("language", LANGUAGES)
def test_thousands_of_definitions_on_one_line_are_read_in_bounded_time(language):
    for kind in ("class", "impl", "field", "fn"):
        for shape in ("class A ", "class A(", "class A : b, ", "impl A<> ", "class A<>("):
            text = shape * 3_000
            symbols = [Symbol("A", kind, "A", 1, 1, "class A(a, b)") for _ in range(600)]

            with interrupting_limit(CPU_SECONDS):
                occurrences(language, text, symbols)


@pytest.mark.slow
def test_thousands_of_heads_that_nothing_ends_are_read_in_bounded_time():
    """The heads of types extend into the following text, up to a limit."""
    for language, shape, kind in (
        *((language, "class A<>(>(\n", "class") for language in HEADS),
        *((language, "class A extends \n", "class") for language in HEADS),
        *((language, "class A : B, \n", "class") for language in HEADS),
        ("rust", "impl < > \n", "impl"),
    ):
        lines = 40_000 // len(shape)
        symbols = [Symbol("A", kind, "A", line, line) for line in range(1, lines + 1)]

        with interrupting_limit(CPU_SECONDS):
            occurrences(language, shape * lines, symbols)


def test_messages_of_objective_c_are_calls_and_labels_are_none():
    text = (
        "@implementation Job\n- (void)run:(Pool *)pool times:(int)count {\n"
        "  [pool add:self after:count];\n  [[Queue alloc] push:[self next]];\n  [super run:pool times:3];\n"
        "  switch (count) { case LAST: [self.owner stop]; }\n  Queue *queue = [Queue new];\n  [queue drain ];\n}\n@end\n"
    )
    found = uses("objectivec", text)
    assert {
        "add 3 call <Pool *>",
        "alloc 4 call Queue",
        "push 4 call <Queue>",
        "next 4 call self",
        "run 5 call super",
        "LAST 6 read",
        "stop 6 call self.owner",
        "drain 8 call <Queue>",
    } <= found
    assert not {"times", "after", "count"} & {each.split()[0] for each in found}


def test_one_name_is_read_as_all_are_after_a_block_without_a_visible_end():
    """What a block without braces declares holds for some of the text behind its function too, whichever names are read."""
    text = (
        "class Hooks\n  def load(name)\n    @loaded[name].each do |base|\n      run(name, base)\n    end\n  end\n\n"
        "  def run(name, base)\n    base.evaluate(name)\n  end\nend\n"
    )
    symbols = symbols_of("ruby", text)

    found = occurrences("ruby", text, symbols)

    assert {each.name for each in found} >= {"evaluate", "each", "run"}
    for each in found:
        assert occurrences_of("ruby", text, symbols, each.name) == each.uses, each.name


@pytest.mark.parametrize("text", ["Cache<int>.Shared.Load();\n", "Cache<int>.Shared().Load();\n"])
def test_a_member_of_a_generic_type_has_one_receiver_whether_all_names_are_read_or_one(text):
    every = {each.name: each.uses for each in occurrences("csharp", text, ())}

    assert every["Load"] == occurrences_of("csharp", text, (), "Load")
    assert every["Load"][0].receiver.startswith("Cache.Shared")


CLAUSES = {
    "elixir": """
  defp step(0), do: 0
  defp step(n), do: step(n - 1)

  # last
  defp step(n) when n > 9 do
    step(n)
  end
""",
    "erlang": """
step(0) -> 0;
step(N) when N > 3 -> step(N - 1);

% last
step(N) ->
    step(N).
""",
}


@pytest.mark.parametrize("language", CLAUSES)
def test_the_heads_of_further_clauses_are_no_uses(language):
    found = {tuple(each.split()[:3]) for each in uses(language, CLAUSES[language])}

    assert {each for each in found if each[0] == "step"} == {("step", "3", "call"), ("step", "7", "call")}
