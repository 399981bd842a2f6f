"""Fortran: programs, modules, types with their components and bound procedures, functions, subroutines, interfaces, constants."""

import re
from collections.abc import Iterator

from codecompass.languages.display import Display
from codecompass.languages.imports.plain import plain_imports
from codecompass.languages.language import (
    DESCEND,
    Definition,
    Descend,
    Found,
    Language,
    RuleContext,
    RuleFunction,
    leading_comment,
)
from codecompass.languages.nodes import Node
from codecompass.languages.records import SymbolKind
from codecompass.languages.uses.lexical_rules import LexicalRules
from codecompass.languages.uses.patterns import NAME, any_of
from codecompass.languages.walk.node_rules import defines, descend, imports, reach
from codecompass.languages.words import word_set


def block(kind: SymbolKind, way: str) -> RuleFunction:
    """Returns a rule for a block that begins with a statement with its name."""

    def rule(node: Node, context: RuleContext) -> Iterator[Found]:
        names = reach(node, way)
        if names and node.named_child_count:
            head = context.text(node.named_child(0)).partition("!")[0]
            yield Definition(context.text(names[0]), kind, node, (node,), signature=re.sub(r"&\s*&?", "", head))
        elif kind == "interface" and context.enclosing not in ("fn", "method"):
            yield Descend(node)

    return rule


def variables(node: Node, context: RuleContext) -> Iterator[Found]:
    """`integer, parameter :: a = 1, b`: of a module or a type."""
    if context.enclosing in ("fn", "method"):
        return
    text = context.text(node)
    kind: SymbolKind = "field" if context.enclosing == "struct" else "const" if "parameter" in text.lower() else "var"
    for each in reach(node, "declarator"):
        name = re.match(r"\w+", context.text(each))
        if name is not None:
            yield Definition(name[0], kind, node, signature=text.partition("!")[0].partition("\n")[0])


def enumerator(node: Node, context: RuleContext) -> Iterator[Found]:
    """`enumerator :: a = 1, b`."""
    if node.parent is not None and node.parent.type == "enumerator_statement":
        name = context.text(node).partition("=")[0].strip()
        yield Definition(name, "const", node, signature=context.text(node.parent))


def procedures(node: Node, context: RuleContext) -> Iterator[Found]:
    """`procedure :: name => target` of a type."""
    if context.text(node)[:5].lower() == "final":
        return
    for each in reach(node, "declarator") if context.enclosing == "struct" else ():
        name = re.match(r"(?i)(?:operator|assignment|read|write)\s*\([^()]*\)|\w+", context.text(each))
        if name is not None:
            yield Definition(name[0], "method", node, signature=context.text(node).partition("\n")[0])


def documentation(node: Node, context: RuleContext) -> str:
    """Returns the comment above, whose lines may begin with `!>` and `!!`."""
    return re.sub(r"(?m)^[ \t]*!+[<>]?", "#", leading_comment(node, context))


def lexical_rules() -> LexicalRules:
    """Returns what its uses look like."""
    return LexicalRules(
        family="fortran",
        comments_and_strings=any_of(r"![^\n]*+", r'"(?>(?:[^"\n]++|"")*)"?', r"'(?>(?:[^'\n]++|'')*)'?"),
        name=NAME,
        keywords=word_set(
            "abstract allocatable allocate associate block call case character class complex concurrent contains contiguous",
            "cycle data deallocate default deferred dimension do double elemental else elseif elsewhere end enddo endif enum",
            "enumerator error exit extends external final forall format function generic go goto if implicit import impure in",
            "include inout integer intent interface intrinsic is kind len logical module namelist none nopass null nullify",
            "only open operator optional out parameter pass pointer precision print private procedure program protected",
            "public pure read real recursive result return rewind save select sequence stop submodule subroutine target then",
            "to type use value where while write",
        ),
        member_marks="%",
        own=frozenset(),
        above=frozenset(),
        keyword_argument=re.compile(r"[ \t]*+=(?!=)"),
    )


FORTRAN = Language(
    grammar="fortran",
    rules={
        **descend("internal_procedures derived_type_procedures preproc_ifdef preproc_if preproc_else enum enumerator_statement"),
        "module": block("module", "module_statement/name"),
        "submodule": block("module", "submodule_statement/name"),
        "program": block("module", "program_statement/name"),
        "function": block("fn", "function_statement/name"),
        "subroutine": block("fn", "subroutine_statement/name"),
        "module_procedure": block("fn", "module_procedure_statement/name"),
        "derived_type_definition": block("struct", "derived_type_statement/type_name"),
        "interface": block("interface", "interface_statement/name|operator"),
        "block_data": block("module", "block_data_statement/name"),
        "preproc_def": defines("macro", "name", ""),
        "preproc_function_def": defines("macro", "name", ""),
        "preproc_include": imports("path"),
        "init_declarator": enumerator,
        "identifier": enumerator,
        "procedure_statement": procedures,
        "variable_declaration": variables,
        "use_statement": imports("module_name"),
        "include_statement": imports("path"),
        "ERROR": DESCEND,
    },
    doc=documentation,
    imports=plain_imports(endings=("", ".f90", ".F90", ".f")),
    uses=lexical_rules,
    display=Display(line_comment="!"),
)
