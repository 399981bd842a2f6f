"""V, of which no grammar here knows all: definitions are read from the text by their heads and braces."""

import re
from collections import deque
from collections.abc import Iterator
from typing import Final

from msgspec.structs import replace

from codecompass.languages.display import Display
from codecompass.languages.imports.plain import plain_imports
from codecompass.languages.language import Language
from codecompass.languages.records import Import, Visibility
from codecompass.languages.uses.lexical_rules import LexicalRules
from codecompass.languages.uses.patterns import COMMON_KEYWORDS, DOUBLE_LINES, NAME, SINGLE_LINES, SLASHES, any_of, declared
from codecompass.languages.walk.text_rules import Entry, braces, hidden
from codecompass.languages.words import word_set

_COMMENT: Final = r"/\*(?>(?:[^*/]++|/\*(?>(?:[^*]++|\*(?!/))*)\*/|\*(?!/)|/)*)(?:\*/)?"
_HIDDEN: Final = any_of(SLASHES, _COMMENT, r"[rc]?'(?<=\br')[^']*+'?", SINGLE_LINES, DOUBLE_LINES, r"`(?:[^`\\\n]|\\.)*+`?")

_LIST: Final = r"\((?>(?:[^()]++|\((?>(?:[^()]++|\([^()]*+\))*)\))*)\)"
_INDEX: Final = r"(?>(?:\[[^\[\]\n]*+\])?)"
_VALUE: Final = r"(?>(?:[^\n;{}\[]++|\[(?>(?:[^\[\]]++|\[[^\[\]]*+\])*)\]|\{[^{}]*+\})*)"
_OPERATORS: Final = r"[+\-*/%<>=!]++"
_HEADS: Final = rf"""(?x:(?:^|[{{}};])[ \t]*+(?>(?:@?\[[^\]\n]*+\]\s*+)*)(?:pub\s++)?(?:
    fn\s*+\(\s*+(?:(?:mut|shared)\s++)?(?:\w++\s++)?[&?]?(?:\[\w*\])?(?P<scope>\w++)[^)\n]*+\)\s*+
        (?P<method>\w++|{_OPERATORS}){_INDEX}\s*+{_LIST}[^{{}}\n]*+
    | fn\s++(?P<fn>[\w.]++){_INDEX}\s*+{_LIST}[^{{}}\n]*+
    | (?:struct|union)\s++(?P<struct>[\w.]++){_INDEX} | enum\s++(?P<enum>\w++)[^{{}}\n]*+
    | interface\s++(?P<interface>\w++){_INDEX} | type\s++(?P<type>\w++)[^\n]*+(?>(?:\n\s*+\|[^\n]*+)*)
    | (?P<block>const|__global)\s*+(?=\{{) | const\s++(?P<const>\w++)\s*+={_VALUE} | __global\s++(?P<var>\w++)
    | (?P<value>[a-z_@]\w*+)[ \t]*+(?=[=@;\n}}]) | (?P<required>\w++)(?=\() | (?P<field>(?!pub\b)\w++)[ \t]++(?=[\w\[&?!(.])))"""

_outline: Final = braces(
    _HEADS,
    _HIDDEN,
    inside={"value": "enum block", "required": "interface", "field": "struct field interface block"},
    kinds={"block": "", "value": "const", "required": "method"},
)
_LISTED: Final = re.compile(r"^(?:pub[ \t]+)?(?:const|__global)[ \t]*(\()", re.MULTILINE)
_IMPORT: Final = re.compile(r"^[ \t]*+import[ \t]++([\w.]++)(?:[ \t]++as[ \t]++(\w++))?", re.MULTILINE)


def outline(text: str, path: str) -> Iterator[Entry | Import]:
    """Yields what a text imports and defines; constants in parentheses are read like those in braces."""
    code = hidden(_HIDDEN, text)
    line, counted = 1, 0
    for match in _IMPORT.finditer(code):
        line, counted = line + text.count("\n", counted, match.start(1)), match.start(1)
        yield Import(line, line, match[1], "", match[2] or "")
    state, written = deque[range](), list(text)
    for match in _LISTED.finditer(code):
        end = code.find("\n)", match.end())
        if end < 0:
            break
        written[match.start(1)], written[end + 1] = "{", "}"
        if "global" in match[0]:
            state.append(range(match.start(), end))
    end_of_type = 0
    for item in _outline("".join(written), path):
        if isinstance(item, Import):
            continue
        while state and state[0].stop <= item.start:
            state.popleft()
        signature = re.sub(r"^\s*(?:@?\[[^\]\n]*\]\s*)+", "", item.signature or "").strip()
        owner, dot, name = item.name.rpartition(".")
        is_member, kind = item.start < end_of_type, item.kind
        if dot and owner not in ("C", "JS"):
            item = replace(item, name=name, scope=owner, kind="method")
            kind = "method"
        elif kind in ("struct", "enum", "interface"):
            end_of_type = max(end_of_type, item.end)
        elif not is_member and (kind == "field" or (state and item.start in state[0])):
            kind = "var"
        elif kind == "fn" and name.startswith("test_") and "_test." in path:
            kind = "test"
        visibility: Visibility = "" if is_member else "public" if signature.startswith("pub ") else "private"
        yield replace(item, signature=signature, visibility=visibility, kind=kind)


def lexical_rules() -> LexicalRules:
    """Returns what its uses look like."""
    return LexicalRules(
        family="v",
        comments_and_strings=any_of(
            SLASHES, _COMMENT, r"r'[^'\n]*+'?", rf"(?P<code>{SINGLE_LINES}|{DOUBLE_LINES})", r"`[^`\n]*+`?"
        ),
        interpolation=re.compile(r"\$\{([^{}]*+)\}"),
        name=NAME,
        keywords=word_set(
            COMMON_KEYWORDS,
            "as asm assert atomic chan const defer dump enum fn go goto import in interface is isreftype lock match module",
            "mut none or pub rlock select shared sizeof spawn static struct type typeof union unsafe volatile bool int string",
            "u8 f64 i64",
        ),
        own=frozenset(),
        above=frozenset(),
        declarations=(declared(r"(?:mut[ \t]++)?(?P<names>\b\w++)[ \t]*+:=(?P<value>[^\n]*+)", mark=":="),),
        keys_of_type="braces",
        keyword_argument=re.compile(r":(?![:=])"),
    )


V = Language(
    outline=outline,
    comment_starts=(b"//", b"/*"),
    imports=plain_imports(endings=(".v",), separator="."),
    uses=lexical_rules,
    display=Display(attribute_starts=("@[", "["), lexer=None),
)
