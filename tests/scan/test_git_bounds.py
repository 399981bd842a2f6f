"""No file of a repository leads git, or this program, out of the directories that a server may answer about.

`inside` is allowed and holds a repository; `outside` holds another one, with a branch and a file whose names are the canary. Each
way out is shown to be one: without limits it leads to the canary.
"""

import ast
import hashlib
import os
import shutil
import struct
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec import Struct

import codecompass
from codecompass.errors import CodeCompassError
from codecompass.scan.git_bounds import ChangesError, LeadsOutError, Places, kept_inside
from codecompass.scan.git_config import included_files, named_files
from codecompass.scan.git_index import read_git_blobs
from codecompass.scan.git_remotes import checked_out_repositories
from codecompass.scan.git_repository import GitError, find_repository, read_head, run_git, tracked_files, why_not
from codecompass.scan.git_revisions import read_refs, resolve_commit
from codecompass.scan.git_roots import ANYWHERE, GitRoots, read_inside
from codecompass.scan.rules import ScanRules
from codecompass.scan.walk import scan

from .trees import git, repository, write

CANARY = "canary"


class Two(Struct):
    """The repositories `mine`, in the allowed directory, and `theirs`, outside of it."""

    mine: Path
    theirs: Path
    roots: GitRoots

    @property
    def dot_git(self) -> Path:
        return self.mine / ".git"


@pytest.fixture
def two(tmp_path: Path) -> Two:
    base = Path(os.path.realpath(tmp_path))
    theirs = repository(base / "outside" / "theirs", tracked={f"{CANARY}.py": "secret = 1\n"})
    git(theirs, "branch", "-m", CANARY)
    git(theirs, "remote", "add", "origin", f"https://example.org/{CANARY}/{CANARY}")
    git(theirs, "config", "secret.word", CANARY)
    mine = repository(base / "inside" / "mine", tracked={"a.py": "a = 1\n"})
    return Two(mine, theirs, GitRoots((str(base / "inside"),)))


def everything(two: Two, roots: GitRoots) -> str:
    """Returns what the program learns from the repository at `mine`."""
    told: list[object] = [read_head(str(two.mine), roots), why_not(str(two.mine), roots)]
    told.append(scan(str(two.mine), ScanRules(git_roots=roots)))
    told.append(checked_out_repositories(str(two.mine), roots))
    read_git_blobs(str(two.mine), ("",), roots)
    found = find_repository(str(two.mine), roots)
    if found is not None:
        questions: list[Callable[[], object]] = [
            lambda: read_refs(found),
            lambda: resolve_commit(found, CANARY),
            lambda: resolve_commit(found, "theirs"),
            lambda: tracked_files(found, str(two.mine)),
            lambda: run_git(found, str(two.mine), "ls-tree", "-r", "theirs"),
            lambda: run_git(found, str(two.mine), "config", "--get", "secret.word"),
            lambda: run_git(found, str(two.mine), "check-attr", "filter", "--", "a.py"),
        ]
        for question in questions:
            try:
                told.append(question())
            except (GitError, CodeCompassError) as error:
                told.append(f"{type(error).__name__}: {error}".replace(f"'{CANARY}'", ""))
    return repr(told)


def remake(two: Two) -> None:
    shutil.rmtree(two.dot_git)


def by_git_file(two: Two) -> None:
    remake(two)
    two.dot_git.write_text(f"gitdir: {two.theirs}/.git\n")


def by_git_link(two: Two) -> None:
    remake(two)
    two.dot_git.symlink_to(two.theirs / ".git")


def by_relative_git_file(two: Two) -> None:
    remake(two)
    two.dot_git.write_text("gitdir: ../../outside/theirs/.git\n")


def by_git_file_through_a_link(two: Two) -> None:
    remake(two)
    (two.mine / "way").symlink_to(two.theirs)
    two.dot_git.write_text("gitdir: way/.git\n")


def by_common_directory(two: Two) -> None:
    (two.dot_git / "commondir").write_text(f"{two.theirs}/.git\n")
    (two.dot_git / "HEAD").write_text(f"ref: refs/heads/{CANARY}\n")


