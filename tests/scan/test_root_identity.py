"""A root that is no longer the same directory is refused with a remedy before anything in it is indexed."""

import pytest

from codecompass.errors import ProjectNotFound
from codecompass.scan.git_repository import Head, read_head
from codecompass.scan.roots import RootIdentity, identify_root, require_same_root


def test_a_directory_is_the_same_under_another_name(workspace):
    before = identify_root(workspace.root)
    other = workspace.root.with_name("other")
    workspace.root.rename(other)

    assert identify_root(other) == before


def test_one_that_is_gone_is_refused_with_the_remedy(workspace):
    workspace.root.rmdir()

    with pytest.raises(ProjectNotFound, match=r"is gone\. Restore it") as refused:
        identify_root(workspace.root)

    assert refused.value.data == {"workspace": str(workspace.root)}


def test_one_that_has_become_a_link_is_not_followed(workspace, tmp_path):
    workspace.root.rmdir()
    workspace.root.symlink_to(tmp_path)

    with pytest.raises(ProjectNotFound, match="is a link to elsewhere now"):
        identify_root(workspace.root)


def test_one_above_which_a_link_has_appeared_is_not_followed(tmp_path):
    root = tmp_path / "above" / "root"
    root.mkdir(parents=True)
    (tmp_path / "above").rename(tmp_path / "away")
    (tmp_path / "above").symlink_to(tmp_path / "away")

    with pytest.raises(ProjectNotFound, match="is a link to elsewhere now"):
        identify_root(root)


def test_one_that_has_become_a_file_is_refused(workspace):
    workspace.root.rmdir()
    workspace.root.write_text("")

    with pytest.raises(ProjectNotFound, match="is no longer a directory"):
        identify_root(workspace.root)


def test_an_empty_directory_on_another_file_system_than_before_is_no_empty_project(workspace):
    before = identify_root(workspace.root)
    mounted = RootIdentity(before.device + 1, 1)

    with pytest.raises(ProjectNotFound, match="that was mounted there is gone"):
        identify_root(workspace.root, mounted)

    assert identify_root(workspace.root, before) == before, "a project that was emptied is an empty project"
    workspace.write({"a.py": ""})
    assert identify_root(workspace.root, mounted) == before, "a project that was moved is the project"


def test_another_directory_in_the_same_place_is_not_the_same(workspace):
    before = identify_root(workspace.root)
    require_same_root(workspace.root, before)
    workspace.root.rename(workspace.root.with_name("away"))
    workspace.root.mkdir()

    with pytest.raises(ProjectNotFound, match="moved or replaced while it was being indexed"):
        require_same_root(workspace.root, before)


def test_a_root_that_goes_between_two_system_calls_is_gone(tmp_path, monkeypatch):
    """`realpath` first checks what a path is and then where the link leads: in between it can be replaced."""

    def vanish(path):
        raise FileNotFoundError(2, "No such file or directory", str(path))

    monkeypatch.setattr("os.path.realpath", vanish)

    with pytest.raises(ProjectNotFound, match="is gone"):
        identify_root(tmp_path)
    assert read_head(str(tmp_path)) == Head("live", None)
