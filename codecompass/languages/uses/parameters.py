"""Reads the parameters and results of functions from their signatures and heads. Resolves no names."""

import re
from collections.abc import Iterator
from typing import Final

from codecompass import lazy
from codecompass.languages.uses.expressions import closing_of
from codecompass.languages.uses.lexical_rules import LexicalRules

MAX_PARAMETER: Final = 400
"""Characters of one parameter with its type and default; a longer one is not read."""


def parameters(signature: str, name: str, rules: LexicalRules) -> Iterator[tuple[str, str]]:
    """Yields (name, type as written or '') for the parameters in a signature, including the receiver of a Go method."""
    if rules.parameters == "type_last" and signature.startswith("func ("):
        end = signature.find(")")
        yield from parameter_list(signature[6:end], rules)
    if rules.has_messages and signature[:1] in ("-", "+"):
        yield from ((found["name"], found["type"].strip()) for found in _LABELLED.finditer(signature))
        return
    at = signature.find(name)
    at = signature.find("(", at + len(name) if at >= 0 else 0)
    if at < 0:
        return
    end = closing_of(signature, at)
    yield from parameter_list(signature[at + 1 : end - 1 if end > 0 else None], rules)


def named_results(signature: str, name: str, rules: LexicalRules) -> Iterator[tuple[str, str]]:
    """Yields (name, type as written) for the results of a Go function that have names."""
    if rules.parameters != "type_last":
        return
    at = signature.find("(", signature.find(name) + len(name))
    end = closing_of(signature, at) if at >= 0 else -1
    if end > 0 and signature[end:].startswith(" ("):
        yield from parameter_list(signature[end + 2 :].rstrip(" {").removesuffix(")"), rules)


def parameter_pieces(signature: str, name: str) -> list[str] | None:
    """Returns the parameters in a signature as written; None if it has none or does not show all of them."""
    at = signature.find(name + "(")
    if at < 0:
        at = signature.find("(", max(signature.find(name), 0))
        at -= len(name)
    opening = at + len(name)
    end = closing_of(signature, opening) if 0 <= opening < len(signature) and signature[opening] == "(" else -1
    return None if end < 0 else [piece.strip() for piece in split_outside_brackets(signature[opening + 1 : end - 1])]


_NAME_FIRST: Final = lazy.pattern(
    r"\s*+(?>(?:@\w+(?:\([^()]*\))?\s++)*)"
    r"(?:(?:mut|ref|val|var|private|public|protected|readonly|override|inout|vararg|out|const|final|implicit)\s\s*+)*+[*&.]*+"
    r"(?P<label>[\w$']++\s++)?(?P<name>[\w$']++)\??\s*+(?::\s*+(?P<type>[^=]++)|\s*+)(?:=.*)?$"
)
_TYPE_FIRST: Final = lazy.pattern(
    r"\s*+(?P<type>.*?[\s*&>\])])?\.{0,3}(?P<name>\$?[^\W\d]\w*)\s*+(?P<array>\[[^\]]*\])?\s*+(?:=.*)?$"
)


def parameter_list(written: str, rules: LexicalRules) -> Iterator[tuple[str, str]]:
    """Yields (name, type as written or '') for the parameters in `written`, the text between the parentheses."""
    pieces = [piece for piece in split_outside_brackets(written) if len(piece) <= MAX_PARAMETER]
    match rules.parameters:
        case "type_last":
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
                if found is not None and found["name"] not in rules.keywords:
                    type_ = _MODIFIERS.sub("", found["type"] or "").strip()
                    yield found["name"], type_ + "[]" * (found["array"] is not None)
        case "name_first":
            for piece in pieces:
                if piece.lstrip()[:1] == "{" and (pattern := _PATTERN.match(piece)) is not None:
                    yield from _members_of(pattern["members"], pattern["type"].strip())
                    continue
                if piece.lstrip()[:1] in ("{", "["):  # A destructuring pattern binds names, whose types are unknown.
                    written_names = piece[: max(piece.rfind("}"), piece.rfind("]")) + 1] if ":" in piece else piece
                    yield from ((name, "") for name in rules.name.findall(written_names))
                    continue
                found = _NAME_FIRST.match(piece)
                if found is not None:
                    yield found["name"], (found["type"] or "").strip()


_LABELLED: Final = lazy.pattern(r":[ ]?\((?P<type>(?>(?:[^()]++|\([^()]*+\))*))\)[ ]?(?P<name>\w++)")
"""A parameter of a method of Objective-C, `:(T)name`."""

_PATTERN: Final = lazy.pattern(
    r"\s*+(?P<members>\{[^{}]*+\})\s*+:\s*+(?P<type>[\w$.]++(?:<[^=]*+>)?|\{[^{}]*+\})\s*+(?:=.*)?$", re.DOTALL
)
MEMBER: Final = lazy.pattern(r"[{,]\s*(?P<rest>\.\.\.)?(?P<name>[\w$]+)(?:\s*:\s*(?P<local>[\w$]+))?\s*(?=[,}=])")
"""A member in a pattern `{ a, b: c, ...d }`."""

_PROPERTY: Final = lazy.pattern(r"[{;,\n]\s*(?:readonly\s+)?(?P<name>[\w$]+)\??\s*:\s*(?P<type>[^;,\n}]+)")


def _members_of(members: str, type_: str) -> Iterator[tuple[str, str]]:
    """Yields (name, type) for the names that a pattern binds to members of a value of `type_`."""
    own = {found["name"]: found["type"].strip() for found in _PROPERTY.finditer(type_)} if type_.startswith("{") else None
    for found in MEMBER.finditer(members):
        name = found["name"]
        member = own.get(name, "") if own is not None else f'{type_}["{name}"]'
        yield found["local"] or name, "" if found["rest"] else member


_MODIFIERS: Final = lazy.pattern(
    r"\b(?:final|const|volatile|struct|enum|union|register|static|ref|out|in|params|this|readonly)\b\s*|@\w+\s*"
)

_ANY_BRACKET: Final = frozenset("([{<>}])")
_COMMA_OR_BRACKET: Final = lazy.pattern(r"[,()\[\]{}<>]")


def split_outside_brackets(written: str) -> Iterator[str]:
    """Yields the parts between the commas outside brackets."""
    if "," not in written:
        if written.strip():
            yield written
        return
    if _ANY_BRACKET.isdisjoint(written):
        pieces = written.split(",")
        yield from pieces if pieces[-1].strip() else pieces[:-1]
        return
    depth, start = 0, 0
    for match in _COMMA_OR_BRACKET.finditer(written):
        character = match[0]
        if character == ",":
            if depth <= 0:
                yield written[start : match.start()]
                start = match.end()
        elif character in "([{<":
            depth += 1
        elif character != ">" or written[match.start() - 1 : match.start()] not in ("-", "="):
            depth -= 1
    if written[start:].strip():
        yield written[start:]
