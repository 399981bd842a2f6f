"""The lexical rules of each language: comments and strings, names, and the forms of variable declarations.

Uses of names are found in the text and not in the syntax tree: walking every node of every file from Python would double
the cost of an index, and text that no grammar can parse (macros, half a statement) has names too.

Every pattern takes linear time on any text: quantifiers are possessive or bounded wherever the text that they consume could begin
another match. Most patterns begin with a literal, for which `re` is ten times faster than trying a match at every position.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Final, Literal

from msgspec import Struct
from msgspec.structs import replace

from codecompass.languages.uses.built_in_names import BUILT_IN_NAMES
from codecompass.languages.words import word_set

ParameterStyle = Literal["name_first", "type_first", "go"]
"""`x: T` (also `x`), `T x`, `x T`."""


SHELL: Final = "bash"
"""The family of shells, whose names and strings `shell_words.py` finds."""


class Declaration(Struct, frozen=True):
    """One form of variable declaration."""

    pattern: re.Pattern[str]
    """Either has the group `names`, and `type` and `value` if the form has them, or the group `parameters`, or `field` and
    `value` for a variable of the instance that is declared nowhere else. The text that is searched has a line break before its
    first line."""
    is_loop: bool = False
    """Whether the variables are the elements of the value."""
    mark: str = ""
    """If not empty, only lines that contain it are searched, one at a time."""


class LexicalRules(Struct, frozen=True, kw_only=True):
    """The lexical rules of one language."""

    family: str
    """Languages of one family see each other's definitions."""
    comments_and_strings: re.Pattern[str]
    """A match with the group `code` (a template, an f-string) is searched for `interpolation`."""
    interpolation: re.Pattern[str] | None = None
    """Code in a string: group 1, or if that did not match, the name after the match (`$name`)."""
    name: re.Pattern[str]
    """An identifier or keyword."""
    keywords: frozenset[str]
    soft: frozenset[str] = frozenset()
    """Keywords that are also names of variables, and that are followed by a dot or a subscript only then."""
    own: frozenset[str] = frozenset({"self"})
    """Words for the instance or its class, inside the class."""
    above: frozenset[str] = frozenset({"super"})
    """Words for the supertype, inside the class."""
    declarations: tuple[Declaration, ...] = ()
    parameters: ParameterStyle = "name_first"
    has_implicit_members: bool = False
    """Whether a bare name may be a member of the enclosing class."""
    has_messages: bool = False
    """Whether `[receiver name]` and `[receiver name:x and:y]` are calls of methods."""
    has_overloads: bool = False
    """Whether the arguments of a call choose between functions of one name."""
    block_argument: Literal["yes", "no", "perhaps"] = "no"
    """Whether a block after the parentheses of a call is one of its arguments."""
    is_strict: bool = False
    """Whether a bare name can only be defined in its file, imported, or from outside the repository."""
    keyword_argument: re.Pattern[str] | None = None
    """What follows the name of an argument, which does not refer to a definition in scope."""
    has_markup: bool = False
    """Whether `<Name` may be the tag of a component (JSX)."""
    built_in: frozenset[str] = frozenset()
    """Types, objects and modules that need no import."""
    defines_at_line_start: bool = False
    """Whether a name at the start of a line is being defined there (an equation of Haskell)."""


_NAME: Final = re.compile(r"[^\W\d]\w*")
_DOLLAR_NAME: Final = re.compile(r"(?:[^\W\d]|\$)[\w$]*")

_DOUBLE: Final = r'"(?:[^"\\\n]++|\\.)*+"?'
_DOUBLE_LINES: Final = r'"(?:[^"\\]++|\\.)*+"?'
_SINGLE: Final = r"'(?:[^'\\\n]++|\\.)*+'?"
_SINGLE_LINES: Final = r"'(?:[^'\\]++|\\.)*+'?"
_TRIPLE: Final = r'"""[^"\\]*+(?:(?:"{0,2}+\\.|"{1,2}+[^"\\])[^"\\]*+)*+"{0,3}+'
_TRIPLE_SINGLE: Final = _TRIPLE.replace('"', "'")
_RAW_TRIPLE: Final = r'"""[^"]*+(?:"{1,2}+[^"][^"]*+)*+"{0,3}+'
_CHARACTER: Final = r"'(?:[^'\\\n]|\\[^\n']+|\\')'"
_BLOCK: Final = r"/\*[^*]*+(?:\*++[^*/][^*]*+)*+\**+/?"
_SLASHES: Final = r"//[^\n]*+"
_HASH: Final = r"#[^\n]*+"
_DASHES: Final = r"--[^\n]*+"


