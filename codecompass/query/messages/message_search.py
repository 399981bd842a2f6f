"""Finds where in the source a pasted message comes from, literally or as a template.

Done for every intent, because many messages do not look like one. Candidates are the chunks with the largest worth of the
message's words (rare words are worth more); the most promising are then aligned with the message.
"""

import string
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from itertools import pairwise
from operator import neg
from typing import Final

import re2
from msgspec import Struct

from codecompass.languages.records import SymbolKind
from codecompass.query.messages.message_alignment import Alignment, PreparedMessage, align
from codecompass.query.messages.message_parsing import MAX_PIECES, Message, read_message, read_source, sub_tokens
from codecompass.query.options import no_deadline
from codecompass.query.search_hits import RankedPlace, Signals, as_symbol, enclosing_symbol, narrowest
from codecompass.query.words.query_words import STOP_WORDS
from codecompass.query.words.retrieval import inverse_frequency, n_chunks
from codecompass.scan.path_roles import is_history, role_of
from codecompass.store.schema import index_tokens
from codecompass.store.snapshot import ChunkHit, Snapshot, WeighedSearch
from codecompass.store.text_queries import Filter

MIN_WORDS: Final = 3
"""Least words of a message, and least words in a row that are not a coincidence."""

CANDIDATES: Final = 500
READ: Final = 80
COMPARED: Final = 20
COMPARED_IF_EXACT: Final = 12
"""Chunks that are ranked by their words, that are read, and that are aligned with the message: fewer if they contain it
literally."""

LEAST_SHARE: Final = 0.4
"""Least share of the message's worth in a candidate."""

HALF_SHOWN: Final = 0.7
"""Part of that share that one chunk must have in order: the rest may be in the next chunk."""

ALL_OF_IT: Final = 0.999
"""Share from which on a chunk has all words: their worth is summed in single precision."""

LINES_AROUND: Final = 4
"""Lines of a chunk before and after adjacent words that are compared."""

VALUE_WORDS: Final = 3
"""Words that a value between two words of the message may have for a text to be worth comparing."""

PLACEHOLDER_BRIEFLY: Final = r"(?:[$#%]?\{[^{}\n]*\}|%[\w$.]+|\$\w+|\\\([^\n]*\)|[\"'`][^\"'`\n]*[\"'`])"

MAX_BETWEEN: Final = 120
"""Characters of a value between two pairs of adjacent words, with the code around it."""

_ALPHANUMERIC: Final = (string.ascii_lowercase + string.digits).encode()
_ANYWHERE: Final = (-1, MAX_PIECES)
"""The places of a word that is not written in ASCII."""

TELLING_WORTH: Final = 0.35
"""Least worth of a pair of adjacent words, in units of the worth of a word that one text has."""

SURE_FIT: Final = 0.85
SURE_SHARE: Final = 0.35
SURE_WORDS: Final = 4
SURE_WORTH: Final = 0.5
"""Least values for a place that does not contain the message literally to be certainly its origin."""

ROLE_WEIGHT: Final = 0.05
"""Penalty for a test compared with product code, on scores around 1."""

MAX_SHOWN: Final = 3
SAME_SCORE: Final = 0.25
"""Places of messages that are shown, and how far their scores may be below the best."""

LINES_BEFORE: Final = 8
LINES_AFTER: Final = 12
"""Lines shown around the message if its definition is long."""

EDGE_LINES: Final = 3
NEIGHBOUR_LINES: Final = 6
MAX_JOINED: Final = 4
"""A message that begins or ends this close to the end of a chunk is compared again with lines of the next chunk."""

SURROUNDING_WORTH: Final = 0.3
"""Worth of a word around the message, compared with one in it, for finding candidates."""

MAX_COUNTED: Final = 6
"""Words of a message up to which the index is asked for texts with several of them: most have too few, and are not read. For more
words, counting takes the index longer than reading."""

UNKNOWN_WORTH: Final = 0.125
"""Worth of a word that is not a token in any text but may be part of one, in units of the worth of a word that one text has."""


