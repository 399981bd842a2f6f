r"""The query language that people type into the page, `search -i` and `codecompass search`: filters between the words.

    lang:python  file:src/  -file:test  kind:class  repo:api  case:yes  sym:Session  "a phrase"  /a\s+pattern/
    type:commit  type:diff  author:ada  since:2024-05-01  until:2024-06  before:2024-06-01

The filters are written as in the searches of code hosts, with the longer names too (`language:`, `path:`, `symbol:`). Any text is
valid: what is no filter is text to search for, and so is a text of several lines, which is a pasted message. Tools of agents have
arguments for the same things and read this language only in a query that has `type:commit` or `type:diff`, and searches the
history (`commit_question.py`); the other filters of the second line mean something only there.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, Literal

from msgspec import Struct

from codecompass import lazy
from codecompass.protocol.decode import ALL_FILES
from codecompass.protocol.kinds import KINDS_ON_INPUT, SYMBOL_KINDS
from codecompass.protocol.requests import LocateSymbol, SearchCode, SearchMode
from codecompass.query.words.line_matchers import escaped

FilterName = Literal["lang", "file", "-file", "kind", "repo", "case", "sym", "type", "author", "since", "until", "before"]
History = Literal["commit", "diff"]
"""What of a repository's history is searched: the messages of commits, or the lines that they added and removed."""

FILTER_NAMES: Final[Mapping[str, FilterName]] = {
    "lang": "lang",
    "language": "lang",
    "file": "file",
    "path": "file",
    "-file": "-file",
    "-path": "-file",
    "kind": "kind",
    "repo": "repo",
    "case": "case",
    "sym": "sym",
    "symbol": "sym",
    "type": "type",
    "author": "author",
    "since": "since",
    "after": "since",
    "until": "until",
    "before": "before",
}
"""Every name of a filter that is read, with the one that is shown."""

HISTORIES: Final[Mapping[str, History]] = {"commit": "commit", "diff": "diff"}
"""The values of `type:`."""

_OF_HISTORY: Final = frozenset({"type", "author", "since", "until", "before"})

MAX_FILTERS: Final = 16
"""Filters of one text; further ones are text. With the bounds of a value, the path filter stays below that of its own."""

MAX_VALUE_CHARACTERS: Final = 200
_MAX_WILDCARDS: Final = 8
_MAX_COMMAS: Final = 2
_MAX_BRACES: Final = 2

_TOKEN: Final = lazy.pattern(r'(?:[^\s"]|"[^"]*"?)+')
_FILTER: Final = lazy.pattern(r'(?P<name>-?[a-z]+):(?:"(?P<quoted>[^"]+)"|(?P<plain>[^\s"]+))', re.ASCII)
_WORDS: Final = lazy.pattern(r"[\w+#.-]+(?:,[\w+#.-]+)*", re.ASCII)
_CASES: Final = {"yes": True, "no": False}
_WILDCARDS: Final = frozenset("*?{")

NOTHING_SOUGHT: Final = "the query has a filter but nothing to search for. Add words to it."
"""The error for people of a text that is empty without `case:`."""

_PHRASE: Final = lazy.pattern(r'"([^"]+)"')
_PATTERN: Final = lazy.pattern(r"/(\S|\S.*\S)/")
_PATH: Final = lazy.pattern(r"[\w.@~+-]+(?:/[\w.@~+-]+)+")
"""The inside of `/usr/lib/`, which is a path rather than a pattern."""

_OF_LOCATING: Final = frozenset(LocateSymbol.__struct_fields__)
"""Arguments that the search for a definition takes too."""


class QueryFilter(Struct, frozen=True):
    """A filter in a text. `start` and `end` are its place there, in characters."""

    name: FilterName
    value: str
    start: int
    end: int

    @property
    def written(self) -> str:
        """The filter as it is written, in its short form."""
        return written_filter(self.name, self.value)


