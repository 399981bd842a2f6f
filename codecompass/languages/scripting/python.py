"""Python: functions, classes, methods, variables of modules and classes, the attributes that `__init__` sets, imports.

In the grammar simple statements are direct children of their block, without an `expression_statement`.
"""

import re
from collections.abc import Iterator
from typing import Final

from codecompass import lazy
from codecompass.languages.binding import Binding, Members
from codecompass.languages.display import DECORATORS, Display
from codecompass.languages.language import (
    DESCEND,
    Definition,
    Found,
    Language,
    RuleContext,
    body_of,
    children_in,
    leading_comment,
    lines_of,
    without_comments,
)
from codecompass.languages.nodes import Node
from codecompass.languages.records import CLASS_LIKE, Import, SymbolKind, Visibility
from codecompass.languages.scripting.python_imports import PYTHON_IMPORTS, python_module
from codecompass.languages.scripting.python_routes import registered
from codecompass.languages.templates.marked_strings import QUOTED_STRINGS
from codecompass.languages.uses.expressions import typed
from codecompass.languages.uses.lexical_rules import Cast, LexicalRules, NamingStrings, SupertypeForms, TypeConditions
from codecompass.languages.uses.patterns import (
    DOUBLE,
    HASH,
    NAMES,
    PATH,
    SINGLE,
    TRIPLE,
    TRIPLE_SINGLE,
    after,
    any_of,
    declared,
    loop,
)
from codecompass.languages.words import word_set
from codecompass.languages.written_types import WrittenTypes

DECORATABLE: Final = frozenset({"function_definition", "class_definition"})
PATTERNS: Final = frozenset({"pattern_list", "tuple_pattern", "list_pattern", "list_splat_pattern"})
BLOCKS: Final = frozenset(
    {"if_statement", "elif_clause", "else_clause", "try_statement", "except_clause", "finally_clause"}
    | {"with_statement", "for_statement", "while_statement", "block"}
)
ENUM_BASE: Final = lazy.pattern(r"\b\w*(?:Enum|Flag|Choices)\b")


def visibility_of(_node: Node, name: str, _context: RuleContext) -> Visibility:
    """Returns the visibility by convention: a leading underscore is private, dunder names are public."""
    return "private" if name.startswith("_") and not (name.startswith("__") and name.endswith("__")) else "public"


def docstring(node: Node, context: RuleContext) -> str:
    """Returns the docstring, else the comment above the definition or its decorators."""
    body = node.child_by_field_name("body")
    # named_child(0) raises IndexError on the empty block of a cut-off file.
    if body is not None and body.named_child_count:
        first = body.named_child(0)
        if first is not None and first.type == "string":
            return context.text(first)
    # Finding the parent walks down from the root, so it is done only for what can be decorated.
    decorated = node.parent if node.type in DECORATABLE else None
    return leading_comment(decorated if decorated is not None and decorated.type == "decorated_definition" else node, context)


def class_definition(node: Node, context: RuleContext) -> Iterator[Found]:
    """A class. For its members it is noted whether it is an enum."""
    bases = node.child_by_field_name("superclasses")
    if bases is not None and ENUM_BASE.search(context.text(bases)):
        context.notes["enum", *context.scope_names, context.field_text(node, "name")] = ""
    yield Definition(name=context.field_text(node, "name"), kind="class", node=node, bodies=body_of(node))


def function_definition(node: Node, context: RuleContext) -> Iterator[Found]:
    """A function or method, and the attributes of `self` that `__init__` sets."""
    name = context.field_text(node, "name")
    is_member = context.enclosing in CLASS_LIKE
    yield Definition(name=name, kind="method" if is_member else "fn", node=node, bodies=body_of(node))
    if is_member and name == "__init__":
        yield from attributes(node, context)


def attributes(initializer: Node, context: RuleContext) -> Iterator[Definition]:
    """Yields the first assignment to each `self.x` in the body of `__init__`, unless the class itself defines `x`."""
    pending = list(reversed(children_in(initializer, "body")))
    while pending:
        statement = pending.pop()
        if statement.type in BLOCKS:
            pending.extend(reversed(statement.named_children))
            continue
        for target in targets(statement):
            if target.type == "attribute" and context.field_text(target, "object") == "self":
                name = context.field_text(target, "attribute")
                note = ("member", *context.scope_names, name)
                if note not in context.notes:
                    context.notes[note] = ""
                    yield Definition(name=name, kind="field", node=statement, signature=without_comments(statement, context))


