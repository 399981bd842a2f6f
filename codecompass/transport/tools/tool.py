"""What a tool is: how it is described to models, and what answers its calls.

Nothing that a list of tools does not need is imported here or by the modules of the tools, at their top: a host asks for the
list first of all, and some do not wait for it. What answers a call is imported by the first call.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from codecompass.transport.tools.schemas import Schema

if TYPE_CHECKING:
    from codecompass.transport.tools.toolkit import Call, Outcome


META_ALWAYS_LOAD: Final = "anthropic/alwaysLoad"
"""Hosts that show a model the names of tools alone, and the rest when it searches for it, show this one whole."""

META_SEARCH_HINT: Final = "anthropic/searchHint"
"""Words by which such a search finds a tool, besides those of its name and description."""


class Tool(Struct, frozen=True, kw_only=True):
    """A tool of the catalogue. `output` describes its JSON answers, `meta` is for hosts that know what it means."""

    name: str
    title: str
    description: str
    arguments: Schema
    output: Schema
    is_read_only: bool
    is_idempotent: bool
    meta: Mapping[str, object] = {}
    run: "Callable[[Call], Awaitable[Outcome]]"


async def ask_index(call: "Call") -> "Outcome":
    """See `asking.ask_index`."""
    from codecompass.transport.tools import asking

    return await asking.ask_index(call)


def shown_by_hosts(search_hint: str, *, is_always_shown: bool = False) -> dict[str, object]:
    """Returns the `meta` of a tool for hosts that do not show all tools from the start."""
    return {META_SEARCH_HINT: search_hint, **({META_ALWAYS_LOAD: True} if is_always_shown else {})}
