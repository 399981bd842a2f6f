"""What a text must hold to be worth a look: how a scan asks the text index for candidates."""

from typing import Literal

from msgspec import Struct

TermField = Literal["body", "parts", "names", "calls"]


class TermPattern(Struct, frozen=True):
    """A lower-case token that a text must hold; an open end may go on with further characters of the same token.

    In `body` tokens are runs of letters and digits, in `parts` the parts of a camelCase run, in `names` identifiers with an
    underscore, in `calls` those that a parenthesis follows (see `words.TextWords`). Between `pieces` there may be further
    characters of ASCII that are of the token.
    """

    field: TermField
    pieces: tuple[str, ...]
    is_start_open: bool = False
    is_end_open: bool = False


Need = tuple[TermPattern, ...]
"""One of these must be there."""


class Narrowing(Struct, frozen=True):
    """A text is a candidate if it has all that one of `alternatives` needs, or a word that cannot be found by its letters.

    With `is_everything` every text is one. With `is_by_ascii` a token may end, although it is closed there, before a letter
    outside ASCII.
    """

    alternatives: tuple[tuple[Need, ...], ...] = ()
    is_everything: bool = True
    is_by_ascii: bool = False
