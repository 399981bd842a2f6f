"""Pieces of patterns, and whole forms of declarations, casts and heads of types, that several languages share."""

import re
from functools import cache
from typing import Final

from codecompass import lazy
from codecompass.languages.uses.lexical_rules import Cast, Declaration

NAME: Final = lazy.pattern(r"[^\W\d]\w*")
DOLLAR_NAME: Final = lazy.pattern(r"(?:[^\W\d]|\$)[\w$]*")

DOUBLE: Final = r'"(?:[^"\\\n]++|\\.)*+"?'
DOUBLE_LINES: Final = r'"(?:[^"\\]++|\\.)*+"?'
SINGLE: Final = r"'(?:[^'\\\n]++|\\.)*+'?"
SINGLE_LINES: Final = r"'(?:[^'\\]++|\\.)*+'?"
TRIPLE: Final = r'"""[^"\\]*+(?:(?:"{0,2}+\\.|"{1,2}+[^"\\])[^"\\]*+)*+"{0,3}+'
TRIPLE_SINGLE: Final = TRIPLE.replace('"', "'")
RAW_TRIPLE: Final = r'"""[^"]*+(?:"{1,2}+[^"][^"]*+)*+"{0,3}+'
CHARACTER: Final = r"'(?:[^'\\\n]|\\[^\n']+|\\')'"
BLOCK: Final = r"/\*[^*]*+(?:\*++[^*/][^*]*+)*+\**+/?"
SLASHES: Final = r"//[^\n]*+"
HASH: Final = r"#[^\n]*+"
DASHES: Final = r"--[^\n]*+"
"""Forms of strings and comments; one that is not closed ends with the line or the text."""


def delimited(*brackets: str) -> str:
    """Returns a pattern for a text between any of the pairs of brackets, nested once, or between two of the same characters."""
    forms = []
    for pair in brackets:
        opening, closing = pair[0], pair[1]
        inside = rf"[^{re.escape(opening + closing)}\\]++"
        nested = "" if opening == closing else rf"|\{opening}(?>(?:{inside}|\\.)*)\{closing}|\{opening}"
        forms.append(rf"\{opening}(?>(?:{inside}|\\.{nested})*)\{closing}?")
    return f"(?:{'|'.join(forms)})"


# A slash begins a regular expression after an operator, an opening bracket or a line break, or behind a word and a blank if no
# blank follows: `split /,/`.
SLASHED: Final = (
    r"/(?:" + "|".join(rf"(?<=[=(,:;!&|?{{}}\[\n~][ \t]{{{blanks}}}/)" for blanks in range(21)) + r"|(?<=[\w?!][ \t]/)(?![\s=]))"
    r"(?>(?:[^/\\\n\[#]++|\\[^\n]|\[(?:\\[^\n]|[^\]\n\\]){0,200}+\]|#\{[^{}\n]*+\}|#)*)/"
)
"""A regular expression of Ruby, Crystal and Perl."""

PERCENT_LITERAL: Final = r"%(?<![\w)\]}]%)(?:[qQwWiIrsx](?=[^\w\s])|(?=[(\[{])(?<=[\s(,=\[{]%))" + delimited(
    "()", "[]", "{}", "<>", "||", "!!", "//"
)
"""A string, a list of words or a regular expression of Ruby and Crystal: `%w[a b]`."""


HERE_DOCUMENT: Final = (
    r"<<(?:[~-][\"'`]?(?=\w)|(?<=[\s(,=\[]<<)[\"']?(?=[A-Z_]{2}))(?P<name>\w++)[\"'`]?"
    r"(?P<rest>[^\n]*+)(?P<body>.*?)(?:\n[ \t]*+(?P=name)\b|\Z)"
)
"""A here document of Ruby and Perl."""

NAMES: Final = r"\w++(?>(?:[ \t]*+,[ \t]*+\*?\w++)*)"
"""A list of names."""

PATH: Final = r"(?P<value>[^\W\d]\w*+(?>(?:\.[^\W\d]\w*+)*))"
"""A value, as written with dots."""

COMMON_KEYWORDS: Final = (
    "true false null if else for while do return break continue switch case default try catch finally throw new this"
)


def any_of(*patterns: str) -> re.Pattern[str]:
    """Returns the pattern that matches what one of the patterns does, the first that can."""
    return lazy.pattern("|".join(patterns), re.DOTALL)


