"""Reads expressions and parameters from text: forwards from a value or signature, backwards from a member (`Receivers`). Resolves
no names.

Expressions are abbreviated in a notation that `query.binding` resolves:

    self.pool        a member of the instance                       <Session>.pool   x.pool, with x declared as a Session
    pair()#1.pool    a member of the second item of a tuple           jobs.each{}.run  of what a method gives to its callback
    open_it().pool   a member of the result of a function           ?.pool           a member of an unknown value
    pkg.sub          a member of a module, a type, or a variable of the file
    "a.b".run        a member of the module that Lua's `require` returns for a name

Files may be hostile: every search around a name is bounded in characters, or done once for the whole file.
"""

from collections.abc import Sequence
from typing import Final

from codecompass import lazy
from codecompass.languages.uses.lexical_rules import Cast, LexicalRules

UNKNOWN: Final = "?"
LITERAL: Final = '""'
VARIABLE: Final = "$"
"""Marks a variable of a shell script, whose names are not those of functions; UNKNOWN marks the argument of a command there."""

MAX_RECEIVER: Final = 120
"""Characters of an expression; a longer one is UNKNOWN."""

MAX_PIECES: Final = 20
"""Names, calls and subscripts of an expression."""

FIRST_NAME: Final = lazy.pattern(r"(?:[^\W\d]|\$)[\w$]*")


def typed(type_: str) -> str:
    """Returns the expression for a value of `type_`, a type as written; UNKNOWN if it is too long."""
    type_ = " ".join(type_.split())
    return f"<{type_}>" if len(type_) < MAX_RECEIVER else UNKNOWN


def with_member(expression: str, name: str) -> str:
    """Returns the expression for the member `name` of `expression`; UNKNOWN if it gets too long."""
    if expression == UNKNOWN:
        return UNKNOWN
    n_pieces = expression.count(".") + expression.count("()") + expression.count("[]") + 2
    whole = f"{expression}.{name}"
    return whole if n_pieces <= MAX_PIECES and len(whole) <= MAX_RECEIVER else UNKNOWN


_PREFIX: Final = lazy.pattern(r"\s*+(?>(?:(?:await|yield|mut|ref|const|try[?!]?|co_await)\b\s*+|[&*]++\s*+)*)(?P<new>new\b\s*+)?")
_PIECE: Final = lazy.pattern(r"(?:\?\.|!\.|&?\.|->|::)\s*+((?:[^\W\d]|\$)[\w$]*+)")
_BEFORE_PIECE: Final = frozenset(".?!&-:")
_TYPE_ARGUMENTS: Final = lazy.pattern(r"(?:::)?<[^<>(){};=]*+(?>(?:<[^<>(){};]*+>[^<>(){};]*+)*)>(?=[({:])")
_PARENTHESES: Final = lazy.pattern(r"[()]")
_SQUARE_BRACKETS: Final = lazy.pattern(r"[\[\]]")
_END_OF_EXPRESSION: Final = lazy.pattern(r"\s*+(?:$|[;,:{}\])]|\?(?!\.)|if\b|or\b|else\b|\?\?|!)")


def expression_of(value: str, rules: LexicalRules) -> str:
    """Returns the expression at the beginning of `value`; UNKNOWN if it does not have the form of a receiver."""
    known = cast_to(value, rules.casts) or ("" if rules.value is None else rules.value(value))
    if known:
        return known
    prefix = _PREFIX.match(value)
    assert prefix is not None, "it matches the empty string, too"
    at = prefix.end()
    first = FIRST_NAME.match(value, at)
    if first is None:
        return LITERAL if value[at : at + 1] in ("'", '"', "`") else UNKNOWN
    whole = first[0]
    if whole in rules.keywords and whole not in rules.own and whole not in rules.above and whole not in rules.soft:
        return UNKNOWN
    at = first.end()
    strings = rules.naming_strings
    if strings is not None and strings.module is not None and (named := strings.module.match(value)) is not None:
        whole, at = f'"{named["module"]}"', named.end()
    is_new = bool(prefix["new"])
    for _ in range(MAX_PIECES):
        character = value[at : at + 1]
        if character in ("<", ":") and (arguments := _TYPE_ARGUMENTS.match(value, at)) is not None:
            at = arguments.end()
            whole += arguments[0] * is_new
            character = value[at : at + 1]
        if character in ("(", "["):
            if is_new:
                whole, is_new = f"<{whole}>", False
            else:
                whole += "()" if character == "(" else "[]"
            at = closing_of(value, at)
            if at < 0:
                return whole
            continue
        if character == "{" and rules.has_struct_literals:
            return f"<{whole}>"
        if character in ("?", "!") and value[at + 1 : at + 2] not in (".", "?", "=", ":"):
            at += 1
            continue
        piece = _PIECE.match(value, at) if character in _BEFORE_PIECE else None
        if piece is None:
            break
        whole += "." + piece[1]
        at = piece.end()
    if is_new:
        return f"<{whole}>"
    if len(whole) > MAX_RECEIVER or not _END_OF_EXPRESSION.match(value, at):
        return UNKNOWN
    return whole


def cast_to(value: str, casts: Sequence[Cast]) -> str:
    """Returns the expression for a value that is cast to a type; '' if it is not."""
    for cast in casts:
        found = cast.pattern.match(value) if cast.mark in value else None
        if found is not None:
            return typed(found["type"] or found["other"])
    return ""


def closing_of(text: str, at: int) -> int:
    """Returns the index after the bracket that closes the one at `at`; -1 if none does."""
    opening = text[at]
    closing = ")" if opening == "(" else "]"
    end = text.find(closing, at)
    if end < 0 or text.find(opening, at + 1, end) < 0:
        return end + 1 or -1
    depth = 0
    for match in (_PARENTHESES if opening == "(" else _SQUARE_BRACKETS).finditer(text, at):
        depth += 1 if match[0] == opening else -1
        if not depth:
            return match.end()
    return -1
