"""Who may see a repository because they may read it at its code host: what hosts say, and how long it counts."""

import time

import pytest
from structlog.testing import capture_logs

from codecompass.cluster.access.authentication import Authenticator, trusted_proxy
from codecompass.cluster.access.tokens import AccessToken
from codecompass.cluster.access.visibility import Viewer, visible
from codecompass.cluster.engine.calls import EngineCalls
from codecompass.cluster.engine.failures import EngineUnavailable
from codecompass.cluster.hosts.kinds import KINDS
from codecompass.cluster.hosts.members import ANYBODY, KNOWN_SECONDS, Member, ReaderGroups, group_of_readers
from codecompass.errors import InvalidInput
from codecompass.remote.address import parse_address
from codecompass.remote.rest import RestClient, ServiceFailed
from codecompass.settings import AccessSettings
from codecompass.transport.http.request import HttpRefusal
from tests.cluster.code_hosts import PROJECT, CodeHost, Hosted, acl, code_host, rules
from tests.cluster.test_access import heading
from tests.cluster.test_discovery import Following, listed

cluster = pytest.mark.cluster
every_kind = pytest.mark.parametrize("kind", sorted(KINDS))

PEOPLE = ("ada", "Ben", "carla", "dora", "emil")
READ = [Hosted(1, "api", readers=PEOPLE, others=("zoe",)), Hosted(2, "web", readers=("ada",)), Hosted(3, "site", is_public=True)]


def readers(host: CodeHost) -> dict[str, set[str]]:
    kind = KINDS[host.kind]
    client = RestClient(parse_address(kind.api(host.site, False)), {})
    try:
        listed = list(kind.list(client, host.owner))
        of = kind.readers(client, host.owner)
        return {each.name: set(of(each)) for each in listed}
    finally:
        client.close()


def rights(kind: str, **fields) -> dict[str, set[str]]:
    """Who may read the repositories `api` and `web`, without the owner's name."""
    repositories = [Hosted(1, "api"), Hosted(2, "web")]
    with code_host(kind, repositories, **fields) as host:
        return {name.rpartition("/")[2]: people for name, people in readers(host).items()}


# What hosts say.


@every_kind
def test_a_host_names_those_who_may_read_the_code_on_all_pages(kind: str):
    with code_host(kind, READ) as host:
        found = readers(host)
        public = {each.name for each in listed(host) if each.is_public}

    assert found["shop/api"] == set(PEOPLE)
    assert found["shop/web"] == {"ada"}
    # Gerrit has rules for everybody instead.
    assert public == (set() if kind == "gerrit" else {"shop/site"})


def test_a_users_own_repository_has_no_teams():
    with code_host("gitea", READ, is_user=True) as host:
        assert readers(host)["shop/api"] == {"ada", "shop"}


@pytest.mark.parametrize("visibility", ["limited", "private"])
def test_what_an_owner_shows_only_to_people_with_an_account_is_not_public(visibility):
    with code_host("gitea", READ, owner_visibility=visibility) as host:
        assert not any(each.is_public for each in listed(host))


@every_kind
@pytest.mark.parametrize("cut", [1, 40])
def test_an_answer_that_ends_too_early_names_nobody(kind: str, cut: int):
    with code_host(kind, READ) as host:
        n_before = len(listed(host)) and len(host.asked)
        host.cut, host.cut_after = cut, n_before
        with pytest.raises(ServiceFailed, match="ended too early"):
            readers(host)


@every_kind
@pytest.mark.parametrize("status", [401, 403, 404, 500])
def test_a_host_that_refuses_to_tell_names_nobody(kind: str, status: int):
    with code_host(kind, READ[:1]) as host:
        listed(host)
        host.refusals_after = len(host.asked)
        host.refusals = [(status, {})] * 20
        if (kind, status) in (("gitea", 404), ("gerrit", 404)):
            # The host has no teams, as a user has none; or no such group.
            return
        with pytest.raises(ServiceFailed):
            readers(host)


