"""Reads the arguments of a call, for languages in which they choose between functions of one name.

    f("a", 1, x, new Foo(), g(y))   with x declared as a Bar   ->   s;i;<Bar>;<Foo>;g()

An argument is one of the letters of `LITERALS`, the written type of a value in angle brackets, an expression whose type other
definitions tell (see `expressions`), or UNKNOWN.
"""

import re
from collections.abc import Callable, Sequence
from typing import Final

from codecompass import lazy
from codecompass.languages.uses.expressions import UNKNOWN, expression_of, typed
from codecompass.languages.uses.lexical_rules import LexicalRules

SEPARATOR: Final = ";"

STRING, BOOLEAN, CHARACTER, DOUBLE, FLOAT, INT, LONG, NULL = "sbcdfiln"
LITERALS: Final = frozenset((STRING, BOOLEAN, CHARACTER, DOUBLE, FLOAT, INT, LONG, NULL))

MAX_ARGUMENTS: Final = 16
MAX_CHARACTERS: Final = 800
"""Characters of all arguments of a call; of longer ones nothing is known."""

MAX_ARGUMENT: Final = 60
"""Characters of an expression that is kept."""

_BOUNDARY: Final = lazy.pattern(r"[()\[\]{},]")
_FLAT: Final = lazy.pattern(r"\(([^()\[\]{}]*+)\)")
"""All arguments of a call without brackets in them."""

_NESTED: Final = lazy.pattern(
    r"\(([^()\[\]{}]*+(?>(?:\([^()\[\]{}]*+(?>(?:\([^()\[\]{}]*+\)[^()\[\]{}]*+)*)\)[^()\[\]{}]*+)*))\)"
)
"""All arguments of a call with parentheses in them to a depth of two, and without other brackets."""

_INNER: Final = lazy.pattern(r"\([^()]*+(?>(?:\([^()]*+\)[^()]*+)*)\)")
_BLOCK: Final = lazy.pattern(r"[ \t]*+\{")
_NUMBER: Final = lazy.pattern(r"[-+]?(?:0[xXbB])?[\d_]*\.?[\d_a-fA-F]*(?:[eE][-+]?\d+)?(?P<suffix>[uUlLfFdDmM]*)\Z")
_CAST: Final = lazy.pattern(r"\((?P<type>[^\W\d][\w.]*(?:<[\w., <>?]*>)?(?:\[\])*)\)\s*[\w(\"']")
_NAMED_CAST: Final = lazy.pattern(r"(?:static|dynamic|reinterpret|const)_cast<(?P<type>[^()]+)>\(")
_NEW: Final = lazy.pattern(r"new\s+(?P<type>[^\W\d][\w.]*(?:<[\w., <>?]*>)?)\s*(?P<open>[(\[{])")
_AS: Final = lazy.pattern(r"[^()]+\bas[?!]?\s+(?P<type>[^\W\d][\w.<>\[\]]*)\??\Z")
_WORDS: Final = {"true": BOOLEAN, "false": BOOLEAN, "null": NULL, "nullptr": NULL, "nil": NULL, "NULL": NULL}


def split_arguments(text: str, opening: int, rules: LexicalRules) -> list[str] | None:
    """Returns the arguments between the parenthesis at `opening` and the one that closes it, and a block after that.

    None if they are too long, or if a block may as well be that of a statement.
    """
    flat = _FLAT.match(text, opening, opening + MAX_CHARACTERS)
    if flat is not None:
        inner = flat[1]
        return _with_block(inner.split(",") if inner and not inner.isspace() else [], text, flat.end(), rules)
    depth, start = 1, opening + 1
    arguments: list[str] = []
    for match in _BOUNDARY.finditer(text, start, opening + MAX_CHARACTERS):
        character = match[0]
        if character == ",":
            if depth == 1:
                arguments.append(text[start : match.start()])
                start = match.end()
        elif character in "([{":
            depth += 1
        else:
            depth -= 1
            if not depth:
                last = text[start : match.start()]
                if arguments or last.strip():
                    arguments.append(last)
                return _with_block(arguments, text, match.end(), rules)
    return None


def _with_block(arguments: list[str], text: str, end: int, rules: LexicalRules) -> list[str] | None:
    if rules.block_argument == "no" or _BLOCK.match(text, end) is None:
        return arguments
    return [*arguments, "{"] if rules.block_argument == "yes" else None


def count_arguments(text: str, opening: int, rules: LexicalRules) -> int:
    """Returns how many arguments `split_arguments` gives, -1 where it gives None."""
    nested = _NESTED.match(text, opening, opening + MAX_CHARACTERS)
    if nested is not None and (rules.block_argument == "no" or _BLOCK.match(text, nested.end()) is None):
        inner = nested[1]
        if "(" in inner:
            inner = _INNER.sub("_", inner)
        return inner.count(",") + 1 if inner and not inner.isspace() else 0
    arguments = split_arguments(text, opening, rules)
    return -1 if arguments is None else len(arguments)


def described(arguments: Sequence[str], rules: LexicalRules, substituted: Callable[[str], str]) -> str:
    """Returns what is known of the arguments, '' if nothing is. `substituted` replaces a variable by its expression."""
    if not arguments or len(arguments) > MAX_ARGUMENTS:
        return ""
    known = [_described(argument.strip(), rules, substituted) for argument in arguments]
    return "" if all(each == UNKNOWN for each in known) else SEPARATOR.join(known)


def _described(argument: str, rules: LexicalRules, substituted: Callable[[str], str]) -> str:
    first = argument[:1]
    if first in ('"', "`") or argument[:2] in ('$"', '@"'):
        return STRING
    if first == "'":
        return CHARACTER
    if first.isdigit() or (first in "-+." and argument[1:2].isdigit()):
        return _number(argument)
    if argument in _WORDS:
        return _WORDS[argument]
    if argument.isidentifier():
        whole = substituted(argument)
    else:
        written = _written_type(argument)
        if written is not None:
            type_ = written["type"]
            return typed(f"{type_}[]" if written.groupdict().get("open") == "[" else type_)
        whole = substituted(expression_of(argument, rules))
    return whole if len(whole) <= MAX_ARGUMENT and SEPARATOR not in whole else UNKNOWN


def _written_type(argument: str) -> re.Match[str] | None:
    """Returns the match of a form that states the type of the argument. Most have none, so each is sought at its mark."""
    if argument[:1] == "(":
        found = _CAST.match(argument)
    elif argument.startswith("new"):
        found = _NEW.match(argument)
    else:
        found = _NAMED_CAST.match(argument) if "_cast<" in argument else None
    return found if found is not None or " as" not in argument else _AS.match(argument)


def _number(argument: str) -> str:
    found = _NUMBER.match(argument)
    if found is None:
        return UNKNOWN
    suffix = found["suffix"].lower()
    is_hexadecimal = argument.lstrip("-+")[:2].lower() == "0x"
    if "l" in suffix:
        return LONG
    if is_hexadecimal:
        return INT
    if "f" in suffix or argument[-1:] in "fF":
        return FLOAT
    return DOUBLE if "." in argument or "e" in argument.lower() or "d" in argument.lower() else INT
