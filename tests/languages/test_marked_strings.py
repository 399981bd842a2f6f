"""Strings that the code says are of another language."""

import pytest

from codecompass.languages import load
from codecompass.languages.templates.marked_strings import marked
from codecompass.worker.parsing import interrupting_limit

CPU_SECONDS = 3


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("gql`query A { b }`", [("graphql", "query A { b }")]),
        ("graphql(`fragment A on B { c }`)", [("graphql", "fragment A on B { c }")]),
        ("styled.a`--b: 1;` styled(Link)`.c {}`", [("css", "--b: 1;"), ("css", ".c {}")]),
        ("styled.a.attrs({ b: 1 })<C>`.d {}`", [("css", ".d {}")]),
        ("css`a: ${b};` html`<p id='c'>${d}</p>`", [("css", "a: ____;"), ("html", "<p id='c'>____</p>")]),
        ("/* GraphQL */ `type A { b: C }`", [("graphql", "type A { b: C }")]),
        ('/* sql */ "create table a (b int)"', [("sql", "create table a (b int)")]),
        ('// language=SQL\nx := "CREATE TABLE a (b INT)"', [("sql", "CREATE TABLE a (b INT)")]),
        ('# language=sql\nX = """\nCREATE VIEW a AS b\n"""', [("sql", "\nCREATE VIEW a AS b\n")]),
        ('X = """-- sql\nCREATE TABLE a (b INT)"""', [("sql", "\nCREATE TABLE a (b INT)")]),
        ("a(<<~SQL, b)\n  CREATE TABLE c (d INT)\nSQL\ne", [("sql", "  CREATE TABLE c (d INT)\n")]),
        ("$a = <<<'GRAPHQL'\nquery A { b }\nGRAPHQL;", [("graphql", "query A { b }\n")]),
        ("sql`SELECT 1`", [("sql", "        ")]),
        ("x = 'SELECT a FROM b'", [("sql", " " * len("SELECT a FROM b"))]),
        ("x = 'CREATE TABLE a (b INT)'", []),
        ("x = 'we SELECT a FROM b'", []),
        ("x = 'UPDATE the list'", []),
        ("megaql`query A { b }` 'gql`query A { b }`'", []),
        ("/* in sql */ `create table a`", []),
        ("<<~TEXT\nCREATE TABLE a (b INT)\nTEXT", []),
        ("gql`query A {", []),
    ],
)
def test_a_string_is_read_as_the_language_that_marks_it(text, expected):
    regions = list(marked(text))

    assert [(region.language, region.text_in(text)) for region in regions] == expected
    assert all(len(region.text_in(text)) == region.end - region.start for region in regions)


@pytest.mark.parametrize(
    "language", ["bash", "csharp", "go", "java", "javascript", "kotlin", "perl", "php", "python", "ruby", "rust", "tsx"]
)
def test_a_file_without_marks_is_not_searched(language):
    regions = load(language).regions

    assert regions.marks
    assert not regions.may_be_in(b"SELECT a from b; query { c } `${d}` <<EOF")


@pytest.mark.parametrize(
    "unit",
    [
        "gql`",
        "gql",
        "gql(",
        "/* sql */ ",
        '/* sql */ "',
        "// language=SQL\n",
        '"""-- sql',
        "<<~SQL\n",
        "<<",
        "styled.a",
        "styled(a",
        "${",
        "gql`${",
        '"SELECT a ',
        "'UPDATE a ",
        '"""SELECT a FROM ',
    ],
)
def test_hostile_marks_take_bounded_time(unit):
    with interrupting_limit(CPU_SECONDS):
        list(marked(unit * (100_000 // len(unit))))