class FoundMessage(Struct, frozen=True, kw_only=True):
    """A place that contains a message, or something similar. Lines are 1-based and inclusive."""

    file_id: int
    chunk_start: int
    """The first line of its chunk."""
    line_start: int
    line_end: int
    focus: int
    """The line with most of the message."""
    share: float
    """How much of the message's worth it contains, 0..1."""
    score: float
    is_sure: bool
    """Whether it is certainly not a coincidence."""
    is_exact: bool
    """Whether it contains the message literally."""


class SoughtMessage(Struct, frozen=True):
    """A message and the search for the chunks that may contain it."""

    message: Message
    worth: Mapping[str, float]
    wanted: PreparedMessage
    most: float
    """The worth of the whole message."""
    may_be_template: bool
    search: WeighedSearch
    only_sure: bool
    """Whether texts are left out that can hardly be certain, which most questions in words have many of."""


def sought_message(snapshot: Snapshot, text: str, where: Filter, *, only_sure: bool = False) -> SoughtMessage | None:
    """Returns `text` as a message; None for a name, for few words, or if no word is in the index."""
    message = read_message(text)
    if message.word_count < MIN_WORDS:
        return None
    total = n_chunks(snapshot)
    worth = _token_worth(snapshot, message, total)
    wanted = _wanted(message, worth, total)
    if wanted.total <= 0.0:
        return None
    most = sum(worth.get(token, 0.0) for token in dict.fromkeys(piece.token for piece in message.pieces if piece.is_core))
    # A template with fewer words is never certain.
    may_be_template = len({piece.text for piece in message.pieces if piece.is_core}) >= SURE_WORDS
    least = LEAST_SHARE if may_be_template else ALL_OF_IT
    sought = _sought(snapshot, message, worth, total)
    least_words = _least_words(message, worth) if only_sure and len(sought) <= MAX_COUNTED else 1
    search = WeighedSearch(sought, CANDIDATES, least * most, where, least_words)
    return SoughtMessage(message, worth, wanted, most, may_be_template, search, only_sure)


def _least_words(message: Message, worth: Mapping[str, float]) -> int:
    """Returns how many of the message's words a text must have to be certainly its origin: SURE_WORDS, or all of it."""
    tokens = [piece.token for piece in message.pieces]
    is_split = len(set(tokens)) < len({piece.text for piece in message.pieces})
    # Parts of one word of the index are several words of a message.
    return (
        1 if is_split else max(1, min(SURE_WORDS, len({piece.token for piece in message.pieces if piece.is_core} & set(worth))))
    )


def find_messages(snapshot: Snapshot, sought: SoughtMessage, is_expired: Callable[[], bool] = no_deadline) -> list[FoundMessage]:
    """Returns where a message occurs in the source, best first; empty if the time is up.

    `is_expired` is called before each chunk that is read or compared, which takes up to a millisecond.
    """
    message, wanted, most = sought.message, sought.wanted, sought.most
    chunks = snapshot.text.weighed_chunks(sought.search)
    if not chunks:
        return []
    part_of = _part_finder(sought)
    exact: list[_Part] = []
    others: list[_Part] = []
    is_settled = False
    order = _in_order(snapshot, chunks)
    for number in order:
        if is_expired():
            return []
        has_all = chunks[number].score > most * ALL_OF_IT
        if is_settled and (len(exact) >= COMPARED_IF_EXACT or not has_all):
            break
        part = part_of(chunks[number], snapshot.text.chunk_text(chunks[number]), has_all)
        if part is not None:
            (exact if part.is_exact else others).append(part)
            is_settled = is_settled or (part.is_exact and _is_product_code(snapshot, part.hit.file_id))
    parts = exact[:COMPARED_IF_EXACT]
    if not is_settled and sought.may_be_template:
        # Tests and documents may quote what a template in product code produces.
        others.sort(key=lambda part: (-part.pairs, -part.hit.score, part.hit.file_id, part.hit.line_start))
        parts += others[: COMPARED - len(parts)]
    found = []
    for part in parts:
        if is_expired():
            return []
        alignments = align(wanted, read_source(part.text), LEAST_SHARE * HALF_SHOWN)
        found += [(part.hit, alignment.moved(part.lines_before)) for alignment in alignments]
    found.sort(key=lambda item: (-item[1].score, item[0].file_id, item[0].line_start))
    return _ranked(snapshot, message, wanted, _joined(snapshot, wanted, found))


