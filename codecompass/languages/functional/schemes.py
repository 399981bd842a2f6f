"""Scheme and Racket: one rule reads the first words of a form. Each form that begins with `define` is a definition."""

import re
from collections.abc import Iterator, Mapping
from typing import Final

from codecompass.languages.display import Display
from codecompass.languages.functional.lisps import lisp_words
from codecompass.languages.imports.plain import plain_imports
from codecompass.languages.language import Definition, Descend, Found, Language, RuleContext, leading_comment, lines_of
from codecompass.languages.nodes import Node
from codecompass.languages.records import CLASS_LIKE, FUNCTION_LIKE, Import, SymbolKind
from codecompass.languages.words import word_set

_SYMBOL: Final = r"(?:\|[^|\n]*\||[^\s()\[\]{}\"';`,@#|][^\s()\[\]{}\"';`,]*)"
_FORM: Final = re.compile(rf"\(\s*(?P<word>{_SYMBOL})(?:\s+(?P<shape>[(\[]*)(?P<name>{_SYMBOL}|\"[^\"\\]*\")?)?")
_LIBRARY: Final = re.compile(r"\(\s*[\w-]+\s+\(([^()]*)")
_LAMBDA: Final = re.compile(r"\(\s*(?:case-|match-|opt-)?(?:lambda|λ)")
_CLASS: Final = re.compile(r"\(\s*(?:class\*?|mixin|(?P<interface>interface\*?))\s")
_HEAD_CHARACTERS: Final = 1_000

_KINDS: Final[Mapping[str, SymbolKind]] = {
    **dict.fromkeys(("define-syntax", "define-syntax-rule", "define-macro", "define-syntax-parser", "defmacro"), "macro"),
    **dict.fromkeys(("define-syntaxes", "define-match-expander", "define-simple-macro", "define-syntax-parameter"), "macro"),
    **dict.fromkeys(("define-record-type", "define-immutable-record-type", "struct"), "struct"),
    **dict.fromkeys(("define-struct", "define-structure"), "struct"),
    **dict.fromkeys(("define-library", "library", "define-module", "module", "define-unit"), "module"),
    **dict.fromkeys(("define-type", "define-enumeration", "define-syntax-class", "define-condition-type"), "type"),
    **dict.fromkeys(("define-generics", "define-signature"), "interface"),
    **dict.fromkeys(("define-test", "test-case", "test-group", "test-suite"), "test"),
    "define-class": "class",
}
_SEVERAL: Final = word_set("define-values define-syntaxes define-values-for-syntax")
_BLOCKS: Final = word_set(
    "begin begin-for-syntax eval-when if let let* letrec let-values when unless module* module+ class class* mixin"
)
"""Forms whose own forms may be definitions; those in `let` are local."""
_SLOTS: Final = word_set("field init init-field public abstract")
"""Clauses of a class of Racket that list names."""
_IMPORTS: Final = word_set("import include load require use-modules define-module")


def form(node: Node, context: RuleContext) -> Iterator[Found]:
    """Yields what a form defines and imports."""
    text = context.source[node.start_byte : min(node.end_byte, node.start_byte + _HEAD_CHARACTERS)].decode("utf-8", "replace")
    match = _FORM.match(text)
    if match is None:
        return
    word, name = match["word"], match["name"] or ""
    kind = _KINDS.get(word) or ("fn" if re.match(r"define(?:[-/*:]|$)", word) else None)
    if kind is not None and name and (kind == "test" or name[0] != '"'):
        yield from _define(kind, match, node, context)
    elif word in _SLOTS and context.enclosing in CLASS_LIKE:
        yield from _named(node.named_children[1:], "method" if word in ("public", "abstract") else "field", context)
    elif word == "cond-expand":
        yield from map(Descend, node.named_children[1:])
    elif word in _BLOCKS:
        yield Descend(node, "fn" if word.startswith("let") else None)
    if word in _IMPORTS:
        for module in _imported(word, context.text(node)):
            yield Import(*lines_of(node), module)


