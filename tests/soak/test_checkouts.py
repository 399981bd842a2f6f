"""`ref` is always right: requests of four clients while the working tree is switched between two commits, checked against git."""

import random

import pytest

from tests.soak.checkouts import Checkouts

pytestmark = [pytest.mark.slow, pytest.mark.soak, pytest.mark.xdist_group("soak")]  # each needs the whole machine

N_QUESTIONS = 150
"""In CI."""

N_SOAKED = 200
"""For each unit of the scale above 1: `make soak` has 20, which makes 4,000."""

N_FILES = 120


def module(number: int, edition: str, rng: random.Random) -> str:
    """Returns a file whose definitions have other lines and bodies in each edition."""
    lines = ["import os", *[""] * rng.randrange(1, 6)]
    for n in range(rng.randrange(2, 6)):
        lines += [
            f"def common_{number}_{n}(value):",
            f'    """As it is in {edition}."""',
            f"    return value + {rng.randrange(99)}",
            "",
        ]
        lines += [f"class Only{edition.title()}{number}n{n}:", "    pass", ""]
    return "\n".join(lines)


@pytest.fixture
def two_editions(repository):
    """A repository with the tags `first` and `second`: files edited, added, removed and moved between them."""
    for edition in ("first", "second"):
        rng = random.Random(edition)
        for path in list(repository.root.glob("pkg/**/*.py")):
            path.unlink()
        repository.write(
            {
                f"pkg/{rng.choice(['core', 'web', edition])}/m{number:03}.py": module(number, edition, rng)
                for number in range(N_FILES)
                if rng.random() < 0.9
            }
        )
        repository.commit(edition)
        repository.git("tag", edition)
    return repository


@pytest.mark.invariant("An index holds the files of a single checkout, under its name")
@pytest.mark.timeout(0)
async def test_no_answer_mixes_two_commits_or_names_one_that_it_is_not_of(two_editions, repetitions):
    run = Checkouts(two_editions, ["first", "second"], seed=1)

    await run.run(repetitions(N_QUESTIONS, N_SOAKED))

    assert run.lies == []
    assert run.n_checkouts > 2
    # Both were requested by name, and answered from the tree.
    assert {name for name, how in run.answers if how == "ref"} == {"first", "second"}
    assert {name for name, how in run.answers if how != "ref"} == {"first", "second"}
