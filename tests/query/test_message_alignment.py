"""How a message is aligned with source text: in order, with the message's values in the placeholders."""

import pytest

from codecompass.query.messages.message_alignment import PreparedMessage, align
from codecompass.query.messages.message_parsing import read_message, read_source


def best(message, source):
    read = read_message(message)
    places = {}
    for number, piece in enumerate(read.pieces):
        places.setdefault(piece.text, []).append(number)
    wanted = PreparedMessage(places, [1.0] * len(read.pieces), float(len(read.pieces)), 2.0, read.pieces, read.core)
    found = align(wanted, read_source(source), 0.3)
    return found[0] if found else None


def test_what_stands_there_is_exact_whatever_its_blanks_and_a_little_less_in_another_case():
    source = 'x = 1\nraise Broken("the vault   is open")\n'

    assert best("the vault is open", source).exact == 1.0
    assert 0.0 < best("The Vault is Open", source).exact < 1.0
    assert best("the vault is open to all", source).exact == 0.0


@pytest.mark.parametrize(
    "source",
    [
        'f"door {door.name} is locked since {since:%H:%M} today"',
        '"door %s is locked since %d today" % (name, hour)',
        '"door " + door.name + " is locked since " + since + " today"',
        "'door ' . $door . ' is locked since ' . $since . ' today'",
        '"door " <> inspect(door) <> " is locked since " <> to_string(since) <> " today"',
        '"door " .. door.id .. " is locked since " .. hour .. " today"',
        '"door " ++ show door ++ " is locked since " ++ show hour ++ " today"',
        'out << "door " << door << " is locked since " << hour << " today";',
        "\"door #{door.map { |d| d.id }.join(', ')} is locked since #{hour} today\"",
        '"door \\(door.name) is locked since \\(hours(of: x)) today"',
        "`door ${door.name} is locked since ${f(hour)} today`",
        'format!("door {} is locked since {:?} today", door, hour)',
        '("door %s is "\n "locked since %s today")',
        '"door %s is " +\n    "locked since %s today"',
        '"door %s is locked " \\\n  "since %s today"',
    ],
)
def test_a_template_fits_with_its_values_filled_in(source):
    alignment = best("door north gate is locked since 12 today", source)

    assert alignment.fit > 0.9
    assert alignment.line_start == 0


def test_what_no_hole_explains_does_not_fit():
    template = best("door 7 is locked", '"door %s is locked"')

    assert best("door 7 is locked", '"door of the vault is locked"').fit < template.fit
    assert best("how a door is locked by somebody else", 'lock("door")  # is locked').fit < 0.7
    assert best("door 7 is locked", '"door %s is locked and the key is gone"').fit < template.fit


def test_words_in_another_order_are_not_the_message():
    assert best("unsupported level as number: 3", '"unsupported number as level: %d"') is None


def test_lines_are_those_of_the_words():
    alignment = best("one two three four", 'a\nb\nx = ("one two "\n     "three four")\nthe end of it\n')

    assert (alignment.line_start, alignment.line_end) == (2, 3)


def test_words_that_stand_near_by_chance_are_left_out():
    alignment = best(
        "the vault number 7 was opened twice", 'f(7)\ny = 1 + 2 + g(a, b, c)\nraise X("number %d was opened twice")\n'
    )

    assert alignment.line_start == 2


def test_punctuation_tells_equal_words_apart():
    message = "bad state, actual = 3"

    assert best(message, '"bad state, actual = {x}"').score > best(message, '"bad state; actual = {x}"').score


def test_text_without_the_words_gives_nothing():
    assert best("the vault is open", "def other(): pass") is None
