"""Tables of a quality run: by category, language and repository, compared with published figures and with an earlier run."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, Generic, TypeVar

from msgspec import Struct

from bench.figures import percentile
from bench.quality.data import Answer, Question, Truth, by_question
from bench.quality.scores import (
    LookupScore,
    SearchScore,
    macro,
    mean,
    median_range_ratio,
    score_lookup,
    score_search,
    within_a_line,
)
from bench.table import plain_table

Score = TypeVar("Score", SearchScore, LookupScore)

SEARCH_FIELDS: Final = ("ndcg", "ndcg_files", "success_1", "success_5", "mrr", "recall")
LOOKUP_FIELDS: Final = ("success_1", "success_5", "mrr", "recall")

CHANGES_SHOWN: Final = 12


class Judged(Struct, Generic[Score], frozen=True):
    """A query with the score of its answer."""

    truth: Truth
    score: Score


def judge_searches(truths: Iterable[Truth], answers: Iterable[Answer]) -> list[Judged[SearchScore]]:
    """Returns the score of every truth; 0 for questions without an answer."""
    known = by_question(answers)
    return [Judged(truth, score_search(_hits(truth, known), truth.relevant)) for truth in truths]


def judge_lookups(truths: Iterable[Truth], answers: Iterable[Answer]) -> list[Judged[LookupScore]]:
    """Returns the score of every truth; 0 for questions without an answer."""
    known = by_question(answers)
    return [Judged(truth, score_lookup(_hits(truth, known), truth.relevant)) for truth in truths]


def search_table(judged: Sequence[Judged[SearchScore]]) -> str:
    """Returns NDCG@10 (mean over repositories, and over queries), that of files, success and recall, by group."""
    header = ("", "NDCG macro", "NDCG micro", "by file", "S@1", "S@5", "MRR", "recall@10", "n")
    rows = [
        (
            name,
            f"{search_figure(group):.3f}",
            *(f"{mean(getattr(item.score, field) for item in group):.3f}" for field in SEARCH_FIELDS),
            str(len(group)),
        )
        for name, group in groups(judged)
    ]
    return plain_table(header, rows, "<" + ">" * 8)


def lookup_table(judged: Sequence[Judged[LookupScore]]) -> str:
    """Returns success, recall of all definitions, and how well the lines of the first right hit match the definition's."""
    header = ("", "S@1", "S@5", "MRR", "recall@10", "within 1 line", "range ratio", "n")
    rows = []
    for name, group in groups(judged):
        ratio = median_range_ratio(item.score for item in group)
        rows.append(
            (
                name,
                *(f"{mean(getattr(item.score, field) for item in group):.3f}" for field in LOOKUP_FIELDS),
                f"{within_a_line(item.score for item in group):.3f}",
                "" if ratio is None else f"{ratio:.2f}",
                str(len(group)),
            )
        )
    return plain_table(header, rows, "<" + ">" * 7)


def published_table(judged: Sequence[Judged[SearchScore]], published: Mapping[str, Mapping[str, float]]) -> str:
    """Returns our NDCG@10 among those of the published systems, best first, over the repositories that both have."""
    ours = _by_repository(judged)
    common = [repository for repository in ours if repository in published]
    systems = sorted({system for repository in common for system in published[repository]})
    rows = [("codecompass, this run", mean(ours[repository] for repository in common), len(common))]
    for system in systems:
        figures = [published[repository][system] for repository in common if system in published[repository]]
        rows.append((system, mean(figures), len(figures)))
    rows.sort(key=lambda row: -row[1])
    return plain_table(("system", "NDCG@10", "repositories"), [(name, f"{value:.3f}", str(n)) for name, value, n in rows], "<>>")


def systems_table(systems: Mapping[str, Sequence[Judged[Score]]], value: Callable[[Sequence[Judged[Score]]], float]) -> str:
    """Returns a figure of several systems over the same queries, overall and by category, in the order given."""
    return _figures_table({system: _by_category(judged, value) for system, judged in systems.items()})