def _any(*patterns: str) -> re.Pattern[str]:
    return re.compile("|".join(patterns), re.DOTALL)


def _after(words: str) -> str:
    """Returns a pattern for any of the words. It begins with a literal: the boundary before the word is checked last."""
    return "(?:" + "|".join(rf"{word}\b(?<=\b{word})" for word in words.split()) + ")"


def _declared(pattern: str, mark: str = "") -> Declaration:
    return Declaration(re.compile(pattern, re.MULTILINE), mark=mark)


def _loop(pattern: str, mark: str = "") -> Declaration:
    return Declaration(re.compile(pattern, re.MULTILINE), is_loop=True, mark=mark)


_LIST: Final = r"\w++(?>(?:[ \t]*+,[ \t]*+\*?\w++)*)"
"""A list of names."""

_COMMON: Final = "true false null if else for while do return break continue switch case default try catch finally throw new this"


# Begins with one character class, for which `re` is five times faster than for several alternatives.
_PYTHON_STRINGS: Final = (
    r"[\"'](?:(?P<code>(?<=\b[fF].)|(?<=\b[fF][rR].)|(?<=\b[rR][fF].)))?"
    rf"(?:(?<=\")(?:{_TRIPLE[1:]}|{_DOUBLE[1:]})|(?<=')(?:{_TRIPLE_SINGLE[1:]}|{_SINGLE[1:]}))"
)


def _python() -> LexicalRules:
    return LexicalRules(
        family="python",
        built_in=BUILT_IN_NAMES["python"],
        comments_and_strings=_any(_HASH, _PYTHON_STRINGS),
        interpolation=re.compile(r"(?<!\{)\{([^{}]++)\}"),
        name=re.compile(r"[^\W\d]\w*+(?![\"'])"),
        keywords=word_set(
            "False None True and as assert async await break class continue def del elif else except finally for from global if "
            "import in is lambda nonlocal not or pass raise return try while with yield"
        ),
        own=frozenset({"self", "cls"}),
        declarations=(
            _declared(
                rf"\n[ \t]*+(?P<names>{_LIST})"
                rf"(?:[ \t]*+:[ \t]*+(?P<type>[^=\n]++)(?<=[ \t])|[ \t]++)=(?!=)[ \t]*+(?P<value>[^\n]*+)"
            ),
            _declared(r"\n[ \t]*+(?P<names>\w++)=(?!=)(?P<value>[^\n]*+)(?<!,)$"),
            _declared(r"\n[ \t]++(?P<names>\w++)[ \t]*+:[ \t]*+(?P<type>[\w.\[\], |\"']+)$"),
            _loop(_after("for") + r"\s++(?P<names>[\w,\s()*]{1,200}?)\s++in\b(?P<value>[^\n]{0,200})"),
            _declared(_after("with except") + r"(?P<value>[^\n]{0,200}?)\bas[ \t]++(?P<names>\w++)"),
            _declared(r"(?<!\w)(?P<names>\w++)[ \t]*+:=(?P<value>[^\n]*+)", ":="),
            _declared(_after("lambda") + r"\s++(?P<names>[\w,\s*]{1,200}):"),
        ),
        is_strict=True,
        keyword_argument=re.compile(r"=(?!=)\S"),
    )


# A slash begins a regular expression after an operator or a line break, with up to 40 blanks between them.
_REGEX_LITERAL: Final = (
    r"/(?![/*])(?:" + "|".join(rf"(?<=[=(,:;!&|?{{}}\[\n][ \t]{{{blanks}}}/)" for blanks in range(41)) + ")"
    r"(?>(?:[^/\\\n\[]++|\\[^\n]|\[(?:\\[^\n]|[^\]\n\\]){0,200}+\])+)/"
)