def targets(statement: Node) -> Iterator[Node]:
    """Yields the targets of an assignment in order: both of `a = b = 1`, all three of `a, (b, *c) = x`."""
    while statement is not None and statement.type == "assignment":
        left = statement.child_by_field_name("left")
        pending = [left] if left is not None else []
        while pending:
            target = pending.pop()
            if target.type in PATTERNS:
                pending.extend(reversed(target.named_children))
            else:
                yield target
        right = statement.child_by_field_name("right")
        if right is None:
            return
        statement = right


def assignment(node: Node, context: RuleContext) -> Iterator[Found]:
    """Assignments in a module or class; those in functions are local and left out."""
    enclosing = context.enclosing
    if enclosing is not None and enclosing not in CLASS_LIKE:
        return
    is_enum = enclosing is not None and ("enum", *context.scope_names) in context.notes
    is_final = context.field_text(node, "type").removeprefix("typing.").startswith("Final")
    doc = None
    for target in targets(node):
        if target.type != "identifier":
            continue
        name = context.text(target)
        kind: SymbolKind = "var" if enclosing is None else "field"
        if is_final or name.isupper() or (is_enum and not name.startswith("_")):
            kind = "const"
        if enclosing is not None:
            context.notes["member", *context.scope_names, name] = ""
        if doc is None:
            doc = leading_comment(node, context) or following_docstring(node, context)
        yield Definition(name=name, kind=kind, node=node, signature=without_comments(node, context), doc=doc)


def following_docstring(node: Node, context: RuleContext) -> str:
    """Returns the string statement below an assignment, which tools treat as its documentation."""
    following = node.next_named_sibling
    return context.text(following) if following is not None and following.type == "string" else ""


def type_alias(node: Node, context: RuleContext) -> Iterator[Found]:
    """`type Name = ...` (PEP 695)."""
    name = context.field_text(node, "left").split("[", 1)[0].strip()
    # In a cut-off docstring, a sentence that begins with `type` is parsed as an alias.
    if name.isidentifier():
        doc = leading_comment(node, context) or following_docstring(node, context)
        yield Definition(name=name, kind="type", node=node, doc=doc)


def imports(node: Node, context: RuleContext) -> Iterator[Found]:
    """`import a.b as c` and `from a import b as c, d`."""
    first, last = lines_of(node)
    module = node.child_by_field_name("module_name")
    names = node.children_by_field_name("name")
    spec = context.text(module) if module is not None else ""
    if node.type == "future_import_statement":
        spec = "__future__"
    if any(child.type == "wildcard_import" for child in node.named_children):
        yield Import(first, last, spec, "*")
    for child in names:
        alias = ""
        if child.type == "aliased_import":
            alias = context.field_text(child, "alias")
            name = context.field_text(child, "name")
        else:
            name = context.text(child)
        if spec:
            yield Import(first, last, spec, name, alias)
        else:
            yield Import(first, last, name, "", alias)


# Begins with one character class, for which `re` is five times faster than for several alternatives.
_STRINGS: Final = (
    r"[\"'](?:(?P<code>(?<=\b[fF].)|(?<=\b[fF][rR].)|(?<=\b[rR][fF].)))?"
    rf"(?:(?<=\")(?:{TRIPLE[1:]}|{DOUBLE[1:]})|(?<=')(?:{TRIPLE_SINGLE[1:]}|{SINGLE[1:]}))"
)
_CAST: Final = lazy.pattern(
    r"\s*+(?:\w+\.)?cast\(\s*+[\"']?(?P<type>(?:[A-Z][\w.]*+|[\w.]++(?=\[))(?:\[[\w.\[\], |]{1,60}\])?)[\"']?\s*+,"
)


def _is_cast(_names: str, value: str) -> bool:
    return value.startswith(("cast(", "typing.cast(", "t.cast("))


def _cast_to(text: str, written: str, before: int, last: int) -> str:
    """Returns the expression for what a call of `cast` returns; '' if the name that ends at `before` is another."""
    start = before - 3
    if text[max(start, 0) : before + 1] != "cast" or text[start - 1].isalnum() or text[start - 1] == "_":
        return ""
    found = _CAST.match(written[start : last + 1])
    return "" if found is None else typed(found["type"])


