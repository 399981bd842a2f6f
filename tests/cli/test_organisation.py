"""The organisation's server, in a separate process, queried from the command line by `--all`, `--in` and `doctor`."""

import subprocess
import sys
from collections.abc import Iterator

import pytest

from tests.support.live import free_port
from tests.transport.organisation.peer import StrangePeer

PAY = {
    "pay/__init__.py": "",
    "pay/queue.py": "class RetryQueue:\n    def next_delay(self, attempt):\n        return 3 * attempt\n",
}
SHOP = {"shop.py": "from pay.queue import RetryQueue\n\n\ndef check_out(attempt):\n    return RetryQueue().next_delay(attempt)\n"}


@pytest.fixture
def url(cli) -> Iterator[str]:
    """The address of a server for `pay`, with a separate data directory."""
    pay = cli.tree("pay", PAY)
    elsewhere = {**cli.environment, "CODECOMPASS_HOME": str(cli.base / "organisation")}
    assert cli("index", CODECOMPASS_HOME=elsewhere["CODECOMPASS_HOME"]).code == 0
    process = subprocess.Popen(
        [sys.executable, "-m", "codecompass", "serve-mcp", "--transport", "http", "--port", "0"],
        env=elsewhere,
        cwd=pay,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        said = process.stderr.readline()
        assert said.startswith("Listening on "), said
        yield said.split()[2].rstrip(".")
    finally:
        process.terminate()
        process.communicate(timeout=60)


@pytest.fixture
def shop(cli, url):
    root = cli.tree("shop", SHOP)
    assert cli("index").code == 0
    cli.environment["CODECOMPASS_ORGANISATION_URL"] = url
    cli.environment["CODECOMPASS_ORGANISATION_TIMEOUT_MS"] = "30000"
    return root


def test_all_is_here_and_there(cli, shop):
    done = cli("search", "--all", "next delay of an attempt")
    answer = cli("search", "--all", "next delay of an attempt", "--json").json

    assert done.code == 0
    assert "org:pay:pay/queue.py:2" in done.out
    assert "shop.py:" in done.out
    assert {hit["project"] for hit in answer["results"]} == {"shop", "org:pay"}


def test_one_of_there_is_named_alone(cli, shop):
    assert cli("locate", "next_delay", "--in", "org:pay", "--json").json["results"][0]["project"] == "org:pay"
    assert cli("locate", "next_delay", "--in", "pay", "--json").json["results"][0]["project"] == "org:pay"
    assert cli("locate", "next_delay", "--json").json["results"] == []


def test_uses_here_of_what_is_defined_there_are_found(cli, shop):
    done = cli("refs", "RetryQueue", "--all")
    answer = cli("refs", "RetryQueue", "--all", "--json").json

    assert done.code == 0
    assert "shop:shop.py" in done.out
    assert (answer["definition"]["project"], answer["definition"]["path"]) == ("org:pay", "pay/queue.py")


@pytest.mark.parametrize(("command", "code"), [("search", 1), ("locate", 1), ("refs", 3)])
def test_a_server_that_is_away_costs_no_answer_of_this_machine(cli, command, code):
    cli.tree("shop", SHOP)
    assert cli("index").code == 0
    away = {"CODECOMPASS_ORGANISATION_URL": f"http://127.0.0.1:{free_port()}"}

    alone = cli(command, "check_out", "--in", "org:pay", **away)
    both = cli(command, "check_out", "--in", "org:pay,shop", **away)
    everything = cli(command, "check_out", "--all", **away)

    assert alone.code == code, alone.err
    assert "the organisation's server" in alone.err
    assert "it cannot be reached" in alone.err
    for done in (both, everything):
        assert done.code in (0, code), done.err
        assert "check_out" in done.out
        assert "no answer" in done.out + done.err


def test_doctor_says_what_there_is(cli, shop, url):
    check = next(each for each in cli("doctor", "--json").json["checks"] if each["name"] == "organisation")
    with_token = cli("doctor", "--json", CODECOMPASS_ORGANISATION_TOKEN="s3cret-token")

    host = url.removeprefix("http://")
    assert (check["status"], host in check["message"]) == ("ok", True)
    assert "without a token" in check["message"]
    assert "shows 1 repository" in check["message"]
    assert "with a token" in with_token.out
    assert "s3cret-token" not in with_token.out + with_token.err


@pytest.mark.parametrize(("behaviour", "said"), [("token_refused", "does not know the token"), ("html", "was not understood")])
def test_doctor_says_what_is_wrong(cli, behaviour, said):
    with StrangePeer() as peer:
        peer.behaviour = behaviour
        done = cli("doctor", "--json", CODECOMPASS_ORGANISATION_URL=peer.url, CODECOMPASS_ORGANISATION_TOKEN="s3cret-token")

    (check,) = [each for each in done.json["checks"] if each["name"] == "organisation"]
    assert check["status"] == "fail"
    assert said in check["message"]
    assert "s3cret-token" not in done.out + done.err


def test_doctor_asks_nobody_where_nobody_is_named(cli):
    (check,) = [each for each in cli("doctor", "--json").json["checks"] if each["name"] == "organisation"]

    assert (check["status"], check["message"]) == ("ok", "none: questions stay on this machine (organisation.url is empty)")


def test_one_that_is_away_costs_its_part_and_no_exit_code(cli, shop):
    with StrangePeer() as peer:
        peer.behaviour = "server_error"
        done = cli("search", "--all", "next delay of an attempt", CODECOMPASS_ORGANISATION_URL=peer.url)

    assert done.code == 0
    assert "shop.py:" in done.out
    assert "no answer from the organisation's server" in done.err


@pytest.mark.parametrize("command", [("serve-mcp",), ("search", "--all", "x")])
def test_an_address_that_would_show_the_token_is_refused_at_the_start(cli, command):
    cli.tree("shop", SHOP)
    done = cli(*command, CODECOMPASS_ORGANISATION_URL="http://code.example.com")

    assert done.code == 2
    assert "Use https://" in done.err


def test_no_file_of_a_repository_names_an_organisation(cli):
    root = cli.tree("shop", {**SHOP, ".codecompass/config.toml": '[organisation]\nurl = "https://elsewhere.example"\n'})
    done = cli("index")

    assert done.code != 0
    assert str(root) in done.err
    assert "organisation" in done.err


@pytest.mark.invariant(of="test_a_question_about_this_machine_alone_sends_nothing")
def test_nothing_of_it_is_loaded_where_none_is_named(cli):
    cli.tree("shop", SHOP)
    assert cli("index").code == 0
    code = (
        "import sys; from codecompass.cli.main import main; main(['search', '--all', 'attempt']); "
        "import codecompass.cli.serving; print(*sys.modules)"
    )

    done = subprocess.run(
        [sys.executable, "-c", code], cwd=cli.cwd, env=cli.environment, capture_output=True, text=True, check=True
    )

    loaded = done.stdout.split("\n")[-2].split()
    assert "codecompass.transport.tools.several_results" in loaded
    strange = ("httpx2", "codecompass.projects.checkouts", "codecompass.scan.git_remotes")
    assert [each for each in loaded if each in strange or each.startswith("codecompass.transport.organisation")] == []
