"""The documents of repositories: every change is one compare-and-set, safe under concurrent changes."""

import random
import secrets
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from msgspec.structs import replace

from codecompass.cluster.engine.client import Engine
from codecompass.cluster.repositories.documents import Repositories
from codecompass.cluster.repositories.leases import Claim, LeaseLost, claim, failed
from codecompass.cluster.repositories.repository import RefHead, Repository
from codecompass.cluster.serving.webhook import note_pushed
from codecompass.errors import InvalidInput, ProjectNotFound

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.invariant(
        "A compare-and-set on one document decides what is visible of a cluster's repository; no change is lost"
    ),
]


@pytest.fixture(scope="module")
def engine(engine_cluster) -> Iterator[Engine]:
    client = Engine(engine_cluster.urls, prefix=f"t{secrets.token_hex(5)}", patience=60.0)
    client.prepare()
    yield client
    client.close()


@pytest.fixture
def repositories(engine) -> Repositories:
    return Repositories(engine)


def any_url() -> str:
    return f"https://git.example.org/{secrets.token_hex(4)}/{secrets.token_hex(4)}"


@pytest.fixture
def added(repositories) -> Repository:
    return repositories.add(any_url()).repository


def head(generation: str, commit: str = "c") -> RefHead:
    return RefHead(generation=generation, commit=commit, published_at=1.0, file_count=1, symbol_count=2, source_bytes=3)


def must_claim(repositories: Repositories, repository: Repository, owner: str = "w") -> Claim:
    held = claim(repositories, repository, owner)
    assert held is not None
    return held


def at_once(n: int, work: Callable[[int], object]) -> list[object]:
    """Runs `work(0)` to `work(n - 1)` simultaneously, and returns their results or exceptions."""
    barrier = threading.Barrier(n)

    def one(number: int) -> object:
        barrier.wait(timeout=60)
        try:
            return work(number)
        except Exception as error:  # noqa: BLE001 (checked by the test)
            return error

    with ThreadPoolExecutor(n) as pool:
        return list(pool.map(one, range(n)))


# Adding, finding, removing.


def test_what_is_added_is_found_by_name_address_and_id(repositories):
    url = any_url()
    done = repositories.add(url, refs=["main", "v*"], groups=["web", "backend", "web"])

    assert done.is_new
    assert done.repository.groups == ("backend", "web")
    assert done.repository.is_pending
    same = url.replace("https://git.example.org/", "git@git.example.org:") + ".git"
    for name in (done.repository.name, url, same, done.repository.repo_id):
        assert repositories.find(name) == done.repository


def test_adding_again_changes_what_is_given_and_keeps_the_rest(repositories):
    url = any_url()
    first = repositories.add(url, refs=["main"], groups=["web"]).repository

    again = repositories.add(url + ".git", groups=["backend"])

    assert not again.is_new
    assert (again.repository.wanted_refs, again.repository.groups) == (("main",), ("backend",))
    assert again.repository.changes == first.changes + 1
    assert again.repository.repo_id == first.repo_id


def test_names_are_unique_also_where_repositories_are_added_at_the_same_moment(repositories):
    part = secrets.token_hex(4)

    done = at_once(6, lambda number: repositories.add(f"https://host{number}.example.org/{part}/api").repository)

    assert len({each.repo_id for each in done}) == 6
    now = [repositories.get(each.repo_id) for each in done]
    assert len({each.name for each in now}) == 6


def test_one_repository_that_is_added_by_many_at_once_is_one(repositories):
    url = any_url()

    done = at_once(6, lambda _: repositories.add(url))

    assert sum(each.is_new for each in done) == 1
    assert len({each.repository.repo_id for each in done}) == 1


def test_a_name_that_is_taken_is_refused(repositories, added):
    with pytest.raises(InvalidInput, match="already"):
        repositories.add(any_url(), name=added.name)


def test_an_unknown_name_is_said_to_be_unknown(repositories, added):
    with pytest.raises(ProjectNotFound, match=added.name):
        repositories.find(added.name + "x")


