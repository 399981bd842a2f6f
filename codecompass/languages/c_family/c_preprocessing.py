"""Prepares C and C++ source for parsing: blanks conditionals and macros that would break the tree."""

import re
from typing import Final

from codecompass import lazy
from codecompass.languages.walk.preparation import blank, masked, resolve_conditionals

_CANDIDATE: Final = lazy.pattern(
    # The look-behind comes second so that the search can skip to the next capital letter.
    rb"([A-Z_](?<![\w.\">:][A-Z_])(?:[A-Z0-9_]{2,}+|_(?!attribute|declspec|asm|builtin|typeof|extension)[a-z]\w++))(?!\w)"
    rb"\s*+(?=[A-Za-z_~}(;{=:*\[-])"
)
_PARENTHESES: Final = lazy.pattern(rb"[()]")
_MAX_DISTANCE: Final = 2000
"""Bytes within which the parentheses of a macro or parameter list must close."""

_BYTES_AFTER: Final = 300
_MIN_WORDS_AFTER: Final = 3
"""Bytes read after a macro, and the words that they must hold."""

_MAX_PARENTHESES: Final = 128
_BYTES_BEFORE: Final = 120
"""Bytes read before a macro first; nearly always enough."""

_MAX_WORD: Final = 80
_ONLY_WORDS: Final = bytes(byte if (chr(byte).isalnum() and byte < 128) or byte == 0x5F else 0x20 for byte in range(256))
_NEXT_WORD: Final = lazy.pattern(rb"\s*([A-Za-z_]\w*)")
_ANGLES: Final = rb"<(?>(?:[^<>;{}]++|<(?>(?:[^<>;{}]++|<[^<>;{}]*+>)*)>)*)>"
_TYPE_AND_NAME: Final = lazy.pattern(
    rb"\s*+(?:struct\b|union\b|enum\b|::)?\s*+[A-Za-z_]\w*+(?>(?:::\w++|\s*+" + _ANGLES + rb")*)"
    rb"[\s*&](?:[\s*&]|const\b|volatile\b)*+(?:[A-Za-z_~]|\(\s*\*)"
)
_MACRO_RUN: Final = lazy.pattern(rb"(?:_*[A-Z][A-Z0-9_]{2,}\b\s*(?:\([^()]*\)\s*)?)+")
_PLAIN_MACRO_RUN: Final = lazy.pattern(rb"(?>(?:_*+[A-Z][A-Z0-9_]{2,}+\b\s*+)*)")
_TYPE_MACRO: Final = lazy.pattern(rb"[\s*&]+[A-Za-z_]\w*\s*[;=\[]")
_POINTER_TO_FUNCTION: Final = lazy.pattern(rb"\(\s*\*\s*\w+\s*\)$")
_REFERENCE_QUALIFIER: Final = lazy.pattern(rb"\)\s*(?:(?:const|volatile)\s*)*&&?$")
_INITIALISERS: Final = lazy.pattern(rb"\s*(?:noexcept\b\s*)?:(?!:)")
_CLASS_HEAD: Final = lazy.pattern(
    rb"(?>(?:\s*+\[\[[^\[\]]*+\]\]|\s*+(?:[A-Z_][A-Z0-9_]*+|alignas)\s*+\([^(){};]*+\)"
    rb"|\s*+(?!final\b)[A-Za-z_]\w*+(?>(?:::\w++|\s*+" + _ANGLES + rb")*))+)\s*+(?:final\s*+)?(?P<next>\{|:(?!:)|;)"
)

_POINTER_QUALIFIER: Final = lazy.pattern(rb"[*&]\s*+([A-Za-z_]\w++)\s++(?=[A-Za-z_])")
_NO_QUALIFIERS: Final = frozenset(
    b"const volatile restrict __restrict __restrict__ _Atomic operator sizeof alignof new delete not and or typename co_await"
    b" compl bitand bitor xor and_eq or_eq not_eq noexcept override final requires throw".split()
)
"""Words that may be between a `*` and another word; any other word there is a macro (`char * nullable name`)."""

