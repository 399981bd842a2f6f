"""Groups of projects in the registry."""

from pathlib import Path

import pytest

from codecompass.errors import InvalidInput, ProjectNotFound
from codecompass.store.layout import HomeLayout
from codecompass.store.registry import (
    open_registry,
    project_groups,
    remove_project_group,
    require_project_group,
    set_project_group,
)


@pytest.fixture
def registry(tmp_path):
    with open_registry(HomeLayout(tmp_path / "home")) as opened:
        yield opened


def registered(registry, *names):
    return [registry.register(Path("/srv") / name) for name in names]


def members(group):
    return [project.root.name for project in group.projects]


def test_a_group_has_its_projects_by_root_in_the_next_process_too(registry, tmp_path):
    web, api = registered(registry, "web", "api")
    set_project_group(registry, "backend", [web, api])

    with open_registry(HomeLayout(tmp_path / "home")) as other:
        assert [(group.name, members(group)) for group in project_groups(other)] == [("backend", ["api", "web"])]


def test_a_group_that_is_set_again_has_the_new_projects_alone(registry):
    web, api = registered(registry, "web", "api")
    set_project_group(registry, "backend", [web])

    assert members(set_project_group(registry, "backend", [api, api])) == ["api"]


def test_a_project_that_is_removed_leaves_its_groups(registry):
    web, api = registered(registry, "web", "api")
    set_project_group(registry, "backend", [web, api])
    registry.remove(web.project_id)

    assert members(require_project_group(registry, "backend")) == ["api"]
    registry.remove(api.project_id)
    assert project_groups(registry) == ()


def test_a_project_of_a_group_is_not_evicted(registry):
    found = registry.register(Path("/srv/found"), auto_discovered=True)
    set_project_group(registry, "backend", [found])

    assert not registry.evict(found.project_id)


def test_a_name_is_that_of_a_project_or_of_a_group(registry):
    web, api = registered(registry, "web", "api")
    registry.rename(web.project_id, "shop")
    set_project_group(registry, "backend", [api])

    with pytest.raises(InvalidInput, match="the project at /srv/web is"):
        set_project_group(registry, "shop", [api])
    with pytest.raises(InvalidInput, match="a group of projects is called 'backend'"):
        registry.rename(web.project_id, "backend")
    with pytest.raises(InvalidInput):
        set_project_group(registry, "Back End", [api])


def test_a_group_is_removed_by_its_name(registry):
    (api,) = registered(registry, "api")
    set_project_group(registry, "backend", [api])

    with pytest.raises(ProjectNotFound, match="Did you mean 'backend'"):
        remove_project_group(registry, "backnd")
    remove_project_group(registry, "backend")

    assert project_groups(registry) == ()
    assert registry.find(api.project_id) is not None