def lexical_rules() -> LexicalRules:
    """Returns what its uses look like."""
    return LexicalRules(
        family="python",
        built_in=word_set(
            "ArithmeticError AssertionError AttributeError BaseException Exception ImportError IndexError KeyError LookupError "
            "NameError NotImplementedError OSError RuntimeError StopIteration TypeError UnicodeError ValueError bool bytearray "
            "bytes complex dict float frozenset int list memoryview object range set slice str tuple type"
        ),
        comments_and_strings=any_of(HASH, _STRINGS),
        interpolation=re.compile(r"(?<!\{)\{([^{}]++)\}"),
        name=re.compile(r"[^\W\d]\w*+(?![\"'])"),
        keywords=word_set(
            "False None True and as assert async await break class continue def del elif else except finally for from global if "
            "import in is lambda nonlocal not or pass raise return try while with yield"
        ),
        own=frozenset({"self", "cls"}),
        declarations=(
            declared(
                rf"\n[ \t]*+(?P<names>{NAMES})"
                rf"(?:[ \t]*+:[ \t]*+(?P<type>[^=\n]++)(?<=[ \t])|[ \t]++)=(?!=)[ \t]*+(?P<value>[^\n]*+)"
            ),
            declared(r"\n[ \t]*+(?P<names>\w++)=(?!=)(?P<value>[^\n]*+)(?<!,)$"),
            declared(r"\n[ \t]++(?P<names>\w++)[ \t]*+:[ \t]*+(?P<type>[\w.\[\], |\"']+)$"),
            loop(after("for") + r"\s++(?P<names>[\w,\s()*]{1,200}?)\s++in\b(?P<value>[^\n]{0,200})"),
            declared(after("with except") + r"(?P<value>[^\n]{0,200}?)\bas[ \t]++(?P<names>\w++)"),
            declared(r"(?<!\w)(?P<names>\w++)[ \t]*+:=(?P<value>[^\n]*+)", ":="),
            declared(after("lambda") + r"\s++(?P<names>[\w,\s*]{1,200}):"),
        ),
        keyword_argument=re.compile(r"=(?!=)\S"),
        keys_of_type="parentheses",
        pairs=".items()",
        casts=(Cast("cast(", _CAST),),
        has_lists=True,
        naming_strings=NamingStrings(mark="cast(", are_in=_is_cast, ending=_cast_to),
        supertypes=SupertypeForms(head=re.compile(r"\w++(?:\[[^\]]*+\])?\s*+\((?P<bases>[^()]*+(?>(?:\([^()]*+\)[^()]*+)*))")),
        conditions=TypeConditions(
            mark="isinstance(",
            pattern=re.compile(
                rf"isinstance\((?<![\w.]isinstance\()\s*+{PATH}\s*+,\s*+"
                r"(?P<type>[\w.]++(?>(?:\s*+\|\s*+[\w.]++)*)|\([\w., \n]{1,200}+\))\s*+\)"
            ),
            has_indented_blocks=True,
        ),
    )


PYTHON = Language(
    grammar="python",
    rules={
        "function_definition": function_definition,
        "class_definition": class_definition,
        "decorated_definition": DESCEND,
        "assignment": assignment,
        "type_alias_statement": type_alias,
        "import_statement": imports,
        "import_from_statement": imports,
        "future_import_statement": imports,
        **dict.fromkeys(BLOCKS, DESCEND),
        "match_statement": DESCEND,
        "case_clause": DESCEND,
        "ERROR": DESCEND,
    },
    nested_markers=(b"def ", b"class ", b"import "),
    comment_starts=(b"#",),
    path_module=python_module,
    imports=PYTHON_IMPORTS,
    visibility=visibility_of,
    doc=docstring,
    registers=registered,
    uses=lexical_rules,
    binding=Binding(
        hides_nested_names=True,
        has_no_other_names=True,
        files_share_no_names=True,
        binds_first_part=True,
        exports_imports=True,
        declaration_endings=(".pyi",),
    ),
    members=Members(functions_are_properties=True),
    types=WrittenTypes(variables="colon", results="arrow", has_square_brackets=True, supertypes="parentheses"),
    display=Display(attribute_starts=DECORATORS, line_comment="#"),
    regions=QUOTED_STRINGS,
)
