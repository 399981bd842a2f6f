"""A real API server of Kubernetes with its store, on loopback: it admits and validates objects as any cluster does.

It has no controllers and no nodes, so nothing is started. CODECOMPASS_KUBERNETES names a directory with `kube-apiserver`, `etcd`
and `kubectl`; tests that need it are skipped without (tests/README.md says where they come from).
"""

import json
import os
import secrets
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Final

import pytest

from tests.support.certificates import self_signed
from tests.support.live import free_port

VARIABLE: Final = "CODECOMPASS_KUBERNETES"
PROGRAMS: Final = ("kube-apiserver", "etcd", "kubectl")

START_SECONDS: Final = 180
END_SECONDS: Final = 60
COMMAND_SECONDS: Final = 120

_UNLIMITED: Final = ("sh", "-c", 'ulimit -d unlimited; ulimit -n "$(ulimit -Hn)"; exec "$@"', "sh")
"""The limits of the tests are too low for programs in Go, which map more than they use."""


def programs() -> dict[str, str]:
    """Returns the paths of the programs by name; skips the test without them."""
    directory = os.environ.get(VARIABLE)
    if not directory:
        pytest.skip(f"{VARIABLE} names no directory with {', '.join(PROGRAMS)}")
    found = {name: str(Path(directory) / name) for name in PROGRAMS}
    for path in found.values():
        assert os.access(path, os.X_OK), f"{VARIABLE}: {path} cannot be run"
    return found


class ApiServer:
    """A running API server; `kubectl` is its administrator."""

    def __init__(self, kubectl: str, configuration: Path) -> None:
        self._kubectl = kubectl
        self._configuration = configuration

    def kubectl(self, *arguments: str | Path, stdin: object = None) -> subprocess.CompletedProcess[str]:
        """Runs kubectl; `stdin` is sent as JSON."""
        command = [*_UNLIMITED, self._kubectl, "--kubeconfig", str(self._configuration), *map(str, arguments)]
        text = None if stdin is None else json.dumps(stdin)
        return subprocess.run(command, input=text, capture_output=True, text=True, timeout=COMMAND_SECONDS, check=False)

    def objects(self, *arguments: str) -> list[Any]:
        """Returns the objects that `kubectl get` finds."""
        done = self.kubectl("get", *arguments, "-o", "json")
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)["items"]


@contextmanager
def api_server(directory: Path) -> Iterator[ApiServer]:
    """Yields a server without objects; ends it after the block."""
    found = programs()
    port, store, peers = free_port(), f"http://127.0.0.1:{free_port()}", f"http://127.0.0.1:{free_port()}"
    key, certificate = self_signed(directory, "accounts")
    token = secrets.token_hex(16)
    (directory / "tokens.csv").write_text(f"{token},admin,admin,system:masters\n")
    configuration = directory / "kubeconfig"
    configuration.write_text(json.dumps(_configuration(f"https://127.0.0.1:{port}", token)))
    with ExitStack() as stack:
        stack.enter_context(
            _running(
                directory / "etcd.log",
                found["etcd"],
                "--data-dir",
                directory / "etcd",
                "--unsafe-no-fsync",
                *("--listen-client-urls", store, "--advertise-client-urls", store),
                *("--listen-peer-urls", peers, "--initial-advertise-peer-urls", peers, "--initial-cluster", f"default={peers}"),
            )
        )
        stack.enter_context(
            _running(
                directory / "api.log",
                found["kube-apiserver"],
                *("--etcd-servers", store, "--bind-address", "127.0.0.1", "--secure-port", str(port)),
                *("--cert-dir", directory / "certificates", "--token-auth-file", directory / "tokens.csv"),
                *("--authorization-mode", "RBAC", "--service-cluster-ip-range", "10.0.0.0/24"),
                *("--service-account-issuer", "https://kubernetes.default.svc"),
                *("--service-account-key-file", certificate, "--service-account-signing-key-file", key),
            )
        )
        server = ApiServer(found["kubectl"], configuration)
        _wait_ready(server, directory / "api.log")
        yield server


def _configuration(url: str, token: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "test", "cluster": {"server": url, "insecure-skip-tls-verify": True}}],
        "users": [{"name": "admin", "user": {"token": token}}],
        "contexts": [{"name": "test", "context": {"cluster": "test", "user": "admin"}}],
        "current-context": "test",
    }


@contextmanager
def _running(log: Path, *command: str | Path) -> Iterator[None]:
    with log.open("wb") as file:
        process = subprocess.Popen([*_UNLIMITED, *map(str, command)], stdout=file, stderr=subprocess.STDOUT)
    try:
        yield
    finally:
        process.terminate()
        try:
            process.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _wait_ready(server: ApiServer, log: Path) -> None:
    ends = time.monotonic() + START_SECONDS
    while server.kubectl("get", "--raw", "/readyz").stdout != "ok" or not server.kubectl("get", "namespace", "default").stdout:
        assert time.monotonic() < ends, log.read_text(errors="replace")[-3_000:]


def without_warnings(done: subprocess.CompletedProcess[str]) -> Sequence[str]:
    """Returns the lines of a command that succeeded and was warned of nothing."""
    assert done.returncode == 0, done.stderr
    assert "Warning" not in done.stderr, done.stderr
    return done.stdout.splitlines()
