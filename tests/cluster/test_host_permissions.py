"""Who may see a repository because they may read it at its code host: what hosts say, and how long it counts."""

import time

import pytest
from structlog.testing import capture_logs

from codecompass.cluster.access import AccessToken, Viewer, visible
from codecompass.cluster.authentication import Authenticator, trusted_proxy
from codecompass.cluster.calls import EngineCalls
from codecompass.cluster.engine import EngineUnavailable
from codecompass.cluster.hosts.kinds import KINDS
from codecompass.cluster.hosts.members import KNOWN_SECONDS, Member, ReaderGroups, group_of_readers
from codecompass.cluster.hosts.sources import new_source
from codecompass.errors import InvalidInput
from codecompass.remote.address import parse_address
from codecompass.remote.rest import RestClient
from codecompass.settings import AccessSettings
from codecompass.transport.http.request import HttpRefusal
from tests.cluster.code_hosts import CodeHost, Hosted, code_host
from tests.cluster.test_access import heading
from tests.cluster.test_discovery import Following, engine, listed

__all__ = ("engine",)

cluster = pytest.mark.cluster
telling = pytest.mark.parametrize("kind", [name for name, each in KINDS.items() if each.readers is not None])

PEOPLE = ("ada", "Ben", "carla", "dora", "emil")
READ = [Hosted(1, "api", readers=PEOPLE, others=("zoe",)), Hosted(2, "web", readers=("ada",)), Hosted(3, "site", is_public=True)]


def readers(host: CodeHost) -> dict[str, set[str]]:
    kind = KINDS[host.kind]
    client = RestClient(parse_address(kind.api(host.site, False)), {})
    try:
        return {each.name: set(kind.readers(client, each)) for each in kind.list(client, host.owner)}
    finally:
        client.close()


# What hosts say.


@telling
def test_a_host_names_those_who_may_read_the_code_on_all_pages(kind: str):
    with code_host(kind, READ) as host:
        found = readers(host)
        public = {each.name for each in listed(host) if each.is_public}

    assert found["shop/api"] == set(PEOPLE)
    assert found["shop/web"] == {"ada"}
    assert public == {"shop/site"}


def test_a_users_own_repository_has_no_teams():
    with code_host("gitea", READ, is_user=True) as host:
        assert readers(host)["shop/api"] == {"ada", "shop"}


def test_a_kind_that_does_not_tell_is_refused():
    with pytest.raises(InvalidInput, match="github, gitlab, gitea"):
        new_source("https://dev.azure.com/shop", permissions=True)


# What servers make of it.


class Known:
    """The members as an engine has them. `n_asked` counts lookups."""

    def __init__(self, **members: Member) -> None:
        self.members = members
        self.n_asked = 0
        self.is_away = False

    def of(self, login: str) -> tuple[Member, ...]:
        self.n_asked += 1
        if self.is_away:
            raise EngineUnavailable("away")
        found = self.members.get(login.lower())
        return () if found is None else (found,)


def member(*repositories: str, seconds_ago: float = 0.0) -> Member:
    return Member(source="s", login="", repositories=repositories, checked_at=time.time() - seconds_ago)


PROXY = {"trusted_proxies": ("10.0.0.0/8",), "user_header": "X-User", "groups_header": "X-Groups"}


def keeper(known: Known, token: AccessToken | None = None, **settings) -> Authenticator:
    groups = ReaderGroups(known, EngineCalls(2), max_age=7_200)
    return Authenticator(lambda _: token, trusted_proxy(AccessSettings(**PROXY, **settings)), EngineCalls(2), groups)


async def viewer(of: Authenticator, **headers: str) -> Viewer:
    return await of.viewer(await of.identify(heading(peer="10.0.0.1", **headers)))


async def test_a_user_of_the_proxy_is_in_the_groups_of_readers_of_what_they_may_read():
    known = Known(ada=member("one", "two"))

    assert (await viewer(keeper(known), x_user="ada", x_groups="web")).groups == {"web", "host:one", "host:two"}
    assert (await viewer(keeper(known), x_user="ben")).groups == frozenset()
    by_header = keeper(known, login_header="X-Login")
    assert (await viewer(by_header, x_user="Ada Lovelace", x_login="ada")).groups == {"host:one", "host:two"}
    assert (await viewer(by_header, x_user="ada")).groups == frozenset()
    with pytest.raises(HttpRefusal):
        await viewer(by_header, x_user="ada", x_login="ada, root")


