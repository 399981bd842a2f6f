"""The intent of a query (a symbol name, a path, an error message, a question in words), and which of its words occur in the
index: a search for made-up words must not return anything.
"""

import re
from typing import Final

from codecompass import lazy
from codecompass.languages.unspaced import LETTERS, is_pair
from codecompass.languages.words import NAME_MARK, split_identifier, word_set
from codecompass.query.search_hits import QueryIntent
from codecompass.query.words.query_words import (
    MAX_QUERY_CHARACTERS,
    MAX_QUERY_WORDS,
    STOP_WORDS,
    identifiers,
    inflections,
    is_code_name,
    name_parts,
)
from codecompass.store.snapshot import Snapshot

_URL: Final = lazy.pattern(r"[a-z][a-z0-9+.-]*://", re.IGNORECASE)
_PATH_EXTENSION: Final = lazy.pattern(
    r"[^\s\\/]*[.](?:py|pyi|js|jsx|mjs|cjs|ts|tsx|mts|cts|go|rs|java|c|h|cc|cpp|cxx|hpp|hh|cs|rb|php|kt|kts|swift|scala|sc|sh|bash|lua|ex|exs"
    r"|hs|zig|sql|md|rst|txt|toml|ya?ml|json|html?|css|scss|vue|svelte|tf|proto|gradle|cfg|ini|xml|lock|mod|sum"
    r"|adb|ads|asm|bzl|cairo|cljc?|cljs|cu|dart|elm|erl|f90|fsx|gleam|glsl|groovy|hlsl|hrl|jl|mli?|nim|nix|odin|ps1|psm1|purs"
    r"|rkt|scm|svh|tcl|vhdl?|wgsl)(?::\d+)?"
)
_CODE_NAME: Final = lazy.pattern(r"@?[^\W\d][\w$]*(?:(?:::|->|[.#:\\]|\.?\(\*?|\)\.)[^\W\d][\w$]*)*[!?]?(?:\(\)?)?")

_ERROR: Final = lazy.pattern(
    r"\b(?:error|warning|fatal|panic|exception|failed|failure)(?:\[\w+\])?:\s"
    r"|\b\w+(?:Error|Exception|Fault|Panic):\s"
    r"|\b(?:error|warning|fatal|panic|\w+(?:Error|Exception)):$"
    r"|\btraceback\b|\bstack ?trace\b:|\bpanicked at\b|\bthread '|\bexception in thread\b|\bcaused by:"
    r"|\bat line \d+|\bline \d+, in\b|\(\w+[.]\w+:\d+\)|\bat \S+\(.*:\d+"
    r"|\bsegmentation fault\b|\bcore dumped\b|\bundefined reference to\b|\bcannot find (?:module|name|symbol)\b"
    r"|\bno such file or directory\b|\bis not (?:defined|a function|assignable to)\b|\bcannot read propert"
    r"|\bpermission denied\b|\bconnection refused\b|\bunexpected token\b",
    re.IGNORECASE,
)
_ERROR_CODE: Final = lazy.pattern(
    r"(?:^|[\s\[(])(?:(?:E|TS|CS|LNK|ORA-|F|W)\d{4,5}|FATAL|E(?:NOENT|ACCES|PERM|CONNREFUSED|CONNRESET|TIMEDOUT|ADDRINUSE"
    r"|PIPE|NOTFOUND|EXIST|ISDIR|NOTDIR|MFILE|NOSPC|INVAL))(?=$|[:\s\])])"
)
_RAISED: Final = lazy.pattern(r"(?:[\w]+[.])*[A-Z][a-z0-9]+(?:[A-Z][a-z0-9]+)+: \S+ \S")
"""An exception class and its message, whatever the class is called."""

_QUOTES: Final = {'"': '"', "'": "'", "`": "`", "“": "”", "‘": "’"}

_CODE_KEYWORDS: Final = word_set("fn func def impl struct enum trait")
_PROSE_KEYWORDS: Final = word_set("function class interface type const var method module namespace record object protocol")


def classify(query: str) -> QueryIntent:
    """Returns the intent of a query."""
    text = query.strip()
    words = text.split()
    if _is_error(text, words):
        return "error"
    if len(words) == 1:
        if _is_path(text):
            return "path"
        return "symbol" if _is_symbol(text) else "natural_language"
    if len(words) == 2 and _names_after_keyword(words[0], words[1]):
        return "symbol"
    return "natural_language"


