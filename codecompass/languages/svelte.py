"""Components of Svelte: scripts with their reactive values, snippets, and the code in the markup."""

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Final

from msgspec.structs import replace

from codecompass import lazy
from codecompass.languages.ecmascript import TYPESCRIPT
from codecompass.languages.ecmascript_components import component
from codecompass.languages.ecmascript_imports import ecmascript_module
from codecompass.languages.ecmascript_uses import script_rules
from codecompass.languages.records import Symbol
from codecompass.languages.walk.embedded import EmbeddedCode
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


def _with_more(
    completed: Callable[[Sequence[Symbol], str, int], list[Symbol]], snippets: Sequence[Symbol], reactive: Sequence[Symbol]
) -> Callable[[Sequence[Symbol], str, int], list[Symbol]]:
    """Returns the function that adds snippets, and reactive values that no variable declares, to the symbols of a component."""

    def with_more(symbols: Sequence[Symbol], path: str, n_lines: int) -> list[Symbol]:
        found = completed(symbols, path, n_lines)
        declared = {symbol.name for symbol in found if symbol.parent < 0}
        more = [*snippets]
        for each in reactive:
            if each.name not in declared:
                declared.add(each.name)
                more.append(each)
        module = ecmascript_module(path)
        more = [replace(each, qualified_name=".".join((*module, each.name))) for each in more]
        numbered = sorted([*enumerate(found), *((-1, each) for each in more)], key=lambda item: item[1].line_start)
        moved = {number: index for index, (number, _) in enumerate(numbered) if number >= 0}
        return [replace(symbol, parent=moved.get(symbol.parent, -1)) for _, symbol in numbered]

    return with_more


def embedded(text: str) -> EmbeddedCode:
    """Returns the code of a component."""
    code = component(braces_code, "javascript", text)
    snippets, reactive = tuple(_snippets(text, code.script)), tuple(_reactive(code.script))
    return replace(code, completed=_with_more(code.completed, snippets, reactive)) if snippets or reactive else code


SVELTE = replace(TYPESCRIPT, embedded=embedded, uses=script_rules)
