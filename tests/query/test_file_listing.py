"""`search_code` in mode `files`: files by globs and by words of their paths."""

import pytest
import trio

from codecompass.errors import InvalidInput
from codecompass.protocol.requests import SearchCode
from codecompass.query import search_code
from tests.support.workspace import TestWorkspace

FILES = {
    "packages/core/package.json": "{}\n",
    "packages/web/package.json": "{}\n",
    "packages/web/src/package.json": "{}\n",
    "packages/README.md": "# x\n",
    "api/v1/user.proto": "message User {}\n",
    "app/controllers/user_controller.rb": "class UserController\nend\n",
    "app/controllers/users_controller.rb": "class UsersController\nend\n",
    "app/models/user.rb": "class User\nend\n",
    "app/latest.rb": "x = 1\n",
    "web/UserController.ts": "export class UserController {}\n",
    "test/controllers/user_controller_test.rb": "class UserControllerTest\nend\n",
    "test/user/controller.rb": "y = 1\n",
    "Makefile": "all:\n\techo\n",
    "empty.py": "",
    "logo.png": b"\x89PNG\0\0\0",
}


@pytest.fixture(scope="module")
def ask(index_of, state):
    snapshot = index_of(FILES)

    def asked(query, **arguments):
        return search_code(snapshot, SearchCode(query=query, mode="files", **arguments), state)

    return asked


def paths(reply):
    return [result.path for result in reply.results]


def test_a_glob_lists_files_by_path(ask):
    reply = ask("packages/*/package.json")

    assert paths(reply) == ["packages/core/package.json", "packages/web/package.json"]
    assert reply.total_candidates == 2
    assert {result.result_type for result in reply.results} == {"file"}
    assert [(result.line_start, result.line_end) for result in reply.results] == [(1, 1), (1, 1)]
    assert reply.query_intent == "path"


@pytest.mark.parametrize(
    ("glob", "found"),
    [
        ("**/*.proto", ["api/v1/user.proto"]),
        ("*.proto", ["api/v1/user.proto"]),
        ("*.{proto,md}", ["api/v1/user.proto", "packages/README.md"]),
        ("packages/*", ["packages/README.md"]),
        ("controllers/*_test.rb", ["test/controllers/user_controller_test.rb"]),
        ("*.rb,!test/**,!app/controllers/**", ["app/latest.rb", "app/models/user.rb"]),
        ("readme*", ["packages/README.md"]),
        ("README*", ["packages/README.md"]),
        ("Readme*", []),
        ("web/*s*", ["web/UserController.ts"]),
    ],
)
def test_globs_mean_what_a_shell_and_fd_mean_by_them(ask, glob, found):
    """Case matters if the glob contains an upper-case letter. A glob that matches nothing from the root matches at any depth."""
    assert paths(ask(glob)) == found


@pytest.mark.parametrize("query", ["*", "**"])
def test_everything_is_listed_in_order(ask, query):
    reply = ask(query, limit=100)

    assert paths(reply) == sorted(path for path in FILES if path != "logo.png")
    assert reply.total_candidates == len(FILES) - 1


def test_a_page_ends_at_its_limit_and_the_total_counts_on(ask):
    reply = ask("*", limit=3)

    assert len(reply.results) == 3
    assert reply.total_candidates == len(FILES) - 1


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("app/models/user.rb", ["app/models/user.rb"]),
        ("models/user.rb:12", ["app/models/user.rb"]),
        ("user.rb", ["app/models/user.rb"]),
        ("user controller test", ["test/controllers/user_controller_test.rb", "test/user/controller.rb"]),
        (
            "user controller",
            [
                "web/UserController.ts",
                "app/controllers/user_controller.rb",
                "test/controllers/user_controller_test.rb",
                "test/user/controller.rb",
                "app/controllers/users_controller.rb",
            ],
        ),
        ("UserController", ["web/UserController.ts"]),
        ("UsersController", ["app/controllers/users_controller.rb"]),
        ("makefile", ["Makefile"]),
        ("api/v1", ["api/v1/user.proto"]),
        ("packages/web/", ["packages/web/package.json", "packages/web/src/package.json"]),
        ("zebra", []),
        ("...", []),
        ("/", []),
    ],
)
def test_words_find_files_by_path_the_best_first(ask, words, found):
    """Order: the path or its end, the name, whole words of name and path, anything else; product code before tests."""
    assert paths(ask(words)) == found


def test_a_word_inside_another_comes_behind_those_that_are_one(ask):
    assert paths(ask("test"))[-1] == "app/latest.rb"


def test_files_with_most_of_the_words_are_listed_where_none_has_all(ask):
    reply = ask("user zebra")

    assert "app/models/user.rb" in paths(reply)
    assert "packages/README.md" not in paths(reply)
    assert "no path has all of these words" in reply.metadata.warnings[0]


def test_filters_by_path_and_language_hold(ask):
    assert paths(ask("*", language="ruby", path="!test/**,!app/controllers/**")) == ["app/latest.rb", "app/models/user.rb"]
    assert paths(ask("user", path="api/**")) == ["api/v1/user.proto"]
    assert paths(ask("user", language="ts")) == ["web/UserController.ts"]
    assert "kind was not used" in ask("user", kind="class").metadata.warnings[0]


def test_what_finds_nothing_says_what_is_there(ask):
    assert ask("packages/*/pom.xml").metadata.warnings == (
        "no indexed file fits query 'packages/*/pom.xml'; packages/ has: README.md, core/, web/",
    )
    assert "no indexed file fits path 'nope/**'" in ask("*", path="nope/**").metadata.warnings[0]
    assert "no indexed file is of language 'cobol'" in ask("*", language="cobol").metadata.warnings[0]
    assert ask("zebra").metadata.warnings == ()


def test_a_hostile_glob_is_refused(ask):
    with pytest.raises(InvalidInput):
        ask("**/" * 100_000)


def test_a_listing_sees_files_come_and_go(tmp_path, state):
    """The path table is cached per generation, and must be updated even if only an empty file changes."""
    workspace = TestWorkspace(tmp_path / "project", tmp_path / "home")
    seen = []
    for change in ({"a.py": "x = 1\n", "b.py": ""}, {"c.py": ""}):
        workspace.write(change)
        trio.run(workspace.sync)
        with workspace.index.snapshot() as snapshot:
            seen.append(paths(search_code(snapshot, SearchCode(query="*", mode="files"), state)))
    (workspace.root / "b.py").unlink()
    trio.run(workspace.sync)
    with workspace.index.snapshot() as snapshot:
        seen.append(paths(search_code(snapshot, SearchCode(query="*", mode="files"), state)))

    assert seen == [["a.py", "b.py"], ["a.py", "b.py", "c.py"], ["a.py", "c.py"]]
