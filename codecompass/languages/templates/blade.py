"""Blade, the templates of Laravel: sections, the templates that they include, and the PHP in them."""

import re
from collections.abc import Iterator
from typing import Final

from msgspec.structs import replace

from codecompass import lazy
from codecompass.languages.display import Display
from codecompass.languages.documents.html import PAGE, TEMPLATE_TAG, scripts_among
from codecompass.languages.records import Import
from codecompass.languages.scripting.php import PHP
from codecompass.languages.templates.template_tags import tags, template_imports, with_tags, without_comments
from codecompass.languages.walk.markup import Pieces, blank
from codecompass.languages.walk.regions import Region, Regions
from codecompass.languages.walk.text_rules import imports_of, together

_COMMENTS: Final = lazy.pattern(
    r"\{\{--[^-]*+(?>(?:-(?!-\}\})[^-]*+)*)(?:--\}\}|\Z)|(?<!@)(?P<raw>@verbatim)\b.*?(?:@endverbatim\b|\Z)", re.DOTALL
)
"""Comments, and what is printed as it is."""

_QUOTED: Final = r"\(\s*+[\"']"
_PARENTHESES: Final = r"\((?>(?:[^()\n]++|\([^()\n]*+\))*)\)"
_CONDITION: Final = rf"(?>(?:[^,\"'()\[\]\n]++|\"[^\"\n]*+\"|'[^'\n]*+'|{_PARENTHESES})*)"
_TAGS: Final = tags(
    rf"(?<!@)@(?:(?P<open>section|fragment)\s*+{_QUOTED}(?P<section>[\w.-]++)[\"']\s*+\)"
    rf"|(?:section|yield|stack)\s*+{_QUOTED}(?P<section2>[\w.-]++)[\"']"
    r"|(?P<close>endsection|stop|show|overwrite|append|endfragment)\b)",
    _COMMENTS,
    r"(?<!@)@(?:(?:extends|include|includeIf|component|each)\s*+\(|(?:extends|include)First\s*+\(\s*+\["
    rf"|include(?:When|Unless)\s*+\({_CONDITION},)\s*+[\"']([\w.:/-]++)[\"'](?!\s*+\.)",
    has_one_close=True,
)
_CODE: Final = lazy.pattern(
    r"@php\b(?![ \t]*+\()|<\?(?:php\b|=)"
    r"|\{\{(?!--)(?P<echo>[^{}]*+(?>(?:\{[^{}]*+\}[^{}]*+)*))\}\}|\{!!(?P<raw>[^\n]{0,500}?)!!\}"
    r"|(?<![\w@])@(?P<word>[a-zA-Z]\w*+)[ \t]*+(?P<arguments>\((?>(?:[^()]++|\((?>(?:[^()]++|\([^()]*+\))*)\))*)\))"
    r"|(?<=\s):[a-z][\w.-]*+=\"(?P<value>[^\"]++)\""
)
_SCRIPTS: Final = scripts_among(
    rf"{TEMPLATE_TAG}|\{{!![^\n]{{0,500}}?!!\}}|@(?:json|js){_PARENTHESES}"
    r"|(?P<control>@(?:(?:end)?(?:auth|can|cannot|env|for|foreach|forelse|guest|if|isset|production|unless|while)|else|elseif|empty)"
    rf"\b(?:[ \t]*+{_PARENTHESES})?)"
)
_CONTROL: Final = frozenset({"case", "elseif", "for", "foreach", "if", "switch", "while"})


def _components(text: str, _path: str) -> Iterator[Import]:
    """Yields the components in tags: `<x-card>` is the template `components.card`, `<x-shop::card>` that of a package; those of
    mails are in no such directory."""
    for item in imports_of(_COMPONENT, text, text, "include"):
        package, colons, name = item.spec.rpartition("::")
        yield replace(item, spec=item.spec if package == "mail" else f"{package}{colons}components.{name}")


_COMPONENT: Final = lazy.pattern(r"<x-(?!slot\b)([\w.-]++(?:::[\w.-]++)?)")


def regions(text: str) -> Iterator[Region]:
    """Yields the PHP of a template, which is one program, and its scripts and styles."""
    code = _COMMENTS.sub(lambda match: blank(match[0]), text)
    script, searched = Pieces(code), Pieces(code)
    at, has_script = 0, False
    while (match := _CODE.search(code, at)) is not None:
        at = match.end()
        group = match.lastgroup
        if group is None:
            closing = "@endphp" if match[0] == "@php" else "?>"
            end = code.find(closing, at)
            end = len(code) if end < 0 else end
            script.add(at, end + 1, f"{code[at:end]};")
            searched.add(at, end)
            has_script, at = True, min(end + len(closing), len(code))
        elif group == "arguments":
            start = match.start("word" if match["word"] in _CONTROL else "arguments")
            searched.add(start, at)
        else:
            start, end = match.span(group)
            searched.add(start - 1, end + 1, f";{code[start:end]};")
    yield Region("php", 0, len(text), f"<?php {script.whole()}" if has_script else "", searched.whole())
    yield from _SCRIPTS(without_comments(_COMMENTS, text))


BLADE = replace(
    PHP,
    grammar="",
    rules={},
    outline=with_tags(together(PAGE, _components), _TAGS, _COMMENTS),
    separator=".",
    imports=template_imports(
        ".blade.php", "/index.blade.php", path_of=lambda item: item.spec.rpartition("::")[2].replace(".", "/")
    ),
    regions=Regions(holds="PHP, scripts, styles", found=regions, are_all=True),
    registers=None,
    display=Display(lexer="html+php"),
)
