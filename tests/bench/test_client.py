"""The measuring client times its own requests, and never mistakes a dead server for a slow one."""

import os
import signal
import time

import pytest

from bench.client import ServerFailed, serving


@pytest.fixture
def project(tmp_path):
    root = tmp_path / "project"
    root.mkdir()
    (root / "a.py").write_text("def alpha(): pass\n")
    return root


def test_answers_are_given_to_whoever_waits_for_them_in_any_order(project, tmp_path):
    with serving(project, tmp_path / "home") as server:
        assert 0 < server.initialize() < time.monotonic() - server.started
        call = server.send_call("locate_symbol", {"name": "alpha"})

        ping = server.request("ping")

        assert not server.is_answered(call) or ping.seconds > 0
        assert b"codecompass_protocol_version" in bytes(server.tool_answer(call).result)
        assert server.end() > 0
        assert server.end() == 0


def test_an_error_is_no_figure(project, tmp_path):
    with serving(project, tmp_path / "home") as server:
        server.initialize()

        with pytest.raises(ServerFailed, match="invalid_input"):
            server.call("locate_symbol", {"name": ""})
        with pytest.raises(ServerFailed, match="no/such/method"):
            server.request("no/such/method")


def test_a_server_that_is_gone_is_an_error(project, tmp_path):
    with serving(project, tmp_path / "home") as server:
        server.initialize()
        os.kill(server.pid, signal.SIGKILL)

        with pytest.raises(ServerFailed, match="has ended"):
            server.request("ping")
