"""An upper estimate of the number of tokens of an answer.

Keys and ids of our answers have known costs. For the rest the larger of two estimates counts: ASCII characters divided by a
constant, which fits code, and a count of the pieces that byte-pair vocabularies make, which fits dense text (hashes, tables of
numbers, lock files). docs/search.md documents how far the estimates exceed the counts of several vocabularies.
"""

from typing import Final

from msgspec.structs import fields

from codecompass import lazy
from codecompass.errors import InvalidMaxTokens
from codecompass.protocol.difference_replies import (
    DiffContextReply,
    DiffFile,
    DiffItem,
    DiffPiece,
    DiffSide,
    DiffTotals,
    DiffUser,
    DiffVersion,
)
from codecompass.protocol.encode import encode
from codecompass.protocol.metadata import Metadata
from codecompass.protocol.replies import CodeContextReply, ContextItem
from codecompass.protocol.text import render
from codecompass.protocol.text.code import STALE, context_lines
from codecompass.settings import AnswerForm

SEPARATOR: Final = b",\n"

ASCII_PER_TOKEN: Final = 2.4
"""The densest whole answer had 2.59 ASCII characters per token."""

PER_WORD: Final = 1.4
PER_FIVE_FURTHER_LETTERS: Final = 0.7
PER_DIGIT: Final = 1.1
PER_MARK: Final = 0.6
PER_OTHER_BYTE: Final = 0.5
"""Per UTF-8 byte of a character outside ASCII, which is one to three tokens."""

PER_KEY: Final = 1.5
PER_WORD_OF_KEY: Final = 2.0
"""A key with its comma, colon and quotes is 3 to 5 tokens of one word, 5 of two, 6 to 9 of three."""

PER_HANDLE: Final = 14.0
"""An id of 16 hex digits with its quotes: 11.5 tokens on average, 15 at the 99th percentile."""

USEFUL_TOKENS: Final = 500
"""Tokens that a refused request is advised to add to the minimum: room for three or four signatures."""

_DIFFERENCES: Final = (DiffContextReply, DiffSide, DiffTotals, DiffItem, DiffFile, DiffPiece, DiffUser, DiffVersion)
_KEYS: Final = sorted({field.name for kind in (CodeContextReply, ContextItem, Metadata, *_DIFFERENCES) for field in fields(kind)})
# Quotes inside our texts follow a backslash, so neither pattern can match there.
_KEY: Final = lazy.pattern(rb'[{,]"(' + "|".join(_KEYS).encode() + rb')":')
_HANDLE: Final = lazy.pattern(rb'(?<!\\)"[0-9a-f]{16}"')
_WORD: Final = lazy.pattern(rb"[A-Z]?[a-z]+|[A-Z]+")
_DIGIT: Final = lazy.pattern(rb"[0-9]")
_MARK: Final = lazy.pattern(rb"[^A-Za-z0-9 \x80-\xff]")


def envelope_tokens(
    empty: CodeContextReply | DiffContextReply, max_tokens: int, form: AnswerForm, without: str, alternative: str = ""
) -> int:
    """Returns the tokens of an answer without items.

    Raises InvalidMaxTokens, with the `minimum`, if `max_tokens` is smaller; `without` names the items in its message.
    """
    envelope = estimate_tokens(render(empty).encode() if form == "text" else encode(empty))
    if max_tokens >= envelope:
        return envelope
    raise InvalidMaxTokens(
        f"max_tokens must be at least {envelope} here, which an answer takes without any {without}, not {max_tokens}. "
        f"Call again with {envelope + USEFUL_TOKENS} or more{alternative}.",
        field="max_tokens",
        value=max_tokens,
        constraint=f"a whole number of {envelope} or more",
        minimum=envelope,
    )


def item_tokens(item: ContextItem) -> int:
    """Returns the tokens of one item of an answer, including the separator, in the form of the answer."""
    if item.excerpt is None:
        return estimate_tokens(encode(item) + SEPARATOR)
    # The path counts for each item: it is not known yet which items will share one.
    stale = [STALE] if item.stale else []
    return estimate_tokens("\n".join(("", item.path, *stale, *context_lines(item), "")).encode())


def estimate_tokens(encoded: bytes) -> int:
    """Returns the number of tokens of a piece of an answer as it is sent (UTF-8), rounded up."""
    keys = _KEY.findall(encoded)
    rest, handle_count = _HANDLE.subn(b"", _KEY.sub(b"", encoded))
    known = PER_HANDLE * handle_count + sum(PER_KEY + PER_WORD_OF_KEY * (key.count(b"_") + 1) for key in keys)
    other_bytes = sum(byte >= 0x80 for byte in rest)
    by_length = (len(rest) - other_bytes) / ASCII_PER_TOKEN
    words = _WORD.findall(rest)
    by_pieces = (
        PER_WORD * len(words)
        + PER_FIVE_FURTHER_LETTERS * sum((len(word) - 1) // 5 for word in words)
        + PER_DIGIT * len(_DIGIT.findall(rest))
        + PER_MARK * len(_MARK.findall(rest))
    )
    return int(known + max(by_length, by_pieces) + PER_OTHER_BYTE * other_bytes) + 1
