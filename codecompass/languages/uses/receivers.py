"""Finds the expression before a member, backwards from it, and the type of the literal around a key. Resolves no names.

Files may be hostile: every search around a name is bounded in characters, or done once for the whole file.
"""

import re
import string
from collections.abc import Iterator
from typing import Final

from codecompass import lazy
from codecompass.languages.uses.expressions import LITERAL, MAX_PIECES, MAX_RECEIVER, UNKNOWN, expression_of, typed
from codecompass.languages.uses.lexical_rules import LexicalRules

MAX_CHAIN: Final = 80
"""Names, calls and subscripts that are looked back over; calls of one method in a row count once."""

MAX_LOOK_BACK: Final = 2_000
"""Characters between a bracket and the one that closes it."""

_NAME_CHARACTERS: Final = f"{string.ascii_letters}{string.digits}_.:"
_DOTTED_NAME: Final = lazy.pattern(r"[^\W\d]\w*(?:(?:\.|::)[^\W\d]\w*)*\Z")
_PLAIN_RECEIVER: Final = lazy.pattern(r"[^\W\d]\w*+(?>(?:(?:\.|->)\w++|\[\w++\])*)")
_MADE: Final = lazy.pattern(r"\[\s*+\w++\s++(?:alloc|new)\s*+\]")
"""`[T alloc]`, a value of the type T."""

_PATH_ROOTS: Final = frozenset({"crate", "super", "self", "this", "base", "import"})
_NEVER_MEMBERS: Final = frozenset({"base", "class", "new", "super", "this"})
"""Keywords that keep their meaning after a dot."""

_WORD_BEFORE: Final = lazy.pattern(r"[^\W\d]\w*\Z")
_BEFORE_VALUE: Final = frozenset({"return", "await", "yield", "throw", "in", "not", "and", "or", "else"})
_BEFORE_COLON: Final = frozenset("_)]\"'")
_CAST_IN_BRACKETS: Final = "asInstanceOf"
"""A method whose type argument is the type of what it returns."""

_OPENINGS: Final = {")": "(", "]": "[", ">": "<"}
_BRACKETS: Final = lazy.pattern(r"[()\[\]{}](?:(?<=\()[^()\[\]{}]*+\))?")
"""A bracket, or parentheses without brackets in them. It begins with one set of characters, which is what `re` finds fast."""

_BRACKET: Final = lazy.pattern(r"[()\[\]{}]")
BEFORE_PLAIN: Final = frozenset(" \t\n\r()[]{},;=+-*/%&|^<~\"'`")
"""Characters that can precede a name that is a whole expression."""


