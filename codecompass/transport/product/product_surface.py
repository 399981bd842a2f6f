"""The product's surface: its name, what a model is told of it at the start, and the parts it is made of."""

from collections.abc import Mapping
from typing import Final

from codecompass import __version__
from codecompass.settings import AnswerForm
from codecompass.transport.calls import Tools
from codecompass.transport.mcp.surface import Surface
from codecompass.transport.mcp.wire import Implementation
from codecompass.transport.product.completions import ProductCompletions
from codecompass.transport.product.job_directory import JobDirectory
from codecompass.transport.product.prompts import ProductPrompts
from codecompass.transport.product.resources import ProductResources
from codecompass.transport.product.tool_calls import ProductTools

_TOOLS: Final = """\
CodeCompass answers questions about a code base from a local index that follows the working tree. Prefer it to grep, find \
and reading whole files.

Which tool:
- search_code: words, an identifier, an error message, a regular expression (mode "regex"), an exact text (mode "literal").
- locate_symbol: where a function, class, type or constant is defined, by its name or qualified name.
- get_file_outline: what a file defines, instead of reading it.
- get_symbol_hierarchy: what encloses a symbol, or what it contains. find_related_symbols: what stands near it.
- get_code_context: the code for a question within max_tokens, in one call. Good for a first look.
- index_status: is the index fresh, what was skipped and why. health_check: the state of the server.
- index_repo, sync_repo: only when an answer says so.

How to use it:
- The project is found by itself: leave out workspace and project_id unless an answer asks for one of them.
"""

_JSON_ANSWERS: Final = """\
- Begin with small answers (detail_level "location" or "signature", limit 10); "body" gives whole definitions, for what matters.
- Lines count from 1, paths are relative to metadata.workspace. A symbol_id stands for its name in any later call; \
src/x.py:120 as name or query gives that line, those around it and the definition they are in.
- match says how a hit has the name asked for: exact, case, parts, or similar (a guess).
- result_completeness "partial" means that indexing goes on: the answer is right as far as it goes, ask again later.
- An error says in error.message what to do next; error.data has the values.
"""

_TEXT_ANSWERS: Final = """\
- Paths are relative to the project. `12-30 def f(x)` below a path is a definition on these lines, `14:code` is line 14 of the \
file exactly, `in class C 5-90` is the definition that the lines below it lie in.
- To see more of a hit: detail_level "context", or locate_symbol with name "path:line".
- An answer without a warning is complete and of the tree as it is now.
"""

INSTRUCTIONS: Final[Mapping[AnswerForm, str]] = {"json": _TOOLS + _JSON_ANSWERS, "text": _TOOLS + _TEXT_ANSWERS}
"""What a model is told at the start, for each form of answers. Under 2 KB, which hosts cut at."""


def product_surface(tools: Tools, jobs: JobDirectory, answers: AnswerForm = "json") -> Surface:
    """Returns the surface over the catalogue and the jobs of a server whose tools answer in this form."""
    return Surface(
        info=Implementation(name="codecompass", title="CodeCompass", version=__version__),
        instructions=INSTRUCTIONS[answers],
        tools=ProductTools(tools, jobs),
        resources=ProductResources(tools, jobs),
        prompts=ProductPrompts(),
        completions=ProductCompletions(tools),
    )
