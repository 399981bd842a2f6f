"""Verilog and SystemVerilog: modules, interfaces, packages, classes, functions, tasks, nets, parameters, types."""

import re

from codecompass.languages.display import Display
from codecompass.languages.imports.plain import plain_imports
from codecompass.languages.language import DESCEND, Language
from codecompass.languages.uses.lexical_rules import LexicalRules, SupertypeForms
from codecompass.languages.uses.patterns import BLOCK, DOLLAR_NAME, DOUBLE, SLASHES, any_of
from codecompass.languages.walk.node_rules import defines, descend, imports, or_descend, written
from codecompass.languages.words import word_set

_DATA = (
    r"(?!import\b|typedef\b)(?:[\w:]++\s++)*?(?:\[[^\]]*+\]\s*+)*"
    r"(\w++(?:\s*+\[[^\]]*+\])*\s*+(?:=[^,;]*+)?(?:,\s*+\w++[^,;]*+)*);"
)
_ROUTINE = (
    r"(?:(?:extern|virtual|static|pure|protected|local)\s+)*(?:function|task)\s+(?:(?:automatic|static)\s+)?"
    r"(?:[^;(]*?[\s\]:])?(\w+)\s*[;(]"
)


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
        **descend("list_of_port_declarations"),
        "include_compiler_directive": imports("double_quoted_string"),
        "text_macro_definition": defines("macro", "text_macro_name/text_macro_identifier", ""),
        "package_declaration": defines("module", "package_identifier", "."),
        "module_declaration": written("class", r"\s*(?:\(\*.*?\*\)\s*)?(?:macro)?module\s+(?:automatic\s+|static\s+)?(\w+)", "."),
        "interface_declaration": written("interface", r"\s*interface\s+(?:automatic\s+)?(\w+)", "."),
        "class_declaration": defines("class", "class_identifier", "."),
        "function_declaration": written("fn", _ROUTINE),
        "task_declaration": written("fn", _ROUTINE),
        "class_method": written("fn", _ROUTINE),
        "parameter_declaration": written("const", r"parameter\s+(?:[^=;]*?[\s\]])?(\w+)\s*="),
        "local_parameter_declaration": written("const", r"localparam\s+(?:[^=;]*?[\s\]])?(\w+)\s*="),
        "parameter_port_declaration": written("const", r"(?:parameter\s+)?(?:[^=,]*?[\s\]])?(\w+)\s*(?:=|$)"),
        "ansi_port_declaration": written("var", r"[^=]*?(\w+)\s*(?:\[[^\]]*\]\s*)*(?:=.*)?$"),
        "net_declaration": written("var", _DATA, several=True),
        "data_declaration": or_descend(written("var", _DATA, several=True)),
        "module_instantiation": DESCEND,
        "hierarchical_instance": written("var", r"(\w+)\s*(?:\[[^\]]*\]\s*)*\("),
        "class_property": written("field", _DATA, several=True),
        "type_declaration": written("type", r"typedef[\s\S]*[\s}](\w+)\s*(?:\[[^\]]*\]\s*)*;"),
        "modport_item": defines("field", "modport_identifier", ""),
        "ERROR": DESCEND,
    },
    imports=plain_imports(),
    uses=lexical_rules,
    display=Display(lexer="systemverilog"),
)
