"""Extracts symbols and imports from one parsed file: the walk that all languages share.

Runs in worker processes only (tree-sitter holds the GIL and cannot be interrupted). The walk keeps a stack of its own, so that
deep source causes no deep recursion, and enters only nodes that have a rule.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import Final

import tree_sitter
from msgspec import Struct, structs
from tree_sitter import Node

from codecompass import lazy
from codecompass.languages.language import HEAD_BYTES, Definition, Descend, Found, Language, RuleContext, head_without_comments
from codecompass.languages.records import (
    CLASS_LIKE,
    DOC_LIMIT,
    MAX_QUALIFIED_NAME,
    SIGNATURE_LIMIT,
    Import,
    Symbol,
    SymbolKind,
    Visibility,
)
from codecompass.languages.walk.block_tests import with_tests
from codecompass.languages.walk.registrations import with_registrations

MAX_SYMBOLS_PER_FILE: Final = 50_000
"""A file with more definitions is generated data; the first ones are kept."""

MAX_NAME_LENGTH: Final = 512
"""Characters. Longer names are parse errors."""

MAX_IMPORTS_PER_FILE: Final = 5_000
"""Each is resolved in the server's process, in up to a millisecond. Only generated files have more; the first ones are kept."""

MAX_IMPORT_LENGTH: Final = 500
"""Characters of all fields of an import. Longer imports have no target in a repository."""

MAX_IMPORT_PARTS: Final = 50
"""Names in an import, however separated: resolving tries prefixes of every length."""

MAX_NESTING: Final = 100
"""Definitions within definitions. Deeper ones are generated, and qualified names take space in the square of the depth."""

ENTERED_IF_MARKED: Final[frozenset[SymbolKind]] = frozenset({"fn", "method", "test", "const", "var", "field"})
"""Kinds whose body is entered only when it holds one of the language's `nested_markers`."""


class Extraction(Struct, frozen=True, array_like=True):
    """The symbols of a file in source order, its imports by line, and whether its tree has errors."""

    symbols: tuple[Symbol, ...]
    imports: tuple[Import, ...]
    has_errors: bool


class _Scope(Struct, frozen=True):
    index: int
    kinds: tuple[SymbolKind, ...]
    names: tuple[str, ...]
    visibility: Visibility


def parse(language: Language, parser: tree_sitter.Parser, source: bytes) -> tree_sitter.Tree:
    """Returns the tree of `source`. Its offsets are offsets in `source`, even if the language prepares the source."""
    return parser.parse(source if language.prepare is None else language.prepare(source))


def extract(language: Language, root: Node, source: bytes, path: str) -> Extraction:
    """Returns what `root`, the tree of `source`, defines and imports. `path` is relative to the workspace root."""
    context = RuleContext(path=path, source=source, module=(*language.path_module(path), *language.module(path, root, source)))
    context.comment_starts = language.comment_starts
    symbols: list[Symbol] = []
    imports: list[Import] = []
    if language.before_walk is not None:
        language.before_walk(root, context)
    top: Iterator[Node | Found] = iter(root.named_children)
    if language.recover is not None and (root.has_error or not language.rules):
        top = chain(top, _missed_by_walk(language.recover, root, context, symbols))
    # Nodes still to visit and, above them, what a rule found in one, so that symbols come in source order.
    stack: list[tuple[Iterator[Node | Found], _Scope]] = [(top, _Scope(-1, (), (), ""))]
    rules = language.rules
    is_ordered = True
    while stack and len(symbols) < MAX_SYMBOLS_PER_FILE:
        pending, scope = stack[-1]
        for item in pending:
            if isinstance(item, Node):
                rule = rules.get(item.type)
                if rule is None:
                    continue
                if isinstance(rule, str):
                    stack.append((iter(item.named_children), scope))
                    break
                context.scope_kinds = scope.kinds
                context.scope_names = scope.names
                context.scope_visibility = scope.visibility
                found = tuple(rule(item, context))
                if found:
                    stack.append((iter(found), scope))
                    break
            elif isinstance(item, Import):
                if len(imports) < MAX_IMPORTS_PER_FILE and can_be_resolved(item):
                    imports.append(item)
            elif isinstance(item, Descend):
                if item.kind is not None:
                    if len(scope.kinds) >= MAX_NESTING:
                        continue
                    scope = _Scope(scope.index, (*scope.kinds, item.kind), scope.names, scope.visibility)
                stack.append((iter(item.node.named_children), scope))
                break
            elif item.name and len(item.name) <= MAX_NAME_LENGTH:
                symbol = _symbol(language, item, scope, context)
                is_ordered = is_ordered and (not symbols or symbols[-1].line_start <= symbol.line_start)
                symbols.append(symbol)
                bodies = [body for body in item.bodies if _should_enter(language, item.kind, body, source)]
                if (bodies or item.members) and len(scope.kinds) < MAX_NESTING:
                    outer = scope.names if item.qualifier is None else item.qualifier
                    kinds, names = (*scope.kinds, item.kind), (*outer, item.name)
                    inner = _Scope(len(symbols) - 1, kinds, names, symbol.visibility)
                    stack.extend((iter(body.named_children), inner) for body in reversed(bodies))
                    stack.append((iter(item.members), inner))
                    break
        else:
            stack.pop()
    if not is_ordered:
        symbols = _sorted_by_line(symbols)
    if language.tests is not None and (tests := language.tests.find(root, source)):
        symbols = with_tests(symbols, tests, context.module, language.member_separator or language.separator, clean_signature)
    if language.registers is not None:
        symbols = with_registrations(symbols, language.registers(root, source, path, symbols), source, clean_signature)
    return Extraction(tuple(symbols), tuple(imports), root.has_error)


