"""Repositories of owners at code hosts: what each kind of host lists, and how an organisation's repositories follow that."""

import time
from contextlib import closing

import pytest
from msgspec.structs import replace

from codecompass.cluster.engine.client import Engine
from codecompass.cluster.hosts import following
from codecompass.cluster.hosts.discovery import look
from codecompass.cluster.hosts.kinds import KINDS
from codecompass.cluster.hosts.sources import Source, Sources, ended, new_source
from codecompass.cluster.hosts.watch import ABANDONED_SECONDS, GAP_SECONDS, SourceSchedule
from codecompass.cluster.repositories.documents import Repositories
from codecompass.cluster.repositories.moves import finish_moves, move
from codecompass.cluster.repositories.repository import RefHead
from codecompass.cluster.serving.webhook import lists_otherwise, note_listed
from codecompass.errors import InvalidInput
from codecompass.remote.address import parse_address
from codecompass.remote.rest import RestClient, ServiceFailed
from tests.cluster.code_hosts import CodeHost, Hosted, code_host
from tests.cluster.test_repositories import at_once

cluster = pytest.mark.cluster
every_kind = pytest.mark.parametrize("kind", sorted(KINDS))

FIVE = [Hosted(1, "api"), Hosted(2, "web"), Hosted(3, "old", archived=True), Hosted(4, "copy", fork=True), Hosted(5, "app")]
HAS_FORKS = {kind for kind in KINDS if kind != "gerrit"}
HAS_ARCHIVED = {kind for kind in KINDS if kind != "bitbucket"}


def source_of(host: CodeHost, **fields) -> Source:
    return new_source(f"{host.site}/{host.owner}", kind=host.kind, **fields)


def listed(host: CodeHost, token: str = "", owner: str = "shop") -> list:
    kind = KINDS[host.kind]
    api = parse_address(kind.api(host.site, bool(token)))
    with closing(RestClient(api, kind.headers(token) if token else {})) as client:
        return list(kind.list(client, owner))


def listed_with(kind: str, site: str, token: str, owner: str) -> tuple[list, dict[str, set[str]]]:
    """What a host lists, and who may read each repository, by its name."""
    of = KINDS[kind]
    with closing(RestClient(parse_address(of.api(site, bool(token))), of.headers(token) if token else {})) as client:
        found = list(of.list(client, owner))
        readers = of.readers(client, owner)
        return found, {each.name: set(readers(each)) for each in found}


# What hosts list.


@every_kind
def test_all_pages_of_an_owner_are_read(kind: str):
    with code_host(kind, FIVE) as host:
        found = {each.name.rpartition("/")[2]: each for each in listed(host)}

    assert list(found) == ["api", "web", "old", "copy", "app"]
    assert len({each.host_id for each in found.values()}) == 5
    assert all(each.name == f"shop/{name}" for name, each in found.items())
    assert {name for name, each in found.items() if each.is_archived} == ({"old"} if kind in HAS_ARCHIVED else set())
    assert {name for name, each in found.items() if each.is_fork} == ({"copy"} if kind in HAS_FORKS else set())
    assert all(f"127.0.0.1:{host.port}/shop/{name}" in each.url for name, each in found.items())


@pytest.mark.parametrize("kind", ["github", "gitlab", "gitea"])
def test_an_owner_may_be_a_user(kind: str):
    with code_host(kind, FIVE, is_user=True) as host:
        assert len(listed(host)) == 5
        with pytest.raises(ServiceFailed) as raised:
            listed(host, owner="other")

    assert raised.value.status == 404


@every_kind
def test_a_token_is_sent_as_the_host_wants_it(kind: str):
    with code_host(kind, FIVE, token="ada:secret") as host:
        assert len(listed(host, "ada:secret")) == 5
        with pytest.raises(ServiceFailed) as raised:
            listed(host, "ada:wrong")

    assert raised.value.status == 401
    assert "wrong" not in str(raised.value)


@every_kind
def test_an_answer_of_another_kind_is_named_as_such(kind: str):
    with code_host(kind, FIVE, body=b'"<html>"') as host, pytest.raises(ServiceFailed, match="not that of this kind of host"):
        listed(host)


def test_a_link_to_another_host_is_not_followed():
    with code_host("github", FIVE) as other, code_host("github", FIVE, token="t") as host:
        host.refusals = [(200, {"Link": f'<{other.site}/next>; rel="next"'})]
        host.body = b"[]"
        with pytest.raises(ServiceFailed, match="another host"):
            listed(host, "t")

    assert other.asked == []