def _ecmascript() -> LexicalRules:
    return LexicalRules(
        family="ecmascript",
        built_in=BUILT_IN_NAMES["ecmascript"],
        comments_and_strings=_any(_SLASHES, _BLOCK, r"`(?P<code>(?:[^`\\]++|\\.)*+`?)", _REGEX_LITERAL, _DOUBLE, _SINGLE),
        interpolation=re.compile(r"\$\{((?>(?:[^{}]++|\{[^{}]*+\})*))\}"),
        name=_DOLLAR_NAME,
        keywords=word_set(
            _COMMON,
            "var let const using function class extends implements interface type enum import export from as async await yield "
            "of in instanceof typeof void delete undefined super static public private protected readonly abstract declare "
            "namespace keyof infer is satisfies string number boolean any unknown never object symbol bigint",
        ),
        soft=word_set("any async declare from namespace number object of string symbol type using"),
        own=frozenset({"this"}),
        declarations=(
            _loop(_after("const let var") + r"\s++(?P<names>[\w$]++|\[[^\[\]]*+\])\s++of\b(?P<value>[^\n]{0,200})"),
            _declared(
                _after("const let var using") + r"\s++(?P<names>[\w$]++|\{[^{}=]*+\}|\[[^\[\]]*+\])"
                r"(?:\s*+:\s*+(?P<type>[^=;\n]{1,200}+))?\s*+(?:=(?!>)\s*+(?P<value>[^\n;]*+))?"
            ),
            _declared(r"\((?P<parameters>[^()]*+)\)(?:\s*+:[^=\n(]*+)?\s*+=>"),
            _declared(r"(?<![.\w$])(?P<names>[\w$]++)\s*+=>", "=>"),
            _declared(_after("catch") + r"\s*+\((?P<names>[\w$]++)"),
            _declared(_after("function") + r"\s*+[\w$]*+\s*+(?:<[^<>()]*+>)?\((?P<parameters>[^()]*+)\)"),
        ),
        is_strict=True,
        keyword_argument=re.compile(r":(?!:)"),
    )


def _ecmascript_with_markup() -> LexicalRules:
    return replace(_ecmascript(), has_markup=True)


def _go() -> LexicalRules:
    return LexicalRules(
        family="go",
        comments_and_strings=_any(_SLASHES, _BLOCK, r"`[^`]*+`?", _DOUBLE, _CHARACTER),
        name=_NAME,
        keywords=word_set(
            "break case chan const continue default defer else fallthrough for func go goto if import "
            "interface map package range "
            "return select struct switch type var nil true false iota"
        ),
        own=frozenset(),
        declarations=(
            _loop(rf"(?<!\w)(?P<names>{_LIST})[ \t]*+:=[ \t]*+range\b(?P<value>[^\n]*+)", "range"),
            _declared(rf"(?<!\w)(?P<names>{_LIST})[ \t]*+:=[ \t]*+(?P<value>[^\n]*+)", ":="),
            _declared(_after("var") + rf"[ \t]++(?P<names>{_LIST})[ \t]++(?P<type>[\w.*\[\]]+)"),
            _declared(_after("var") + r"[ \t]++(?P<names>\w++)[ \t]*+=[ \t]*+(?P<value>[^\n]*+)"),
            _declared(_after("func") + r"\((?P<parameters>[^()]*+)\)"),
        ),
        parameters="go",
        is_strict=True,
        keyword_argument=re.compile(r":(?!=)"),
    )


def _rust() -> LexicalRules:
    return LexicalRules(
        family="rust",
        built_in=BUILT_IN_NAMES["rust"],
        comments_and_strings=_any(
            _SLASHES,
            _BLOCK,
            r'br(?<=\bbr)(?P<marks>#*+)".*?(?:"(?P=marks)|\Z)',
            r'r(?<=\br)(?P<hashes>#*+)".*?(?:"(?P=hashes)|\Z)',
            *(_DOUBLE_LINES, "b" + _CHARACTER, _CHARACTER, r"'\w++"),
        ),
        name=_NAME,
        keywords=word_set(
            "as async await break const continue crate dyn else enum extern false fn for if impl in let loop match mod move mut "
            "pub ref return static struct super trait true type unsafe use where while bool char str "
            "u8 u16 u32 u64 u128 usize i8 "
            "i16 i32 i64 i128 isize f32 f64"
        ),
        own=frozenset({"self", "Self"}),
        above=frozenset(),
        declarations=(
            _declared(
                _after("let") + r"\s++(?:mut\s++)?(?P<names>(?>(?:\w++::)*)\w++\([^()]*+\)|\w++|\([^()]*+\))"
                r"(?:\s*+:\s*+(?P<type>[^=;\n]{1,200}+))?\s*+(?:=(?!=)\s*+(?P<value>[^\n;]*+))?"
            ),
            _loop(_after("for") + r"\s++(?P<names>\w++|\([^()]*+\))\s++in\b(?P<value>[^\n]{0,200})"),
            _declared(
                _after("match") + r"\s++(?P<value>[^\n;{}]{1,200})\{\s*+(?:(?:None|Err\([^()\n]*+\))\s*+=>[^\n]*\n\s*+)?"
                r"(?P<names>(?:Some|Ok)\([^()\n]*+\))\s*+(?:if\b[^\n]*?)?=>"
            ),
            _declared(r"\|(?P<parameters>[^|\n]*+)\|"),
        ),
        is_strict=True,
        keyword_argument=re.compile(r":(?!:)"),
    )