def _missed_by_walk(
    recover: Callable[[Node, RuleContext], Iterable[Definition | Import]], root: Node, context: RuleContext, symbols: list[Symbol]
) -> Iterator[Definition | Import]:
    """Yields what `recover` finds and the walk missed: no symbol of that name begins in its lines. Iterated after the walk."""
    lines_of: dict[str, list[int]] = {}
    for symbol in symbols:
        lines_of.setdefault(symbol.name, []).append(symbol.line_start)
    for lines in lines_of.values():
        lines.sort()

    def missed(item: Definition, owners: tuple[str, ...]) -> Iterator[Definition]:
        lines = lines_of.get(item.name, [])
        start = item.start_line or 0
        index = bisect_left(lines, start)
        if index == len(lines) or lines[index] > (item.end_line or start):
            yield item if not owners else structs.replace(item, qualifier=owners)
        elif item.kind in CLASS_LIKE:
            # The walk may have found a class and not all in it.
            for member in item.members:
                if isinstance(member, Definition):
                    yield from missed(member, (*owners, item.name))

    for item in recover(root, context):
        if isinstance(item, Definition) and item.start_line is not None:
            yield from missed(item, ())
        else:
            yield item


_BETWEEN_PARTS: Final = str.maketrans(dict.fromkeys("\\:", "/") | {".": "/"})


def can_be_resolved(item: Import) -> bool:
    if len(item.spec) + len(item.name) + len(item.alias) + len(item.kind) > MAX_IMPORT_LENGTH:
        return False
    written = f"{item.spec}/{item.name}/{item.kind}"
    return len(written) <= MAX_IMPORT_PARTS or written.translate(_BETWEEN_PARTS).count("/") <= MAX_IMPORT_PARTS


def _sorted_by_line(symbols: list[Symbol]) -> list[Symbol]:
    """Sorts recovered symbols and fields set by constructors into source order. Parents stay before their members."""
    order = sorted(range(len(symbols)), key=lambda index: symbols[index].line_start)
    new_index = {old: new for new, old in enumerate(order)}
    return [structs.replace(symbols[old], parent=new_index.get(symbols[old].parent, -1)) for old in order]


def _should_enter(language: Language, kind: SymbolKind, body: Node, source: bytes) -> bool:
    if kind not in ENTERED_IF_MARKED or not language.nested_markers:
        return True
    # find() with bounds: a slice would copy every function body.
    start, end = body.start_byte, body.end_byte
    return any(source.find(marker, start, end) >= 0 for marker in language.nested_markers)