def by_the_common_directory_of_a_work_tree(two: Two) -> None:
    admin = two.dot_git.rename(two.mine.parent / "admin")
    two.dot_git.write_text("gitdir: ../admin\n")
    (admin / "commondir").write_text("../../outside/theirs/.git\n")


def by_a_real_work_tree(two: Two) -> None:
    """What `git worktree add` makes is as dangerous if its repository is not allowed."""
    shutil.rmtree(two.mine)
    git(two.theirs, "worktree", "add", "-q", "--no-checkout", "-b", "side", str(two.mine))


def by_alternates(two: Two) -> None:
    (two.dot_git / "objects/info/alternates").write_text(f"{two.theirs}/.git/objects\n")
    (two.dot_git / "refs/heads/theirs").write_bytes(git(two.theirs, "rev-parse", "HEAD"))


def by_quoted_alternates(two: Two) -> None:
    by_alternates(two)
    (two.dot_git / "objects/info/alternates").write_text(f'# a comment\n"{two.theirs}/\\056git/objects"\n')


def by_nested_alternates(two: Two) -> None:
    by_alternates(two)
    between = repository(two.mine.parent / "between")
    shutil.move(two.dot_git / "objects/info/alternates", between / ".git/objects/info/alternates")
    (two.dot_git / "objects/info/alternates").write_text("../../../between/.git/objects\n")


def by_include(two: Two) -> None:
    with (two.dot_git / "config").open("a") as config:
        config.write(f"[include] path = {two.theirs}/.git/config\n")


def by_conditional_include(two: Two) -> None:
    with (two.dot_git / "config").open("a") as config:
        config.write(f'[includeIf "gitdir:/**"]\n\tpath = "{two.theirs}/.g\\\nit/config" ; a comment\n')


def by_include_from_where_git_is_installed(two: Two) -> None:
    with (two.dot_git / "config").open("a") as config:
        config.write(f"[include]\n\tpath = %(prefix)/..{two.theirs}/.git/config\n")


def by_include_of_an_include(two: Two) -> None:
    (two.dot_git / "more").write_text(f"[INCLUDE]\r\n\tPath={two.theirs}/.git/config\r\n")
    with (two.dot_git / "config").open("a") as config:
        config.write("[include]\n\tpath = more\n")


def by_work_tree_configuration(two: Two) -> None:
    git(two.mine, "config", "extensions.worktreeConfig", "true")
    (two.dot_git / "config.worktree").write_text(f"[include]\n\tpath = {two.theirs}/.git/config\n")


def by_info_attributes(two: Two) -> None:
    (two.theirs / ".gitattributes").write_text(f"*.py filter={CANARY}\n")
    (two.dot_git / "info").mkdir(exist_ok=True)
    (two.dot_git / "info/attributes").symlink_to(two.theirs / ".gitattributes")


def by_the_attributes_of_the_configuration(two: Two) -> None:
    (two.theirs / ".gitattributes").write_text(f"*.py filter={CANARY}\n")
    git(two.mine, "config", "core.attributesFile", str(two.theirs / ".gitattributes"))


def by_relative_attributes_of_the_configuration(two: Two) -> None:
    """Relative to where git runs, not to the configuration."""
    (two.theirs / ".gitattributes").write_text(f"*.py filter={CANARY}\n")
    git(two.mine, "config", "core.attributesFile", "../../outside/theirs/.gitattributes")


def by_linked(name: str) -> Callable[[Two], None]:
    """A link in the git directory, in place of what belongs there."""

    def link(two: Two) -> None:
        (two.dot_git / "refs/heads/theirs").write_bytes(git(two.theirs, "rev-parse", "HEAD"))
        git(two.theirs, "repack", "-adq") if name == "objects/pack" else None
        place = two.dot_git / name
        shutil.rmtree(place) if place.is_dir() else place.unlink(missing_ok=True)
        place.symlink_to(two.theirs / ".git" / name)

    link.__name__ = f"by_a_link_at_{name}"
    return link


