"""A local git remote that tests push to: a bare repository with a work tree."""

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

IDENTITY = ("-c", "user.name=t", "-c", "user.email=t@example.invalid", "-c", "commit.gpgsign=false")
DEADLINE_SECONDS = 60


class GitRemote:
    """`url` is the address for workers, which must allow the protocol `file`."""

    def __init__(self, base: Path, name: str = "remote") -> None:
        self.bare = base / f"{name}.git"
        self.work = base / f"{name}-work"
        self.url = f"file://{self.bare}"
        self._environment = {
            **{key: value for key, value in os.environ.items() if not key.startswith("GIT_")},
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_CONFIG_SYSTEM": os.devnull,
        }
        base.mkdir(parents=True, exist_ok=True)
        self.git("init", "-q", "--bare", "-b", "main", str(self.bare), cwd=base)
        self.git("init", "-q", "-b", "main", str(self.work), cwd=base)
        self.git("remote", "add", "origin", self.url)

    def git(self, *arguments: str, cwd: Path | None = None) -> str:
        """Runs git in the work tree, and returns its output."""
        done = subprocess.run(
            ["git", *IDENTITY, *arguments],
            cwd=cwd or self.work,
            env=self._environment,
            check=True,
            capture_output=True,
            text=True,
            timeout=DEADLINE_SECONDS,
        )
        return done.stdout.strip()

    def push(self, files: Mapping[str, str | None], branch: str = "main", *, amends: bool = False) -> str:
        """Commits these files (None deletes one) to a branch and force-pushes it. Returns the commit."""
        branches = self.git("branch", "--list", "--format=%(refname:short)").split()
        if branches:
            self.git("checkout", "-q", *(() if branch in branches else ("-b",)), branch)
        for path, content in files.items():
            full = self.work / path
            if content is None:
                full.unlink()
            else:
                full.parent.mkdir(parents=True, exist_ok=True)
                full.write_text(content)
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", "change", *(("--amend",) if amends else ()))
        self.git("push", "-q", "--force", "origin", branch)
        return self.git("rev-parse", "HEAD")
