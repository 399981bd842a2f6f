"""What the uses of names look like in JavaScript, TypeScript and TSX."""

import re
from functools import cache
from typing import Final

from msgspec.structs import replace

from codecompass.languages.uses.lexical_rules import Cast, LexicalRules, SupertypeForms, TypeConditions
from codecompass.languages.uses.patterns import (
    BLOCK,
    COMMON_KEYWORDS,
    DOLLAR_NAME,
    DOUBLE,
    SINGLE,
    SLASHES,
    WRITTEN_TYPE,
    after,
    any_of,
    cast_after,
    declared,
    loop,
)
from codecompass.languages.words import word_set

_BEFORE_A_VALUE: Final = sorted(word_set("await case delete do else in instanceof of return throw typeof void yield"))

# A slash begins a regular expression after an operator or a line break, with up to 40 blanks between them, after an arrow, or
# after a word behind which a value comes.
_REGULAR_EXPRESSION: Final = (
    r"/(?![/*])(?:"
    + "|".join(
        [
            *(rf"(?<=[=(,:;!&|?{{}}\[\n][ \t]{{{blanks}}}/)" for blanks in range(41)),
            *("(?<==>/)", "(?<==> /)", *(rf"(?<=[^\w$.]{word} /)" for word in _BEFORE_A_VALUE)),
        ]
    )
    + ")"
    r"(?>(?:[^/\\\n\[]++|\\[^\n]|\[(?:\\[^\n]|[^\]\n\\]){0,200}+\])+)/"
)

# The heads of thousands of types may overlap, so a pattern may have only one long alternative at each position that it tries.
_TYPE_ARGUMENTS: Final = r"<(?>(?:[^<>=]++|=>?|<(?>(?:[^<>=]++|=>?|<[^<>]*+>)*)>)*)>"


@cache
def script_rules() -> LexicalRules:
    """Returns what uses in JavaScript and TSX look like."""
    return LexicalRules(
        family="ecmascript",
        built_in=word_set(
            "AbortController AbortSignal AggregateError Array ArrayBuffer Atomics BigInt BigInt64Array BigUint64Array Blob "
            "Boolean Buffer DataView Date Document Element Error EvalError Event EventTarget File FinalizationRegistry "
            "Float32Array Float64Array FormData Function Headers HTMLElement Infinity Int16Array Int32Array Int8Array Intl "
            "Iterator JSON Map Math NaN Node Number Object Promise Proxy RangeError ReferenceError Reflect RegExp Request "
            "Response Set SharedArrayBuffer String Symbol SyntaxError TextDecoder TextEncoder TypeError Uint16Array Uint32Array "
            "Uint8Array Uint8ClampedArray URIError URL URLSearchParams WeakMap WeakRef WeakSet WebAssembly XMLHttpRequest "
            "console crypto document globalThis history localStorage location navigator performance process sessionStorage "
            "window"
        ),
        comments_and_strings=any_of(SLASHES, BLOCK, r"`(?P<code>(?:[^`\\]++|\\.)*+`?)", _REGULAR_EXPRESSION, DOUBLE, SINGLE),
        interpolation=re.compile(r"\$\{((?>(?:[^{}]++|\{[^{}]*+\})*))\}"),
        name=DOLLAR_NAME,
        keywords=word_set(
            COMMON_KEYWORDS,
            "var let const using function class extends implements interface type enum import export from as async await yield "
            "of in instanceof typeof void delete undefined super static public private protected readonly abstract declare "
            "namespace keyof infer is satisfies string number boolean any unknown never object symbol bigint",
        ),
        soft=word_set("any async declare from namespace number object of string symbol type using"),
        own=frozenset({"this"}),
        declarations=(
            loop(after("const let var") + r"\s++(?P<names>[\w$]++|\[[^\[\]]*+\])\s++of\b(?P<value>[^\n]{0,200})"),
            declared(
                after("const let var using") + r"\s++(?P<names>[\w$]++|\{[^{}=]*+\}|\[[^\[\]]*+\])"
                r"(?:\s*+:\s*+(?P<type>[^=;\n]{1,200}+))?\s*+(?:=(?!>)\s*+(?P<value>[^\n;]*+))?"
            ),
            declared(r"\((?P<parameters>[^()]*+)\)(?:\s*+:[^=\n(]*+)?\s*+=>"),
            declared(r"(?<![.\w$])(?P<names>[\w$]++)\s*+=>", "=>"),
            declared(after("catch") + r"\s*+\((?P<names>[\w$]++)"),
            declared(after("function") + r"\s*+[\w$]*+\s*+(?:<[^<>()]*+>)?\((?P<parameters>[^()]*+)\)"),
        ),
        keyword_argument=re.compile(r":(?!:)"),
        has_markup=True,
        sets_members=True,
        binds_members=True,
        casts=(cast_after(),),
        has_lists=True,
        supertypes=SupertypeForms(
            head=re.compile(
                rf"[\w$]++(?>\s*+{_TYPE_ARGUMENTS}\s*+|\s++|\s*+<.*?\s)(?:extends|implements|with)\b(?P<bases>[^{{;]*+)",
                re.DOTALL,
            )
        ),
        conditions=TypeConditions(
            mark="instanceof",
            pattern=re.compile(
                r"(?<![\w$.])(?P<value>[\w$]++(?>(?:\.[\w$]++)*))\s++instanceof\s++(?P<type>[\w$]++(?>(?:\.[\w$]++)*))"
            ),
        ),
    )


@cache
def typescript_rules() -> LexicalRules:
    """Returns what uses in TypeScript look like, which has no markup but casts `<T>x`."""
    cast = Cast("<", re.compile(rf"\s*+<{WRITTEN_TYPE}>\s*+(?=[\w$\[{{]|\((?![^()]*+\)\s*+(?::[^=]*+)?=>))"))
    rules = script_rules()
    return replace(rules, has_markup=False, casts=(cast, *rules.casts))
