from pathlib import Path

import pytest

from codecompass.scan.rules import ScanRules
from codecompass.scan.walk import scan

from .trees import git, indexed, repository, skipped, write


def test_without_git_everything_visible_is_indexed(tmp_path: Path):
    write(tmp_path, ["a.py", "docs/b.md", "deep/er/still/c.go", "Makefile"])

    assert indexed(tmp_path) == ["Makefile", "a.py", "deep/er/still/c.go", "docs/b.md"]


def test_gitignore_is_honoured_at_every_level_and_without_git(tmp_path: Path):
    write(tmp_path, {".gitignore": "*.log\n/top\n", "sub/.gitignore": "!keep.log\n/local\n"})
    write(tmp_path, ["a.log", "top", "sub/top", "sub/a.log", "sub/keep.log", "sub/local", "sub/deep/local"])

    assert indexed(tmp_path) == [".gitignore", "sub/.gitignore", "sub/deep/local", "sub/keep.log", "sub/top"]


def test_info_exclude_is_honoured_and_weaker_than_gitignore(tmp_path: Path):
    repository(tmp_path)
    write(tmp_path, {".git/info/exclude": "*.tmp\n", ".gitignore": "!keep.tmp\n"})
    write(tmp_path, ["a.tmp", "keep.tmp"])

    assert indexed(tmp_path) == [".gitignore", "keep.tmp"]


