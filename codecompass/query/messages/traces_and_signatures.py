"""Reads frames of stack traces, signatures and declarations, and finds the definitions that they name.

Frames and signatures are recognised by their form alone, whatever the language. The paths of a trace come from another machine:
they match an indexed file if one path ends in the other, if their last two parts are equal, or if the definition around the line
has the name in the frame.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Final

import msgspec
from msgspec import Struct

from codecompass import lazy
from codecompass.languages.records import FUNCTION_LIKE
from codecompass.languages.words import word_set
from codecompass.query.search_hits import enclosing_symbol
from codecompass.query.words.query_words import name_parts
from codecompass.scan.path_roles import role_of
from codecompass.store.rows import FileRow, SymbolRow
from codecompass.store.snapshot import Snapshot

MAX_FRAMES: Final = 30
"""Frames of a trace that are read, from the innermost end if the text shows which one that is."""

MAX_CHARACTERS: Final = 8_000
MAX_LINE_CHARACTERS: Final = 300
"""Characters that are read of a text, and of each of its lines."""

MAX_SIGNATURE_CHARACTERS: Final = 500
"""The name is near the beginning. Finding it is quadratic in the worst case: 15 ms (measured 2026-11-22)."""

MAX_WORDS_BEFORE_NAME: Final = 4
"""Most words before the parenthesis of a signature that begins with a type: `static unsigned int name`."""


class StackFrame(Struct, frozen=True):
    """A frame of a trace: a path as printed, its line (1-based, 0 if unknown), a name or ''."""

    path: str
    line: int
    name: str = ""


_FILE: Final = r"(?:[A-Za-z]:)?[^\s:()'\"<>|*?]*[^\s:()'\"<>|*?./\\][.][A-Za-z][A-Za-z0-9_+]{0,9}"
_FRAMES: Final = tuple(
    lazy.pattern(pattern)
    for pattern in (
        # Python: File "x.py", line 3, in f
        r'File "(?P<path>[^"]+)", line (?P<line>\d+)(?:, in (?P<name>[^\s]+))?',
        # IPython: File x.py:3, in C.f(self)
        rf"\bFile (?P<path>{_FILE}):(?P<line>\d+), in (?P<name>[\w.<>]+)\(",
        # .NET: at A.B.M(String a) in /x/File.cs:line 12
        r"\bat (?P<name>[\w.<>`+\[\],|]+)\([^)]*\) in (?P<path>.+?):line (?P<line>\d+)",
        # PHP: #0 /x/file.php(12): Class->method()
        rf"#\d+ (?P<path>{_FILE})\((?P<line>\d+)\): (?P<name>[\w\\>:$-]+)\(",
        # The JVM: at a.b.C.m(C.java:12)
        rf"\bat (?:[\w.@-]*/)*(?P<name>[\w.$<>]+)\((?P<path>{_FILE}):(?P<line>\d+)\)",
        # V8: at async f (file.js:1:2), at new C (…), at f [as g] (…), at file.js:1:2
        rf"\bat (?:async )?(?:new )?(?P<name>[\w.$<>#]+)(?: \[as [^\]]*\])? \((?:file://|[\w+-]+://[^/\s]*/)?(?P<path>{_FILE}):(?P<line>\d+)(?::\d+)?\)",
        # Firefox and Safari: f@file.js:1:2
        rf"(?P<name>[\w.$/<]*)@(?:file://|[\w+-]+://[^/\s]*/)?(?P<path>{_FILE}):(?P<line>\d+):\d+",
        # Ruby: x.rb:12:in 'C#m'
        rf"(?P<path>{_FILE}):(?P<line>\d+):in [`'](?:block (?:\(\d+ levels\) )?in |rescue in |ensure in )?(?P<name>[^'\s]+)'",
        # Elixir: (app 1.0.0) lib/x.ex:12: A.B.f/2
        rf"(?P<path>{_FILE}):(?P<line>\d+): (?P<name>[A-Z]\w*(?:\.\w+[!?]?)+)/\d+",
        # gdb and sanitizers: #1 0x… in ns::f (a=1) at x.c:12, #0 0x… in f(int) /x/y.cc:12:3
        rf"#\d+ +(?:0x[0-9a-f]+ +in +)?(?P<name>[\w:~<>]+) ?\([^)]*\)(?: const)? (?:at )?(?P<path>{_FILE}):(?P<line>\d+)",
        # Lua: x.lua:12: in function 'f'
        rf"(?P<path>{_FILE}):(?P<line>\d+): in (?:function|method|local|upvalue|field) [<'](?P<name>[\w.:]+)'",
        # Anything else: src/main.rs:3:5, main.go:12 +0x1, at x.js:1:2
        rf"(?P<path>{_FILE}):(?P<line>\d+)(?::\d+)?(?![\w.])",
        # A file without extension, where the line has nothing else.
        r"^\s*(?P<path>(?:[^\s:/]*/)+[^\s:/]+):(?P<line>\d+)(?::\d+)?\s*$",
    )
)
_WITHOUT_LINE: Final = lazy.pattern(rf"^\s*\[?(?P<path>{_FILE})(?:\]\([^)\s]*\))? in (?P<name>[\w.<>]+)\(")
_ARROW: Final = lazy.pattern(r"^\s*-+> (?P<line>\d+)(?!\S)")
"""A frame of an older IPython, `x.py in f(self)`, and the line of source below it that was running."""

_INNERMOST_LAST: Final = lazy.pattern(rf"(?<![\w\"'])File (?:\"|{_FILE}:\d+, in )")
_NUMBERED: Final = lazy.pattern(r"^\s*(?:\d+: +(?:0x[0-9a-f]+ - )?)?")
_LAST_ARGUMENTS: Final = lazy.pattern(r"\([^()]*(?:\.\.\.\))?\)$")
_BARE_NAME: Final = lazy.pattern(r"[\w./:()*{}#<>$-]+")
_HAS_LINE: Final = lazy.pattern(r"[:(]\d|line \d|-> \d")
_TRAIT_CALL: Final = lazy.pattern(r"<(?P<type>[\w:]+)(?:<[^>]*>)? as [\w:<>]+>::(?P<name>\w+)")

_KEYWORDS: Final = word_set(
    "def class struct enum trait interface type impl fn func fun function const let var val public private protected internal "
    "static final abstract async export default pub unsafe extern inline virtual override open sealed data object record "
    "namespace module mod package macro_rules! local global defp defmodule defmacro instance newtype protocol extension "
    "declare readonly constexpr explicit friend template typename typedef union suspend operator lateinit companion partial "
    "required convenience mutating volatile synchronized native transient mutable new"
)
_DEFINING: Final = word_set(
    "def class struct enum trait interface type impl fn func fun function const let var val namespace module mod macro_rules! "
    "defp defmodule defmacro newtype protocol extension union record object"
)
_NAME: Final = r"[^\W\d][\w$]*[!?]?"
_QUALIFIED: Final = rf"~?{_NAME}(?:(?:::|\.|\#|->|\\)~?{_NAME})*"
_RECEIVER: Final = lazy.pattern(rf"func\s*\(\s*(?:{_NAME}\s+)?\*?\s*(?P<type>{_NAME})(?:\[[^\]]*\])?\s*\)\s*(?P<name>{_NAME})")
_COLON_METHOD: Final = lazy.pattern(rf"function\s+(?P<type>{_NAME}(?:\.{_NAME})*):(?P<name>{_NAME})")
_CALLABLE: Final = lazy.pattern(rf"(?P<name>{_QUALIFIED})\s*(?:<[^()]*>|\[[^()\]]*\])?\s*\(")
_TYPED: Final = lazy.pattern(rf"(?P<name>{_NAME})'*\s+::\s+\S")
_SELF: Final = lazy.pattern(r"^(?:self|this|cls|super)(?:\.|->|::)(?=.)")
_IMPL_FOR: Final = lazy.pattern(rf"impl\b.*\bfor\s+&?(?P<name>{_QUALIFIED})")
_WORD: Final = lazy.pattern(_QUALIFIED)
_GENERIC: Final = lazy.pattern(r"<[^<>]*>")


def frames(text: str) -> tuple[StackFrame, ...]:
    """Returns the frames of a trace, each once, innermost first if the trace shows which end that is.

    Names are as printed, without additions of compilers; names of anonymous code become ''.
    """
    if _HAS_LINE.search(text) is None:
        return ()
    lines = [line[:MAX_LINE_CHARACTERS] for line in text[:MAX_CHARACTERS].splitlines()]
    found = dict.fromkeys(_each_frame(lines))
    ordered = list(found)
    # Python prints the innermost frame last, other languages first; any prefix may stand before it.
    if any(_INNERMOST_LAST.search(line) is not None or _WITHOUT_LINE.match(line) is not None for line in lines):
        ordered.reverse()
    return tuple(ordered[:MAX_FRAMES])


def declared_name(text: str) -> str:
    """Returns the name in a signature or a declaration, with the scope that it states (`Type.method`), else ''."""
    text = text[:MAX_SIGNATURE_CHARACTERS].strip()
    while _GENERIC.search(text):
        text = _GENERIC.sub("", text)
    receiver = _RECEIVER.search(text) or _COLON_METHOD.search(text)
    if receiver is not None:
        return f"{receiver['type']}.{receiver['name']}"
    whole = _IMPL_FOR.match(text) or _TYPED.match(text)
    return _SELF.sub("", _declared(text) if whole is None else whole["name"])


def is_signature(text: str) -> bool:
    """Whether a text is a signature as written in code, rather than a sentence that mentions one."""
    text = text.strip()
    head, bracket, _ = text.partition("(")
    words = head.split()
    if not bracket or not words or head[-1:].isspace():
        return _RECEIVER.match(text) is not None
    return len(words) == 1 or words[0] in _KEYWORDS or (len(words) <= MAX_WORDS_BEFORE_NAME and text[-1] in "){;:,")


def trace_name(name: str) -> str:
    """Returns a name of a trace without additions of compilers and runtimes, '' for anonymous code."""
    through_trait = _TRAIT_CALL.search(name)
    if through_trait is not None:
        return f"{through_trait['type']}::{through_trait['name']}"
    name = re.sub(r"\.<(?:init|clinit)>$|::h[0-9a-f]{16}$|/\d+$|`\d+", "", name)
    name = re.sub(r"lambda\$(\w+)\$\d+", r"\1", name)
    name = re.sub(r"(?:\.func\d+(?:\.\d+)*|::\{\{closure\}\}|\.<locals>|\$\d+|\.<anonymous>|/<)+(?=$|\.)", "", name)
    while _GENERIC.search(name):
        name = _GENERIC.sub("", name)
    name = name.replace("(*", "").replace(")", "").replace("$", ".").replace("+", ".").strip(".:/ ")
    return name if name_parts(name) else ""


def _declared(text: str) -> str:
    words = text.split()
    is_declared = len(words) > 1 and any(word in _KEYWORDS for word in words[:4])
    called = _CALLABLE.search(text) if "(" in text else None
    defined = _after_keyword(text)
    if defined and (called is None or text.index(defined) <= called.start("name")):
        # In C a type follows `const`: `const char *name(int x)`.
        between = text[text.index(defined) + len(defined) : called.start("name")] if called is not None else "="
        if "const" not in words or any(mark in between for mark in "=:({"):
            return defined
    if called is not None and called["name"] not in _KEYWORDS:
        return called["name"]
    return defined if is_declared else ""


def _each_frame(lines: list[str]) -> Iterator[StackFrame]:
    above = ""
    waiting: StackFrame | None = None
    for line in lines:
        arrow = None if waiting is None else _ARROW.match(line)
        if waiting is not None and arrow is not None:
            yield msgspec.structs.replace(waiting, line=int(arrow["line"][:9]))
            waiting = None
            continue
        without = _WITHOUT_LINE.match(line) if " in " in line else None
        if without is not None:
            waiting = StackFrame(without["path"].replace("\\", "/"), 0, trace_name(without["name"]))
            continue
        match = (
            None
            if _HAS_LINE.search(line) is None
            else next((match for pattern in _FRAMES if (match := pattern.search(line)) is not None), None)
        )
        if match is None:
            above = line
            continue
        named = match.groupdict().get("name") or ""
        named = named or _name_above(above)
        above = ""
        yield StackFrame(match["path"].replace("\\", "/"), int(match["line"][:9]), trace_name(named))


def _name_above(line: str) -> str:
    """Returns the name alone on a line, as Go and Rust print it above the line of the place; '' if the line has more."""
    text = _NUMBERED.sub("", line).strip()
    if _TRAIT_CALL.match(text):
        return text
    bare = _LAST_ARGUMENTS.sub("", text)
    return bare if _BARE_NAME.fullmatch(bare) and ("::" in bare or "." in bare) else ""


def _after_keyword(text: str) -> str:
    """Returns the first name after the last of the keywords that introduce a definition."""
    found = ""
    is_defining = False
    for match in re.finditer(rf"{_QUALIFIED}|\S", text):
        word = match[0]
        if word in _KEYWORDS:
            is_defining = is_defining or word in _DEFINING
            continue
        if is_defining and _WORD.fullmatch(word):
            found = word
        if is_defining or word in "({=":
            break
    return found


MAX_SAME_NAMED_FILES: Final = 50
"""Files of one name that are compared with a frame's path."""