def by_linked_packed_refs(two: Two) -> None:
    git(two.theirs, "branch", "plain")
    git(two.theirs, "pack-refs", "--all")
    (two.dot_git / "packed-refs").symlink_to(two.theirs / ".git/packed-refs")
    (two.dot_git / "HEAD").write_text("ref: refs/heads/plain\n")


def by_linked_objects(two: Two) -> None:
    """Each object that lies outside is linked by itself."""
    (two.dot_git / "refs/heads/theirs").write_bytes(git(two.theirs, "rev-parse", "HEAD"))
    for each in (two.theirs / ".git/objects").glob("??/*"):
        place = two.dot_git / "objects" / each.parent.name / each.name
        place.parent.mkdir(exist_ok=True)
        place.symlink_to(each)


def by_a_list_of_packs(two: Two) -> None:
    """`multi-pack-index` names packs, and git takes any path for a name."""
    (two.dot_git / "refs/heads/theirs").write_bytes(git(two.theirs, "rev-parse", "HEAD"))
    git(two.theirs, "repack", "-adq")
    git(two.theirs, "multi-pack-index", "write")
    packs = two.theirs / ".git/objects/pack"
    content = bytearray((packs / "multi-pack-index").read_bytes())
    (name,) = [each.name for each in packs.glob("*.idx")]
    far = f"{'../' * 5}outside/theirs/.git/objects/pack/{name}".encode() + b"\0"
    n_chunks = content[6]
    table = 12
    chunks = [struct.unpack_from(">4sQ", content, table + 12 * each) for each in range(n_chunks + 1)]
    assert chunks[0][0] == b"PNAM"
    padded = far + b"\0" * (-len(far) % 4)
    grown = len(padded) - (chunks[1][1] - chunks[0][1])
    content[chunks[0][1] : chunks[1][1]] = padded
    for at, (kind, offset) in enumerate(chunks):
        struct.pack_into(">4sQ", content, table + 12 * at, kind, offset + (grown if at else 0))
    body = bytes(content[:-20])
    (two.dot_git / "objects/pack").mkdir(exist_ok=True)
    (two.dot_git / "objects/pack/multi-pack-index").write_bytes(body + hashlib.sha1(body).digest())


def by_a_linked_directory_of_refs(two: Two) -> None:
    (two.dot_git / "refs/heads/deep").symlink_to(two.theirs / ".git/refs/heads")


def by_a_head_that_names_a_file(two: Two) -> None:
    (two.theirs / ".git/pointer").write_text(f"ref: refs/heads/{CANARY}\n")
    (two.dot_git / "HEAD").write_text(f"ref: {two.theirs}/.git/refs/heads/{CANARY}\n")


WAYS = (
    by_git_file, by_git_link, by_relative_git_file, by_git_file_through_a_link, by_common_directory,
    by_the_common_directory_of_a_work_tree, by_a_real_work_tree, by_alternates, by_quoted_alternates, by_nested_alternates,
    by_include, by_conditional_include, by_include_from_where_git_is_installed, by_include_of_an_include,
    by_work_tree_configuration, by_info_attributes,
    by_the_attributes_of_the_configuration, by_relative_attributes_of_the_configuration,
    by_linked("index"), by_linked("config"), by_linked_packed_refs,
    by_linked("refs"), by_linked("refs/heads"), by_linked("objects"), by_linked("objects/pack"), by_linked_objects,
    by_a_list_of_packs, by_a_linked_directory_of_refs,
)  # fmt: skip


@pytest.mark.invariant(
    "No file of a repository leads git, or this program, out of the allowed roots, nor does a swap while it is read"
)
@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
def test_no_way_leads_out(two: Two, way: Callable[[Two], None]):
    secret = git(two.theirs, "rev-parse", "HEAD").decode().strip()
    way(two)

    told = everything(two, two.roots)
    known = {CANARY, secret} - ({secret} if (two.dot_git / "refs/heads/theirs").is_file() else set())

    assert any(each in everything(two, ANYWHERE) for each in known), "this is no way out"
    assert not any(each in told for each in known), told
    assert str(two.theirs) not in told


