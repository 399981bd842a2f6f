"""Splits pasted messages and source text into words in the same way, so that they can be aligned, and separates a message from
what a terminal, a logger or a runtime added to it.

Words are smaller than the tokens of the index: they end where case changes and between letters and digits, and each Chinese,
Japanese or Korean character is one. So in `${name}Controller` a known word remains beside the value.
"""

import re
import unicodedata
from typing import Final

import msgspec
from msgspec import Struct

from codecompass import lazy

MAX_CHARACTERS: Final = 4_000
MAX_PIECES: Final = 80
"""How much of a pasted text is compared. Messages are shorter; a longer text is a log."""

_ANSI: Final = lazy.pattern(r"(?:\x1b|\\x1b|\\033|\\e|\\u001b)\[[0-9;]*[A-Za-z]", re.IGNORECASE)

_ESCAPE: Final = lazy.pattern(
    r"\\(?:u\{(?P<braced>[0-9a-fA-F]{1,6})\}|(?:u(?P<four>[0-9a-fA-F]{4})|U(?P<eight>[0-9a-fA-F]{8})|x(?P<two>[0-9a-fA-F]{2}))"
    r"|(?P<blank>[nrtvf0]|\r?\n)|(?P<mark>[\"'`\\$#{}/%&]))"
)
_SURROGATE: Final = lazy.pattern("[\ud800-\udfff]")

_ASCII_PIECE: Final = lazy.pattern("([A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+)")
_BY_CHARACTER: Final = "\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3"
_ANY_PIECE: Final = lazy.pattern(
    rf"([A-Z]+(?![^\W\dA-Z_])|[A-Z]?(?:(?![A-Z{_BY_CHARACTER}])[^\W\d_])+|[{_BY_CHARACTER}]|\d+|[^\W_])"
)

HOLE: Final = "\x1a"
"""Replaces a placeholder: this character occurs in no source."""

_PLACEHOLDER: Final = lazy.pattern(
    r"[$#%]\{\{?(?:[^{}\n]|\{[^{}\n]*\})*\}|\\\((?:[^()\n]|\((?:[^()\n]|\([^()\n]*\))*\))*\)"
    r"|\{\{?[\w.$@?\[\]()-]*(?:![rsa])?(?:,-?\d+)?(?::[^{}\s\"'`]*)?\}?\}|\$\(\w+\)|\$\w+|(?<![\w:]):[a-z]\w*"
    r"|%(?:\d+\$|\(\w+\)|<\w+>)?[-+ #0*]{0,3}\d*(?:\.[\d*]+)?"
    r"(?:(?:hh?|ll?|[zjtqL])?[diouxXeEfFgGaAcCsSpnvVwTtUqbr@%](?![a-zA-Z])|\[\w)"
)

_CHARACTER_WORD: Final = lazy.pattern(rf"[{_BY_CHARACTER}]")

