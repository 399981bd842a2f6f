"""Components of Svelte."""

from msgspec.structs import replace

from codecompass.languages.ecmascript import TYPESCRIPT
from codecompass.languages.ecmascript_components import component
from codecompass.languages.ecmascript_uses import script_rules
from codecompass.languages.walk.embedded import EmbeddedCode
from codecompass.languages.walk.markup import braces_code


def embedded(text: str) -> EmbeddedCode:
    """Returns the code of a component."""
    return component(braces_code, "javascript", text)


SVELTE = replace(TYPESCRIPT, embedded=embedded, uses=script_rules)