def test_hosts_on_the_internet_are_known_and_others_must_be_named():
    kinds = {url: new_source(url).kind for url in ("https://github.com/a", "https://codeberg.org/a", "https://dev.azure.com/a/b")}

    assert list(kinds.values()) == ["github", "gitea", "azure"]
    assert new_source("https://gerrit.googlesource.com").owner == ""
    for url, said in (
        ("https://git.example.org/a", "--kind"),
        ("http://github.com/a", "https://"),
        ("https://user:password@github.com/a", "cluster.host_tokens"),
        ("https://github.com", "OWNER"),
    ):
        with pytest.raises(InvalidInput, match=said) as raised:
            new_source(url)
        assert "password" not in raised.value.message


def test_patterns_archived_repositories_and_forks_are_a_choice():
    with code_host("github", FIVE) as host:
        found = listed(host)

    def wanted(**fields) -> list[str]:
        return [each.name for each in found if new_source("https://github.com/shop", **fields).wants(each)]

    assert wanted() == ["shop/api", "shop/web", "shop/app"]
    assert wanted(archived=True, forks=True) == ["shop/api", "shop/web", "shop/old", "shop/copy", "shop/app"]
    assert wanted(include=["*/ap?"], exclude=["shop/app"]) == ["shop/api"]


# When a worker looks.


class Clock:
    now = 1_000.0

    def __call__(self) -> float:
        return self.now


def test_a_source_is_looked_at_when_it_is_added_asked_for_and_after_the_interval():
    clock = Clock()
    schedule = SourceSchedule(clock, interval=600, seed=1)
    fresh = new_source("https://github.com/shop")

    assert schedule.is_due(fresh)
    claimed = replace(fresh, polls=1, begun=1)
    done = replace(claimed, done=1)
    asked = replace(done, asked=2)
    assert not schedule.is_due(claimed)
    assert not schedule.is_due(asked)
    clock.now += GAP_SECONDS
    assert schedule.is_due(asked)
    assert not schedule.is_due(replace(asked, permissions=True))
    assert not schedule.is_due(done)
    clock.now += 600 * 1.25
    assert schedule.is_due(done)
    assert schedule.is_due(replace(asked, permissions=True))
    assert schedule.is_due(claimed)
    assert 600 * 1.25 + GAP_SECONDS > ABANDONED_SECONDS


def test_a_pause_holds_whoever_asks():
    clock = Clock()
    schedule = SourceSchedule(clock, interval=60, seed=1)
    limited = replace(new_source("https://github.com/shop"), polls=3, begun=1, failures=1, pause_seconds=500.0, asked=9)
    assert not schedule.is_due(limited)
    clock.now += 499

    assert not schedule.is_due(limited)
    clock.now += 1
    assert schedule.is_due(limited)


# What follows.


class Following:
    """A source in an engine, and looks at it as by a worker."""

    def __init__(self, engine: Engine, host: CodeHost, tokens=None, **fields) -> None:
        self.repositories = Repositories(engine, ("https", "http"))
        self.sources = Sources(engine)
        self.engine = engine
        self.host = host
        self.tokens = tokens
        self.id = self.sources.add(source_of(host, **fields))[0].id

    def look(self):
        claimed = self.sources.claim(self.sources.get(self.id))
        assert claimed is not None
        return look(self.sources, self.repositories, claimed, self.tokens)

    @property
    def source(self) -> Source:
        return self.sources.get(self.id)

    def names(self) -> dict[str, tuple[str, ...]]:
        return {each.name: each.groups for each in self.repositories.listed(is_current=True)}

    def indexed(self, name: str) -> None:
        """Makes a repository look as if a worker had indexed it."""
        head = RefHead(generation="g", commit="c", published_at=1.0, file_count=1, symbol_count=1, source_bytes=1)
        found = self.repositories.find(name)
        self.repositories.update(found.repo_id, lambda old: replace(old, heads={"main": head}, default_ref="main"))


@cluster
def test_repositories_are_added_and_taken_out_as_the_host_lists_them(engine):
    with code_host("github", FIVE) as host:
        follows = Following(engine, host, groups=["web"])
        first = follows.look()
        assert (first.added, first.removed, follows.names()) == (
            3,
            0,
            {f"shop/{name}": ("web",) for name in ("api", "app", "web")},
        )

        host.repositories = [replace_archived(each) if each.name == "web" else each for each in host.repositories]
        host.repositories.append(Hosted(6, "new"))
        second = follows.look()
        third = follows.look()

    assert (second.added, second.removed) == (1, 1)
    assert (third.added, third.removed, third.moved) == (0, 0, 0)
    assert sorted(follows.names()) == ["shop/api", "shop/app", "shop/new"]
    assert (follows.source.done, follows.source.failures, len(follows.source.found)) == (1, 0, 3)


def replace_archived(each: Hosted) -> Hosted:
    return Hosted(each.id, each.name, archived=True)


