"""What made room is gone from the disk and not from memory."""

import os
from pathlib import Path

import pytest

from codecompass.identity import project_id
from codecompass.store import evictions
from codecompass.store.evictions import Evictions
from codecompass.store.layout import HomeLayout
from codecompass.store.registry import open_registry

SHOP = Path("/srv/shop")


@pytest.fixture
def registry(tmp_path):
    with open_registry(HomeLayout(tmp_path)) as registry:
        yield registry


def test_an_evicted_project_is_known_by_id_name_and_place_and_is_no_project(registry):
    project = registry.register(SHOP, auto_discovered=True)
    registry.rename(project.project_id, "shop")

    assert Evictions(registry).evict(project.project_id)

    assert registry.projects() == ()
    assert Evictions(registry).root_of("shop") == Evictions(registry).root_of(project.project_id) == SHOP
    assert Evictions(registry).around(SHOP / "src" / "deep") == SHOP
    assert Evictions(registry).around(Path("/srv/shops")) is None


def test_it_comes_back_with_its_name(registry):
    registry.rename(registry.register(SHOP, auto_discovered=True).project_id, "shop")
    Evictions(registry).evict(project_id(SHOP))

    assert registry.register(SHOP, auto_discovered=True).alias == "shop"
    assert Evictions(registry).root_of("shop") is None


def test_a_name_that_another_project_has_by_now_stays_there(registry):
    registry.rename(registry.register(SHOP, auto_discovered=True).project_id, "shop")
    Evictions(registry).evict(project_id(SHOP))
    other = registry.register(Path("/srv/other"))
    registry.rename(other.project_id, "shop")

    assert registry.register(SHOP).alias is None
    assert registry.find("shop").root == other.root


def test_what_somebody_registered_or_made_the_default_is_not_evicted(registry):
    adopted = registry.register(SHOP, auto_discovered=True)
    registry.adopt(adopted.project_id, as_default=False)
    registered = registry.register(Path("/srv/registered"))

    for project in (adopted, registered):
        assert not Evictions(registry).evict(project.project_id)
        assert registry.find(project.project_id) is not None
        assert Evictions(registry).root_of(project.project_id) is None
    assert not Evictions(registry).evict("no-such-project")


def test_what_is_removed_by_hand_is_forgotten(registry):
    registry.register(SHOP, auto_discovered=True)
    Evictions(registry).evict(project_id(SHOP))

    registry.remove(project_id(SHOP))

    assert Evictions(registry).root_of(project_id(SHOP)) is None


def test_only_the_newest_are_kept_in_mind(registry, monkeypatch):
    monkeypatch.setattr(evictions, "KEPT_EVICTED", 3)
    clock = iter(range(1000))
    monkeypatch.setattr("time.time", lambda: float(next(clock)))
    roots = [Path(os.fsdecode(b"/srv/\xff%d" % number)) for number in range(5)]
    for root in roots:
        registry.register(root, auto_discovered=True)
        Evictions(registry).evict(project_id(root))

    assert [Evictions(registry).root_of(project_id(root)) for root in roots] == [None, None, *roots[2:]]


def test_a_project_that_comes_back_between_the_looks_is_found(registry, monkeypatch):
    """Found in a run of many clients: a project that had just been brought back was unknown to who asked by its id."""
    project = registry.register(SHOP, auto_discovered=True)
    Evictions(registry).evict(project.project_id)
    sound = Evictions.root_of

    def after_its_return(self, name):
        registry.register(SHOP, auto_discovered=True)
        return sound(self, name)

    monkeypatch.setattr(Evictions, "root_of", after_its_return)
    found, root = Evictions(registry).find_or_root(project.project_id)

    assert found is not None
    assert (found.root, root) == (SHOP, None)


def test_of_a_name_there_is_a_project_or_a_place_or_neither(registry):
    project = registry.register(SHOP, auto_discovered=True)

    assert Evictions(registry).find_or_root(project.project_id) == (project, None)
    Evictions(registry).evict(project.project_id)
    assert Evictions(registry).find_or_root(project.project_id) == (None, SHOP)
    assert Evictions(registry).find_or_root("nothing") == (None, None)
