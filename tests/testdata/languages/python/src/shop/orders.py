"""Orders of a small shop."""

from __future__ import annotations

import os.path
import logging as log, json
from dataclasses import dataclass, field as attribute
from typing import (
    Final,
    overload,
)

from . import prices
from ..shared.money import *

try:
    import orjson as fast_json
except ImportError:
    fast_json = None
else:
    HAS_FAST_JSON = True

MAX_LINES: Final = 40
# How long a basket is kept, in seconds.
BASKET_TTL = BASKET_LIFETIME = 3600
_cache: dict[str, "Order"] = {}
first, (second, *others) = load_defaults()
_cache["x"] = None
type Pair[T] = tuple[T, T]
"""Two of a kind."""
logger = log.getLogger(__name__)
"""Where this module logs."""


class State(enum.StrEnum):
    """What happens to an order."""

    draft = "draft"
    PAID = "paid"
    _ignore_ = ["x"]

    @property
    def is_open(self) -> bool:
        return self is State.draft


@dataclass(
    frozen=True,
)
class Line:
    sku: str
    count: int = 1  # how many
    tags: list[str] = attribute(default_factory=list)


# An order, as the customer sees it.
@registered
class Order(Base, Generic[T], metaclass=Meta):
    limit = MAX_LINES
    __slots__ = ("lines",)

    class Meta:
        ordering = ["-created"]

    def __init__(self, lines: list[Line], *, state: State = State.draft) -> None:
        self.lines = lines
        self.limit = 3
        if state:
            self._state: State = state
        self.total, self.tax = self._sum(), None
        self.lines.first = None
        local = [line for line in lines]

    @overload
    def find(self, key: int) -> Line: ...
    @overload
    def find(
        self,
        key: str,
        default: Line | None = None,
    ) -> Line | None: ...
    def find(self, key, default=None):
        """Finds a line.

        Nothing more is said.
        """
        return default

    @prices.cached
    # Between a decorator and its function.
    async def refresh(self):
        import asyncio

        def retry(times):
            class Attempt(Exception):
                pass

            return lambda: Attempt(times)

        return await asyncio.gather(retry(1))

    def __str__(self): return "Order"

    def _sum(self):
        return 0

    if os.name == "nt":

        def open_file(self):
            """Opens it the Windows way."""


with logger:
    def in_with(): pass

match os.name:
    case "posix":
        SEPARATOR = "/"


def broken(a b):
    c = = a
    return a +


def after_the_error(größe=1):
    return größe
