"""Assembly in its dialects: labels, procedures, macros, constants, data and structures; included files."""

import re
from collections.abc import Iterator
from typing import Final

from codecompass import lazy
from codecompass.languages.display import Display
from codecompass.languages.imports.plain import plain_imports
from codecompass.languages.language import Language
from codecompass.languages.records import Import, SymbolKind
from codecompass.languages.uses.lexical_rules import LexicalRules
from codecompass.languages.uses.patterns import BLOCK, DOUBLE, SINGLE, SLASHES, any_of
from codecompass.languages.walk.text_rules import Entry, hidden
from codecompass.languages.words import word_set

_BLOCKS: Final = any_of(BLOCK, DOUBLE)
_NAME: Final = r"[A-Za-z_?$][\w?@$.]*+"
_DATA: Final = (
    r"(?:d[bwdqtoyz]|res[bwdqtoyz]|times|\.(?:asci[iz]|byte|[248]byte|word|h?word|short|int|long|quad|octa|dword|float|double|single"
    r"|space|skip|zero|fill|string\d*|asciz))\b"
)
_TYPED: Final = r"(?:s?byte|s?word|s?dword|[qt]byte|qword|real[48]|real10)\b"
_HEAD: Final = lazy.pattern(
    rf"(?im)^[ \t]*+(?:(?P<var>{_NAME}):(?=[ \t]*+{_DATA}|[ \t]*+\n\s*+{_DATA})|(?P<fn>{_NAME}):(?!=)"
    rf"|(?P<fn2>{_NAME})[ \t]++proc\b|(?P<struct>{_NAME})[ \t]++struct?\b|struc[ \t]++(?P<struct2>\w++)"
    rf"|\.?(?P<field>{_NAME}):?[ \t]++{_TYPED}|(?P<var2>(?!times\b){_NAME})[ \t]++(?:times[ \t]++\S++[ \t]++)?d[bwdqt]\b"
    rf"|(?P<var3>{_NAME})[ \t]++res[bwdqt]\b|\.l?comm[ \t]++(?P<var4>{_NAME})|common[ \t]++(?P<var5>\w++)[ \t]++\d"
    r"|%[ix]*define[ \t]++(?P<macro>\w++)(?=\()|%(?:[ix]*define|i?assign)[ \t]++(?P<const>\w++)"
    r"|\#[ \t]*+define[ \t]++(?P<macro2>\w++)(?=\()|\#[ \t]*+define[ \t]++(?P<const2>\w++)"
    rf"|\.(?:equ|equiv|eqv|set|thumb_set)[ \t]++(?P<const3>{_NAME})|(?P<const4>{_NAME})[ \t]*+(?:\bequ\b|==?(?!=))"
    r"|(?:\.macro|%[ir]*macro)[ \t]++(?P<macro3>\w++)|(?P<macro4>\w++)[ \t]++macro\b"
    r"|(?:ENTRY|GLOBAL_FUNC|WEAK|SYM_(?:FUNC|CODE|DATA|INNER_LABEL|TYPED_FUNC)(?!\w*END)\w*+)\([ \t]*+(?P<fn3>\w++)"
    r"|[%#.]?include[ \t]++[\"'<]?(?P<include>[\w./\-]++))"
)
_FIELD: Final = lazy.pattern(rf"(?im)^[ \t]*+\.(\w++):?[ \t]++(?:res|d)[bwdqtoyz]\b|^[ \t]*+({_NAME})[ \t]++{_TYPED}")
_ENDS: Final = {
    "macro": lazy.pattern(r"(?im)^[ \t]*+(?:\.endm|%endm(?:acro)?|endm)\b"),
    "struct": lazy.pattern(r"(?im)^[ \t]*+(?:endstruc|(?:\w++[ \t]++)?ends)\b"),
    "fn": lazy.pattern(r"(?im)^[ \t]*+\w++[ \t]++endp\b"),
}
_BODIES: Final = frozenset({"macro3", "macro4", "struct", "struct2", "fn2"})
"""Groups of what ends at a word of its own."""

_SIGNATURE: Final = lazy.pattern(r"(?>(?:\"[^\"\n]*+\"|'[^'\n]*+'|[^;\"'\n/]|/(?![/*]))*)")
_MARKS: Final = (b";", b"//", b"/*", b"@", b"# ")


def outline(text: str, _path: str) -> Iterator[Entry | Import]:
    """Yields what is named at the beginning of lines; local labels, which begin with a dot or a digit, are left out."""
    code = hidden(_BLOCKS, text)
    is_masm = _ENDS["fn"].search(code) is not None or ".model" in code.lower()
    nearest: dict[str, int] = {}
    end_of_struct = line = at = 0
    for match in _HEAD.finditer(code):
        group = match.lastgroup or ""
        start, stop = match.span(group)
        if group == "include":
            line, at = line + text.count("\n", at, start), start
            yield Import(line + 1, line + 1, text[start:stop])
            continue
        kind = group.rstrip("12345")
        if (kind == "field" and not is_masm) or start < end_of_struct:
            continue
        end = match.end()
        if group in _BODIES:
            if nearest.get(kind, -1) < end:
                closer = _ENDS[kind].search(code, end)
                nearest[kind] = end if closer is None else closer.end()
            end = nearest[kind]
        begin = code.rfind("\n", 0, start) + 1
        found = _SIGNATURE.match(text, begin)
        signature = "" if found is None else re.split(r"[ \t][#@][ \t]", found[0], maxsplit=1)[0].strip().rstrip(":")
        own: SymbolKind = "var" if kind == "field" else kind  # type: ignore[assignment]
        yield Entry(text[start:stop], own, start, end, signature=signature)
        if kind == "struct":
            end_of_struct = end
            for field in _FIELD.finditer(code, match.end(), end):
                number = field.lastindex or 1
                yield Entry(field[number], "field", field.start(number), field.end())


def lexical_rules() -> LexicalRules:
    """Returns what its uses look like."""
    return LexicalRules(
        family="assembly",
        comments_and_strings=any_of(
            r";[^\n]*+", SLASHES, BLOCK, r"#(?<![^\s]#)(?=\s)[^\n]*+", r"@(?<![^\s]@)(?=\s)[^\n]*+", DOUBLE, SINGLE
        ),
        name=re.compile(r"[^\W\d][\w$?]*"),
        keywords=word_set(
            "mov add sub mul div push pop lea cmp test jmp call ret nop xor and or not int eax ebx rax rbx rcx rdx rsi rdi rsp",
            "db dw dd dq resb resw resd resq equ byte word dword qword section global globl extern macro endm include define",
        ),
        member_marks="",
        own=frozenset(),
        above=frozenset(),
    )


ASSEMBLY = Language(
    outline=outline,
    comment_starts=_MARKS,
    imports=plain_imports(),
    uses=lexical_rules,
    display=Display(line_comment=";", lexer="nasm"),
)