def unquoted(query: str) -> str:
    """Returns the query without surrounding blanks and without quotes that enclose all of it."""
    text = query.strip()
    return text[1:-1].strip() if _is_quoted(text) else text


def _is_quoted(text: str) -> bool:
    return len(text) > 2 and _QUOTES.get(text[0]) == text[-1] and text[0] not in text[1:-1]


def _is_error(text: str, words: list[str]) -> bool:
    if _is_quoted(text):
        return len(words) > 1
    return _RAISED.match(text) is not None or _ERROR.search(text) is not None or _ERROR_CODE.search(text) is not None


def _is_path(word: str) -> bool:
    if _URL.match(word):
        return False
    if "/" in word or ("\\" in word and not word.startswith("\\")):
        segments = [segment for segment in re.split(r"[\\/]", word) if segment]
        # `Foo\Bar` and `Foo\Bar::baz` are PHP names; `n/a` and `I/O` are prose.
        if "/" not in word:
            return _PATH_EXTENSION.fullmatch(segments[-1]) is not None if segments else False
        return len(segments) > 2 or word[0] in "./~" or word.endswith("/") or any(len(segment) > 3 for segment in segments)
    return _PATH_EXTENSION.fullmatch(word) is not None and not word.startswith(".")


def _is_symbol(word: str) -> bool:
    if _CODE_NAME.fullmatch(word) is None:
        return False
    bare = word.strip("@!?()")
    return is_code_name(bare) or bare[:1].isupper() or word != bare


def _names_after_keyword(keyword: str, name: str) -> bool:
    if _CODE_NAME.fullmatch(name) is None:
        return False
    if keyword in _CODE_KEYWORDS:
        return True
    return keyword in _PROSE_KEYWORDS and (is_code_name(name) or name[:1].isupper())


_RUN: Final = lazy.pattern(rf"[\w{LETTERS}]+")
_FIELDS: Final = ("body", "parts", "pairs", "path_words", "file_words", "name_words")

_FEW_PAIRS: Final = 3
"""Pairs of letters of a word in a script without blanks, all of which must occur; a longer run is a sentence."""


def unknown_words(snapshot: Snapshot, query: str) -> tuple[str, ...]:
    """Returns the words of a query if none of them occurs in the index; empty if one does, or the query has no words.

    A compound name counts as known if it occurs literally or if more than half of its words occur.
    """
    words = _asked_words(query)
    return () if any(_is_known(snapshot, word) for word in words) else words


def absent_words(snapshot: Snapshot, query: str) -> tuple[str, ...]:
    """Returns those words of a query that are not known in the sense of `unknown_words`."""
    return tuple(word for word in _asked_words(query) if not _is_known(snapshot, word))


def _asked_words(query: str) -> tuple[str, ...]:
    runs = list(dict.fromkeys(_RUN.findall(query[:MAX_QUERY_CHARACTERS])))[:MAX_QUERY_WORDS]
    return tuple([run for run in runs if run.lower() not in STOP_WORDS] or runs)


def missing_names(snapshot: Snapshot, query: str) -> tuple[str, ...]:
    """Returns the identifiers of a query that do not occur in the index; only words that are certainly identifiers count."""
    parts = dict.fromkeys(part for name in identifiers(query) for part in name_parts(name) if part.isidentifier())
    names = [part for part in parts if part.isascii() and is_code_name(part)]
    return tuple(name for name in names if not _stands(snapshot, name) and not snapshot.facts.symbols_named(name, 1))


def _is_known(snapshot: Snapshot, word: str) -> bool:
    if _stands(snapshot, word) or any(_has(snapshot, form) for form in inflections(word.lower())):
        return True
    parts = split_identifier(word)
    known = sum(_has(snapshot, part) for part in parts)
    if len(parts) <= _FEW_PAIRS and all(map(is_pair, parts)):
        return known == len(parts)
    return known > len(parts) / 2


def _stands(snapshot: Snapshot, name: str) -> bool:
    """Whether a name occurs literally in a text, ignoring case."""
    if "_" in name:
        return snapshot.text.document_frequency("names", NAME_MARK + name.lower()) > 0
    return _has(snapshot, name.lower())


def _has(snapshot: Snapshot, word: str) -> bool:
    return any(snapshot.text.document_frequency(field, word) for field in _FIELDS)
