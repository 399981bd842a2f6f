"""The search of a history, by git, on real repositories: what is found, what is left out and said, and what is never started."""

import os
import subprocess
import time

import pytest
from msgspec.structs import replace

from codecompass.protocol.requests import SearchCode
from codecompass.query.commit_question import commit_question
from codecompass.scan import git_commit_search
from codecompass.scan.git_commit_search import CommitSearch, search_commits
from codecompass.scan.git_repository import GitError, GitTimedOut, find_repository
from codecompass.scan.git_roots import GitRoots
from tests.support.workspace import TestWorkspace

pytestmark = pytest.mark.invariant(
    "A search of commits starts no program that a repository names, shows no secrets, and is bounded in time, output and number"
)


@pytest.fixture
def workspace(tmp_path):
    found = TestWorkspace(tmp_path / "shop", tmp_path / "unused", git=True)
    found.write({"old.py": "one = 1\ntwo = 2\nthree = 3\n", "docs/notes.md": "Retry later\n"})
    found.commit("begin")
    found.write({"old.py": "one = 1\ntwo = retry(2)\nthree = 3\n"})
    found.commit("change two\n\nBecause the proxy fails.")
    found.git("mv", "old.py", "new.py")
    found.commit("rename")
    return found


def search(workspace, query, *, limit=10, root=None, roots=None, seconds=60.0, **others):
    question = commit_question(SearchCode(query=query), time.time())
    root = str(root or workspace.root)
    repository = find_repository(root) if roots is None else find_repository(root, roots)
    assert repository is not None
    return search_commits(
        repository,
        root,
        CommitSearch(
            is_about_lines=question.history == "diff",
            sought=question.sought,
            author=question.author,
            since=question.since,
            until=question.until,
            limit=limit,
            **others,
        ),
        ends_at=time.monotonic() + seconds,
    )


def subjects(workspace, query, **others):
    return [each.subject for each in search(workspace, query, **others).commits]


def places(workspace, query, **others):
    return [
        (line.path, line.line, line.side, line.text) for each in search(workspace, query, **others).commits for line in each.lines
    ]


def test_messages_are_found_by_all_their_lines_newest_first(workspace):
    assert subjects(workspace, "type:commit") == ["rename", "change two", "begin"]
    (found,) = search(workspace, "type:commit two PROXY").commits
    assert (found.subject, found.author, found.n_lines) == ("change two", "t", 2)
    assert [(line.line, line.text) for line in found.lines] == [(1, "change two"), (3, "Because the proxy fails.")]
    assert found.at > 1_600_000_000
    assert subjects(workspace, "type:commit absent") == []


def test_lines_are_found_where_they_were_added_and_removed(workspace):
    assert places(workspace, "type:diff two") == [
        ("old.py", 2, "-", "two = 2"),
        ("old.py", 2, "+", "two = retry(2)"),
        ("old.py", 2, "+", "two = 2"),
    ]
    assert places(workspace, "type:diff retry two") == [("old.py", 2, "+", "two = retry(2)"), ("old.py", 2, "-", "two = 2")]
    # A file that was only renamed has no changed lines.
    assert subjects(workspace, "type:diff") == ["change two", "begin"]


def test_authors_are_found_by_a_part_of_the_name_or_the_address_in_any_case(workspace):
    for author, subject in (("José Núñez <jose@example.invalid>", "one"), ("Ada [x] <ada@example.invalid>", "two")):
        workspace.write({f"{subject}.txt": "needle\n"})
        workspace.git("add", "-A")
        workspace.git("commit", "-q", "-m", subject, "--author", author)

    assert subjects(workspace, "type:commit author:josé") == ["one"]
    assert subjects(workspace, "type:commit author:JOSÉ") == ["one"]
    assert subjects(workspace, "type:diff author:ADA needle") == ["two"]
    assert subjects(workspace, 'type:commit author:"Ada [x"') == ["two"]
    assert subjects(workspace, "type:commit author:example.inv") == ["two", "one", "rename", "change two", "begin"]
    assert subjects(workspace, "type:commit author:nobody") == []