def after(words: str) -> str:
    """Returns a pattern for any of the words. It begins with a literal: the boundary before the word is checked last."""
    return "(?:" + "|".join(rf"{word}\b(?<=\b{word})" for word in words.split()) + ")"


def declared(pattern: str, mark: str = "") -> Declaration:
    """Returns a form of declaration; see there."""
    return Declaration(lazy.pattern(pattern, re.MULTILINE), mark=mark)


def loop(pattern: str, mark: str = "") -> Declaration:
    """Returns a form of declaration whose variables are elements of the value."""
    return Declaration(lazy.pattern(pattern, re.MULTILINE), is_loop=True, mark=mark)


@cache
def typed_declaration() -> Declaration:
    """`T x`, with the modifiers of C and its descendants."""
    return declared(
        r"[;{}(,\n][ \t]*+"
        r"(?:(?:const|static|final|unsigned|struct|volatile|constexpr|typename|register|inline|readonly|ref|out|in|using|await)"
        r"\s\s*+)*+"
        r"(?P<type>[^\W\d][\w.]*+(?:::\w\w*+)*+(?:<[^;{}()]{0,200}?>)?(?>(?:\[[ \t]*+\])*))"
        r"(?:[ \t]++|[ \t]*+[*&]++[ \t]*+)(?:const[ \t]++)?"
        r"(?P<names>[^\W\d]\w*+)\s*+(?:=(?!=)\s*+(?P<value>[^\n;]*+)|(?=[;,){:\[(]))"
    )


@cache
def untyped_loop() -> Declaration:
    """`for (auto x : ..)`, `foreach (var x in ..)`."""
    return loop(
        after("for foreach") + r"\s*+\((?:(?:const|final|await|ref|readonly)\s\s*+)*+(?:auto|var)\b[ \t]*+(?:const\b)?[ \t&*]*+"
        r"(?P<names>\w++)\s*+(?::|in\b)(?P<value>[^\n]{0,200})"
    )


@cache
def case_of_type() -> Declaration:
    """`case T x`."""
    return declared(
        after("case") + r"[ \t]++(?P<type>[A-Z][\w.]*+)(?:<[^<>()]*+>)?[ \t]++(?!when\b|and\b|or\b)(?P<names>[a-z_]\w*+)"
    )


@cache
def named_value() -> Declaration:
    """`val x: T = ..`, `var (x, y) = ..`, `let x`."""
    return declared(
        after("val var let") + r"\s++(?P<names>\w++|\([^()]*+\))(?:\s*+:\s*+(?P<type>[^=\n{]{1,200}+))?"
        r"[ \t]*+(?:=(?!=)\s*+(?P<value>[^\n;]*+)|$)"
    )


WRITTEN_TYPE: Final = r"(?P<type>[^\W\d][\w.]*+(?>(?:::\w++)*)(?:<[\w., <>?]{0,60}>)?(?:\[\])?)"


@cache
def cast_before() -> Cast:
    """`(T) x`."""
    return Cast("(", re.compile(rf"\s*+\((?:const )?{WRITTEN_TYPE}[ *&]*+\)[ ]?(?=[\w(])"))


@cache
def cast_after() -> Cast:
    """`x as T`."""
    pattern = rf"\s*+[\w.$\[\]]++(?:\([^()]*+\))?\s++as[?!]?\s++{WRITTEN_TYPE}\??\s*+(?=$|[;,){{|&?:]|else\b)"
    return Cast("as", re.compile(pattern))


def member_cast(mark: str) -> Cast:
    """`x.(T)`, `x.asInstanceOf[T]`; `mark` is in one of them."""
    pattern = rf"\s*+\w++(?>(?:\.\w++)*)\.(?:\(\*?{WRITTEN_TYPE}\)|asInstanceOf\[(?P<other>[\w.]++)\])\s*+(?=$|[;,){{])"
    return Cast(mark, re.compile(pattern))


@cache
def supertypes_after_colon() -> re.Pattern[str]:
    """`class A : B, C`, from the name on."""
    return re.compile(
        r"\w++(?:\s*+<[^{;()]*?>)?(?:\s++final)?(?:\s*+\([^{;]*?\))?\s*+:(?!:)"
        r"(?P<bases>[^{;\n]*+(?>(?:(?:(?:(?<=[,:])|(?<=[,:][ \t\r]))\n|\n[ \t]*+,)[^{;\n]*+)*))"
    )
