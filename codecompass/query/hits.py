"""What the lanes of a search give: a page of places, ranked and without duplicates, not yet shaped."""

from msgspec import Struct

from codecompass.query.intent import QueryIntent
from codecompass.query.shaping import Shown


class Hits(Struct, frozen=True, kw_only=True):
    """A page with what has to be said about how it came about. `total` counts the places before the page was cut."""

    shown: tuple[Shown, ...]
    intent: QueryIntent
    total: int
    duplicates: int = 0
    warnings: tuple[str, ...] = ()
    is_partial: bool = False


def never() -> bool:
    """A deadline that does not come."""
    return False