_C_WORDS: Final = (
    "void char short int long float double signed unsigned bool size_t ssize_t auto const volatile static extern register inline "
    "struct union enum typedef sizeof goto define include ifdef ifndef endif elif undef pragma error defined"
)
_C_DECLARATION: Final = _declared(
    r"[;{}(,\n][ \t]*+"
    r"(?:(?:const|static|final|unsigned|struct|volatile|constexpr|typename|register|inline|readonly|ref|out|in|using|await)\s\s*+)*+"
    r"(?P<type>[^\W\d][\w.]*+(?:::\w\w*+)*+(?:<[^;{}()]{0,200}?>)?(?>(?:\[[ \t]*+\])*))"
    r"(?:[ \t]++|[ \t]*+[*&]++[ \t]*+)(?:const[ \t]++)?"
    r"(?P<names>[^\W\d]\w*+)\s*+(?:=(?!=)\s*+(?P<value>[^\n;]*+)|(?=[;,){:\[(]))"
)


_C_LOOP: Final = _loop(
    _after("for foreach") + r"\s*+\((?:(?:const|final|await|ref|readonly)\s\s*+)*+(?:auto|var)\b[ \t]*+(?:const\b)?[ \t&*]*+"
    r"(?P<names>\w++)\s*+(?::|in\b)(?P<value>[^\n]{0,200})"
)
_C_FOREACH: Final = _declared(
    _after("foreach")
    + r"\s*+\((?!(?:var|await)\b)(?P<type>[^\W\d][\w.]*+(?:<[^;{}()]{0,200}?>)?[?\[\]]*+)\s++(?P<names>\w++)\s++in\b"
)


_CASE_OF_TYPE: Final = _declared(
    _after("case") + r"[ \t]++(?P<type>[A-Z][\w.]*+)(?:<[^<>()]*+>)?[ \t]++(?!when\b|and\b|or\b)(?P<names>[a-z_]\w*+)"
)


def _c() -> LexicalRules:
    return LexicalRules(
        family="c",
        built_in=BUILT_IN_NAMES["c"],
        comments_and_strings=_any(_SLASHES, _BLOCK, _DOUBLE, _CHARACTER),
        name=_NAME,
        keywords=word_set(_COMMON, _C_WORDS),
        own=frozenset(),
        above=frozenset(),
        declarations=(_C_DECLARATION,),
        parameters="type_first",
    )


def _objectivec() -> LexicalRules:
    return replace(
        _c(),
        keywords=_c().keywords
        | word_set(
            "self super nil Nil YES NO id instancetype BOOL SEL IMP interface implementation protocol property synthesize in end "
            "dynamic selector encode autoreleasepool synchronized optional required import pragma nonatomic strong weak retain "
            "copy assign readonly readwrite nullable nonnull __block __weak __strong"
        ),
        soft=word_set("end optional required property copy in"),
        own=frozenset({"self"}),
        above=frozenset({"super"}),
        has_messages=True,
        has_implicit_members=True,
    )


def _cpp() -> LexicalRules:
    return LexicalRules(
        family="c",
        has_overloads=True,
        built_in=BUILT_IN_NAMES["c"],
        comments_and_strings=_any(
            _SLASHES, _BLOCK, r'R"(?<=\bR")(?P<mark>[^\s()\\"]{0,16}+)\(.*?(?:\)(?P=mark)"|\Z)', _DOUBLE, _CHARACTER
        ),
        name=_NAME,
        keywords=word_set(
            _COMMON,
            _C_WORDS,
            "class template typename using namespace public "
            "private protected virtual override final noexcept explicit friend operator constexpr consteval constinit decltype "
            "nullptr delete const_cast static_cast dynamic_cast reinterpret_cast mutable requires concept co_await co_return",
        ),
        own=frozenset({"this"}),
        above=frozenset(),
        declarations=(
            _C_LOOP,
            _C_DECLARATION,
        ),
        parameters="type_first",
        has_implicit_members=True,
    )


