"""Evicted projects are deleted from the disk, but remembered in the registry."""

import os
from pathlib import Path

import pytest

from codecompass.identity import project_id
from codecompass.store import registry as registry_module
from codecompass.store.layout import HomeLayout
from codecompass.store.registry import Registry, open_registry

SHOP = Path("/srv/shop")


@pytest.fixture
def registry(tmp_path):
    with open_registry(HomeLayout(tmp_path)) as registry:
        yield registry


def test_an_evicted_project_is_known_by_id_name_and_place_and_is_no_project(registry):
    project = registry.register(SHOP, auto_discovered=True)
    registry.rename(project.project_id, "shop")

    assert registry.evict(project.project_id)

    assert registry.projects() == ()
    assert registry.evicted_root("shop") == registry.evicted_root(project.project_id) == SHOP
    assert registry.evicted_root_containing(SHOP / "src" / "deep") == SHOP
    assert registry.evicted_root_containing(Path("/srv/shops")) is None


def test_it_comes_back_with_its_name(registry):
    registry.rename(registry.register(SHOP, auto_discovered=True).project_id, "shop")
    registry.evict(project_id(SHOP))

    assert registry.register(SHOP, auto_discovered=True).alias == "shop"
    assert registry.evicted_root("shop") is None


def test_a_name_that_another_project_has_by_now_stays_there(registry):
    registry.rename(registry.register(SHOP, auto_discovered=True).project_id, "shop")
    registry.evict(project_id(SHOP))
    other = registry.register(Path("/srv/other"))
    registry.rename(other.project_id, "shop")

    assert registry.register(SHOP).alias is None
    assert registry.find("shop").root == other.root


def test_what_somebody_registered_or_made_the_default_is_not_evicted(registry):
    adopted = registry.register(SHOP, auto_discovered=True)
    registry.adopt(adopted.project_id, as_default=False)
    registered = registry.register(Path("/srv/registered"))

    for project in (adopted, registered):
        assert not registry.evict(project.project_id)
        assert registry.find(project.project_id) is not None
        assert registry.evicted_root(project.project_id) is None
    assert not registry.evict("no-such-project")


def test_what_is_removed_by_hand_is_forgotten(registry):
    registry.register(SHOP, auto_discovered=True)
    registry.evict(project_id(SHOP))

    registry.remove(project_id(SHOP))

    assert registry.evicted_root(project_id(SHOP)) is None


def test_only_the_newest_are_kept_in_mind(registry, monkeypatch):
    monkeypatch.setattr(registry_module, "KEPT_EVICTED", 3)
    clock = iter(range(1000))
    monkeypatch.setattr("time.time", lambda: float(next(clock)))
    roots = [Path(os.fsdecode(b"/srv/\xff%d" % number)) for number in range(5)]
    for root in roots:
        registry.register(root, auto_discovered=True)
        registry.evict(project_id(root))

    assert [registry.evicted_root(project_id(root)) for root in roots] == [None, None, *roots[2:]]


def test_a_project_that_comes_back_between_the_looks_is_found(registry, monkeypatch):
    """Found in a run with many clients: a project that had just come back was unknown to a client that named it by its id."""
    project = registry.register(SHOP, auto_discovered=True)
    registry.evict(project.project_id)
    sound = Registry.evicted_root

    def after_its_return(self, name):
        registry.register(SHOP, auto_discovered=True)
        return sound(self, name)

    monkeypatch.setattr(Registry, "evicted_root", after_its_return)
    found, root = registry.find_or_evicted_root(project.project_id)

    assert found is not None
    assert (found.root, root) == (SHOP, None)


def test_of_a_name_there_is_a_project_or_a_place_or_neither(registry):
    project = registry.register(SHOP, auto_discovered=True)

    assert registry.find_or_evicted_root(project.project_id) == (project, None)
    registry.evict(project.project_id)
    assert registry.find_or_evicted_root(project.project_id) == (None, SHOP)
    assert registry.find_or_evicted_root("nothing") == (None, None)
