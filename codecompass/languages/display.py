"""Traits of how code of a language is shown: what belongs to a definition above its first line, names in outlines, colours."""

from collections.abc import Mapping
from typing import Final, Literal

from msgspec import Struct


class Display(Struct, frozen=True, kw_only=True):
    """How code of one language is shown."""

    attribute_starts: tuple[str, ...] = ()
    """What the first line of a decorator or attribute above a definition begins with."""
    doc_attributes: tuple[str, ...] = ()
    """What the first line of a documentation that is no comment begins with; it may go on to a line with `\"\"\"` alone."""
    line_comment: str = "//"
    """What a comment to the end of the line begins with."""
    imports: Literal["joined", "from"] = "joined"
    """How the name of an import is shown: `module.name` with the separator of qualified names, or `name from module`."""
    lexer: str | None = ""
    """The name of its Pygments lexer; empty if that is the language's own, None if its code is shown without colours."""
    lexer_options: Mapping[str, bool] = {}
    """Options of the lexer that differ from those of all."""


DECORATORS: Final = ("@",)
"""The beginning of decorators and annotations in most languages that have them."""