def _java() -> LexicalRules:
    return LexicalRules(
        family="jvm",
        has_overloads=True,
        built_in=BUILT_IN_NAMES["java"],
        comments_and_strings=_any(_SLASHES, _BLOCK, _TRIPLE, _DOUBLE, _CHARACTER),
        name=_NAME,
        keywords=word_set(
            _COMMON,
            "abstract assert boolean byte char class const double enum extends final float goto implements import instanceof int "
            "interface long native package private protected public short static strictfp super synchronized throws transient "
            "void volatile var record sealed permits yield",
        ),
        soft=word_set("permits record sealed"),
        own=frozenset({"this"}),
        declarations=(
            _C_LOOP,
            _C_DECLARATION,
            _CASE_OF_TYPE,
            _declared(
                _after("instanceof")
                + r"[ \t]++(?:final[ \t]++)?(?P<type>[A-Z][\w.]*+)(?:<[^<>()]*+>)?[ \t]++(?P<names>[a-z_]\w*+)"
            ),
            _declared(r"\((?P<names>[\w\s,]*+)\)\s*+->"),
            _declared(r"(?<!\w)(?P<names>(?![A-Z])\w++)[ \t]*+->", "->"),
            _declared(_after("catch") + r"\s*+\((?:final\s++)?[\w.| ]+\s(?P<names>\w++)"),
        ),
        parameters="type_first",
        has_implicit_members=True,
        is_strict=True,
    )


def _csharp() -> LexicalRules:
    return LexicalRules(
        family="csharp",
        has_overloads=True,
        built_in=BUILT_IN_NAMES["csharp"],
        comments_and_strings=_any(
            _SLASHES,
            _BLOCK,
            r'@"(?:[^"]++|"")*+"?',
            _RAW_TRIPLE,
            rf"\$(?P<code>@?{_DOUBLE})",
            *(_DOUBLE, _CHARACTER),
        ),
        interpolation=re.compile(r"(?<!\{)\{([^{}]++)\}"),
        name=_NAME,
        keywords=word_set(
            _COMMON,
            "abstract as base bool byte char checked class const decimal delegate double enum event explicit extern fixed float "
            "foreach goto implicit in int interface internal is lock long namespace object operator out override params private "
            "protected public readonly ref sbyte sealed short sizeof stackalloc static string struct typeof uint ulong unchecked "
            "unsafe ushort using virtual void volatile var async await record get set init where yield",
        ),
        soft=word_set("async get init record set where"),
        own=frozenset({"this"}),
        above=frozenset({"base"}),
        declarations=(
            _C_FOREACH,
            _C_LOOP,
            _C_DECLARATION,
            _CASE_OF_TYPE,
            _declared(r"\((?P<names>[\w\s,]*+)\)\s*+=>"),
            _declared(r"(?<!\w)(?P<names>(?![A-Z])\w++)[ \t]*+=>", "=>"),
            _declared(_after("is") + r"[ \t]++(?P<type>[A-Z][\w.]*+)[ \t]++(?!and\b|or\b)(?P<names>[a-z_]\w*+)"),
        ),
        parameters="type_first",
        has_implicit_members=True,
    )


_VALUES: Final = _declared(
    _after("val var let") + r"\s++(?P<names>\w++|\([^()]*+\))(?:\s*+:\s*+(?P<type>[^=\n{]{1,200}+))?"
    r"[ \t]*+(?:=(?!=)\s*+(?P<value>[^\n;]*+)|$)"
)