_IN_BUNDLE: Final = lazy.pattern(r"^(?!.*(?:\bnode_modules/|\bnode:|^internal/)).*\.[cm]?js$")
"""A script that may be made of the sources; not a package's and not the runtime's own."""

MAX_FRAMES_SHOWN: Final = 10
SURE_PARTS: Final = 2
"""Equal last parts of two paths that are not a coincidence."""


class FrameLocation(Struct, frozen=True):
    """A line in an indexed file that a frame refers to, and the definition around it, if any."""

    file: FileRow
    line: int
    symbol: SymbolRow | None


def locate_frames(snapshot: Snapshot, frames: Sequence[StackFrame]) -> list[FrameLocation]:
    """Returns the places in the order of the frames, each definition once; all matching files if a frame matches several equally
    well, product code first."""
    places: list[FrameLocation] = []
    seen: set[tuple[int, int]] = set()
    for frame in frames:
        for place in _places(snapshot, frame):
            key = (place.file.id, place.symbol.line_start if place.symbol else -place.line)
            if key not in seen:
                seen.add(key)
                places.append(place)
        if len(places) >= MAX_FRAMES_SHOWN:
            break
    return places[:MAX_FRAMES_SHOWN]


def _places(snapshot: Snapshot, frame: StackFrame) -> list[FrameLocation]:
    wanted = [part for part in frame.path.lower().split("/") if part not in ("", ".", "..")]
    if not wanted:
        return []
    scored = []
    for path in snapshot.paths_ending(wanted[-1], MAX_SAME_NAMED_FILES):
        own = path.lower().split("/")
        common = _common_tail(wanted, own)
        file = snapshot.facts.file(path)
        if file is None:
            continue
        symbol = _around(snapshot, file, frame)
        agreement = 0 if symbol is None else _agreement(symbol, frame.name)
        if common >= min(len(wanted), len(own), SURE_PARTS) or agreement:
            scored.append(((-agreement, -common), role_of(path).rank, path, FrameLocation(file, frame.line, symbol)))
    if not scored and frame.name and _IN_BUNDLE.search(frame.path) is not None:
        return _only_defined(snapshot, frame.name)
    scored.sort(key=lambda item: item[:3])
    return [place for how_well, _, _, place in scored if how_well == scored[0][0]]


