"""Cairo and Move, which no grammar here can parse: their definitions are read from the text by their heads and braces."""

import re
from collections.abc import Iterator
from typing import Final

from msgspec.structs import replace

from codecompass.languages.display import Display
from codecompass.languages.imports.plain import plain_imports
from codecompass.languages.language import Language
from codecompass.languages.records import Import, Visibility
from codecompass.languages.uses.lexical_rules import LexicalRules
from codecompass.languages.uses.patterns import BLOCK, COMMON_KEYWORDS, DOUBLE_LINES, NAME, SINGLE, SLASHES, any_of, named_value
from codecompass.languages.walk.text_rules import Entry, Outline, braces, hidden
from codecompass.languages.words import word_set
from codecompass.languages.written_types import WrittenTypes

_MOVE_HIDDEN: Final = any_of(SLASHES, BLOCK, DOUBLE_LINES)
_CAIRO_HIDDEN: Final = any_of(SLASHES, DOUBLE_LINES, SINGLE)

_LIST: Final = r"\[(?>(?:[^\[\]]++|\[[^\[\]]*+\])*)\]"
_START: Final = rf"(?:^|[{{}};,])[ \t]*+(?>(?:[#]!?{_LIST}\s*+)*)"
_HEAD: Final = rf"(?>(?:[^{{}};\[]++|{_LIST})*)"
_MEMBERS: Final = r"(?P<value>[A-Z]\w*+)[ \t]*+(?=[{(,}\n]|:(?!:))|(?P<field>\w++)[ \t]*+:(?!:)"

_USE: Final = re.compile(
    r"^[ \t]*+(?:pub(?:lic)?(?:\([a-z]+\))?[ \t]++)?use[ \t]++(?!fun\b)(?P<path>[\w:]++)(?P<list>[^;]*+)", re.MULTILINE
)
_INNER: Final = re.compile(r"::\s*+\{[^{}]*+\}|\bas\s++\w++")
_ANGLES: Final = r"<(?>(?:[^<>{};]++|<(?>(?:[^<>{};]++|<[^<>{};]*+>)*)>)*)>"
_ITEM: Final = re.compile(rf"(?>(?:[^{{}};,<(\[]++|{_ANGLES}|{_LIST}|\((?>(?:[^()]++|\([^()]*+\))*)\)|<)*)")
"""A field or value, up to what separates it from the next."""
_PUBLIC: Final = re.compile(r"\s*(?:(?:entry|native|inline|macro)\s+)*pub(?:lic)?\b(?!\()")
_TEST: Final = re.compile(r"#\[[^\[\]]*\btest\b")


def _reader(outline: Outline, comments: re.Pattern[str]) -> Outline:
    """Returns a reader of imports and of what `outline` finds, whose signatures have no attributes."""

    def read(text: str, path: str) -> Iterator[Entry | Import]:
        code = hidden(comments, text)
        line, counted = 1, 0
        for match in _USE.finditer(code):
            line, counted = line + text.count("\n", counted, match.start("path")), match.start("path")
            prefix = match["path"].rstrip(":")
            alias = re.match(r"\s*as\s+(\w+)", match["list"])
            is_of_modules = match["path"].count("::") == 1 and match["path"].endswith("::")
            listed = re.findall(r"[{,]\s*(\w+)", _INNER.sub("", match["list"])) if is_of_modules else []
            for name in listed or [""]:
                yield Import(line, line, f"{prefix}::{name}" if name else prefix, "", alias[1] if alias else "")
        around = Entry("", "impl", 0, 0)
        for item in outline(text, path):
            if isinstance(item, Import):
                yield item
                continue
            written = item.signature or ""
            signature = re.sub(rf"^\s*(?:[#]!?{_LIST}\s*)+", "", written)
            kind = "test" if item.kind == "fn" and _TEST.search(written[: len(written) - len(signature)]) else item.kind
            if item.kind in ("field", "const") and "{" not in code[item.start : item.end]:
                value = _ITEM.match(code, item.start)
                stop = item.start if value is None else item.start + len(value[0].rstrip())
                begin = code.rfind("\n", 0, item.start) + 1
                before = max(begin, *(code.rfind(mark, begin, item.start) + 1 for mark in "{};,"))
                signature = text[before:stop]
                item = replace(item, end=stop)
            is_whole = item.kind == "module" and code.startswith(";", item.end)
            end = len(text) if is_whole and "::" in signature else item.end
            visibility: Visibility = "public" if _PUBLIC.match(signature) else "private"
            has_own = item.kind not in ("impl", "module") and not (item.kind == "const" and "const" not in signature)
            if item.start < around.end:
                kind = "method" if kind == "fn" else kind
                visibility = around.visibility  # of the trait; an implementation has none of its own
            whole = replace(item, kind=kind, signature=signature, end=end, visibility=visibility if has_own else "")
            around = whole if item.kind in ("trait", "impl") else around
            yield whole

    return read


