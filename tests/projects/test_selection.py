"""Which registered projects names select, and the labels by which answers identify projects."""

from pathlib import Path

import pytest

from codecompass.errors import InvalidInput, ProjectNotFound
from codecompass.identity import project_id
from codecompass.projects import selection
from codecompass.projects.selection import KnownProjects, labels, select_projects
from codecompass.store.registry import Project


def project(root, alias=None, own_name=""):
    path = Path(root)
    return Project(
        project_id=project_id(path),
        alias=alias,
        root=path,
        is_auto_discovered=False,
        is_default=False,
        created_at=0.0,
        last_used_at=0.0,
        own_name=own_name,
    )


API, WEB, OLD = project("/srv/api", None, "api"), project("/srv/web", "shop"), project("/old/api", None, "old-api")
KNOWN = KnownProjects((OLD, API, WEB), {"backend": (API, WEB)})


def chosen(*names, allowed=()):
    return [each.project.root for each in select_projects(KNOWN, names, [Path(root) for root in allowed])]


def test_the_label_is_the_name():
    assert labels([API, WEB, OLD]) == {API.project_id: "api", WEB.project_id: "shop", OLD.project_id: "old-api"}


def test_all_are_in_the_order_of_their_roots_and_each_is_there_once():
    assert chosen("*") == [OLD.root, API.root, WEB.root]
    assert chosen("shop", "backend", API.project_id) == [WEB.root, API.root]


def test_a_name_in_the_spelling_of_its_directory_is_taken():
    assert chosen("Old_API") == [OLD.root]


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
