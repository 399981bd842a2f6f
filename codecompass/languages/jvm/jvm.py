"""What Java, Kotlin and Scala share: built-in names, lines of packages, the heads of types, and what conditions say of types."""

import re
from functools import cache
from itertools import islice
from typing import Final

from msgspec.structs import replace

from codecompass import lazy
from codecompass.languages.uses.lexical_rules import ImplicitParameter, LexicalRules, SupertypeForms, TypeCases, TypeConditions
from codecompass.languages.uses.patterns import PATH, cast_after, cast_before, member_cast
from codecompass.languages.words import word_set

FAMILY: Final = "jvm"

ROOTS: Final = "android androidx jakarta java javax"
"""Packages that need no import."""

NAMES_OF_JAVA: Final = (
    "Appendable AutoCloseable Boolean Byte Character CharSequence Class ClassLoader Cloneable Comparable Double Enum Error "
    "Exception Float IllegalArgumentException IllegalStateException Integer Iterable Long Math Module Number Object Override "
    "Package Process ProcessBuilder Record Runnable Runtime RuntimeException Short StackTraceElement StrictMath String "
    "StringBuffer StringBuilder System Thread ThreadGroup ThreadLocal Throwable Void"
)

MAX_HEAD_TOKENS: Final = 600
"""Tokens that are read in the head of a type."""


def of_jvm(rules: LexicalRules) -> LexicalRules:
    """Returns the rules of one of the languages with what all of them have."""
    return replace(
        rules,
        namespace_roots=word_set(ROOTS, "System kotlin scala"),
        package_line=re.compile(r"\n[ \t]*+(?P<what>package|import)[ \t][^\n]*+"),
        # Of Kotlin alone, but an `it` of the others has no better meaning.
        implicit_parameter=ImplicitParameter("it", re.compile(r"it\b(?<=\bit)")),
        casts=(cast_before(), cast_after(), member_cast("asInstanceOf")),
        supertypes=SupertypeForms(in_head=types_in_head),
        conditions=_is_type(),
        type_cases=_when(),
    )


@cache
def _is_type() -> TypeConditions:
    return TypeConditions(mark="is ", pattern=re.compile(r"is\s++(?<=\bis\s)(?P<type>[A-Z]\w*+(?>(?:\.\w++)*))"))


@cache
def _when() -> TypeCases:
    return TypeCases(
        mark="when",
        head=re.compile(rf"when\b(?<=\bwhen)\s*+\(\s*+(?:val\s++\w++\s*+=\s*+)?{PATH}\s*+\)\s*+\{{"),
        case=re.compile(r"\n[ \t]*+(?:is\s++(?P<type>[A-Z][\w.]*+)[^\n,]*?->|(?P<other>[^\s}][^\n]*?->))"),
    )


_TOKEN: Final = lazy.pattern(r"<:|>:|=>|->|[\w$]+|[^\s\w$]|\n")
_INTRODUCES: Final = word_set("extends implements with derives :")
_CONTINUES_HEAD: Final = word_set("extends implements with derives : , ( [ { @ constructor private protected internal public")
_ENDS_HEAD: Final = word_set("where permits { ; = } ) ]")


def types_in_head(text: str, at: int, limit: int) -> list[int]:
    """Returns the indexes at which the supertypes begin in the head of a type between `at`, after its name, and `limit`."""
    found: list[int] = []
    depth, is_after_intro, is_expected, is_skipped = 0, False, False, False
    previous = ""
    for match in islice(_TOKEN.finditer(text, at, limit), MAX_HEAD_TOKENS):
        token = match[0]
        if token in "([<":
            depth += 1
        elif token in ")]>" and depth:
            depth -= 1
        elif depth:
            continue
        elif token == "\n":
            following = _TOKEN.search(text, _after_blanks(text, match.end(), limit), limit)
            ends = following is None or following[0] not in _CONTINUES_HEAD
            if ends and previous not in _INTRODUCES and previous != "," and previous != "constructor":
                break
            continue
        elif token in _ENDS_HEAD:
            break
        elif token in _INTRODUCES or token == ",":
            is_after_intro = is_after_intro or token != ","
            is_expected, is_skipped = is_after_intro, False
        elif token == "by":
            is_skipped = True
        elif is_expected and not is_skipped and _is_base(token, previous) and text[match.end()] != ".":
            found.append(match.start())
            is_expected = False
        previous = token
    return found


def _is_base(token: str, previous: str) -> bool:
    return (token[0].isalpha() or token[0] in "_$") and previous != "@"


def _after_blanks(text: str, at: int, limit: int) -> int:
    while at < limit and text[at : at + 1] in (" ", "\t", "\n", "\r"):
        at += 1
    return at


JVM_UNWRAPPING: Final = word_set("get orElse orElseThrow join also apply orElseGet await")
"""Members of futures and optional values that return what they hold."""