def test_times_narrow_a_search(workspace):
    workspace.git("commit", "-q", "--allow-empty", "-m", "root of another time")
    tree = workspace.git("rev-parse", "HEAD^{tree}").strip()
    environment = {**os.environ, "GIT_COMMITTER_DATE": "2001-02-03T10:00:00Z", "GIT_AUTHOR_DATE": "1999-01-01T00:00:00Z"}
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.invalid"]
    made = subprocess.run(
        ["git", *identity, "-C", workspace.root, "commit-tree", "-m", "old", tree],
        env=environment,
        capture_output=True,
        check=True,
    )
    workspace.git("reset", "-q", "--hard", made.stdout.decode().strip())

    assert subjects(workspace, "type:commit since:2001-02-03 until:2001-02-03") == ["old"]
    assert subjects(workspace, "type:commit before:2001-02-03") == []
    assert subjects(workspace, "type:commit since:2001-02-04") == []


def test_paths_narrow_a_search_of_both_kinds(workspace):
    def in_docs(paths):
        return [path.startswith("docs/") for path in paths]

    assert subjects(workspace, "type:commit", chosen=in_docs) == ["begin"]
    assert places(workspace, "type:diff retry", chosen=in_docs) == [("docs/notes.md", 1, "+", "Retry later")]


def moved_into_lib(workspace):
    """Moves a file of 20 lines from `src/` to `lib/`, changes one of them on the way, and adds and removes others beside."""
    lines = [f"needle {number}\n" for number in range(20)]
    workspace.write({"src/a.py": "".join(lines), "src/gone.py": "other\n", "lib/b.py": "b\n"})
    workspace.commit("before")
    (workspace.root / "src/gone.py").unlink()
    workspace.git("mv", "src/a.py", "lib/a.py")
    lines[7] = "needle seven\n"
    workspace.write({"lib/a.py": "".join(lines), "lib/new.py": "needle of lib\n", "src/new.py": "needle of src\n"})
    workspace.commit("move")


@pytest.mark.parametrize("n_pathspecs", [1_000, 1])
def test_a_file_that_was_moved_into_what_is_chosen_has_only_the_lines_that_changed(workspace, monkeypatch, n_pathspecs):
    monkeypatch.setattr(git_commit_search, "_MAX_PATHSPECS", n_pathspecs)
    moved_into_lib(workspace)

    def below(directory):
        return lambda paths: [path.startswith(directory) for path in paths]

    everything = places(workspace, "type:diff needle")
    in_lib = places(workspace, "type:diff needle", chosen=below("lib/"))
    in_src = places(workspace, "type:diff needle", chosen=below("src/"))

    assert in_lib == [("lib/a.py", 8, "+", "needle seven"), ("lib/new.py", 1, "+", "needle of lib")]
    assert in_src[:2] == [("src/a.py", 8, "-", "needle 7"), ("src/new.py", 1, "+", "needle of src")]
    # Each line is of one of the two, and is found as if nothing were chosen.
    assert sorted(in_lib + in_src) == sorted(everything)


def test_a_secret_that_was_moved_is_not_shown_where_it_was_moved_to(workspace):
    workspace.write({".env": "".join(f"needle {number}\n" for number in range(20))})
    workspace.commit("secret")
    workspace.git("mv", ".env", "docs/settings.txt")
    workspace.commit("moved")

    assert places(workspace, "type:diff needle", chosen=lambda paths: [path.startswith("docs/") for path in paths]) == []


def test_paths_of_a_directory_are_chosen_by_their_names_in_it(workspace):
    workspace.write({"docs/notes.md": "Retry now\n", "docs/other.md": "Retry never\n"})
    workspace.commit("docs")

    found = places(
        workspace,
        "type:diff retry",
        root=workspace.root / "docs",
        chosen=lambda paths: [path == "notes.md" for path in paths],
    )

    assert found == [
        ("notes.md", 1, "-", "Retry later"),
        ("notes.md", 1, "+", "Retry now"),
        ("notes.md", 1, "+", "Retry later"),
    ]


def test_a_directory_of_a_repository_has_the_commits_that_changed_it_alone(workspace):
    root = workspace.root / "docs"

    assert subjects(workspace, "type:commit", root=root) == ["begin"]
    assert places(workspace, "type:diff retry", root=root) == [("notes.md", 1, "+", "Retry later")]


def test_a_page_ends_the_search_and_says_that_there_is_more(workspace):
    found = search(workspace, "type:commit", limit=2)

    assert ([each.subject for each in found.commits], found.has_more) == (["rename", "change two"], True)
    assert not search(workspace, "type:commit", limit=4).has_more


