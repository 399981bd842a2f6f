"""The product's prompts: beginnings of conversations that people ask for, each telling the model which tools to use."""

from collections.abc import Callable, Mapping
from typing import Final

from msgspec import Struct

from codecompass.transport.mcp.exchange import Exchange
from codecompass.transport.mcp.jsonrpc import Fault
from codecompass.transport.mcp.protocol import INVALID_PARAMS
from codecompass.transport.mcp.wire import GetPromptResult, Prompt, PromptArgument, PromptMessage, TextContent


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
        """All of them."""
        return tuple(template.prompt for template in _TEMPLATES)

    async def get(self, name: str, arguments: Mapping[str, str], exchange: Exchange) -> GetPromptResult | None:
        """As PromptSource says."""
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