def _kotlin() -> LexicalRules:
    return LexicalRules(
        family="jvm",
        has_overloads=True,
        block_argument="yes",
        built_in=BUILT_IN_NAMES["kotlin"],
        comments_and_strings=_any(_SLASHES, _BLOCK, rf'"(?P<code>{_RAW_TRIPLE[1:]}|{_DOUBLE[1:]})', _CHARACTER),
        interpolation=re.compile(r"\$(?:\{([^{}]*+)\}|(?=\w))"),
        name=_NAME,
        keywords=word_set(
            _COMMON,
            "as class companion const constructor data enum external fun import in infix init inline inner interface internal is "
            "it lateinit object open operator out override package private protected public reified sealed super suspend tailrec "
            "typealias val var vararg when where by get set",
        ),
        soft=word_set("by constructor data get infix inline inner internal open operator out sealed set vararg where"),
        own=frozenset({"this"}),
        declarations=(
            _VALUES,
            _declared(r"\{\s*+(?P<names>[\w\s,:]+)->"),
            _loop(_after("for") + r"\s*+\((?P<names>\w++|\([^()]*+\))\s++in\b(?P<value>[^\n]{0,200})"),
        ),
        has_implicit_members=True,
    )


def _scala() -> LexicalRules:
    return LexicalRules(
        family="jvm",
        has_overloads=True,
        block_argument="yes",
        built_in=BUILT_IN_NAMES["scala"],
        comments_and_strings=_any(
            rf"(?P<code>\b[sf](?:{_RAW_TRIPLE}|{_DOUBLE}))",
            *(_SLASHES, _BLOCK, _RAW_TRIPLE, _DOUBLE, _CHARACTER),
        ),
        interpolation=re.compile(r"\$\{([^{}]*+)\}"),
        name=_NAME,
        keywords=word_set(
            _COMMON,
            "abstract class def extends final forSome implicit import lazy match object override "
            "package private protected sealed "
            "super trait type val var with yield given using then enum",
        ),
        own=frozenset({"this"}),
        declarations=(
            _VALUES,
            _declared(r"(?<!\w)(?P<names>(?![A-Z])\w++)\)?[ \t]*+=>", "=>"),
            _declared(r"\((?P<parameters>[^()]*+)\)[ \t]*+=>", "=>"),
            _loop(r"(?<!\w)(?P<names>\w++)[ \t]*+<-(?P<value>[^\n]{0,200})", "<-"),
            _declared(_after("case") + r"[ \t]++(?P<names>\w++)[ \t]*+:[ \t]*+(?P<type>[A-Z][\w.\[\], ]*?)[ \t]*+(?:=>|if\b)"),
        ),
        has_implicit_members=True,
    )


def _swift() -> LexicalRules:
    return LexicalRules(
        family="swift",
        has_overloads=True,
        block_argument="perhaps",
        built_in=BUILT_IN_NAMES["swift"],
        comments_and_strings=_any(_SLASHES, _BLOCK, rf'"(?P<code>{_TRIPLE[1:]}|{_DOUBLE[1:]})'),
        interpolation=re.compile(r"\\\(([^()]*+(?:\([^()]*+\))?)\)"),
        name=_NAME,
        keywords=word_set(
            _COMMON,
            "associatedtype class deinit enum extension fileprivate func import init inout internal let open operator private "
            "precedencegroup protocol public rethrows static struct subscript typealias var defer fallthrough guard in repeat "
            "where as is nil super throws async await some any weak unowned lazy mutating override required convenience final",
        ),
        own=frozenset({"self", "Self"}),
        declarations=(
            _VALUES,
            _declared(r"\{\s*+(?:\[[^\[\]{}]*+\]\s*+)?\(?(?P<names>[\w\s,]{1,200})\)?\s++in\b"),
            _loop(_after("for") + r"\s++(?P<names>\w++|\([^()]*+\))\s++in\b(?P<value>[^\n]{0,200})"),
        ),
        has_implicit_members=True,
    )


def _ruby() -> LexicalRules:
    return LexicalRules(
        family="ruby",
        built_in=BUILT_IN_NAMES["ruby"],
        comments_and_strings=_any(
            r"=begin\b(?:(?<=\A=begin)|(?<=\n=begin)).*?(?:\n=end\b|\Z)",
            *(_HASH, rf'"(?P<code>{_DOUBLE_LINES[1:]})', _SINGLE_LINES),
        ),
        interpolation=re.compile(r"#\{([^{}]*+)\}"),
        name=re.compile(r"[^\W\d]\w*+[?!]?(?![=~])|[^\W\d]\w*+"),
        keywords=word_set(
            "BEGIN END alias and begin break case class def defined? do else elsif end ensure false "
            "for if in module next nil not "
            "or redo rescue retry return self super then true undef unless until when while yield require require_relative "
            "include extend attr_accessor attr_reader attr_writer private public protected"
        ),
        declarations=(
            _declared(
                r"\n[ \t]*+(?P<names>[a-z_]\w*+(?>(?:[ \t]*+,[ \t]*+\*?[a-z_]\w*+)*))"
                r"[ \t]*+(?:\|\|)?=(?![=~>])[ \t]*+(?P<value>[^\n]*+)"
            ),
            _declared(r"@(?P<field>[a-z_]\w*+)[ \t]*+(?:\|\|)?=(?![=~>])[ \t]*+(?P<value>[^\n]*+)", "@"),
            _declared(r"\|(?P<names>[^|\n]*+)\|"),
            _declared(_after("rescue") + r"[^\n]{0,200}?=>[ \t]*+(?P<names>\w++)"),
        ),
        has_implicit_members=True,
        keyword_argument=re.compile(r":(?!:)"),
    )


