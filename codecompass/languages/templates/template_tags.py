"""The tags of template languages: what they define (blocks, macros, named templates), and the templates that they include.

Languages whose tags are alike share a reader. A page in HTML may hold tags of any of them; `page_tags` reads those that it has.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import Final, cast

from msgspec.structs import replace

from codecompass import lazy
from codecompass.languages.imports.path_index import PathIndex
from codecompass.languages.imports.paths import last_part, nearest, tail_of
from codecompass.languages.imports.plain import plain_imports
from codecompass.languages.imports.rules import ImportRules
from codecompass.languages.records import Import, SymbolKind
from codecompass.languages.walk.markup import blank
from codecompass.languages.walk.text_rules import Entry, Outline, blocks, hidden, imports_of

MAX_OPEN: Final = 100
"""Blocks in blocks. What is deeper has one line."""


def tags(pattern: str, comments: re.Pattern[str] | None, imports: str = "", *, has_one_close: bool = False) -> Outline:
    """Returns the reader of a template language.

    The groups of `pattern` are called like kinds, as those of `text_rules.braces`. A group `open`, before them or alone, is the
    word of a tag that something closes, whether it defines anything or not, and `close` the same word in the tag that closes it;
    with `has_one_close` one tag closes all of them. The group of `imports` is the path of an included template.
    """
    heads, included = lazy.pattern(pattern), lazy.pattern(imports)

    def outline(text: str, _path: str) -> Iterator[Entry | Import]:
        code = text if comments is None else hidden(comments, text)
        if imports:
            yield from imports_of(included, code, text, "include")
        openers = [group for group in heads.groupindex if group.startswith("open")]
        found: list[Entry] = []
        open_: list[tuple[str, int]] = []
        for match in heads.finditer(code):
            end, group = match.end(), cast("str", match.lastgroup)
            if group == "close":
                _close(found, open_, "" if has_one_close else match["close"], end)
                continue
            number = -1
            if not group.startswith("open"):
                number = len(found)
                kind = cast("SymbolKind", group.rstrip("0123456789"))
                start, stop = match.span(group)
                found.append(Entry(text[start:stop], kind, match.start(), end, signature=text[match.start() : end], doc=""))
            opened = next((match[opener] for opener in openers if match[opener] is not None), None)
            if opened is not None and len(open_) < MAX_OPEN:
                open_.append(("" if has_one_close else opened, number))
        yield from found

    return outline


def _close(found: list[Entry], open_: list[tuple[str, int]], word: str, end: int) -> None:
    """Ends the innermost block that a word has opened, and with it those in it that nothing closes."""
    for depth in range(len(open_) - 1, -1, -1):
        opened, number = open_[depth]
        if opened == word:
            del open_[depth:]
            if number >= 0:
                entry = found[number]
                found[number] = Entry(entry.name, entry.kind, entry.start, end, signature=entry.signature, doc="")
            return


_PERCENT: Final = r"\{%[-+~]?\s*+"
_REST: Final = r"(?>(?:[^%{]++|%(?!\})|\{(?!%))*)%\}"
"""The rest of a tag. A `%` in it may be part of a format."""

_PATH: Final = r"[\"']([^\"'\n]++)[\"'](?!\s*+[+~])"
"""A path in quotes, without those that are only the beginning of one."""

percent_comments: Final = lazy.pattern(
    rf"\{{#.*?(?:#\}}|\Z)|{_PERCENT}(?:comment\b.*?(?:{_PERCENT}endcomment\b|\Z)"
    rf"|(?P<raw>raw|verbatim)\b.*?(?:{_PERCENT}end(?P=raw)\b|\Z))",
    re.DOTALL,
)


def percent_reader(comments: re.Pattern[str], included: str) -> Outline:
    """Returns the reader of `{% block x %}` in a language with such comments; `included` are the words before a path."""
    return tags(
        rf"{_PERCENT}(?:end(?P<close>block|macro|partialdef|embed)\b{_REST}"
        rf"|(?P<open>block)\s++(?P<section>[\w.-]++)(?>(?:\s++(?:scoped|required))*)\s*+[-+~]?%\}}"
        rf"|block\s++(?P<section2>[\w.-]++){_REST}"
        rf"|(?P<open2>macro|partialdef)\s++(?P<macro>\w++){_REST})",
        comments,
        rf"(?:{_PERCENT}(?:(?:{included})\s++[\[(]?|extends\s++[^%\"']*+|form_theme\s++[\w.]++(?:\s++with\b)?\s*+\[?)"
        rf"|\{{\{{[-~]?\s*+(?:include|source)\(\s*+\[?)\s*+{_PATH}",
    )


percent_tags: Final = percent_reader(percent_comments, "include|import|from|embed|use|render|layout|section")
"""`{% block x %}` of Jinja, Django, Nunjucks and Twig."""

_IN_BRACES: Final = r"(?>(?:[^{}\"`]++|\"(?>(?:[^\"\\\n]++|\\.)*)\"|`[^`]*+`)*)\}\}"
go_comments: Final = lazy.pattern(r"\{\{-?\s*+(?:/\*.*?(?:\*/|\Z)|(?P<raw>`)[^`]*+`)", re.DOTALL)
go_tags: Final = tags(
    rf"\{{\{{-?\s*+(?:(?P<open>define|block)\s++[\"`](?P<macro>[^\"`\n]++)[\"`]{_IN_BRACES}"
    rf"|(?P<open2>if|range|with)\b{_IN_BRACES}|(?P<close>end)\s*+-?\}}\}})",
    go_comments,
    has_one_close=True,
)
"""`{{ define "x" }}` of Go and Helm."""

mustache_comments: Final = lazy.pattern(
    r"\{\{~?!--.*?(?:--~?\}\}|\Z)|\{\{~?!(?!<[ \t]).*?(?:\}\}|\Z)"
    r"|\{{4}(?P<raw>[\w-]++)[^{}]*+\}{4}.*?(?:\{{4}/(?P=raw)\}{4}|\Z)|\\\{\{[^{}]*+\}\}",
    re.DOTALL,
)
mustache_tags: Final = tags(
    r"\{\{~?(?:#\*\s*+(?P<open>inline)\s++[\"'](?P<macro>[^\"'\n]++)[\"'][^{}]*+\}\}"
    r"|\$\s*+(?P<section>(?P<open2>[\w./-]++))\s*+\}\}|/(?P<close>[\w./-]++)\s*+~?\}\})",
    mustache_comments,
    r"\{\{~?(?:#?>|!?<)\s*+[\"'\[]?([\w./-]++)",
)
"""`{{> x}}` and `{{#*inline "x"}}` of Handlebars, `{{$x}}` and `{{<x}}` of Mustache, `{{!< x}}` of Ghost."""

attribute_tags: Final = blocks(
    r"\b(?:th|data-th):fragment\s*+=\s*+[\"'](?P<macro>[\w-]++)|\blayout:fragment\s*+=\s*+[\"'](?P<section>[\w-]++)",
    ends={},
    imports=r"\b(?:th|data-th|layout):(?:replace|insert|include|decorate|decorator)\s*+=\s*+[\"'](?:~\{)?\s*+([\w./-]++)"
    r"\s*+(?:::|\}|[\"'])",
)
"""`th:fragment` of Thymeleaf."""


def page_tags(text: str, path: str) -> Iterable[Entry | Import]:
    """Returns what the tags in a page define and include."""
    found: list[Iterable[Entry | Import]] = []
    if "{%" in text:
        found.append(percent_tags(text, path))
    if "{{" in text and _GO.search(text):
        found.append(go_tags(text, path))
    if "th:" in text or "layout:" in text:
        found.append(attribute_tags(text, path))
    return chain.from_iterable(found)


def with_tags(page: Outline, tags_of: Outline, comments: re.Pattern[str] | None = None) -> Outline:
    """Returns the reader of pages with tags of templates: what is within a block ends with it, and neither a heading that is only
    printed nor one in comments of the template is a section."""

    def outline(text: str, path: str) -> Iterator[Entry | Import]:
        tagged = list(tags_of(text, path))
        of_tags = [item for item in tagged if isinstance(item, Entry)]
        found = list(page(text if comments is None else without_comments(comments, text), path))
        yield from sorted((item for item in (*tagged, *found) if isinstance(item, Import)), key=lambda item: item.line_start)
        of_page = [item for item in found if isinstance(item, Entry) and not _PRINTED.fullmatch(item.name)]
        around: list[int] = []
        """Where the blocks around the current entry end."""
        both = (*((item, True) for item in of_tags), *((item, False) for item in of_page))
        for item, is_block in sorted(both, key=lambda each: (each[0].start, -each[0].end)):
            while around and around[-1] <= item.start:
                around.pop()
            # Ends before the end of the block: of two that begin in one line and end together, none is within the other.
            clipped = replace(item, end=around[-1] - 1) if around and item.end >= around[-1] else item
            yield clipped
            if is_block:
                around.append(clipped.end)

    return outline


def without_comments(comments: re.Pattern[str], text: str) -> str:
    """Returns a text with its comments blank, but not what matches the group `raw`: that is printed as it is."""
    return comments.sub(lambda match: match[0] if match.lastgroup == "raw" else blank(match[0]), text)


_PRINTED: Final = lazy.pattern(r"\{[{%#!].*|@[\w(].*")

_GO: Final = lazy.pattern(r"\{\{-?[ \t]*+(?:define|block)[ \t]++[\"`]")

go_calls: Final = r"\{\{-?[^{}\"\n]{0,80}?\b(?:template|include)[ \t]++\"(?P<command11>[^\"\n]++)\""
"""Uses of named templates of Go, for `references`."""

percent_calls: Final = (
    r"\{[{%][-+~]?[ \t]*+(?:call[ \t]++)?(?:[a-z_]\w*+\.)?(?P<command13>[a-z_]\w*+)[ \t]*+\("
    r"|\{%[-+~]?[ \t]*+from[ \t]++[^%\n]*?\bimport[ \t]++(?P<argument14>[a-z_]\w*+(?>(?:[ \t]*+,[ \t]*+[a-z_]\w*+)*))"
    r"|\{%[-+~]?[ \t]*+partial[ \t]++(?P<command15>\w++)"
)
"""Calls of macros of Jinja and its like, for `references`."""

mustache_calls: Final = r"\{\{~?(?:#?>|<)\s*+[\"'\[]?(?P<command17>[\w./-]++)"
"""Uses of partials of Handlebars, for `references`."""

attribute_calls: Final = r"\bth:(?:replace|insert|include)\s*+=\s*+[\"'][^\"'\n:]*+::\s*+(?P<command16>[\w-]++)"
"""Uses of fragments of Thymeleaf, for `references`."""


_NAMESPACE: Final = lazy.pattern(r"@[^/]*+/|~/|[a-z]++:")
_ADDRESS: Final = lazy.pattern(r"(?:[a-z][a-z0-9+.-]*+:)?//|[a-z]++:[^/]|#|\{")


def written_path(item: Import) -> str:
    """Returns the path of an included file without the namespace before it and a query after it; '' for an address."""
    spec = item.spec
    if _ADDRESS.match(spec):
        return ""
    return _NAMESPACE.sub("", spec, count=1).partition("?")[0].removeprefix("./") if spec[:1] in "@~" else spec.partition("?")[0]


def template_imports(*endings: str, path_of: Callable[[Import], str] = written_path) -> ImportRules:
    """Returns the rules of a language whose files include others by their paths below directories that nothing in them names;
    `endings` are what may follow a path. A name alone may be in any directory."""
    rules = plain_imports(endings=("", *endings), path_of=path_of)

    def resolve(item: Import, from_path: str, paths: PathIndex) -> str:
        found = rules.resolve(item, from_path, paths)
        path = path_of(item).strip("/")
        if found or not path or ".." in path:
            return found
        for ending in endings:
            anywhere = paths.files_ending(tail_of(last_part(path)), path + ending)
            if anywhere:
                return nearest(anywhere, from_path)
        return ""

    return ImportRules(tails=rules.tails, resolve=resolve)
