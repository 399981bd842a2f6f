"""Trains the lexicon of the query engine: `python -m bench.lexicon --repositories DIR --work DIR`.

--repositories has the git directories (`OWNER+NAME.git`); missing ones are cloned, 11 GB in all. --work caches what was extracted
from each repository (25 minutes; training and figures take 6 more, with 1 GB of memory; two cores, 2026-11-23). Writes
`lexicon.bin` and `lexicon.md` into --out, by default beside the module that reads them.
"""

import argparse
import subprocess
import sys
import time
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import Final

from msgspec import Struct

from bench.lexicon.data_file import encoded
from bench.lexicon.definitions import DefinitionReader
from bench.lexicon.evaluation import Expansion, HeldOut, compare, held_out
from bench.lexicon.git_repository import changes, clone, source_files
from bench.lexicon.note import Sizes, Trial, note
from bench.lexicon.pairs import RepositoryPairs, repository_pairs
from bench.lexicon.records import ChangeWords, DefinitionWords, Repository, read_rows, write_rows
from bench.lexicon.relations import strongest, usual_words
from bench.lexicon.translation import learn
from codecompass.query.words.lexicon import DATA_FILE, Lexicon

LIST: Final = Path(__file__).with_name("repositories.jsonl")

HELD_OUT_SHARE: Final = 5
"""One in this many repositories is held out, chosen by a hash of its name."""

EXPANSIONS: Final = (Expansion(0.4, 4), Expansion(0.4, 8), Expansion(0.4, 16), Expansion(0.6, 8))

EXAMPLES: Final = (
    "delete",
    "remove",
    "abort",
    "timeout",
    "directory",
    "error",
    "duplicate",
    "retry",
    "memory",
    "shutdown",
    "user",
)


class _Extracted(Struct, frozen=True):
    definitions: Path
    changes: Path


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command line."""
    options = _parser().parse_args(arguments)
    options.work.mkdir(parents=True, exist_ok=True)
    options.repositories.mkdir(parents=True, exist_ok=True)
    repositories = sorted(read_rows(options.list, Repository), key=lambda row: row.repo)
    extracted = [_extract(repository, options.repositories, options.work) for repository in repositories]
    started = time.monotonic()
    taught = [_pairs(each) for each in extracted]
    is_asked = [is_held_out(each) for each in repositories]
    trials: list[Trial] = []
    if not options.only_train:
        relations = strongest(learn([each.pairs for each, is_left in zip(taught, is_asked, strict=True) if not is_left]))
        asked = [_held_out(each) for each, is_left in zip(extracted, is_asked, strict=True) if is_left]
        for expansion in (None, *EXPANSIONS):
            trials.append(Trial(expansion, compare(asked, relations, expansion)))
            print(trials[-1], file=sys.stderr)
    relations = strongest(learn([each.pairs for each in taught]))
    data = encoded(relations, usual_words(each.forms for each in taught))
    lexicon = Lexicon(data)
    sizes = Sizes(
        n_pairs=sum(len(each.pairs) for each in taught),
        n_words=len(lexicon),
        n_relations=sum(map(len, relations.values())),
        n_bytes=len(data),
    )
    examples = {word: [each.word for each in lexicon.related(word)[:8]] for word in EXAMPLES}
    version = subprocess.run(["git", "--version"], check=True, capture_output=True, text=True).stdout.split()[2]
    names = [each.repo for each, is_left in zip(repositories, is_asked, strict=True) if is_left]
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / DATA_FILE.name).write_bytes(data)
    if not options.only_train:
        text = note(repositories, names, trials, sizes, examples, version)
        (options.out / DATA_FILE.with_suffix(".md").name).write_text(text, encoding="utf-8")
    print(f"{sizes}; trained in {time.monotonic() - started:.0f} s; sha256 {sha256(data).hexdigest()}", file=sys.stderr)
    return 0


def is_held_out(repository: Repository) -> bool:
    """Whether a repository is held out for evaluation; does not depend on the others in the list."""
    return int(sha256(repository.file_stem.encode()).hexdigest()[:8], 16) % HELD_OUT_SHARE == 0


def _extract(repository: Repository, directory: Path, work: Path) -> _Extracted:
    extracted = _Extracted(
        work / f"{repository.file_stem}.definitions.jsonl",
        work / f"{repository.file_stem}.changes.jsonl",
    )
    if not extracted.definitions.exists() or not extracted.changes.exists():
        git_directory = clone(repository, directory)
        reader = DefinitionReader()
        files = source_files(git_directory, repository.commit)
        n_definitions = write_rows(extracted.definitions, (row for file in files for row in reader.read(file)))
        n_changes = write_rows(extracted.changes, changes(git_directory, repository.commit, work / "attributes"))
        print(f"{repository.repo}: {n_definitions} definitions, {n_changes} commits", file=sys.stderr)
    return extracted


def _pairs(extracted: _Extracted) -> RepositoryPairs:
    return repository_pairs(read_rows(extracted.definitions, DefinitionWords), read_rows(extracted.changes, ChangeWords))


def _held_out(extracted: _Extracted) -> HeldOut:
    return held_out(read_rows(extracted.definitions, DefinitionWords), read_rows(extracted.changes, ChangeWords))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m bench.lexicon", description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--repositories", type=Path, required=True, metavar="DIR", help="git directories; missing ones are made")
    parser.add_argument("--work", type=Path, required=True, metavar="DIR", help="where the extracted words are kept")
    parser.add_argument("--list", type=Path, default=LIST, metavar="FILE", help="the repositories (default: the project's)")
    parser.add_argument("--out", type=Path, default=DATA_FILE.parent, metavar="DIR", help="where the result goes")
    parser.add_argument("--only-train", action="store_true", help="without the figures and the note")
    return parser


if __name__ == "__main__":
    sys.exit(main())
