"""The image of a server for one machine: what it copies, how it starts, and what its health check says of a real server."""

import json
import re
import subprocess
import sys

import pytest

from bench.responsiveness import server
from tests.deploy.deployment import DEPLOY, ROOT
from tests.support.command_lines import require_known
from tests.support.served import write_tree

TEXT = (DEPLOY / "Dockerfile.local").read_text(encoding="utf-8")


def words_of(instruction: str) -> list[str]:
    """Returns the words of the first instruction of this name, which is in JSON's form."""
    words: list[str] = json.loads(re.findall(rf"^\s*{instruction} (\[.*\])$", TEXT, re.MULTILINE)[0])
    return words


def test_it_has_what_it_copies():
    ignored = (DEPLOY / "Dockerfile.local.dockerignore").read_text(encoding="utf-8").splitlines()
    copied = {name for line in re.findall(r"^COPY (?!--from)(.+) \S+$", TEXT, re.MULTILINE) for name in line.split()}

    assert copied == {line.removeprefix("!") for line in ignored if line.startswith("!")}
    assert [name for name in copied if not (ROOT / name).exists()] == []


def test_it_runs_as_nobody_special_and_the_example_allows_it_nothing():
    [user] = re.findall(r"^USER (\d+):\d+$", TEXT, re.MULTILINE)

    assert int(user) >= 10_000
    for option in (
        "--read-only",
        "--cap-drop ALL",
        "no-new-privileges",
        ":ro",
        "-p 127.0.0.1:9100:9100",
        '--user "$(id -u):$(id -g)"',
    ):
        assert option in TEXT


def test_the_program_knows_its_command():
    words = words_of("ENTRYPOINT")

    assert words[:3] == ["tini", "--", "codecompass"]
    require_known(" ".join([*words[2:], "--allowed-root", str(ROOT)]))
    assert re.findall(r"^EXPOSE (\d+)$", TEXT, re.MULTILINE) == [words[words.index("--port") + 1]]


@pytest.mark.slow
def test_the_health_check_agrees_with_the_server(tmp_path):
    tree = write_tree(tmp_path / "tree", {"a.py": "def alpha(): pass\n"})
    [_python, _option, check] = words_of("CMD")

    with server(tree, tmp_path / "home") as (port, _pid):
        at_work = subprocess.run([sys.executable, "-c", check.replace("9100", str(port))], check=False, timeout=60)
    gone = subprocess.run([sys.executable, "-c", check.replace("9100", str(port))], check=False, timeout=60, capture_output=True)

    assert (at_work.returncode, gone.returncode) == (0, 1)