_TYPE_ARGUMENT: Final = lazy.pattern(
    rb"\(\s*(?:const\s|(?:unsigned|signed|void|int|char|bool|short|long|float|double|u?int\d+_t|size_t)\b|[\w:]+\s*<)[\w:<>\s*&]*,"
    rb"|[(,]\s*(?:const\s+)?(?:unsigned|signed|void|int|char|bool|short|long|float|double|u?int\d+_t|size_t)[\s*&]*[,)]"
)
"""`FLAG(int, name, 1);`, `BENCH(Sort, int8_t);`: only macros take a type as an argument."""

_DECLARATION_WORDS: Final = frozenset(
    b"class struct union enum typename template static inline extern const constexpr consteval constinit virtual explicit"
    b" friend typedef using namespace void int char bool unsigned signed long short float double auto volatile register"
    b" mutable operator __attribute__ __declspec".split()
)
_SPECIFIERS: Final = frozenset(
    b"static inline extern const constexpr consteval constinit virtual explicit friend typedef volatile register mutable"
    b" unsigned signed long short typename".split()
)
_STATEMENT_WORDS: Final = frozenset(
    b"return case goto else do new delete throw sizeof alignof using operator if while for switch catch co_return co_await"
    b" co_yield default public private protected not and or break continue decltype defined".split()
)
_CLASS_KEYS: Final = frozenset((b"class", b"struct", b"union", b"enum"))
_PRIMITIVES: Final = frozenset(b"void int char bool unsigned signed long short float double auto".split())
_NO_TYPES: Final = _SPECIFIERS | _STATEMENT_WORDS | _CLASS_KEYS - _PRIMITIVES
_AFTER_PARAMETERS: Final = frozenset(b"const override noexcept final volatile try requires".split())


def blank_macros(text: bytearray, code: bytearray) -> None:
    """Blanks in `text`, and in `code` (`text` masked, without directives), the macros that break the tree."""
    for match in _CANDIDATE.finditer(bytes(code)):
        start, end = match.start(), match.end()
        has_arguments = code[end : end + 1] == b"("
        # Most words in capitals are in expressions: after an operator a word is no such macro.
        before = code[max(0, start - 1) : start]
        if before in b" \t" and start > 1:
            before = code[start - 2 : start - 1]
        if before and before in b"=+-!|,?<%^~/.":
            continue
        if has_arguments:
            end = _closing(code, end)
            if end < 0:
                continue
        if code[end : end + 1] == b":" and code[end + 1 : end + 2] != b":":
            # `PRIVATE_UNLESS_TESTED:` in a class; blanking a label in a function does no harm.
            if bytes(code[max(0, start - _BYTES_BEFORE) : start]).rstrip()[-1:] in (b";", b"{", b"}"):
                blank(text, start, end + 1)
                blank(code, start, end + 1)
        elif has_arguments and _TYPE_MACRO.match(code, end) and _begins_declaration(code, start):
            # `typedef MACRO(type) name;`: without its arguments the macro is parsed as a type.
            blank(text, match.end(1), end)
            blank(code, match.end(1), end)
        elif _breaks_grammar(code, start, end, has_arguments):
            # Without arguments not up to `end`: blanks in `code` may be a directive in `text`.
            last = end if has_arguments else match.end(1)
            blank(text, start, last)
            blank(code, start, last)

    for match in _POINTER_QUALIFIER.finditer(bytes(code)):
        if match[1] not in _NO_QUALIFIERS:
            blank(text, match.start(1), match.end(1))
            blank(code, match.start(1), match.end(1))


def _begins_declaration(code: bytearray, start: int) -> bool:
    before = bytes(code[max(0, start - _BYTES_BEFORE) : start]).rstrip()
    return before[-1:] in (b";", b"{", b"}") or _last_word(before) in _SPECIFIERS


