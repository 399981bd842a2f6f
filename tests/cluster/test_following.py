"""How an organisation follows long lists, with the worker killed in between, and names that change hands at the host."""

import itertools
import json
from collections import Counter
from functools import partial

import pytest
import trio
from msgspec.structs import replace
from structlog.testing import capture_logs

from codecompass.cluster.access.visibility import Viewer, visible
from codecompass.cluster.engine.client import Engine
from codecompass.cluster.hosts import discovery, following
from codecompass.cluster.hosts.discovery import WORKING_SECONDS, look
from codecompass.cluster.hosts.members import group_of_readers
from codecompass.cluster.hosts.sources import Sources, new_source
from codecompass.cluster.hosts.watch import ABANDONED_SECONDS, GAP_SECONDS, SourceSchedule, watch_sources
from codecompass.cluster.indexing.measures import WorkerMeasures
from codecompass.cluster.repositories import bulk_adding
from codecompass.cluster.repositories.bulk_adding import add_several, read_lines
from codecompass.cluster.repositories.documents import Repositories
from codecompass.cluster.repositories.moves import finish_moves
from tests.cluster.code_hosts import Hosted, code_host
from tests.cluster.organisation import files_of, serving_library, url_of
from tests.cluster.test_discovery import Following
from tests.support.waiting import until
from tests.transport.http.client import ask, call

pytestmark = pytest.mark.cluster

THOUSAND = [Hosted(number, f"part{number}", readers=(f"p{number % 7}",)) for number in range(1_000)]


class Killed(BaseException):
    """The worker is killed."""


