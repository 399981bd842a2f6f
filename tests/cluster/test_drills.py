"""Drills of what docs/organisation.md tells whoever runs a cluster: restoring a backup, and taking a release back."""

import secrets

import pytest
import trio
import trio.lowlevel

from codecompass.cluster.engine.client import Engine
from codecompass.cluster.engine.schema import CLUSTER_VERSION
from codecompass.cluster.repositories.catalog import prepare
from codecompass.cluster.repositories.documents import Repositories
from tests.cluster.organisation import files_of, serving_library, url_of
from tests.transport.http.client import ask, call

pytestmark = pytest.mark.cluster

NEWER = f"{CLUSTER_VERSION + 1}.1"

QUESTION = call("locate_symbol", {"name": "turn_alpha", "workspace": "alpha"})


@pytest.fixture
def backup(engine_cluster):
    """The name of a snapshot repository."""
    name = f"backup{secrets.token_hex(4)}"
    location = str(engine_cluster.snapshots / name)
    engine_cluster.request("PUT", f"/_snapshot/{name}", {"type": "fs", "settings": {"location": location}})
    yield name
    engine_cluster.request("DELETE", f"/_snapshot/{name}/drill")
    engine_cluster.request("DELETE", f"/_snapshot/{name}")


async def asked(house, cache, token, question=QUESTION):
    """Returns the answer of a new server."""
    async with serving_library(house.settings(), cache) as served:
        return await ask(served.port, "POST", "/", question, authorization=f"Bearer {token}")


async def test_a_cluster_that_was_lost_answers_after_a_restore_as_it_did_at_the_backup(house, engine_cluster, backup, tmp_path):
    await house.publish("alpha", files_of("alpha"), groups=["red"])
    await house.publish("beta", files_of("beta"), groups=["blue"])
    token = house.tokens.add("anna", ["red"])
    for each in house.repositories.listed(is_current=True):
        house.repositories.set_paused(each.repo_id, is_paused=True)
    before = await asked(house, tmp_path / "one", token)
    indexes = {"indices": f"{house.prefix}-*", "include_global_state": False}

    def run(method, path, body=None):
        return engine_cluster.request(method, path, body)

    await trio.to_thread.run_sync(run, "PUT", f"/_snapshot/{backup}/drill?wait_for_completion=true", indexes)
    house.repositories.add(url_of("later"), groups=["red"])
    later = house.tokens.add("bert", ["red"])
    names = house.engine.told(f"/{house.prefix}-*/_settings")
    await trio.to_thread.run_sync(run, "DELETE", f"/{','.join(names)}")
    await trio.to_thread.run_sync(run, "POST", f"/_snapshot/{backup}/drill/_restore?wait_for_completion=true", indexes)
    restored = Repositories(house.engine)

    assert (await asked(house, tmp_path / "two", token)).said() == before.said()
    assert before.said()["results"][0]["name"] == "turn_alpha"
    assert (await asked(house, tmp_path / "three", later)).status == 401
    assert {each.name: each.is_paused for each in restored.listed(is_current=True)} == {
        "team-alpha/alpha": True,
        "team-beta/beta": True,
    }
    assert restored.reconcile() == 0


async def test_a_release_with_another_format_can_be_taken_back_under_questions(house, tmp_path):
    await house.publish("alpha", files_of("alpha"), groups=["red"])
    await house.publish("beta", files_of("beta"), groups=["red"])
    token, gone = house.tokens.add("anna", ["red"]), house.tokens.add("bert", ["red"])
    newer = Engine(house.urls, prefix=house.prefix, version=NEWER, patience=60)
    answers = []

    async with serving_library(house.settings(), tmp_path / "cache") as served, trio.open_nursery() as nursery:

        async def keep_asking():
            while True:
                answers.append(await ask(served.port, "POST", "/", QUESTION, authorization=f"Bearer {token}"))

        nursery.start_soon(keep_asking)
        # The new release is run for a while ..
        await trio.to_thread.run_sync(prepare, newer)
        theirs = Repositories(newer)
        await trio.to_thread.run_sync(theirs.reconcile)
        await trio.to_thread.run_sync(lambda: theirs.add(url_of("gamma"), groups=["red"]))
        await trio.to_thread.run_sync(lambda: theirs.remove("team-beta/beta"))
        await trio.to_thread.run_sync(lambda: theirs.set_paused(theirs.find("team-alpha/alpha").repo_id, is_paused=True))
        await trio.to_thread.run_sync(lambda: house.tokens.revoke("bert"))
        # .. and taken back.
        await trio.to_thread.run_sync(lambda: newer._request("DELETE", f"/{house.prefix}-v{NEWER}-*"))
        n_followed = await trio.to_thread.run_sync(house.repositories.reconcile)
        n_before = len(answers)
        while len(answers) < n_before + 3:
            await trio.lowlevel.checkpoint()
        nursery.cancel_scope.cancel()
    newer.close()

    assert n_followed == 3
    assert {each.said()["results"][0]["name"] for each in answers} == {"turn_alpha"}
    assert {each.name: each.is_paused for each in house.repositories.listed(is_current=True)} == {
        "team-alpha/alpha": True,
        "team-gamma/gamma": False,
    }
    assert (await asked(house, tmp_path / "again", gone)).status == 401