def _words(family: str, comments: re.Pattern[str], keywords: str, soft: str, own: str) -> LexicalRules:
    return LexicalRules(
        family=family,
        comments_and_strings=comments,
        name=NAME,
        keywords=word_set(COMMON_KEYWORDS, keywords),
        soft=word_set(soft),
        own=word_set(own),
        declarations=(named_value(),),
        special_call=re.compile(r"!?::<[^<>\n]*+>\("),
        keys_of_type="braces",
        keyword_argument=re.compile(r":(?!:)"),
    )


def _cairo_words() -> LexicalRules:
    return _words(
        "cairo",
        _CAIRO_HIDDEN,
        "as const enum extern fn impl implicits let loop match mod mut nopanic of pub ref self Self struct super trait type use "
        "u8 u16 u32 u64 u128 u256 felt252 bool usize",
        "",
        "self Self",
    )


def _move_words() -> LexicalRules:
    return _words(
        "move",
        _MOVE_HIDDEN,
        "abort acquires address as assert bool const copy drop entry enum friend fun has inline invariant key let loop match "
        "module move mut native phantom public script signer spec store struct u8 u16 u32 u64 u128 u256 use vector",
        "address copy move signer",
        "self",
    )


_CAIRO: Final = rf"""{_START}(?:pub(?:\([a-z]++\))?\s++)?(?:
    (?>(?:extern\s++|const\s++)*)fn\s++(?P<fn>\w++){_HEAD} | struct\s++(?P<struct>\w++){_HEAD} | enum\s++(?P<enum>\w++){_HEAD}
    | trait\s++(?P<trait>\w++){_HEAD} | impl\s++(?P<impl>\w++){_HEAD} | mod\s++(?P<module>\w++) | macro\s++(?P<macro>\w++)
    | const\s++(?P<const>\w++)(?=[ \t]*+:) | (?:extern\s++)?type\s++(?P<type>\w++) | {_MEMBERS})"""
_MOVE: Final = rf"""{_START}(?>(?:(?:public|package|friend|entry|native|inline|macro|spec)(?:\([a-z]++\))?\s++)*)(?:
    fun\s++(?P<fn>\w++){_HEAD} | struct\s++(?P<struct>\w++){_HEAD} | enum\s++(?P<enum>\w++){_HEAD}
    | module\s++(?:\w++::)?(?P<module>\w++) | const\s++(?P<const>\w++)(?=[ \t]*+:)
    | (?<=spec[ ])(?:schema\s++(?P<type>\w++){_HEAD} | (?P<container>module)\b | (?P<impl>\w++){_HEAD}) | {_MEMBERS})"""

_INSIDE: Final = {"field": "struct value", "value": "enum"}
CAIRO = Language(
    outline=_reader(braces(f"(?x:{_CAIRO})", _CAIRO_HIDDEN, inside=_INSIDE, kinds={"value": "const"}), _CAIRO_HIDDEN),
    comment_starts=(b"//",),
    separator="::",
    imports=plain_imports(endings=(".cairo",), separator="::", path_of=lambda item: item.spec.rpartition("::")[0] or item.spec),
    uses=_cairo_words,
    types=WrittenTypes(variables="colon", results="arrow"),
    display=Display(attribute_starts=("#[",), lexer=None),
)
MOVE = Language(
    outline=_reader(
        braces(f"(?x:{_MOVE})", _MOVE_HIDDEN, inside=_INSIDE, kinds={"value": "const", "container": ""}), _MOVE_HIDDEN
    ),
    comment_starts=(b"//", b"/*"),
    separator="::",
    imports=plain_imports(endings=(".move",), path_of=lambda item: item.spec.partition("::")[2].partition("::")[0]),
    uses=_move_words,
    types=WrittenTypes(variables="colon", results="colon"),
    display=Display(attribute_starts=("#[",), lexer=None),
)