def _symbol(language: Language, item: Definition, scope: _Scope, context: RuleContext) -> Symbol:
    node = item.node
    visibility = language.visibility(node, item.name, context) if item.visibility is None else item.visibility
    signature = _signature_source(item, context) if item.signature is None else item.signature
    doc = language.doc(node, context) if item.doc is None else item.doc
    if item.qualified_name is not None:
        qualified_name = item.qualified_name
    else:
        scopes = scope.names if item.qualifier is None else item.qualifier
        qualified_name = _qualified_name(language, (*context.module, *scopes), item.name, bool(scopes))
    if len(qualified_name) > MAX_QUALIFIED_NAME:
        qualified_name = item.name
    # A node that ends at column 0 ends with the line break before it.
    last_line, last_column = node.end_point[0] + 1, node.end_point[1]
    if last_column == 0 and last_line > node.start_point[0] + 1:
        last_line -= 1
    if item.end_line is not None:
        last_line = item.end_line
    first_line = node.start_point[0] + 1 if item.start_line is None else item.start_line
    return Symbol(
        name=item.name,
        kind=item.kind,
        qualified_name=qualified_name,
        line_start=first_line,
        line_end=max(first_line, last_line),
        signature=clean_signature(signature, ";" if item.is_prototype else ""),
        visibility=visibility,
        parent=scope.index,
        doc=clean_doc(doc),
    )


def _qualified_name(language: Language, scopes: tuple[str, ...], name: str, is_member: bool) -> str:
    separator = language.separator
    if not scopes:
        return name
    last = language.member_separator if is_member and language.member_separator is not None else separator
    return separator.join(scopes) + last + name


def _signature_source(item: Definition, context: RuleContext) -> str:
    """Returns the source from the beginning of the definition to its first body."""
    node = item.node
    start = node.start_byte
    if item.start_line is not None and item.start_line > node.start_point[0] + 1:
        skipped = item.start_line - 1 - node.start_point[0]
        for _ in range(skipped):
            start = context.source.find(b"\n", start) + 1
    ends = [body.start_byte for body in item.bodies if body.start_byte > start]
    return head_without_comments(node, start, min([*ends, node.end_byte]), context)


_AFTER_OPENING = lazy.pattern(r"([(\[]) ")
_BEFORE_CLOSING = lazy.pattern(r",? ([)\]])")


def clean_signature(text: str, ending: str = "") -> str:
    """Returns `text` with white space folded and `ending` in place of what opens a body, cut at SIGNATURE_LIMIT with a `…`."""
    # Cut first: each name of a long list can have the whole list as its signature.
    text = " ".join(text[:HEAD_BYTES].split())
    if "( " in text or "[ " in text or " )" in text or " ]" in text:
        text = _BEFORE_CLOSING.sub(r"\1", _AFTER_OPENING.sub(r"\1", text))
    while text and text[-1] in "{:=;, " and not text.endswith("::"):
        text = text[:-1]
    space = SIGNATURE_LIMIT - len(ending)
    return (text if len(text) <= space else text[: space - 1].rstrip() + "…") + ending


_DOC_PREFIX = lazy.pattern(
    r"\s*(?:[rRbBuUfF]{0,2}(?:\"\"\"|'''|\"|')|/\*+!?|\*+/|\*(?=\s|>|$)>?|@(?=\s)|//[/!]?|#+!?|--[-|^]*|;+|%+|\{-[-|]?|=begin)\s?"
)
_DOC_SUFFIX = lazy.pattern(r"\s*(?:\"\"\"|'''|\*+/|-\}|\"|')$")
_DOC_ENDS = frozenset("\"'/}")
"""The last characters of what `_DOC_SUFFIX` matches."""


def clean_doc(text: str) -> str:
    """Returns the first paragraph without comment markers, on one line, at most `DOC_LIMIT` characters."""
    if not text:
        return ""
    words: list[str] = []
    for line in text[: 8 * DOC_LIMIT].splitlines():
        prefix = _DOC_PREFIX.match(line)
        bare = (line if prefix is None else line[prefix.end() :]).strip()
        if bare and bare[-1] in _DOC_ENDS:
            bare = _DOC_SUFFIX.sub("", bare)
        if bare:
            words.append(bare)
        elif words:
            break
    paragraph = " ".join(" ".join(words).split())
    return paragraph if len(paragraph) <= DOC_LIMIT else paragraph[: DOC_LIMIT - 1].rstrip() + "…"
