"""Vim script: functions, commands, global variables, groups of autocommands; `source` and `runtime`."""

import re
from collections.abc import Iterator

from codecompass.languages.display import Display
from codecompass.languages.imports.plain import plain_imports
from codecompass.languages.language import Definition, Found, Language, RuleContext, first_child
from codecompass.languages.nodes import Node
from codecompass.languages.uses.lexical_rules import LexicalRules
from codecompass.languages.uses.patterns import DOUBLE, SINGLE, any_of
from codecompass.languages.walk.node_rules import defines, descend, imports, written
from codecompass.languages.words import word_set


def variable(node: Node, context: RuleContext) -> Iterator[Found]:
    """`let g:name = ..`, and `let name` outside functions."""
    target = first_child(node)
    if target is not None and context.enclosing is None and re.fullmatch(r"(?:[gsbtw]:)?\w+", context.text(target)):
        yield Definition(context.text(target).rpartition(":")[2], "var", node)


def lexical_rules() -> LexicalRules:
    """Returns what its uses look like."""
    return LexicalRules(
        family="vim",
        comments_and_strings=any_of(r'"(?<![^\n]")[^\n]*+', r'(?<=\n[ \t])"[^\n]*+', DOUBLE, SINGLE),
        name=re.compile(r"[^\W\d][\w#]*"),
        keywords=word_set(
            "function fun endfunction endfun let const unlet if else elseif endif for in endfor while endwhile return call",
            "execute try catch finally endtry throw abort range dict echo silent set setlocal command autocmd augroup",
            "nnoremap finish",
        ),
        own=frozenset({"self"}),
        call_marks=":",
    )


VIM = Language(
    grammar="vim",
    rules={
        **descend("if_statement try_statement body augroup"),
        "function_definition": written("fn", r"fu\w*!?\s+(?:[gsbtwl]:)?([\w#.]+)", "body"),
        "command_statement": defines("macro", "name", ""),
        "let_statement": variable,
        "const_statement": variable,
        "augroup_statement": written("module", r"aug\w*\s+(?!END)(\w+)"),
        "source_statement": imports("file"),
        "runtime_statement": imports("filename"),
    },
    separator="#",
    imports=plain_imports(endings=("", ".vim")),
    uses=lexical_rules,
    display=Display(line_comment='"'),
)
