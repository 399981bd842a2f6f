"""A real Gitea or Forgejo, if one is named (`real_gitea.py`): what is found there, who may see it, pushes, and moves."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import pytest
import trio
from msgspec.structs import replace

from codecompass.cluster.hosts import members, watch
from codecompass.cluster.hosts.sources import Sources, new_source
from codecompass.cluster.indexing.worker import run_worker
from codecompass.cluster.repositories.documents import Repositories
from codecompass.settings import IndexSettings
from codecompass.store.layout import HomeLayout
from tests.cluster.organisation import Organisation, serving_library
from tests.cluster.real_gitea import ADMINISTRATOR, PASSWORD, Gitea, gitea
from tests.cluster.test_discovery import listed_with
from tests.cluster.working import options
from tests.support.waiting import until
from tests.transport.http.client import ask, call

SECRET = "a secret of webhooks"
PATIENCE = 60


def furnished(host: Gitea) -> None:
    """Makes an organisation with people who may see different things."""
    for name in ("ada", "ben", "carla", "dora", "emil"):
        host.add_user(name)
    host.call("POST", "/orgs", {"username": "shop"})
    host.call("POST", "/orgs", {"username": "hidden", "visibility": "limited"})
    for name in ("api", "web"):
        host.add_repository("shop", name)
    host.add_repository("shop", "site", is_private=False)
    host.add_repository("hidden", "inside", is_private=False)
    host.add_team("shop", "coders", {"repo.code": "read"}, repositories=("api",), members=("ada", "emil"))
    host.add_team("shop", "talkers", {"repo.issues": "read"}, repositories=("api", "web"), members=("ben",))
    host.call("PUT", "/repos/shop/web/collaborators/carla", {"permission": "read"})
    host.call("PATCH", "/admin/users/emil", {"source_id": 0, "login_name": "emil", "prohibit_login": True})


@asynccontextmanager
async def worker_of(house: Organisation, home: Path, tokens: Path) -> AsyncIterator[None]:
    """Runs a worker that follows code hosts with these tokens."""
    given = house.settings()
    settings = replace(given, cluster=replace(given.cluster, host_tokens=str(tokens)), index=IndexSettings(workers=1))
    stop = trio.Event()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(run_worker, house.engine, settings, HomeLayout(home), stop, options())
        try:
            yield
        finally:
            stop.set()


@pytest.mark.slow
def test_what_it_lists_and_who_may_read_is_understood():
    with gitea() as host:
        furnished(host)
        for number in range(60):
            host.add_repository("shop", f"part{number}")
        token = host.token()
        shop, read = listed_with("gitea", host.url, token, "shop")
        hidden, _ = listed_with("gitea", host.url, token, "hidden")
        _, alone = listed_with("gitea", host.url, token, ADMINISTRATOR)

    assert {each.name for each in shop} == {f"shop/{name}" for name in ("api", "web", "site", *(f"part{n}" for n in range(60)))}
    assert {each.name for each in (*shop, *hidden) if each.is_public} == {"shop/site"}
    assert read["shop/api"] == {ADMINISTRATOR, "ada"}
    assert read["shop/web"] == {ADMINISTRATOR, "carla"}
    assert alone == {}


@pytest.mark.slow
@pytest.mark.cluster
async def test_an_organisation_follows_it_with_permissions_pushes_and_moves(house, tmp_path, monkeypatch):
    monkeypatch.setattr(watch, "PERMISSIONS_GAP_SECONDS", 0.2)
    monkeypatch.setattr(members, "KNOWN_SECONDS", 0.0)
    sources, repositories = Sources(house.engine), Repositories(house.engine, ("http",))
    access = {
        "trusted_proxies": ("127.0.0.0/8",),
        "user_header": "X-User",
        "groups_header": "X-Groups",
        "host_permissions": True,
    }
    with gitea() as host:
        furnished(host)
        for name in ("api", "web", "site"):
            host.push(f"shop/{name}", f"{name}.py", f"def only_in_{name}():\n    return 1\n")
        tokens = tmp_path / "tokens"
        tokens.mkdir()
        (tokens / "127.0.0.1").write_text(host.token())
        git = tmp_path / "gitconfig"
        helper = f"!f() {{ echo username={ADMINISTRATOR}; echo password={PASSWORD}; }}; f"
        git.write_text(f'[credential "{host.url}"]\n\thelper = "{helper}"\n')
        monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(git))
        async with (
            worker_of(house, tmp_path / "home", tokens),
            serving_library(house.settings(**access), tmp_path / "cache", webhook_secret=SECRET) as served,
        ):

            async def seen(login: str) -> set[str]:
                answer = await ask(served.port, "POST", "/", call("health_check", {}), **{"x-user": login})
                return {each["project_id"].rpartition("/")[2] for each in answer.said()["projects"] if each["file_count"]}

            async def found(login: str, name: str) -> bool:
                arguments = {"query": name, "mode": "literal", "workspace": "*"}
                answer = await ask(served.port, "POST", "/", call("search_code", arguments), **{"x-user": login})
                return bool(answer.said().get("results"))

            async def wait_for(is_so: Callable[[], Awaitable[bool]]) -> None:
                with trio.fail_after(PATIENCE):
                    while not await is_so():  # noqa: ASYNC110 (the engine tells nobody)
                        await trio.sleep(0.2)

            async def wait_until_seen(login: str, expected: set[str]) -> None:
                async def is_seen() -> bool:
                    return await seen(login) == expected

                await wait_for(is_seen)

            source = await trio.to_thread.run_sync(sources.add, new_source(f"{host.url}/shop", kind="gitea", permissions=True))
            source_id = source[0].id
            await wait_until_seen("ada", {"api", "site"})
            await wait_until_seen("Carla", {"web", "site"})
            for login in ("ben", "dora", "emil"):
                await wait_until_seen(login, {"site"})
            assert await found("ada", "only_in_api")
            assert not await found("ben", "only_in_api")

            # A push is announced by a webhook, with its signature.
            config = {"url": f"http://127.0.0.1:{served.port}/webhook", "content_type": "json", "secret": SECRET}
            hook = {"type": "gitea", "config": config, "events": ["push", "repository"], "active": True}
            host.call("POST", "/orgs/shop/hooks", hook)
            # The worker polls as well; only a webhook asks for a look at the owner.
            before = sources.get(source_id).asked
            host.add_repository("shop", "fresh")
            host.push("shop/fresh", "fresh.py", "def only_in_fresh():\n    return 1\n")
            await until(lambda: sources.get(source_id).asked > before, seconds=PATIENCE)
            await wait_for(partial(found, ADMINISTRATOR, "only_in_fresh"))
            host.push("shop/api", "more.py", "def added_to_api():\n    return 2\n")
            await wait_for(partial(found, "ada", "added_to_api"))

            # Renamed, and given to other people: the host's id says that it is the same repository.
            host.call("PATCH", "/repos/shop/api", {"name": "gateway"})
            host.call("POST", "/admin/users/ada/rename", {"new_username": "lovelace"})
            host.call("PUT", "/repos/shop/gateway/collaborators/dora", {"permission": "read"})
            await trio.to_thread.run_sync(sources.ask, source_id)
            await wait_until_seen("dora", {"gateway", "site"})
            assert await seen("lovelace") == {"gateway", "site"}
            assert await seen("ada") == {"site"}
            assert not await found("ada", "only_in_api")

            # Made private, and given away.
            host.call("PATCH", "/repos/shop/site", {"private": True})
            host.call("POST", "/repos/shop/gateway/transfer", {"new_owner": "hidden"})
            await trio.to_thread.run_sync(sources.ask, source_id)
            await wait_until_seen("dora", set())
            names = {each.name for each in repositories.listed(is_current=True)}

    assert names == {"shop/web", "shop/site", "shop/fresh"}
