"""Training on a small made-up corpus: what is learned, what is left out, and that the result is reproducible."""

import os
import subprocess
import sys

import msgspec
import pytest

from bench.lexicon.__main__ import LIST, is_held_out, main
from bench.lexicon.data_file import encoded
from bench.lexicon.pairs import MAX_FORM_COUNT, Pair, repository_pairs
from bench.lexicon.records import ChangeWords, DefinitionWords, Repository, write_rows
from bench.lexicon.relations import strongest, usual_words
from bench.lexicon.translation import learn
from codecompass.query.words.lexicon import Lexicon

SENTENCES = (
    ("delete the record", ("remove", "entry"), ("store", "entries", "remove")),
    ("delete a file", ("unlink", "path"), ("path", "unlink")),
    ("open a file", ("open", "path"), ("path", "handle")),
    ("count the records", ("count", "entries"), ("entries", "total")),
    ("print the report", ("print", "report"), ("report", "lines")),
    ("send the report", ("send", "report"), ("report", "socket")),
)


def definitions(n_repository, sentences=SENTENCES):
    return [
        DefinitionWords(f"src/{number}.py", "_".join(name), name, tuple(doc.split()), (*body, f"own{'x' * n_repository}"))
        for number, (doc, name, body) in enumerate(sentences)
    ]


def commits():
    return [ChangeWords(("delete", "old", "record"), (("src/0.py", "remove_entry"),), ("entries", "remove"))]


def corpus(n_repositories):
    return [repository_pairs(definitions(number), commits()) for number in range(n_repositories)]


def trained(repositories, support=4):
    return strongest(learn([each.pairs for each in repositories], support=support))


def test_a_word_is_related_to_what_code_says_for_it():
    relations = trained(corpus(4))

    assert {"remov", "unlink"} <= {each.stem for each in relations["delet"]}
    assert [each.strength for each in relations["delet"]] == sorted((each.strength for each in relations["delet"]), reverse=True)


def test_a_relation_needs_enough_repositories():
    assert trained(corpus(3)) == {}
    assert trained(corpus(4)) != {}


def test_the_words_of_one_repository_are_not_learned():
    lexicon = encoded(trained(corpus(6)), usual_words(each.forms for each in corpus(6)))

    assert b"remove" in lexicon
    assert b"own" not in lexicon


def test_a_word_that_explains_itself_explains_little_else():
    pairs = [
        Pair(("print", "report"), ("print", "report", "line"), 1.0),
        Pair(("send", "report"), ("send", "report", "line"), 1.0),
    ]
    probability = learn([pairs] * 4).probability

    assert probability["print"]["print"] > 3 * probability["print"].get("report", 0.0)


def test_probabilities_of_a_word_sum_to_at_most_one():
    translations = learn([each.pairs for each in corpus(5)])

    assert all(sum(row.values()) <= 1 + 1e-9 for row in translations.probability.values())
    assert sum(translations.usual.values()) == pytest.approx(1)


def test_a_repository_counts_no_more_for_having_the_same_pair_often():
    once = repository_pairs(definitions(0), commits())
    often = repository_pairs(definitions(0) * 50, commits() * 50)

    assert once.pairs == often.pairs
    assert max(often.forms.values()) == MAX_FORM_COUNT


def test_a_stem_is_given_as_the_word_that_code_has_most_often():
    assert usual_words([{"removed": 1, "remove": 2}, {"removed": 2, "removes": 1, "the": 9}])["remov"] == "removed"
    assert usual_words([{"removes": 1, "remove": 1}]) == {"remov": "remove"}


def work_directory(tmp_path, n_repositories):
    """Writes the files that extraction would write, for a list of repositories that are never read."""
    work = tmp_path / "work"
    work.mkdir()
    rows = []
    for number in range(n_repositories):
        row = Repository(repo=f"someone/project{number}", url="https://example.org", commit="0" * 40, licence="MIT")
        write_rows(work / f"{row.file_stem}.definitions.jsonl", definitions(number))
        write_rows(work / f"{row.file_stem}.changes.jsonl", commits())
        rows.append(row)
    write_rows(tmp_path / "list.jsonl", rows)
    return rows


def arguments(tmp_path, out):
    return [f"--repositories={tmp_path}", f"--work={tmp_path / 'work'}", f"--list={tmp_path / 'list.jsonl'}", f"--out={out}"]


def test_training_twice_gives_the_same_bytes_whatever_the_hash_seed(tmp_path):
    work_directory(tmp_path, 12)
    for seed in ("1", "2"):
        command = [sys.executable, "-m", "bench.lexicon", *arguments(tmp_path, tmp_path / seed)]
        subprocess.run(command, check=True, capture_output=True, env=os.environ | {"PYTHONHASHSEED": seed})

    first, second = ({path.name: path.read_bytes() for path in sorted((tmp_path / seed).iterdir())} for seed in ("1", "2"))
    assert first == second
    assert set(first) == {"lexicon.bin", "lexicon.md"}
    assert "remove" in [each.word for each in Lexicon(first["lexicon.bin"]).related("delete")]


def test_the_note_names_every_repository_with_its_commit_and_licence(tmp_path, capsys):
    rows = work_directory(tmp_path, 12)

    main(arguments(tmp_path, tmp_path / "out"))

    text = (tmp_path / "out" / "lexicon.md").read_text(encoding="utf-8")
    assert all(f"| {row.url} | `{row.commit}` | {row.licence} |" in text for row in rows)
    assert all(row.repo in text.split("Held out: ")[1].split("\n")[0] for row in rows if is_held_out(row))
    assert "lexicon.bin" in text
    assert "sha256" in capsys.readouterr().err


def test_the_projects_list_has_enough_repositories_at_whole_commits():
    rows = [msgspec.json.decode(line, type=Repository) for line in LIST.read_bytes().splitlines()]

    assert len({row.repo for row in rows}) == len(rows) >= 100
    assert all(len(row.commit) == 40 and row.url == f"https://github.com/{row.repo}" for row in rows)
    assert {each for row in rows for each in row.licence.split(" OR ")} <= {
        *("MIT", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "BSL-1.0", "Unlicense")
    }
