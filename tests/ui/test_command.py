"""`codecompass ui` as a process: it prints the page's address, shows the current directory's project, and stops when told."""

import os
import signal
import subprocess
import sys
import urllib.request

import pytest

from tests.ui.browsing import codecompass, server_process
from tests.ui.shop import write


def page_of(url):
    with urllib.request.urlopen(url, timeout=60) as answer:
        return answer.read().decode()


def test_it_prints_the_address_of_a_page_that_is_there(tmp_path):
    root = write(tmp_path / "shop")
    home = tmp_path / "home"
    home.mkdir()
    with server_process(home, "--workspace", str(root)) as server:
        page = page_of(f"{server.url}/ui")
        code = server.process.poll()

    assert code is None
    assert server.process.returncode == 0
    assert "<title>CodeCompass</title>" in page


def test_the_page_begins_with_the_project_that_one_stands_in(tmp_path):
    home, root, other = tmp_path / "home", write(tmp_path / "shop"), write(tmp_path / "another")
    home.mkdir()
    (root / "pyproject.toml").write_text("")
    codecompass(home, "init", str(other))
    process = subprocess.Popen(
        [sys.executable, "-m", "codecompass", "ui", "--no-open"],
        env={**os.environ, "CODECOMPASS_HOME": str(home)},
        cwd=root,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        address = process.stdout.readline().strip()
        listed = codecompass(home, "projects", "list", "--json").stdout
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(60)
        process.stdout.close()

    assert address.partition("?project=")[2] in listed
    assert str(root) in listed


def test_a_directory_that_is_no_project_is_not_made_one(tmp_path):
    home, place = tmp_path / "home", tmp_path / "place"
    home.mkdir()
    place.mkdir()
    (place / "notes.txt").write_text("no project\n")
    with server_process(home, cwd=place):
        listed = codecompass(home, "projects", "list").stdout

    assert str(place) not in listed


@pytest.mark.parametrize("option", [("--workspace", "/nonexistent/place"), ("--project-id", "nobody")])
def test_a_project_that_there_is_not_is_said_before_anything_is_started(tmp_path, option):
    with pytest.raises(subprocess.CalledProcessError) as failed:
        codecompass(tmp_path, "ui", "--no-open", *option)

    assert failed.value.returncode in (1, 2, 3)
    assert "error:" in failed.value.stderr
    assert "http://" not in failed.value.stdout


def test_a_port_that_is_taken_is_said_in_one_sentence(tmp_path):
    home = tmp_path / "home"
    home.mkdir()
    with server_process(home) as server:
        port = server.url.rpartition(":")[2]
        with pytest.raises(subprocess.CalledProcessError) as failed:
            codecompass(home, "ui", "--no-open", "--port", port)

    assert f"Port {port} is already in use" in failed.value.stderr