class KilledAt:
    """Ends the work at one of the requests to the engine, before or after it is carried out. Counts requests."""

    def __init__(self, engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
        self.n_requests = 0
        self.last = 0
        self.is_carried_out = False
        request = engine._request

        def counted(*arguments, **named):
            self.n_requests += 1
            if self.n_requests == self.last and not self.is_carried_out:
                raise Killed
            said = request(*arguments, **named)
            if self.n_requests == self.last:
                raise Killed
            return said

        monkeypatch.setattr(engine, "_request", counted)


# Many at once.


@pytest.mark.parametrize("permissions", [False, True])
def test_a_thousand_repositories_are_found_at_once_in_few_requests(engine, monkeypatch, permissions):
    monkeypatch.setattr(discovery, "WORKING_SECONDS", float("inf"))
    with code_host("gitlab", THOUSAND, page=100) as host:
        follows = Following(engine, host, permissions=permissions)
        requests = KilledAt(engine, monkeypatch)
        first = follows.look()
        n_first, requests.n_requests = requests.n_requests, 0
        second = follows.look()

    assert (first.added, first.refused) == (1_000, 0)
    assert (second.added, second.removed, second.moved) == (0, 0, 0)
    # Two of each index for every 500, and what is read and written around them.
    assert n_first <= 25
    assert requests.n_requests <= 15
    assert len(host.asked) == 2 * (10 + (1_000 if permissions else 0))
    names = follows.names()
    assert len(names) == len(set(names)) == 1_000
    assert follows.repositories.reconcile() == 0


@pytest.mark.parametrize("is_carried_out", [False, True], ids=["before", "after"])
def test_nothing_is_lost_or_doubled_wherever_a_worker_is_killed(engine, monkeypatch, is_carried_out):
    monkeypatch.setattr(bulk_adding, "IN_BULK", 4)
    monkeypatch.setattr(following, "FEW", 1)
    repositories, sources = Repositories(engine, ("https", "http")), Sources(engine)
    deadly = KilledAt(engine, monkeypatch)
    deadly.is_carried_out = is_carried_out
    with code_host("github") as host:
        for last in itertools.count(1):
            host.owner = f"shop{last}"
            host.repositories = [Hosted(number, f"part{number}") for number in range(10)]
            source, _ = sources.add(new_source(f"{host.site}/{host.owner}", kind="github", groups=["web"]))
            claimed = sources.claim(source)
            deadly.n_requests, deadly.last = 0, last
            try:
                look(sources, repositories, claimed, None)
            except Killed:
                was_killed = True
            else:
                was_killed = False
            deadly.last = 0

            # Another worker takes over.
            look(sources, Repositories(engine, ("https", "http")), sources.claim(sources.get(source.id)), None)
            mine = [each for each in repositories.listed(is_current=True) if each.name.startswith(f"{host.owner}/")]
            assert sorted(each.name for each in mine) == [f"{host.owner}/part{number}" for number in range(10)]
            assert all(each.groups == ("web",) and each.is_pending for each in mine)
            assert repositories.reconcile() == 0
            found = sources.get(source.id).found
            assert sorted(found) == sorted(str(number) for number in range(10))
            assert not any(each.was_there or each.is_planned for each in found.values()), last

            host.repositories = host.repositories[4:]
            look(sources, repositories, sources.claim(sources.get(source.id)), None)
            left = [each for each in repositories.listed(is_current=True) if each.name.startswith(f"{host.owner}/")]
            assert len(left) == 6
            if not was_killed:
                break
    assert last > 10


def test_a_look_that_takes_long_says_that_it_goes_on(engine, monkeypatch):
    """Otherwise another worker would begin one as well, and ask the host for everything again."""
    monkeypatch.setattr(discovery, "WORKING_SECONDS", 0.0)
    with code_host("gitlab", THOUSAND[:5], page=100) as host:
        follows = Following(engine, host, permissions=True)
        follows.look()
        source = follows.source

    assert (source.polls, source.begun, source.done) == (1 + 2 * 5, 1, 1)
    assert min(GAP_SECONDS, ABANDONED_SECONDS) / 2 > WORKING_SECONDS


async def test_questions_are_answered_while_a_thousand_repositories_are_found(house, tmp_path):
    await house.publish("alpha", files_of("alpha"), groups=["red"])
    headers = {"authorization": f"Bearer {house.tokens.add('anna', ['red'])}"}
    n_answers = 0
    is_done = False

    async def follow(host) -> None:
        nonlocal is_done
        follows = await trio.to_thread.run_sync(partial(Following, house.engine, host, groups=["red"]))
        changes = await trio.to_thread.run_sync(follows.look)
        assert changes.added == 1_000
        is_done = True

    async with serving_library(house.settings(), tmp_path / "cache") as served, trio.open_nursery() as nursery:
        with code_host("gitlab", THOUSAND, page=100) as host:
            nursery.start_soon(follow, host)
            while not is_done or n_answers < 5:
                arguments = {"name": "turn_alpha", "workspace": "team-alpha/alpha"}
                answer = await ask(served.port, "POST", "/", call("locate_symbol", arguments), **headers)
                assert len(answer.said()["results"]) == 1
                n_answers += 1


def test_two_that_are_added_at_once_under_one_name_get_two_names(engine):
    repositories = Repositories(engine)
    mine, _ = read_lines(["https://a.example.org/shop/api", "https://a.example.org/shop/web"], ("https",), refs=None, groups=None)
    theirs, _ = read_lines(["https://b.example.org/shop/api"], ("https",), refs=None, groups=None)

    class Overtaken(Repositories):
        """Another worker adds its repository after this one has looked."""

        is_overtaken = False

        def listed(self, **named):
            found = super().listed(**named)
            if not self.is_overtaken:
                self.is_overtaken = True
                add_several(engine, repositories, theirs)
            return found

    outcome = add_several(engine, Overtaken(engine), mine)

    names = [each.name for each in repositories.listed(is_current=True)]
    assert len(set(names)) == 3
    assert [name for name, _ in outcome.done] == [name for name in names if name != "shop/api"] or "shop/api" not in names
    assert repositories.reconcile() == 0


# Names that change hands.


def test_a_new_repository_under_the_name_of_a_renamed_one_shows_nothing_of_that(engine):
    with code_host("gitlab", [Hosted(1, "api", readers=("ada",)), Hosted(2, "web", readers=("ada",))]) as host:
        follows = Following(engine, host, permissions=True)
        follows.look()
        follows.indexed("shop/api")
        host.repositories = [
            Hosted(1, "api-old", readers=("ada",)),
            Hosted(2, "web", readers=("ada",)),
            Hosted(3, "api", readers=("ben",)),
        ]
        changes = follows.look()
        engine.refresh(engine.names.members)
        now = {each.name: each for each in follows.repositories.listed(is_current=True)}
        finish_moves(follows.repositories)
        again = follows.look()

        def seen(login: str) -> set[str]:
            groups = {group_of_readers(each) for member in follows.sources.members.of(login) for each in member.repositories}
            return {each.name for each in visible(Viewer(login, frozenset(groups)), list(now.values()))}

    assert set(now) == {"shop/api", "shop/api-old", "shop/web"}
    # What was indexed there was the other one's.
    assert not now["shop/api"].heads
    assert now["shop/api"].is_pending
    assert (seen("ada"), seen("ben")) == ({"shop/api-old", "shop/web"}, {"shop/api"})
    assert (changes.added, changes.moved, changes.removed) == (1, 0, 0)
    assert (again.added, again.moved, again.removed) == (0, 0, 0)
    assert set(follows.names()) == set(now)


def test_a_repository_that_is_deleted_and_made_anew_shows_nothing_of_the_former(engine):
    with code_host("gitea", [Hosted(1, "api"), Hosted(2, "web")]) as host:
        follows = Following(engine, host)
        follows.look()
        follows.indexed("shop/api")
        follows.indexed("shop/web")
        host.repositories = [Hosted(7, "api"), Hosted(2, "web")]
        follows.look()

    now = {each.name: bool(each.heads) for each in follows.repositories.listed(is_current=True)}
    assert now == {"shop/api": False, "shop/web": True}
    assert set(follows.source.found) == {"7", "2"}


def test_names_that_are_swapped_or_passed_on_are_all_kept(engine):
    with code_host("github", [Hosted(1, "a"), Hosted(2, "b"), Hosted(3, "c")]) as host:
        follows = Following(engine, host)
        follows.look()
        for name in "abc":
            follows.indexed(f"shop/{name}")
        host.repositories = [Hosted(1, "b"), Hosted(2, "a"), Hosted(3, "c")]
        follows.look()
        assert set(follows.names()) == {"shop/a", "shop/b", "shop/c"}
        host.repositories = [Hosted(1, "c"), Hosted(2, "a"), Hosted(3, "d")]
        follows.look()
        finish_moves(follows.repositories)

    assert set(follows.names()) == {"shop/a", "shop/c", "shop/d"}
    assert len({each.repo_id for each in follows.source.found.values()}) == 3


def test_a_move_that_a_killed_worker_has_not_written_down_is_found_as_done(engine):
    with code_host("github", [Hosted(1, "api"), Hosted(2, "web")]) as host:
        follows = Following(engine, host)
        follows.look()
        before = follows.source.found
        host.rename(1, "gateway")
        follows.look()
        # As if it had been killed before the end, and the move had been finished since.
        follows.sources.update(follows.id, lambda old: replace(old, found=before))
        engine.refresh(engine.names.repositories)
        assert finish_moves(follows.repositories) == 1
        again = follows.look()
        names = set(follows.names())
        host.repositories = [Hosted(2, "web")]
        follows.look()

    assert (again.added, again.moved, again.removed) == (0, 0, 0)
    assert names == {"shop/gateway", "shop/web"}
    assert set(follows.names()) == {"shop/web"}


def test_a_repository_that_is_listed_under_two_names_is_one(engine):
    """It was renamed while the pages of its owner were read, so that both have it; and two ids have one address."""
    with code_host("github", [Hosted(1, "api"), Hosted(2, "web")]) as host:
        follows = Following(engine, host)
        follows.look()
        follows.indexed("shop/api")
        host.repositories = [Hosted(1, "api"), Hosted(2, "web"), Hosted(1, "gateway"), Hosted(3, "site"), Hosted(4, "site")]
        first = follows.look()
        second = follows.look()
        follows.indexed("shop/gateway")
        follows.indexed("shop/site")
        engine.refresh(engine.names.repositories)
        finish_moves(follows.repositories)
        third = follows.look()
        sites = {each.name: bool(each.heads) for each in follows.repositories.listed(is_current=True)}
        host.repositories = [Hosted(1, "gateway"), Hosted(2, "web"), Hosted(4, "site")]
        follows.look()
        kept = set(follows.names())
        host.repositories = [Hosted(1, "gateway"), Hosted(2, "web")]
        follows.look()

    assert (first.added, first.moved) == (1, 1)
    assert all((each.added, each.moved, each.removed) == (0, 0, 0) for each in (second, third))
    assert sites == {"shop/gateway": True, "shop/web": False, "shop/site": True}
    assert kept == {"shop/gateway", "shop/web", "shop/site"}
    assert set(follows.names()) == {"shop/gateway", "shop/web"}


# Limits.


async def test_a_host_that_limits_its_rate_waits_and_the_others_go_on(engine):
    repositories, sources = Repositories(engine, ("https", "http")), Sources(engine)
    with (
        code_host("github", [Hosted(1, "api")]) as limited,
        code_host("gitea", [Hosted(1, "web")]) as other,
        capture_logs() as logs,
    ):
        limited.refusals = [(403, {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "3000"})] * 100
        ids = [
            (await trio.to_thread.run_sync(sources.add, new_source(f"{host.site}/shop", kind=host.kind)))[0].id
            for host in (limited, other)
        ]
        async with trio.open_nursery() as nursery:
            schedule = SourceSchedule(trio.current_time, 0.1, gap=0.0)
            nursery.start_soon(watch_sources, sources, repositories, WorkerMeasures(), schedule, None, 0.01)
            await until(lambda: len(other.asked) > 5 and sources.get(ids[0]).failures > 0, seconds=60)
            for _ in range(3):
                sources.ask(ids[0])
            n_before = len(other.asked)
            await until(lambda: len(other.asked) > n_before + 5, seconds=60)
            nursery.cancel_scope.cancel()

    assert len(limited.asked) == 1
    assert sources.get(ids[0]).pause_seconds == 3_000
    assert "rate limit" in sources.get(ids[0]).trouble
    assert [each.name for each in repositories.listed(is_current=True)] == ["shop/web"]
    assert len([each for each in logs if each["event"] == "source_failed"]) == 1


async def test_a_storm_of_webhooks_is_accepted_asks_for_one_turn_and_one_look_and_delays_no_question(house, tmp_path):
    alpha = await house.publish("alpha", files_of("alpha"), groups=["red"])
    headers = {"authorization": f"Bearer {house.tokens.add('anna', ['red'])}"}
    sources = Sources(house.engine)
    source, _ = sources.add(new_source("https://git.example.org/team-alpha", kind="gitlab"))
    sources.update(source.id, lambda old: replace(old, polls=1, begun=1, done=1))
    house.repositories.update(alpha.repo_id, lambda old: replace(old, done_changes=old.changes))
    house.engine.refresh(house.engine.names.sources)
    pushed = json.dumps({"repository": {"clone_url": url_of("alpha")}}).encode()
    unknown = json.dumps({"repository": {"clone_url": "https://git.example.org/team-alpha/new"}}).encode()
    statuses: Counter[int] = Counter()

    async def storm(port: int) -> None:
        for body in (pushed, unknown) * 15:
            statuses[(await ask(port, "POST", "/webhook", body, x_gitlab_token="hush")).status] += 1

    settings = house.settings()
    async with (
        serving_library(settings, tmp_path / "cache", webhook_secret="hush") as served,
        trio.open_nursery() as nursery,
    ):
        for _ in range(8):
            nursery.start_soon(storm, served.port)
        for _ in range(10):
            arguments = {"name": "turn_alpha", "workspace": "alpha"}
            answer = await ask(served.port, "POST", "/", call("locate_symbol", arguments), **headers)
            assert len(answer.said()["results"]) == 1

    assert statuses == {202: 240}
    assert house.repositories.get(alpha.repo_id).changes == alpha.changes + 1
    assert sources.get(source.id).asked == 2
