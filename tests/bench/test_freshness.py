"""The driver that compares answers with the disk: each kind of edit once, and that it notices a wrong answer."""

import pytest

from bench.freshness import EDITS, Driver
from bench.world import World

N_FILES = 60


@pytest.mark.invariant(of="test_not_found_in_an_index_that_is_behind_says_that_it_is_behind")
@pytest.mark.slow
def test_after_each_kind_of_edit_the_first_answer_is_right_or_says_that_it_may_not_be(tmp_path):
    world = World(tmp_path, seed=1, n_files=N_FILES)

    report = Driver(world, tmp_path / "home").run(len(EDITS))

    assert report.lies == ()
    assert sum(report.right.values()) > len(EDITS)
    assert set(report.seconds) == set(EDITS)


class ForgetfulWorld(World):
    """Records an edit without making it."""

    def edit(self, count: int) -> list[str]:
        path = min(self.words)
        old, self.words[path] = self.words[path], "quokka9999999"
        return [self.words[path], old]


def test_an_answer_that_is_not_what_should_be_on_disk_is_a_lie(tmp_path):
    world = ForgetfulWorld(tmp_path, seed=1, n_files=N_FILES)

    report = Driver(world, tmp_path / "home").run(1)

    assert {lie.word for lie in report.lies} >= {"quokka9999999"}
    assert {lie.kind for lie in report.lies} == {"edit 1 file"}