def test_a_history_that_cannot_be_listed_in_time_is_an_error(workspace):
    with pytest.raises(GitTimedOut):
        search(workspace, "type:diff two", seconds=-1.0)


def test_what_was_found_before_the_time_was_up_is_kept(workspace, monkeypatch):
    """The first batch is of one commit; the time ends with it."""
    monkeypatch.setitem(git_commit_search._FIRST_BATCH, "commit", 1)
    moment = [0.0]
    monkeypatch.setattr(git_commit_search.time, "monotonic", lambda: moment[0])

    def sought(_text):
        moment[0] = 1_000.0
        return ()

    repository = find_repository(str(workspace.root))
    found = search_commits(
        repository, str(workspace.root), CommitSearch(is_about_lines=False, sought=sought, limit=9), ends_at=500.0
    )

    assert ([each.subject for each in found.commits], found.is_partial) == (["rename"], True)
    assert "timed out after 1 of 3 commits" in found.warnings[0]


def test_a_commit_that_changed_too_much_is_left_out_and_counted(workspace, monkeypatch):
    workspace.write({"large.txt": "needle in much\n" * 5_000})
    workspace.commit("large")
    workspace.write({"small.txt": "needle\n"})
    workspace.commit("small")
    monkeypatch.setattr(git_commit_search, "MAX_OUTPUT_BYTES", 20_000)

    found = search(workspace, "type:diff needle")

    assert ([each.subject for each in found.commits], found.is_partial) == (["small"], True)
    assert found.warnings == ("1 commit changed too much to be compared",)


def test_odd_names_and_texts_are_read_as_they_are(workspace):
    commit = workspace.git("rev-parse", "HEAD").strip()
    odd = {
        'a "quoted"\nname.txt': "needle 1\n",
        f"x\n{commit}": "needle 2\n",
        ":100644 100644 a b M": "needle 3\n",
        "plain.txt": f"{commit}\n+needle 4\n-needle 5\n@@ -1 +1 @@\ndiff --git needle\n\\ needle\n\rneedle 6",
    }
    workspace.write(odd)
    workspace.commit("subject with \x01 and \t tab\n\ncommit " + commit + "\n\nneedle")

    found = places(workspace, "type:diff needle")

    assert ('a "quoted"\nname.txt', 1, "+", "needle 1") in found
    assert (f"x\n{commit}", 1, "+", "needle 2") in found
    assert (":100644 100644 a b M", 1, "+", "needle 3") in found
    assert [(line, text) for path, line, _, text in found if path == "plain.txt"] == [
        (2, "+needle 4"),
        (3, "-needle 5"),
        (5, "diff --git needle"),
        (6, "\\ needle"),
        (7, "needle 6"),
    ]
    assert len(subjects(workspace, "type:diff needle")) == 1
    assert subjects(workspace, "type:commit needle") == ["subject with \x01 and \t tab"]


def test_lines_of_files_with_secrets_are_not_shown(workspace):
    workspace.write({".env": "TOKEN=needle\n", "a.py": "x = 'needle'\n"})
    workspace.commit("both")
    workspace.git("mv", ".env", "settings.txt")
    workspace.commit("moved")
    workspace.git("rm", "-q", "settings.txt")
    workspace.write({".env": "TOKEN=needle2\n"})
    workspace.commit("back")

    assert ("a.py", 1, "+", "x = 'needle'") in places(workspace, "type:diff needle")
    assert not [path for path, *_ in places(workspace, "type:diff needle") if path == ".env"]


def test_merges_links_and_submodules_have_no_lines(workspace):
    workspace.git("checkout", "-q", "-b", "side")
    workspace.write({"side.txt": "needle\n"})
    (workspace.root / "needle").symlink_to("needle")
    workspace.commit("side")
    workspace.git("checkout", "-q", "main")
    workspace.git("merge", "-q", "--no-ff", "-m", "merge with needle", "side")

    assert subjects(workspace, "type:diff needle") == ["side"]
    assert places(workspace, "type:diff needle") == [("side.txt", 1, "+", "needle")]
    assert subjects(workspace, "type:commit needle") == ["merge with needle"]


