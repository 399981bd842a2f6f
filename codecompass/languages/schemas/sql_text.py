r"""Splits an SQL script into tokens, and finds the statements that define something.

Each database has its own SQL, and scripts contain commands of its client (`GO`, `DELIMITER`, `\i`). No grammar parses all of
them, but strings, comments and brackets are enough to find where a CREATE statement begins and ends.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import Final

from msgspec import Struct

from codecompass import lazy
from codecompass.languages.words import word_set

_COMMENT: Final = r"--[^\n]* | /\*(?!!).*?(?:\*/|\Z) | ^[ \t]*\#[ !][^\n]*"
_DOLLAR: Final = r"\$(?P<tag>(?:[A-Za-z_]\w*)?)\$ .*? (?:\$(?P=tag)\$|\Z)"
_ESCAPED: Final = r"'[^'\\]*(?:(?:\\.|'')[^'\\]*)*(?:'|\Z)"
_PLAIN: Final = r"'[^']*(?:''[^']*)*(?:'|\Z)"
_FLAGS: Final = re.VERBOSE | re.DOTALL | re.MULTILINE | re.IGNORECASE


def _token_pattern(string: str) -> re.Pattern[str]:
    return lazy.pattern(
        rf"""
          (?P<comment> {_COMMENT} )
        | (?P<space> \s+ | /\*!\d* | \*/ )
        | (?P<dollar> {_DOLLAR} )
        | (?P<string> e{_ESCAPED} | [nbx]?{string} )
        | (?P<quoted> "(?:[^"\n]|"")*" | `[^`\n]*` | \[[^\]\n\[(){{}}';:]*\] )
        | (?P<word> [\w@\#$:\\][\w@\#$]* )
        | (?P<punct> . )
        """,
        _FLAGS,
    )


def _landmark_pattern(string: str) -> re.Pattern[str]:
    return lazy.pattern(
        rf"""
          (?P<comment> {_COMMENT} )
        | (?P<dollar> {_DOLLAR} )
        | (?<!\w)e{_ESCAPED} | {string} | "(?:[^"\n]|"")*" | `[^`\n]*`
        | (?P<go> ^[ \t]*go[ \t]*(?:\d+[ \t]*)?;?[ \t]*(?:--[^\n]*)?$ )
        | ^[ \t]*delimiter[ \t]+(?P<delimiter> \S+ )
        | ^copy\b[^;\n]*\bfrom[ ]stdin\b[^;\n]*;[^\n]*\n.*?^\\\.$
        | ^[ \t]*(?:\\ir?|\\include(?:_relative)?|:r|\.read|source)[ \t]+(?P<file> [^\s;]+ )
        | ^[ \t]*\\[^\n]*
        | (?:^|(?<=;)) [ \t]* (?:/\*!\d*[ \t]*)? (?P<verb> create|alter )(?=\s)
        """,
        _FLAGS,
    )


TOKENS: Final = (_token_pattern(_PLAIN), _token_pattern(_ESCAPED))
LANDMARKS: Final = (_landmark_pattern(_PLAIN), _landmark_pattern(_ESCAPED))
"""Where the search for the next definition stops. Much faster than reading all tokens, and dumps are mostly data. The second of
each pair is for MySQL, whose strings have backslash escapes."""

MYSQL: Final = lazy.pattern(r"`\w+`|\bengine\s*=|^delimiter\s", re.MULTILINE | re.IGNORECASE)
BATCHES: Final = lazy.pattern(r"^[ \t]*go[ \t]*;?[ \t]*$|\bset[ \t]+nocount\b|\bsp_executesql\b", re.MULTILINE | re.IGNORECASE)

OBJECTS: Final = word_set(
    "aggregate database domain event function index macro package policy proc procedure schema sequence synonym table trigger "
    "type view"
)
"""Words after CREATE that name the kind of object."""
ROUTINES: Final = frozenset({"event", "function", "macro", "package", "proc", "procedure", "trigger"})
MODIFIERS: Final = word_set(
    "access algorithm alter bitmap clustered columnar columnstore concurrently constraint definer dynamic editionable "
    "external force foreign fulltext global hash hybrid iceberg invoker local masking materialized merge no nonclustered "
    "nonunique or procedural public recursive replace row secure security spatial sql temp temporary temptable transient "
    "undefined unique unlogged virtual window"
)
"""Words that may be between CREATE and the kind of object."""

NEXT_STATEMENT: Final = frozenset({"alter", "create", "drop", "grant", "revoke"})
NEXT_IN_BATCH: Final = NEXT_STATEMENT | {"exec", "execute", "if", "insert", "print", "use"}
"""Words that begin a new statement without a semicolon before them, if first on a line and outside brackets."""
BODY: Final = lazy.pattern(
    r"\s*(?:[$'@(\[]|(?:begin|call|declare|delete|exec|execute|if|insert|merge|return|select|set|update|values|with)\b)",
    re.IGNORECASE,
)
"""What follows AS before a body without declarations (Oracle's declarations end with semicolons)."""
NO_BLOCK: Final = lazy.pattern(r"\s*(?:;|tran\b|transaction\b|work\b)", re.IGNORECASE)
INNER_END: Final = lazy.pattern(r"\s*(?:if|loop|while|repeat|for)\b", re.IGNORECASE)

MAX_TOKENS: Final = 20_000
"""In one statement. A longer one is data, with its definitions at the beginning."""


class SqlToken(Struct, frozen=True):
    """A token; `kind` is dollar, string, quoted, word or punct. `start` and `end` count code points."""

    kind: str
    text: str
    start: int
    end: int

    @property
    def lower(self) -> str:
        """The text of an unquoted word in lower case; empty for any other token, which cannot be a keyword."""
        return self.text.lower() if self.kind == "word" else ""

    @property
    def name(self) -> str:
        """The identifier without its quotes; empty if the token is not an identifier."""
        if self.kind == "quoted":
            return self.text[1:-1].strip()
        return self.text if self.kind == "word" and (self.text[0].isalpha() or self.text[0] in "_@#$") else ""


class Statement(Struct, frozen=True):
    """A statement that creates an object: its tokens without comments, the index of the one with the kind of object, and its end.

    The tokens of a routine may stop where its body begins.
    """

    tokens: tuple[SqlToken, ...]
    object_index: int
    end: int


class Include(Struct, frozen=True):
    """A client command that reads another file."""

    file: str
    start: int


class Script:
    """A script: iterates over its statements, and collects the comments that it finds."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.comments: list[tuple[int, int]] = []
        is_mysql = MYSQL.search(source) is not None
        self.is_batched = BATCHES.search(source) is not None
        self._token, self._landmark = TOKENS[is_mysql], LANDMARKS[is_mysql]
        self._breaks = [match.start() for match in re.finditer("\n", source)]

    def line(self, offset: int) -> int:
        """Returns the line of an offset, 1-based."""
        return bisect_right(self._breaks, offset - 1) + 1

    def text_of_line(self, line: int) -> str:
        """Returns a line (1-based) without its line break."""
        start = self._breaks[line - 2] + 1 if line > 1 else 0
        return self.source[start : self._breaks[line - 1] if line <= len(self._breaks) else len(self.source)]

    def joined(self, tokens: Sequence[SqlToken]) -> str:
        """Returns the source of consecutive tokens without the comments between them."""
        parts: list[str] = []
        for index, token in enumerate(tokens):
            is_apart = index and token.start > tokens[index - 1].end
            parts.append(f" {token.text}" if is_apart else token.text)
        return "".join(parts)

    def items(self) -> Iterator[Statement | Include]:
        """Yields the statements that define something and the includes, in source order."""
        position, delimiter = 0, ";"
        while (match := self._landmark.search(self.source, position)) is not None:
            position = max(match.end(), position + 1)
            if match["delimiter"]:
                delimiter = match["delimiter"]
            elif match["dollar"] and delimiter.startswith("$"):
                position = match.start() + len(delimiter)
            elif match["file"]:
                yield Include(match["file"].strip("'\""), match.start("file"))
            elif match["comment"]:
                self.comments.append(match.span())
            elif match["verb"]:
                statement = self._statement(match.start("verb"), delimiter)
                position = max(position, statement.end)
                is_definition = match["verb"].lower() == "create" or self.is_batched
                if statement.object_index > 0 and is_definition:
                    yield statement

    def _tokens(self, position: int) -> Iterator[SqlToken]:
        for match in self._token.finditer(self.source, position):
            if match["comment"]:
                self.comments.append(match.span())
            elif not match["space"]:
                kind = "dollar" if match.lastgroup == "tag" else match.lastgroup or "punct"
                yield SqlToken(kind, match[0], *match.span())

    def _statement(self, start: int, delimiter: str) -> Statement:
        tokens: list[SqlToken] = []
        object_index, depth, blocks, waits_for_block = -1, 0, 0, False
        what = ""
        for token in self._tokens(start):
            word = token.lower
            if delimiter != ";" and token.kind != "string" and self.source.find(delimiter, token.start, token.end + 1) >= 0:
                # `END$$` is one token.
                last = token.text.partition(delimiter[0])[0]
                if last.isalnum():
                    tokens.append(SqlToken("word", last, token.start, token.start + len(last)))
                break
            if tokens and (word or token.text == "/") and self._is_first_on_line(token.start):
                if word == "go" or (token.text == "/" and self._is_last_on_line(token.end)):
                    break
                following = NEXT_IN_BATCH if self.is_batched else NEXT_STATEMENT
                if word in (NEXT_STATEMENT if what in ROUTINES else following) and not depth and not blocks and len(tokens) > 2:
                    break
            if object_index < 0 and tokens:
                if word in OBJECTS and tokens[-1].text not in "=@":
                    object_index, what = len(tokens), word
                    if what in ROUTINES and self.is_batched:
                        return self._rest_of_batch(tokens, token)
                elif not self._is_before_object(token, tokens[-1]):
                    # A role, an operator, a server: no symbol.
                    break
            if token.text in ("(", ")"):
                depth = max(0, depth + (1 if token.text == "(" else -1))
            elif what in ROUTINES and word:
                if word in ("as", "is") and not depth and not blocks and what not in ("event", "trigger"):
                    blocks += what == "package"
                    waits_for_block = what != "package" and BODY.match(self.source, token.end) is None
                elif word == "begin" and NO_BLOCK.match(self.source, token.end) is None:
                    blocks += 1
                    waits_for_block = False
                elif word == "case" and blocks and tokens[-1].lower != "end":
                    blocks += 1
                elif word == "end" and blocks and INNER_END.match(self.source, token.end) is None:
                    blocks -= 1
            if token.text == ";" and delimiter == ";" and not blocks and not waits_for_block:
                break
            tokens.append(token)
            if len(tokens) >= MAX_TOKENS:
                break
        return Statement(tuple(tokens), max(object_index, 0), tokens[-1].end if tokens else start)

    def _is_before_object(self, token: SqlToken, before: SqlToken) -> bool:
        """Whether the kind of object can still follow: after a modifier, or in `DEFINER = root@localhost`."""
        return token.lower in MODIFIERS or token.text in "=@" or before.text in "=@" or token.text.startswith("@")

    def _rest_of_batch(self, tokens: list[SqlToken], token: SqlToken) -> Statement:
        """Returns a routine whose body extends to the next GO."""
        object_index, head = len(tokens), [*tokens, token]
        for following in self._tokens(token.end):
            head.append(following)
            if following.lower in ("as", "go") or len(head) > MAX_TOKENS:
                break
        position, end = head[-1].end, len(self.source)
        while (match := self._landmark.search(self.source, position)) is not None:
            if match["go"]:
                end = match.start()
                break
            position = max(match.end(), position + 1)
        while end > head[-1].end and self.source[end - 1].isspace():
            end -= 1
        return Statement(tuple(head), object_index, max(end, head[-1].end))

    def _is_first_on_line(self, offset: int) -> bool:
        return not self.source[self.source.rfind("\n", 0, offset) + 1 : offset].strip()

    def _is_last_on_line(self, offset: int) -> bool:
        rest = self.source.find("\n", offset)
        return not self.source[offset : len(self.source) if rest < 0 else rest].strip()
