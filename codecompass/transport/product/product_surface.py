"""The product's surface: its name, the instructions for models, and its tools, resources, prompts and completions."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from codecompass import __version__
from codecompass.settings import AnswerForm
from codecompass.transport.calls import ServerAccess
from codecompass.transport.mcp.surface import Surface
from codecompass.transport.mcp.wire import Implementation
from codecompass.transport.product.prompts import ProductCompletions, ProductPrompts
from codecompass.transport.product.resources import ProductResources
from codecompass.transport.product.tools import ProductTools

if TYPE_CHECKING:
    from codecompass.transport.call_records import ActivityLog

WHAT_IT_IS: Final = """\
CodeCompass: code search in a local index of this repository that follows every edit. Use search_code and locate_symbol before \
grep: one call ranks what matters, names the definition around each hit and reads words as well as patterns.

- get_file_outline before reading a large file; get_code_context for a first look at a topic.
- Leave out workspace: the project is found by itself. Another repository: workspace, its path or name. ref: a branch, tag or \
commit to ask about.
"""

_OF_FEW_TOOLS: Final = """\
- diff_context: what a branch or the working tree changed, who is affected, which tests. find_references with relation: all \
subtypes, callers of callers, impact.
"""
"""For listings with `diff_context` and with the argument `relation`, which the default listing leaves out."""

_JSON_ANSWERS: Final = """\
- Begin small (detail_level "location" or "signature"); "body" gives whole definitions, for what matters.
- Lines count from 1, paths are relative to metadata.workspace. A symbol_id stands for its name in any later call, \
src/x.py:120 for the definition around that line.
- match: how a hit has the name asked for; similar is a guess.
- result_completeness "partial": something is missing, as warnings say. An error says in error.message what to do next.
"""

_TEXT_ANSWERS: Final = """\
- Paths are relative to the project. `12-30 def f(x)` below a path is a definition on these lines, `14:code` is line 14 of the \
file exactly, `in class C 5-90` is the definition that the lines below it lie in.
- To see all of a hit: detail_level "body", or locate_symbol with name "src/x.py:120".
- An answer without a warning is complete and of the tree as it is now.
"""

HOW_IT_ANSWERS: Final[Mapping[AnswerForm, str]] = {"json": _JSON_ANSWERS, "text": _TEXT_ANSWERS}
"""The instructions for models after `what_it_is`, by form of answers. Both parts are short, and the first paragraph says what
matters most: some hosts show only that, and one repeats it for each tool."""


def instructions(listing: str, answers: AnswerForm, what_it_is: str = WHAT_IT_IS) -> str:
    """Returns the instructions for models. They name only tools and arguments that the listing shows."""
    groups = {word.strip() for word in listing.split(",")}
    return what_it_is + (_OF_FEW_TOOLS if groups & {"core", "all"} else "") + HOW_IT_ANSWERS[answers]


def product_surface(
    access: ServerAccess,
    listing: str = "default",
    answers: AnswerForm = "json",
    activity: "ActivityLog | None" = None,
    *,
    what_it_is: str = WHAT_IT_IS,
) -> Surface:
    """Returns the surface of a server. `listing` selects the tools that are listed, `answers` is the form of all answers,
    `activity` records tool calls, `what_it_is` is the beginning of the instructions."""
    return Surface(
        info=Implementation(name="codecompass", title="CodeCompass", version=__version__),
        instructions=instructions(listing, answers, what_it_is),
        tools=ProductTools(access, listing, answers, activity),
        resources=ProductResources(access),
        prompts=ProductPrompts(),
        completions=ProductCompletions(access),
    )
