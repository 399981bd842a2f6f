"""Haskell: functions with their type signatures, data types with constructors and fields, classes, instances, imports.

A function is one definition: all consecutive clauses, and the signature on the line above. Names outside the export list are
private. Local functions (`where`, `let`) are not symbols.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

from codecompass import lazy
from codecompass.languages.binding import Binding
from codecompass.languages.display import Display
from codecompass.languages.functional.haskell_imports import HASKELL_IMPORTS
from codecompass.languages.functional.haskell_syntax import (
    BETWEEN,
    bound_name,
    comment_text,
    doc_above,
    first_line_of,
    head_of,
    is_about_previous,
    last_row,
    names_of,
    note_exports,
    prepare,
    qualified_in_module,
    recover,
    text_between,
    unqualified,
    visibility_of,
)
from codecompass.languages.language import (
    DESCEND,
    Definition,
    Found,
    Language,
    RuleContext,
    first_child,
    lines_of,
    without_comments,
)
from codecompass.languages.nodes import Node
from codecompass.languages.records import Import, SymbolKind
from codecompass.languages.uses.lexical_rules import LexicalRules, SupertypeForms
from codecompass.languages.uses.patterns import CHARACTER, DOUBLE_LINES, any_of, declared
from codecompass.languages.walk.block_tests import DOUBLE_QUOTED, BlockTestSyntax
from codecompass.languages.words import word_set

_PRAGMA_AT_END: Final = lazy.pattern(r"\{-#[^#]*+#-\}\s*+\Z")
CLAUSES: Final = frozenset({"function", "bind"})


def module_of(_path: str, root: Node, source: bytes) -> tuple[str, ...]:
    """Returns the parts of the name in the module header, `Main` without one."""
    for child in root.named_children:
        if child.type == "header":
            name = child.child_by_field_name("module")
            if name is not None:
                return tuple(source[name.start_byte : name.end_byte].decode("utf-8", "replace").split("."))
    return ("Main",)


def declarations(container: Node, context: RuleContext) -> Iterator[Found]:
    """The declarations of a module, class or instance; a signature and its clauses are one definition."""
    children = container.named_children
    bound = {bound_name(child, context) for child in children if child.type in CLAUSES}
    signatures: dict[str, str] = {}
    index = 0
    while index < len(children):
        child, last = children[index], index
        handler = DECLARATIONS.get(child.type)
        if handler is not None:
            yield from handler(child, doc_above(children, index, container, context), context)
        elif child.type == "signature":
            names = names_of(child, context)
            last = _last_clause(children, index, names[0], context) if len(names) == 1 else index
            doc, text = doc_above(children, index, container, context), without_comments(child, context)
            for name in names:
                # Where the clauses do not follow (`a, b :: Int`, conditional compilation), they are the definition.
                if last > index or name not in bound or context.enclosing == "class":
                    first = _start_node(children, index, last, context)
                    yield _function(name, first, children[last], text, doc, context)
                else:
                    signatures[name] = text
        elif child.type in CLAUSES:
            name = bound_name(child, context)
            last = _last_clause(children, index, name, context) if name else index
            doc = doc_above(children, index, container, context)
            match = child.child_by_field_name("match")
            head = signatures.get(name) or head_of(child, match, context)
            for one in [name] if name else _pattern_names(child, context):
                yield _function(one, child, children[last], head, doc, context)
        index = last + 1


def _last_clause(children: Sequence[Node], index: int, name: str, context: RuleContext) -> int:
    last = index
    for position in range(index + 1, len(children)):
        child = children[position]
        if child.type in CLAUSES and bound_name(child, context) == name:
            if context.source.find(b"\n#", children[last].end_byte - 1, child.start_byte) >= 0:
                # Clauses in two branches of a conditional are two functions.
                break
            last = position
        elif child.type not in BETWEEN:
            break
    return last


def _start_node(children: Sequence[Node], index: int, last: int, context: RuleContext) -> Node:
    """Returns the node at which a function begins: its signature if that is the line above the first clause, else the clause.

    With a signature of several lines the definition would begin far above the clause. If the name is alone on the first line
    of the signature, the function begins there.
    """
    signature = children[index]
    first_line = context.text(signature).split("\n", 1)[0]
    for position in range(index + 1, last + 1):
        child = children[position]
        if child.type in CLAUSES:
            is_head = child.start_point[0] - signature.start_point[0] == 1 or "::" not in first_line
            return signature if is_head else child
    return signature


def _pattern_names(node: Node, context: RuleContext) -> list[str]:
    """Returns the variables of `(a, b) = ...`."""
    pattern = node.child_by_field_name("pattern")
    if pattern is None or pattern.type not in ("tuple", "list", "parens", "apply"):
        return []
    return [context.text(child) for child in pattern.named_children if child.type == "variable"]


def _function(name: str, first: Node, last: Node, signature: str, doc: str, context: RuleContext) -> Definition:
    is_member = context.enclosing in ("class", "impl")
    is_instance = context.enclosing == "impl"
    owner = context.scope_names[-1] if is_member else ""
    return Definition(
        name=name,
        kind="method" if is_member else "fn",
        node=last,
        signature=signature,
        visibility="public" if is_instance else visibility_of(name, "value", context, owner),
        doc=doc,
        start_line=first.start_point[0] + 1,
        qualified_name=qualified_in_module(name, context),
    )


def module(node: Node, context: RuleContext) -> Iterator[Found]:
    """`module A.B (...) where`: the lines of the header only."""
    name = node.child_by_field_name("module")
    if name is None:
        return
    above = node.prev_named_sibling
    is_documented = above is not None and above.type == "haddock" and node.start_point[0] - last_row(above) == 1
    yield Definition(
        name=context.module[-1],
        kind="module",
        node=node,
        signature=text_between(node.start_byte, name.end_byte, context),
        visibility="public",
        doc=comment_text(above, context) if is_documented and above is not None else "",
        qualified_name=".".join(context.module),
    )


def data(node: Node, doc: str, context: RuleContext) -> Iterator[Found]:
    """`data`, `newtype`: a struct if it has one constructor, else an enum."""
    name = bound_name(node, context)
    constructors = node.child_by_field_name("constructors") or node.child_by_field_name("constructor")
    is_single = node.type == "newtype" or (
        constructors is not None and constructors.type == "data_constructors" and constructors.named_child_count == 1
    )
    if node.type == "newtype":
        constructors = node.child_by_field_name("deriving")
    yield _type(name, "struct" if is_single else "enum", node, head_of(node, constructors, context), doc, context, (node,))


def _type(
    name: str, kind: SymbolKind, node: Node, signature: str, doc: str, context: RuleContext, bodies: tuple[Node, ...] = ()
) -> Definition:
    return Definition(
        name=name,
        kind=kind,
        node=node,
        bodies=bodies,
        signature=signature,
        visibility=visibility_of(name, "type", context, context.scope_names[-1] if context.scope_names else ""),
        doc=doc,
        qualified_name=qualified_in_module(name, context),
    )


def data_instance(node: Node, doc: str, context: RuleContext) -> Iterator[Found]:
    """`data instance F Int = ...`."""
    for child in node.named_children:
        if child.type in ("data_type", "newtype"):
            yield from data(child, doc, context)


def type_alias(node: Node, doc: str, context: RuleContext) -> Iterator[Found]:
    """`type X = ...`, and type and data families."""
    yield _type(bound_name(node, context), "type", node, context.text(node), doc, context)


def type_class(node: Node, doc: str, context: RuleContext) -> Iterator[Found]:
    """`class C a where`."""
    body = node.child_by_field_name("declarations")
    head = _PRAGMA_AT_END.sub("", head_of(node, body, context)).rstrip().removesuffix("where")
    yield _type(bound_name(node, context), "class", node, head, doc, context, (node,))


def instance(node: Node, doc: str, context: RuleContext) -> Iterator[Found]:
    """`instance C T where` and `deriving instance C T`; the name is that of the type."""
    name = bound_name(node, context)
    patterns = node.child_by_field_name("patterns")
    target = "" if patterns is None else _type_name(patterns, context)
    body = node.child_by_field_name("declarations")
    yield Definition(
        name=target or name,
        kind="impl",
        node=node,
        bodies=(node,),
        signature=head_of(node, body, context),
        visibility="public",
        doc=doc,
        qualifier=(name,) if target else (),
    )


def _type_name(node: Node, context: RuleContext) -> str:
    """Returns the constructor of a type: `Maybe` of `(Maybe a)`; a type without one (`[a]`) as it is written."""
    current = node
    while current.type in ("type_patterns", "parens", "apply", "kind_signature"):
        inner = current.child_by_field_name("constructor") or current.child_by_field_name("type")
        inner = inner or first_child(current)
        if inner is None:
            break
        current = inner
    return "".join(unqualified(current, context).split())


def pattern_synonym(node: Node, doc: str, context: RuleContext) -> Iterator[Found]:
    """`pattern P x = ...`; its signature is not a separate symbol."""
    inner = first_child(node)
    synonym = None if inner is None or inner.type != "equation" else inner.child_by_field_name("synonym")
    while synonym is not None and synonym.type == "apply":
        synonym = synonym.child_by_field_name("function")
    if synonym is None:
        return
    name = unqualified(synonym, context)
    if synonym.type == "infix":
        operator = synonym.child_by_field_name("operator")
        name = "" if operator is None else unqualified(operator, context)
    elif synonym.type != "constructor":
        name = name.split("{", 1)[0].strip()
    yield Definition(
        name=name,
        kind="const",
        node=node,
        signature=context.text(node),
        visibility=visibility_of(name, "value", context),
        doc=doc,
        qualified_name=qualified_in_module(name, context),
    )


def constructor(node: Node, context: RuleContext) -> Iterator[Found]:
    """A constructor, unless it has the name of its type, and the fields of its record."""
    if not context.scope_names:
        return
    owner = context.scope_names[-1]
    shape = node.child_by_field_name("constructor") if node.type == "data_constructor" else node
    if shape is None:
        return
    first = first_line_of(node, context)
    names = names_of(shape, context)
    operator = shape.child_by_field_name("operator")
    if operator is not None:
        names = [unqualified(operator, context)]
    for name in names:
        if name != owner:
            yield _member(name, "const", node, first, owner, context)
    record = shape.child_by_field_name("field") if node.type == "newtype_constructor" else shape
    if node.type == "gadt_constructor":
        record = shape.child_by_field_name("type")
    fields = record.child_by_field_name("fields") if record is not None else None
    for field in ((record if fields is None else fields).named_children) if record is not None else ():
        if field.type == "field":
            for name_node in field.children_by_field_name("name"):
                yield _member(context.text(name_node).strip(), "field", field, field.start_point[0] + 1, owner, context)


def _member(name: str, kind: SymbolKind, node: Node, first_line: int, owner: str, context: RuleContext) -> Definition:
    above, below = node.prev_named_sibling, node.next_named_sibling
    doc = ""
    if above is not None and above.type == "haddock" and not is_about_previous(above, context):
        doc = comment_text(above, context)
    elif below is not None and below.type == "haddock" and is_about_previous(below, context):
        doc = comment_text(below, context)
    return Definition(
        name=name,
        kind=kind,
        node=node,
        signature=without_comments(node, context),
        visibility=visibility_of(name, "value", context, owner),
        doc=doc,
        start_line=first_line,
        qualified_name=qualified_in_module(name, context),
    )


def foreign(node: Node, doc: str, context: RuleContext) -> Iterator[Found]:
    """`foreign import ccall "sin" c_sin :: Double -> Double`."""
    signature = node.child_by_field_name("signature")
    for name in [] if signature is None else names_of(signature, context):
        yield _function(name, node, node, without_comments(node, context), doc, context)


def imports(node: Node, context: RuleContext) -> Iterator[Found]:
    """`import A (b, C (..))` imports names, `import A` and `import A hiding (b)` all, `import qualified A` the module."""
    spec, alias = context.field_text(node, "module"), context.field_text(node, "alias")
    first, last = lines_of(node)
    words = {child.type for child in node.children}
    names = node.child_by_field_name("names")
    if names is not None and "hiding" not in words:
        for name in names.named_children:
            for field in ("variable", "type", "operator"):
                if (value := name.child_by_field_name(field)) is not None:
                    yield Import(first, last, spec, unqualified(value, context), alias)
                    break
        if not names.named_child_count:
            yield Import(first, last, spec, "", alias)
    else:
        yield Import(first, last, spec, "" if "qualified" in words else "*", alias)


DECLARATIONS: Final[Mapping[str, Callable[[Node, str, RuleContext], Iterator[Found]]]] = {
    "data_type": data,
    "newtype": data,
    "data_instance": data_instance,
    "type_synomym": type_alias,
    "type_family": type_alias,
    "data_family": type_alias,
    "abstract_family": type_alias,
    "class": type_class,
    "instance": instance,
    "deriving_instance": instance,
    "pattern_synonym": pattern_synonym,
    "foreign_import": foreign,
}

TESTS: Final = BlockTestSyntax(
    pattern=lazy.pattern(
        rb"\n[ \t,\[]*+(?P<head>describe|context|it|specify|prop|testCase|testProperty|testGroup|xit|xdescribe|fit)[ \t]+"
        + DOUBLE_QUOTED
    ),
    block=lazy.pattern(rb"[\w$(\[]"),
    nodes=frozenset({"apply", "exp", "infix"}),
)
"""Hspec and Tasty."""


def lexical_rules() -> LexicalRules:
    """Returns what its uses look like."""
    return LexicalRules(
        family="haskell",
        defines_at_line_start=True,
        comments_and_strings=any_of(r"\{-.*?(?:-\}|\Z)", r"--(?![!#$%&*+./<=>?@\\^|~:])[^\n]*+", DOUBLE_LINES, CHARACTER),
        name=re.compile(r"[^\W\d][\w']*+"),
        keywords=word_set(
            "case class data default deriving do else foreign forall if import in infix infixl infixr "
            "instance let module newtype "
            "of then type where qualified hiding as"
        ),
        own=frozenset(),
        declarations=(
            declared(r"(?<![\w'])(?P<names>[a-z_][\w']*+)[ \t]*+<-", "<-"),
            declared(r"\\(?P<names>[a-z_][\w' ]*+)\s*+->"),
        ),
        supertypes=SupertypeForms(implementation=re.compile(r"instance\b(?:[^\n=]*+=>)?\s*+(?P<bases>[\w.']++)")),
    )


HASKELL = Language(
    grammar="haskell",
    rules={
        "header": module,
        "imports": DESCEND,
        "import": imports,
        "declarations": declarations,
        "class_declarations": declarations,
        "instance_declarations": declarations,
        "data_constructors": DESCEND,
        "gadt_constructors": DESCEND,
        "data_constructor": constructor,
        "gadt_constructor": constructor,
        "newtype_constructor": constructor,
        "ERROR": declarations,
    },
    comment_starts=(b"--", b"{-"),
    tests=TESTS,
    module=module_of,
    prepare=prepare,
    before_walk=note_exports,
    recover=recover,
    uses=lexical_rules,
    imports=HASKELL_IMPORTS,
    binding=Binding(declares="module", files_are_modules=True),
    display=Display(line_comment="--"),
)
