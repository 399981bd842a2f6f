"""Reads Markdown in the worker process, for the page that shows it rendered.

A parser of Markdown takes quadratic time for some texts, and sees whatever is in a repository: so it runs where the kernel ends
it. What it returns is pieces without any markup, of which the server makes HTML: the worker decides nothing about links.

    heading1..heading6 paragraph quote bullets numbers item table head row headcell cell fence rule    blocks
    strong emphasis deleted code link image break                                                    within a line

`rule` and `break` have no end; in `fence`, `code` and `image` there is text alone. HTML in a document is text. Metadata at the
beginning of a file, between lines of dashes, is a `fence`.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from markdown_it import MarkdownIt
from markdown_it.token import Token

from codecompass.worker.messages import MarkdownPieces, Piece, ReadMarkdown
from codecompass.worker.parsing import ending_limit

MAX_PIECES: Final = 50_000
MAX_CHARACTERS: Final = 1_000_000
"""Bounds of an answer: a link that is defined once and used a thousand times makes it larger than its text. A document of 95,000
characters has 4,800 pieces (2026-11-26)."""

MAX_METADATA_LINES: Final = 100

_KINDS: Final = {
    "paragraph": "paragraph",
    "blockquote": "quote",
    "bullet_list": "bullets",
    "ordered_list": "numbers",
    "list_item": "item",
    "table": "table",
    "thead": "head",
    "tbody": "",
    "tr": "row",
    "th": "headcell",
    "td": "cell",
    "strong": "strong",
    "em": "emphasis",
    "s": "deleted",
    "link": "link",
}
"""Our kinds by the parser's: of those that begin and end."""

_ALIGNMENT: Final = re.compile(r"text-align:(left|center|right)")
_METADATA: Final = re.compile(r"[\w-]+:")


def markdown_pieces(order: ReadMarkdown) -> MarkdownPieces:
    """Returns the pieces of a document. Kills the process if they take too much CPU time."""
    with ending_limit(order.cpu_seconds):
        text = order.text.decode("utf-8", "replace")
        n_lines, metadata = _metadata(text)
        pieces = [Piece("fence", line=1), Piece("", metadata), Piece("/fence")] if n_lines else []
        if n_lines:
            # Empty lines in its place: the numbers of the others stay.
            text = "\n" * n_lines + "\n".join(text.split("\n")[n_lines:])
        # Without HTML in the text, without links that are not written as links.
        parser = MarkdownIt("js-default", {"html": False, "linkify": False, "typographer": False})
        n_characters = 0
        for piece in _blocks(parser.parse(text)):
            pieces.append(piece)
            n_characters += len(piece.text)
            if len(pieces) > MAX_PIECES or n_characters > MAX_CHARACTERS:
                return MarkdownPieces((), is_too_large=True)
        return MarkdownPieces(tuple(pieces))


def _metadata(text: str) -> tuple[int, str]:
    """Returns how many lines the metadata of a file takes, with the dashes, and its text; (0, '') without."""
    if not text.startswith("---\n"):
        return 0, ""
    lines = text.split("\n", MAX_METADATA_LINES)[:MAX_METADATA_LINES]
    end = next((number for number, line in enumerate(lines) if number and line.rstrip() in ("---", "...")), 0)
    if not end or not any(_METADATA.match(line) for line in lines[1:end]):
        return 0, ""
    return end + 1, "\n".join(lines[1:end])


def _blocks(tokens: Sequence[Token]) -> Iterator[Piece]:
    last = 0
    for token in tokens:
        line = token.map[0] + 1 if token.map and token.nesting >= 0 else 0
        line = line if line > last else 0
        if token.nesting:
            kind = _kind(token)
            # Hidden are the paragraphs of a list without empty lines.
            if kind and not token.hidden:
                last = max(last, line)
                yield Piece(kind, _attribute(token), line) if token.nesting > 0 else Piece(f"/{kind}")
        elif token.type == "inline":
            yield from _inline(token.children or ())
        elif token.type in ("fence", "code_block"):
            last = max(last, line)
            yield Piece("fence", line=line)
            yield Piece("", token.content)
            yield Piece("/fence")
        elif token.type == "hr":
            last = max(last, line)
            yield Piece("rule", line=line)
        else:
            yield Piece("", token.content)


def _inline(tokens: Sequence[Token]) -> Iterator[Piece]:
    for token in tokens:
        if token.nesting:
            if kind := _kind(token):
                yield Piece(kind, _attribute(token)) if token.nesting > 0 else Piece(f"/{kind}")
        elif token.type == "code_inline":
            yield Piece("code")
            yield Piece("", token.content)
            yield Piece("/code")
        elif token.type == "image":
            yield Piece("image", str(token.attrGet("src") or ""))
            yield Piece("", _plain(token.children or ()))
            yield Piece("/image")
        elif token.type == "hardbreak":
            yield Piece("break")
        elif token.type == "softbreak":
            yield Piece("", "\n")
        elif token.content:
            yield Piece("", token.content)


def _kind(token: Token) -> str:
    """Returns our kind of an element; empty for one that is left out, with what is in it kept."""
    name = token.type.removesuffix("_open").removesuffix("_close")
    return f"heading{token.tag[1:]}" if name == "heading" else _KINDS.get(name, "")


def _attribute(token: Token) -> str:
    match token.type:
        case "link_open":
            return str(token.attrGet("href") or "")
        case "ordered_list_open":
            return str(token.attrGet("start") or "")
        case "th_open" | "td_open":
            found = _ALIGNMENT.match(str(token.attrGet("style") or ""))
            return found[1] if found else ""
        case _:
            return ""


def _plain(tokens: Sequence[Token]) -> str:
    """Returns the text of what is within the brackets of an image."""
    return "".join(_plain(token.children) if token.children else token.content for token in tokens)
