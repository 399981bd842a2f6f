"""The product's prompts (templates that start a conversation) and completions of paths and symbol names."""

from collections.abc import Callable, Mapping
from typing import Final

import trio
from msgspec import Struct

from codecompass.transport.calls import ServerAccess
from codecompass.transport.mcp.exchange import Exchange
from codecompass.transport.mcp.jsonrpc import Fault
from codecompass.transport.mcp.protocol import INVALID_PARAMS
from codecompass.transport.mcp.wire import CompleteParams, GetPromptResult, Prompt, PromptArgument, PromptMessage, TextContent
from codecompass.transport.product.resources import OUTLINE_TEMPLATE
from codecompass.transport.product.tools import SessionCaller
from codecompass.units import SECONDS

MAX_HITS: Final = 50
"""Hits from which values are taken: a longer list would not help a person who is typing."""

COMPLETION_SECONDS: Final = 2 * SECONDS
"""Somebody is typing, so unlike a question a completion does not wait for a first index."""

_SYMBOL: Final = "symbol"
_PATH: Final = "path"
_COMPLETED: Final[Mapping[tuple[str, str], str]] = {
    ("explain_symbol", "symbol"): _SYMBOL,
    ("explore_codebase", "focus"): _PATH,
    (OUTLINE_TEMPLATE, "path"): _PATH,
}


class ProductCompletions:
    """The CompletionSource of the product. Returns no values if no project is addressed or it has no index."""

    def __init__(self, access: ServerAccess) -> None:
        self._access = access

    async def complete(self, params: CompleteParams, exchange: Exchange) -> tuple[str, ...]:
        """Returns names or paths that contain the typed text, those that begin with it first."""
        kind = _COMPLETED.get((params.ref.name or params.ref.uri, params.argument.name))
        typed = params.argument.value.strip()
        if kind is None or not typed:
            return ()
        tool, field = ("locate_symbol", "name") if kind == _SYMBOL else ("search_code", "query")
        arguments: dict[str, object] = {
            field: typed,
            "limit": MAX_HITS,
            "detail_level": "signature",
            "freshness_policy": "best_effort",
        }
        outcome = None
        with trio.move_on_after(COMPLETION_SECONDS):
            server = await self._access.opened()
            outcome = await server.tools.call(tool, arguments, SessionCaller(exchange))
        from codecompass.protocol.replies import LocateSymbolReply, SearchCodeReply

        if outcome is None or not isinstance(outcome.reply, LocateSymbolReply | SearchCodeReply):
            return ()
        values = (hit.name if kind == _SYMBOL else hit.path for hit in outcome.reply.results)
        wanted = typed.lower()
        found = dict.fromkeys(value for value in values if wanted in value.lower())
        return tuple(sorted(found, key=lambda value: not value.lower().startswith(wanted)))


class _Template(Struct, frozen=True):
    prompt: Prompt
    write: Callable[[Mapping[str, str]], str]


def _explore(arguments: Mapping[str, str]) -> str:
    focus = arguments.get("focus", "")
    about = f" Look at {focus} in particular." if focus else ""
    return (
        "Explore this codebase and explain how it is built." + about + "\n\n"
        "1. Call index_status: which languages, how many files, is the index fresh?\n"
        "2. Call get_code_context with a question for each main concern (entry points, data model, configuration, tests).\n"
        "3. Call get_file_outline on the files that matter most.\n"
        "4. Answer with a map: the parts, what each is responsible for, how a request or a run passes through them. "
        "Name a path and a line for each claim."
    )


def _find(arguments: Mapping[str, str]) -> str:
    return (
        f"Find where this codebase implements the following behaviour: {arguments['behaviour']}\n\n"
        "1. Call search_code with two or three different wordings, then with likely identifiers.\n"
        "2. Call locate_symbol for the names that come up, and get_symbol_hierarchy to see what encloses them.\n"
        "3. Read the candidates and decide which one does it; say what the others are for.\n"
        "4. Answer with path and lines of the implementation, its callers as far as you saw them, and its tests."
    )


def _explain(arguments: Mapping[str, str]) -> str:
    return (
        f"Explain the symbol {arguments['symbol']} of this codebase.\n\n"
        "1. Call locate_symbol with detail_level context. If there are several, explain the one in product code and name "
        "the others.\n"
        "2. Call find_related_symbols for what stands near it, and search_code for its name to see how it is used.\n"
        "3. Answer: what it is for, what goes in and comes out, what it depends on, where it is used, and what to mind "
        "when changing it."
    )


_TEMPLATES: Final = (
    _Template(
        Prompt(
            name="explore_codebase",
            title="Explore a codebase",
            description="A map of the code: parts, responsibilities, how they work together.",
            arguments=(PromptArgument(name="focus", description="A path or a topic to look at in particular."),),
        ),
        _explore,
    ),
    _Template(
        Prompt(
            name="find_implementation",
            title="Find an implementation",
            description="Where a behaviour is implemented, with its callers and tests.",
            arguments=(PromptArgument(name="behaviour", description="What the code does, in your words.", required=True),),
        ),
        _find,
    ),
    _Template(
        Prompt(
            name="explain_symbol",
            title="Explain a symbol",
            description="What a function, class or type is for and how it is used.",
            arguments=(PromptArgument(name="symbol", description="Its name, qualified or not.", required=True),),
        ),
        _explain,
    ),
)


class ProductPrompts:
    """The PromptSource of the product."""

    @property
    def listed(self) -> tuple[Prompt, ...]:
        """All prompts, in the order in which they are listed."""
        return tuple(template.prompt for template in _TEMPLATES)

    async def get(self, name: str, arguments: Mapping[str, str], exchange: Exchange) -> GetPromptResult | None:
        """Returns the prompt with its arguments filled in; None for an unknown name. Raises Fault for a missing argument."""
        template = next((each for each in _TEMPLATES if each.prompt.name == name), None)
        if template is None:
            return None
        for argument in template.prompt.arguments:
            if argument.required and not arguments.get(argument.name, "").strip():
                raise Fault(
                    INVALID_PARAMS,
                    f"the prompt {name} needs the argument {argument.name}: {argument.description}",
                    field=argument.name,
                )
        message = PromptMessage(role="user", content=TextContent(template.write(arguments)))
        return GetPromptResult(description=template.prompt.description, messages=(message,))
