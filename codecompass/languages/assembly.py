"""Assembly in its dialects: labels, macros and constants; included files."""

import re
from collections.abc import Iterator
from typing import Final

from codecompass.languages.display import Display
from codecompass.languages.imports.plain import plain_imports
from codecompass.languages.language import Definition, Language, RuleContext
from codecompass.languages.nodes import Node
from codecompass.languages.records import Import, SymbolKind
from codecompass.languages.uses.lexical_rules import LexicalRules
from codecompass.languages.uses.patterns import BLOCK, DOUBLE, SINGLE, SLASHES, any_of
from codecompass.languages.words import word_set

_CONSTANT: Final = re.compile(
    rb"^[ \t]*(?:%define[ \t]+(\w+)|\.(?:equ|set)[ \t]+(\w+)|(\w+)[ \t]+equ\b)", re.MULTILINE | re.IGNORECASE
)
_MACRO: Final = re.compile(rb"^[ \t]*(?:[%.]i?macro[ \t]+(\w+)|(\w+)[ \t]+macro\b)", re.MULTILINE | re.IGNORECASE)
_LABEL: Final = re.compile(rb"^[ \t]*([A-Za-z_?@$][\w?@$.]*):(?!=)", re.MULTILINE)
_INCLUDE: Final = re.compile(rb"^[ \t]*[%#.]?include[ \t]+[\"'<]?([\w./\-]+)", re.MULTILINE | re.IGNORECASE)


def read(root: Node, context: RuleContext) -> Iterator[Definition | Import]:
    """Yields what is named at the beginning of lines; local labels, which begin with a dot or a digit, are left out."""
    source = context.source
    found = [(match, kind) for pattern, kind in _FORMS for match in pattern.finditer(source)]
    line, counted = 1, 0
    for match, kind in sorted(found, key=lambda pair: pair[0].start()):
        at = match.start(match.lastindex or 0)
        line += source.count(b"\n", counted, at)
        counted = at
        name = match[match.lastindex or 0].decode("utf-8", "replace")
        if kind is None:
            yield Import(line, line, name)
            continue
        text = source[source.rfind(b"\n", 0, at) + 1 :][:200].partition(b"\n")[0].decode("utf-8", "replace")
        doc = comment_lines(source, at)
        yield Definition(
            name, kind, root, signature=re.split(r"[;#]|//", text, maxsplit=1)[0], start_line=line, end_line=line, doc=doc
        )


_FORMS: Final[tuple[tuple[re.Pattern[bytes], SymbolKind | None], ...]] = (
    (_LABEL, "fn"),
    (_CONSTANT, "const"),
    (_MACRO, "macro"),
    (_INCLUDE, None),
)


def comment_lines(source: bytes, at: int) -> str:
    """Returns the comment on the lines above an index."""
    start, lines = source.rfind(b"\n", 0, at) + 1, list[str]()
    while start > 0 and len(lines) < 20:
        begin = source.rfind(b"\n", 0, start - 1) + 1
        line = source[begin:start].strip()
        if not line.startswith((b";", b"#", b"//", b"@")):
            break
        lines.append("# " + line.lstrip(b";#/@ ").decode("utf-8", "replace"))
        start = begin
    return "\n".join(reversed(lines))


def lexical_rules() -> LexicalRules:
    """Returns what its uses look like."""
    return LexicalRules(
        family="assembly",
        comments_and_strings=any_of(r";[^\n]*+", SLASHES, BLOCK, r"#(?<![^\s]#)[^\n]*+", DOUBLE, SINGLE),
        name=re.compile(r"[^\W\d][\w$?]*"),
        keywords=word_set(
            "mov add sub mul div push pop lea cmp test jmp call ret nop xor and or not int eax ebx rax rbx rcx rdx rsi rdi rsp"
        ),
        member_marks="",
        own=frozenset(),
        above=frozenset(),
    )


ASSEMBLY = Language(
    grammar="asm",
    recover=read,
    imports=plain_imports(),
    uses=lexical_rules,
    display=Display(line_comment=";", lexer="nasm"),
)