class Receivers:
    """Finds receivers in one file. `text` is without comments and contents of strings, and begins and ends with a line break;
    `written` is the same text with them if strings of it name modules or types, else empty."""

    def __init__(self, rules: LexicalRules, text: str, written: str) -> None:
        self._rules = rules
        self._text = text
        self._written = written
        self._pairs: dict[str, dict[int, int]] = {}
        self._open_brackets: list[int] = []
        self._named = -1, ""
        """Where a name was sought last, and the name."""
        self._seen_brackets = 0
        """Index up to which brackets have been read."""

    def before(self, start: int, name: str = "", name_start: int = -1) -> str:
        """Returns the receiver of the name at `start`: '' if it has none, UNKNOWN if it does not have the form of a receiver.

        `name` is the last name before it, which begins at `name_start`; '' if it is not known.
        """
        text = self._text
        # `name.member`: gives the result of `_ending_at`, faster.
        is_adjacent = text[start - 1] == "." and name_start + len(name) == start - 1
        if is_adjacent and text[name_start - 1] in BEFORE_PLAIN and name.isidentifier() and len(name) <= MAX_RECEIVER:
            return name if name not in self._rules.keywords or self._is_receiver(name) else UNKNOWN
        at = self._before_operator(start)
        return self._ending_at(at) if at >= 0 else ""

    def of_message(self, start: int, end: int) -> str | None:
        """Returns the receiver of the message whose selector begins with the name from `start` to `end`; '' if the name is none
        of a selector, None if it is a later part of one, or the label of a parameter.

        Must be called for the names in the order of the text.
        """
        text = self._text
        is_label = text[end] == ":" and text[end + 1] != ":"
        if not is_label and text[end] not in "] \n":
            return ""
        at = next(self._brackets_around(start), -1)
        if at < 0 or text[at] != "[" or start - at > MAX_LOOK_BACK:
            return None if is_label and text[end + 1] == "(" else ""
        receiver = text[at + 1 : start].strip()
        if _PLAIN_RECEIVER.fullmatch(receiver):
            return receiver
        if _MADE.fullmatch(receiver):
            return typed(receiver[1:].split()[0])
        first, last = receiver[:1], receiver[-1:]
        if (first, last) in (("[", "]"), ("(", ")")) and self._opening(at + 1 + text[at + 1 : start].rstrip().rfind(last)) == (
            at + 1 + text[at + 1 : start].find(first)
        ):
            return UNKNOWN
        return None if is_label else ""

    def literal_type(self, start: int) -> str:
        """Returns `<T>` for the type T of the literal with the key at `start`: UNKNOWN if the type is not written, '' in a
        language without such literals.

        Must be called for the keys in the order of the text.
        """
        text, bracket = self._text, self._rules.keys_of_type
        if not bracket:
            return ""
        if bracket == "parentheses":
            return self._called_type(start)
        for at in self._brackets_around(start):
            if text[at] != "{" or start - at > MAX_LOOK_BACK:
                break
            name = self._name_before(at)
            if name:
                name = name.replace("::", ".")
                return f"<{name}>" if name.rpartition(".")[2] not in self._rules.keywords else UNKNOWN
            if not text[max(at - MAX_RECEIVER, 0) : at].rstrip().endswith(("{", ",")):
                break
        return UNKNOWN

    def _called_type(self, start: int) -> str:
        text = self._text
        at = text.rfind("(", max(start - MAX_LOOK_BACK, 0), start)
        if at >= 0 and _BRACKET.search(text, at + 1, start) is not None:
            at = next(self._brackets_around(start), -1)
        if at < 0 or text[at] != "(" or start - at > MAX_LOOK_BACK:
            return UNKNOWN
        name = self._name_before(at)
        return f"<{name}>" if name else UNKNOWN

    def _name_before(self, end: int) -> str:
        """Returns the dotted name that ends at `end`, or one blank before it; '' if there is none."""
        # Several arguments are of one call.
        if end != self._named[0]:
            self._named = end, self._find_name_before(end)
        return self._named[1]

    def _find_name_before(self, end: int) -> str:
        text = self._text
        if text[end - 1] in " \t":
            end -= 1
        limit = max(end - MAX_RECEIVER, 0)
        begin = limit + len(text[limit:end].rstrip(_NAME_CHARACTERS))
        while begin > limit and (text[begin - 1].isalnum() or text[begin - 1] in "_.:"):
            begin -= 1
        found = _DOTTED_NAME.search(text, begin, end)
        return found[0] if found is not None else ""

    def _brackets_around(self, at: int) -> Iterator[int]:
        """Yields the indexes of the brackets open at `at`, innermost first. Any closing bracket closes any other."""
        text, open_brackets = self._text, self._open_brackets
        for match in _BRACKETS.finditer(text, self._seen_brackets, at):
            start = match.start()
            if match.end() - start > 1:  # both of a pair
                continue
            if text[start] in "([{":
                open_brackets.append(start)
            elif open_brackets:
                open_brackets.pop()
        self._seen_brackets = at
        return reversed(open_brackets)

    def _is_receiver(self, keyword: str, is_called: bool = False) -> bool:
        """Whether a keyword can be a receiver; with `is_called`, whether a call or subscript of it can."""
        rules = self._rules
        return (
            keyword in rules.own
            or keyword in rules.above
            or (rules.implicit_parameter is not None and keyword == rules.implicit_parameter.name)
            or (not is_called and (keyword in _PATH_ROOTS or keyword in rules.built_in or keyword in rules.soft))
        )

    def is_member(self, keyword: str, start: int) -> bool:
        """Whether the keyword at `start` is the name of a member there: `map.get`, `z.number()`, `promise.catch`."""
        return self._text[start - 1] == "." and self._text[start - 2] != "." and keyword not in _NEVER_MEMBERS

    def _before_operator(self, start: int) -> int:
        """Returns the index of the last character before the member operator that ends at `start`; -1 if there is no operator."""
        text = self._text
        match text[start - 1]:
            case ".":
                if start > 1 and text[start - 2] == ".":
                    return -1
                return start - 2
            case ">":
                return start - 3 if text[start - 2 : start] == "->" else -1
            case ":":
                if text[start - 2 : start] == "::":
                    return start - 3
                before = text[start - 2 : start - 1]
                return start - 2 if self._rules.has_method_colon and (before.isalnum() or before in _BEFORE_COLON) else -1
        return -1

    def _ending_at(self, at: int) -> str:
        """Returns the expression whose last character is at `at`; UNKNOWN if it does not have the form of a receiver."""
        text, rules = self._text, self._rules
        pieces: list[str] = []
        for _ in range(MAX_CHAIN):
            if len(pieces) > MAX_PIECES:
                return UNKNOWN
            while at > 0 and text[at] in " \t\n\r?!&":
                at -= 1
            character = text[at]
            if character in ")]":
                closed = at
                at = self._opening(at) - 1
                if at < 0:
                    return UNKNOWN
                if character == ")" and not pieces and text[at] == "." and rules.asserts_types:  # `value.(*Type)`
                    pieces.append(typed(text[at + 2 : closed].lstrip("*")))
                    break
                if character == ")" and not pieces and self._begins_value(at):
                    whole = expression_of(text[at + 2 : closed], rules)
                    if whole == UNKNOWN:
                        return UNKNOWN
                    pieces.append(whole)
                    break
                if self._written and character == ")" and (named := self._named_by_string(at, closed)):
                    pieces.append(named)
                    break
                if character == "]" and not pieces and text[at + 1 - len(_CAST_IN_BRACKETS) : at + 1] == _CAST_IN_BRACKETS:
                    pieces.append(typed(text[at + 2 : closed]))
                    break
                if character == "]" and rules.has_lists and self._begins_value(at):
                    pieces.append(LITERAL)
                    break
                pieces.append("()" if character == ")" else "[]")
                if text[at] == ">":
                    end = at
                    at = self._before_type_arguments(at) or at
                    if len(pieces) == 1 and text[max(at - MAX_RECEIVER, 0) : at + 1].endswith("_cast"):
                        pieces[-1] = typed(text[at + 2 : end])
                        break
                continue
            if character == ">":
                at = self._before_type_arguments(at)
                if not at:
                    return UNKNOWN
                continue
            if character in "\"'`":
                pieces.append(self._named_by_string(at, at) or LITERAL)
                break
            stop = at
            while text[at].isalnum() or text[at] in rules.name_marks:
                at -= 1
            if at == stop:  # A parenthesis without a name before it holds an expression.
                return UNKNOWN
            name = text[at + 1 : stop + 1]
            if name[0].isdigit():
                if text[at] == "." and name.isdecimal() and rules.has_numbered_fields and not text[at - 1].isdigit():
                    pieces.append(f"#{name}")
                    at -= 1
                    continue
                pieces.append(LITERAL)
                break
            if (
                name in rules.keywords
                and not self._is_receiver(name, bool(pieces) and pieces[-1] in ("()", "[]"))
                and not (name in rules.soft and pieces[-1:] == ["[]"])
                and not self.is_member(name, at + 1)
            ):
                return UNKNOWN
            pieces.append(name)
            if pieces[-4:] == ["()", name, "()", name]:
                del pieces[-2:]  # `add(x).add(y)` is what `add(x)` is
            if text[at] == rules.field_mark:
                pieces[-1] = "self." + name
                break
            before = self._before_operator(at + 1) if text[at] in ".>:" else -1
            if before < 0:
                break
            at = before
        else:
            return UNKNOWN
        whole = ""
        for piece in reversed(pieces):
            whole += piece if not whole or piece[0] in "([#" else "." + piece
        return whole if len(whole) <= MAX_RECEIVER else UNKNOWN

    def _named_by_string(self, before: int, last: int) -> str:
        """Returns the expression for a call or string that ends at `last` and in which a string names a module or type; '' if
        there is none. The parentheses of the call begin after `before`."""
        strings = self._rules.naming_strings
        return "" if not self._written or strings is None else strings.ending(self._text, self._written, before, last)

    def _begins_value(self, at: int) -> bool:
        """Whether the bracket after `at` begins a value, because no expression ends at `at`."""
        text = self._text
        limit = max(at - MAX_RECEIVER, 0)
        while at > limit and text[at] in " \t":
            at -= 1
        if text[at] in "=([{,;:&|?!\n":
            return True
        word = _WORD_BEFORE.search(text, limit, at + 1)
        return word is not None and word[0] in _BEFORE_VALUE

    def _before_type_arguments(self, at: int) -> int:
        """Returns the index before the type arguments that end at `at`; 0 if they do not begin nearby."""
        opened = self._opening(at)
        if opened < 0:
            return 0
        return opened - 3 if self._text[opened - 2 : opened] == "::" else opened - 1

    def _opening(self, at: int) -> int:
        """Returns the index of the bracket that the one at `at` closes; -1 if it is too far away."""
        text = self._text
        closing = text[at]
        opening = _OPENINGS[closing]
        found = text.rfind(opening, max(at - MAX_LOOK_BACK + 1, 0), at)
        if found < 0 or text.find(closing, found, at) < 0:
            return found
        if closing not in self._pairs:
            self._pairs[closing] = _pairs(text, opening, closing)
        found = self._pairs[closing].get(at, -1)
        return found if at - found < MAX_LOOK_BACK else -1


def _pairs(text: str, opening: str, closing: str) -> dict[int, int]:
    """Returns the index of the opening bracket by the index of the closing one."""
    pairs: dict[int, int] = {}
    opened: list[int] = []
    for match in re.finditer(f"[{re.escape(opening + closing)}]", text):
        if match[0] == opening:
            opened.append(match.start())
        elif opened:
            pairs[match.start()] = opened.pop()
    return pairs
