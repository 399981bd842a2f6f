"""Components of Vue: scripts, and the code in their templates."""

from typing import Final

from msgspec.structs import replace

from codecompass import lazy
from codecompass.languages.ecmascript.ecmascript import TYPESCRIPT
from codecompass.languages.ecmascript.ecmascript_components import component_regions
from codecompass.languages.ecmascript.ecmascript_uses import script_rules
from codecompass.languages.walk.markup import Pieces, add_expression, in_pascal_case

_VUE: Final = lazy.pattern(
    r"<(?P<tag>[A-Z][\w$.]*+|[a-z][a-z0-9]*+(?>(?:-\w++)+))"
    r"|\{\{(?P<text>(?>(?:[^{}]++|\{[^{}]*+\}|[{}](?![{}]))*))\}\}"
    r"|(?<=[\s\"'])(?P<attribute>v-[\w-]++|[@:.](?=[\w\[]))[\w.:\[\]-]*+\s*+=\s*+(?:\"(?P<double>[^\"]*+)\"|'(?P<single>[^']*+)')"
)
_LOOP: Final = lazy.pattern(r"[^\"']*?\s(?:in|of)\s")


def vue_code(markup: str) -> str:
    """Returns the code in a template of Vue: tags of components, `{{ }}`, and the values of `:x`, `@x` and `v-x`.

    The tag `<my-panel>` becomes `<MyPanel`, the name by which scripts know the component.
    """
    pieces = Pieces(markup)
    for match in _VUE.finditer(markup):
        tag = match["tag"]
        if tag is not None:
            name = tag if tag[0].isupper() else in_pascal_case(tag)
            pieces.add(match.start(), match.end(), f"<{name}".ljust(len(tag) + 1))
        elif match["text"] is not None:
            add_expression(pieces, markup, *match.span("text"))
        elif match["attribute"] != "v-slot":
            start, end = match.span("double" if match["double"] is not None else "single")
            if match["attribute"] == "v-for" and (loop := _LOOP.match(markup, start, end)) is not None:
                start = loop.end()  # What precedes it are variables.
            add_expression(pieces, markup, start, end)
    return pieces.whole()


VUE = replace(TYPESCRIPT, regions=component_regions(vue_code, "javascript"), uses=script_rules)
