"""C: functions and prototypes, structs and unions with their fields, enumerators, typedefs, variables, macros."""

from collections.abc import Mapping
from typing import Final

from codecompass.languages.c_definitions import (
    block,
    declaration,
    enumerator,
    function,
    include,
    macro,
    statement,
    tagged_type,
    typedef,
)
from codecompass.languages.c_preprocessing import prepare
from codecompass.languages.language import DESCEND, Language, Rule, no_module
from codecompass.languages.source_text import comment_above

C_RULES: Final[Mapping[str, Rule]] = {
    "function_definition": function,
    "declaration": declaration,
    "field_declaration": declaration,
    "struct_specifier": tagged_type,
    "union_specifier": tagged_type,
    "enum_specifier": tagged_type,
    "enumerator": enumerator,
    "type_definition": typedef,
    "preproc_def": macro,
    "preproc_function_def": macro,
    "preproc_include": include,
    "expression_statement": statement,
    "linkage_specification": DESCEND,
    "declaration_list": DESCEND,
    "ERROR": DESCEND,
    # Preparation blanks conditional directives; these rules are for a directive that it could not pair.
    "preproc_if": DESCEND,
    "preproc_ifdef": DESCEND,
    "preproc_elif": DESCEND,
    "preproc_elifdef": DESCEND,
    "preproc_else": DESCEND,
    # Blocks in functions that hold a definition.
    "compound_statement": block,
    "if_statement": DESCEND,
    "else_clause": DESCEND,
    "for_statement": DESCEND,
    "while_statement": DESCEND,
    "do_statement": DESCEND,
    "switch_statement": DESCEND,
    "case_statement": DESCEND,
    "labeled_statement": DESCEND,
}

C = Language(
    name="c",
    grammar="c",
    extensions=(".c", ".h"),
    rules=C_RULES,
    separator="::",
    prepare=prepare,
    module=no_module,
    doc=comment_above,
)