def _define(kind: SymbolKind, match: re.Match[str], node: Node, context: RuleContext) -> Iterator[Found]:
    children, word, text = node.named_children, match["word"], match.string
    value = children[2] if len(children) > 2 else None
    text_of_value = "" if value is None else context.text(value)[:_HEAD_CHARACTERS]
    members: list[Definition] = []
    is_list = bool(match["shape"])
    if kind == "fn" and word in _SEVERAL:
        kind = "const"
    elif kind == "fn" and not is_list and (of_class := _CLASS.match(text_of_value)) is not None and value is not None:
        kind = "interface" if of_class["interface"] else "class"
        members = list(_named(value.named_children[2:], "method", context)) if of_class["interface"] else members
    elif kind == "fn" and not is_list and not _is_function(value, context):
        kind = "field" if context.enclosing in CLASS_LIKE else "const"
    elif kind == "fn" and context.enclosing in CLASS_LIKE:
        kind = "method"
    if kind in ("const", "field") and context.enclosing in FUNCTION_LIKE:
        return
    eol = text.find("\n", match.end("name"))
    end = len(text) if eol < 0 else eol
    if is_list and len(children) > 1:
        closed = len(context.source[node.start_byte : children[1].end_byte].decode("utf-8", "replace"))
        end = max(end, closed)
    comment = leading_comment(node, context)
    comment = comment.partition("\n")[2] if comment.startswith("#!") else comment
    strings = [each for each in children[2:3] if each.type == "string" and kind in FUNCTION_LIKE and len(children) > 3]
    names, library = [match["name"].strip('"')], _LIBRARY.match(text)
    if kind == "module" and is_list and library is not None:
        names = ["/".join(library[1].split())]
    elif word in _SEVERAL:
        names = re.findall(_SYMBOL, context.text(children[1]).replace(" . ", " "))
    elif kind in ("struct", "class", "interface") and not members and not text_of_value.startswith("(class"):
        members = list(_members(word, children, context))
    body = value if value is not None and kind == "class" and not members else node
    enters = kind in ("class", "fn", "method", "module") or (kind == "test" and word != "test-case")
    for name in names:
        doc = comment or "".join(map(context.text, strings))
        yield Definition(name, kind, node, (body,) if enters else (), signature=text[:end], doc=doc, members=tuple(members))


def _is_function(value: Node | None, context: RuleContext) -> bool:
    """Whether a value is a function, perhaps in the scope of variables of its own."""
    while value is not None and context.source.startswith(b"(let", value.start_byte) and value.named_children:
        value = value.named_children[-1]
    return value is not None and _LAMBDA.match(context.text(value)[:100]) is not None


def _named(nodes: list[Node], kind: SymbolKind, context: RuleContext) -> Iterator[Definition]:
    """Yields a definition of each name, or of the first one in each list."""
    for node in nodes:
        name = re.match(_SYMBOL, re.sub(r"^\((?:im)?mutable\s+", "", context.text(node)[:200]).lstrip("([ "))
        if name is not None:
            yield Definition(name[0], kind, node)


def _members(word: str, children: list[Node], context: RuleContext) -> Iterator[Definition]:
    """Yields the fields of a structure; what is before them says how it is made."""
    lists = [each for each in children[2:] if each.type == "list"]
    listed = next((each for each in lists if context.text(each).startswith("(fields ")), None)
    if listed is not None:
        yield from _named(listed.named_children[1:], "field", context)
    elif word == "define-generics":
        yield from _named(lists, "method", context)
    elif word == "define-signature":
        yield from _named(lists[0].named_children if lists else [], "method", context)
    elif word in ("struct", "define-struct"):
        yield from _named(lists[0].named_children if lists else [], "field", context)
    else:
        after = [each for each in children[3:] if each.type == "list"]
        yield from _named(after, "field", context)


def _imported(word: str, text: str) -> Iterator[str]:
    text = text.partition(word)[2]
    text = re.sub(r"\(\d[\d .]*\)|;[^\n]*|#:(?:select|hide|export|version)\s*\((?:[^()]|\([^()]*\))*\)", "", text)
    text = re.sub(r"\(rename\s+(\([^()]*\))(?:\s*\([^()]*\))*\s*\)", r"\1", text)
    text = text.partition("#:use-module")[2] if word == "define-module" else text
    for parts in re.findall(r"\(((?:[a-z][\w\-]*\s+)*[a-z0-9][\w\-]*)\s*\)", text) if word != "load" else ():
        yield re.sub(r"^(?:only|prefix|rename|except|for-syntax) ", "", " ".join(parts.split())).replace(" ", "/")
    yield from re.findall(r'"([^"\n]+)"', text)
    if word == "require":
        yield from re.findall(r"[\s(]([a-z][\w\-]*/[\w\-/]+)", text)


def _language(grammar: str, endings: tuple[str, ...], words: str) -> Language:
    return Language(
        grammar=grammar,
        rules={"list": form},
        nested_markers=(b"(define", b"(struct", b"(field", b"(init", b"(test-", b"(library"),
        imports=plain_imports(endings=("", *endings)),
        uses=lisp_words("scheme", words),
        display=Display(line_comment=";"),
    )


SCHEME = _language("scheme", (".sld", ".scm", ".sls", ".ss"), "define define-syntax begin else")
RACKET = _language("racket", (".rkt",), "define define-syntax begin else require provide")
