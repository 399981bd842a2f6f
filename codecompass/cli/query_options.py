"""The options that `search` and `locate` share. Apart from `searching.py`, so that help does not import the index."""

from collections.abc import Callable
from typing import Any

import asyncclick
from asyncclick.shell_completion import CompletionItem

from codecompass.protocol.kinds import KINDS_ON_INPUT
from codecompass.protocol.requests import DETAIL_LEVELS, EXPLAIN_LEVELS, FRESHNESS_POLICIES


class Suggested(asyncclick.ParamType[str]):
    """A value that a shell completes from a list. It is checked by the decoder of the tool's arguments, not here."""

    name = "text"

    def __init__(self, *values: str) -> None:
        self._values = values

    def shell_complete(self, ctx: asyncclick.Context, param: asyncclick.Parameter, incomplete: str) -> list[CompletionItem[str]]:
        """Returns the values that begin with `incomplete`."""
        return [CompletionItem(value) for value in self._values if value.startswith(incomplete)]


def hit_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Adds the options of every command that lists hits."""
    for option in reversed(
        (
            asyncclick.option("--limit", "-n", metavar="N", help="Show so many hits at most, 1 to 100 [10]."),
            asyncclick.option("--language", "-l", metavar="NAME", help="Only files of these languages: python,go."),
            asyncclick.option("--path", "-p", metavar="GLOB", help="Only files whose path fits: 'src/**,!**/test/**', lib/."),
            asyncclick.option(
                "--kind",
                "-k",
                metavar="KIND",
                type=Suggested(*KINDS_ON_INPUT),
                help="Only definitions of these kinds: fn,class.",
            ),
            asyncclick.option(
                "--detail-level",
                "-d",
                metavar="LEVEL",
                type=Suggested(*DETAIL_LEVELS),
                help="How much to show of each hit: location, signature, context or body.",
            ),
            asyncclick.option("--docs", is_flag=True, help="With -d body, the comment above a definition as well."),
            asyncclick.option("--compact", is_flag=True, help="Leave out everything but what a program needs."),
            asyncclick.option(
                "--freshness-policy",
                metavar="POLICY",
                type=Suggested(*FRESHNESS_POLICIES),
                help="When files have changed: balanced takes them in first, strict refuses, best_effort answers "
                "from what is indexed.",
            ),
            asyncclick.option(
                "--ranking-explain-level",
                metavar="LEVEL",
                type=Suggested(*EXPLAIN_LEVELS),
                help="Say why a hit stands where it stands: off, basic or full.",
            ),
            asyncclick.option("--ref", metavar="REF", help="Insist that the working tree is on this branch."),
        )
    ):
        function = option(function)
    return function


def given(arguments: dict[str, object]) -> dict[str, object]:
    """Returns the arguments that were given on the command line, as a tool takes them."""
    return {name: value for name, value in arguments.items() if value is not None and value is not False}
