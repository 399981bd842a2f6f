"""Whether a message leads to its commit when many repositories are searched at once: `python -m bench.quality.across`.

Searches all repositories for each message of --truth (see `bench.quality.commits`), and merges their hits: by the rule of
`query/merging.py` over all, over those chosen by samples, by score, and from each in turn. A hit counts only in the repository of
its commit. --index is the directory `index` below the --out of `bench.quality.commits`, which makes the indexes.
"""

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from bench.job import layout_for
from bench.quality.commits import LIMIT, Commit, commits_table, judge
from bench.quality.data import Answer, Hit, Range, Repository, read_lines
from bench.quality.harness import find_trees
from codecompass.identity import canonical_root, project_id
from codecompass.protocol.metadata import AnswerState
from codecompass.protocol.replies import Result, SearchCodeReply, SearchEvidence
from codecompass.protocol.requests import SearchCode
from codecompass.query.merging import WorkspacePart, merged_results, most_promising, sample_evidence
from codecompass.query.options import QueryOptions
from codecompass.query.search import search_code
from codecompass.store.epochs import compatibility
from codecompass.store.index import WorkspaceIndex
from codecompass.transport.tools.several_projects import FULL_SEARCHES

FOR_MERGING: Final = QueryOptions(n_merged=FULL_SEARCHES)


class _Asked(Struct, frozen=True):
    """What one repository returns for one message."""

    part: WorkspacePart
    sample: SearchEvidence


Merge = Callable[[Sequence[_Asked]], Sequence[Result]]


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command line."""
    layout = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(prog="bench.quality.across", description=__doc__, formatter_class=layout)
    parser.add_argument("--trees", type=Path, required=True)
    parser.add_argument("--truth", type=Path, required=True)
    parser.add_argument("--index", type=Path, required=True)
    parser.add_argument("--every", type=int, default=1, help="ask every Nth message")
    options = parser.parse_args(arguments)
    inside = options.truth / "dev" / "commits.jsonl"
    commits = read_lines(inside if inside.is_file() else options.truth / "commits.jsonl", Commit)[:: options.every]
    trees, _ = find_trees(read_lines(options.truth / "repos.jsonl", Repository), options.trees)
    asked: list[list[_Asked]] = [[] for _ in commits]
    for tree in trees:
        root = canonical_root(tree.path)
        layout = layout_for(root, options.index)
        if compatibility(layout).status != "compatible":
            print(f"{tree.repository.repo}: no index, left out", file=sys.stderr, flush=True)
            continue
        index = WorkspaceIndex(layout, project_id(root))
        state = AnswerState(workspace=str(root), project_id=project_id(root), ref="")
        with index.snapshot() as snapshot:
            for commit, answers in zip(commits, asked, strict=True):
                reply = search_code(snapshot, SearchCode(query=commit.query, limit=LIMIT), state, FOR_MERGING)
                answers.append(_Asked(WorkspacePart(tree.repository.repo, reply), sample_evidence(snapshot, commit.query)))
        index.close()
        print(tree.repository.repo, file=sys.stderr, flush=True)
    for name, merge in _RULES.items():
        merged = [_answer(commit, merge(answers)) for commit, answers in zip(commits, asked, strict=True)]
        print(f"{name}\n{commits_table(judge(commits, merged))}\n")
    return 0


def _answer(commit: Commit, results: Sequence[Result]) -> Answer:
    """Hits of other repositories keep their ranks, and are never right."""
    return Answer(
        repo=commit.repo,
        query=commit.query,
        results=[
            Hit(
                path=result.path if result.project == commit.repo else f"{result.project}:{result.path}",
                line_start=result.line_start,
                line_end=result.line_end,
                also=[Range(row.line_start, row.line_end) for row in result.also],
            )
            for result in results[:LIMIT]
        ],
    )


def _all(asked: Sequence[_Asked]) -> Sequence[Result]:
    return merged_results([each.part for each in asked], LIMIT).results


def _sampled(asked: Sequence[_Asked]) -> Sequence[Result]:
    chosen = most_promising([each.sample for each in asked], FULL_SEARCHES)
    return _all([asked[number] for number in sorted(chosen)])


def _plain(asked: Sequence[_Asked], value: Callable[[SearchCodeReply, int], float]) -> Sequence[Result]:
    found = [
        (value(reply, number), each.part.label, result)
        for each in asked
        if isinstance(reply := each.part.reply, SearchCodeReply)
        for number, result in enumerate(reply.results)
    ]
    found.sort(key=lambda item: -item[0])
    return [_of(label, result) for _, label, result in found[:LIMIT]]


def _of(label: str, result: Result) -> Result:
    return replace(result, project=label)


_RULES: Final[dict[str, Merge]] = {
    "by the rule, over all": _all,
    "by the rule, over those that samples choose": _sampled,
    "by score": lambda asked: _plain(asked, lambda reply, number: reply.results[number].score or 0.0),
    "from each in turns": lambda asked: _plain(asked, lambda _reply, number: -number),
}


if __name__ == "__main__":
    sys.exit(main())
