"""Razor, the pages and components of ASP.NET: sections, routes, members in `@code`, and the C# in the markup."""

from collections.abc import Iterator, Sequence
from typing import Final

from msgspec.structs import replace

from codecompass import lazy
from codecompass.languages.display import Display
from codecompass.languages.documents.html import PAGE, scripts_among
from codecompass.languages.dotnet.csharp import CSHARP
from codecompass.languages.dotnet.csharp_imports import CSHARP_IMPORTS
from codecompass.languages.imports.path_index import PathIndex
from codecompass.languages.records import Import, Symbol
from codecompass.languages.templates.template_tags import template_imports, with_tags
from codecompass.languages.walk.markup import Pieces, blank
from codecompass.languages.walk.regions import Region, Regions
from codecompass.languages.walk.text_rules import blocks

_COMMENTS: Final = lazy.pattern(r"@\*[^*]*+(?>(?:\*(?!@)[^*]*+)*)(?:\*@|\Z)")
_PARTIAL: Final = (
    r"<partial\b[^<>]{0,200}?\sname\s*+=\s*+|\bPartial(?:Async)?\(\s*+|\bLayout\s*+=\s*+|\bRenderPartial(?:Async)?\(\s*+"
)
_READ: Final = with_tags(
    PAGE,
    blocks(
        r"^[ \t]*+@section\s++(?:(?P<line>\w++)(?=[ \t]*+\{[^\n]*\}[ \t]*+$)|(?P<section>\w++))"
        r"|^[ \t]*+@page\s++\"(?P<route>/[^\"\n]*+)\"",
        ends={"section": r"^\}"},
        kinds={"line": "section"},
        comments=_COMMENTS,
        imports=rf"(?:{_PARTIAL})[\"']([^\"'\n]++)[\"']",
    ),
    _COMMENTS,
)
_PARENTHESES: Final = r"\((?>(?:[^()]++|\((?>(?:[^()]++|\([^()]*+\))*)\))*)\)"
_CODE: Final = lazy.pattern(
    r"(?<![\w@])@(?:(?P<members>code|functions)\b\s*+(?=\{)|(?P<block>\{)"
    r"|(?:model|inherits|implements|layout|typeparam)[ \t]++(?P<type>[^\n;]++)"
    r"|inject[ \t]++(?P<injected>[^\n;]++)|(?P<using>using[ \t]++[\w.= \t]++);?[ \t]*+(?=\n)"
    rf"|(?P<control>(?:if|for|foreach|while|switch|lock)\s*+{_PARENTHESES})"
    rf"|(?P<expression>(?:await[ \t]++)?[A-Za-z_]\w*+(?>(?:\??\.\w++|{_PARENTHESES}|\[[^\[\]\n]*+\])*)|{_PARENTHESES}))"
    r"|<(?P<component>[A-Z]\w*+)|\s(?:asp-for|@?on\w++|@bind(?:-\w++)?)=\"(?P<value>[A-Za-z_][^\"\n]*+)\""
)
_IN_BLOCK: Final = lazy.pattern(r"[{}]|@?\"(?>(?:[^\"\\\n]++|\\.)*)\"|'(?:[^'\\\n]|\\.)'|//[^\n]*+|/\*")
_MARKUP_LINE: Final = lazy.pattern(r"(?m)^[ \t]*+(?:<|@:)[^\n]*+")
_MARKUP_VALUE: Final = lazy.pattern(r"@<[^\n]{0,500}>(?=[ \t]*+[;,)])")
_NO_CODE: Final = frozenset({"addTagHelper", "attribute", "namespace", "page", "section", "using"})
_SCRIPTS: Final = scripts_among(rf"(?<![\w@])@(?:[A-Za-z_]\w*+(?>(?:\.\w++|{_PARENTHESES})*)|{_PARENTHESES})")
_CLASS: Final = "Component__"
"""The class around the members until the file is known that names it."""


