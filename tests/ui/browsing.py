"""A server in a separate process, and the system's Chromium, headless, to access it."""

import os
import re
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import MappingProxyType

import pytest
from msgspec import Struct

from tests.support.waiting import FROM_THE_INDEX

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")

START_SECONDS = 120
STOP_SECONDS = 60


class ServerProcess(Struct, frozen=True):
    """A running server: its address, its process and its data directory."""

    url: str
    process: subprocess.Popen
    home: Path


def codecompass(home: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Runs a command and waits until it has ended."""
    environment = {**os.environ, "CODECOMPASS_HOME": str(home)}
    command = [sys.executable, "-m", "codecompass", *arguments]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=True, timeout=300)


@contextmanager
def server_process(
    home: Path, *arguments: str, cwd: Path = Path("/"), environment: Mapping[str, str] = MappingProxyType({})
) -> Iterator[ServerProcess]:
    """Yields a server on a free port, started in a directory without a project."""
    process = subprocess.Popen(
        [sys.executable, "-m", "codecompass", "ui", "--no-open", *arguments],
        env={**os.environ, **FROM_THE_INDEX, "CODECOMPASS_HOME": str(home), **environment},
        cwd=cwd,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        assert process.stdout is not None
        timer = threading.Timer(START_SECONDS, process.kill)
        timer.start()
        found = re.match(r"(http://[0-9.:]+)/ui", process.stdout.readline())
        timer.cancel()
        assert found, "the server has not said its address"
        yield ServerProcess(found[1], process, home)
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(STOP_SECONDS)
        finally:
            process.kill()
            process.wait()
            process.stdout.close()


def browser_tools():
    """Returns the library that drives a browser; skips the test if it or the browser is missing, but fails in CI."""
    must = os.environ.get("CODECOMPASS_REQUIRE_TOOLS")
    if CHROMIUM is None:
        (pytest.fail if must else pytest.skip)("chromium is not installed")
    try:
        from playwright import sync_api
    except ImportError:
        (pytest.fail if must else pytest.skip)("playwright is not installed: pip install '.[browser]'")
    return sync_api


@contextmanager
def other_site(pages: dict[str, str]) -> Iterator[str]:
    """Yields the address of another site, on another port of this machine and under another name of it."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = pages.get(self.path, "").encode()
            self.send_response(200)
            self.send_header("content-type", "text/html")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Logs nothing."""

    site = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=site.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://localhost:{site.server_port}"
    finally:
        site.shutdown()
        site.server_close()
        thread.join()
