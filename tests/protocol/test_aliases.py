"""Arguments under the names that models know from other tools."""

import pytest

from codecompass.errors import InvalidInput
from codecompass.protocol.arguments import ARGUMENTS
from codecompass.protocol.decode import decode
from codecompass.transport.tools.listing import describe


def refused(tool, **arguments):
    with pytest.raises(InvalidInput) as caught:
        decode(tool, arguments)
    return caught.value


@pytest.mark.parametrize(
    ("tool", "given", "taken", "as_what"),
    [
        ("search_code", {"query": "x", "glob": "*.py"}, {"path": "*.py"}, "took glob as path"),
        ("search_code", {"query": "x", "file_pattern": "a/**"}, {"path": "a/**"}, "took file_pattern as path"),
        ("search_code", {"query": "x", "include": ["a/**", "b/**"]}, {"path": "a/**,b/**"}, "took include as path"),
        ("search_code", {"query": "x", "file_path": "a.py"}, {"path": "a.py"}, "took file_path as path"),
        ("search_code", {"pattern": "x.*y"}, {"query": "x.*y"}, "took pattern as query"),
        ("search_code", {"symbol": "Store.save"}, {"query": "Store.save"}, "took symbol as query"),
        ("search_code", {"query": "x", "max_results": 5}, {"limit": 5}, "took max_results as limit"),
        ("search_code", {"query": "x", "maxResults": "5"}, {"limit": 5}, "took maxResults as limit"),
        ("search_code", {"query": "x", "head-limit": 5}, {"limit": 5}, "took head-limit as limit"),
        ("search_code", {"query": "x", "repo": "api"}, {"workspace": "api"}, "took repo as workspace"),
        ("search_code", {"query": "x", "branch": "main"}, {"ref": "main"}, "took branch as ref"),
        ("search_code", {"query": "x", "since": "main"}, {"changed_since": "main"}, "took since as changed_since"),
        ("search_code", {"query": "x", "type": "class"}, {"kind": "class"}, "took type as kind"),
        ("search_code", {"query": "x", "type": "py"}, {"language": "py"}, "took type as language"),
        ("search_code", {"query": "x", "is_regex": True}, {"mode": "regex"}, "took is_regex as mode regex"),
        ("search_code", {"pattern": "x", "isRegex": "false"}, {}, None),
        ("locate_symbol", {"symbol_name": "f"}, {"name": "f"}, "took symbol_name as name"),
        ("locate_symbol", {"symbol": "f"}, {"name": "f"}, "took symbol as name"),
        ("locate_symbol", {"query": "f"}, {"name": "f"}, "took query as name"),
        ("locate_symbol", {"symbolId": "0123456789abcdef"}, {"name": "0123456789abcdef"}, "took symbolId as name"),
        ("find_references", {"name": "f"}, {"symbol_name": "f"}, "took name as symbol_name"),
        (
            "find_references",
            {"symbol": "f", "skip": 10},
            {"symbol_name": "f", "offset": 10},
            "took symbol as symbol_name, skip as offset",
        ),
        (
            "get_call_graph",
            {"name": "f", "max_depth": 3},
            {"symbol_name": "f", "depth": 3},
            "took name as symbol_name, max_depth as depth",
        ),
        ("get_symbol_hierarchy", {"name": "f"}, {"symbol_name": "f"}, "took name as symbol_name"),
        ("find_related_symbols", {"symbol_id": "f"}, {"symbol_name": "f"}, "took symbol_id as symbol_name"),
        ("get_file_outline", {"file_path": "a.py"}, {"path": "a.py"}, "took file_path as path"),
        ("get_file_outline", {"filePath": "a.py"}, {"path": "a.py"}, "took filePath as path"),
        ("get_code_context", {"question": "how"}, {"query": "how"}, "took question as query"),
        (
            "diff_context",
            {"branch": "dev", "since": "main"},
            {"head": "dev", "base": "main"},
            "took branch as head, since as base",
        ),
        ("diff_context", {"symbol_name": "f"}, {"symbol": "f"}, "took symbol_name as symbol"),
        ("index_status", {"file": "a.py"}, {"path": "a.py"}, "took file as path"),
        ("index_repository", {"repository": "/a"}, {"repo_path": "/a"}, "took repository as repo_path"),
    ],
)
def test_an_argument_under_a_name_of_other_tools_is_taken_and_the_answer_says_as_what(tool, given, taken, as_what):
    if as_what is None:
        assert refused(tool, **given).data["field"] == "isRegex"
        return
    decoded = decode(tool, given)

    assert {name: getattr(decoded.request, name) for name in taken} == taken
    assert decoded.warnings == (as_what,)


def test_a_flag_that_is_off_and_a_null_take_nothing():
    decoded = decode("search_code", {"query": "x", "is_regex": False, "glob": None})

    assert decoded == decode("search_code", {"query": "x"})


def test_an_alias_beside_the_argument_itself_may_repeat_it_and_not_contradict_it():
    assert decode("locate_symbol", {"name": "f", "symbol_name": "f"}).request == decode("locate_symbol", {"name": "f"}).request

    error = refused("locate_symbol", name="f", symbol_name="g")
    assert error.data["field"] == "symbol_name"
    assert "symbol_name is taken as name, which is given too, as 'f'. Pass name alone." in error.message
    assert refused("search_code", query="x", glob="*.py", include="*.js").data["field"] == "include"
    both = refused("search_code", query="x", path="src/", glob="*.py")
    assert "path src/**/*.py" in both.message


def test_a_value_is_checked_like_that_of_the_argument_it_is_taken_as():
    assert refused("search_code", query="x", max_results="many").data["field"] == "limit"
    assert refused("search_code", query="x", type=7).data["field"] == "kind"
    assert decode("search_code", {"query": "x", "max_results": 1000}).warnings == (
        "took max_results as limit",
        "limit 1000 is out of the range 1..100; 100 was used",
    )


def test_what_resembles_no_argument_still_names_the_nearest_one():
    assert "did you mean 'limit'?" in refused("search_code", query="x", limt=3).message
    assert "did you mean" not in refused("search_code", query="x", zzz=3).message


def test_a_search_without_a_query_and_with_a_path_lists_the_files():
    expected = decode("search_code", {"query": "*", "mode": "files", "path": "src/**"}).request

    assert decode("search_code", {"path": "src/**"}).request == expected
    assert decode("search_code", {"glob": "src/**", "mode": "files"}).request == expected
    assert refused("search_code", path="src/**", mode="literal").data["field"] == "query"


@pytest.mark.parametrize(
    ("written", "path"),
    [
        ("file:///srv/shop/a.py", "/srv/shop/a.py"),
        ("file://localhost/srv/a%20b.py", "/srv/a b.py"),
        ("file:///srv/shop/a.py#L10-L20", "/srv/shop/a.py#L10-L20"),
        ("file:///srv/a,file:///srv/b", "/srv/a,/srv/b"),
        ("file://elsewhere/srv/a.py", "file://elsewhere/srv/a.py"),
        ("src/file.py", "src/file.py"),
    ],
)
def test_a_uri_is_a_path_wherever_a_path_is_taken(written, path):
    assert decode("search_code", {"query": "x", "path": written}).request.path == path
    assert decode("get_file_outline", {"path": written}).request.path == path
    if "#" not in path:
        assert decode("search_code", {"query": "x", "workspace": written}).request.workspace == path
    assert decode("search_code", {"query": written}).request.query == written


def test_no_schema_lists_an_alias():
    for tool in describe("all"):
        assert set(tool.input_schema["properties"]) <= set(ARGUMENTS[tool.name])
