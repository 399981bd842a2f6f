"""Components of Astro, which begin with a script between `---`."""

from msgspec.structs import replace

from codecompass.languages.ecmascript import TSX
from codecompass.languages.ecmascript_components import component
from codecompass.languages.walk.embedded import EmbeddedCode
from codecompass.languages.walk.markup import braces_code


def embedded(text: str) -> EmbeddedCode:
    """Returns the code of a component."""
    return component(braces_code, "tsx", text, has_front_matter=True)


ASTRO = replace(TSX, embedded=embedded)
