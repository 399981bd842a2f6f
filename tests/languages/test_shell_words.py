"""Which words of a shell script are commands, arguments and variables."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from codecompass.languages.shells.shell_words import MAX_DEPTH, shell_words
from codecompass.worker.parsing import interrupting_limit

CPU_SECONDS = 3


def words(text, role):
    """Returns the words of a role, in order."""
    found = shell_words(text)
    return [
        found.text[start:].split(None, 1)[0].rstrip("+=").lstrip("$")
        for start, each in sorted(found.roles.items())
        if each == role
    ]


@pytest.mark.parametrize(
    "text",
    [
        "f",
        "f 1 2",
        "x=1 y='a b' f",
        "x+=1 a[0]=2 f",
        'A="$(f "two")"',
        'A="$(g "two $(f "three")")"',
        'A="one `f`"',
        "A=`f 'x'`",
        "A=${B:-$(f)}",
        'A="${B:-"$(f)"}"',
        "A=$((1 + $(f)))",
        "(f)",
        "{ f; }",
        "! f",
        "x | f",
        "x && f",
        "x || f &",
        "x; f",
        "if f; then x; fi",
        "if x; then f; else y; fi",
        "while x; do f; done",
        "for i in 1 2; do f; done",
        "case $x in a|b) f ;; esac",
        "case $x in\n  (a) x ;;\n  *\\`* | 'b' ) f\nesac",
        "x=$(case $y in a) f;; esac)",
        "x <<EOF\n$(f)\nEOF\n",
        "x <<-'EOF' && f\n\t$(no)\n\tEOF\n",
        "trap f EXIT",
        "trap 'f; x' EXIT INT",
        'trap "x; f" EXIT',
        'eval "f $x"',
        "run -1 f x",
        "x <(f) >(y)",
        "x > file; f",
        "x 2>&1 | f >&2",
        "[[ -n $x && y ]] && f",
        "[ x ] || f",
        "time f",
        "g() { f; }",
        "function g { f; }",
        "x \\\n  y\nf",
        "\\f x",
        "# x'\nf",
        "x#y; f",
        "A=(1 $(f) 3)",
        "x $'it\\'s' ; f",
    ],
)
def test_a_function_is_called_wherever_a_command_can_stand(text):
    assert words(text, "command").count("f") == 1


@pytest.mark.parametrize(
    "text",
    [
        "# f",
        "'f'",
        '"f x"',
        "echo f",
        "A=f",
        "A=(f g)",
        "echo 'x; f'",
        "x <<'EOF'\n$(f)\nEOF\n",
        "x <<EOF\nf\nEOF\n",
        "case f in f) x;; esac",
        "[[ x && f ]]",
        "x > f",
        "for f in 1 2; do x; done",
        "echo $f ${f} $((f + 1))",
        "./f x",
        "f$x",
        "$f",
    ],
)
def test_other_words_are_no_calls(text):
    assert "f" not in words(text, "command")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("xargs my_f x/y --a", ["my_f"]),
        ("on 'my_f' \"my_g\" 'a b' 'word'", ["my_f", "my_g"]),
        ("export -f my_f", ["my_f"]),
        ("X='my_f'", ["my_f"]),
        ("ns::f a.b", ["a.b"]),
    ],
)
def test_a_whole_word_that_is_an_argument_may_name_a_function(text, expected):
    assert words(text, "argument") == expected


def test_variables_are_told_from_functions():
    text = 'local A B=1\nC+="$D ${E} ${!F} ${#G} ${H:-$I}" \n(( L + M ))\nreadonly N\n'

    assert words(text, "variable") == list("ADEFGHILMN")
    assert words(text, "assignment") == ["B", "C"]
    assert words(text, "command") == []


PIECES = st.sampled_from(
    (
        *("'", '"', "`", "$(", "${", "$((", "((", ")", "}", "{", "\\", "\n", " ", ";", ";;", "|", "&&", "<<E\n", "E\n", "<<-'E'"),
        *("case ", " in ", "esac", "[[ ", "]]", "trap ", "local ", "f", "A=", "$x", "#", "é", "$'", "run ", "(", ">"),
    )
)


@settings(max_examples=300, deadline=None)
@given(pieces=st.lists(PIECES, max_size=40))
def test_no_script_is_refused_and_words_stay_where_they_are(pieces):
    text = "".join(pieces)

    found = shell_words(text)

    assert len(found.text) == len(text)
    assert all(left in (" ", right) for left, right in zip(found.text, text, strict=True))
    assert all(found.text[start].strip() for start in found.roles)


SHAPES = (
    *("'", '"', "`", "$(", '"$(', "${", "${x:-", "$((", "((", "(", "<<a\n", "<<a", "case x in ", "\\", "$'", "a", "a=", "[", "$"),
    *("<", ")", "{", "if ", "trap '", 'trap "', "local -", "a[", "#"),
)


@pytest.mark.slow
@pytest.mark.parametrize("shape", SHAPES)
def test_the_cost_of_repeated_openings_grows_with_their_length_alone(shape):
    with interrupting_limit(CPU_SECONDS):
        shell_words(shape * (60_000 // len(shape)))


def test_what_is_nested_too_deeply_is_left_out():
    assert words('"$(' * MAX_DEPTH * 2 + "f", "command") == []
