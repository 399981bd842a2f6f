"""The official conformance suite against the product, where nothing may fail, and against its session with fixtures, where only
features may fail that the product does not use.
"""

import pytest
import trio

from codecompass.transport.mcp.core import Core
from codecompass.transport.product.prompts import ProductPrompts
from codecompass.transport.tools.listing import TOOLS
from tests.conformance import official_suite
from tests.conformance.conftest import Tally
from tests.conformance.official_suite import checks_in, installed_suite, listed_scenarios
from tests.conformance.scenarios import MODERN, NOT_OFFERED, OF_THE_PRODUCT, REVISIONS, WHY_NOT, WITHOUT_FIXTURE
from tests.transport.fixture_surface import fixture_surface
from tests.transport.fixture_tasks import TaskTools
from tests.transport.fixture_tools import HANDLERS
from tests.transport.http.command import http_command
from tests.transport.http.serving import serving

pytestmark = [pytest.mark.conformance, pytest.mark.timeout(1_800)]

UNTESTABLE = {
    "sep-2575-server-rejects-undeclared-capability": "test_missing_capability",
    "sep-2575-missing-capability-http-400": "test_missing_capability",
    "sep-2575-http-server-no-independent-requests-on-stream": "test_streaming_elicitation",
    "sep-2575-server-no-log-without-loglevel": "test_logging_tool",
}
"""The checks of `server-stateless` that call a tool made for tests, with the tool's name."""

FIXTURES = {*HANDLERS, *TaskTools.NAMES}

AT_A_TIME = 2


@pytest.fixture(scope="module")
def suite():
    return installed_suite()


@pytest.mark.parametrize("revision", REVISIONS)
async def test_the_product_passes_what_applies_to_it(suite, tmp_path, count, revision):
    runs = {}
    slots = trio.Semaphore(AT_A_TIME)

    async def run(url, scenario):
        async with slots:
            runs[scenario] = await suite.run(f"{url}/mcp", "--scenario", scenario, "--spec-version", revision)

    async with http_command(tmp_path) as server, trio.open_nursery() as nursery:
        for scenario in OF_THE_PRODUCT[revision]:
            nursery.start_soon(run, server.url, scenario)

    failed = {scenario: run.output for scenario, run in runs.items() if run.status != 0}
    n_skipped = len(set(suite.list(revision)) - set(runs))
    count(Tally("the product", revision, len(runs) - len(failed), len(failed), n_skipped))
    assert not failed, "\n".join(failed.values())
    assert all("Passed: 0/" not in run.output for run in runs.values())


async def test_the_product_passes_all_of_the_stateless_protocol_but_what_needs_a_tool_for_tests(suite, tmp_path):
    arguments = ("--scenario", "server-stateless", "--spec-version", MODERN, "-o", str(tmp_path / "out"))
    async with http_command(tmp_path) as server:
        await suite.run(f"{server.url}/mcp", *arguments)

    checks = checks_in(tmp_path / "out")["server-stateless"]
    failed = {check.id: check.message for check in checks if check.status == "FAILURE"}
    assert set(failed) == set(UNTESTABLE)
    for id_, message in failed.items():
        assert message.startswith(f"Not testable: server does not list the diagnostic tool '{UNTESTABLE[id_]}'")
    assert sum(check.status == "SUCCESS" for check in checks) >= 24


@pytest.mark.parametrize("revision", REVISIONS)
async def test_the_session_passes_what_it_offers_with_the_fixtures(suite, tmp_path, count, revision):
    expected = set(suite.list(revision))
    baseline = tmp_path / "expected-failures.yml"
    baseline.write_text("".join(["server:\n", *(f"  - {name}\n" for name in sorted(NOT_OFFERED.keys() & expected))]))
    async with trio.open_nursery() as tasks:
        core = Core(fixture_surface(tasks))
        async with serving(core) as server:
            arguments = ("--requirements", revision, "-o", str(tmp_path / "out"), "--expected-failures", str(baseline))
            run = await suite.run(f"{server.url}/mcp", *arguments)
        tasks.cancel_scope.cancel()

    found = {scenario: checks for scenario, checks in checks_in(tmp_path / "out").items() if scenario not in WITHOUT_FIXTURE}
    failed = {
        scenario: {check.id for check in checks if check.status in ("FAILURE", "WARNING")}
        for scenario, checks in found.items()
        if any(check.status in ("FAILURE", "WARNING") for check in checks)
    }
    count(Tally("the session with fixtures", revision, len(found) - len(failed), len(failed), len(expected - set(found))))
    assert failed == {scenario: set(checks) for scenario, checks in NOT_OFFERED.items() if scenario in expected}
    assert run.status == 0, run.output
    assert set(found) == expected - set(WITHOUT_FIXTURE)
    assert all(any(check.status == "SUCCESS" for check in checks) for checks in found.values())


@pytest.mark.parametrize("revision", REVISIONS)
def test_a_scenario_is_run_or_is_left_out_for_a_reason(suite, revision):
    applicable = set(OF_THE_PRODUCT[revision])

    assert not applicable & set(WHY_NOT)
    assert set(suite.list(revision)) <= applicable | set(WHY_NOT)
    assert applicable <= set(suite.list(revision))


@pytest.mark.invariant("Nothing in the product exists for protocol tests")
def test_no_tool_resource_or_prompt_of_the_product_is_there_for_tests():
    names = [tool.name for tool in TOOLS] + [prompt.name for prompt in ProductPrompts().listed]

    assert names
    assert not [name for name in names if name.startswith("test_") or name in FIXTURES]


def test_the_list_that_the_suite_prints_is_read_by_its_headings():
    listing = """\
Required for 2026-07-28 (3 scenarios, frozen; run at the 2026-07-28 wire):

Server scenarios (test against a server):
  - tools-list
Client scenarios (test against a client):
  - tools_call

Run and reported, but never scored:
  extension (2):
    - auth/dpop [client]
    - tasks-lifecycle [server]
  pending (1):
    - http-header-validation [server]
"""

    assert listed_scenarios(listing) == {
        "tools-list": "required",
        "tasks-lifecycle": "extension",
        "http-header-validation": "pending",
    }


def test_without_the_suite_the_tests_are_skipped_with_a_reason_and_fail_in_ci(monkeypatch, tmp_path):
    monkeypatch.setattr(official_suite, "PACKAGE", tmp_path)

    monkeypatch.delenv("CODECOMPASS_REQUIRE_TOOLS", raising=False)
    with pytest.raises(pytest.skip.Exception, match="make suite installs it"):
        installed_suite()
    monkeypatch.setenv("CODECOMPASS_REQUIRE_TOOLS", "1")
    with pytest.raises(pytest.fail.Exception, match="is required here: make suite"):
        installed_suite()
