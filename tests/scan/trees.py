"""Real trees and real git for the scanner's tests."""

import os
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from codecompass.scan.rules import ScanRules
from codecompass.scan.walk import ScanResult, scan

NOBODY = 65534


def write(root: Path, files: Mapping[str, str | bytes] | list[str]) -> Path:
    """Writes files below `root`; for a list, each gets one line of text."""
    contents = files if isinstance(files, Mapping) else dict.fromkeys(files, "text\n")
    for name, content in contents.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    return root


def git(directory: Path | str, *arguments: str, stdin: bytes = b"", statuses: tuple[int, ...] = (0,)) -> bytes:
    """Runs git without the developer's configuration, and returns what it prints.

    `statuses` are those that are no failure: `check-ignore` ends with 1 when nothing is ignored.
    """
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": "/nonexistent",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_AUTHOR_NAME": "A",
        "GIT_AUTHOR_EMAIL": "a@example.org",
        "GIT_COMMITTER_NAME": "A",
        "GIT_COMMITTER_EMAIL": "a@example.org",
        "GIT_AUTHOR_DATE": "2020-01-01T00:00:00Z",
        "GIT_COMMITTER_DATE": "2020-01-01T00:00:00Z",
    }
    options = ["-c", "init.defaultBranch=main", "-c", "protocol.file.allow=always", "-c", "core.quotePath=false"]
    command = ["git", *options, "-C", str(directory), *arguments]
    done = subprocess.run(command, env=environment, input=stdin, stdout=subprocess.PIPE, check=False)
    assert done.returncode in statuses, (command, done.returncode)
    return done.stdout


def repository(root: Path, *, tracked: Mapping[str, str | bytes] | list[str] = ()) -> Path:
    """Makes a repository at `root` with the `tracked` files committed, even if ignored."""
    root.mkdir(parents=True, exist_ok=True)
    git(root, "init", "--quiet")
    if tracked:
        write(root, tracked)
        git(root, "add", "--force", "--", *tracked)
        git(root, "commit", "--quiet", "--message", "first")
    return root


def paths(result: ScanResult) -> list[str]:
    return [file.path for file in result.files]


def indexed(root: Path | str, rules: ScanRules | None = None) -> list[str]:
    """Returns the paths that a scan of `root` lists."""
    return paths(scan(str(root), rules or ScanRules()))


def skipped(root: Path | str, rules: ScanRules | None = None) -> dict[str, str]:
    """Returns the paths that a scan of `root` skips, with the reasons."""
    return {file.path: file.reason for file in scan(str(root), rules or ScanRules()).skipped}


@contextmanager
def without_privileges() -> Iterator[None]:
    """Runs the body as a user to whom permissions apply: root reads everything."""
    if os.geteuid() != 0:
        yield
        return
    os.setegid(NOBODY)
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)
        os.setegid(0)