def repository_table(judged: Sequence[Judged[SearchScore]], published: Mapping[str, Mapping[str, float]]) -> str:
    """Returns our NDCG@10 of each repository with the best and the middle published one, worst difference first."""
    languages = {item.truth.repo: item.truth.language for item in judged}
    rows = []
    for repository, value in _by_repository(judged).items():
        others = sorted((figure, system) for system, figure in published.get(repository, {}).items())
        best = others[-1] if others else (0.0, "")
        middle = others[len(others) // 2][0] if others else 0.0
        rows.append((value - best[0], repository, value, middle, best))
    table = [
        (repository, languages[repository], f"{value:.3f}", f"{middle:.3f}", f"{best[0]:.3f} {best[1]}", f"{difference:+.3f}")
        for difference, repository, value, middle, best in sorted(rows)
    ]
    return plain_table(("repository", "language", "ours", "middle", "best", "difference"), table, "<<>><>")


def difference_table(
    now: Sequence[Judged[Score]], before: Sequence[Judged[Score]], value: Callable[[Sequence[Judged[Score]]], float]
) -> str:
    """Returns a figure by group in both runs, and the queries whose first right hit moved most."""
    old_groups = dict(groups(before))
    rows = []
    for name, group in groups(now):
        was, is_now = value(old_groups[name]), value(group)
        rows.append((name, f"{was:.3f}", f"{is_now:.3f}", f"{is_now - was:+.3f}", str(len(group))))
    text = plain_table(("", "before", "now", "change", "n"), rows, "<>>>>")
    moved = sorted(
        (_reciprocal(new.score.first) - _reciprocal(old.score.first), new.truth.id, new, old)
        for new, old in zip(now, before, strict=True)
        if new.score.first != old.score.first
    )
    if not moved:
        return text + "\n\nThe first right hit of every query stands where it stood."
    shown = moved if len(moved) <= 2 * CHANGES_SHOWN else moved[:CHANGES_SHOWN] + moved[-CHANGES_SHOWN:]
    changes = [
        (new.truth.repo, new.truth.category, _rank(old.score.first), _rank(new.score.first), new.truth.query[:90])
        for _, _, new, old in shown
    ]
    table = plain_table(("repository", "category", "rank before", "now", "query"), changes, "<<>><")
    return f"{text}\n\n{len(moved)} queries whose first right hit moved, worst first:\n{table}"


def ablation_table(judged: Sequence[Judged[SearchScore]], without: Mapping[str, Sequence[Judged[SearchScore]]]) -> str:
    """Returns how much NDCG@10 changes without each signal, overall and by category; the most useful signal first."""
    whole = _by_category(judged, search_figure)
    changes: list[tuple[list[float], str]] = []
    for signal, answers in without.items():
        left = _by_category(answers, search_figure)
        changes.append(([left[name] - figure for name, figure in whole.items()], signal))
    lines = [("nothing", *(f"{figure:.3f}" for figure in whole.values()))]
    lines += [(signal, *(f"{value:+.3f}" for value in values)) for values, signal in sorted(changes)]
    return plain_table(("without", *whole), lines, "<" + ">" * len(whole))


def misses_table(judged: Sequence[Judged[Score]], count: int) -> str:
    """Returns up to `count` queries without any right hit, then those whose first right hit comes last."""
    worst = sorted(judged, key=lambda item: (_reciprocal(item.score.first), item.truth.id))[:count]
    rows = [
        (item.truth.repo, item.truth.category, _rank(item.score.first), item.truth.query[:80], item.truth.relevant[0].path)
        for item in worst
        if item.score.first != 1
    ]
    return plain_table(("repository", "category", "rank", "query", "a right answer"), rows, "<<><<")


def latency_line(answers: Iterable[Answer]) -> str:
    """Returns the median and the 95th percentile of the time that an answer took."""
    times = [answer.ms for answer in answers if answer.ms is not None]
    return f"answers: p50 {percentile(times, 0.5):.2f} ms, p95 {percentile(times, 0.95):.2f} ms" if times else "no answers"


def groups(judged: Sequence[Judged[Score]]) -> list[tuple[str, list[Judged[Score]]]]:
    """Returns everything, then by category, then by language, each under its name."""
    by_category: dict[str, list[Judged[Score]]] = defaultdict(list)
    by_language: dict[str, list[Judged[Score]]] = defaultdict(list)
    for item in judged:
        by_category[f"  {item.truth.category}"].append(item)
        by_language[f"  {item.truth.language}"].append(item)
    named: list[tuple[str, list[Judged[Score]]]] = [("overall", list(judged))]
    for part in (by_category, by_language):
        named += [(name, part[name]) for name in sorted(part)]
    return named


def search_figure(judged: Sequence[Judged[SearchScore]]) -> float:
    """Returns NDCG@10 as published figures compute it: the mean over repositories."""
    return macro((item.truth.repo, item.score.ndcg) for item in judged)


def lookup_figure(judged: Sequence[Judged[LookupScore]]) -> float:
    """Returns success@1 over all lookups."""
    return mean(item.score.success_1 for item in judged)


def _figures_table(figures: Mapping[str, Mapping[str, float]]) -> str:
    rows = [(system, *(f"{figure:.3f}" for figure in of.values())) for system, of in figures.items()]
    header = ("system", *next(iter(figures.values())))
    return plain_table(header, rows, "<" + ">" * (len(header) - 1))


def _by_category(judged: Sequence[Judged[Score]], value: Callable[[Sequence[Judged[Score]]], float]) -> dict[str, float]:
    """Returns a figure overall and of each category."""
    categories = _categories(judged)
    named = {name.strip(): group for name, group in groups(judged)}
    return {name: value(group) for name, group in named.items() if name == "overall" or name in categories}


def _categories(judged: Sequence[Judged[Score]]) -> frozenset[str]:
    return frozenset(item.truth.category for item in judged)


def _by_repository(judged: Sequence[Judged[SearchScore]]) -> dict[str, float]:
    values: dict[str, list[float]] = defaultdict(list)
    for item in judged:
        values[item.truth.repo].append(item.score.ndcg)
    return {repository: mean(some) for repository, some in values.items()}


def _hits(truth: Truth, answers: Mapping[Question, Answer]) -> tuple:  # type: ignore[type-arg]
    answer = answers.get(Question(truth.repo, truth.query))
    return () if answer is None else answer.results


def _reciprocal(rank: int | None) -> float:
    return 0.0 if rank is None else 1 / rank


def _rank(rank: int | None) -> str:
    return "-" if rank is None else str(rank)