@pytest.mark.parametrize("name", ["{theirs}/.git/refs/heads/canary", "refs/../../../../outside/theirs/.git/refs/heads/canary"])
def test_a_head_names_no_file_elsewhere(two: Two, name: str):
    """Git refuses such names. This program reads HEAD itself, and a joined absolute path is another one."""
    (two.dot_git / "HEAD").write_text(f"ref: {name.format(theirs=two.theirs)}\n")

    assert read_head(str(two.mine), two.roots).commit is None
    assert read_head(str(two.mine)).commit is None


def test_the_work_tree_is_the_directory_that_holds_the_repository(two: Two):
    """`core.worktree` would have git read attributes, and `ls-files` its directories, elsewhere."""
    (two.theirs / ".gitattributes").write_text(f"*.py filter={CANARY}\n")
    git(two.mine, "config", "core.worktree", str(two.theirs))
    found = find_repository(str(two.mine), two.roots)
    assert found is not None

    assert tracked_files(found, str(two.mine)) == ("a.py",)
    assert CANARY.encode() not in run_git(found, str(two.mine), "check-attr", "filter", "--", "a.py")


def test_grafts_and_replacements_change_no_commit(two: Two):
    """With either, an id or `HEAD~1` would name what somebody wrote into a file."""
    first = git(two.mine, "rev-parse", "HEAD").decode().strip()
    git(two.mine, "checkout", "-q", "--orphan", "other")
    git(two.mine, "commit", "-q", "--allow-empty", "--message", "other")
    other = git(two.mine, "rev-parse", "HEAD").decode().strip()
    (two.dot_git / "info").mkdir(exist_ok=True)
    (two.dot_git / "info/grafts").write_text(f"{other} {first}\n")
    found = find_repository(str(two.mine), two.roots)
    assert found is not None

    with pytest.raises(CodeCompassError):
        resolve_commit(found, "HEAD~1")

    (two.dot_git / "info/grafts").unlink()
    git(two.mine, "replace", other, first)
    assert (
        resolve_commit(found, other).tree
        == git(two.mine, "--no-replace-objects", "rev-parse", f"{other}^{{tree}}").decode().strip()
    )


def test_no_variable_leads_out(two: Two, monkeypatch: pytest.MonkeyPatch):
    (two.dot_git / "refs/heads/theirs").write_bytes(git(two.theirs, "rev-parse", "HEAD"))
    for name, value in {
        "GIT_DIR": f"{two.theirs}/.git",
        "GIT_COMMON_DIR": f"{two.theirs}/.git",
        "GIT_WORK_TREE": str(two.theirs),
        "GIT_INDEX_FILE": f"{two.theirs}/.git/index",
        "GIT_OBJECT_DIRECTORY": f"{two.theirs}/.git/objects",
        "GIT_ALTERNATE_OBJECT_DIRECTORIES": f"{two.theirs}/.git/objects",
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": "include.path",
        "GIT_CONFIG_VALUE_0": f"{two.theirs}/.git/config",
        "GIT_CONFIG_PARAMETERS": f"'include.path={two.theirs}/.git/config'",
        "GIT_CONFIG_GLOBAL": f"{two.theirs}/.git/config",
        "GIT_CONFIG_SYSTEM": f"{two.theirs}/.git/config",
        "GIT_GRAFT_FILE": f"{two.theirs}/.git/HEAD",
        "GIT_SHALLOW_FILE": f"{two.theirs}/.git/HEAD",
        "GIT_NAMESPACE": CANARY,
        "GIT_TRACE": str(two.mine / "trace"),
    }.items():
        monkeypatch.setenv(name, value)

    assert CANARY not in everything(two, two.roots)
    assert not (two.mine / "trace").exists()


