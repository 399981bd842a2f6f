"""What a search of all repositories of an organisation takes: `python -m bench.everywhere`.

    --urls URLS --prefix PREFIX --truth FILE [--questions N]

A new server over the indexes that workers have written there answers --questions sentences of the truth (lines with a `query`)
over HTTP, with `workspace: "*"`: each once, which includes fetching facts and new words, and then all of them again.
"""

import argparse
import random
import sys
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

from msgspec import Struct

from bench.figures import percentile
from bench.organisation import OrganisationServer, serving_organisation
from bench.quality.data import read_lines
from bench.table import markdown_table
from codecompass.cluster.access import Tokens
from codecompass.cluster.engine import Engine
from codecompass.units import MILLISECONDS

ROUNDS: Final = ("each once, on a new server", "again")
SHARES: Final = (0.5, 0.9, 0.95, 1.0)


class _Line(Struct, frozen=True):
    query: str


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command line."""
    parser = argparse.ArgumentParser(
        prog="bench.everywhere", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--urls", required=True, help="addresses of nodes, with commas between")
    parser.add_argument("--prefix", default="codecompass", help="of the indexes (default codecompass)")
    parser.add_argument("--truth", type=Path, required=True)
    parser.add_argument("--questions", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args(arguments)
    known = list(dict.fromkeys(line.query for line in read_lines(options.truth, _Line)))
    questions = random.Random(options.seed).sample(known, min(options.questions, len(known)))
    engine = Engine(options.urls.split(","), prefix=options.prefix)
    tokens = Tokens(engine)
    token = tokens.add("bench", [], is_admin=True, days=1)
    with serving_organisation(options.urls, options.prefix) as server:
        rows = [(name, *_figures(_seconds(server, token, questions))) for name in ROUNDS]
    tokens.revoke("bench")
    engine.close()
    print(f"{len(questions)} questions")
    print(markdown_table(("", "median ms", "90 % ms", "95 % ms", "longest ms"), rows))
    return 0


def _seconds(server: OrganisationServer, token: str, questions: Iterable[str]) -> list[float]:
    """Returns how long each question took. Raises RuntimeError if one was not answered."""
    found = []
    for query in questions:
        began = time.perf_counter()
        error = server.ask(token, {"query": query, "workspace": "*"})
        found.append(time.perf_counter() - began)
        if error:
            raise RuntimeError(f"{query!r}: {error}")
    return found


def _figures(seconds: Sequence[float]) -> list[str]:
    return [f"{percentile(seconds, share) / MILLISECONDS:.0f}" for share in SHARES]


if __name__ == "__main__":
    sys.exit(main())