def test_gerrit_lets_read_whom_all_rules_of_a_project_and_its_parents_let_read():
    groups = {
        "staff": ["ada", "ben", "nested"],
        "nested": ["carla", "staff"],
        "guests": ["dora"],
        "interns": ["ben"],
        "ldap:far": ["emil"],
        "everybody": ["ada", "ben", "carla", "dora", "zoe"],
    }

    def of(*chain: dict) -> set[str]:
        given = dict(zip(("shop/api", "base", "All-Projects"), chain, strict=False))
        return rights("gerrit", groups=groups, rules={"base": {}, **given}, parents={"shop/api": "base"})["api"]

    inherited = {"refs/*": rules("staff")}
    assert of({}, {}, {}) == set()
    assert of({}, inherited) == {"ada", "ben", "carla"}
    assert of({"refs/heads/*": rules("guests")}, inherited) == {"ada", "ben", "carla", "dora"}
    # One branch is not all of them.
    assert of({"refs/heads/main": rules("guests")}) == set()
    # What is taken away, here or above, by a pattern that matches some branch.
    assert of({"refs/*": rules(staff="DENY")}, inherited) == set()
    assert of({"refs/*": rules("guests", staff="DENY")}, inherited) == {"dora"}
    assert of({"refs/heads/secret/*": rules(interns="DENY")}, inherited) == {"ada", "carla"}
    assert of({"^refs/heads/.*-x": rules(interns="BLOCK")}, inherited) == {"ada", "carla"}
    assert of({"refs/*": rules("staff")}, {"refs/*": rules(interns="BLOCK")}) == {"ada", "carla"}
    assert of({"refs/heads/secret/*": rules("interns", exclusive="yes")}, inherited) == {"ben"}
    assert of({"refs/*": rules("guests", exclusive="yes")}, inherited) == {"dora"}
    # Settings are not code.
    assert of({"refs/meta/config": rules("guests", exclusive="yes")}, inherited) == {"ada", "ben", "carla"}
    # Everybody, owners, and groups whose members are not told.
    assert of({"refs/*": rules("global:Registered-Users")}) == {"ada", "ben", "carla", "dora", "zoe"}
    owned = {
        "refs/*": {
            "permissions": {"owner": rules("guests")["permissions"]["read"], **rules("global:Project-Owners")["permissions"]}
        }
    }
    assert of(owned) == {"dora"}
    assert of({"refs/*": rules("ldap:far", "guests")}) == {"dora"}
    assert of({"refs/*": rules("guests", **{"ldap:far": "BLOCK"})}) == set()
    assert of({"refs/*": rules("guests", **{"global:Anonymous-Users": "BLOCK"})}) == set()


def test_gerrit_must_show_its_rules():
    with pytest.raises(ServiceFailed, match="refs/meta/config"):
        rights("gerrit", is_hiding_rules=True)
    with pytest.raises(ServiceFailed, match="parents"):
        rights("gerrit", parents={"shop/api": "shop/web", "shop/web": "shop/api"})


def test_azure_lets_read_whom_a_list_allows_and_none_denies():
    groups = {
        "Group Staff": ["ada", "Group Nested", "blocked"],
        "Group Nested": ["ben", "Group Staff"],
        "Group Interns": ["ben"],
        "entra": ["dora"],
        "Group Mixed": ["entra", "ben"],
    }

    def of(repository=None, project=None, every=None) -> set[str]:
        given = {f"repoV2/{PROJECT}/0000-1": repository, f"repoV2/{PROJECT}": project, "repoV2": every}
        return rights("azure", groups=groups, rules={token: each for token, each in given.items() if each is not None})["api"]

    staff = acl(["Group Staff"])
    assert of() == set()
    assert of(staff) == of(project=staff) == of(every=staff) == {"ada", "ben"}
    assert of(acl(["dora"]), staff) == {"ada", "ben", "dora"}
    assert of(acl(inherits=False), staff) == set()
    assert of(None, acl(["dora"], inherits=False), staff) == {"dora"}
    assert of(acl(deny=["Group Interns"]), staff) == {"ada"}
    assert of(staff, acl(deny=["Group Interns"])) == {"ada"}
    # A group of Entra ID has members whom Azure DevOps does not know: enough to let in, not to keep out.
    assert of(acl(["entra", "ada"])) == {"dora", "ada"}
    assert of(acl(["ada"], deny=["entra"])) == set()
    assert of(acl(["ada"], deny=["Group Mixed"])) == set()
    # Somebody who does not exist any more.
    assert of(acl(["ada", "gone"])) == {"ada"}
    assert of(acl(["ada"], deny=["gone"])) == set()


def test_groups_are_read_once_for_all_repositories():
    people = [f"p{number}" for number in range(100)]
    for kind, most in (("gerrit", 25), ("azure", 12)):
        repositories = [Hosted(number, f"r{number}") for number in range(20)]
        given = (
            {f"shop/r{number}": {"refs/*": rules("all")} for number in range(20)}
            if kind == "gerrit"
            else {f"repoV2/{PROJECT}": acl(["Group All"])}
        )
        with code_host(kind, repositories, page=100, rules=given, groups={"all": people, "Group All": people}) as host:
            found = readers(host)

        assert all(each == set(people) for each in found.values())
        assert len(host.asked) <= most


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
        found = (self.members.get(login.lower()), self.members.get("public"))
        return tuple(each for each in found if each is not None)


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