def _php() -> LexicalRules:
    return LexicalRules(
        family="php",
        built_in=BUILT_IN_NAMES["php"],
        comments_and_strings=_any(_SLASHES, _BLOCK, r"#(?!\[)[^\n]*+", _DOUBLE_LINES, _SINGLE_LINES),
        name=_DOLLAR_NAME,
        keywords=word_set(
            _COMMON,
            "abstract and array as callable class clone const declare echo elseif empty enddeclare endfor endforeach endif "
            "endswitch endwhile enum extends final fn foreach function global goto implements include include_once instanceof "
            "insteadof interface isset list match namespace or print private protected public readonly require require_once "
            "static trait unset use var xor yield int float string bool void mixed parent",
        ),
        own=frozenset({"$this", "self", "static"}),
        above=frozenset({"parent"}),
        declarations=(
            _declared(r"(?P<names>\$\w++)[ \t]*+=(?![=>])[ \t]*+(?P<value>[^\n;]*+)"),
            _declared(_after("as") + r"\s++(?:\$\w++\s*+=>\s*+)?(?P<names>\$\w++)"),
        ),
        parameters="type_first",
    )


def _lua() -> LexicalRules:
    return LexicalRules(
        family="lua",
        built_in=BUILT_IN_NAMES["lua"],
        comments_and_strings=_any(
            r"--\[(?P<long>=*+)\[.*?(?:\](?P=long)\]|\Z)",
            r"\[(?P<text>=*+)\[.*?(?:\](?P=text)\]|\Z)",
            *(_DASHES, _DOUBLE, _SINGLE),
        ),
        name=_NAME,
        keywords=word_set(
            "and break do else elseif end false for function goto if in local nil not or repeat return then true until while"
        ),
        declarations=(
            _declared(_after("local") + r"\s++(?P<names>\w++(?>(?:\s*+,\s*+\w++)*))(?:\s*+=\s*+(?P<value>[^\n]*+))?"),
            _declared(_after("for") + r"\s++(?P<names>[\w\s,]{1,200}?)(?:=|\bin\b)"),
            _declared(_after("function") + r"[\w.:\s]{0,200}+\((?P<names>[^()]*+)\)"),
        ),
    )


def _elixir() -> LexicalRules:
    return LexicalRules(
        family="elixir",
        built_in=BUILT_IN_NAMES["elixir"],
        comments_and_strings=_any(_HASH, rf'"(?P<code>{_TRIPLE[1:]}|{_DOUBLE_LINES[1:]})', _SINGLE),
        interpolation=re.compile(r"#\{([^{}]*+)\}"),
        name=re.compile(r"[^\W\d]\w*+[?!]?"),
        keywords=word_set(
            "after and case catch cond do else end false fn for if in nil not or quote raise receive rescue true try unless "
            "unquote when with alias import require use def defp defmodule defmacro defstruct"
        ),
        own=frozenset({"__MODULE__"}),
        declarations=(
            _declared(r"\n[ \t]*+(?P<names>[a-z_]\w*+)[ \t]*+=(?![=~>])"),
            _declared(r"(?<!\w)(?P<names>[a-z_]\w*+)[ \t]*+<-", "<-"),
            _declared(_after("fn") + r"\s++(?P<names>[\w\s,]{1,200})->"),
        ),
        keyword_argument=re.compile(r":(?!:)"),
    )


