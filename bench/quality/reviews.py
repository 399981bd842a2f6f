"""From a review comment to what it speaks of: `python -m bench.quality.reviews NAME=CLONE ..`.

Made from git. A commit whose subject asks for something else in place of what is written ("use X instead of Y", "replace A with
B", "simplify", "avoid", "address review") is what a reviewer asked for: its message is the comment, on the first hunk that it
changes in a file of product code. The truth are the other files that define what the new lines of that hunk use for the first
time: each identifier that is not in the old lines and that is defined at the top level of one or two files of the tree before
(by git grep for the keywords of definitions, not by our index). Rows without such a file are left out.

The comment is asked in the tree before, in three forms: below `path:line`, with its hunk quoted, and with nothing but the text.
Figures: recall among the first ten different files of the true ones, and of the other files that the commit changed (tests,
callers), means over the repositories of the means of their rows; and how often the first file is the commented one, which the
reader of a comment has before them.
"""

import argparse
import re
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import mean
from typing import Final

from msgspec import Struct

from bench.corpus import OUT
from bench.quality.ask_at_commits import AnswerAtCommit, AskedCommit
from bench.quality.changes import git
from bench.quality.data import write_lines
from bench.quality.issues import answers_at
from bench.table import plain_table
from codecompass.scan.path_roles import role_of

FILES: Final = 10
MOST_COMMITS: Final = 3_000
MOST_FILES: Final = 6
MOST_LINES: Final = 40
"""Commits that are looked at; files of one, and lines of its hunk: a larger one is no answer to a comment."""

MOST_DEFINING: Final = 2
"""Files that define a name, from which on it says nothing."""

FORMS: Final = ("below its place", "with its hunk", "text alone")

_ASKS: Final = re.compile(
    r"\b(?:instead|rather than|in place of|in favou?r of|re-?use[ds]?|replaced? .* (?:with|by)|use the|simplif\w+|avoid\w*"
    r"|prefer|(?:code )?review|as suggested|nit|feedback|suggestions?)\b",
    re.IGNORECASE,
)
_HUNK: Final = re.compile(r"@@ -(\d+)(?:,(\d+))? \+\d+(?:,\d+)? @@.*")
_IDENTIFIER: Final = re.compile(r"[^\W\d]\w{3,}")
_TRAILER: Final = re.compile(
    r"^[\w-]+-by:.*|^\(?(?:closes|fixes|refs?)\b.*|\(#\d+\)|^\(cherry picked.*", re.IGNORECASE | re.MULTILINE
)
_DEFINES: Final = (
    r"^(export |default |declare |abstract |async |pub(\([a-z]+\))? |unsafe )*"
    r"(def|class|func|fn|function|struct|trait|interface|type|enum|const|macro_rules!)[[:space:]]+"
)