async def test_what_is_public_at_the_host_is_seen_by_every_viewer_as_long_as_that_is_known():
    known = Known(public=member("site"), ada=member("one"))
    token = AccessToken(name="ci", groups=("web",))

    assert (await viewer(keeper(known), x_user="ada")).groups == {"host:one", "host:site"}
    assert (await viewer(keeper(known), x_user="eve")).groups == {"host:site"}
    assert (await viewer(keeper(known, token), authorization="Bearer x")).groups == {"web", "host:site"}
    known.members["public"] = member("site", seconds_ago=7_300)
    assert (await viewer(keeper(known, token), authorization="Bearer x")).groups == {"web"}


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
    # Also for the token, because of what is public.
    assert known.n_asked == 3


async def test_groups_are_named_as_the_identity_provider_names_them():
    of = keeper(Known(), group_names=("Team_Backend=backend", "CN=Web=web"))

    assert (await viewer(of, x_user="ada", x_groups="Team_Backend,CN=Web,other")).groups == {"backend", "web", "other"}
    for wrong in ("backend", "=backend", "Team="):
        with pytest.raises(InvalidInput, match="their name=our name"):
            keeper(Known(), group_names=(wrong,))


# From a host to an answer.


@cluster
@every_kind
def test_repositories_are_seen_by_those_who_may_read_them_at_the_host(engine, kind):
    with code_host(kind, READ) as host:
        follows = Following(engine, host, permissions=True)
        assert follows.look().added == 3
        engine.refresh(engine.names.members)

        public = set() if kind == "gerrit" else {"shop/site"}

        def seen(login: str) -> set[str]:
            found = {group_of_readers(each) for member in follows.sources.members.of(login) for each in member.repositories}
            return {each.name for each in visible(Viewer(login, frozenset(found)), follows.repositories.listed(is_current=True))}

        assert {login: seen(login) for login in ("ada", "ben", "zoe", "blocked")} == {
            "ada": {"shop/api", "shop/web", *public},
            "ben": {"shop/api", *public},
            "zoe": public,
            "blocked": public,
        }
        host.repositories = [Hosted(1, "api", readers=("ben",)), Hosted(2, "web", readers=("ada",)), Hosted(3, "site")]
        follows.look()
        engine.refresh(engine.names.members)
        # The site is not public any more.
        assert {login: seen(login) for login in ("ada", "ben", "emil")} == {
            "ada": {"shop/web"},
            "ben": {"shop/api"},
            "emil": set(),
        }
        follows.sources.remove(f"{host.site}/shop")
        engine.refresh(engine.names.members)
        assert [seen(login) for login in ("ada", "ben")] == [set(), set()]


@cluster
def test_a_repository_whose_readers_the_token_may_not_list_is_named_and_nothing_changes(engine):
    with code_host("bitbucket-data-center", READ) as host, capture_logs():
        follows = Following(engine, host, permissions=True)
        follows.look()
        host.repositories = [Hosted(1, "api"), Hosted(2, "web", readers=("ada",))]
        host.refusals_after, host.refusals = 2, [(403, {})]
        failed = follows.look()
        engine.refresh(engine.names.members)
        still = [each.login for each in follows.sources.members.of("ben")]

    assert failed is None
    assert "shop/web" in follows.source.trouble
    assert "cluster.host_tokens" in follows.source.trouble
    assert sorted(still) == [ANYBODY, "ben"]


@cluster
def test_of_two_logins_that_differ_in_case_alone_neither_counts(engine):
    repositories = [Hosted(1, "api", readers=("ada", "ben")), Hosted(2, "web", readers=("Ada", "ben", "*"))]
    with code_host("gerrit", repositories) as host:
        follows = Following(engine, host, permissions=True)
        follows.look()
        engine.refresh(engine.names.members)

    assert [len(follows.sources.members.of(login)) for login in ("ada", "Ada", "ben", "nobody")] == [0, 0, 1, 0]


@cluster
def test_if_the_host_stops_in_the_middle_what_was_known_stays_and_grows_old(engine):
    with code_host("github", READ) as host, capture_logs():
        follows = Following(engine, host, permissions=True)
        follows.look()
        engine.refresh(engine.names.members)
        before = follows.sources.members.of("ben")
        assert {each.login for each in before} == {"ben", ANYBODY}
        host.repositories = [Hosted(1, "api"), Hosted(2, "web", readers=("ada",)), Hosted(4, "new", readers=("ada",))]
        # Two pages of repositories, then the readers.
        host.refusals_after = 2
        host.refusals = [(429, {"Retry-After": "60"})]
        assert follows.look() is None
        engine.refresh(engine.names.members)

        assert set(follows.sources.members.of("ben")) == set(before)
        assert "shop/new" in follows.names()
        assert follows.source.pause_seconds == 60
        assert follows.look() is not None
        engine.refresh(engine.names.members)
        assert follows.sources.members.of("ben") == ()  # nothing is public any more
