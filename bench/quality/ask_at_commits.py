"""Answers questions about commits: `python -m bench.quality.ask_at_commits REPOSITORY --home DIR < questions > answers`.

REPOSITORY is a clone that has the commits; its working tree may be empty. Each commit is indexed from git's objects, as for a
question with `ref`; the indexes stay in --home, so a later run only asks. Questions are JSON lines of `id`, `commit` and
`query`. Runs as a separate process that sees only the questions, never the right answers.
"""

import argparse
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final

import msgspec
import trio
from msgspec import Struct

from codecompass.actors.commit_indexing import CommitJob
from codecompass.actors.commits import named_commit
from codecompass.actors.index_limits import IndexLimits
from codecompass.actors.job_context import JobContext, JobOrder
from codecompass.actors.worker_pool import default_pool_size, open_worker_pool
from codecompass.identity import canonical_root, project_id
from codecompass.protocol.metadata import AnswerState
from codecompass.protocol.replies import SearchCodeReply
from codecompass.protocol.requests import SearchCode
from codecompass.query import search_code
from codecompass.scan.rules import ScanRules
from codecompass.store.index import WorkspaceIndex
from codecompass.store.layout import HomeLayout

LIMIT: Final = 10


class AskedCommit(Struct, frozen=True):
    """A question about a commit."""

    id: str
    commit: str
    query: str


class Named(Struct, frozen=True):
    """A further definition of a hit's file."""

    name: str


class NamedHit(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A hit with the definition that it shows, if it shows one."""

    path: str
    qualified_name: str = ""
    kind: str = ""
    also: tuple[Named, ...] = ()


class AnswerAtCommit(Struct, frozen=True, kw_only=True):
    """A line of a run file: the hits, best first, and the milliseconds of processor time that the answer took."""

    id: str
    results: tuple[NamedHit, ...]
    ms: float = 0.0


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("repository", type=Path)
    parser.add_argument("--home", type=Path, required=True)
    options = parser.parse_args(arguments)
    root, home = canonical_root(options.repository), HomeLayout(options.home)
    decoder = msgspec.json.Decoder(AskedCommit)
    questions = [decoder.decode(line) for line in sys.stdin.buffer]
    indexes = _indexes(root, home, dict.fromkeys(each.commit for each in questions))
    for question in questions:
        answer = _answer(indexes[question.commit], question, root)
        sys.stdout.buffer.write(msgspec.json.encode(answer) + b"\n")
        sys.stdout.buffer.flush()


def _indexes(root: Path, home: HomeLayout, commits: Iterable[str]) -> Mapping[str, WorkspaceIndex]:
    """Returns the index of each commit, built where there is none."""
    layout = home.project(project_id(root))
    indexes = {commit: WorkspaceIndex(layout.commit(commit), project_id(root)) for commit in commits}

    async def build() -> None:
        async with open_worker_pool(default_pool_size()) as pool:
            context = JobContext(root=root, layout=layout, pool=pool, limits=IndexLimits(rules=ScanRules()))
            for commit in indexes:
                if layout.commit(commit).root.is_dir():
                    continue
                named = named_commit(root, commit)
                assert named is not None
                await CommitJob(context, JobOrder(job_id="bench"), named).run()
                print(f"indexed {commit[:12]}", file=sys.stderr, flush=True)

    if any(not layout.commit(commit).root.is_dir() for commit in indexes):
        trio.run(build)
    return indexes


def _answer(index: WorkspaceIndex, question: AskedCommit, root: Path) -> AnswerAtCommit:
    state = AnswerState(workspace=str(root), project_id=project_id(root), ref=question.commit[:12])
    with index.snapshot() as snapshot:
        began = time.process_time()
        reply: SearchCodeReply = search_code(snapshot, SearchCode(query=question.query, limit=LIMIT), state)
        spent = time.process_time() - began
    return AnswerAtCommit(
        id=question.id,
        results=tuple(
            NamedHit(
                path=result.path,
                qualified_name=result.qualified_name or "",
                kind=result.kind or "",
                also=tuple(Named(further.name) for further in result.also),
            )
            for result in reply.results
        ),
        ms=round(spent * 1000, 3),
    )


if __name__ == "__main__":
    main()