def _in_order(snapshot: Snapshot, hits: Sequence[ChunkHit]) -> Sequence[int]:
    """Returns the numbers of the chunks to read, best first; among equals, product code comes first."""
    if len(hits) <= READ:
        return range(len(hits))
    scores = [round(hit.score, 3) for hit in hits]
    n_sought = bisect_right(scores, -scores[READ - 1], key=neg)
    ranks = snapshot.facts.role_ranks({hit.file_id for hit in hits[:n_sought]})
    order = sorted(range(n_sought), key=lambda number: (-scores[number], ranks[hits[number].file_id]))
    return order[:READ]


class _Part(Struct, frozen=True):
    """The lines of a chunk that are worth comparing."""

    hit: ChunkHit
    lines_before: int
    """Lines of the chunk before them."""
    text: str
    pairs: int
    """How many different pairs of adjacent words of the message they have."""
    is_exact: bool
    """Whether they have all words of the message in a row."""


def _part_finder(sought: SoughtMessage) -> Callable[[ChunkHit, str, bool], _Part | None]:
    """Returns a function that finds the lines of a chunk around words that are adjacent in the message too, or separated by a
    placeholder. It returns None for a chunk without such words, for one that has not the whole message, if no template can make
    that, and with `only_sure` also for one without two such pairs in a row, or with few of the words.

    It takes a few microseconds per chunk; the comparison takes 300.
    """
    message, worth, unit, only_sure = sought.message, sought.worth, sought.wanted.unit, sought.only_sure
    tokens: list[str] = []
    for piece in message.pieces:
        if piece.before or not tokens or tokens[-1] != piece.token:
            tokens.append(piece.token if piece.is_core and piece.token in worth else "")
    pairs = [(one, other) for one, other in dict.fromkeys(pairwise(tokens)) if one and other]
    telling = () if only_sure else [pair for pair in pairs if worth[pair[0]] + worth[pair[1]] >= TELLING_WORTH * unit]
    # The escape of a line break adds its letter to the next word.
    patterns = [rf"{one}[\W_]+n?{other}" for one, other in telling or pairs]
    for number, token in enumerate(tokens):
        later = "|".join(dict.fromkeys(filter(None, tokens[number + 2 : number + 2 + VALUE_WORDS])))
        if token and later:
            patterns.append(rf"{token}[\W_]{{0,4}}{PLACEHOLDER_BRIEFLY}[\W_]*(?:{later})")
    if not patterns:
        return lambda hit, text, has_all: _Part(hit, 0, text, 0, is_exact=False)
    words = index_tokens(message.core)
    places: dict[bytes, tuple[int, int]] = {}
    for number, token in enumerate(tokens):
        places[token.encode()] = (places.get(token.encode(), (number,))[0], number)
    texts = {piece.text for piece in message.pieces}
    # Others may be written in several ways.
    all_words = [text.encode() for text in texts] if only_sure and all(map(str.isascii, texts)) else ()

    # Compiling takes as long as reading a dozen texts, and most short questions need neither.
    @cache
    def some_of_it() -> "re2._Regexp":
        return _compiled("|".join(patterns))

    @cache
    def all_of_it() -> "re2._Regexp":
        return _compiled(r"[\W_]+".join(words))

    def find(hit: ChunkHit, text: str, has_all: bool) -> _Part | None:
        data = text.encode()
        is_exact = has_all and bool(words) and all_of_it().search(data) is not None
        if not is_exact and not sought.may_be_template:
            return None
        spans = [found.span() for found in some_of_it().finditer(data)]
        if not spans:
            return None
        pairs = [data[first:last].lower() for first, last in spans]
        if only_sure and not is_exact:
            spans = _rows(spans, pairs, places)
            if not spans:
                return None
        first, last = spans[0][0], spans[-1][1]
        for _ in range(LINES_AROUND):
            first = data.rfind(b"\n", 0, max(0, first))
            last = data.find(b"\n", last + 1) if last >= 0 else last
        first = max(0, first + 1)
        part = data[first : last if last >= 0 else len(data)]
        if only_sure and not is_exact and _has_few(all_words, part):
            return None
        return _Part(hit, data.count(b"\n", 0, first), part.decode(), len(set(pairs)), is_exact)

    return find