class ParsedQuery(Struct, frozen=True, kw_only=True):
    """A text that somebody typed, read once. Filters that are absent are empty.

    `query` is what is searched for in mode `mode`; `words` is the text without filters, as it was written. `path` has globs,
    `language` and `kind` words with commas, as the tools take them.
    """

    text: str
    words: str
    query: str
    mode: SearchMode = "auto"
    language: str = ""
    path: str = ""
    kind: str = ""
    symbol: str = ""
    projects: tuple[str, ...] = ()
    is_case_sensitive: bool = False
    filters: tuple[QueryFilter, ...] = ()
    history: History | None = None
    """What of the history is searched, with `query` as this language; None for a search of the code."""

    @property
    def is_empty(self) -> bool:
        """Whether nothing is asked: neither text nor a filter that lists files."""
        return not self.query

    @property
    def tool(self) -> str:
        """The tool that answers: the search for a definition if only `sym:` says what is sought."""
        return LocateSymbol.tool if self.symbol and not self.words and self.history is None else SearchCode.tool

    def arguments(self, others: Mapping[str, object]) -> dict[str, object]:
        """Returns the arguments of `tool`: `others`, those that are given beside the text, replaced by what the text says."""
        if self.history is not None:
            return {**others, "query": self.query, "mode": "auto"}
        own = {"path": self.path, "language": self.language, "kind": self.kind}
        merged = {**others, **{name: value for name, value in own.items() if value}}
        if self.tool == LocateSymbol.tool:
            return {"name": self.symbol, **{name: value for name, value in merged.items() if name in _OF_LOCATING}}
        return {**merged, "query": self.query, "mode": self.mode}

    def without(self, filters: Sequence[QueryFilter]) -> str:
        """Returns the text without these filters of it."""
        kept, at = [], 0
        for each in sorted(filters, key=lambda one: one.start):
            kept.append(self.text[at : each.start].strip())
            at = each.end
        return " ".join(part for part in (*kept, self.text[at:].strip()) if part).strip()

    def value_of(self, name: FilterName) -> str:
        """Returns the value of the last filter of a name; empty if there is none."""
        return next((each.value for each in reversed(self.filters) if each.name == name), "")

    def with_filter(self, name: FilterName, value: str) -> str:
        """Returns the text with one more filter, or the same text if it has that one."""
        if any(each.name == name and each.value == value for each in self.filters):
            return self.text
        return f"{self.text.strip()} {written_filter(name, value)}".strip()


def written_filter(name: FilterName, value: str) -> str:
    """Returns a filter as it is written in a query."""
    return f'{name}:"{value}"' if re.search(r"\s", value) else f"{name}:{value}"


def parse_query(text: str, mode: SearchMode = "auto") -> ParsedQuery:
    """Returns what a text means. In a mode other than `auto` it is taken as it stands. Pure; takes linear time."""
    if mode != "auto" or "\n" in text or "\r" in text:
        return ParsedQuery(text=text, words=text.strip(), query=text, mode=mode)
    filters = tuple(_filters(text))
    history = next((HISTORIES[each.value] for each in reversed(filters) if each.name == "type"), None)
    if history is not None:
        return _parsed_history(text, filters, history)
    filters = tuple(each for each in filters if each.name not in _OF_HISTORY)
    words = _without(text, filters)
    is_case_sensitive = next((_CASES[each.value] for each in reversed(filters) if each.name == "case"), False)
    symbol = next((each.value for each in reversed(filters) if each.name == "sym"), "")
    query, read_as = _read(f"{symbol} {words}" if symbol and words else words, is_case_sensitive=is_case_sensitive)
    kind = ",".join(each.value for each in filters if each.name == "kind")
    if symbol and words and not kind:
        kind = ",".join(word for word in SYMBOL_KINDS if word != "use")
    if symbol and not words:
        query = symbol
    elif not words and any(each.name != "case" for each in filters):
        query, read_as = ALL_FILES, "files"
    return ParsedQuery(
        text=text,
        words=words,
        query=query,
        mode=read_as,
        language=",".join(each.value for each in filters if each.name == "lang"),
        path=",".join(_globs(filters)),
        kind=kind,
        symbol=symbol,
        projects=tuple(each.value for each in filters if each.name == "repo"),
        is_case_sensitive=is_case_sensitive,
        filters=filters,
    )


def _parsed_history(text: str, filters: tuple[QueryFilter, ...], history: History) -> ParsedQuery:
    repositories = [each for each in filters if each.name == "repo"]
    return ParsedQuery(
        text=text,
        words=_without(text, filters),
        query=_without(text, repositories),
        path=",".join(_globs(filters)),
        projects=tuple(each.value for each in repositories),
        is_case_sensitive=any(each.name == "case" and _CASES[each.value] for each in filters),
        filters=filters,
        history=history,
    )


