"""Filters of a request: language names as people write them, path globs, symbol kinds."""

import re
from collections.abc import Mapping
from typing import Final

from codecompass.protocol.decode import well_formed
from codecompass.protocol.kinds import kinds_meant
from codecompass.store.facts import FactsReader, SymbolRow
from codecompass.store.records import SymbolKind
from codecompass.store.text import Filter

_LANGUAGE_ALIASES: Final[Mapping[str, tuple[str, ...]]] = {
    "py": ("python",),
    "python3": ("python",),
    "js": ("javascript",),
    "jsx": ("javascript",),
    "node": ("javascript",),
    "ts": ("typescript", "tsx"),
    "typescript": ("typescript", "tsx"),
    "golang": ("go",),
    "rs": ("rust",),
    "c++": ("cpp",),
    "cxx": ("cpp",),
    "cc": ("cpp",),
    "c#": ("csharp",),
    "cs": ("csharp",),
    "rb": ("ruby",),
    "kt": ("kotlin",),
    "sh": ("bash",),
    "shell": ("bash",),
    "ex": ("elixir",),
    "exs": ("elixir",),
    "hs": ("haskell",),
    "md": ("markdown",),
    "yml": ("yaml",),
}

_GLOB_TOKEN: Final = re.compile(r"\*\*/|\*\*|\*|\?|\[!?[^\]]+\]|\{[^{}]*\}|.", re.DOTALL)


def languages_meant(name: str | None) -> tuple[str, ...]:
    """Returns the index's names for a language as written; none for None, which means all."""
    if name is None:
        return ()
    lower = well_formed(name).strip().lower()
    return _LANGUAGE_ALIASES.get(lower, (lower,))


def index_filter(facts: FactsReader, language: str | None, path: str | None) -> Filter:
    """Returns what hits must satisfy. A glob looks at every path of the manifest once."""
    file_ids = None
    if path is not None:
        matches = path_pattern(path)
        file_ids = tuple(file_id for file_id, candidate in facts.paths() if matches.fullmatch(candidate))
    return Filter(languages_meant(language), file_ids)


def path_pattern(glob: str) -> re.Pattern[str]:
    """Returns the pattern of whole paths that a glob means.

    As in `.gitignore`: without a slash inside it means a name at any depth, `**` crosses directories, a directory means
    everything in it. `{a,b}` are alternatives.
    """
    bare = glob.strip().replace("\\", "/").removeprefix("./")
    is_anchored = "/" in bare.rstrip("/")
    bare = bare.strip("/")
    body = "".join(_glob_piece(token) for token in _GLOB_TOKEN.findall(bare))
    return re.compile(f"{'' if is_anchored else '(?:.*/)?'}{body}(?:/.*)?", re.DOTALL)


def unknown_language(facts: FactsReader, name: str | None) -> tuple[str, ...]:
    """Returns a warning where no indexed file is of the language asked for, else nothing."""
    if name is None:
        return ()
    known = [language for language, _ in facts.files_by_language()]
    if any(language in known for language in languages_meant(name)):
        return ()
    return (f"no indexed file is of language {name[:40]!r}; indexed are: {', '.join(known[:20])}",)


def symbol_kinds(kind: str | None) -> frozenset[SymbolKind] | None:
    """Returns the kinds that a request's `kind` means, None for all."""
    return None if kind is None else kinds_meant(kind)


def has_kind(row: SymbolRow, kinds: frozenset[SymbolKind] | None) -> bool:
    """Returns whether a symbol is of one of `kinds`. A Rust function in an `impl` is also what others call a method."""
    if kinds is None or row.kind in kinds:
        return True
    return "method" in kinds and row.kind == "fn" and row.parent_id is not None and row.language == "rust"


def _glob_piece(token: str) -> str:
    if token == "**/":
        return "(?:.*/)?"
    if token == "**":
        return ".*"
    if token == "*":
        return "[^/]*"
    if token == "?":
        return "[^/]"
    if len(token) > 2 and token[0] == "[":
        inner = token[1:-1].replace("\\", "\\\\").replace("[", "\\[")
        return f"[^{inner[1:]}]" if inner[0] == "!" else f"[{inner.replace('^', chr(92) + '^')}]"
    if len(token) > 1 and token[0] == "{":
        return (
            "(?:" + "|".join("".join(_glob_piece(c) for c in _GLOB_TOKEN.findall(part)) for part in token[1:-1].split(",")) + ")"
        )
    return re.escape(token)
