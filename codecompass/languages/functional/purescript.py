"""PureScript: types with their constructors, classes, instances, functions with all their equations; imports."""

import re
from collections.abc import Iterator
from typing import Final

from codecompass.languages.display import Display
from codecompass.languages.imports.plain import plain_imports
from codecompass.languages.language import Definition, Found, Language, RuleContext, leading_comment
from codecompass.languages.nodes import Node
from codecompass.languages.uses.lexical_rules import LexicalRules
from codecompass.languages.uses.patterns import CHARACTER, DASHES, DOUBLE, TRIPLE, any_of, declared
from codecompass.languages.walk.depth import with_shallow_brackets
from codecompass.languages.walk.node_rules import defines, imports, merged, note_clauses
from codecompass.languages.words import word_set


def module(_path: str, _root: Node, source: bytes) -> tuple[str, ...]:
    """Returns the parts of the name in `module A.B where`."""
    found = re.search(rb"^module\s+([\w.]+)", source, re.MULTILINE)
    return () if found is None else tuple(found[1].decode("utf-8", "replace").split("."))


_KIND: Final = re.compile(rb"^(?:data|newtype|type|class)\s+\w+\s*::[^\n]*(?:\n[ \t]+[^\n]*)*", re.MULTILINE)
_MARK: Final = re.compile(rb"\{-|-\}")


def _without_kinds(source: bytes) -> bytes:
    """Returns the source without written kinds and without the marks of comments in comments, which the grammar does not know."""
    text = bytearray(_KIND.sub(_blanked, source))
    depth = 0
    # With a mark in a string or in a comment of one line, what is in what is not known.
    for match in _MARK.finditer(bytes(text)) if text.count(b"{-") == text.count(b"-}") else ():
        depth -= match[0] == b"-}"
        if depth > 0:
            text[match.start() : match.end()] = b"  "
        depth = max(depth + (match[0] == b"{-"), 0)
    return with_shallow_brackets(bytes(text))


def _blanked(match: re.Match[bytes]) -> bytes:
    return re.sub(rb"[^\n]", b" ", match[0])


def documentation(node: Node, context: RuleContext) -> str:
    """Returns the comment above a function, or above its type."""
    before = node.prev_named_sibling
    text = leading_comment(before if before is not None and before.type == "signature" else node, context)
    return text.replace("-- |", "--")


_method: Final = defines("fn", "name", "")


def signature(node: Node, context: RuleContext) -> Iterator[Found]:
    """`name :: Type`: a method in a class; elsewhere a function of that name follows."""
    return iter(tuple(_method(node, context) if context.enclosing == "trait" else ()))


_INSTANCE: Final = re.compile(
    r"(?:else\s+)?(?:derive\s+)?(?:newtype\s+)?instance\s+(?:(?P<name>\w+)\s*::\s*)?"
    r"(?:(?:\((?:[^()]|\([^()]*\))*\)|[^=()\n]*?)\s*=>\s*)*(?P<class>[\w.]+)\s*(?P<types>[^\n]*)"
)


def instance(node: Node, context: RuleContext) -> Iterator[Found]:
    """`instance showTrack :: Show Track where ..`; one without a name is called after its type, as part of its class."""
    match = _INSTANCE.match(context.text(node)[:1_000])
    if match is None:
        return
    signature = re.split(r"\bwhere\b", context.text(node)[:1_000])[0]
    of_type = re.search(r"[A-Z][\w.]*|\w+", match["types"])
    if match["name"]:
        yield Definition(match["name"], "impl", node, signature=signature)
    elif of_type is not None:
        yield Definition(of_type[0], "impl", node, signature=signature, qualifier=(*context.scope_names, match["class"]))


def lexical_rules() -> LexicalRules:
    """Returns what its uses look like."""
    return LexicalRules(
        family="purescript",
        comments_and_strings=any_of(r"\{-.*?(?:-\}|\Z)", DASHES, TRIPLE, DOUBLE, CHARACTER),
        name=re.compile(r"[^\W\d][\w']*+"),
        keywords=word_set(
            "ado as case class data derive do else false forall foreign hiding if import in infix infixl infixr instance let",
            "module newtype of then true type where",
        ),
        member_marks=".",
        own=frozenset(),
        above=frozenset(),
        declarations=(declared(r"^[ \t]+(?:let[ \t]++)?(?P<names>[a-z]\w*+)[ \t]*+(?:<-|=(?!=))[ \t]*+(?P<value>[^\n]*+)"),),
        defines_at_line_start=True,
    )


PURESCRIPT = Language(
    grammar="purescript",
    prepare=_without_kinds,
    rules={
        "import": imports("module", alias="import_rename"),
        "data": defines("enum", "name", "."),
        "constructor": defines("const", ".", ""),
        "newtype": defines("struct", "name", "."),
        "newtype_constructor": defines("const", "constructor", ""),
        "type_alias": defines("type", "name", "record_type_literal"),
        "row_field": defines("field", "field_name", ""),
        "class_declaration": defines("trait", "class_head/class_name", "class_body"),
        "signature": signature,
        **dict.fromkeys(("class_instance", "derive_declaration"), instance),
        "operator_declaration": defines("fn", "operator", ""),
        "foreign_import": defines("fn", "name", ""),
        "function": merged(defines("fn", "name", "rhs|guards", enters=False)),
    },
    module=module,
    before_walk=note_clauses("function", "name"),
    doc=documentation,
    imports=plain_imports(endings=(".purs",), separator="."),
    uses=lexical_rules,
    display=Display(line_comment="--", lexer=None),
)
