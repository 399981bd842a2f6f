"""`locate_symbol`: go to the definition of a name."""

from typing import Final

from codecompass.protocol.requests import LocateSymbol
from codecompass.transport.tools.tool import ROWS, Tool, answer, ask_projects, shown_by_hosts

TOOL: Final = Tool(
    request=LocateSymbol,
    title="Locate a symbol",
    description=(
        "Go to definition: where a function, class, method, type or constant is defined: lines, signature, body. Takes a name, "
        "the end of a qualified one (Session.close), a symbol_id or src/x.py:120. For words or text: search_code."
    ),
    output=answer(results=ROWS),
    meta=shown_by_hosts("jump to definition", is_always_shown=True),
    run=ask_projects,
)
