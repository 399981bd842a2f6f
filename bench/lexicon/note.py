"""Writes the note beside the lexicon: how and from what it was made, under which licences, and how much it helps."""

from collections.abc import Mapping, Sequence
from typing import Final

from msgspec import Struct

from bench.lexicon.evaluation import Comparison, Expansion, Figures
from bench.lexicon.pairs import MAX_CHANGES, MAX_DEFINITIONS
from bench.lexicon.records import Repository
from bench.lexicon.translation import MIN_REPOSITORIES
from bench.table import markdown_table

_NO_EXPANSION: Final = "the words as they stand"


class Trial(Struct, frozen=True):
    """The figures of one way of using the relations; without an expansion, of the unexpanded sentences."""

    expansion: Expansion | None
    comparisons: tuple[Comparison, ...]


class Sizes(Struct, frozen=True, kw_only=True):
    """What the lexicon was trained on, and what it contains."""

    n_pairs: int
    n_words: int
    n_relations: int
    n_bytes: int


def note(
    repositories: Sequence[Repository],
    held_out: Sequence[str],
    trials: Sequence[Trial],
    sizes: Sizes,
    examples: Mapping[str, Sequence[str]],
    git_version: str,
) -> str:
    """Returns the note as Markdown. The same arguments give the same text."""
    licences = sorted({each.licence for each in repositories})
    parts = [
        "# The lexicon: which words of code go with which words of people",
        f"`lexicon.bin` holds {sizes.n_words:,} words and {sizes.n_relations:,} relations between them in {sizes.n_bytes:,} "
        "bytes: for each word up to 16 others, each with a number between 0 and 1. It holds single words and numbers, no "
        f"sentence and no line of source. A word or a relation is in it only if at least {MIN_REPOSITORIES} of the repositories "
        "below have it.",
        "## How it was made",
        "`python -m bench.lexicon --repositories DIR --work DIR` clones the repositories of `bench/lexicon/repositories.jsonl` "
        "at the commits given there, and writes `lexicon.bin` and this note: the same bytes each time. Only git's pattern for "
        f"the function that a change is in is not ours (git {git_version}).\n\n"
        "* The comment of a definition is paired with the words of its name, and with those of the identifiers in its lines. "
        "The subject of a commit (3 to 14 words, at most five source files and 120 changed lines) is paired with the names of "
        "the functions that it changed, and with the identifiers in the changed lines. Tests, examples, vendored and "
        "generated files are left out, and so are releases, merges and the like.\n"
        "* Words are reduced to the stems that queries are compared by (`query_words.stem`); stop words and the "
        "keywords of declarations are left out.\n"
        f"* A repository gives at most {MAX_DEFINITIONS:,} definitions and {MAX_CHANGES:,} commits, and counts little more than "
        "a small one.\n"
        "* IBM's translation model 1 learns by expectation maximization how likely code says a word where people say another "
        f"({sizes.n_pairs:,} pairs). A relation must be twice as probable as its word is anywhere.\n"
        "* The strength of a relation is the square root of a product: how often code says the other word, as a share of how "
        "often it says the word itself, and how much more often than anywhere (on a logarithmic scale, up to 16 times).",
        "## How much it helps",
        f"Trained without {len(held_out)} of the repositories and asked about these, each with all of its functions: subjects of "
        "commits (right: what they changed) and comments (right: their function, the comment hidden). Words in a function count "
        "by their rarity, a missing word by its best related one times the weight. *Few* are the sentences that share at most "
        "one word with the right functions.",
        _figures_table(trials),
        f"Held out: {', '.join(held_out)}.",
        "## Some of it",
        markdown_table(("word", "related words"), [(f"`{word}`", " ".join(related)) for word, related in examples.items()]),
        "## Repositories",
        f"{len(repositories)} public repositories, all under permissive licences ({', '.join(licences)}).",
        markdown_table(
            ("repository", "commit", "licence"), [(each.url, f"`{each.commit}`", each.licence) for each in repositories]
        ),
    ]
    return "\n\n".join(parts) + "\n"


def _figures_table(trials: Sequence[Trial]) -> str:
    header = ("used", "sentences", "all: MRR", "first", "in ten", "few: MRR", "first", "in ten")
    rows = []
    for trial in trials:
        used = trial.expansion
        label = _NO_EXPANSION if used is None else f"up to {used.n_words} words, strength x {used.weight}"
        for each in trial.comparisons:
            kind = f"{each.kind} ({each.all.n:,}, few {each.few_shared.n:,})"
            rows.append((label, kind, *_cells(each.all), *_cells(each.few_shared)))
    return markdown_table(header, rows, "<<>>>>>>")


def _cells(figures: Figures) -> tuple[str, str, str]:
    return f"{figures.reciprocal_rank:.4f}", f"{figures.first:.3f}", f"{figures.in_ten:.3f}"