_LEVEL: Final = r"trace|debug|info|notice|warn|warning|error|err|fatal|critical|severe|panic|note|hint"
_PLACE: Final = r"(?:\"[^\"\n]+\"|'[^'\n]+'|[^\s\"'():]*[./\\][^\s\"'():]*)"
_MESSAGE_KEY: Final = r"(?:msg|message|err|error|reason|cause|detail)"
_PREFIX: Final = lazy.pattern(
    rf"""(?:
      \[?(?:\d{{4}}[-/]\d\d[-/]\d\d[T ])?\d\d:\d\d(?::\d\d)?(?:[.,]\d+)?(?:\s?(?:Z|[+-]\d\d:?\d\d|UTC))?\]?(?=[\s\]|:-])
    | \d{{4}}[-/]\d\d[-/]\d\d(?=\s)
    | (?:[A-Z][a-z]{{2}},?\s+)?(?:[A-Z][a-z]{{2}}\s+\d{{1,2}}|\d{{1,2}}\s+[A-Z][a-z]{{2}})(?:\s+\d{{4}})?(?=\s+\d\d:\d\d)
    | \[\s*\d+\.\d+\]
    | [IWEF]\d{{4}}(?=\s\d\d:\d\d:\d\d)
    | \d+(?=\s\S+:\d+\]\s)
    | (?-i:DEBUG|INFO|WARNING|ERROR|CRITICAL):[\w.]+:
    | \*\*\s\([\w.]+\)
    | [A-Za-z]:?(?=/\S+:\d+[:\s])
    | {_PLACE}(?::\d+(?::\d+)?|\(\d+(?:,\d+)?\))[\]:]?(?=\s|$)
    | \[[^\]\n]{{1,40}}\](?=[\s:])
    | (?:[\w.-]+\s)?[\w./-]+\[\d+\]:
    | <\w+>(?=\s)
    | (?:{_LEVEL})(?:\[\w+\]|\s\w+\d+)?(?=\s*[:|\]]|\s+-\s)
    | (?-i:TRACE|DEBUG|INFO|NOTICE|WARN|WARNING|ERROR|FATAL|CRITICAL|SEVERE)(?=\s)
    | [\w.$/:-]*[.$/:-][\w.$/:-]*\s(?=-\s)
    | [\w-]+\s(?=-\s)
    | (?!{_MESSAGE_KEY}=)[\w.]+=(?:"[^"\n]*"|[^\s"]\S*)(?=\s)
    | {_MESSAGE_KEY}=["']?
    | (?:[\w$]+(?:::|[.\\/]))*\w*(?:Error|Exception|Fault|Panic|Warning|Failure)(?:\s?\([\w:\s]+\))?(?=:\s)
    | thread\s'[^'\n]*'(?:\s\(\d+\))?\spanicked\sat(?:\s{_PLACE}:\d+:\d+:)?
    | (?:caused\sby|uncaught(?:\s\(in\spromise\))?|unhandled(?:\sexception)?\.?)(?=[:\s])
    | exception\sin\sthread\s"[^"\n]*"(?=[:\s])
    | (?-i:[A-Z]{{1,4}})-?\d{{3,5}}(?=[:\s])
    | [\s:|>\]-]+
    )""",
    re.VERBOSE | re.IGNORECASE,
)
_SUFFIX: Final = lazy.pattern(
    rf"""(?:
      [\s,(\[]{{1,3}}(?:(?:at|in|from|by|on)\s{{1,3}})?{_PLACE}(?::\d+(?::\d+)?|\(\d+(?:,\d+)?\)|,?\s(?:on\s)?line\s\d+)[)\]]?
    | ["']?(?:\s[\w.]+=(?:"[^"\n]*"|[^\s"]\S*))+
    | \s
    )$""",
    re.VERBOSE,
)
_FRAME: Final = lazy.pattern(
    r"""\s*(?:
      (?:at|from|in|by)\s+\S.*[:(]\d+\)?(?:[:)].*)?
    | File\s".*",\sline\s\d+.*
    | \S+[./]\S*:\d+(?::\d+)?(?::in\s.*)?
    | \#?\d+:?\s+0x[0-9a-f]+\s.*
    | \.\.\.\s\d+\s(?:more|common).*
    | Traceback\s\(most\srecent.*|stack\s(?:backtrace|traceback):|goroutine\s\d+\s.*
    | note:\srun\swith\s.*
    | [\^~\s|]+
    )$""",
    re.VERBOSE | re.IGNORECASE,
)
MAX_AROUND: Final = 300
"""Characters of one prefix or suffix of a message: bounds the cost of unusual text."""

_MAX_PREFIXES: Final = 16

_QUOTES: Final = "\"'`“”‘’«»"


class MessageToken(Struct, frozen=True, gc=False):
    """A word of a pasted text."""

    text: str
    """In lower case."""
    before: str
    """The text between the previous word and this one."""
    token: str
    """The index token that contains the word."""
    parts: int
    """The number of words in that token."""
    is_core: bool
    """Whether the word belongs to the message and not to what was added around it."""


class Message(Struct, frozen=True):
    """A pasted text."""

    pieces: tuple[MessageToken, ...]
    """All its words, in order."""
    core: str
    """The message alone, with single blanks."""
    word_count: int
    """Words as people count them: a name is one word, and so are two Chinese characters."""