def _rows(
    spans: Sequence[tuple[int, int]], pairs: Sequence[bytes], places: Mapping[bytes, tuple[int, int]]
) -> list[tuple[int, int]]:
    """Returns the spans of two pairs of adjacent words, in the order of the message, that are next to each other or have a value
    between them. `places` are the first and the last place of each word in the message."""
    order = [places.get(pair[: len(pair) - len(pair.lstrip(_ALPHANUMERIC))], _ANYWHERE) for pair in pairs]
    return [
        (first[0], second[1])
        for (first, second), (one, other) in zip(pairwise(spans), pairwise(order), strict=True)
        if second[0] - first[1] <= MAX_BETWEEN and one[0] < other[1]
    ]


def _has_few(words: Sequence[bytes], part: bytes) -> bool:
    """Whether lines have fewer than SURE_WORDS of some words, which are in lower case; False for no words."""
    lower = part.lower()
    return bool(words) and sum([word in lower for word in words]) < SURE_WORDS


def _compiled(pattern: str) -> "re2._Regexp":
    """Compiles a pattern that ignores case."""
    options = re2.Options()
    # A message of many words can need more memory than RE2 may take: it then matches more slowly.
    options.log_errors = False
    options.case_sensitive = False
    options.never_capture = True
    if pattern.isascii():
        # Byte by byte it finds the same in UTF-8, and is compiled in two thirds of the time.
        options.encoding = re2.Options.Encoding.LATIN1
    return re2.compile(pattern.encode(), options=options)


def _is_product_code(snapshot: Snapshot, file_id: int) -> bool:
    path = snapshot.facts.indexed_files([file_id])[file_id].path
    return role_of(path).rank == 0 and not is_history(path)


def _token_worth(snapshot: Snapshot, message: Message, total: int) -> dict[str, float]:
    """Returns the inverse document frequency of each token of the message that is in the index."""
    worth = {}
    for token in dict.fromkeys(piece.token for piece in message.pieces):
        frequency = snapshot.text.document_frequency("body", token)
        if frequency:
            worth[token] = inverse_frequency(frequency, total)
    return worth


def _wanted(message: Message, worth: dict[str, float], total: int) -> PreparedMessage:
    """Divides the worth of each token among its words. A token that is not in the index must be a value, and is not required."""
    unit = inverse_frequency(1, total)
    places: dict[str, list[int]] = {}
    worths = []
    core = 0.0
    for number, piece in enumerate(message.pieces):
        places.setdefault(piece.text, []).append(number)
        known = worth.get(piece.token)
        worths.append(UNKNOWN_WORTH * unit if known is None else known / piece.parts)
        if piece.is_core and known is not None:
            core += worths[-1]
    return PreparedMessage(places, worths, core, unit, message.pieces, message.core)


def _sought(snapshot: Snapshot, message: Message, worth: dict[str, float], total: int) -> dict[str, float]:
    """Returns the worth of the tokens by which candidates are found: those of the message, and parts of tokens in no chunk."""
    sought: dict[str, float] = {}
    for piece in message.pieces:
        if piece.token in worth:
            value = worth[piece.token] * (1.0 if piece.is_core else SURROUNDING_WORTH)
            sought[piece.token] = max(sought.get(piece.token, 0.0), value)
            continue
        for token in sub_tokens(piece.token):
            if token not in sought and (frequency := snapshot.text.document_frequency("body", token)):
                sought[token] = SURROUNDING_WORTH * inverse_frequency(frequency, total)
    return sought


