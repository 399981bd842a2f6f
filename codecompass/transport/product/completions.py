"""Completions of paths and symbol names, found by the tools that everybody else uses, too."""

from collections.abc import Mapping
from typing import Final

import msgspec
import trio
from msgspec import Struct

from codecompass.transport.calls import Tools
from codecompass.transport.mcp.exchange import Exchange
from codecompass.transport.mcp.wire import CompleteParams
from codecompass.transport.product.caller import SessionCaller
from codecompass.transport.product.resources import OUTLINE_TEMPLATE
from codecompass.units import SECONDS

N_LOOKED_AT: Final = 50
"""Hits that values are taken from: more would not help whoever is typing."""


class _Hit(Struct, frozen=True):
    path: str = ""
    name: str = ""
    qualified_name: str = ""


class _Hits(Struct, frozen=True):
    results: tuple[_Hit, ...] = ()


_HITS: Final = msgspec.json.Decoder(_Hits)

COMPLETION_SECONDS: Final = 2 * SECONDS
"""Somebody is typing: a first index is not waited for as by a question."""

_SYMBOL: Final = "symbol"
_PATH: Final = "path"
_COMPLETED: Final[Mapping[tuple[str, str], str]] = {
    ("explain_symbol", "symbol"): _SYMBOL,
    ("explore_codebase", "focus"): _PATH,
    (OUTLINE_TEMPLATE, "path"): _PATH,
}


class ProductCompletions:
    """The CompletionSource of the product. Where no project is meant, or it has no index, there are no values."""

    def __init__(self, tools: Tools) -> None:
        self._tools = tools

    async def complete(self, params: CompleteParams, exchange: Exchange) -> tuple[str, ...]:
        """As CompletionSource says."""
        kind = _COMPLETED.get((params.ref.name or params.ref.uri, params.argument.name))
        typed = params.argument.value.strip()
        if kind is None or not typed:
            return ()
        tool, field = ("locate_symbol", "name") if kind == _SYMBOL else ("search_code", "query")
        arguments: dict[str, object] = {
            field: typed,
            "limit": N_LOOKED_AT,
            "detail_level": "signature",
            "freshness_policy": "best_effort",
        }
        answer = None
        with trio.move_on_after(COMPLETION_SECONDS):
            answer = await self._tools.call(tool, arguments, SessionCaller(exchange))
        if answer is None or answer.error is not None:
            return ()
        try:
            hits = _HITS.decode(answer.payload).results
        except msgspec.ValidationError:
            return ()
        values = (hit.name if kind == _SYMBOL else hit.path for hit in hits)
        wanted = typed.lower()
        found = dict.fromkeys(value for value in values if wanted in value.lower())
        return tuple(sorted(found, key=lambda value: not value.lower().startswith(wanted)))
