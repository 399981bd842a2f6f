"""Which vectors of a project can be compared with each other: those of one model, length and way of reading files."""

from typing import Final

from codecompass.settings import SemanticSettings
from codecompass.store.vectors import VectorSpace

READING: Final = 1
"""Of `texts.py`: raise it where the same file gives other texts."""


def vector_space(settings: SemanticSettings) -> VectorSpace:
    """Returns the space of the vectors that these settings make."""
    return VectorSpace(
        model=settings.model.strip(),
        dimensions=settings.dimensions,
        reading=f"{READING} {settings.max_text_characters} {settings.document_prefix!r}",
    )
