"""Queries the index of one work tree: `python -m bench.quality.ask TREE --home DIR --tool search_code < questions > answers`.

Runs as a separate process that sees only the questions, never the right answers: one JSON line each, of `repo` and `query`,
answered by one line of a run file.
"""

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import msgspec

from bench.job import layout_for
from bench.quality.data import Answer, Hit, Question, Range
from codecompass.identity import canonical_root, project_id
from codecompass.protocol.encode import encode
from codecompass.protocol.metadata import AnswerState
from codecompass.protocol.replies import LocateSymbolReply, SearchCodeReply
from codecompass.protocol.requests import LocateSymbol, SearchCode
from codecompass.query import QueryOptions, locate_symbol, search_code
from codecompass.query.words.retrieval import SIGNALS
from codecompass.store.index import WorkspaceIndex
from codecompass.store.snapshot import Snapshot

LIMIT = 10


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tree", type=Path)
    parser.add_argument("--home", type=Path, required=True)
    parser.add_argument("--tool", choices=("search_code", "locate_symbol"), required=True)
    parser.add_argument("--prefix", default="", help="what stands before every path of an answer, with its slash")
    parser.add_argument("--without", choices=SIGNALS, action="append", default=[], help="a signal that does not rank")
    options = parser.parse_args(arguments)
    settings = QueryOptions(without_signals=frozenset(options.without))
    root = canonical_root(options.tree)
    index = WorkspaceIndex(layout_for(root, options.home), project_id(root))
    state = AnswerState(workspace=str(root), project_id=project_id(root), ref="live")
    decoder = msgspec.json.Decoder(Question)
    with index.snapshot() as snapshot:
        for line in sys.stdin.buffer:
            question = decoder.decode(line)
            began = time.perf_counter()
            reply = _ask(snapshot, options.tool, question.query, state, settings)
            encode(reply)
            milliseconds = (time.perf_counter() - began) * 1000
            hits = tuple(
                Hit(
                    path=options.prefix + result.path,
                    line_start=result.line_start,
                    line_end=result.line_end,
                    also=tuple(Range(further.line_start, further.line_end) for further in result.also),
                )
                for result in reply.results
            )
            answer = Answer(repo=question.repo, query=question.query, results=hits, ms=round(milliseconds, 3))
            sys.stdout.buffer.write(msgspec.json.encode(answer) + b"\n")


def _ask(
    snapshot: Snapshot, tool: str, query: str, state: AnswerState, settings: QueryOptions
) -> SearchCodeReply | LocateSymbolReply:
    if tool == "search_code":
        return search_code(snapshot, SearchCode(query=query, limit=LIMIT), state, settings)
    return locate_symbol(snapshot, LocateSymbol(name=query, limit=LIMIT), state, settings)


if __name__ == "__main__":
    main()
