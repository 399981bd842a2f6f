"""Tokens and what was asked of repositories outlast a change of the format of indexes."""

import pytest
import trio
import trio.lowlevel

from codecompass.cluster.access.tokens import Tokens
from codecompass.cluster.engine.client import Engine
from codecompass.cluster.engine.schema import CLUSTER_VERSION
from codecompass.cluster.repositories.catalog import Catalog, prepare
from codecompass.cluster.repositories.documents import Repositories
from tests.cluster.organisation import files_of, organisation, serving_library, url_of
from tests.transport.http.client import ask, call

pytestmark = pytest.mark.cluster

NEWER = f"{CLUSTER_VERSION + 1}.1"


@pytest.fixture
def house(engine_cluster, tmp_path):
    with organisation(engine_cluster.urls, tmp_path / "house") as made:
        yield made


@pytest.fixture
def newer(house):
    """The engine as a program sees it whose indexes have another format."""
    made = Engine(house.urls, prefix=house.prefix, version=NEWER, patience=60)
    yield made
    made._request("DELETE", f"/{house.prefix}-v{NEWER}-*")
    made.close()


@pytest.mark.invariant("Tokens, repositories, their groups and refs outlast a change of the format of indexes")
async def test_a_program_with_another_format_begins_with_all_repositories_while_questions_are_answered(house, newer, tmp_path):
    await house.publish("alpha", files_of("alpha"), groups=["red"])
    await house.publish("beta", files_of("beta"), groups=["blue"])
    token = house.tokens.add("anna", ["red"])
    house.repositories.remove("team-beta/beta")
    question = call("locate_symbol", {"name": "turn_alpha", "workspace": "alpha"})
    answers = []

    async with serving_library(house.settings(), tmp_path / "cache") as served, trio.open_nursery() as nursery:

        async def keep_asking():
            while True:
                answers.append(await ask(served.port, "POST", "/", question, authorization=f"Bearer {token}"))

        nursery.start_soon(keep_asking)
        await trio.to_thread.run_sync(prepare, newer)
        changed = await trio.to_thread.run_sync(Repositories(newer).reconcile)
        while len(answers) < 5:
            await trio.lowlevel.checkpoint()
        nursery.cancel_scope.cancel()

    assert changed == 1
    [found] = Repositories(newer).listed(is_current=True)
    assert (found.name, found.url, found.groups, found.is_pending, found.heads) == (
        "team-alpha/alpha",
        url_of("alpha"),
        ("red",),
        True,
        {},
    )
    assert {each.token.name for each in Tokens(newer).listed()} == {"anna"}
    assert {each.said()["results"][0]["name"] for each in answers} == {"turn_alpha"}
    assert house.repositories.find("team-alpha/alpha").heads


def test_what_is_asked_of_one_program_is_followed_by_programs_of_another_format(house, newer):
    prepare(newer)
    ours, theirs = house.repositories, Repositories(newer)
    ours.add(url_of("alpha"), groups=["red"])
    ours.add(url_of("beta"), groups=["red"])
    theirs.reconcile()

    theirs.add(url_of("alpha"), groups=["blue"], refs=["v*"])
    theirs.remove("team-beta/beta")
    theirs.add(url_of("gamma"), groups=["red"])
    n_changed = ours.reconcile()

    assert n_changed == 3
    assert {(each.name, each.groups, each.wanted_refs) for each in ours.listed(is_current=True)} == {
        ("team-alpha/alpha", ("blue",), ("v*",)),
        ("team-gamma/gamma", ("red",), ()),
    }
    assert (ours.reconcile(), theirs.reconcile()) == (0, 0)


def test_a_repository_that_was_just_removed_does_not_come_back(house):
    house.repositories.add(url_of("alpha"), groups=["red"])

    house.repositories.remove("team-alpha/alpha")

    assert house.repositories.reconcile() == 0
    assert house.repositories.listed(is_current=True) == ()


def test_what_was_lost_between_two_writes_is_made_up_for(house):
    catalog = Catalog(house.engine)
    added = house.repositories.add(url_of("alpha"), groups=["red"]).repository
    house.engine.delete(house.engine.names.catalog, added.repo_id)
    gone = house.repositories.add(url_of("beta"), groups=["red"]).repository
    house.engine.delete(house.engine.names.repositories, gone.repo_id)

    house.repositories.reconcile()

    assert {each.name for each in house.repositories.listed(is_current=True)} == {"team-alpha/alpha", "team-beta/beta"}
    assert catalog.of([added.repo_id])[added.repo_id].groups == ("red",)


def test_what_programs_before_the_catalog_have_left_is_taken_over_once(house):
    """They kept tokens and repositories in indexes of their version."""
    engine = house.engine
    before = f"{house.prefix}-v3"
    repository = house.repositories.add(url_of("alpha"), groups=["red"]).repository
    token = house.tokens.add("anna", ["red"])
    for index, ours in (("repositories", engine.names.repositories), ("access", engine.names.access)):
        engine.refresh(ours)
        for _, document in engine.documents_of_any(ours):
            engine._request("PUT", f"/{before}-{index}/_doc/{document.id}", document.source, params={"refresh": "true"})
    engine._request("DELETE", f"/{engine.names.all}")
    try:
        prepare(engine)
        house.repositories.reconcile()
        after = [each.repo_id for each in house.repositories.listed(is_current=True)], len(house.tokens.listed())
        house.tokens.revoke("anna")
        prepare(engine)

        assert after == ([repository.repo_id], 1)
        assert house.tokens.listed() == (), f"a token that was revoked came back: {token[:4]}"
    finally:
        engine._request("DELETE", f"/{before}-*")