def test_a_repository_without_a_commit_has_none(tmp_path):
    empty = TestWorkspace(tmp_path / "empty", tmp_path / "unused", git=True)

    found = search(empty, "type:diff x")

    assert (found.commits, found.warnings) == ((), ("there is no commit yet",))


def test_a_shallow_clone_has_what_it_has_and_its_oldest_commit_added_nothing(workspace, tmp_path):
    clone = tmp_path / "clone"
    workspace.write({"new.py": "one = 1\ntwo = retry(22)\nthree = 3\n"})
    workspace.commit("again")
    workspace.git("clone", "-q", "--depth", "2", f"file://{workspace.root}", str(clone))

    found = search(workspace, "type:diff two", root=clone)

    assert [each.subject for each in found.commits] == ["again"]
    assert "shallow" in found.warnings[0]
    assert [each.subject for each in search(workspace, "type:commit", root=clone).commits] == ["again", "rename"]


def test_contents_that_a_partial_clone_lacks_are_counted_and_not_fetched(workspace, tmp_path):
    clone = tmp_path / "clone"
    workspace.git("config", "uploadpack.allowFilter", "true")
    workspace.git("clone", "-q", "--no-checkout", "--filter=blob:none", f"file://{workspace.root}", str(clone))
    before = sorted(os.listdir(clone / ".git/objects/pack"))

    found = search(workspace, "type:diff two", root=clone)

    assert (found.commits, found.is_partial) == ((), True)
    assert "could not be read" in found.warnings[0]
    assert sorted(os.listdir(clone / ".git/objects/pack")) == before
    assert len(search(workspace, "type:commit", root=clone).commits) == 3


def test_no_program_of_the_repository_is_started(workspace, tmp_path):
    """Filters, conversions to text, external differences, hooks and signatures all name programs; none of them may run."""
    marker = tmp_path / "ran"
    command = f"touch {marker}; cat"
    for name in ("filter.x.clean", "diff.x.textconv", "diff.x.command", "diff.external", "core.pager", "gpg.program"):
        workspace.git("config", name, command)
    workspace.git("config", "log.showSignature", "true")
    workspace.git("config", "core.fsmonitor", command)
    workspace.git("config", "diff.orderFile", "/dev/zero")
    workspace.git("config", "diff.noprefix", "false")
    workspace.git("config", "log.follow", "true")
    workspace.write({".gitattributes": "*.py filter=x diff=x\n"})

    assert len(places(workspace, "type:diff two")) == 3
    assert len(subjects(workspace, "type:commit")) == 3
    assert not marker.exists()
    # The same repository runs it for a plain command.
    subprocess.run(["git", "-C", workspace.root, "-c", "diff.orderFile=/dev/null", "log", "-p"], capture_output=True, check=True)
    assert marker.exists()


@pytest.mark.timeout(120)
@pytest.mark.parametrize("name", [".gitattributes", "docs/.gitattributes", ".git/shallow", ".git/config"])
def test_a_pipe_in_place_of_a_file_of_git_is_refused(workspace, name):
    path = workspace.root / name
    path.unlink(missing_ok=True)
    os.mkfifo(path)

    with pytest.raises(GitError, match=name.rpartition("/")[2]):
        search(workspace, "type:diff two")


@pytest.mark.timeout(120)
def test_a_pipe_in_place_of_a_file_of_names_is_not_opened(workspace):
    os.mkfifo(workspace.root / ".mailmap")

    assert len(places(workspace, "type:diff two")) == 3


def test_objects_outside_of_the_allowed_directories_are_not_read(workspace, tmp_path):
    inside = tmp_path / "inside"
    inside.mkdir()
    workspace.git("clone", "-q", "--shared", str(workspace.root), str(inside / "mine"))
    roots = GitRoots((os.path.realpath(inside),))

    assert find_repository(str(inside / "mine"), roots) is None
    repository = find_repository(str(inside / "mine"))
    assert repository is not None
    with pytest.raises(GitError, match="not started"):
        search_commits(
            replace(repository, roots=roots),
            str(inside / "mine"),
            CommitSearch(is_about_lines=False, sought=lambda _text: (), limit=3),
            ends_at=time.monotonic() + 60,
        )


def test_an_author_that_looks_like_an_option_is_a_text(workspace, tmp_path):
    written = tmp_path / "written"

    assert subjects(workspace, f'type:commit author:"--output={written}"') == []
    assert not written.exists()
