"""Verilog and SystemVerilog: modules, interfaces, packages, classes, functions, tasks, nets, parameters, types."""

import re
from collections.abc import Iterator, Mapping
from typing import Final

from msgspec.structs import replace

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
    lines_of,
)
from codecompass.languages.nodes import Node
from codecompass.languages.records import CLASS_LIKE, Import, SymbolKind
from codecompass.languages.uses.lexical_rules import LexicalRules, SupertypeForms
from codecompass.languages.uses.patterns import BLOCK, DOLLAR_NAME, DOUBLE, SLASHES, any_of
from codecompass.languages.walk.heads import MAX_OPEN, closed
from codecompass.languages.walk.node_rules import defines, descend, imports, reach, written
from codecompass.languages.words import word_set

_DATA = (
    r"(?!import\b|typedef\b|config\b|design\b)(?:[\w:]++\s++)*?(?:\[[^\]]*+\]\s*+)*"
    r"(\w++(?:\s*+\[[^\]]*+\])*\s*+(?:=[^,;]*+)?(?:,\s*+\w++[^,;]*+)*);"
)
_ROUTINE: Final = re.compile(
    r"(?:(?:extern|virtual|static|pure|protected|local)\s+)*(?:function|task)\s+(?:(?:automatic|static)\s+)?"
    r"(?:(?:[^;(#]|\#\([^()]*\))*?[\s\]])??(?:(?P<owner>\w+)::)?(?P<name>\w+)\s*[;(]"
)
_FOREIGN: Final = re.compile(
    r"import\s+\"DPI(?:-C)?\"\s+(?:(?:context|pure)\s+)?(?:\w+\s*=\s*)?(?:function|task)\s+(?:[^;(]*?[\s\]])??(?P<name>\w+)\s*\("
)
_HEAD_CHARACTERS: Final = 2_000


def routine(node: Node, context: RuleContext) -> Iterator[Found]:
    """`function T name(..);`, `task Class::name(..);`, with or without a body."""
    text = context.text(node)[:_HEAD_CHARACTERS]
    found = _ROUTINE.match(text)
    if found is None:
        return
    kind: SymbolKind = "method" if found["owner"] or context.enclosing in CLASS_LIKE else "fn"
    owners = (*context.scope_names, found["owner"]) if found["owner"] else None
    yield Definition(found["name"], kind, node, signature=text.partition(";")[0], qualifier=owners)


def foreign(node: Node, context: RuleContext) -> Iterator[Found]:
    """`import "DPI-C" function int name(..)`, which the grammar does not know."""
    found = _FOREIGN.match(context.text(node)[:_HEAD_CHARACTERS])
    if found is None:
        yield Descend(node)
    else:
        yield Definition(found["name"], "method" if context.enclosing in CLASS_LIKE else "fn", node)


_named_type: Final = written("type", r"typedef[\s\S]*[\s}](\w+)\s*(?:\[[^\]]*\]\s*)*;")


def type_(node: Node, context: RuleContext) -> Iterator[Found]:
    """`typedef enum {A, B} name;`, `typedef struct {..} name;`, `typedef T name;`; a class is only announced by its own."""
    text = context.text(node)
    if re.match(r"typedef\s+class\b", text):
        return
    values = reach(node, "data_type/enum_name_declaration")
    fields = reach(node, "data_type/struct_union_member/list_of_variable_decl_assignments/variable_decl_assignment")
    members = tuple(
        Definition(name[0], "const" if values else "field", each)
        for each in values or fields
        if (name := re.match(r"\w+", context.text(each)))
    )
    kind: SymbolKind = "enum" if values else "struct" if reach(node, "data_type/struct_union") else "type"
    found = re.search(r"[\s}](\w+)\s*(?:\[[^\]]*\]\s*)*;\s*\Z", text)
    if kind == "type" or found is None:
        yield from _named_type(node, context)
    else:
        yield Definition(found[1], kind, node, signature=f"{text.partition('{')[0].strip()} {found[1]}", members=members)


def listed(kind: SymbolKind, rule: RuleFunction, way: str) -> RuleFunction:
    """Returns a rule for a declaration of several names, each of which a way leads to; the other rule is for what has none."""

    def rule_or_names(node: Node, context: RuleContext) -> Iterator[Found]:
        found = tuple(rule(node, context))
        each_name = reach(node, way)
        names = [re.match(r"\w+", context.text(each)) for each in each_name]
        if len(names) > len(found):
            own: SymbolKind = "field" if kind == "var" and context.enclosing in CLASS_LIKE else kind
            found = tuple(Definition(name[0], own, node) for name in names if name)
        if len(names) == len(found) > 1:
            lines = [each.start_point[0] + 1 for each in each_name]
            found = tuple(
                replace(one, start_line=line, end_line=line) if isinstance(one, Definition) else one
                for one, line in zip(found, lines, strict=True)
            )
        yield from found or (Descend(node),)

    return rule_or_names