def test_what_is_removed_is_invisible_at_once_and_noted_for_cleaning(repositories, added):
    held = must_claim(repositories, added)
    held.publish({"main": head("g1"), "v1": head("g2")}, default_ref="main")
    held.release()

    repositories.remove(added.name)

    with pytest.raises(ProjectNotFound):
        repositories.find(added.repo_id)
    left = repositories.get(added.repo_id)
    assert left.is_removed
    assert left.heads == {}
    assert set(left.retired) == {"g1", "g2"}


def test_what_is_added_again_while_it_is_cleaned_away_begins_with_nothing(repositories, added):
    held = must_claim(repositories, added)
    held.publish({"main": head("g1")}, default_ref="main")
    repositories.remove(added.name)

    again = repositories.add(added.url)

    assert again.is_new
    assert again.repository.heads == {}
    assert again.repository.retired == ("g1",)
    assert not repositories.delete(added.repo_id, lambda repository: repository.is_removed)


# Compare-and-set.


def test_no_change_is_lost_however_many_change_at_once(repositories, added):
    def bump(_: int) -> None:
        for _ in range(5):
            repositories.note_changed(added.repo_id, is_urgent=True)

    at_once(6, bump)

    assert repositories.get(added.repo_id).changes == added.changes + 30


def test_a_storm_of_messages_is_one_change_until_a_worker_begins_and_one_more_after_that(repositories, added):
    def storm(_: int) -> None:
        for _ in range(50):
            note_pushed(repositories, [added.url])

    assert at_once(4, storm) == [None] * 4
    before = repositories.get(added.repo_id)
    held = must_claim(repositories, before)
    note_pushed(repositories, [added.url])
    held.release(lambda repository: replace(repository, done_changes=before.changes))
    assert at_once(4, storm) == [None] * 4

    assert before.changes == added.changes
    after = repositories.get(added.repo_id)
    assert (after.changes, after.is_pending) == (added.changes + 1, True)


def test_a_message_of_a_git_server_reaches_the_repository_by_any_of_its_addresses(repositories, added):
    unknown = any_url()
    repositories.update(added.repo_id, lambda old: replace(old, done_changes=old.changes))

    assert note_pushed(repositories, [added.url + ".git", "nonsense", unknown]) == (added.name,)

    assert repositories.get(added.repo_id).changes == added.changes + 1


def test_a_poll_that_is_outdated_notes_nothing(repositories, added):
    repositories.note_polled(added, has_moved=False)
    polled = repositories.get(added.repo_id)
    assert (polled.polls, polled.changes) == (1, added.changes)

    repositories.note_polled(added, has_moved=True)
    assert repositories.get(added.repo_id) == polled

    repositories.note_polled(polled, has_moved=True)
    assert repositories.get(added.repo_id).changes == added.changes + 1


# Leases.


def test_of_many_that_claim_at_once_one_gets_it(repositories, added):
    done = at_once(8, lambda number: claim(repositories, added, f"w{number}"))

    holders = [each for each in done if each is not None]
    assert len(holders) == 1
    assert repositories.get(added.repo_id).lease == holders[0].repository.lease


def test_what_is_held_is_claimed_by_nobody_who_has_not_seen_it_abandoned(repositories, added):
    held = must_claim(repositories, added)
    seen = repositories.get(added.repo_id)
    held.renew()

    assert claim(repositories, added, "other") is None
    assert claim(repositories, seen, "other") is None


def test_a_lease_that_was_seen_abandoned_is_taken_over_and_noted_for_cleaning(repositories, added):
    stalled = must_claim(repositories, added)

    heir = must_claim(repositories, stalled.repository, "heir")

    assert heir.repository.lease.owner == "heir"
    assert len(heir.repository.retired) == 1


def test_a_stalled_worker_that_goes_on_can_make_nothing_visible(repositories, added):
    stalled = must_claim(repositories, added)
    stalled.publish({"main": head("g1", "old")}, default_ref="main")
    heir = must_claim(repositories, stalled.repository)
    heir.publish({"main": head("g2", "new")}, default_ref="main")

    for attempt in (
        stalled.renew,
        lambda: stalled.publish({"main": head("g3", "stale")}, default_ref="main"),
        stalled.release,
        lambda: stalled.release(lambda repository: failed(repository, "m", 1.0)),
    ):
        with pytest.raises(LeaseLost):
            attempt()

    now = repositories.get(added.repo_id)
    assert now.heads["main"].commit == "new"
    assert now.trouble is None
    assert now.lease == heir.repository.lease


