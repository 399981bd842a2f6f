"""The vector space of the settings: vectors are comparable if model, length and text extraction are the same."""

from typing import Final

from codecompass.settings import SemanticSettings
from codecompass.store.vectors import VectorSpace

READING: Final = 1
"""Version of `texts.py`: to be raised when it makes other texts from the same file."""


def vector_space(settings: SemanticSettings) -> VectorSpace:
    """Returns the space of the vectors that are made with these settings."""
    return VectorSpace(
        model=settings.model.strip(),
        dimensions=settings.dimensions,
        reading=f"{READING} {settings.max_text_characters} {settings.document_prefix!r}",
    )