def test_the_excludes_of_the_user_are_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Two people must get the same index."""
    home = write(tmp_path / "home", {".gitconfig": "[core]\nexcludesFile = ~/ignore\n", "ignore": "*.py\n"})
    monkeypatch.setenv("HOME", str(home))
    root = write(repository(tmp_path / "repo"), ["a.py"])

    assert indexed(root) == ["a.py"]


def test_a_directory_that_is_left_out_decides_for_what_it_holds(tmp_path: Path):
    write(tmp_path, {".gitignore": "out/\n!out/keep.py\n"})
    write(tmp_path, ["out/keep.py"])

    assert indexed(tmp_path) == [".gitignore"]


def test_the_whitelist_idiom_works(tmp_path: Path):
    write(tmp_path, {".gitignore": "*\n!*/\n!*.py\n"})
    write(tmp_path, ["a.py", "a.txt", "d/b.py", "d/b.txt"])

    assert indexed(tmp_path) == ["a.py", "d/b.py"]


def test_a_single_directory_can_be_whitelisted(tmp_path: Path):
    write(tmp_path, {".gitignore": "*\n!src/\n!src/*\n"})
    write(tmp_path, ["a.py", "src/b.py"])

    assert indexed(tmp_path) == ["src/b.py"]


def test_tracked_files_are_indexed_although_ignored(tmp_path: Path):
    repository(tmp_path, tracked={".gitignore": "*.log\nout/\n", "a.log": "", "out/kept.py": ""})
    write(tmp_path, ["b.log", "out/new.py", "out/deep/new.py"])

    assert indexed(tmp_path) == [".gitignore", "a.log", "out/kept.py"]


def test_tracked_hidden_files_are_indexed_and_untracked_are_not(tmp_path: Path):
    repository(tmp_path, tracked=[".tool/config.py", ".idea/vcs.xml", ".flags", "a.py"])
    write(tmp_path, [".cache/b.py", ".scratch", ".tool/.scratch"])

    assert indexed(tmp_path) == [".flags", ".idea/vcs.xml", ".tool/config.py", "a.py"]


def test_a_new_file_in_a_tracked_hidden_directory_is_indexed(tmp_path: Path):
    repository(tmp_path, tracked=[".tool/config.py"])
    write(tmp_path, [".tool/new.py"])

    assert indexed(tmp_path) == [".tool/config.py", ".tool/new.py"]


def test_well_known_hidden_entries_are_indexed_before_they_are_tracked(tmp_path: Path):
    write(tmp_path, [".github/workflows/ci.yml", ".gitlab-ci.yml", ".editorconfig", ".vscode/settings.json"])

    assert indexed(tmp_path) == [".editorconfig", ".github/workflows/ci.yml", ".gitlab-ci.yml"]


def test_generated_directories_are_left_out_even_when_tracked(tmp_path: Path):
    repository(tmp_path, tracked=["node_modules/a/index.js", "src/__pycache__/x.py", "src/x.py", ".venv/lib/y.py"])

    assert indexed(tmp_path) == ["src/x.py"]


def test_output_directories_are_left_out_unless_git_tracks_something_below(tmp_path: Path):
    repository(tmp_path, tracked=["vendor/lib/a.go", "pkg/build/deep/b.go"])
    write(tmp_path, ["vendor/lib/new.go", "build/c.go", "dist/d.js", "target/e.rs", "pkg/build/new.go"])

    assert indexed(tmp_path) == ["pkg/build/deep/b.go", "pkg/build/new.go", "vendor/lib/a.go", "vendor/lib/new.go"]


def test_output_directories_are_left_out_without_git(tmp_path: Path):
    write(tmp_path, ["build/a.py", "sub/vendor/b.py", "c.py"])

    assert indexed(tmp_path) == ["c.py"]


def test_a_file_called_like_an_output_directory_is_indexed(tmp_path: Path):
    write(tmp_path, ["build", "vendor", "node_modules"])

    assert indexed(tmp_path) == ["build", "node_modules", "vendor"]


@pytest.mark.parametrize("inside", ["build", "vendor/target", "node_modules", ".cache/dist"])
def test_names_above_the_root_do_not_count(inside: str, tmp_path: Path):
    """The reference implementation matched them as substrings of the absolute path, and indexed nothing."""
    plain = write(tmp_path / inside / "plain", ["a.py"])
    checkout = repository(tmp_path / inside / "checkout", tracked=["b.py"])

    assert indexed(plain) == ["a.py"]
    assert indexed(checkout) == ["b.py"]


def test_own_ignore_file_leaves_out_what_git_tracks(tmp_path: Path):
    repository(tmp_path, tracked=["a.py", "legacy/b.py", "gen/c_pb.py", "gen/d.py"])
    write(tmp_path, {".codecompassignore": "legacy/\n", "gen/.codecompassignore": "*_pb.py\n"})

    assert indexed(tmp_path) == [".codecompassignore", "a.py", "gen/.codecompassignore", "gen/d.py"]


def test_own_ignore_file_takes_back_what_gitignore_leaves_out(tmp_path: Path):
    write(tmp_path, {".gitignore": "gen/\n*.log\n", ".codecompassignore": "!gen/\n!wanted.log\n"})
    write(tmp_path, ["gen/a.py", "gen/b.log", "wanted.log", "other.log"])

    assert indexed(tmp_path) == [".codecompassignore", ".gitignore", "gen/a.py", "wanted.log"]


def test_own_ignore_file_takes_back_what_is_built_in(tmp_path: Path):
    write(tmp_path, {".codecompassignore": "!build/\n!node_modules/\n!.hidden/\n"})
    write(tmp_path, ["build/a.py", "node_modules/b/index.js", ".hidden/c.py", "dist/d.js"])

    assert indexed(tmp_path) == [".codecompassignore", ".hidden/c.py", "build/a.py", "node_modules/b/index.js"]


def test_one_package_can_be_taken_back_from_a_directory_that_stays_out(tmp_path: Path):
    repository(tmp_path, tracked={".gitignore": "/gen/\n", "node_modules/tracked/x.js": ""})
    write(tmp_path, {".codecompassignore": "!node_modules/ours/\n!gen/**/keep.py\n"})
    write(tmp_path, ["node_modules/ours/deep/a.js", "node_modules/theirs/b.js", "node_modules/c.js"])
    write(tmp_path, ["gen/x/keep.py", "gen/x/other.py"])

    assert indexed(tmp_path) == [".codecompassignore", ".gitignore", "gen/x/keep.py", "node_modules/ours/deep/a.js"]


def test_the_git_directory_cannot_be_taken_back(tmp_path: Path):
    repository(tmp_path, tracked=["a.py"])
    write(tmp_path, {".codecompassignore": "!.git/\n!.git\n!.git/config\n"})

    assert indexed(tmp_path) == [".codecompassignore", "a.py"]


def test_the_git_file_of_a_linked_worktree_cannot_be_taken_back(tmp_path: Path):
    main = repository(tmp_path / "main", tracked=["a.py"])
    git(main, "worktree", "add", "--quiet", "../feature")
    write(tmp_path / "feature", {".codecompassignore": "!.git\n"})

    assert indexed(tmp_path / "feature") == [".codecompassignore", "a.py"]


def test_a_part_of_an_ignored_clone_can_be_taken_back(tmp_path: Path):
    repository(tmp_path, tracked={".gitignore": "/libs/\n"})
    repository(tmp_path / "libs/clone", tracked=["docs/a.md", "src/b.py"])
    write(tmp_path, {".codecompassignore": "!libs/clone/docs/\n"})

    assert indexed(tmp_path) == [".codecompassignore", ".gitignore", "libs/clone/docs/a.md"]


def test_what_an_own_ignore_file_takes_back_counts_from_its_directory(tmp_path: Path):
    write(tmp_path, {"app/.codecompassignore": "!vendor/ours/\n"})
    write(tmp_path, ["app/vendor/ours/a.go", "app/vendor/theirs/b.go", "vendor/ours/c.go"])

    assert indexed(tmp_path) == ["app/.codecompassignore", "app/vendor/ours/a.go"]


def test_secrets_are_skipped_and_reported_even_when_tracked(tmp_path: Path):
    repository(tmp_path, tracked=[".env", "certs/server.pem", "a.py", ".env.example", "certs/id_rsa.pub"])

    assert indexed(tmp_path) == [".env.example", "a.py", "certs/id_rsa.pub"]
    assert skipped(tmp_path) == {".env": "secret", "certs/server.pem": "secret"}


def test_an_untracked_secret_is_reported_although_gitignore_leaves_it_out(tmp_path: Path):
    repository(tmp_path, tracked={".gitignore": ".env\n"})
    write(tmp_path, [".env"])

    assert skipped(tmp_path) == {".env": "secret"}


def test_a_secret_is_taken_back_by_a_pattern_that_names_it(tmp_path: Path):
    write(tmp_path, {".codecompassignore": "!fixtures/*.pem\n"})
    write(tmp_path, ["fixtures/ca.pem", "real.pem"])

    assert indexed(tmp_path) == [".codecompassignore", "fixtures/ca.pem"]
    assert skipped(tmp_path) == {"real.pem": "secret"}


def test_a_secret_is_not_taken_back_by_taking_back_its_directory(tmp_path: Path):
    write(tmp_path, {".codecompassignore": "!build/**\n"})
    write(tmp_path, ["build/a.py", "build/.env"])

    assert indexed(tmp_path) == [".codecompassignore", "build/a.py"]
    assert skipped(tmp_path) == {"build/.env": "secret"}


def test_the_deepest_own_ignore_file_wins(tmp_path: Path):
    write(tmp_path, {".codecompassignore": "*.csv\n", "data/.codecompassignore": "!small.csv\n"})
    write(tmp_path, ["small.csv", "data/small.csv", "data/large.csv"])

    assert indexed(tmp_path) == [".codecompassignore", "data/.codecompassignore", "data/small.csv"]


def test_settings_win_over_files_and_includes_over_excludes(tmp_path: Path):
    write(tmp_path, {".codecompassignore": "a.csv\n!b.csv\n"})
    write(tmp_path, ["a.csv", "b.csv", "c.csv", "build/d.csv"])
    rules = ScanRules(extra_excludes=("*.csv",), extra_includes=("/a.csv", "build/d.csv"))

    assert indexed(tmp_path, rules) == [".codecompassignore", "a.csv", "build/d.csv"]


def test_settings_win_over_an_own_ignore_file_further_down(tmp_path: Path):
    write(tmp_path, {"sub/.codecompassignore": "!a.csv\n"})
    write(tmp_path, ["sub/a.csv"])

    assert indexed(tmp_path, ScanRules(extra_excludes=("*.csv",))) == ["sub/.codecompassignore"]


def test_names_are_case_sensitive(tmp_path: Path):
    write(tmp_path, {".gitignore": "Out/\n"})
    write(tmp_path, ["out/a.py", "Build/b.py", "Out/c.py"])

    assert indexed(tmp_path) == [".gitignore", "Build/b.py", "out/a.py"]


def test_a_virtual_environment_is_known_under_any_name(tmp_path: Path):
    write(tmp_path, ["env-3.11/pyvenv.cfg", "env-3.11/lib/site.py", "a.py"])

    assert indexed(tmp_path) == ["a.py"]


def test_a_directory_with_a_cache_tag_is_left_out_unless_included_or_tracked(tmp_path: Path):
    repository(tmp_path, tracked=["kept/CACHEDIR.TAG"])
    write(tmp_path, {".codecompassignore": "!wanted/\n"})
    write(tmp_path, ["cache/CACHEDIR.TAG", "cache/a.py", "wanted/CACHEDIR.TAG", "kept/new.py"])

    assert indexed(tmp_path) == [".codecompassignore", "kept/CACHEDIR.TAG", "kept/new.py", "wanted/CACHEDIR.TAG"]


def test_the_root_is_never_left_out(tmp_path: Path):
    write(tmp_path, ["CACHEDIR.TAG", "pyvenv.cfg"])

    assert indexed(tmp_path) == ["CACHEDIR.TAG", "pyvenv.cfg"]


def test_what_is_left_out_is_counted(tmp_path: Path):
    repository(tmp_path, tracked={".gitignore": "*.log\n"})
    write(tmp_path, ["a.log", "b.log", "node_modules/x/y.js", "build/z.js", ".cache/w"])

    result = scan(str(tmp_path), ScanRules())

    assert (result.ignored_files, result.ignored_directories, result.linked_worktrees) == (2, 3, 0)


@pytest.mark.parametrize(
    ("content", "kept"),
    [
        ("!/private/a.py\n/private/\n", set()),
        ("/private/\n!/private/a.py\n", {"private/a.py"}),
        ("!/private/sub/\n/private/\n!/private/a.py\n", {"private/a.py"}),
    ],
)
def test_of_our_own_patterns_the_last_one_counts_for_a_directory_too(tmp_path: Path, content: str, kept: set[str]):
    write(tmp_path, {".codecompassignore": content, "private/a.py": "", "private/b.py": "", "private/sub/c.py": ""})

    assert set(indexed(tmp_path)) == {".codecompassignore", *kept}


@pytest.mark.invariant(of="test_what_the_user_leaves_out_no_project_takes_in")
@pytest.mark.parametrize("pattern", ["!/private/a.py", "!/private/", "!/private/**", "!a.py"])
def test_no_file_of_a_repository_takes_back_what_the_settings_leave_out(tmp_path: Path, pattern: str):
    write(
        tmp_path,
        {
            ".codecompassignore": f"{pattern}\n!/private/b.py\n",
            "private/.codecompassignore": "!a.py\n!b.py\n",
            "private/a.py": "",
            "private/b.py": "",
            "src/a.py": "",
        },
    )

    found = scan(str(tmp_path), ScanRules(extra_excludes=("private/",)))

    assert {file.path for file in found.files} == {".codecompassignore", "src/a.py"}