def _breaks_grammar(code: bytearray, start: int, end: int, has_arguments: bool) -> bool:
    before = (
        bytes(code[max(0, start - _BYTES_BEFORE) : start]).rstrip() or bytes(code[max(0, start - _MAX_DISTANCE) : start]).rstrip()
    )
    last = before[-1:]
    following = bytes(code[end : end + _BYTES_AFTER]).lstrip()
    if len(following.split(None, 2)) < _MIN_WORDS_AFTER:
        # A long comment follows.
        following = bytes(code[end : end + 10 * _BYTES_AFTER]).lstrip()
    first = following[:1]
    word = _NEXT_WORD.match(following)
    if last == b"" or last in b';{}:>"]':
        if has_arguments and first == b";" and last in b";{}" and _TYPE_ARGUMENT.search(code, start, end):
            return True
        if last == b"]" and not before.endswith(b"]]"):
            return has_arguments and first in b";="
        return _precedes_declaration(code, start, end, following, has_arguments, last)
    if last == b")":
        return _follows_parameters(code, start, following)
    if last == b"(":
        return not has_arguments and re.match(rb"\*\s*\w+\s*(?:\[\w*\]\s*)?\)\s*\(", following) is not None
    if last in b"*&":
        if first in b"{;=":
            return _REFERENCE_QUALIFIER.search(before) is not None
        return word is not None and not has_arguments
    previous = _last_word(before)
    if not previous or previous in _STATEMENT_WORDS:
        return False
    if previous in _CLASS_KEYS:
        head = _CLASS_HEAD.match(following)
        return head is not None and not following.startswith(b"final") and (head["next"] != b";" or previous == b"class")
    if previous == b"namespace":
        return word is not None
    if previous in _AFTER_PARAMETERS and first in b"{;=:-":
        return previous != b"const" or before[: -len(previous)].rstrip().endswith(b")")
    if word is not None:
        if previous == b"explicit":
            return True
        if previous in _SPECIFIERS:
            return word[1] in _DECLARATION_WORDS or _TYPE_AND_NAME.match(following) is not None
        # With arguments it may be the function itself: `void FUNCTION(int) ATTRIBUTE;`
        return not has_arguments or not (word[1].isupper() or word[1] in _AFTER_PARAMETERS or word[1].startswith(b"__"))
    if first == b"" or first not in (b";={,})" if has_arguments else b";={"):
        return False
    return _follows_name(before, previous, first)


def _precedes_declaration(code: bytearray, start: int, end: int, following: bytes, has_arguments: bool, last: bytes) -> bool:
    """Whether a macro at the beginning of a declaration or statement is to be blanked."""
    first = following[:1]
    if not has_arguments and last in b";{" and last != b"" and _ends_with_macros(following):
        return last == b";" or _opens_fields(code, start)
    if first == b"}":
        return last in b";}" and last != b""
    if first == b"~" or following.startswith(b"[["):
        return True
    word = _NEXT_WORD.match(following)
    if word is None:
        return False
    if word[1] in _DECLARATION_WORDS or _TYPE_AND_NAME.match(following) is not None:
        return True
    if not has_arguments and following[word.end() :].lstrip()[:1] == b"(" and _is_constructor(code, end + word.end(1)):
        return True
    run = _MACRO_RUN.match(following)
    if run is not None:
        behind = _NEXT_WORD.match(following, run.end())
        if behind is not None and (behind[1] in _DECLARATION_WORDS or _TYPE_AND_NAME.match(following, run.end()) is not None):
            return True
    is_alone = _is_alone(code, start, end)
    if has_arguments or (is_alone and word[1] in _STATEMENT_WORDS):
        return is_alone
    return is_alone and code[end - 1 : end].isspace() and code.count(b"\n", start, end) > 1


_OPENS_FIELDS: Final = lazy.pattern(rb"\b(?:struct|union|class)\b[^;{}()=]*\{\s*$")


def _ends_with_macros(following: bytes) -> bool:
    """Whether nothing but macros without arguments precedes the brace that closes the block."""
    run = _PLAIN_MACRO_RUN.match(following)
    return run is not None and following[run.end() : run.end() + 1] == b"}"


def _opens_fields(code: bytearray, start: int) -> bool:
    """Whether the brace before `start` opens the fields of a type."""
    return _OPENS_FIELDS.search(bytes(code[max(0, start - _BYTES_BEFORE) : start])) is not None


def _is_constructor(code: bytearray, start: int) -> bool:
    """Whether a list of member initialisers follows the parameter list after `start`."""
    opening = code.find(b"(", start)
    close = -1 if opening < 0 else _closing(code, opening)
    return close >= 0 and _INITIALISERS.match(code, close) is not None


