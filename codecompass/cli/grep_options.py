"""Options and arguments of `search` that mean what they mean to `rg` and `grep`, and the request of `search_code` that they make.

-e -F -i -S -w     the hits are the lines that match a regular expression, or with -F a literal text
-A -B -C           the same, with the lines around them
-g -t PATH...      which files: globs, languages, and existing paths after what is searched for
"""

import os
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import asyncclick
from msgspec import Struct

from codecompass.cli.tool_options import Decorator
from codecompass.errors import InvalidInput

MAX_CONTEXT: Final = 1_000
"""Lines around a match that can be asked for."""

LINE_MODES: Final = ("literal", "regex")


class GrepOptions(Struct, frozen=True, kw_only=True):
    """The values of the options that `grep_options` adds, without `-i`, which is also that of the interactive search."""

    patterns: tuple[str, ...] = ()
    is_fixed: bool = False
    smart_case: bool = False
    is_word: bool = False
    globs: tuple[str, ...] = ()
    types: tuple[str, ...] = ()
    after: int | None = None
    before: int | None = None
    context: int | None = None

    @property
    def around(self) -> tuple[int, int]:
        """How many lines to show before and after each match."""
        both = self.context or 0
        return (both if self.before is None else self.before, both if self.after is None else self.after)

    @property
    def is_about_lines(self) -> bool:
        """Whether the hits are to be the lines that match, besides `-i`."""
        shows_around = any(each is not None for each in (self.after, self.before, self.context))
        return bool(self.patterns) or self.is_fixed or self.smart_case or self.is_word or shows_around


def grep_options() -> Decorator:
    """Adds the options. The function gets their values as `grep`, a GrepOptions."""

    def add(function: Callable[..., Any]) -> Callable[..., Any]:
        lines = asyncclick.IntRange(0, MAX_CONTEXT)
        options = (
            asyncclick.option(
                "-e", "--regexp", "patterns", metavar="REGEX", multiple=True, help="Lines that match one of these."
            ),
            asyncclick.option("-F", "--fixed-strings", "is_fixed", is_flag=True, help="Lines with exactly this text."),
            asyncclick.option("-S", "--smart-case", is_flag=True, help="Ignore case unless there is a capital letter."),
            asyncclick.option("-w", "--word-regexp", "is_word", is_flag=True, help="Only matches that are whole words."),
            asyncclick.option("-g", "--glob", "globs", metavar="GLOB", multiple=True, help="Only such files; with !, no such."),
            asyncclick.option("-t", "--type", "types", metavar="NAME", multiple=True, help="Only files of this language, as -l."),
            asyncclick.option("-A", "--after-context", "after", metavar="N", type=lines, help="Show lines after each match."),
            asyncclick.option("-B", "--before-context", "before", metavar="N", type=lines, help="Show lines before each match."),
            asyncclick.option("-C", "--context", "context", metavar="N", type=lines, help="Show lines around each match."),
        )
        names = GrepOptions.__struct_fields__

        def gathered(*positional: Any, **values: Any) -> Any:  # noqa: ANN401 - those of the command
            grep = GrepOptions(**{name: values.pop(name) for name in names})
            return function(*positional, grep=grep, **values)

        gathered.__click_params__ = list(getattr(function, "__click_params__", ()))  # type: ignore[attr-defined]
        decorated: Callable[..., Any] = gathered
        for option in reversed(options):
            decorated = option(decorated)
        return decorated

    return add


def split_paths(
    words: Sequence[str], *, all_paths: bool = False, has_words: bool = True
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Returns the words of a query, and the existing paths behind them. Before the last path, one without a slash counts as a
    word, because a question may have it, unless `has_words` is False. With `all_paths` every word is a path.

    Raises InvalidInput for a path that does not exist.
    """
    n_words = len(words)
    if all_paths:
        n_words = 0
    elif n_words > 1 and os.path.exists(os.path.expanduser(words[-1])):
        n_words -= 1
        while n_words > 1 and os.path.exists(os.path.expanduser(words[n_words - 1])):
            if has_words and "/" not in words[n_words - 1]:
                break
            n_words -= 1
    paths = tuple(words[n_words:])
    missing = next((path for path in paths if not os.path.exists(os.path.expanduser(path))), None)
    if missing is not None:
        raise InvalidInput(
            f"there is no file or directory {missing!r} to search in. Correct the path.", field="path", value=missing
        )
    return tuple(words[:n_words]), paths


def within(paths: Sequence[str], filters: Sequence[str | None]) -> str | None:
    """Returns the path filter for files that are in one of `paths`, relative to the current directory, and fit one of `filters`,
    each globs with commas; None for every file."""
    globs = [glob.strip() for text in filters if text for glob in text.split(",") if glob.strip()]
    places = [os.path.realpath(os.path.expanduser(path)) for path in paths]
    if not places:
        return ",".join(globs) or None
    wanted = [glob.lstrip("/") for glob in globs if not glob.startswith("!")]
    unwanted = [glob for glob in globs if glob.startswith("!")]
    inside: list[str] = []
    for place in places:
        if not wanted or not os.path.isdir(place):
            inside.append(place)
        else:
            inside += [f"{place}/**/{glob}" for glob in wanted]
    return ",".join([*inside, *unwanted])


def line_arguments(query: str, grep: GrepOptions, *, ignore_case: bool, mode: str | None) -> dict[str, object]:
    """Returns the query and mode of `search_code` for a query, or for the patterns of `-e` in its place.

    Raises InvalidInput for a mode without lines together with an option about lines.
    """
    if not (grep.is_about_lines or ignore_case):
        return {"query": query, **({} if mode is None else {"mode": mode})}
    if mode is not None and mode not in LINE_MODES:
        raise InvalidInput(
            f"-e, -F, -i, -S, -w, -A, -B and -C list the lines that match, which --mode {mode} does not. Leave out --mode.",
            field="mode",
            value=mode,
        )
    is_literal = grep.is_fixed or mode == "literal"
    patterns = grep.patterns or (query,)
    no_case = ignore_case or (grep.smart_case and not any(map(_has_capital, patterns)))
    if is_literal and len(patterns) == 1 and not no_case and not grep.is_word:
        return {"query": patterns[0], "mode": "literal"}
    made = [re.escape(pattern) if is_literal else pattern for pattern in patterns]
    expression = made[0] if len(made) == 1 else "|".join(f"(?:{pattern})" for pattern in made)
    if grep.is_word:
        expression = rf"\b(?:{expression})\b"
    return {"query": f"(?i){expression}" if no_case else expression, "mode": "regex"}


def _has_capital(pattern: str) -> bool:
    """Whether a pattern has a capital letter that stands for itself: not that of a class like `\\W`."""
    return any(character.isupper() for character in re.sub(r"\\.", "", pattern))


def joined_languages(language: object, types: Sequence[str]) -> dict[str, object]:
    """Returns the argument `language` for the values of `-l` and `-t`; none if neither is given."""
    named = [*([str(language)] if language else []), *types]
    return {"language": ",".join(named)} if named else {}


Around = Mapping[str, Mapping[int, str]]
"""The lines around the matches of each file, by their numbers."""
