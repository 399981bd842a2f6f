"""The text that the Zig grammar parses instead of the source."""

import pytest

from codecompass.languages.zig import prepare


@pytest.mark.parametrize(
    ("source", "left"),
    [
        ("const a, const b = f();", "const a = f();"),
        ("const a: u8, var b: usize, _ = f();", "const a: u8 = f();"),
        ("const x = label: switch (y) {};", "const x = switch (y) {};"),
        ("const a = f(b, c); if (a == b) {}", "const a = f(b, c); if (a == b) {}"),
        ('const a = "const a, const b = c";', 'const a = "const a, const b = c";'),
    ],
)
def test_what_the_grammar_does_not_know_is_blanked(source, left):
    data = source.encode()

    prepared = prepare(data)

    assert len(prepared) == len(data)
    assert " ".join(prepared.decode().split()) == left
