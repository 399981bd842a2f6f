"""`get_symbol_hierarchy`: what encloses a symbol or what it encloses, what it inherits from or what inherits from it."""

from typing import Final

from codecompass.protocol.requests import GetSymbolHierarchy
from codecompass.transport.tools.tool import ROWS, Tool, answer, ask_index, shown_by_hosts

TOOL: Final = Tool(
    request=GetSymbolHierarchy,
    title="Show nesting or inheritance",
    description=(
        "What encloses a symbol, or with direction descendants what it encloses (class members); with relation supertypes or "
        "subtypes what a type inherits from, or what inherits from it. Not for who calls it."
    ),
    output=answer(hierarchy=ROWS),
    meta=shown_by_hosts("class members, subclasses, implementations"),
    run=ask_index,
)