@cluster
@every_kind
def test_a_rename_is_followed_by_the_hosts_id_and_the_old_index_answers_until_the_new_one_is_there(engine, kind):
    with code_host(kind, [Hosted(1, "api")]) as host:
        follows = Following(engine, host, groups=["web"])
        follows.look()
        follows.indexed("shop/api")
        follows.repositories.add(host.url_of(host.repositories[0]), groups=["chosen by somebody"])
        host.rename(1, "gateway")
        changes = follows.look()
        if kind == "gerrit":
            assert (changes.added, changes.moved, changes.removed) == (1, 0, 1)
            assert follows.names() == {"shop/gateway": ("web",)}
            return
        assert (changes.added, changes.moved, changes.removed) == (0, 1, 0)
        both = {"shop/api": ("chosen by somebody",), "shop/gateway": ("chosen by somebody",)}
        assert (finish_moves(follows.repositories), follows.names()) == (0, both)
        follows.indexed("shop/gateway")
        engine.refresh(engine.names.repositories)
        assert finish_moves(follows.repositories) == 1

    assert follows.names() == {"shop/gateway": ("chosen by somebody",)}


@cluster
def test_what_was_added_by_hand_stays_as_it_is_and_stays(engine):
    with code_host("gitea", FIVE) as host:
        by_hand = Repositories(engine, ("https", "http")).add(f"{host.site}/shop/api", groups=["mine"]).repository
        follows = Following(engine, host, groups=["web"])
        follows.look()
        host.repositories = [each for each in host.repositories if each.name != "api"]
        changes = follows.look()

    assert changes.removed == 0
    assert follows.names()[by_hand.name] == ("mine",)


@cluster
def test_what_is_wanted_otherwise_is_applied_to_all_and_a_removal_by_hand_is_respected(engine):
    with code_host("gitlab", FIVE) as host:
        follows = Following(engine, host, groups=["web"])
        follows.look()
        follows.repositories.remove("shop/web")
        follows.look()
        assert sorted(follows.names()) == ["shop/api", "shop/app"]
        follows.sources.add(source_of(host, groups=["backend"], exclude=["shop/app"]))
        changes = follows.look()

    assert (changes.added, changes.removed) == (1, 1)
    assert follows.names() == {"shop/api": ("backend",), "shop/web": ("backend",)}


@cluster
def test_if_most_are_missing_nothing_is_removed_until_somebody_confirms(engine, monkeypatch):
    monkeypatch.setattr(following, "FEW", 1)
    with code_host("github", FIVE) as host:
        follows = Following(engine, host)
        follows.look()
        host.repositories = []
        refused = follows.look()
        names, trouble = follows.names(), follows.source.trouble
        follows.sources.add(source_of(host))
        confirmed = follows.look()

    assert refused is None
    assert len(names) == 3
    assert "nothing was removed" in trouble
    assert confirmed.removed == 3


@cluster
def test_a_failure_in_the_middle_of_the_list_changes_nothing(engine):
    with code_host("github", FIVE) as host:
        follows = Following(engine, host)
        follows.look()
        before = follows.names()
        host.repositories = [*host.repositories[2:], Hosted(7, "late")]
        assert follows.sources.ask(follows.id).asked == 2
        # The first page is a list, the second does not exist.
        host.refusals = [(200, {"Link": f'<{host.site}/gone>; rel="next"'}), (404, {})]
        host.body = b"[]"
        failed = follows.look()

    assert failed is None
    assert follows.names() == before
    assert follows.source.failures == 1


@cluster
@pytest.mark.parametrize(
    ("status", "headers", "seconds"),
    [
        (429, {"Retry-After": "120"}, 120),
        (403, {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "in 900 s"}, 840),
        (429, {"RateLimit-Remaining": "0", "RateLimit-Reset": "30"}, 30),
        (503, {}, 60),
    ],
)
def test_a_hosts_rate_limit_is_respected(engine, status, headers, seconds):
    with code_host("github", FIVE) as host:
        follows = Following(engine, host)
        host.refusals = [
            (status, {name: value.replace("in 900 s", f"{time.time() + 900:.0f}") for name, value in headers.items()})
        ]
        assert follows.look() is None
        source = follows.source

    assert seconds <= source.pause_seconds <= seconds + 61
    assert "rate limit" in source.trouble
    assert follows.names() == {}


@cluster
def test_the_token_of_a_host_is_in_a_file_and_a_wrong_one_says_so(engine, tmp_path):
    with code_host("gitlab", FIVE, token="secret") as host:
        follows = Following(engine, host, tokens=tmp_path)
        assert follows.look() is None
        without = follows.source.trouble
        (tmp_path / "127.0.0.1").write_text("secret\n")
        found = follows.look()

    assert "status 401" in without
    assert "cluster.host_tokens" in without
    assert found.added == 3
    assert (follows.source.trouble, follows.source.failures) == ("", 0)
    stored = engine.get(engine.names.sources, follows.id).source
    assert b"secret" not in stored