class Review(Struct, frozen=True, kw_only=True):
    """A comment, the place and the hunk that it is on, in the tree of `commit`; the files that it should lead to, and the others
    that the commit changed."""

    id: str
    commit: str
    path: str
    line: int
    text: str
    hunk: tuple[str, ...]
    truth: tuple[str, ...]
    changed: tuple[str, ...] = ()

    def asked(self, form: str) -> str:
        """Returns the comment as somebody pastes it."""
        if form == "below its place":
            return f"{self.path}:{self.line}\n\n{self.text}"
        if form == "with its hunk":
            return "\n".join((self.path, "```diff", *self.hunk, "```", "", self.text))
        return self.text


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command line."""
    layout = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(prog="bench.quality.reviews", description=__doc__, formatter_class=layout)
    parser.add_argument("repositories", nargs="+", help="NAME=CLONE")
    parser.add_argument("--comments", type=int, default=15, help="of each repository, the newest that qualify")
    parser.add_argument("--out", type=Path, default=OUT / "quality" / "reviews", help="indexes and run files")
    options = parser.parse_args(arguments)
    reviews: dict[str, list[Review]] = {}
    answers: dict[tuple[str, str], AnswerAtCommit] = {}
    for named in options.repositories:
        name, _, clone = named.partition("=")
        found = list(reviews_of(Path(clone), options.comments))
        asked = [AskedCommit(f"{each.id} {form}", each.commit, each.asked(form)) for each in found for form in FORMS]
        own = answers_at(Path(clone), asked, options.out / "index") if asked else []
        write_lines(options.out / f"{name}.jsonl", own)
        reviews[name] = found
        answers |= {(name, answer.id): answer for answer in own}
        print(f"{name}: {len(found)} comments", file=sys.stderr, flush=True)
    print(table(reviews, answers))
    return 0


def reviews_of(clone: Path, wanted: int) -> Iterator[Review]:
    """Yields the newest comments of a repository, at most so many."""
    form = ("--no-merges", "--min-parents=1", "-z", "--format=%H %P%n%B")
    for record in git(clone, "log", f"--max-count={MOST_COMMITS}", *form, "HEAD").split("\0"):
        head, _, message = record.partition("\n")
        commit, _, parent = head.partition(" ")
        subject = message.split("\n", 1)[0]
        if not parent or _ASKS.search(subject) is None or "revert" in subject.lower():
            continue
        found = _review(clone, commit, parent, _TRAILER.sub("", message).strip())
        if found is not None:
            yield found
            wanted -= 1
            if wanted == 0:
                return


def _review(clone: Path, commit: str, parent: str, text: str) -> Review | None:
    changed = git(clone, "diff", "--no-renames", "--diff-filter=M", "--name-only", "-z", parent, commit).split("\0")[:-1]
    if len(text) < 2 * len("use") or len(changed) > MOST_FILES:
        return None
    for path in changed:
        if role_of(path).rank:
            continue
        lines = git(clone, "diff", "--unified=3", "--no-renames", parent, commit, "--", path).split("\n")
        starts = [number for number, line in enumerate(lines) if _HUNK.match(line)]
        for start, end in zip(starts, [*starts[1:], len(lines)], strict=True):
            hunk = lines[start + 1 : end]
            truth = _defined_elsewhere(clone, parent, path, hunk) if len(hunk) <= MOST_LINES else ()
            at = _HUNK.match(lines[start])
            if truth and at is not None:
                old = [line for line in hunk if line[:1] in ("-", " ")]
                first = next((number for number, line in enumerate(old) if line[:1] == "-"), 0)
                head = f"@@ -{at[1]},0 +{at[1]},{len(old)} @@"
                quoted = (head, *("+" + line[1:] for line in old))
                others = tuple(each for each in changed if each != path)
                place = int(at[1]) + first
                return Review(
                    id=commit, commit=parent, path=path, line=place, text=text, hunk=quoted, truth=truth, changed=others
                )
    return None


def _defined_elsewhere(clone: Path, commit: str, path: str, hunk: Sequence[str]) -> tuple[str, ...]:
    """Returns the files that define what the new lines use and the old ones do not, sorted."""
    before = {name for line in hunk if line[:1] in ("-", " ") for name in _IDENTIFIER.findall(line)}
    used = {name for line in hunk if line[:1] == "+" for name in _IDENTIFIER.findall(line)} - before
    if not used:
        return ()
    command = ["git", "-C", str(clone), "grep", "-zE", rf"{_DEFINES}({'|'.join(sorted(used))})\b", commit, "--"]
    done = subprocess.run(command, check=False, capture_output=True)
    defining: dict[str, set[str]] = defaultdict(set)
    for record in done.stdout.decode("utf-8", "replace").splitlines():
        place, _, line = record.partition("\0")
        file = place.partition(":")[2]
        if role_of(file).rank == 0:
            for name in used.intersection(_IDENTIFIER.findall(line.partition("(")[0])):
                defining[name].add(file)
    found = set().union(*(files for files in defining.values() if len(files) <= MOST_DEFINING))
    return tuple(sorted(found)) if path not in found else ()


def table(reviews: Mapping[str, Sequence[Review]], answers: Mapping[tuple[str, str], AnswerAtCommit]) -> str:
    """Returns the recall at ten of each form, and how often the commented file comes first."""
    rows = []
    for form in FORMS:
        recalls: dict[str, list[float]] = defaultdict(list)
        changed: dict[str, list[float]] = defaultdict(list)
        first: list[bool] = []
        for name, found in reviews.items():
            for review in found:
                paths = list(dict.fromkeys(hit.path for hit in answers[name, f"{review.id} {form}"].results))[:FILES]
                recalls[name].append(len(set(review.truth).intersection(paths)) / len(review.truth))
                if review.changed:
                    changed[name].append(len(set(review.changed).intersection(paths)) / len(review.changed))
                first.append(paths[:1] == [review.path])
        figures = (mean(map(mean, each.values())) if each else 0.0 for each in (recalls, changed))
        rows.append((form, *(f"{figure:.3f}" for figure in (*figures, mean(first) if first else 0.0)), str(len(first))))
    header = ("comment", "recall at 10", "of what changed too", "the file itself first", "n")
    return plain_table(header, rows, "<>>>>")


if __name__ == "__main__":
    sys.exit(main())