def test_nothing_is_fetched_from_a_remote_that_promises_objects(two: Two):
    missing = git(two.theirs, "rev-parse", "HEAD").decode().strip()
    for key, value in {
        "core.repositoryFormatVersion": "1",
        "extensions.partialClone": "theirs",
        "remote.theirs.url": str(two.theirs),
        "remote.theirs.promisor": "true",
        "remote.theirs.fetch": "+refs/heads/*:refs/remotes/theirs/*",
        "protocol.file.allow": "always",
        "protocol.allow": "always",
    }.items():
        git(two.mine, "config", key, value)
    found = find_repository(str(two.mine), two.roots)
    assert found is not None

    with pytest.raises((GitError, CodeCompassError)):
        resolve_commit(found, missing)
    with pytest.raises(GitError):
        run_git(found, str(two.mine), "cat-file", "-p", missing)


def test_a_table_of_refs_elsewhere_is_not_read(two: Two):
    (two.dot_git / "reftable").mkdir()
    (two.dot_git / "reftable/tables.list").write_text("../../../../outside/theirs/.git/reftable/1.ref\n")
    found = find_repository(str(two.mine), two.roots)
    assert found is not None

    with pytest.raises(GitError, match="list of tables"):
        read_refs(found)


def test_a_submodule_elsewhere_is_a_directory_without_git(two: Two):
    write(two.mine, {"sub/own.py": "own = 1\n"})
    (two.mine / "sub/.git").write_text(f"gitdir: {two.theirs}/.git\n")
    (two.theirs / ".git/info/exclude").write_text("own.py\n")

    found = scan(str(two.mine), ScanRules(git_roots=two.roots))

    assert "sub/own.py" in {file.path for file in found.files}
    assert "sub" not in found.repositories
    assert any("git is not used in sub/" in each for each in found.warnings)
    assert "sub" in scan(str(two.mine), ScanRules()).repositories


def test_an_exclude_file_elsewhere_is_not_read(two: Two):
    (two.theirs / "rules").write_text("b.py\n")
    write(two.mine, {"b.py": "b = 1\n"})
    (two.dot_git / "info/exclude").unlink(missing_ok=True)
    (two.dot_git / "info/exclude").symlink_to(two.theirs / "rules")

    assert "b.py" in {file.path for file in scan(str(two.mine), ScanRules(git_roots=two.roots)).files}
    assert "b.py" not in {file.path for file in scan(str(two.mine), ScanRules()).files}


# what stays


def test_a_work_tree_whose_repository_is_allowed_is_one(two: Two):
    side = two.mine.parent / "side"
    git(two.mine, "worktree", "add", "-q", "-b", "side", str(side))
    found = find_repository(str(side), two.roots)

    assert found is not None
    assert found.is_linked_worktree
    assert read_head(str(side), two.roots).ref == "side"
    assert tracked_files(found, str(side)) == ("a.py",)
    assert {ref.name for ref in read_refs(found).refs} == {"main", "side"}


def test_one_more_directory_can_be_allowed(two: Two):
    by_a_real_work_tree(two)
    roots = GitRoots((*two.roots.directories, str(two.theirs / ".git")))

    assert read_head(str(two.mine), roots).ref == "side"
    assert find_repository(str(two.mine), roots) is not None


def test_links_within_the_allowed_directories_are_followed(two: Two):
    store = (two.dot_git / "objects").rename(two.mine.parent / "store")
    (two.dot_git / "objects").symlink_to("../../store")
    between = repository(two.mine.parent / "between", tracked={"b.py": "b = 1\n"})
    (store / "info").mkdir(exist_ok=True)
    (store / "info/alternates").write_text(f"{between}/.git/objects\n")
    (two.dot_git / "refs/heads/theirs").write_bytes(git(between, "rev-parse", "HEAD"))
    found = find_repository(str(two.mine), two.roots)
    assert found is not None

    assert {ref.name for ref in read_refs(found).refs} == {"main", "theirs"}


