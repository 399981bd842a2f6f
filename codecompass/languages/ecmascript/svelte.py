"""Components of Svelte: scripts with their reactive values, snippets, and the code in the markup."""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from msgspec.structs import replace

from codecompass import lazy
from codecompass.languages.ecmascript.ecmascript import TYPESCRIPT
from codecompass.languages.ecmascript.ecmascript_components import component_regions, with_component
from codecompass.languages.ecmascript.ecmascript_imports import ecmascript_module
from codecompass.languages.ecmascript.ecmascript_uses import script_rules
from codecompass.languages.records import Symbol
from codecompass.languages.walk.markup import braces_code

_SNIPPET: Final = lazy.pattern(
    r"\{#snippet\s++(?P<name>[^\W\d][\w$]*+)\s*+(?P<rest>(?:<[^<>{}]*+>)?\((?>(?:[^()]++|\([^()]*+\))*)\))|(?P<end>\{/snippet\s*+\})"
)
_REACTIVE: Final = lazy.pattern(r"^[ \t]*+\$:[ \t]*+(?P<name>[^\W\d][\w$]*+)[ \t]*+=(?!=)[^\n;{(\[]*+", re.MULTILINE)


def _snippets(text: str, script: str) -> Iterator[Symbol]:
    """Yields what `{#snippet name(parameters)}` in the markup defines; one that is not closed has one line."""
    found: list[Symbol] = []
    pending: list[int] = []
    line, at = 1, 0
    for match in _SNIPPET.finditer(text):
        line, at = line + text.count("\n", at, match.start()), match.start()
        if script[at] == "{":
            continue
        if match["end"] is None:
            pending.append(len(found))
            signature = " ".join(f"snippet {match['name']}{match['rest']}".split())
            found.append(Symbol(match["name"], "fn", match["name"], line, line, signature, "internal"))
        elif pending:
            number = pending.pop()
            found[number] = replace(found[number], line_end=line)
    yield from found


def _reactive(script: str) -> Iterator[Symbol]:
    """Yields what `$: name = value` declares."""
    line, at = 1, 0
    for match in _REACTIVE.finditer(script):
        start = match.start("name")
        line, at = line + script.count("\n", at, start), start
        signature = " ".join(match[0].split())
        yield Symbol(match["name"], "var", match["name"], line, line, signature, "internal")


def _with_more(symbols: Sequence[Symbol], text: str, path: str) -> list[Symbol]:
    """Returns the symbols with the component, its snippets, and the reactive values that no variable declares."""
    found = with_component(symbols, text, path)
    if "{#snippet" not in text and "$:" not in text:
        return found
    script = next(iter(_REGIONS.found(text))).text_in(text)
    declared = {symbol.name for symbol in found if symbol.parent < 0}
    more = [*_snippets(text, script)]
    for each in _reactive(script):
        if each.name not in declared:
            declared.add(each.name)
            more.append(each)
    module = ecmascript_module(path)
    more = [replace(each, qualified_name=".".join((*module, each.name))) for each in more]
    numbered = sorted([*enumerate(found), *((-1, each) for each in more)], key=lambda item: item[1].line_start)
    moved = {number: index for index, (number, _) in enumerate(numbered) if number >= 0}
    return [replace(symbol, parent=moved.get(symbol.parent, -1)) for _, symbol in numbered]


_REGIONS: Final = component_regions(braces_code, "javascript", completed=_with_more)
SVELTE = replace(TYPESCRIPT, regions=_REGIONS, uses=script_rules)
