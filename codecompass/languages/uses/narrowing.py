"""Finds where a condition states the type of a value: `isinstance(x, T)`, `x instanceof T`, `x is T`, `case T:` of a type switch.

    if isinstance(job, Task):         from the condition to the end of the block
    if not isinstance(job, Task):     if the block leaves the function or loop: from its end to the end of the block around it
        return

A later assignment to the value is not looked for. All searches are bounded in characters.
"""

import re
from collections.abc import Iterator
from typing import Final

from msgspec import Struct

from codecompass import lazy
from codecompass.languages.uses.expressions import typed
from codecompass.languages.uses.lexical_rules import LexicalRules, TypeCases, TypeConditions
from codecompass.languages.uses.patterns import PATH

MAX_VALUE: Final = 120
"""Characters of a value before its condition."""

MAX_BLOCK: Final = 20_000
"""Characters of a block in which a condition holds."""

_VALUE_BEFORE: Final = lazy.pattern(rf"(?<![\w.]){PATH}\s++(?P<not>!?)\Z")
_TOKEN: Final = lazy.pattern(r"[()\[\]{};\n]")
_BRACKET: Final = lazy.pattern(r"[()\[\]{}]")
_LEAVES: Final = lazy.pattern(r"[\s{]*+(?:return|throw|raise|continue|break|exit|error\()")
_CONTINUED: Final = lazy.pattern(r"\s*+[&|?:){.]")
_LINE: Final = lazy.pattern(r"(?m)^(?P<indent>[ \t]*+)(?=[^\s)\]}])")


class Narrowing(Struct, frozen=True):
    """A value, as written with dots, of which more is known from `start` to `end` than elsewhere in its function."""

    value: str
    expression: str
    """What the value is there, in the notation of `expressions`."""
    start: int
    end: int


def narrowings(rules: LexicalRules, text: str) -> Iterator[Narrowing]:
    """Yields what conditions state in `text`, which is without comments and contents of strings."""
    form = rules.conditions
    if form is not None and form.mark in text:
        for match in form.pattern.finditer(text):
            if "value" in form.pattern.groupindex:
                is_negated, written = False, match["value"]
            else:
                before = _VALUE_BEFORE.search(text, max(match.start() - MAX_VALUE, 0), match.start())
                if before is None:
                    continue
                is_negated, written = bool(before["not"]), before["value"]
            value = re.sub(r"\??->", ".", written)
            type_ = " | ".join(part.strip() for part in match["type"].strip("()").split(",") if part.strip())
            for start, end in _spans(form, text, match, is_negated=is_negated):
                yield Narrowing(value, typed(type_.replace("\\", ".")), start, end)
    cases = rules.type_cases
    if cases is not None and cases.mark in text:
        yield from _cases(text, cases)


def _spans(form: TypeConditions, text: str, match: re.Match[str], *, is_negated: bool) -> Iterator[tuple[int, int]]:
    before = text[text.rfind("\n", 0, match.start()) + 1 : match.start()].rstrip()
    is_negated = is_negated or before.endswith(("!(", "!", "not"))
    if form.has_indented_blocks:
        block_end, around_end = _indented(text, match.start())
        block_start = text.find("\n", match.end())
    else:
        block_start, block_end = _braced(text, match.end())
        around_end = -1
    if not is_negated:
        is_lasting = before.endswith("assert")
        yield match.end(), (around_end if is_lasting else block_end)
    elif _LEAVES.match(text, block_start, block_end) is not None:
        yield block_end, (around_end if around_end >= 0 else end_of_block(text, block_end))


def _indented(text: str, at: int) -> tuple[int, int]:
    """Returns where the block below the line of `at` ends, and the block that the line is in."""
    begin = text.rfind("\n", 0, at) + 1
    own = len(text[begin:at]) - len(text[begin:at].lstrip())
    block_end = -1
    limit = min(len(text), at + MAX_BLOCK)
    for line in _LINE.finditer(text, text.find("\n", at), limit):
        indent = len(line["indent"])
        if indent <= own and block_end < 0:
            block_end = line.start()
        if indent < own:
            return block_end, line.start()
    return (block_end if block_end >= 0 else limit), limit


def _braced(text: str, at: int) -> tuple[int, int]:
    """Returns where what follows the condition that ends at `at` begins and ends: a block, or the rest of the statement."""
    depth, start = 0, at
    for token in _TOKEN.finditer(text, at, at + MAX_BLOCK):
        match token[0]:
            case "(" | "[":
                depth += 1
            case ")" | "]":
                depth -= 1
                if depth < 0:
                    depth, start = 0, token.end()
            case "{":
                if depth == 0:
                    return token.start(), end_of_block(text, token.end())
                depth += 1
            case "}":
                depth -= 1
                if depth < 0:
                    return start, token.start()
            case ";":
                if depth == 0:
                    return start, token.start()
            case _:
                if depth == 0 and text[start : token.start()].strip() and not _CONTINUED.match(text, token.end()):
                    return start, token.start()
    return start, min(len(text), at + MAX_BLOCK)


def end_of_block(text: str, at: int) -> int:
    """Returns the index of the bracket that closes the block or parentheses in which `at` is."""
    depth = 0
    for token in _BRACKET.finditer(text, at, at + MAX_BLOCK):
        if token[0] in "([{":
            depth += 1
        else:
            depth -= 1
            if depth < 0:
                return token.start()
    return min(len(text), at + MAX_BLOCK)


def _cases(text: str, form: TypeCases) -> Iterator[Narrowing]:
    """Yields what the cases of statements state that choose by type."""
    for match in form.head.finditer(text):
        end = end_of_block(text, match.end())
        cases = list(form.case.finditer(text, match.end(), end))
        for found, following in zip(cases, [*cases[1:], None], strict=True):
            if found["type"] and "," not in found["type"]:
                stop = end if following is None else following.start()
                yield Narrowing(match["value"], typed(found["type"].strip().lstrip("*")), found.end(), stop)