@cluster
def test_only_one_worker_looks_and_a_change_meanwhile_is_not_lost(engine):
    sources = Sources(engine)
    source, _ = sources.add(new_source("https://github.com/shop"))
    first, second = sources.claim(source), sources.claim(source)
    sources.ask(source.id)
    sources.update(source.id, lambda old: ended(old, first, {}))

    assert second is None
    now = sources.get(source.id)
    assert (now.begun, now.done, now.asked) == (1, 1, 2)
    assert SourceSchedule(Clock(), 600, gap=0.0).is_due(now)


# Moves by hand.


@cluster
def test_a_repository_is_moved_with_its_name_refs_and_groups(engine):
    repositories = Repositories(engine)
    repositories.add("https://a.example.org/shop/api", refs=["main"], groups=["web"], name="gateway")
    moved = move(repositories, "gateway", "git@b.example.org:store/api.git")

    assert (moved.wanted_refs, moved.groups, moved.moved_name) == (("main",), ("web",), "gateway")
    engine.refresh(engine.names.repositories)
    # Nothing answers at the old address, so there is nothing to wait for.
    assert finish_moves(repositories) == 1
    assert [each.url for each in repositories.listed(is_current=True)] == ["git@b.example.org:store/api.git"]
    repositories.delete("a" * 16, lambda _: True)
    for each in repositories.listed(with_removed=True, is_current=True):
        if each.is_removed:
            repositories.delete(each.repo_id, lambda _: True)
    engine.refresh(engine.names.repositories)
    assert finish_moves(repositories) == 1
    assert [each.name for each in repositories.listed(is_current=True)] == ["gateway"]
    assert finish_moves(repositories) == 0


@cluster
def test_a_move_onto_another_repository_is_refused(engine):
    repositories = Repositories(engine)
    for name in ("one", "two"):
        repositories.add(f"https://a.example.org/shop/{name}")

    with pytest.raises(InvalidInput, match="is a repository already"):
        move(repositories, "shop/one", "https://a.example.org/shop/two")
    assert move(repositories, "shop/one", "git@a.example.org:shop/one").url == "git@a.example.org:shop/one"


# Webhooks.


RENAMED = b'{"action": "renamed", "repository": {"id": 1, "clone_url": "https://git.example.org/Shop/gateway.git"}}'


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (RENAMED, (True, "")),
        (b'{"action": "opened", "repository": {"clone_url": "https://git.example.org/shop/api"}}', (False, "")),
        (b'{"ref": "refs/heads/main", "repository": {"clone_url": "https://git.example.org/shop/api"}}', (False, "")),
        (b'{"event_name": "project_create", "path_with_namespace": "shop/new"}', (True, "shop/new")),
        (b'{"event_name": "push", "path_with_namespace": "shop/new"}', (False, "")),
        (b'{"action": ["renamed"], "event_name": 7}', (False, "")),
    ],
)
def test_a_message_about_a_repository_itself_is_told_from_a_push(body, expected):
    assert lists_otherwise(body) == expected


@cluster
def test_a_webhook_asks_for_a_look_at_the_sources_that_it_concerns(engine):
    sources = Sources(engine)
    added = {
        name: sources.add(new_source(f"https://git.example.org/{name}", kind="gitlab"))[0].id for name in ("shop", "shopping")
    }
    other = sources.add(new_source("https://other.example.org/shop", kind="gitea"))[0].id
    engine.refresh(engine.names.sources)

    for each in (*added.values(), other):
        sources.update(each, lambda old: replace(old, polls=1, begun=1, done=1))
    engine.refresh(engine.names.sources)
    by_address = note_listed(sources, ["https://git.example.org/Shop/gateway.git"], "")
    by_path = note_listed(sources, [], "shop/deep/new")
    by_none = note_listed(sources, ["https://git.example.org/else/new"], "")

    assert (by_address, by_path, by_none) == (1, 1, 0)
    assert [sources.get(each).asked for each in (added["shop"], added["shopping"], other)] == [2, 1, 1]


@cluster
def test_a_storm_of_messages_asks_for_one_look_and_one_more_while_that_goes_on(engine):
    sources = Sources(engine)
    source, _ = sources.add(new_source("https://git.example.org/shop", kind="gitlab"))
    engine.refresh(engine.names.sources)

    def storm(_: int) -> None:
        for _ in range(50):
            note_listed(sources, ["https://git.example.org/shop/api.git"], "")

    assert at_once(4, storm) == [None] * 4
    claimed = sources.claim(sources.get(source.id))
    assert at_once(4, storm) == [None] * 4

    assert (claimed.asked, claimed.begun) == (1, 1)
    assert sources.get(source.id).asked == 2