class SourceText(Struct, frozen=True):
    """Source text with its escapes replaced."""

    words: list[str]
    """In lower case."""
    raw: list[str]
    """Alternates between separators and words, beginning and ending with a separator. Each placeholder is one `HOLE`."""
    lines: list[str]

    def gap(self, first: int, last: int) -> str:
        """Returns the text between word `first` and word `last`."""
        return "".join(self.raw[2 * first + 2 : 2 * last + 1])

    def before(self, word: int, count: int) -> str:
        """Returns the text before a word, with up to `count` words."""
        return "".join(self.raw[2 * max(0, word - count) : 2 * word + 1])

    def after(self, word: int, count: int) -> str:
        """Returns the text after a word, with up to `count` words."""
        return "".join(self.raw[2 * word + 2 : 2 * (word + count) + 2])


def read_message(text: str) -> Message:
    """Returns the words of a pasted text, including those around the message, which may be part of it after all."""
    pieces: list[MessageToken] = []
    core = []
    for line in _ANSI.sub("", text[:MAX_CHARACTERS]).splitlines():
        first, last = _core_of(line)
        core.append(line[first:last])
        for start, end, is_core in ((0, first, False), (first, last, True), (last, len(line), False)):
            pieces += _pieces(unescaped(line[start:end]), is_core=is_core)
    if not any(piece.is_core for piece in pieces):
        pieces = [msgspec.structs.replace(piece, is_core=True) for piece in pieces]
        core = [text]
    if len(pieces) > MAX_PIECES:
        pieces = [piece for piece in pieces if piece.is_core]
    shown = flat(unescaped(" ".join(core)).strip().strip(_QUOTES))
    words = sum(any(map(str.isalnum, word)) for word in shown.split()) + len(_CHARACTER_WORD.findall(shown)) // 2
    return Message(tuple(pieces[:MAX_PIECES]), shown, words)


def read_source(text: str) -> SourceText:
    """Returns the words of source text, with escapes replaced as a compiler does. Line breaks are kept."""
    text = unescaped(text)
    pattern = _ASCII_PIECE
    if not text.isascii():
        text, pattern = unicodedata.normalize("NFC", text), _ANY_PIECE
    raw = pattern.split(_PLACEHOLDER.sub(HOLE, text))
    return SourceText([word.lower() for word in raw[1::2]], raw, text.split("\n"))


def unescaped(text: str) -> str:
    """Returns the text with the escapes of string literals replaced by what they stand for: blanks, marks, letters."""
    if "\\" not in text:
        return text
    read = _ESCAPE.sub(_character, text)
    if _SURROGATE.search(read):
        read = read.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return read


def flat(text: str) -> str:
    """Returns the text with each run of blanks and line breaks replaced by a single blank."""
    return " ".join(unicodedata.normalize("NFC", text).split())


def sub_tokens(token: str) -> list[str]:
    """Returns the runs of letters and of digits in a token: the index may have these where a value is adjacent to a word."""
    return re.findall(r"[^\W\d_]+|\d+", token)


def _pieces(text: str, *, is_core: bool) -> list[MessageToken]:
    text = unicodedata.normalize("NFC", text)
    pattern = _ASCII_PIECE if text.isascii() else _ANY_PIECE
    raw = pattern.split(text)
    pieces: list[MessageToken] = []
    start = 1
    for end in range(3, len(raw) + 1, 2):
        if end == len(raw) or raw[end - 1]:
            parts = raw[start:end:2]
            token = "".join(parts).lower()
            for number, part in enumerate(parts):
                pieces.append(MessageToken(part.lower(), "" if number else raw[start - 1] or " ", token, len(parts), is_core))
            start = end
    return pieces


def _core_of(line: str) -> tuple[int, int]:
    """Returns where in a line the message begins and ends."""
    if len(line) <= MAX_AROUND and _FRAME.match(line):
        return len(line), len(line)
    first, last = 0, len(line.rstrip())
    for _ in range(_MAX_PREFIXES):
        found = _PREFIX.match(line, first, first + MAX_AROUND)
        if found is None or found.end() == first:
            break
        first = found.end()
    for _ in range(_MAX_PREFIXES):
        cut = _SUFFIX.search(line, max(first, last - MAX_AROUND), last)
        if cut is None:
            break
        last = cut.start()
    return first, last


def _character(found: re.Match[str]) -> str:
    code = found["braced"] or found["four"] or found["eight"] or found["two"]
    if code:
        return chr(int(code, 16)) if int(code, 16) <= 0x10FFFF else " "
    if found["blank"]:
        return " \n" if "\n" in found["blank"] else " "
    return found["mark"]
