"""ReScript, for which there is no grammar: definitions are found by their first lines.

The tree of a language that is alike is made and not used: only errors of its own would follow from it.
"""

import re
from collections.abc import Iterator
from typing import Final

from msgspec.structs import replace

from codecompass.languages.display import Display
from codecompass.languages.imports.plain import plain_imports
from codecompass.languages.language import HEAD_BYTES, Definition, Language, RuleContext
from codecompass.languages.nodes import Node
from codecompass.languages.records import Import, SymbolKind
from codecompass.languages.uses.lexical_rules import LexicalRules
from codecompass.languages.uses.patterns import BLOCK, DOUBLE_LINES, NAME, SLASHES, any_of, declared
from codecompass.languages.walk.depth import with_shallow_comments
from codecompass.languages.walk.heads import heads
from codecompass.languages.walk.preparation import masked
from codecompass.languages.words import word_set

_LITERALS: Final = re.compile(
    rb"//[^\n]*+|/\*(?>(?:[^*/]++|/\*(?>(?:[^*]++|\*(?!/))*)\*/|\*(?!/)|/)*)(?:\*/)?|`(?:[^`\\]++|\\.)*+`?|\"(?:[^\"\\]++|\\.)*+\"?",
    re.DOTALL,
)
_HEADS: Final = re.compile(
    rb"^(?P<indent>[ \t]*)(?:@[\w.]+(?:\([^)\n]*\))?[ \t]*)*(?:(?:export|private)[ \t]+)?"
    rb"(?P<word>let(?:[ \t]+rec)?|and|external|type(?:[ \t]+rec)?|module[ \t]+type|module(?:[ \t]+rec)?|exception)"
    rb"[ \t]+(?P<name>(?!_\b)\w+)(?=[^=\n]*(?:=|\{|:|$))",
    re.MULTILINE,
)
_OPEN: Final = re.compile(rb"^[ \t]*(?:open!?|include)[ \t]+([\w.]+)", re.MULTILINE)
_KINDS: Final[dict[str, SymbolKind]] = {
    **dict.fromkeys(("type", "type rec", "exception"), "type"),
    **dict.fromkeys(("module", "module rec"), "module"),
    "module type": "interface",
}
_IS_FUNCTION: Final = re.compile(r"=>|=\s*(?:async\s*)?\($|:\s*\($")
_FIELD: Final = re.compile(rb"[{,][\s]*(?:@[\w.]+(?:\([^)\n]*\))?\s*)*(?:mutable[ \t]+)?(\w+)\??[ \t]*:")
_CONSTRUCTOR: Final = re.compile(rb"(?:=|\|)[\s]*(?:@[\w.]+(?:\([^)\n]*\))?\s*)*([A-Z]\w*)(?![\w.])")
_PARTS: Final = {"field": _FIELD, "const": _CONSTRUCTOR}
_NESTED: Final = re.compile(rb"[(\[<][^()\[\]<>{}]*[)\]>]")

_found: Final = heads(_HEADS, _KINDS, is_strict=True, literals=_LITERALS)


def read(root: Node, context: RuleContext) -> Iterator[Definition | Import]:
    """Yields what a file opens and defines; of what is in a function only other functions."""
    line, counted = 1, 0
    for match in _OPEN.finditer(context.source):
        line, counted = line + context.source.count(b"\n", counted, match.start(1)), match.start(1)
        yield Import(line, line, match[1].decode("utf-8", "replace"))
    code = bytes(masked(with_shallow_comments(context.source), _LITERALS)).split(b"\n")
    yield from _told_apart(_found(root, context), None, code, context.source.split(b"\n"))


def _told_apart(
    found: Iterator[Definition], owner: SymbolKind | None, code: list[bytes], text: list[bytes]
) -> Iterator[Definition]:
    """Yields definitions with their kinds, which depend on what is before and around them, and with the parts of types."""
    before: SymbolKind = "fn"
    for each in found:
        signature, kind = each.signature or "", each.kind
        first, last = each.start_line or 1, each.end_line or 1
        if signature.endswith("("):
            parts = [signature, *(line.decode("utf-8", "replace").strip() for line in text[first:last])]
            close = next((index for index, part in enumerate(parts) if part.startswith(")")), 0)
            signature = re.sub(r"\s*(?:=>)?\s*\{?$", "", " ".join(parts[: close + 1]))
        if re.match(r"(?:@\S+\s+)*and\b", signature):
            kind = before
        elif kind in ("fn", "method"):
            value: SymbolKind = "field" if owner == "interface" else "const"
            kind = kind if _IS_FUNCTION.search(each.signature or "") or signature.endswith("=>") else value
            kind = "fn" if "=>" in code[first - 1].decode("utf-8", "replace") and kind == value else kind
        before = "fn" if kind in ("const", "field", "method") else kind
        if owner in ("fn", "method") and kind not in ("fn", "method"):
            continue
        members = tuple(_told_apart(iter(each.members), kind, code, text)) if kind != "const" else ()
        if kind == "type" and not members:
            members = tuple(_parts(each, code[first - 1 : last], text[first - 1 : last]))
        yield replace(each, kind=kind, signature=signature, members=members)


def _parts(definition: Definition, code: list[bytes], written: list[bytes]) -> Iterator[Definition]:
    """Yields the fields of a record or the constructors of a variant."""
    text = b"\n".join(code)
    start = text.find(b"=")
    for _ in range(MAX_NESTED):
        shorter = _NESTED.sub(lambda match: re.sub(rb"[^\n]", b" ", match[0]), text)
        if shorter == text:
            break
        text = shorter
    first = definition.start_line or 1
    kind: SymbolKind = "field" if re.match(rb"=\s*(?:private\s*)?\{", text[start:]) else "const"
    line, counted = first, 0
    for match in _PARTS[kind].finditer(text, max(start, 0)) if start >= 0 and b"exception" not in code[0] else ():
        line, counted = line + text.count(b"\n", counted, match.start(1)), match.start(1)
        # Many parts can stand in one line, each with that as its signature.
        signature = written[line - first].strip()[:HEAD_BYTES].decode("utf-8", "replace").rstrip(",")
        yield Definition(match[1].decode(), kind, definition.node, signature=signature, start_line=line, end_line=line, doc="")


MAX_NESTED: Final = 10
"""Brackets in each other in the definition of a type, whose contents are no parts of it."""


def lexical_rules() -> LexicalRules:
    """Returns what its uses look like."""
    return LexicalRules(
        family="rescript",
        comments_and_strings=any_of(SLASHES, BLOCK, rf"(?P<code>`[^`]*+`?)|{DOUBLE_LINES}"),
        interpolation=re.compile(r"\$\{([^{}]*+)\}"),
        name=NAME,
        keywords=word_set(
            "and as assert async await catch constraint else exception external false for if in include lazy let module",
            "mutable of open private rec switch to true try type unit when while with int string bool float array option",
        ),
        member_marks=".",
        own=frozenset(),
        above=frozenset(),
        declarations=(declared(r"^[ \t]+let[ \t]++(?P<names>[a-z_]\w*+)[ \t]*+=(?![=>])[ \t]*+(?P<value>[^\n]*+)"),),
        keyword_argument=re.compile(r"[ \t]*+=(?![=>])"),
    )


RESCRIPT = Language(
    grammar="ocaml",
    recover=read,
    imports=plain_imports(endings=(".res", ".resi"), separator="."),
    uses=lexical_rules,
    display=Display(attribute_starts=("@",), lexer=None),
)
