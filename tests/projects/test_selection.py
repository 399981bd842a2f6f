"""Which registered projects names select, and the labels by which answers identify projects."""

from pathlib import Path

import pytest

from codecompass.errors import InvalidInput, ProjectNotFound
from codecompass.identity import project_id
from codecompass.projects import selection
from codecompass.projects.selection import KnownProjects, labels, select_projects
from codecompass.store.registry import Project


def project(root, alias=None):
    path = Path(root)
    return Project(
        project_id=project_id(path),
        alias=alias,
        root=path,
        is_auto_discovered=False,
        is_default=False,
        created_at=0.0,
        last_used_at=0.0,
    )


API, WEB, OLD = project("/srv/api"), project("/srv/web", "shop"), project("/old/api")
KNOWN = KnownProjects((OLD, API, WEB), {"backend": (API, WEB)})


def chosen(*names, allowed=()):
    return [each.project.root for each in select_projects(KNOWN, names, [Path(root) for root in allowed])]


def test_the_label_is_the_alias_or_the_name_of_the_directory_or_the_id_where_others_have_the_same():
    assert labels([API, WEB]) == {API.project_id: "api", WEB.project_id: "shop"}
    assert labels([API, OLD]) == {API.project_id: API.project_id, OLD.project_id: OLD.project_id}


def test_a_directory_called_like_the_alias_of_another_is_named_by_its_id():
    shop = project("/srv/shop")

    assert labels([WEB, shop]) == {WEB.project_id: "shop", shop.project_id: shop.project_id}


def test_all_are_in_the_order_of_their_roots_and_each_is_there_once():
    assert chosen("*") == [OLD.root, API.root, WEB.root]
    assert chosen("shop", "backend", API.project_id) == [WEB.root, API.root]


def test_a_name_that_two_directories_have_is_none():
    with pytest.raises(ProjectNotFound):
        chosen("api")


def test_outside_of_the_allowed_roots_a_project_is_unknown_and_takes_no_name():
    assert chosen("*", allowed=["/srv"]) == [API.root, WEB.root]
    assert chosen("api", allowed=["/srv"]) == [API.root]
    with pytest.raises(ProjectNotFound) as refused:
        chosen(OLD.project_id, allowed=["/srv"])
    assert "/old" not in refused.value.message


def test_a_group_of_which_nothing_may_be_seen_is_unknown():
    with pytest.raises(ProjectNotFound) as refused:
        chosen("backend", allowed=["/old"])
    assert "backend" not in refused.value.message.partition("Known:")[2]


def test_more_than_a_question_may_be_about_are_refused(monkeypatch):
    monkeypatch.setattr(selection, "MAX_PROJECTS", 2)

    with pytest.raises(InvalidInput, match="3 projects"):
        chosen("*")
