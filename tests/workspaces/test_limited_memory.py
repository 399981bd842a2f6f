"""A server in a small address space (`ulimit -v`) answers from an index that exists, and does not take a refusal for damage."""

import json
import subprocess

import pytest

from tests.cli.conftest import CommandLine
from tests.support.served import COMMAND, serving
from tests.support.tools import QUESTIONS, TOOLS

OPENING = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}

KILOBYTES = 600_000

ASKED = (
    *((name, TOOLS[name].arguments(symbol="total_price", path="shop/cart.py")) for name in QUESTIONS),
    ("search_code", {"query": "def total.*", "mode": "regex"}),
    ("search_code", {"query": "total_price", "workspace": "*"}),
)


def limited(kilobytes):
    return ("sh", "-c", f'ulimit -v {kilobytes}; exec "$@"', "sh", COMMAND)


@pytest.mark.invariant("An address space of 600 MB answers questions; memory is reserved for what is read, not for bounds")
@pytest.mark.slow
async def test_an_address_space_of_600_megabytes_answers_every_question(tmp_path):
    cli = CommandLine(tmp_path)
    root = cli.tree("shop")
    cli.git(root, "add", "-A")
    assert cli("index").code == 0

    async with serving(tmp_path, cwd=root, command=limited(KILOBYTES)) as client:
        assert "result" in await client.answer(client.ask("initialize", OPENING))
        client.send(method="notifications/initialized")
        for tool, arguments in ASKED:
            result = (await client.answer(client.ask("tools/call", {"name": tool, "arguments": arguments})))["result"]

            assert not result.get("isError"), (tool, result["content"][0]["text"])
            json.loads(result["content"][0]["text"])


@pytest.mark.slow
def test_too_little_memory_leaves_the_index_as_it_was(tmp_path):
    cli = CommandLine(tmp_path)
    root = cli.tree("shop")
    assert cli("index").code == 0
    before = epochs(cli)

    codes = set()
    for kilobytes in range(20_000, 120_000, 10_000):
        done = subprocess.run(
            [*limited(kilobytes), "search", "total price"], cwd=root, env=cli.environment, capture_output=True, check=False
        )
        codes.add(done.returncode)
        assert b"damaged" not in done.stderr

    assert len(codes) > 1, "some of these limits are too small"
    assert epochs(cli) == before
    assert cli("locate", "Cart", "--json").json["metadata"]["freshness_status"] == "fresh"


def epochs(cli):
    """Returns the published epochs of all projects, with the records of their checksums."""
    return {path: path.read_bytes() for name in ("CURRENT", "facts.sum") for path in cli.home.rglob(name)}