def pattern_of(words: str) -> str:
    """Returns the RE2 expression between the slashes around all of `words`; empty if they are none."""
    pattern = _PATTERN.fullmatch(words)
    return pattern[1] if pattern is not None and _PATH.fullmatch(pattern[1]) is None else ""


def phrase_of(words: str) -> str:
    """Returns the text within the quotation marks around all of `words`; empty if there are none."""
    quoted = _PHRASE.fullmatch(words)
    return quoted[1] if quoted is not None and quoted[1].strip() else ""


def _read(words: str, *, is_case_sensitive: bool) -> tuple[str, SearchMode]:
    """Returns what is searched for, and how."""
    phrase, pattern = phrase_of(words), pattern_of(words)
    if pattern:
        return (pattern if is_case_sensitive else f"(?i){pattern}"), "regex"
    if is_case_sensitive and words:
        return phrase or words, "literal"
    if phrase:
        return f"(?i){escaped(phrase)}", "regex"
    return words, "auto"


def _without(text: str, filters: Sequence[QueryFilter]) -> str:
    if not filters:
        return text.strip()
    return ParsedQuery(text=text, words="", query="").without(filters)


def _filters(text: str) -> Iterator[QueryFilter]:
    n_filters = 0
    end = len(text.rstrip()) - 1
    ends_pattern = end > 0 and text[end] == "/" and not text[end - 1].isspace()
    for token in _TOKEN.finditer(text):
        start = token.start()
        if ends_pattern and text[start] == "/" and start + 1 < end and not text[start + 1].isspace():
            return  # the rest is a pattern, whose blanks are part of it
        found = _FILTER.fullmatch(token[0])
        if found is None or n_filters >= MAX_FILTERS:
            continue
        name = FILTER_NAMES.get(found["name"])
        value = found["quoted"] or found["plain"]
        if name is not None and _is_value(name, value):
            n_filters += 1
            yield QueryFilter(name, value, token.start(), token.end())


def _is_value(name: FilterName, value: str) -> bool:
    """Returns whether a filter can have this value; otherwise it is text, like `case:foo` or the address `file:///etc`."""
    if len(value) > MAX_VALUE_CHARACTERS or not value.strip() or "\0" in value:
        return False
    match name:
        case "kind":
            return all(word in KINDS_ON_INPUT for word in value.split(",")) and value.count(",") <= _MAX_COMMAS
        case "case":
            return value in _CASES
        case "type":
            return value in HISTORIES
        case "lang":
            return len(value) <= MAX_VALUE_CHARACTERS // 4 and _WORDS.fullmatch(value) is not None
        case "file" | "-file":
            return (
                not value.startswith("//")
                and value.strip("!^$,/ ") != ""
                and sum(map(value.count, "*?[")) <= _MAX_WILDCARDS
                and value.count(",") <= _MAX_COMMAS
                and value.count("{") <= _MAX_BRACES
            )
        case _:
            return True


def _globs(filters: Sequence[QueryFilter]) -> Iterator[str]:
    for each in filters:
        if each.name in ("file", "-file"):
            parts = (each.value,) if _WILDCARDS.intersection(each.value) else each.value.split(",")
            for part in filter(None, (part.strip() for part in parts)):
                glob = _glob(part)
                if glob:
                    yield f"!{glob}" if each.name == "-file" else glob


def _glob(written: str) -> str:
    r"""Returns the glob of a value: one is taken as it is, any other text may be anywhere in the path.

    `^` and `$` at its ends, and `\.` for a dot, mean what they mean in the patterns of other searches.
    """
    if _WILDCARDS.intersection(written):
        return written.lstrip("!")
    text = written.replace("\\.", ".")
    is_start, is_end = text.startswith("^"), text.endswith("$")
    text = text.removeprefix("^").removesuffix("$").lstrip("!")
    if is_start:
        text = text.lstrip("/")
    if not text.strip("/"):
        return ""
    after = "" if is_end else "**" if text.endswith("/") else "*"
    if is_start:
        return f"/{text}{after}"
    if "/" in text:
        return f"**/*{text}{after}" if not text.startswith("/") else f"**{text}{after}"
    return f"*{text}{after}"
