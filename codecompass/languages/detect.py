"""Detects the language of a file: by its name, else by its `#!` line; for C headers by their content.

Imports neither tree-sitter nor the language modules, because the server process uses it too.
"""

import re
from collections.abc import Callable, Mapping
from typing import Final

from codecompass import lazy
from codecompass.languages.table import LANGUAGES, Row

TEXT: Final = "text"
"""The language of a file of unknown language."""

HEAD_BYTES: Final = 64 * 1024
"""Bytes of a file that are examined: a C++ header can begin with a long licence and many includes."""


def _inverted(names_of: Callable[[Row], str]) -> Mapping[str, str]:
    return {name: language for language, row in LANGUAGES.items() for name in names_of(row).split()}


EXTENSIONS: Final[Mapping[str, str]] = _inverted(lambda row: row.extensions)
"""Extension with its dot to language; lower case except for pairs that differ only in case."""

FILENAMES: Final[Mapping[str, str]] = _inverted(lambda row: row.names)
INTERPRETERS: Final[Mapping[str, str]] = _inverted(lambda row: row.interpreters)
"""Base name of the program in a `#!` line, without a version, to language."""

ALIASES: Final[Mapping[str, tuple[str, ...]]] = {
    alias: tuple(language for language, row in LANGUAGES.items() if alias in row.aliases.split())
    for alias in dict.fromkeys(alias for row in LANGUAGES.values() for alias in row.aliases.split())
}
"""What people write for languages in a filter, to the languages that they mean by it."""


def language_named(word: str) -> str:
    """Returns the language that people call by a word, or by the extension of its files; empty if there is none."""
    word = word.lower()
    return word if word in LANGUAGES else next(iter(ALIASES.get(word, ())), "") or EXTENSIONS.get(f".{word}", "")


TEMPLATE: Final = "in"
"""Extension of templates for a configure step: `version.h.in` becomes `version.h`, and is in the same language."""

_VARIANTS: Final = {
    "Dockerfile": "dockerfile",
    "Containerfile": "dockerfile",
    "Makefile": "make",
    "Jenkinsfile": "groovy",
    "Kconfig": "kconfig",
}
"""File names that may have a suffix: `Dockerfile.dev`, `Makefile.linux`."""


def language_of(path: str, head: bytes) -> str:
    """Returns the language of a file from its path and its first bytes (up to `HEAD_BYTES` are read).

    The name decides; for an unknown name the `#!` line does. A `.h` file is `cpp` if its content has C++ code,
    a `.m` file `matlab` if it begins like one, and a `.v` file `v` if it has code of that language alone.
    """
    language = _by_name(path)
    if language is None:
        return _included_fragment(head) if path.endswith(".inc") else language_of_first_line(head)
    if language == "c" and path.removesuffix(f".{TEMPLATE}").endswith(".h"):
        return header_language(head)
    if language == "objectivec" and path.endswith(".m") and _MATLAB.match(head) and not _OBJECTIVE_C.search(head):
        return "matlab"
    if language == "verilog" and path.endswith(".v") and _V.search(head) and b"endmodule" not in head:
        return "v"
    if language == "typescript" and head.lstrip(b"\xef\xbb\xbf \t\r\n").startswith((b"<?xml", b"<!DOCTYPE TS")):
        return "xml"  # A Qt translation, which shares the extension.
    return language


def _by_name(path: str) -> str | None:
    name = path.rsplit("/", 1)[-1]
    language = FILENAMES.get(name)
    if language is not None:
        return language
    stem, dot, last = name.rpartition(".")
    if dot and stem:
        extension = dot + last
        language = EXTENSIONS.get(extension) or EXTENSIONS.get(extension.lower())
        if "." in stem:
            # Templates of a language have its extension after their own: `page.blade.php`.
            language = EXTENSIONS.get(f".{stem.rpartition('.')[2]}{extension}", language)
        if language is not None:
            return language
        if last == TEMPLATE:
            return _by_name(stem)
    return _VARIANTS.get(name.split(".", 1)[0])


_SHEBANG = lazy.pattern(rb"#![ \t]*(\S+)((?:[ \t]+\S+)*)")
_VERSION = lazy.pattern(r"[-.\d]+$")