_VARIABLES: Final = "list_of_variable_decl_assignments/variable_decl_assignment"


def port(node: Node, context: RuleContext) -> Iterator[Found]:
    """`input a, b;` of a module whose header has only names."""
    for each in reach(node, "input_declaration|output_declaration|inout_declaration"):
        for names in each.named_children:
            if names.type.startswith("list_of_"):
                for name in names.named_children:
                    if (word := re.match(r"\w+", context.text(name))) is not None:
                        yield Definition(word[0], "field" if context.enclosing in CLASS_LIKE else "var", node)


def headed(rule: RuleFunction) -> RuleFunction:
    """Returns a rule whose definitions have as signature what is before the first `;`, `{` or line break."""

    def rule_with_head(node: Node, context: RuleContext) -> Iterator[Found]:
        head = re.split(r"[;{\n]", context.text(node)[:_HEAD_CHARACTERS], maxsplit=1)[0]
        for found in rule(node, context):
            yield replace(found, signature=head.strip()) if isinstance(found, Definition) else found

    return rule_with_head


def instance(node: Node, context: RuleContext) -> Iterator[Found]:
    """`module_name name (.port, ..);`, which the grammar may take for the instance of a checker."""
    for each in reach(node, "name_of_instance"):
        name = re.match(r"\w+", context.text(each))
        if name is not None:
            yield Definition(name[0], "field" if context.enclosing in CLASS_LIKE else "var", node)


_HELD: Final[Mapping[str, SymbolKind]] = {
    "class": "class",
    "interface": "interface",
    "module": "class",
    "package": "module",
    "program": "class",
    "function": "fn",
    "task": "fn",
}
_BLOCK: Final = re.compile(
    rb"//[^\n]*+|/\*(?s:.*?)(?:\*/|\Z)|\"(?>(?:[^\"\\\n]++|\\.)*)\"?"
    rb"|\bend(?P<end>class|interface|module|package|program|function|task)\b"
    rb"|^[ \t]*+(?P<before>(?:\(\*[^\n]*?\*\)\s*+)?(?>(?:(?:virtual|static|pure|protected|local|extern|automatic)[ \t]++)*))"
    rb"(?P<word>class|interface|module|package|program)[ \t]++(?:(?:automatic|static)[ \t]++)?(?P<name>\w++)(?![ \t]*+[=.:])"
    rb"|^[ \t]*+(?P<before_routine>(?>(?:(?:virtual|static|pure|protected|local|extern)[ \t]++)*))"
    rb"(?P<routine>function|task)\b(?P<head>[^;(\n]*+)[;(]",
    re.MULTILINE,
)
"""The first and the last word of a block, at the beginning of a line the first; comments and strings, in which none begins."""


def recover(root: Node, context: RuleContext) -> Iterator[Definition]:
    """Yields the blocks of a file that the grammar cannot parse: it knows few macros, and one hides the class around it."""
    source, line, counted = context.source, 1, 0
    open_: list[tuple[str, Definition, list[Definition]]] = []
    for match in _BLOCK.finditer(source):
        if match["end"] is not None:
            word = match["end"].decode()
            # What was left open within it has no end of its own.
            index = next((at for at in reversed(range(len(open_))) if open_[at][0] == word), None)
            if index is not None:
                last = line + source.count(b"\n", counted, match.start())
                while len(open_) > index:
                    yield from closed(open_, last)
            continue
        word = (match["word"] or match["routine"] or b"").decode()
        name = match["name"] or (re.split(rb"[\s\]:]", match["head"].rstrip())[-1] if match["head"] is not None else b"")
        before = match["before"] or match["before_routine"] or b""
        if not name or (word == "interface" and b"virtual" in before):
            continue
        start = match.start("word" if match["word"] else "routine") - len(before)
        line += source.count(b"\n", counted, start)
        counted = start
        kind = "method" if word in ("function", "task") and any(held == "class" for held, _, _ in open_) else _HELD[word]
        head = source[start : source.find(b";", start) if b";" in source[start : start + _HEAD_CHARACTERS] else match.end()]
        found = Definition(
            name.decode("utf-8", "replace"), kind, root, signature=head.decode("utf-8", "replace"), start_line=line, end_line=line
        )
        if len(open_) >= MAX_OPEN:
            continue
        if b"extern" in before or b"pure" in before:
            if open_:
                open_[-1][2].append(found)
            else:
                yield found
        else:
            open_.append((word, found, []))
    while open_:
        yield from closed(open_, line)


def package_import(node: Node, context: RuleContext) -> Iterator[Found]:
    """`import a::*, b::c;`."""
    for each in reach(node, "package_import_item"):
        package, _, name = context.text(each).partition("::")
        yield Import(*lines_of(each), package.strip(), name.strip())


