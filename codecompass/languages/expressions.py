"""Reads expressions and parameters from text, without resolving the names in them.

Expressions are abbreviated in a notation that `query.binding` resolves:

    self.pool        a member of the instance                       <Session>.pool   x.pool, with x declared as a Session
    open_it().pool   a member of the result of a function           ?.pool           a member of an unknown value
    pkg.sub          a member of a module, a type, or a variable of the file
"""

import re
from collections.abc import Iterator
from typing import Final

from codecompass.languages.lexis import Lexis

UNKNOWN: Final = "?"
LITERAL: Final = '""'

MAX_RECEIVER: Final = 120
"""Characters of an expression; a longer one is UNKNOWN."""

MAX_PIECES: Final = 8
"""Names, calls and subscripts of an expression."""

MAX_PARAMETER: Final = 400
"""Characters of one parameter with its type and default; a longer one is not read."""

FIRST_NAME: Final = re.compile(r"(?:[^\W\d]|\$)[\w$]*")


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


_PREFIX: Final = re.compile(r"\s*+(?:(?:await|yield|mut|ref|const|try[?!]?|co_await)\b\s*+|[&*]++\s*+)*+(?P<new>new\b\s*+)?")
_PIECE: Final = re.compile(r"(?:\?\.|!\.|&?\.|->|::)\s*+((?:[^\W\d]|\$)[\w$]*+)")
_TYPE_ARGUMENTS: Final = re.compile(r"(?:::)?<[^<>(){};=]*+(?:<[^<>(){};]*+>[^<>(){};]*+)*+>(?=[({:])")
_PARENTHESES: Final = re.compile(r"[()]")
_SQUARE_BRACKETS: Final = re.compile(r"[\[\]]")
_END_OF_EXPRESSION: Final = re.compile(r"\s*+(?:$|[;,:{)]|\?(?!\.)|if\b|or\b|else\b|\?\?|!)")


def expression_of(value: str, lexis: Lexis) -> str:
    """Returns the expression at the beginning of `value`; UNKNOWN if it does not have the form of a receiver."""
    prefix = _PREFIX.match(value)
    assert prefix is not None, "it matches the empty string, too"
    at = prefix.end()
    first = FIRST_NAME.match(value, at)
    if first is None:
        return LITERAL if value[at : at + 1] in ("'", '"', "`") else UNKNOWN
    whole = first[0]
    if whole in lexis.keywords and whole not in lexis.own and whole not in lexis.above:
        return UNKNOWN
    at = first.end()
    is_new = bool(prefix["new"])
    for _ in range(MAX_PIECES):
        arguments = _TYPE_ARGUMENTS.match(value, at)
        if arguments is not None:
            at = arguments.end()
        character = value[at : at + 1]
        if character in ("(", "["):
            if is_new:
                whole, is_new = f"<{whole}>", False
            else:
                whole += "()" if character == "(" else "[]"
            at = _closing(value, at)
            if at < 0:
                return whole
            continue
        if character == "{" and lexis.family in ("go", "rust"):
            return f"<{whole}>"
        if character in ("?", "!") and value[at + 1 : at + 2] not in (".", "?", "=", ":"):
            at += 1
            continue
        piece = _PIECE.match(value, at)
        if piece is None:
            break
        whole += "." + piece[1]
        at = piece.end()
    if is_new:
        return f"<{whole}>"
    if len(whole) > MAX_RECEIVER or not _END_OF_EXPRESSION.match(value, at):
        return UNKNOWN
    return whole


def _closing(text: str, at: int) -> int:
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


def parameters(signature: str, name: str, lexis: Lexis) -> Iterator[tuple[str, str]]:
    """Yields (name, type as written or '') for the parameters in a signature, including the receiver of a Go method."""
    if lexis.parameters == "go" and signature.startswith("func ("):
        end = signature.find(")")
        yield from parameter_list(signature[6:end], lexis)
    at = signature.find(name)
    at = signature.find("(", at + len(name) if at >= 0 else 0)
    if at < 0:
        return
    end = _closing(signature, at)
    yield from parameter_list(signature[at + 1 : end - 1 if end > 0 else None], lexis)


_NAME_FIRST: Final = re.compile(
    r"\s*+(?:@\w+(?:\([^()]*\))?\s++)*+"
    r"(?:(?:mut|ref|val|var|private|public|protected|readonly|override|inout|vararg|out|const|final|implicit)\s++)*+[*&.]*+"
    r"(?P<label>[\w$']++\s++)?(?P<name>[\w$']++)\??\s*+(?::\s*+(?P<type>[^=]++)|\s*+)(?:=.*)?$"
)
_TYPE_FIRST: Final = re.compile(r"\s*+(?P<type>.*?[\s*&>\])])?\.{0,3}(?P<name>\$?[^\W\d]\w*)\s*+(?:\[[^\]]*\])?\s*+(?:=.*)?$")


def parameter_list(written: str, lexis: Lexis) -> Iterator[tuple[str, str]]:
    """Yields (name, type as written or '') for the parameters in `written`, the text between the parentheses."""
    pieces = [piece for piece in _split(written) if len(piece) <= MAX_PARAMETER]
    match lexis.parameters:
        case "go":
            names: list[str] = []
            for piece in pieces:
                words = piece.split(None, 1)
                if not words:
                    continue
                names.append(words[0])
                if len(words) == 2:
                    yield from ((name, words[1].removeprefix("...")) for name in names)
                    names = []
        case "type_first":
            for piece in pieces:
                found = _TYPE_FIRST.match(piece)
                if found is not None and found["name"] not in lexis.keywords:
                    type_ = _MODIFIERS.sub("", found["type"] or "").strip()
                    yield found["name"], type_
        case "name_first":
            for piece in pieces:
                if piece.lstrip()[:1] in ("{", "["):  # A destructuring pattern binds names, whose types are unknown.
                    written_names = piece[: max(piece.rfind("}"), piece.rfind("]")) + 1] if ":" in piece else piece
                    yield from ((name, "") for name in lexis.name.findall(written_names))
                    continue
                found = _NAME_FIRST.match(piece)
                if found is not None:
                    yield found["name"], (found["type"] or "").strip()


_MODIFIERS: Final = re.compile(
    r"\b(?:final|const|volatile|struct|enum|union|register|static|ref|out|in|params|this|readonly)\b\s*|@\w+\s*"
)


_ANY_BRACKET: Final = frozenset("([{<>}])")


def _split(written: str) -> Iterator[str]:
    """Yields the parts between the commas outside brackets."""
    if _ANY_BRACKET.isdisjoint(written):
        pieces = written.split(",")
        yield from pieces if pieces[-1].strip() else pieces[:-1]
        return
    depth, start = 0, 0
    for index, character in enumerate(written):
        if character in "([{<":
            depth += 1
        elif character in ")]}" or (character == ">" and written[index - 1 : index] not in ("-", "=")):
            depth -= 1
        elif character == "," and depth <= 0:
            yield written[start:index]
            start = index + 1
    if written[start:].strip():
        yield written[start:]
