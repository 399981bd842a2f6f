"""The root that a directory belongs to, and the rules from flags and environment at the start."""

from pathlib import Path

import pytest

from codecompass.errors import InvalidInput
from codecompass.projects.detection import project_root, routing_rules
from codecompass.settings import ServerSettings

SHOP, INNER, ABOVE = Path("/dev/shop"), Path("/dev/shop/vendor/lib"), Path("/dev")


@pytest.mark.parametrize(
    ("registered", "git_root", "marked", "expected"),
    [
        (SHOP, None, None, SHOP),
        (SHOP, SHOP, SHOP, SHOP),
        (SHOP, INNER, INNER, INNER),
        (SHOP, ABOVE, ABOVE, SHOP),
        (SHOP, None, INNER, SHOP),
        (None, INNER, None, None),
        (None, INNER, INNER, INNER),
        (None, None, None, None),
    ],
)
def test_the_nearest_registered_root_counts_then_the_markers_and_a_work_tree_inside_is_its_own(
    registered, git_root, marked, expected
):
    assert project_root(registered=registered, git_root=git_root, marked=marked) == expected


def rules(settings=None, environment=None, cwd="/", workspaces=()):
    return routing_rules(settings or ServerSettings(), environment=environment or {}, cwd=cwd, workspaces=workspaces)


def test_discovery_without_roots_is_refused_in_the_words_of_the_contract():
    with pytest.raises(InvalidInput) as caught:
        rules(ServerSettings(auto_workspace=True))

    assert caught.value.message == "--allowed-root is required when --auto-workspace is enabled"


def test_roots_and_workspaces_are_real_directories(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    (tmp_path / "file").write_text("")

    found = rules(ServerSettings(allowed_roots=(str(tmp_path / "link"),)), workspaces=(str(tmp_path / "link"),))

    assert found.allowed_roots == found.pinned == ((tmp_path / "real").resolve(),)
    for wrong in ("gone", "file"):
        with pytest.raises(InvalidInput, match="--allowed-root"):
            rules(ServerSettings(allowed_roots=(str(tmp_path / wrong),)))
        with pytest.raises(InvalidInput, match="--workspace"):
            rules(workspaces=(str(tmp_path / wrong),))


def test_the_variables_are_taken_in_their_order_and_blank_ones_are_none():
    both = {"CLAUDE_PROJECT_DIR": "/b", "CODECOMPASS_PROJECT": "/a", "OTHER": "/c"}

    assert rules(environment=both).environment == (("CODECOMPASS_PROJECT", "/a"), ("CLAUDE_PROJECT_DIR", "/b"))
    assert rules(environment={**both, "CODECOMPASS_PROJECT": " "}).environment == (("CLAUDE_PROJECT_DIR", "/b"),)


def test_the_current_directory_must_be_there_for_those_who_ask_for_it(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path)

    assert rules(cwd=str(tmp_path / "link")).cwd == tmp_path.resolve()
    assert rules(cwd=None).cwd is None
    with pytest.raises(InvalidInput, match="--project-from-cwd"):
        rules(ServerSettings(project_from_cwd=True), cwd=None)


def test_the_home_and_the_disk_are_never_projects_by_themselves(monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))

    assert rules().never >= {Path("/"), tmp_path.resolve(), Path("/tmp").resolve(), Path("/usr")}
