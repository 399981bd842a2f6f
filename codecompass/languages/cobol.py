"""COBOL: programs, paragraphs and sections of the procedures, data items with their levels; `COPY`."""

import re
from collections.abc import Iterator

from codecompass.languages.display import Display
from codecompass.languages.imports.plain import plain_imports
from codecompass.languages.language import DESCEND, Found, Language, RuleContext, lines_of
from codecompass.languages.nodes import Node
from codecompass.languages.records import Import
from codecompass.languages.uses.lexical_rules import LexicalRules
from codecompass.languages.uses.patterns import DOUBLE, SINGLE, any_of
from codecompass.languages.walk.node_rules import defines, descend, written
from codecompass.languages.words import word_set


def copied(node: Node, context: RuleContext) -> Iterator[Found]:
    """`COPY name.`"""
    words = context.text(node).split()
    if len(words) > 1:
        yield Import(*lines_of(node), words[1].strip(".'\""))


def lexical_rules() -> LexicalRules:
    """Returns what its uses look like."""
    return LexicalRules(
        family="cobol",
        comments_and_strings=any_of(r"\*(?<=\n.{6}\*)[^\n]*+", r"\*>[^\n]*+", DOUBLE, SINGLE),
        name=re.compile(r"[A-Za-z][\w-]*"),
        keywords=word_set(
            "ACCEPT ADD ALTER AND ARE AT BY CALL CLOSE COMPUTE CONTINUE COPY DATA DELETE DISPLAY DIVIDE DIVISION ELSE END",
            "END-IF END-PERFORM END-READ ENVIRONMENT EVALUATE EXIT FD FILE FROM GIVING GO GOBACK IDENTIFICATION IF INPUT",
            "INSPECT INTO IS LINKAGE MOVE MULTIPLY NEXT NOT OF OPEN OR OTHER OUTPUT PERFORM PIC PICTURE PROCEDURE PROGRAM",
            "PROGRAM-ID READ REWRITE RUN SECTION SENTENCE SET SORT STOP STORAGE STRING SUBTRACT THEN THRU TIMES TO UNTIL",
            "USING VALUE VARYING WHEN WITH WRITE WORKING-STORAGE ZERO SPACES",
        ),
        member_marks="",
        own=frozenset(),
        above=frozenset(),
    )


COBOL = Language(
    grammar="cobol",
    rules={
        **descend("data_division working_storage_section linkage_section file_section procedure_division"),
        **descend("local_storage_section"),
        "program_definition": defines("module", "identification_division/program_name", "."),
        "data_description": defines("var", "entry_name", ""),
        "file_description_entry": defines("var", "file_name", ""),
        "paragraph_header": defines("fn", ".", "", quotes="."),
        "section_header": written("fn", r"([\w-]+)"),
        "copy_statement": copied,
        "ERROR": DESCEND,
    },
    imports=plain_imports(endings=("", ".cpy", ".cbl")),
    uses=lexical_rules,
    display=Display(line_comment="*>", lexer="cobol"),
)
