"""The code of components of Vue, Svelte and Astro.

All scripts of a file are one text, because they share their names. Everything else is blanked, so that each line stays where it
is; what the template uses (`markup.py`) is added to the text that is searched for uses. A component is a definition itself: a
class as long as its file, which other files import as its default export.
"""

from collections.abc import Callable, Sequence
from typing import Final

from msgspec.structs import replace

from codecompass import lazy
from codecompass.languages.ecmascript.ecmascript_imports import ecmascript_module
from codecompass.languages.records import Symbol
from codecompass.languages.walk.markup import blank, in_pascal_case, parts
from codecompass.languages.walk.regions import Region, Regions
from codecompass.languages.words import word_set

_FRONT_MATTER: Final = lazy.pattern(r"\s*+---[^\n]*+\n")

_TYPED: Final = word_set("ts typescript text/typescript application/typescript")
_WITH_MARKUP: Final = word_set("tsx jsx text/babel")
_PLAIN: Final = word_set("js javascript module text/javascript application/javascript text/ecmascript babel")


def script_language(written_in: str) -> str | None:
    """Returns the language that a script names, plain JavaScript if it names none; None if it is no code."""
    if written_in in _TYPED:
        return "typescript"
    if written_in in _WITH_MARKUP:
        return "tsx"
    return "javascript" if not written_in or written_in in _PLAIN else None


def style_language(written_in: str) -> str:
    """Returns the language that a style names, CSS if it names none."""
    return written_in.removeprefix("text/") or "css"


def component_regions(
    code_of: Callable[[str], str],
    default: str,
    *,
    has_front_matter: bool = False,
    completed: Callable[[Sequence[Symbol], str, str], list[Symbol]] | None = None,
) -> Regions:
    """Returns where the files of a kind of components hold code; `code_of` returns that of their markup, equally long, and
    `default` is the language of scripts that name none."""
    return Regions(
        holds="scripts, markup, styles",
        found=lambda text: _component(code_of, default, text, has_front_matter=has_front_matter),
        are_all=True,
        completed=completed or with_component,
    )


def _component(code_of: Callable[[str], str], default: str, text: str, *, has_front_matter: bool) -> list[Region]:
    script: list[str] = []
    whole: list[str] = []
    written_in: set[str] = set()
    styles: list[Region] = []
    at = 0
    front = _FRONT_MATTER.match(text) if has_front_matter else None
    if front is not None:
        closing = text.find("\n---", front.end() - 1)
        end = len(text) if closing < 0 else closing + 1
        script += [blank(text[: front.end()]), text[front.end() : end]]
        whole += script
        at = min(end + 3, len(text))
        script.append(blank(text[end:at]))
        whole.append(blank(text[end:at]))
    for part in parts(text, at):
        between, content = blank(text[at : part.start]), text[part.start : part.end]
        at = part.end
        nothing = blank(content)
        is_code = part.kind == "script" and (not part.written_in or part.written_in in _TYPED | _WITH_MARKUP | _PLAIN)
        if is_code:
            written_in.add(part.written_in)
        if part.kind == "style" and content:
            styles.append(Region(style_language(part.written_in), part.start, part.end))
        # A script may end without a line break, and code of the markup may follow in the same line.
        script += [between, content if is_code else nothing]
        whole += [between, content if is_code else code_of(content) if part.kind == "markup" else nothing]
    language = default
    if written_in & _WITH_MARKUP:
        language = "tsx"
    elif written_in & _TYPED and default == "javascript":
        language = "typescript"
    return [Region(language, 0, len(text), "".join(script), "".join(whole)), *styles]


def with_component(symbols: Sequence[Symbol], text: str, path: str) -> list[Symbol]:
    """Returns the symbols with the component before them, which takes the place of a default export."""
    module = ecmascript_module(path)
    name = in_pascal_case(module[-1]) if module else ""
    if not name.isidentifier():
        return list(symbols)
    default = next(
        (
            index
            for index, symbol in enumerate(symbols)
            if symbol.name == "default" and symbol.kind != "rule" and symbol.parent < 0
        ),
        -1,
    )
    component = Symbol(
        name=name,
        kind="class",
        qualified_name=".".join((*module[:-1], name)),
        line_start=1,
        line_end=max(text.count("\n") + (not text.endswith("\n")), 1),
        signature=f"export default component {name}",
        visibility="public",
        doc=symbols[default].doc if default >= 0 else "",
    )
    moved = [index + 1 - (0 <= default < index) for index in range(len(symbols))]
    if default >= 0:
        moved[default] = 0
    before, after = ".".join((*module, "default.")), f"{component.qualified_name}."
    inner = [
        replace(
            symbol,
            parent=moved[symbol.parent] if symbol.parent >= 0 else -1,
            qualified_name=after + symbol.qualified_name.removeprefix(before)
            if default >= 0 and symbol.qualified_name.startswith(before)
            else symbol.qualified_name,
        )
        for index, symbol in enumerate(symbols)
        if index != default
    ]
    return [component, *inner]