def language_of_first_line(head: bytes) -> str:
    """Returns the language of the interpreter in a `#!` line at the start of `head`; `text` if there is none or it is unknown."""
    match = _SHEBANG.match(head[: head.find(b"\n")] if b"\n" in head else head[:1024])
    if match is None:
        return TEXT
    words = [match[1], *match[2].split()]
    program = words[0].rsplit(b"/", 1)[-1]
    if program == b"env":
        # `env -S python3 -u`, `env VAR=1 bash`: the first word that is neither an option nor an assignment.
        words = [word for word in words[1:] if not word.startswith(b"-") and b"=" not in word]
        program = words[0].rsplit(b"/", 1)[-1] if words else b""
    name = program.decode("utf-8", "replace")
    return INTERPRETERS.get(name) or INTERPRETERS.get(_VERSION.sub("", name)) or TEXT


_COMMENT = lazy.pattern(rb"/\*.*?(?:\*/|\Z)|//[^\n]*", re.DOTALL)
_CPLUSPLUS = lazy.pattern(
    rb"""^[ \t]*(?:
        (?:inline[ \t]+)? namespace \b [^;(]* \{
      | using [ \t]+ [\w:]+
      | template [ \t]* <
      | (?:public|private|protected) [ \t]* :
      | class \s+ (?:\w+ (?:\([^)]*\))? \s+)* \w+ \s* (?:final\s*)? [:{;]
      | \#[ \t]*include [ \t]* <(?:algorithm|array|atomic|chrono|cstd\w+|cstring|functional|iostream|limits|map|memory
            |mutex|optional|ostream|set|sstream|string|string_view|thread|tuple|type_traits|unordered_\w+|utility|variant|vector)>
      )
      | \b (?:constexpr|virtual|noexcept|nullptr|typename|static_cast|std::\w+) \b
    """,
    re.MULTILINE | re.VERBOSE,
)
_OBJECTIVE_C = lazy.pattern(rb"^[ \t]*@(?:interface|protocol|class|implementation|end)\b", re.MULTILINE)
_MATLAB = lazy.pattern(rb"\s*(?:%[^\n]*\s*)*(?:function\b|classdef\b|[A-Za-z]\w*\s*=[^=]|(?:clc|clear|close|addpath)\b|%)")
_V = lazy.pattern(rb"^(?:pub )?(?:fn|struct|import|const|interface) [\w(]", re.MULTILINE)
_GUARDED_OBJECTIVE_C = lazy.pattern(
    rb"^[ \t]*#[ \t]*if(?:def[ \t]+|[ \t]+defined\W*)__OBJC__\b.*?^[ \t]*#[ \t]*(?:endif|else)", re.MULTILINE | re.DOTALL
)
_GUARDED = lazy.pattern(
    rb"^[ \t]*#[ \t]*if(?:def[ \t]+|[ \t]+defined\W*)__cplusplus\b.*?^[ \t]*#[ \t]*(?:endif|else)",
    re.MULTILINE | re.DOTALL,
)


def header_language(head: bytes) -> str:
    """Returns the language of a header, judged by its code outside comments and `#ifdef __cplusplus`, `#ifdef __OBJC__`.

    It is `objectivec` with a declaration that only Objective-C has, `cpp` with code that only C++ has, else `c`.

    A header with macros only is `c`, in a C++ project too: its definitions are the same in both languages.
    """
    code = _GUARDED.sub(b"", _COMMENT.sub(b" ", head[:HEAD_BYTES]))
    if b"@" in code and _OBJECTIVE_C.search(_GUARDED_OBJECTIVE_C.sub(b"", code)):
        return "objectivec"
    return "cpp" if _CPLUSPLUS.search(code) else "c"


_PREPROCESSOR = lazy.pattern(rb"^[ \t]*#[ \t]*(?:include|define|ifdef|ifndef)\b", re.MULTILINE)


def _included_fragment(head: bytes) -> str:
    """Returns the language of an `.inc` file, which other files include: PHP, C, C++, or text (assembly, Pascal)."""
    if head.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"<?php"):
        return "php"
    code = _COMMENT.sub(b" ", head[:HEAD_BYTES])
    if _CPLUSPLUS.search(code):
        return "cpp"
    return "c" if _PREPROCESSOR.search(code) else TEXT
