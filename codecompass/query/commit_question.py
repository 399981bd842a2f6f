"""What a question about the history of a repository asks: `type:commit` searches the messages of commits, `type:diff` the lines
that they added and removed. Read from the query, in the language of `query_language.py`.

Without a pattern or a phrase, each word has to occur, in any case, in the message, or in the changed lines of one file.
"""

import datetime as dt
import re
from collections.abc import Callable, Sequence
from typing import Final

from msgspec import Struct

from codecompass import lazy
from codecompass.errors import InvalidInput
from codecompass.protocol.requests import SearchCode
from codecompass.query.query_language import History, ParsedQuery, parse_query, pattern_of
from codecompass.query.words.line_matchers import LineMatch, Matcher, any_case_matcher, literal_matcher, regex_matcher

MAX_WORDS: Final = 20
"""Words of a query that are looked for."""

_WORD: Final = lazy.pattern(r'"([^"]+)"|([^\s"]+)')
_DATE: Final = lazy.pattern(r"(\d{4})(?:-(\d{1,2})(?:-(\d{1,2}))?)?")
_AGO: Final = lazy.pattern(r"(\d{1,5})[\s._-]*(minute|hour|day|week|month|year)s?(?:[\s._-]*ago)?", re.IGNORECASE)
_SECONDS: Final = {"minute": 60, "hour": 3_600, "day": 86_400, "week": 604_800, "month": 2_629_800, "year": 31_557_600}
"""Seconds of each unit; of a month and a year on average."""

_DAYS: Final = {"today": 0, "yesterday": 1}
_LAST_DAY: Final = dt.datetime(9999, 12, 31, tzinfo=dt.UTC)

_UNUSED: Final = {"lang": "lang:", "kind": "kind:", "sym": "sym:"}

Sought = Callable[[str], Sequence[LineMatch] | None]
"""Returns the lines of a text that have something of what is sought, those with most of it first; None if the text lacks some of
it. Empty if nothing in particular is sought."""


class CommitQuestion(Struct, frozen=True, kw_only=True):
    """A question about commits. Times are in seconds since 1970, both inclusive; None for no bound."""

    history: History
    sought: Sought
    author: str = ""
    """A part of the author's name or address, in any case."""
    since: int | None = None
    until: int | None = None
    path: str | None = None
    """Globs, as in a request: only commits that changed such files, and only their lines."""
    warnings: tuple[str, ...] = ()


def asks_for_commits(request: SearchCode) -> bool:
    """Whether a request is about commits."""
    return request.mode == "auto" and "type:" in request.query and parse_query(request.query).history is not None


def commit_question(request: SearchCode, now: float) -> CommitQuestion:
    """Returns the question of a request that `asks_for_commits`; `now` is in seconds since 1970.

    Raises InvalidInput for a time that cannot be read, a pattern that RE2 rejects, and arguments that mean nothing here.
    """
    parsed = parse_query(request.query)
    assert parsed.history is not None
    if parsed.projects:
        raise InvalidInput(
            "repo: is read on the page and the command line. Name the project in workspace instead.", field="query"
        )
    for name in ("changed_since", "why_not"):
        if getattr(request, name) is not None:
            raise InvalidInput(f"{name} is about code, and the query asks for commits. Leave one of them out.", field=name)
    unused = [_UNUSED[each.name] for each in parsed.filters if each.name in _UNUSED]
    unused += [name for name in ("language", "kind") if getattr(request, name) is not None]
    warnings = (f"not used in a search of commits: {', '.join(dict.fromkeys(unused))}; file: and path are",) if unused else ()
    until, before = parsed.value_of("until"), parsed.value_of("before")
    ends = [*([_moment("until", until, now)[1]] if until else ()), *([_moment("before", before, now)[0] - 1] if before else ())]
    since = parsed.value_of("since")
    return CommitQuestion(
        history=parsed.history,
        sought=_sought(parsed),
        author=parsed.value_of("author"),
        since=_moment("since", since, now)[0] if since else None,
        until=min(ends, default=None),
        path=parsed.path or request.path,
        warnings=warnings,
    )


def _sought(parsed: ParsedQuery) -> Sought:
    pattern = pattern_of(parsed.words)
    if pattern:
        return _all_of([regex_matcher(pattern if parsed.is_case_sensitive else f"(?i){pattern}")])
    words = [quoted or plain for quoted, plain in _WORD.findall(parsed.words) if (quoted or plain).strip()]
    of_word = literal_matcher if parsed.is_case_sensitive else any_case_matcher
    return _all_of([of_word(word) for word in dict.fromkeys(words[:MAX_WORDS])])


def _all_of(matchers: Sequence[Matcher]) -> Sought:
    def sought(text: str) -> Sequence[LineMatch] | None:
        found: dict[int, list[LineMatch]] = {}
        for matcher in matchers:
            matches = matcher(text)
            if not matches:
                return None
            for match in matches:
                found.setdefault(match[0], []).append(match)
        lines = sorted(found.items(), key=lambda item: (-len(item[1]), item[0]))
        return [min(matches, key=lambda match: match[1]) for _, matches in lines]

    return sought


def _moment(name: str, written: str, now: float) -> tuple[int, int]:
    """Returns the first and the last second of what is written: of a day, a month or a year in UTC, or of a moment."""
    text = written.strip()
    ago = _AGO.fullmatch(text)
    if ago is not None:
        moment = max(0, int(now) - int(ago[1]) * _SECONDS[ago[2].lower()])
        return moment, moment
    try:
        if text.lower() in _DAYS:
            day = dt.datetime.fromtimestamp(now, dt.UTC).replace(hour=0, minute=0, second=0, microsecond=0)
            first = day - dt.timedelta(days=_DAYS[text.lower()])
            return int(first.timestamp()), int(first.timestamp()) + _SECONDS["day"] - 1
        date = _DATE.fullmatch(text)
        if date is not None:
            return _calendar(int(date[1]), *(None if each is None else int(each) for each in (date[2], date[3])))
        at = dt.datetime.fromisoformat(text)
        moment = int((at if at.tzinfo is not None else at.replace(tzinfo=dt.UTC)).timestamp())
    except (ValueError, OverflowError) as error:
        raise InvalidInput(
            f"{name}: is no time that can be read. Write a day, a month or a year (2024-05-01, 2024-05, 2024), a time "
            "(2024-05-01T12:00Z), or how long ago (3days, 2weeks, yesterday).",
            field="query",
            value=text[:100],
        ) from error
    return max(0, moment), max(0, moment)


def _calendar(year: int, month: int | None, day: int | None) -> tuple[int, int]:
    first = dt.datetime(year, 1 if month is None else month, 1 if day is None else day, tzinfo=dt.UTC)
    if day:
        after = min(first, _LAST_DAY - dt.timedelta(days=1)) + dt.timedelta(days=1)
    elif month and month < 12:
        after = first.replace(month=month + 1)
    else:
        after = first.replace(year=min(year + 1, _LAST_DAY.year), month=1)
    return max(0, int(first.timestamp())), max(0, int(after.timestamp()) - 1)
