"""Counting the arguments of a call gives as many as splitting them."""

import random

import pytest

from codecompass.languages.uses.arguments import count_arguments, described, split_arguments
from codecompass.languages.uses.lexical_rules import known_rules


@pytest.mark.parametrize("language", ["java", "kotlin", "cpp", "scala"])
def test_as_many_arguments_are_counted_as_are_split(language):
    chosen = random.Random(7)
    for _ in range(4_000):
        text = (
            "f("
            + "".join(chosen.choice("()(),,  ab[]{}{") for _ in range(chosen.randrange(24)))
            + ")" * chosen.randrange(3)
            + " {"
        )
        split = split_arguments(text, 1, known_rules(language))
        assert count_arguments(text, 1, known_rules(language)) == (-1 if split is None else len(split)), text


def test_what_is_known_of_arguments_are_literals_written_types_and_expressions():
    rules = known_rules("java")
    types = {"job": "<Job>"}
    arguments = split_arguments('("", 1, job, new Pool<Job>(), read(1))', 0, rules)
    assert described(arguments or (), rules, lambda name: types.get(name, name)) == "s;i;<Job>;<Pool<Job>>;read()"
    assert described(("?x", "[1]"), rules, lambda name: name) == ""
