"""Reads a long pasted text: an issue, a pull request, a review comment, a log, a failing run.

Such a text says where to look in few of its words, and the rest of it surrounds them: what was run, what was printed, on which
machine, and the headings of a form. So each line is read by its structure, and a word counts by the best place that it has:

    title | `in backticks` | a line with an error | prose | a frame of a trace and its source | code and output

Comments of markup, check boxes, addresses, versions, dates, numbers, lines and sections about the environment count nothing.
Nothing here reads the index or knows any project, form or template.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Final, Literal

from msgspec import Struct

from codecompass import lazy
from codecompass.languages.words import word_set
from codecompass.query.messages.traces_and_signatures import StackFrame, frames
from codecompass.query.words.intent import classify
from codecompass.query.words.query_words import (
    MAX_QUERY_WORDS,
    STOP_WORDS,
    WORDS_OF_CHANGE,
    QueryWord,
    identifiers,
    is_code_name,
    query_words,
    weighed_words,
)

MAX_CHARACTERS: Final = 20_000
"""Characters that are read of a text."""

KNOWN_TEXTS: Final = 4
"""Texts whose reading is kept: each is asked of several workspaces, and read for several purposes."""

LEAST_CHARACTERS: Final = 160
LEAST_PROSE_WORDS: Final = 12
"""A text is long from so many characters on, if it has several lines and so many words that are no trace, code or output: a trace
alone, or a piece of code, is read as such."""

Place = Literal["title", "quoted", "error", "prose", "frame", "code"]

WEIGHTS: Final[Mapping[Place, float]] = {
    "title": 1.0,
    "quoted": 0.9,
    "error": 0.7,
    "prose": 0.6,
    "frame": 0.4,
    "code": 0.35,
}
"""What a word counts by its place."""

MAX_TITLE: Final = 200

MAX_LINE: Final = 300
"""Characters of a line by which its place is told: bounds the cost of unusual text."""

_COMMENT: Final = lazy.pattern(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_FENCE: Final = lazy.pattern(r"\s*(?:>\s*)*(?P<fence>`{3,}|~{3,})")
_HEADING: Final = lazy.pattern(
    r"\s{0,3}#{1,6}\s+(?P<marked>\S.*)|\s*(?P<bold>\*\*[^*]+\*\*|__[^_]+__):?\s*|(?P<label>[A-Z][\w /&-]{2,38}):\s*"
)
_UNDERLINE: Final = lazy.pattern(r"\s*(?:={3,}|-{3,}|\*{3,}|_{3,})\s*")
_TASK: Final = lazy.pattern(r"\s*[-*+]\s*\[[ xX]\]")
_EMPTY: Final = lazy.pattern(r"[\W_]*(?:no response|n/?a|none|nothing)[\W_]*|\s*\([^()]*\)\s*", re.IGNORECASE)
_URL: Final = lazy.pattern(
    r"\b[a-z][a-z0-9+.-]{1,20}://[^\s)>\]]*|\bwww\.[^\s)>\]]*|(?<![\w.+-])[\w.+-]{1,64}@[\w-]{1,64}\.[\w.]+", re.IGNORECASE
)
_DATA: Final = lazy.pattern(
    r"\b0x[0-9a-fA-F]+\b|\bv?\d+(?:[.:/-]\d+)+[\w.+-]*|(?<![\w-])(?=[a-f]*\d)[0-9a-f]{7,64}(?![\w-])|(?<![\w.])\d+(?![\w.])"
)
_BACKTICKS: Final = lazy.pattern(r"``([^`\n]+)``|`([^`\n]+)`")
_VERSION_LINE: Final = lazy.pattern(r"[>*+-]* ?[\w./-]+(?: [\w./-]+){0,4} ?[:=@]* ?v?\d+(?:\.\d+)+[\w.+-]*(?: ?[(\[,].*)?")
_SOURCE_LINE: Final = lazy.pattern(r"\s*(?:-+>\s*)?\d+\s.*|\s*\d+\s*\|.*|[\s|]*\^[\s^~]*")
_CODE: Final = lazy.pattern(
    r"""\s*(?:
      (?:>>>|\.\.\.|In\s\[\d*\]:|Out\s?\[\d*\]:|\$|PS\s[^>]*>)(?:\s|$)
    | (?:from\s+[\w.]+\s+import|import\s+[\w.{*"']|\#include|package\s+[\w.]+;?$|using\s+[\w.:]+;|use\s+[\w:\\]+)\b
    | (?:async\s+)?(?:def|class|func|fn|function|struct|interface|enum|impl|module|trait|type)\s+\w.*[:{(;)]\s*$
    | (?:if|for|while|with|elif|else|try|except|finally|switch|case|catch)\b.*[:{]\s*$
    | (?:return|let|const|var|public|private|static|await|yield|raise|throw|assert)\s+.*[\w)\]};"']\s*$(?<=[)\]};])
    | (?:SELECT|INSERT|UPDATE|DELETE|CREATE|ALTER|DROP|FROM|WHERE|VALUES|JOIN)\s
    | [@{}()\[\]<]
    | [\w.\[\]"'$*]+(?:\s*:\s*[\w.\[\]]+)?\s*[-+*/|&:]?=[^=~]
    | [\w.$]+\(.*\)?[;,]?\s*$
    | ["'][^"']*["']\s*[:,)]
    | .*[;{(\[\\]\s*$
    | .*[=(].*,\s*$
    | [-+]{1,3}\s?(?:[\w.]+\(|\w+\s=|def|import|[ab]/)
    )""",
    re.VERBOSE,
)
_PATH: Final = lazy.pattern(r"(?<![\w@./\\-])[\w.-]*(?:[/\\][\w.-]+)*[\w-]\.[A-Za-z]\w{0,7}(?![\w(/\\-]|\.\w)")
_CALLED: Final = lazy.pattern(r"(?<![\w.])([^\W\d]\w*)\(")
_ENVIRONMENT: Final = word_set(
    "version versions environment env system os platform dependencies dependency installed packages hardware"
)
_FRAME_OF_PYTHON: Final = lazy.pattern(r'\bFile "[^"\n]+", line \d+')
_SENTENCE: Final = lazy.pattern(r"(?<=[.!?])\s")


class TextPart(Struct, frozen=True):
    """A piece of a text and its place."""

    place: Place
    text: str


class LongQuestion(Struct, frozen=True):
    """What a long text says about where to look."""

    title: str
    words: tuple[QueryWord, ...]
    """Its words, the heaviest first."""
    names: Mapping[str, float]
    """What looks like a name of code in it, with the weights of their places, the heaviest first."""
    paths: Mapping[str, float]
    """The paths of files in it, likewise."""
    frames: tuple[StackFrame, ...]

    @property
    def text(self) -> str:
        """A short text with what matters for reading it as a question: the title and the names."""
        return "\n".join((self.title, *self.names))


def asked_words(text: str) -> tuple[QueryWord, ...]:
    """Returns up to MAX_QUERY_WORDS words of a query: of a long text the heaviest ones, of any other the first ones."""
    long = long_question(text)
    return query_words(text) if long is None else long.words[:MAX_QUERY_WORDS]


@lru_cache(maxsize=KNOWN_TEXTS)
def long_question(text: str) -> LongQuestion | None:
    """Returns what a long text says, None for any other."""
    if len(text) < LEAST_CHARACTERS or not text.strip().count("\n"):
        return None
    parts = list(parts_of(text))
    prose = sum(len(part.text.split()) for part in parts if part.place in ("title", "prose"))
    if prose < LEAST_PROSE_WORDS:
        return None
    return asked_in(parts, frames(text))


def asked_in(parts: Sequence[TextPart], traced: tuple[StackFrame, ...]) -> LongQuestion:
    """Returns what pieces of a text say. `traced` are the frames in it."""
    weights: dict[str, float] = {}
    names: dict[str, float] = {}
    paths: dict[str, float] = {}
    for part in parts:
        weight = WEIGHTS[part.place]
        for word, share in weighed_words(part.text).items():
            if word not in STOP_WORDS and weights.get(word, 0.0) < weight * share:
                weights[word] = weight * share
        for name in names_in(part):
            names[name] = max(names.get(name, 0.0), weight)
        for path in paths_in(part):
            paths[path] = max(paths.get(path, 0.0), weight)
    words = [QueryWord(word, weight * WORDS_OF_CHANGE.get(word, 1.0)) for word, weight in weights.items()]
    return LongQuestion(
        title=next((part.text for part in parts if part.place == "title"), ""),
        words=tuple(sorted(words, key=lambda word: -word.weight)),
        names=dict(sorted(names.items(), key=lambda item: -item[1])),
        paths=dict(sorted(paths.items(), key=lambda item: -item[1])),
        frames=traced,
    )


def names_in(part: TextPart) -> Iterator[str]:
    """Yields what can only be a name of code in a piece of a text: by its letters, by the parenthesis of a call, or by backticks.

    Names in code are left out: most of them are those of the program that is shown, and of other libraries.
    """
    if part.place == "code":
        return
    called = set(_CALLED.findall(part.text)) if part.place in ("title", "quoted", "prose") else ()
    for name in identifiers(part.text):
        if is_code_name(name) or name in called or (part.place == "quoted" and name == part.text.strip()):
            yield name


def paths_in(part: TextPart) -> Iterator[str]:
    """Yields the paths of files in a piece of a text that is no code and no frame."""
    if part.place in ("code", "frame"):
        return
    for found in _PATH.findall(part.text):
        yield found.replace("\\", "/").strip("./")


def parts_of(text: str) -> Iterator[TextPart]:
    """Yields the pieces of a text that count, in order. Text in backticks is in two of them."""
    has_title = is_fenced = is_left_out = is_source = False
    for line in _COMMENT.sub("", text[:MAX_CHARACTERS]).splitlines():
        if _FENCE.match(line) is not None:
            is_fenced = not is_fenced
            continue
        bare = _DATA.sub(" ", _URL.sub(" ", line))
        line = line[:MAX_LINE]
        if not bare.strip() or _TASK.match(line) is not None or _EMPTY.fullmatch(line) is not None or _UNDERLINE.fullmatch(line):
            continue
        if not has_title:
            has_title = True
            title, rest = _title(bare)
            yield TextPart("title", title)
            if rest:
                yield from prose_parts(rest)
            continue
        heading = None if is_fenced else _HEADING.fullmatch(line)
        if heading is not None:
            is_left_out = not _ENVIRONMENT.isdisjoint(line.lower().split())
            continue
        if is_left_out or _VERSION_LINE.fullmatch(" ".join(line.split())) is not None:
            continue
        if frames(line):
            is_source = _FRAME_OF_PYTHON.search(line) is not None
            yield TextPart("frame", bare)
            continue
        is_error = classify(line) == "error"
        if (is_source and not (is_error and not line[0].isspace())) or _SOURCE_LINE.fullmatch(line) is not None:
            yield TextPart("frame", bare)
        elif is_error:
            yield TextPart("error", bare.strip())
        elif is_fenced or _CODE.match(line) is not None:
            yield TextPart("code", bare)
        else:
            yield from prose_parts(bare)
        is_source = False


def _title(line: str) -> tuple[str, str]:
    """Returns the title of a text whose first line is `line`, and what follows it there: of a paragraph, the first sentence."""
    line = line.strip().lstrip("# ")
    if len(line) <= MAX_TITLE:
        return line, ""
    first, *rest = _SENTENCE.split(line, maxsplit=1)
    return first[:MAX_TITLE], " ".join((first[MAX_TITLE:], *rest)).strip()


def prose_parts(line: str) -> Iterator[TextPart]:
    """Yields the pieces of a line of prose: what is in backticks, and all of it."""
    for found in _BACKTICKS.finditer(line):
        yield TextPart("quoted", found[1] or found[2])
    yield TextPart("prose", line)
