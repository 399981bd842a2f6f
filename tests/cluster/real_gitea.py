"""A real Gitea or Forgejo on a local port, with its database in a temporary directory, if the environment names its program.

CODECOMPASS_GITEA is the path of the program. If it was built without its templates (without the build tag `bindata`), they are
expected beside it, as in its source tree.
"""

import base64
import http.client
import json
import os
import pwd
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.cluster.nodes import free_ports

PROGRAM = "CODECOMPASS_GITEA"
ADMINISTRATOR, PASSWORD = "boss", "Correct-horse-7"
SECONDS = 60

SETTINGS = """
RUN_MODE = prod
RUN_USER = {user}
[server]
HTTP_ADDR = 127.0.0.1
HTTP_PORT = {port}
ROOT_URL = http://127.0.0.1:{port}/
DISABLE_SSH = true
OFFLINE_MODE = true
{static}
[database]
DB_TYPE = sqlite3
[security]
INSTALL_LOCK = true
PASSWORD_HASH_ALGO = pbkdf2_v1
[webhook]
ALLOWED_HOST_LIST = loopback
[log]
LEVEL = Warn
"""


class Gitea:
    """The host. `url` is its address, `work` its directory."""

    def __init__(self, program: Path, work: Path) -> None:
        self.work = work
        self.port = free_ports(1)[0]
        self.url = f"http://127.0.0.1:{self.port}"
        self._program = program
        # It refuses to run as root.
        self._account = pwd.getpwnam("nobody") if os.geteuid() == 0 else None
        user = self._account.pw_name if self._account else pwd.getpwuid(os.getuid()).pw_name
        static = f"STATIC_ROOT_PATH = {program.parent}" if (program.parent / "templates").is_dir() else ""
        self._settings = work / "app.ini"
        self._settings.write_text(SETTINGS.format(user=user, port=self.port, static=static))
        self._process: subprocess.Popen[bytes] | None = None
        self._output = (work / "output").open("ab")
        if self._account:
            for path in (work, self._settings):
                os.chown(path, self._account.pw_uid, self._account.pw_gid)

    def start(self) -> None:
        """Makes the database and the administrator, and starts serving."""
        self._run("migrate").check_returncode()
        name = ("--username", ADMINISTRATOR, "--password", PASSWORD, "--email", f"{ADMINISTRATOR}@example.invalid")
        self._run("admin", "user", "create", *name, "--admin", "--must-change-password=false").check_returncode()
        self._process = subprocess.Popen(**self._arguments("web"))
        deadline = time.monotonic() + SECONDS
        while time.monotonic() < deadline and self._process.poll() is None:
            try:
                self.call("GET", "/version")
            except OSError:
                time.sleep(0.1)
            else:
                return
        raise AssertionError(f"it has not started: {(self.work / 'output').read_text()[-2000:]}")

    def stop(self) -> None:
        self._output.close()
        if self._process is not None:
            self._process.terminate()
            try:
                self._process.wait(SECONDS)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()

    def call(self, method: str, path: str, body: object = None, *, user: str = ADMINISTRATOR) -> Any:
        """Returns the decoded answer of its interface."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=SECONDS)
        key = base64.b64encode(f"{user}:{PASSWORD}".encode()).decode()
        headers = {"Authorization": f"Basic {key}", "Content-Type": "application/json"}
        try:
            connection.request(method, f"/api/v1{path}", None if body is None else json.dumps(body), headers)
            answer = connection.getresponse()
            text = answer.read()
        finally:
            connection.close()
        assert answer.status < 300, f"{method} {path}: {answer.status} {text[:500]!r}"
        return json.loads(text) if text else None

    def add_user(self, name: str) -> None:
        fields = {"username": name, "email": f"{name}@example.invalid", "password": PASSWORD, "must_change_password": False}
        self.call("POST", "/admin/users", fields)

    def add_repository(self, owner: str, name: str, *, is_private: bool = True) -> None:
        fields = {"name": name, "private": is_private, "auto_init": True, "default_branch": "main"}
        self.call("POST", f"/orgs/{owner}/repos", fields)

    def add_team(
        self, owner: str, name: str, units: Mapping[str, str], *, repositories: tuple[str, ...], members: tuple[str, ...]
    ) -> None:
        fields = {"name": name, "permission": "read", "units": list(units), "units_map": dict(units)}
        team = self.call("POST", f"/orgs/{owner}/teams", fields)["id"]
        for each in repositories:
            self.call("PUT", f"/teams/{team}/repos/{owner}/{each}")
        for each in members:
            self.call("PUT", f"/teams/{team}/members/{each}")

    def push(self, repository: str, path: str, text: str) -> str:
        """Commits a new file to the default branch, and returns the commit."""
        content = base64.b64encode(text.encode()).decode()
        said = self.call("POST", f"/repos/{repository}/contents/{path}", {"content": content, "message": "change"})
        return str(said["commit"]["sha"])

    def token(self) -> str:
        """Returns a new token that may read everything the administrator may."""
        scopes = ["read:organization", "read:repository", "read:user"]
        return str(self.call("POST", f"/users/{ADMINISTRATOR}/tokens", {"name": "codecompass", "scopes": scopes})["sha1"])

    def _run(self, *arguments: str) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(**self._arguments(*arguments), timeout=SECONDS, check=False)

    def _arguments(self, *arguments: str) -> dict[str, Any]:
        account = self._account
        command = [str(self._program), "--config", str(self._settings), "--work-path", str(self.work), *arguments]
        as_user = {"user": account.pw_uid, "group": account.pw_gid, "extra_groups": []} if account else {}
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("GIT", "CODECOMPASS"))}
        environment = {**kept, "HOME": str(self.work)}
        return {"args": command, "env": environment, "cwd": "/", "stdout": self._output, "stderr": self._output, **as_user}


@contextmanager
def gitea() -> Iterator[Gitea]:
    """Serves it for the duration of the block. Skips the test if no program is named."""
    program = os.environ.get(PROGRAM, "")
    if not program:
        pytest.skip(f"{PROGRAM} names no program of Gitea or Forgejo")
    work = Path(tempfile.mkdtemp(prefix="codecompass-gitea-")).resolve()
    work.chmod(0o755)
    made = Gitea(Path(program), work)
    try:
        made.start()
        yield made
    finally:
        made.stop()
        shutil.rmtree(work, ignore_errors=True)
