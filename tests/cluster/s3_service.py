"""A real service that speaks S3 for the tests: versitygw, which keeps objects as files. `make buckets` builds it, with Go."""

import os
import secrets
import shutil
import socket
import sys
import time
from pathlib import Path

import pytest

from codecompass.settings import ClusterSettings
from tests.cluster.nodes import free_ports
from tests.cluster.processes import DEADLINE_SECONDS, POLL_SECONDS, LoggedProcess

ACCESS_KEY = "AKTESTS"
SECRET_KEY = f"secret{secrets.token_hex(12)}"


def program() -> str:
    """Returns the path of the service's program. Skips the test where there is none."""
    found = shutil.which("versitygw", path=os.pathsep.join((str(Path(sys.executable).parent), os.environ.get("PATH", ""))))
    if found is None:
        if os.environ.get("CODECOMPASS_REQUIRE_TOOLS") and shutil.which("go") is not None:
            pytest.fail("no versitygw. Build it with: make buckets")
        pytest.skip("no versitygw, which `make buckets` builds")
    return found


class S3Service:
    """A process with buckets, which may be killed and started again. TLS with the files of a key and a certificate."""

    def __init__(self, directory: Path, tls: tuple[Path, Path] | None = None) -> None:
        self._directory = directory
        self._tls = tls
        self._port = free_ports(1)[0]  # it is started again there
        self._n_starts = 0
        self._process: LoggedProcess | None = None
        self._program = program()
        self.objects = directory / "objects"
        self.objects.mkdir(parents=True)
        self.access_key_file = directory / "access-key"
        self.access_key_file.write_text(f"{ACCESS_KEY}\n")
        self.secret_key_file = directory / "secret-key"
        self.secret_key_file.write_text(f"{SECRET_KEY}\n")
        self.start()

    @property
    def endpoint(self) -> str:
        return f"{'https' if self._tls else 'http'}://127.0.0.1:{self._port}"

    def start(self) -> None:
        """Starts the process, and returns when it listens."""
        key, certificate = self._tls or (None, None)
        tls = () if key is None else ("--key", str(key), "--cert", str(certificate))
        self._n_starts += 1
        self._process = LoggedProcess(
            [self._program, "--port", f"127.0.0.1:{self._port}", "--keep-alive", "--quiet", *tls, "posix", str(self.objects)],
            self._directory / f"log{self._n_starts}",
            {"ROOT_ACCESS_KEY_ID": ACCESS_KEY, "ROOT_SECRET_ACCESS_KEY": SECRET_KEY},
        )
        deadline = time.monotonic() + DEADLINE_SECONDS
        while time.monotonic() < deadline and self._process.is_running:
            try:
                socket.create_connection(("127.0.0.1", self._port)).close()
            except OSError:
                time.sleep(POLL_SECONDS)
            else:
                return
        raise AssertionError("the service does not listen")

    def kill(self) -> None:
        assert self._process is not None
        self._process.end()

    def ensure_running(self) -> None:
        """Starts the process if a test has killed it."""
        assert self._process is not None
        if not self._process.is_running:
            self.start()

    def new_bucket(self) -> str:
        """Returns the name of a new bucket: a directory, as the service keeps it."""
        name = f"bucket-{secrets.token_hex(6)}"
        (self.objects / name).mkdir()
        return name

    def settings(self, bucket: str, **others: object) -> ClusterSettings:
        """Returns the settings of a store in a bucket."""
        given = {
            "segments": f"s3://{bucket}/some/where",
            "prefix": "p",
            "s3_endpoint": self.endpoint,
            "s3_access_key_file": str(self.access_key_file),
            "s3_secret_key_file": str(self.secret_key_file),
            "s3_timeout_ms": 20_000,
        }
        return ClusterSettings(**{**given, **others})
