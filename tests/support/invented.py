"""A language that does not exist, whole as who adds one writes it: the grammar of Lua, whose macros `name!{..}` are calls."""

import re
from collections.abc import Iterator

from codecompass.languages.language import Definition, Found, Language, RuleContext, body_of
from codecompass.languages.nodes import Node
from codecompass.languages.uses.lexical_rules import LexicalRules
from codecompass.languages.uses.patterns import DASHES, DOUBLE, NAME, after, any_of, declared
from codecompass.languages.words import word_set


def function(node: Node, context: RuleContext) -> Iterator[Found]:
    yield Definition(context.field_text(node, "name"), "fn", node, body_of(node))


def uses() -> LexicalRules:
    return LexicalRules(
        family="invented",
        comments_and_strings=any_of(DASHES, DOUBLE),
        name=NAME,
        keywords=word_set("end function local return"),
        declarations=(declared(after("local") + r"[ \t]++(?P<names>\w++)[ \t]*+=[ \t]*+(?P<value>[^\n]*+)"),),
        special_call=re.compile(r"![ \t]*+\{"),
    )


INVENTED = Language(grammar="lua", rules={"function_declaration": function}, uses=uses)