def test_a_worker_that_comes_back_after_its_heir_has_finished_can_make_nothing_visible(repositories, added):
    stalled = must_claim(repositories, added)
    heir = must_claim(repositories, stalled.repository)
    heir.publish({"main": head("g2")}, default_ref="main")
    heir.release()

    with pytest.raises(LeaseLost):
        stalled.publish({"main": head("g3")}, default_ref="main")

    assert repositories.get(added.repo_id).heads["main"].generation == "g2"


def test_changes_of_others_do_not_disturb_the_holder(repositories, added):
    held = must_claim(repositories, added)
    repositories.note_changed(added.repo_id)
    repositories.add(added.url, groups=["web"])

    held.publish({"main": head("g1")}, default_ref="main")
    held.release(lambda repository: replace(repository, done_changes=added.changes))

    now = repositories.get(added.repo_id)
    assert now.heads["main"].generation == "g1"
    assert now.groups == ("web",)
    assert now.is_pending
    assert now.lease is None


def test_nothing_is_published_into_a_repository_that_was_removed_meanwhile(repositories, added):
    held = must_claim(repositories, added)
    repositories.remove(added.name)

    with pytest.raises(LeaseLost):
        held.publish({"main": head("g1")}, default_ref="main")

    assert repositories.get(added.repo_id).heads == {}


def test_what_is_replaced_is_retired_unless_another_ref_still_has_it(repositories, added):
    held = must_claim(repositories, added)
    held.publish({"main": head("g1"), "v1": head("g1"), "old": head("g0")}, default_ref="main")

    held.publish({"main": head("g2")}, default_ref="main")
    assert held.repository.retired == ()

    held.publish({"v1": head("g2")}, default_ref="main", gone=("old",))
    assert set(held.repository.retired) == {"g0", "g1"}
    assert held.repository.heads.keys() == {"main", "v1"}


def test_renewals_and_publications_of_one_worker_do_not_lose_each_other(repositories, added):
    held = must_claim(repositories, added)

    def act(number: int) -> None:
        for turn in range(5):
            if number % 2:
                held.renew()
            else:
                held.publish({f"b{number}-{turn}": head(f"g{number}{turn}")}, default_ref="b0-0")

    assert at_once(4, act) == [None] * 4

    now = repositories.get(added.repo_id)
    assert len(now.heads) == 10
    assert now.lease.renewals == 10


@pytest.mark.parametrize("seed", range(3))
def test_the_counters_survive_any_schedule_of_workers_that_come_and_go(repositories, added, seed):
    """Workers claim, take over and publish at random; whatever is visible was published by the holder of the lease."""
    draw = random.Random(seed)
    held: list[tuple[Claim, str]] = []
    published: list[str] = []
    for step in range(120):
        now = repositories.get(added.repo_id)
        action = draw.choice(("claim", "take over", "publish", "renew", "release", "change"))
        if action in ("claim", "take over") and (now.lease is None or action == "take over"):
            got = claim(repositories, now, f"w{step}")
            assert got is not None
            held.append((got, got.repository.lease.token))
        elif action == "change":
            repositories.note_changed(added.repo_id)
        elif held:
            # Half of the time the last one: one drawn from many would rarely be the holder.
            actor, token = held[-1] if draw.random() < 0.5 else draw.choice(held)
            is_holder = now.lease is not None and now.lease.token == token
            try:
                if action == "publish":
                    actor.publish({"main": head(f"g{step}")}, default_ref="main")
                    published.append(f"g{step}")
                elif action == "renew":
                    actor.renew()
                elif action == "release":
                    actor.release()
                assert is_holder or action in ("claim", "take over")
            except LeaseLost:
                assert not is_holder
        now = repositories.get(added.repo_id)
        assert [each.generation for each in now.heads.values()] == published[-1:]
        assert set(published[:-1]) <= set(now.retired)
    assert published