def test_a_bare_repository_is_one_and_leads_nowhere(two: Two):
    bare = two.mine.parent / "bare.git"
    git(two.mine, "clone", "-q", "--bare", str(two.mine), str(bare))
    found = find_repository(str(bare), two.roots)
    assert found is not None
    assert resolve_commit(found, "main").tree

    (bare / "objects/info/alternates").write_text(f"{two.theirs}/.git/objects\n")
    assert find_repository(str(bare), two.roots) is None
    assert "takes objects" in why_not(str(bare), two.roots)


def test_a_repository_above_the_allowed_directories_is_not_used(two: Two):
    roots = GitRoots((str(two.mine / "below"),))
    write(two.mine, {"below/b.py": "b = 1\n"})

    assert find_repository(str(two.mine / "below"), roots) is None
    assert "outside of the allowed roots" in why_not(str(two.mine / "below"), roots)


# swaps between the check and the read


def places_of(two: Two) -> Places:
    return Places(str(two.mine), str(two.dot_git), str(two.dot_git))


def swap_alternates(two: Two) -> Callable[[], None]:
    listed = two.dot_git / "objects/info/alternates"

    def swap() -> None:
        listed.unlink() if listed.exists() else listed.write_text(f"{two.theirs}/.git/objects\n")

    return swap


def swap_directory(name: str) -> Callable[[Two], Callable[[], None]]:
    def of(two: Two) -> Callable[[], None]:
        place, aside = two.mine / name, two.mine / "aside"

        def swap() -> None:
            if place.is_symlink():
                place.unlink()
                aside.rename(place)
            else:
                place.rename(aside)
                place.symlink_to(two.theirs / name)

        return swap

    return of


def swap_configuration(two: Two) -> Callable[[], None]:
    config = two.dot_git / "config"
    before, after = config.read_text(), f"[include]\n\tpath = {two.theirs}/.git/config\n"

    def swap() -> None:
        config.write_text(before if config.read_text() != before else before + after)

    return swap


def swap_top(two: Two) -> Callable[[], None]:
    aside = two.mine.with_name("aside")

    def swap() -> None:
        if two.mine.is_symlink():
            two.mine.unlink()
            aside.rename(two.mine)
        else:
            two.mine.rename(aside)
            two.mine.symlink_to(two.theirs)

    return swap


SWAPS = {
    "alternates": swap_alternates,
    "git directory": swap_directory(".git"),
    "objects": swap_directory(".git/objects"),
    "packs": swap_directory(".git/objects/pack"),
    "refs": swap_directory(".git/refs/heads"),
    "configuration": swap_configuration,
    "work tree": swap_top,
}


@pytest.mark.invariant(of="test_no_way_leads_out")
@pytest.mark.parametrize("fails", [False, True], ids=["what was read", "an error"])
@pytest.mark.parametrize("name", SWAPS)
def test_what_a_read_during_a_swap_says_is_discarded(two: Two, name: str, fails: bool):
    """Somebody swaps after the check and back before the next one: both checks see what is allowed. An error of git quotes the
    file that it cannot read.
    """
    swap = SWAPS[name](two)
    attempts: list[int] = []

    def read() -> str:
        attempts.append(1)
        if len(attempts) > 1:
            return "inside"
        swap()
        swap()
        if fails:
            raise GitError(CANARY)
        return CANARY

    assert kept_inside(places_of(two), two.roots, read) == "inside"
    assert len(attempts) == 2


@pytest.mark.parametrize("name", SWAPS)
def test_what_stays_swapped_is_refused(two: Two, name: str):
    swap = SWAPS[name](two)

    def read() -> str:
        swap()
        return CANARY

    with pytest.raises(LeadsOutError):
        kept_inside(places_of(two), two.roots, read)


def test_a_repository_that_never_stands_still_is_refused(two: Two):
    swap = swap_alternates(two)

    def read() -> str:
        swap()
        swap()
        return CANARY

    with pytest.raises(ChangesError):
        kept_inside(places_of(two), two.roots, read, patience=0.1)