def _end_of_block(text: str, opening: int) -> int:
    """Returns the index after the brace that closes the one at `opening`; the end of the text if nothing does."""
    depth, at = 0, opening
    while (match := _IN_BLOCK.search(text, at)) is not None:
        at = match.end()
        if match[0] == "/*":
            at = text.find("*/", at) + 2
            if at < 2:
                break
        elif match[0] == "{":
            depth += 1
        elif match[0] == "}":
            depth -= 1
            if depth == 0:
                return at
    return len(text)


def regions(text: str) -> Iterator[Region]:
    """Yields the C# of a page, as a class with the members in `@code` and `@functions`, and its scripts and styles."""
    code = _COMMENTS.sub(lambda match: blank(match[0]), text)
    members, searched = Pieces(code), Pieces(code)
    at = 0
    while (match := _CODE.search(code, at)) is not None:
        at = match.end()
        group = match.lastgroup or ""
        start, end = match.span(group)
        if group == "members":
            opening, at = at, _end_of_block(code, at)
            block = _MARKUP_LINE.sub(lambda line: blank(line[0]), code[opening:at])
            block = _MARKUP_VALUE.sub(lambda markup: "null".ljust(len(markup[0])), block)
            members.add(start, at, f"class {_CLASS} {blank(code[end:opening])}{block}")
            searched.add(opening, at)
        elif group == "block":
            at = _end_of_block(code, start)
            searched.add(start, at, _MARKUP_LINE.sub(lambda line: blank(line[0]), code[start:at]))
        elif group == "control":
            searched.add(start, end)
        elif group == "using":
            members.add(start, end, f"{code[start:end]};")
        elif group == "injected":
            searched.add(start, end, f"{code[start:end]} = null;")
        elif match[group].partition(" ")[0] not in _NO_CODE:
            searched.add(start, end, f"{code[start:end]};")
    yield Region("csharp", 0, len(text), members.whole(), searched.whole())
    yield from _SCRIPTS(code)


def completed(symbols: Sequence[Symbol], text: str, path: str) -> list[Symbol]:
    """Returns the symbols with the class that a component is in place of those around its members."""
    name, _, extension = path.rpartition("/")[2].partition(".")
    last = max(text.count("\n") + (not text.endswith("\n")), 1)
    found: list[Symbol] = []
    moved = {-1: -1}
    component = -1
    for index, symbol in enumerate(symbols):
        if symbol.name == _CLASS:
            if component >= 0:
                moved[index] = component
                continue
            component = len(found)
            symbol = replace(
                symbol, name=name, line_start=1, line_end=last, signature=f"class {name}", visibility="public", doc=""
            )
        moved[index] = len(found)
        qualified = symbol.qualified_name.replace(_CLASS, name, 1)
        found.append(replace(symbol, qualified_name=qualified, parent=moved[symbol.parent]))
    if extension == "razor" and name.isidentifier() and not any(symbol.qualified_name == name for symbol in found):
        whole = Symbol(name, "class", name, 1, last, f"class {name}", "public")
        found = [whole, *(replace(each, parent=each.parent + 1 if each.parent >= 0 else -1) for each in found)]
    return found


_TEMPLATES: Final = template_imports(".cshtml", ".razor")


def _tails(item: Import, from_path: str) -> tuple[str, ...]:
    return (_TEMPLATES if item.kind == "include" else CSHARP_IMPORTS).tails(item, from_path)


def _resolve(item: Import, from_path: str, paths: PathIndex) -> str:
    return (_TEMPLATES if item.kind == "include" else CSHARP_IMPORTS).resolve(item, from_path, paths)


RAZOR = replace(
    CSHARP,
    grammar="",
    rules={},
    prepare=None,
    outline=_READ,
    imports=replace(CSHARP_IMPORTS, tails=_tails, resolve=_resolve, packages=None),
    regions=Regions(holds="C#, scripts, styles", found=regions, are_all=True, completed=completed),
    registers=None,
    display=Display(lexer=None),
)