def _joined(
    snapshot: Snapshot, wanted: PreparedMessage, found: Sequence[tuple[ChunkHit, Alignment]]
) -> list[tuple[ChunkHit, Alignment]]:
    """Returns the same list, with those compared again that may continue in a neighbouring chunk."""
    result = []
    for number, (hit, alignment) in enumerate(found):
        last = hit.line_end - hit.line_start
        is_at_edge = alignment.line_start < EDGE_LINES or alignment.line_end > last - EDGE_LINES
        if number < MAX_JOINED and is_at_edge and alignment.exact == 0.0 and alignment.share < 1.0:
            first = max(1, hit.line_start - NEIGHBOUR_LINES)
            chunks = snapshot.text.file_chunks(hit.file_id, first, hit.line_end + NEIGHBOUR_LINES)
            joined = align(wanted, read_source("".join(chunk.text for chunk in chunks)), alignment.share)
            if joined and joined[0].score > alignment.score:
                place = ChunkHit(hit.file_id, chunks[0].line_start, chunks[-1].line_end, hit.score)
                result.append((place, joined[0]))
                continue
        result.append((hit, alignment))
    return result


def _ranked(
    snapshot: Snapshot, message: Message, wanted: PreparedMessage, found: Sequence[tuple[ChunkHit, Alignment]]
) -> list[FoundMessage]:
    files = snapshot.facts.indexed_files(sorted({hit.file_id for hit, _ in found}))
    says = any(piece.token not in STOP_WORDS for piece in message.pieces)
    ranked = []
    for hit, alignment in found:
        path = files[hit.file_id].path
        ranked.append(
            FoundMessage(
                file_id=hit.file_id,
                chunk_start=hit.line_start,
                line_start=hit.line_start + alignment.line_start,
                line_end=hit.line_start + alignment.line_end,
                focus=hit.line_start + alignment.focus,
                share=alignment.share,
                score=alignment.score - ROLE_WEIGHT * role_of(path).rank,
                is_sure=says and is_sure(alignment, wanted.unit) and _is_origin(path, message, alignment),
                is_exact=alignment.exact > 0.0,
            )
        )
    ranked.sort(key=lambda item: (-item.score, files[item.file_id].path, item.line_start))
    return ranked


def _is_origin(path: str, message: Message, alignment: Alignment) -> bool:
    """Whether a file can be the origin of a message: not a change log, which only quotes; not prose unless it has the message
    literally; not a test or document if the message is only a few key words."""
    role = role_of(path)
    if is_history(path) or (role.is_prose and alignment.exact == 0.0):
        return False
    return role.rank == 0 or _is_sentence(message)


def _is_sentence(message: Message) -> bool:
    """Whether a message is more than key words: it has stop words, punctuation, digits or capitals."""
    return not message.core.replace(" ", "").islower() or any(
        not word.isalpha() or word in STOP_WORDS for word in message.core.split()
    )


def is_sure(alignment: Alignment, unit: float) -> bool:
    """Whether an alignment is certainly not a coincidence: the whole message, or nearly all of a template."""
    if alignment.words < MIN_WORDS:
        return False
    return alignment.exact > 0.0 or (
        alignment.fit >= SURE_FIT
        and alignment.share >= SURE_SHARE
        and alignment.words >= SURE_WORDS
        and alignment.worth >= SURE_WORTH * unit
    )


def message_places(
    snapshot: Snapshot, found: Sequence[FoundMessage], kinds: frozenset[SymbolKind] | None, above: float
) -> list[RankedPlace]:
    """Returns the places that are certainly the origin of a message, with scores over `above`: the definition around the line
    if it is short, else the lines around it."""
    sure = [item for item in found if item.is_sure]
    shown: list[RankedPlace] = []
    files = snapshot.facts.indexed_files(sorted({item.file_id for item in sure}))
    for item in sure:
        if len(shown) == MAX_SHOWN or item.score < sure[0].score - SAME_SCORE:
            break
        file = files[item.file_id]
        around = snapshot.facts.symbols_around(item.file_id, item.line_start, item.line_end)
        symbol = narrowest(around, item.focus, (1.0,), kinds)
        if symbol is None and kinds is not None:
            continue
        first, last = max(1, item.focus - LINES_BEFORE), min(max(file.line_count, item.focus), item.focus + LINES_AFTER)
        place = RankedPlace(
            file=file,
            type="snippet",
            line_start=first,
            line_end=last,
            score=above + 1.0 / (1 + len(shown)),
            signals=Signals(exact=round(item.share, 4)),
            enclosing=enclosing_symbol(around, item.focus, item.focus),
            focus=item.focus,
        )
        shown.append(place if symbol is None else as_symbol(place, symbol, item.focus))
    return shown
