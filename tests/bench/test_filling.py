"""Copies of a real index: which words their summaries have, and what can be asked about one."""

import pytest

from bench.copies import Owners, suffix
from bench.filling import copied_summary, samples
from codecompass.store.index import WorkspaceIndex
from codecompass.store.word_summary import WordSummary
from tests.support.workspace import TestWorkspace

RARE = tuple(f"seldomq{one}{two}" for one in "bdfgh" for two in "jklmnpqr")
COMMON = tuple(f"def common_name(value):\n    return commonword  # a remark about only {each}\n" for each in "abcde")


@pytest.fixture
async def workspace(tmp_path):
    made = TestWorkspace(tmp_path / "tree", tmp_path / "home")
    lines = "".join(f"# a remark about {word} only\n" for word in RARE)
    made.write({**{f"m{number}.py": text for number, text in enumerate(COMMON)}, "rare.py": f"{lines}def nothing(): pass\n"})
    await made.sync()
    return made


async def test_an_owned_word_is_in_the_summary_of_its_owner_alone_and_a_common_one_in_all(workspace):
    owners = Owners(3)

    summaries = [WordSummary(copied_summary(workspace.layout, owners, turn, suffix(turn))) for turn in range(3)]

    owned = {word: owner for word in RARE if (owner := owners.owner(word)) is not None}
    assert 0 < len(owned) < len(RARE)
    for word in RARE:
        having = [turn for turn, summary in enumerate(summaries) if summary.document_frequency("body", word)]
        assert having == ([owned[word]] if word in owned else [0, 1, 2])
    assert all(summary.document_frequency("body", "commonword") == 5 for summary in summaries)


async def test_the_summaries_of_all_copies_have_as_many_words_and_differ(workspace):
    owners = Owners(3)

    contents = [copied_summary(workspace.layout, owners, turn, suffix(turn)) for turn in range(3)]

    assert len(set(contents)) == 3
    assert len({len(content) for content in contents}) == 1


async def test_what_is_asked_about_a_copy_has_one_word_that_only_it_has(workspace):
    owners = Owners(3)
    index = WorkspaceIndex(workspace.layout, workspace.project_id)
    with index.snapshot() as snapshot:
        names, lines = samples(snapshot, owners)
    index.close()

    assert all(name.owner == owners.owner(name.text) for name in names)
    assert {line.text for line in lines} == {f"# a remark about {word} only" for word in RARE if owners.owner(word) is not None}
    assert all(line.word in line.text and line.owner == owners.owner(line.word) for line in lines)