def test_a_file_that_becomes_a_link_while_it_is_opened_is_not_read(two: Two, monkeypatch: pytest.MonkeyPatch):
    """The path without links is opened step by step; none of the steps may have become a link."""
    (two.dot_git / "deep").mkdir()
    (two.dot_git / "deep/file").write_text("inside")
    (two.theirs / "deep").mkdir()
    (two.theirs / "deep/file").write_text(CANARY)
    path = str(two.dot_git / "deep/file")
    real = os.path.realpath

    def swap_after(asked: str) -> str:
        found = real(asked)
        (two.dot_git / "deep").rename(two.dot_git / "aside")
        (two.dot_git / "deep").symlink_to(two.theirs / "deep")
        return found

    assert read_inside(path, 100, two.roots) == b"inside"
    monkeypatch.setattr(os.path, "realpath", swap_after)

    with pytest.raises(OSError):
        read_inside(path, 100, two.roots)


# who asks

ROOTED = {
    "find_repository": 2, "repository_at": 2, "bare_repository_at": 2, "read_head": 2, "read_checkout": 2, "repository_of": 2,
    "read_git_blobs": 3, "named_commit": 4, "refs_of": 3, "list_refs": 6, "watch_points": 3, "checked_out_repositories": 2,
    "changed_since_indexed": 3, "index_limits": 2, "ScanRules": 4,
}  # fmt: skip
"""Functions that find or read a repository by a path, with the number of arguments including the directories it must lie in."""

SERVED = ("actors", "projects", "scan", "store", "transport")
"""Packages of a server. A command and a worker of a cluster answer the person who runs them, who may read anything."""

MARKERS_ONLY = {"scan/roots.py"}
"""Only asks whether there is a `.git`, to find where a project begins; nothing of what it names is read."""


@pytest.mark.invariant(of="test_no_way_leads_out")
def test_whoever_reads_git_says_where_it_must_lie():
    package = Path(codecompass.__file__).parent
    forgotten = []
    for file in (each for name in SERVED for each in (package / name).rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text())):
            name = getattr(node.func, "id", getattr(node.func, "attr", "")) if isinstance(node, ast.Call) else ""
            if not isinstance(node, ast.Call) or name not in ROOTED or str(file.relative_to(package)) in MARKERS_ONLY:
                continue
            keywords = {each.arg for each in node.keywords}
            is_own_method = name == "list_refs" and isinstance(node.func, ast.Attribute)
            is_own_method |= name == "repository_at" and ast.unparse(node.func).startswith("self._context")
            if not is_own_method and len(node.args) < ROOTED[name] and not keywords & {"roots", "git_roots"}:
                forgotten.append(f"{file.relative_to(package)}:{node.lineno} {name}")

    assert forgotten == []


# configuration files


@pytest.mark.parametrize(
    "text",
    [
        "[include]\n\tpath = /x/y\n",
        "[include]path=/x/y",
        "[ include ]\npath = /x/y",
        '[includeIf "onbranch:main"]\n  PATH = "/x/y" # why\n',
        "[core]\n\ta = b\n[INCLUDE]\r\n\tPath\t=\t/x/y\r\n",
        '[include]\n\tpath = /x\\\n/y\n',
        '[include]\n\tpath = /x/"y";z\n',
        "[core] # a comment \\\n[include]\n\tpath = /x/y\n",
        "\ufeff[include]\n\tpath = /x/y\n",
    ],
)  # fmt: skip
def test_every_spelling_of_an_include_is_found(text: str):
    assert "/x/y" in included_files(text, "/r/.git/config")


def test_paths_that_are_no_includes_are_not_followed():
    text = '[difftool "x"]\n\tpath = /usr/bin/x\n[submodule "s"]\n\tpath = s\n'

    assert included_files(text, "/r/.git/config") == []
    assert named_files("[core]\n\tattributesfile = ../x\n", "/r") == ["/r/../x"], "git runs at the top"


def test_an_include_is_relative_to_its_file_and_to_the_home(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("HOME", "/home/u")

    found = included_files("[include]\n\tpath = more\n[include]\n\tpath = ~/more\n", "/r/.git/config")

    assert found == ["/r/.git/more", "/home/u/more"]