async def test_what_was_read_too_long_ago_shows_nothing():
    assert (await viewer(keeper(Known(ada=member("one", seconds_ago=7_100))), x_user="ada")).groups == {"host:one"}
    assert (await viewer(keeper(Known(ada=member("one", seconds_ago=7_300))), x_user="ada")).groups == frozenset()


async def test_a_lost_permission_counts_no_longer_than_promised(mock_clock):
    known = Known(ada=member("one"))
    of = keeper(known)
    await viewer(of, x_user="ada")
    known.members.clear()
    mock_clock.jump(KNOWN_SECONDS - 1)
    assert (await viewer(of, x_user="ada")).groups == {"host:one"}
    assert known.n_asked == 1
    mock_clock.jump(1)
    assert (await viewer(of, x_user="ada")).groups == frozenset()


async def test_while_the_engine_is_away_nobody_is_shown_anything(mock_clock):
    known = Known(ada=member("one"))
    of = keeper(known)
    await viewer(of, x_user="ada")
    known.is_away = True
    mock_clock.jump(KNOWN_SECONDS)

    with pytest.raises(HttpRefusal) as refused:
        await viewer(of, x_user="ada")
    assert refused.value.status == 503


async def test_nobody_names_a_group_of_readers():
    known = Known()
    token = AccessToken(name="ada", groups=("web", "host:one"))

    assert (await viewer(keeper(known), x_user="eve", x_groups="host:one, web")).groups == {"web"}
    assert (await viewer(keeper(known, group_names=("theirs=host:one",)), x_user="eve", x_groups="theirs")).groups == frozenset()
    assert (await viewer(keeper(known, token), authorization="Bearer x")).groups == {"web"}
    assert known.n_asked == 2


async def test_groups_are_named_as_the_identity_provider_names_them():
    of = keeper(Known(), group_names=("Team_Backend=backend", "CN=Web=web"))

    assert (await viewer(of, x_user="ada", x_groups="Team_Backend,CN=Web,other")).groups == {"backend", "web", "other"}
    for wrong in ("backend", "=backend", "Team="):
        with pytest.raises(InvalidInput, match="their name=our name"):
            keeper(Known(), group_names=(wrong,))


# From a host to an answer.


@cluster
@telling
def test_repositories_are_seen_by_those_who_may_read_them_at_the_host(engine, kind):
    with code_host(kind, READ) as host:
        follows = Following(engine, host, permissions=True)
        assert follows.look().added == 3
        engine.refresh(engine.names.members)

        def seen(login: str) -> set[str]:
            found = {group_of_readers(each) for member in follows.sources.members.of(login) for each in member.repositories}
            return {each.name for each in visible(Viewer(login, frozenset(found)), follows.repositories.listed(is_current=True))}

        assert {login: seen(login) for login in ("ada", "ben", "zoe", "blocked")} == {
            "ada": {"shop/api", "shop/web", "shop/site"},
            "ben": {"shop/api", "shop/site"},
            "zoe": {"shop/site"},
            "blocked": {"shop/site"},
        }
        host.repositories = [Hosted(1, "api", readers=("ben",)), Hosted(2, "web", readers=("ada",)), Hosted(3, "site")]
        follows.look()
        engine.refresh(engine.names.members)
        assert {login: seen(login) for login in ("ada", "ben", "emil")} == {
            "ada": {"shop/web"},
            "ben": {"shop/api"},
            "emil": set(),
        }
        follows.sources.remove(f"{host.site}/shop")
        engine.refresh(engine.names.members)
        assert [seen(login) for login in ("ada", "ben")] == [set(), set()]


@cluster
def test_if_the_host_stops_in_the_middle_what_was_known_stays_and_grows_old(engine):
    with code_host("github", READ) as host, capture_logs():
        follows = Following(engine, host, permissions=True)
        follows.look()
        engine.refresh(engine.names.members)
        [before] = follows.sources.members.of("ben")
        host.repositories = [Hosted(1, "api"), Hosted(2, "web", readers=("ada",)), Hosted(4, "new", readers=("ada",))]
        # Two pages of repositories, then the readers.
        host.refusals_after = 2
        host.refusals = [(429, {"Retry-After": "60"})]
        assert follows.look() is None
        engine.refresh(engine.names.members)

        assert follows.sources.members.of("ben") == (before,)
        assert "shop/new" in follows.names()
        assert follows.source.pause_seconds == 60
        assert follows.look() is not None
        engine.refresh(engine.names.members)
        assert follows.sources.members.of("ben") == ()
