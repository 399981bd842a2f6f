"""Components of Astro, which begin with a script between `---`."""

from msgspec.structs import replace

from codecompass.languages.ecmascript.ecmascript import TSX
from codecompass.languages.ecmascript.ecmascript_components import component_regions
from codecompass.languages.walk.markup import braces_code

ASTRO = replace(TSX, regions=component_regions(braces_code, "tsx", has_front_matter=True))
