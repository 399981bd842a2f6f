"""The uses of definitions as text: counts, then each definition with its uses, then the lines with the name that are not bound.

    3 uses of 2 definitions, 1 in tests, 2 of the name elsewhere
    = src/store.py:2-3 def Store.save(self, item): 2 uses
    src/main.py
    in run
    6:    store.save(1)
    ...
    elsewhere? unknown receiver:
    src/old.py:9 in main:anything.save()

One definition is shown only if it has several places or no uses. A file with one use takes one line. The line number of a likely
use has the prefix `~`, that of a possible one `?`.
"""

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Final

from msgspec import UNSET

from codecompass.formatting import count
from codecompass.protocol.replies import ElsewhereUse, FindReferencesReply, Reference, ReferenceDefinition
from codecompass.protocol.text.code import CONFIDENCE_MARKS, STALE, Name, described, one_line, short_name, span

MAX_PLACES: Final = 4
"""Other places of a definition that are shown."""

ANY: Final = "any of these:"

_Use = Reference | ElsewhereUse


def reference_lines(reply: FindReferencesReply) -> Iterator[str]:
    """Yields the counts of uses, then the uses grouped by definition, path and enclosing function, then the other lines with the
    name grouped by reason."""
    yield ", ".join(_counts(reply))
    if reply.definitions:
        yield from _by_definition(reply)
    else:
        counts = reply.counts
        if not reply.offset and reply.definition.path and (reply.definition.n_places or not (counts.exact or counts.likely)):
            yield from definition_lines(reply.definition)
        yield from _by_path(reply.references)
    yield from _elsewhere(reply)


def definition_lines(definition: ReferenceDefinition, said: str = "") -> Iterator[str]:
    """Yields the place and signature of a definition, and its other places, those of another signature with it."""
    yield f"= {_place(definition, definition.project)} {_signature(definition, definition.signature)}{said}"
    same = definition.signature.rstrip(" ;{")
    for place in definition.places[:MAX_PLACES]:
        signature = "" if place.signature.rstrip(" ;{") in (same, "") else f" {_signature(definition, place.signature)}"
        yield f"= {one_line(place.path)}:{span(place.line_start, place.line_end)}{signature}"
    n_more = definition.n_places - min(MAX_PLACES, len(definition.places))
    if n_more:
        yield f"= and {count(n_more, 'more place')}"


def _counts(reply: FindReferencesReply) -> Iterator[str]:
    counts = reply.counts
    marks = {reference.confidence for reference in reply.references}
    is_bound = bool(counts.exact or counts.likely or counts.possible)
    is_anywhere = bool(counts.elsewhere or reply.elsewhere)
    of = f" of {len(reply.definitions)} definitions" * bool(reply.definitions)
    if counts.exact or not (is_bound or is_anywhere):
        yield count(counts.exact, "use") + of
        of = ""
    elif not is_bound:
        yield f"no use is bound to {'any' if of else 'it'}{of}"
    if counts.likely:
        yield f"{counts.likely} likely{' (~)' * ('likely' in marks)}{of}"
        of = ""
    if counts.possible:
        yield f"{counts.possible} possible{' (?)' * ('possible' in marks)}{of}"
    if counts.tests:
        yield f"{counts.tests} in tests"
    if counts.elsewhere:
        yield f"{counts.elsewhere} of the name elsewhere"


def _by_definition(reply: FindReferencesReply) -> Iterator[str]:
    """Yields each definition with its uses on this page; those without uses after the others, on the first page."""
    definitions = reply.definitions
    uses: dict[int | None, list[Reference]] = {}
    for use in reply.references:
        uses.setdefault(0 if use.definition is UNSET else use.definition, []).append(use)
    for position, definition in enumerate(definitions):
        own = uses.get(position)
        if own:
            n_uses = len(own) if definition.n_uses is UNSET else definition.n_uses
            yield from definition_lines(definition, f": {count(n_uses, 'use')}")
            yield from _by_path(own)
    if not reply.offset:
        for position, definition in enumerate(definitions):
            if position not in uses:
                yield from definition_lines(definition, "" if definition.n_uses else ": none bound")
    if None in uses:
        yield ANY
        yield from _by_path(uses[None])


def _elsewhere(reply: FindReferencesReply) -> Iterator[str]:
    for reason, uses in groupby(reply.elsewhere, key=lambda use: use.reason):
        yield f"elsewhere? {reason}:"
        yield from _by_path(list(uses))
    n_listed = sum(use.confidence == "possible" for use in reply.references)
    n_more = reply.counts.elsewhere + reply.counts.possible - n_listed - len(reply.elsewhere)
    if reply.elsewhere and n_more > 0 and not reply.offset:
        yield f"{count(n_more, 'more line')} with the name; all: confidence possible"


def _by_path(uses: Sequence[_Use]) -> Iterator[str]:
    for path, group in groupby(uses, key=_path):
        # A line that reads and writes the same is one line here.
        together = list({use.line_start: use for use in reversed(list(group))}.values())[::-1]
        if len(together) == 1 and not together[0].stale and "\n" not in together[0].text:
            yield f"{one_line(path)}:{_line(together[0], is_alone=True)}"
            continue
        yield one_line(path)
        if together[0].stale:
            yield STALE
        around = ""
        for use in together:
            function = _around(use)
            if function != around:
                yield f"in {function}" if function else "outside of definitions"
            around = function
            yield _line(use, is_alone=False)
            further = use.text.split("\n")[1:]
            yield from (f"{number}:{one_line(text)}" for number, text in enumerate(further, use.line_start + 1))


def _path(use: _Use) -> str:
    return f"{use.project}:{use.path}" if use.project else use.path


def _line(use: _Use, *, is_alone: bool) -> str:
    mark = CONFIDENCE_MARKS[use.confidence] if isinstance(use, Reference) else ""
    function = f" in {_around(use)}" if is_alone and use.enclosing is not None else ""
    first = use.text.partition("\n")[0]
    text = f":{one_line(first)}" if first else ""
    return f"{mark}{use.line_start}{function}{text}"


def _around(use: _Use) -> str:
    """Returns the function around a use, with its type (`Session.close`); empty if there is none."""
    around = use.enclosing
    if around is None:
        return ""
    return one_line(short_name(Name(around.kind, around.name, around.qualified_name, "", use.path)))


def _place(definition: ReferenceDefinition, project: str) -> str:
    path = f"{project}:{definition.path}" if project else definition.path
    return f"{one_line(path)}:{span(definition.line_start, definition.line_end)}"


def _signature(definition: ReferenceDefinition, signature: str) -> str:
    return described(Name(definition.kind, definition.name, definition.qualified_name, signature, definition.path))
