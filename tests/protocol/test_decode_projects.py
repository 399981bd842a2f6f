"""When an argument names several projects."""

import pytest

from codecompass.errors import InvalidInput
from codecompass.protocol.decode import decode, several_projects


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ("*", ("*",)),
        (" * ", ("*",)),
        ("api,web", ("api", "web")),
        ("api, web ,api", ("api", "web")),
        ("api,", ("api",)),
        (["api"], ("api",)),
        (["/srv/a,b", "web"], ("/srv/a,b", "web")),
        (["api", "*"], ("api", "*")),
        ("api,*", ("api", "*")),
        ("/srv/a,b", None),
        ("../a,b", None),
        ("api", None),
        (".", None),
        ("", None),
        (",", None),
    ],
)
def test_a_list_is_told_from_a_path(given, named):
    assert several_projects(decode("search_code", {"query": "x", "workspace": given}).request.workspace) == named


@pytest.mark.parametrize("given", [[""], ["api", 3], ["a\0b"], [["api"]]])
def test_a_list_of_anything_but_names_is_refused(given):
    with pytest.raises(InvalidInput):
        decode("search_code", {"query": "x", "workspace": given})


def test_an_empty_list_is_none():
    assert several_projects(decode("search_code", {"query": "x", "workspace": []}).request.workspace) is None


def test_a_tool_that_is_about_one_project_takes_no_list():
    with pytest.raises(InvalidInput, match="workspace"):
        decode("get_file_outline", {"path": "a.py", "workspace": ["api"]})