def _only_defined(snapshot: Snapshot, name: str) -> list[FrameLocation]:
    """Returns the only function of this name in product code: a bundler keeps names, but neither files nor lines."""
    rows = [
        row
        for row in snapshot.facts.symbols_named(name, MAX_SAME_NAMED_FILES)
        if row.name == name and row.kind in FUNCTION_LIKE and not role_of(row.path).is_test
    ]
    file = snapshot.facts.file(rows[0].path) if len(rows) == 1 else None
    return [] if file is None else [FrameLocation(file, rows[0].line_start, rows[0])]


def _around(snapshot: Snapshot, file: FileRow, frame: StackFrame) -> SymbolRow | None:
    """Returns the definition around the line, or one with the frame's name if that is another (the file has changed since)."""
    symbol = enclosing_symbol(snapshot.facts.symbols_around(file.id, frame.line, frame.line), frame.line, frame.line)
    name = (name_parts(frame.name) or ("",))[-1]
    if not name or (symbol is not None and symbol.name.lower() == name.lower()):
        return symbol
    named = [row for row in snapshot.facts.symbols_in_file(file.id) if row.name == name]
    return min(named, key=lambda row: abs(row.line_start - frame.line), default=symbol)


def _agreement(symbol: SymbolRow, name: str) -> int:
    """Returns how many of the last parts of the two qualified names are equal."""
    return _common_tail([part.lower() for part in name_parts(name)], [part.lower() for part in name_parts(symbol.qualified_name)])


def _common_tail(one: Sequence[str], other: Sequence[str]) -> int:
    count = 0
    for left, right in zip(reversed(one), reversed(other), strict=False):
        # Only the part of a path after its last blank is read.
        if left != right and not right.endswith(" " + left):
            break
        count += 1
    return count