def _is_alone(code: bytearray, start: int, end: int) -> bool:
    line_start = code.rfind(b"\n", 0, start) + 1
    line_end = code.find(b"\n", start)
    tail = code[end : code.find(b"\n", end)] if code.find(b"\n", end) >= 0 else code[end:]
    return not code[line_start:start].strip() and (line_end < end or not tail.strip())


def _follows_parameters(code: bytearray, start: int, following: bytes) -> bool:
    """Whether a macro after `)` is an attribute of a function: unless the parentheses belong to a statement."""
    first = following[:1]
    word = _NEXT_WORD.match(following)
    if first not in b"{;=:-" and not (word is not None and (word[1] in _AFTER_PARAMETERS or word[1].isupper())):
        return False
    for distance in (_BYTES_BEFORE, _MAX_DISTANCE):
        is_function = _owner_takes_attributes(
            bytes(code[max(0, start - distance) : start]).rstrip(), first, distance < min(start, _MAX_DISTANCE)
        )
        if is_function is not None:
            return is_function
    return False


def _owner_takes_attributes(close: bytes, first: bytes, is_cut: bool) -> bool | None:
    """Whether the last parentheses in `close` belong to a function; None if `close` does not reach back far enough."""
    depth = 0
    for match in reversed(list(_PARENTHESES.finditer(close))):
        depth += 1 if match[0] == b")" else -1
        if depth == 0:
            if is_cut and match.start() < _MAX_WORD:
                return None
            before = close[: match.start()].rstrip()
            owner = _last_word(before)
            if not owner:
                is_pointer = _POINTER_TO_FUNCTION.search(before) is not None
                return is_pointer or before[-1:] in (b"]", b">") or (before[-1:] == b")" and first == b"{")
            return owner not in _STATEMENT_WORDS and not (owner.isupper() and first == b";")
    return None


def _follows_name(before: bytes, previous: bytes, first: bytes) -> bool:
    """Whether a macro follows the declared name, as in `Type name MACRO(x);`: the last of three words in a row is not a name."""
    if previous in _SPECIFIERS or previous in _PRIMITIVES:
        return False
    head = before[: -len(previous)].rstrip()
    if head[-1:] in (b">", b"*", b"&"):
        return True
    if head[-1:] in (b",", b"{") and first in b"=,}":
        return True
    owner = _last_word(head)
    return owner != b"" and owner not in _NO_TYPES


def _last_word(text: bytes) -> bytes:
    """Returns the word at the end of `text`; empty if it ends with something else."""
    return text[-_MAX_WORD:].translate(_ONLY_WORDS).rpartition(b" ")[2]


def _closing(code: bytearray, start: int) -> int:
    """Returns the offset after the parenthesis that closes the one at `start`; -1 if it is more than _MAX_DISTANCE away."""
    depth = 0
    for count, match in enumerate(_PARENTHESES.finditer(code, start, min(len(code), start + _MAX_DISTANCE))):
        depth += 1 if match[0] == b"(" else -1
        if depth == 0:
            return match.end()
        if count == _MAX_PARENTHESES:
            break
    return -1


_DEFAULTED: Final = lazy.pattern(rb"=\s*(?:default|delete)\s*(?=;)")


def prepare(source: bytes) -> bytes:
    """Returns `source`, equally long, with blanks in place of what the grammars cannot parse."""
    text, _ = _prepared(source)
    return bytes(text)


def prepare_cpp(source: bytes) -> bytes:
    """Does the same as `prepare`, and turns `= default` into an empty body, because outside classes it is parsed as a value."""
    text, code = _prepared(source)
    if b"default" in code or b"delete" in code:
        for match in _DEFAULTED.finditer(bytes(code)):
            length = match.end() - match.start()
            text[match.start() : match.end()] = (
                b"{}".ljust(length) if b"\n" not in match[0] else text[match.start() : match.end()]
            )
    return bytes(text)


def _prepared(source: bytes) -> tuple[bytearray, bytearray]:
    code = masked(source)
    text = bytearray(source)
    resolve_conditionals(text, code)
    blank_macros(text, code)
    return text, code
