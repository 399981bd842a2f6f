"""`codecompass cluster` without a cluster: the error says what is missing, and the package is loaded only when needed."""

import subprocess
import sys

import pytest

COMMANDS = (
    ("add", "https://git.example.org/a/b"),
    ("list",),
    ("changed", "a/b"),
    ("remove", "a/b"),
    ("status",),
    ("doctor",),
    ("reindex", "--all"),
    ("pause", "--all"),
    ("resume", "--all"),
    ("drain",),
    ("worker",),
)


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
def test_without_an_address_of_a_cluster_the_remedy_is_said(cli, command):
    done = cli("cluster", *command)

    assert done.code == 2
    assert "CODECOMPASS_CLUSTER_URL" in done.err


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
def test_without_the_client_of_the_engine_the_remedy_is_said(cli, command):
    code = "import sys; sys.modules['opensearchpy'] = None; from codecompass.cli.main import main; sys.exit(main(sys.argv[1:]))"
    done = subprocess.run(
        [sys.executable, "-c", code, "cluster", *command, "--cluster-url", "http://127.0.0.1:9"],
        env=cli.environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert done.returncode == 2
    assert "pip install 'codecompass[cluster]'" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("url", ["nonsense", "ftp://127.0.0.1", "http://"])
def test_what_is_no_address_of_a_cluster_is_refused(cli, url):
    done = cli("cluster", "list", "--cluster-url", url, "--json")

    assert done.code == 2
    assert done.json["error"]["data"]["field"] == "cluster_url"


@pytest.mark.parametrize("prefix", ["", "A", "_x", "a" * 101, "a,b", "../x", "*"])
def test_what_cannot_begin_the_name_of_an_index_is_refused(cli, prefix):
    assert cli("cluster", "list", "--cluster-url", "http://127.0.0.1:9", "--cluster-prefix", prefix).code == 2


def test_a_protocol_that_runs_programs_cannot_be_allowed(cli):
    done = cli("cluster", "list", CODECOMPASS_CLUSTER_URL="http://127.0.0.1:9", CODECOMPASS_CLUSTER_PROTOCOLS="https,ext")

    assert done.code == 2
    assert "CODECOMPASS_CLUSTER_PROTOCOLS" in done.err


def test_help_loads_neither_the_client_nor_an_event_loop(cli):
    code = (
        "import sys; from codecompass.cli.main import main; main(['cluster', 'worker', '--help']); main(['cluster', '--help']); "
        "print(sorted({'opensearchpy', 'opentelemetry', 'trio', 'tantivy'} & set(sys.modules)), file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], env=cli.environment, capture_output=True, text=True, timeout=60, check=True
    )

    assert done.stderr.strip() == "[]"


@pytest.mark.parametrize(
    "words", [("add",), ("add", "https://x.example.org/a/b", "--file", "f"), ("add", "--file", "f", "--name", "x")]
)
def test_adding_takes_an_address_or_a_file(cli, words):
    done = cli("cluster", *words, "--cluster-url", "http://127.0.0.1:9")

    assert done.code == 2
    assert "--file FILE" in done.err