def lexical_rules() -> LexicalRules:
    """Returns what its uses look like."""
    return LexicalRules(
        family="verilog",
        comments_and_strings=any_of(SLASHES, BLOCK, DOUBLE, r"'[bBdDhHoO][\w?]++"),
        name=DOLLAR_NAME,
        keywords=word_set(
            "always always_comb always_ff always_latch and assert assign automatic begin bit buf byte case casex casez class",
            "const constraint default define disable do else end endcase endclass endfunction endgenerate endif endinterface",
            "endmodule endpackage endtask enum export extends extern final for foreach forever fork function generate genvar",
            "if ifdef ifndef import include initial inout input int integer interface join local localparam logic longint",
            "modport module negedge new nand nor not null or output package packed parameter posedge protected public pure",
            "rand ref reg repeat return shortint signed static string struct super supply0 supply1 task this time timescale",
            "tri type typedef union unique unsigned var virtual void wait while wire with xnor xor",
        ),
        own=frozenset({"this"}),
        call_marks="`",
        supertypes=SupertypeForms(head=re.compile(r"\w++\s++extends\b(?P<bases>[^{;]*+)")),
    )


VERILOG = Language(
    grammar="verilog",
    rules={
        **descend("package_or_generate_item_declaration module_or_generate_item class_item"),
        **descend("interface_or_generate_item"),
        **descend("module_ansi_header parameter_port_list generate_region"),
        **descend("generate_block"),
        **descend("loop_generate_construct if_generate_construct"),
        **descend("list_of_port_declarations modport_declaration coverage_spec_or_option concurrent_assertion_item"),
        **descend("interface_ansi_header program_ansi_header"),
        "include_compiler_directive": imports("double_quoted_string|include_compiler_directive_standard", quotes="'\"<>"),
        "text_macro_definition": defines("macro", "text_macro_name/text_macro_identifier", ""),
        "package_declaration": defines("module", "package_identifier", "."),
        "module_declaration": written("class", r"\s*(?:\(\*.*?\*\)\s*)?(?:macro)?module\s+(?:automatic\s+|static\s+)?(\w+)", "."),
        "interface_declaration": written("interface", r"\s*interface\s+(?:automatic\s+)?(\w+)", "."),
        "class_declaration": defines("class", "class_identifier", "."),
        "program_declaration": written("class", r"\s*program\s+(?:automatic\s+|static\s+)?(\w+)", "."),
        "udp_declaration": headed(written("class", r"\s*primitive\s+(\w+)")),
        "checker_declaration": written("class", r"\s*checker\s+(\w+)", "."),
        "function_declaration": routine,
        "task_declaration": routine,
        "class_method": routine,
        "constraint_declaration": written("field", r"(?:static\s+)?constraint\s+(\w+)"),
        "covergroup_declaration": written("class", r"covergroup\s+(\w+)", "."),
        "cover_point": written("field", r"(\w+)\s*:\s*coverpoint\b"),
        "cover_cross": written("field", r"(\w+)\s*:\s*cross\b"),
        "property_declaration": headed(written("fn", r"property\s+(\w+)")),
        "sequence_declaration": headed(written("fn", r"sequence\s+(\w+)")),
        "clocking_declaration": headed(written("var", r"(?:default\s+|global\s+)?clocking\s+(\w+)")),
        "port_declaration": port,
        "package_import_declaration": package_import,
        "parameter_declaration": listed(
            "const", written("const", r"parameter\s+(?:[^=;]*?[\s\]])?(\w+)\s*="), "list_of_param_assignments/param_assignment"
        ),
        "local_parameter_declaration": listed(
            "const", written("const", r"localparam\s+(?:[^=;]*?[\s\]])?(\w+)\s*="), "list_of_param_assignments/param_assignment"
        ),
        "parameter_port_declaration": written("const", r"(?:parameter\s+)?(?:[^=,]*?[\s\]])?(\w+)\s*(?:=|$)"),
        "ansi_port_declaration": written("var", r"[^=]*?(\w+)\s*(?:\[[^\]]*\]\s*)*(?:=.*)?$"),
        "net_declaration": written("var", _DATA, several=True),
        "data_declaration": listed("var", written("var", _DATA, several=True), _VARIABLES),
        "module_instantiation": DESCEND,
        "interface_instantiation": DESCEND,
        "checker_instantiation": instance,
        "hierarchical_instance": written("var", r"(\w+)\s*(?:\[[^\]]*\]\s*)*\("),
        "class_property": listed("field", written("field", _DATA, several=True), f"data_declaration/{_VARIABLES}"),
        "type_declaration": type_,
        "modport_item": defines("field", "modport_identifier", ""),
        "ERROR": foreign,
    },
    recover=recover,
    imports=plain_imports(endings=("", ".sv", ".svh", ".v")),
    uses=lexical_rules,
    display=Display(lexer="systemverilog"),
)
