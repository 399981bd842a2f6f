"""No setting of a repository changes what git tells about it, starts a program, shows a file elsewhere or makes us wait."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from codecompass.scan.git_change_history import read_change_history
from codecompass.scan.git_changes import find_changes
from codecompass.scan.git_history import blame, history
from codecompass.scan.git_repository import GitError, GitRepository, repository_at
from codecompass.scan.git_revisions import WORKING_TREE, Side, default_base, named_side, read_refs, resolve_commit
from codecompass.scan.rules import ScanRules

from .trees import git, repository, write

pytestmark = pytest.mark.usefixtures("git_never_waits")

HANG_SECONDS = 120
"""For what the program itself would wait for."""

SIGNATURE = "gpgsig -----BEGIN PGP SIGNATURE-----\n \n iQ\n -----END PGP SIGNATURE-----"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A repository with a first commit, a rename, a signed commit, names that are not ASCII, and an edit."""
    root = repository(tmp_path / "r", tracked={"a.py": "one\ntwo\nthree\n", "b.py": "b\n" * 20, "\xe9.py": "\xe9\n"})
    git(root, "mv", "b.py", "c.py")
    write(root, {"c.py": "b\n" * 20 + "last\n"})
    git(root, "commit", "-qa", "--author", "\xc4da <ada@example.org>", "-m", "rename \xfc")
    plain, _, _ = git(root, "cat-file", "commit", "HEAD").decode().partition("\n\n")
    signed = f"{plain}\n{SIGNATURE}\n\nsigned\n".encode()
    git(root, "update-ref", "HEAD", git(root, "hash-object", "-t", "commit", "-w", "--stdin", stdin=signed).decode().strip())
    git(root, "branch", "feature", "HEAD~1")
    write(root, {"a.py": "one\nthree\n", "new.py": "new\n"})
    return root


def told(root: Path) -> dict[str, object]:
    found = repository_at(str(root))
    assert found is not None
    tip = resolve_commit(found, "main")

    def compared(known: GitRepository) -> object:
        return find_changes(known, str(root), named_side(known, "HEAD", field="base"), Side(name=WORKING_TREE), ScanRules())

    questions: dict[str, Callable[[GitRepository], object]] = {
        "refs": read_refs,
        "names": lambda known: [resolve_commit(known, name) for name in ("feature", "HEAD~1", tip.commit[:9])],
        "base": lambda known: default_base(known, named_side(known, "feature", field="head")),
        "changes": compared,
        "companions": lambda known: read_change_history(known, str(root), tip.commit),
        "blame": lambda known: blame(known, "c.py", 20, 21),
        "history": lambda known: history(known, "c.py"),
        "history of lines": lambda known: history(known, "a.py", (1, 2)),
    }
    return {name: question(found) for name, question in questions.items()}


@pytest.mark.invariant("No setting of a repository changes what git tells about it, starts a program, or makes this one wait")
@pytest.mark.timeout(HANG_SECONDS)
@pytest.mark.parametrize(
    "setting",
    [
        "i18n.logOutputEncoding=UTF-16", "i18n.logOutputEncoding=ISO-8859-1", "i18n.commitEncoding=UTF-16", "log.showRoot=false",
        "diff.orderFile=FIFO", "diff.orderFile=missing", "core.excludesFile=FIFO", "blame.ignoreRevsFile=FIFO",
        "mailmap.file=FIFO", "core.fsmonitor=PROGRAM", "core.pager=PROGRAM", "diff.external=PROGRAM", "diff.x.textconv=PROGRAM",
        "diff.x.command=PROGRAM", "gpg.program=PROGRAM", "alias.log=!PROGRAM", "core.alternateRefsCommand=PROGRAM",
        "trace2.eventTarget=RAN",
    ],
)  # fmt: skip
def test_no_setting_changes_what_is_told(root: Path, tmp_path: Path, setting: str):
    program, ran = tmp_path / "program", tmp_path / "ran"
    program.write_text(f"#!/bin/sh\necho > {ran}\ncat\n")
    program.chmod(0o755)
    os.mkfifo(tmp_path / "fifo")
    expected = told(root)
    name, _, value = setting.partition("=")
    for word, path in (("PROGRAM", program), ("FIFO", tmp_path / "fifo"), ("RAN", ran), ("missing", tmp_path / "missing")):
        value = value.replace(word, str(path))

    git(root, "config", "log.showSignature", "true")
    (root / ".git/info/attributes").write_text("*.py diff=x\n")
    git(root, "config", name, value)

    assert told(root) == expected
    assert not ran.exists()


@pytest.mark.timeout(HANG_SECONDS)
@pytest.mark.parametrize("path", ["{}", "../{}"])
def test_an_attributes_file_that_the_configuration_names_is_not_waited_for(root: Path, path: str):
    """Relative to the top of the work tree, where git runs."""
    os.mkfifo((root / path.format("fifo")).resolve())
    git(root, "config", "core.attributesFile", path.format("fifo"))

    with pytest.raises(GitError, match="is not a regular file"):
        told(root)


def test_no_error_quotes_the_file_that_blame_is_to_ignore(root: Path, tmp_path: Path):
    (tmp_path / "elsewhere").write_text("a line of another file\n")
    expected = told(root)["blame"]

    git(root, "config", "blame.ignoreRevsFile", "../elsewhere")

    assert told(root)["blame"] == expected


def test_an_error_of_git_gives_the_reason_and_not_the_hint_before_it(root: Path):
    """Git calls the list of grafts that it is told not to use deprecated, before anything else."""
    git(root, "config", "log.date", "nonsense")

    with pytest.raises(GitError, match="unknown date format nonsense"):
        told(root)