def _haskell() -> LexicalRules:
    return LexicalRules(
        family="haskell",
        defines_at_line_start=True,
        comments_and_strings=_any(r"\{-.*?(?:-\}|\Z)", r"--(?![!#$%&*+./<=>?@\\^|~:])[^\n]*+", _DOUBLE_LINES, _CHARACTER),
        name=re.compile(r"[^\W\d][\w']*+"),
        keywords=word_set(
            "case class data default deriving do else foreign forall if import in infix infixl infixr "
            "instance let module newtype "
            "of then type where qualified hiding as"
        ),
        own=frozenset(),
        declarations=(
            _declared(r"(?<![\w'])(?P<names>[a-z_][\w']*+)[ \t]*+<-", "<-"),
            _declared(r"\\(?P<names>[a-z_][\w' ]*+)\s*+->"),
        ),
    )


def _bash() -> LexicalRules:
    return LexicalRules(
        family=SHELL,
        comments_and_strings=_any(_HASH),
        name=re.compile(r"[^\W\d][\w:.-]*+"),
        keywords=frozenset(),
        own=frozenset(),
        declarations=(_declared(_after("local declare typeset") + r"(?P<names>(?>(?:[ \t]++(?:-\w++|\w++(?:\+?=)?))*))"),),
    )


def _zig() -> LexicalRules:
    return LexicalRules(
        family="zig",
        built_in=BUILT_IN_NAMES["zig"],
        comments_and_strings=_any(_SLASHES, r"\\\\[^\n]*+", _DOUBLE, _CHARACTER),
        name=_NAME,
        keywords=word_set(
            "addrspace align allowzero and anyframe anytype asm break callconv catch comptime const continue defer else enum "
            "errdefer error export extern fn for if inline linksection noalias noinline nosuspend opaque or orelse packed pub "
            "resume return struct suspend switch test threadlocal try union unreachable usingnamespace var volatile while true "
            "false null undefined void"
        ),
        own=frozenset(),
        declarations=(
            _declared(
                _after("const var") + r"\s++(?P<names>\w++)(?:\s*+:\s*+(?P<type>[^=;\n]{1,200}+))?\s*+=\s*+(?P<value>[^\n;]*+)"
            ),
            _declared(r"\|(?P<names>[^|\n]*+)\|"),
        ),
        is_strict=True,
        keyword_argument=re.compile(r":(?!:)"),
    )


def _sql() -> LexicalRules:
    return LexicalRules(
        family="sql",
        comments_and_strings=_any(_DASHES, _BLOCK, r"'(?:[^']++|'')*+'?"),
        name=_NAME,
        keywords=word_set(
            "select from where and or not in is null as on join left right inner outer group by order insert into values update "
            "set delete create table view index function procedure begin end if then else case when primary key references "
            "foreign constraint default unique int integer text varchar boolean timestamp"
        ),
        own=frozenset(),
    )


_BUILDERS: Final[Mapping[str, Callable[[], LexicalRules]]] = {
    "astro": _ecmascript_with_markup,
    "bash": _bash,
    "c": _c,
    "cpp": _cpp,
    "csharp": _csharp,
    "elixir": _elixir,
    "go": _go,
    "haskell": _haskell,
    "java": _java,
    "javascript": _ecmascript_with_markup,
    "jupyter": _python,
    "kotlin": _kotlin,
    "lua": _lua,
    "objectivec": _objectivec,
    "php": _php,
    "python": _python,
    "ruby": _ruby,
    "rust": _rust,
    "scala": _scala,
    "sql": _sql,
    "svelte": _ecmascript_with_markup,
    "swift": _swift,
    "tsx": _ecmascript_with_markup,
    "typescript": _ecmascript,
    "vue": _ecmascript_with_markup,
    "zig": _zig,
}


@cache
def _built(builder: Callable[[], LexicalRules]) -> LexicalRules:
    return builder()


class _LexicalRulesByLanguage(Mapping[str, LexicalRules]):
    """The lexical rules by language, each compiled on first use: compiling all takes 50 ms."""

    def __getitem__(self, language: str) -> LexicalRules:
        return _built(_BUILDERS[language])

    def __contains__(self, language: object) -> bool:
        return language in _BUILDERS

    def __iter__(self) -> Iterator[str]:
        return iter(_BUILDERS)

    def __len__(self) -> int:
        return len(_BUILDERS)


LEXICAL_RULES: Final[Mapping[str, LexicalRules]] = _LexicalRulesByLanguage()
"""By language."""
