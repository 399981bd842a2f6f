"""The organisation's server is unreachable, slow, broken or refuses: local answers are complete and in time, with one warning."""

import ssl

import pytest
import structlog
import trio
import trio.testing

from codecompass.errors import InvalidInput
from codecompass.protocol.parts import PartRequest
from codecompass.remote.breaker import LONGEST_PAUSE_SECONDS
from codecompass.settings import OrganisationSettings
from codecompass.transport.organisation import failures
from codecompass.transport.organisation.failures import FIRST_PAUSE_SECONDS, OrganisationUnavailable, QuestionBreaker
from codecompass.transport.organisation.link import OrganisationLink
from codecompass.transport.organisation.target import organisation_target
from tests.support.certificates import self_signed
from tests.support.waiting import until
from tests.transport.organisation.conftest import TOKEN, complaints, desk, index, places, target_of
from tests.transport.organisation.peer import BEHAVIOURS, StrangePeer

SLOW_MS = 300
"""How long to wait for a server that does not answer."""


@pytest.mark.invariant(
    "If an organisation's server is slow, wrong or down, only its part of an answer is missing; the token is sent "
    "only to the configured server and shown nowhere"
)
@pytest.mark.slow
@pytest.mark.parametrize("behaviour", BEHAVIOURS)
async def test_whatever_it_does_costs_its_part_alone(tmp_path, trees, peer, behaviour):
    peer.behaviour = behaviour
    slow = SLOW_MS if BEHAVIOURS[behaviour] == "timeout" else 20_000
    with structlog.testing.capture_logs() as logs:
        async with desk(tmp_path / "home-dev", peer.url, timeout_ms=slow) as dev:
            await index(dev, trees["api"], trees["web"])
            wanted = await dev.call("search_code", query="retry delay attempt", workspace=["api", "web"])
            answer = await dev.call("search_code", query="retry delay attempt", workspace="*", timeout_ms=60_000)
            uses = await dev.call("find_references", symbol_name="RetryPolicy", workspace="*")
            refused = await dev.refusal("get_file_outline", path="a.py", workspace="org:pay")

    host = peer.url.removeprefix("http://")
    assert answer["results"] == wanted["results"]
    for each in (answer, uses):
        (complaint,) = complaints(each)
        assert complaint.startswith(f"no answer from the organisation's server ({host}): ")
        assert each["metadata"]["result_completeness"] == "partial"
    assert uses["definition"]["project"] == "api"
    assert refused["error"]["code"] == "organisation_unavailable"
    assert refused["error"]["data"]["reason"] == BEHAVIOURS[behaviour]
    assert {each["reason"] for each in logs if each["event"] == "organisation_unavailable"} == {BEHAVIOURS[behaviour]}
    assert TOKEN not in repr((answer, uses, refused, logs))


async def test_one_that_is_away_is_said_to_be(tmp_path, trees, peer):
    url = peer.url
    peer.__exit__()
    try:
        async with desk(tmp_path / "home-dev", url) as dev:
            await index(dev, trees["api"])
            answer = await dev.call("search_code", query="retry delay attempt", workspace=["api", "pay"])
            unknown = await dev.refusal("locate_symbol", name="delay", workspace="pay")
    finally:
        peer._server.server_close()

    (complaint,) = complaints(answer)
    assert "no answer about pay from" in complaint
    assert "it cannot be reached" in complaint
    assert "organisation.url" in complaint
    assert places(answer)
    assert unknown["error"]["code"] == "workspace_not_registered"
    assert "it cannot be reached" in unknown["error"]["message"]


@pytest.mark.parametrize(("behaviour", "timeout_ms"), [("server_error", 20_000), ("silent", SLOW_MS)])
async def test_after_a_failure_questions_are_answered_without_asking_again(
    tmp_path, trees, peer, behaviour, timeout_ms, monkeypatch
):
    monkeypatch.setattr(failures, "FIRST_PAUSE_SECONDS", 600)  # longer than all the questions take
    peer.behaviour = behaviour
    async with desk(tmp_path / "home-dev", peer.url, timeout_ms=timeout_ms) as dev:
        await index(dev, trees["api"])
        for _ in range(5):
            answer = await dev.call("search_code", query="retry delay attempt", workspace="*")
            assert places(answer)
            assert len(complaints(answer)) == 1

    assert peer.connections == 1
    assert "not asked again before" in complaints(answer)[0]


async def test_an_answer_that_cannot_be_merged_is_no_answer(tmp_path, trees, peer):
    """A well-formed answer is accepted, so each case of the other tests fails because of the one thing that differs."""
    peer.behaviour = "good"
    async with desk(tmp_path / "home-dev", peer.url) as dev:
        await index(dev, trees["api"])
        answer = await dev.call("search_code", query="retry delay attempt", workspace="*", limit=50)

    assert complaints(answer) == []
    assert ("strange", "a.py", 1) in places(answer)


@pytest.mark.invariant(of="test_whatever_it_does_costs_its_part_alone")
async def test_the_token_goes_into_one_header_of_one_server(tmp_path, trees, peer):
    peer.behaviour = "redirect"
    async with desk(tmp_path / "home-dev", peer.url) as dev:
        await index(dev, trees["api"])
        await dev.call("search_code", query="retry", workspace="*")

    (headers,) = peer.headers
    assert headers["Authorization"] == f"Bearer {TOKEN}"
    assert headers["Accept-Encoding"] == "identity"
    assert TOKEN not in repr(peer.requests)


async def test_without_a_token_none_is_sent_and_the_variable_is_named(tmp_path, trees, peer):
    peer.behaviour = "token_refused"
    async with desk(tmp_path / "home-dev", peer.url, token="") as dev:
        await index(dev, trees["api"])
        answer = await dev.call("search_code", query="retry", workspace="*")

    assert "Authorization" not in peer.headers[0]
    assert "it wants a token" in complaints(answer)[0]
    assert "CODECOMPASS_ORGANISATION_TOKEN" in complaints(answer)[0]


async def test_a_proxy_of_the_environment_is_not_used(tmp_path, trees, peer, monkeypatch):
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    peer.behaviour = "good"
    async with desk(tmp_path / "home-dev", peer.url) as dev:
        await index(dev, trees["api"])
        answer = await dev.call("search_code", query="retry", workspace="*")

    assert complaints(answer) == []
    assert peer.connections == 1


@pytest.fixture
def certificate(tmp_path):
    """Returns the files of a key and a self-signed certificate."""
    return self_signed(tmp_path, "code")


async def test_a_certificate_counts_that_the_user_trusts_and_no_other(certificate, monkeypatch):
    """Organisations have their own certificates."""
    key, trusted = certificate
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(trusted, key)

    async def ask(url: str) -> bool:
        link = OrganisationLink(target_of(url))
        try:
            return (await link.call("search_code", {}, PartRequest(), 60.0, lambda replied: replied)).knows_parts
        finally:
            await link.close()

    with StrangePeer(context) as peer:
        peer.behaviour = "good"
        with pytest.raises(OrganisationUnavailable, match="SSL_CERT_FILE") as refused:
            await ask(peer.url)
        assert peer.requests == []
        monkeypatch.setenv("SSL_CERT_FILE", str(trusted))
        assert await ask(peer.url)

    assert refused.value.reason == "certificate_refused"


async def test_a_question_that_is_given_up_leaves_nothing_behind(peer):
    link = OrganisationLink(target_of(peer.url))
    async with trio.open_nursery() as nursery:
        nursery.start_soon(link.call, "search_code", {}, PartRequest(), 60.0, lambda replied: replied)
        await until(lambda: peer.requests)
        nursery.cancel_scope.cancel()
    peer.behaviour = "good"

    replied = await link.call("search_code", {}, PartRequest(), 60.0, lambda replied: replied)
    await link.close()

    assert replied.knows_parts


# the pauses


def fail(gate: QuestionBreaker, seconds: float = 3.0, reason: str = "server_error") -> None:
    with gate.asking(seconds):
        raise OrganisationUnavailable("it failed", reason=reason)


def is_asked(gate: QuestionBreaker) -> bool:
    try:
        with gate.asking(3.0):
            return True
    except OrganisationUnavailable as failure:
        return "not asked again" not in failure.message


async def test_pauses_grow_to_a_bound_and_end_with_an_answer(mock_clock):
    gate = QuestionBreaker()
    pause = FIRST_PAUSE_SECONDS
    for _ in range(8):
        with pytest.raises(OrganisationUnavailable, match=r"it failed$"):
            fail(gate)
        mock_clock.jump(pause - 0.5)
        assert not is_asked(gate)
        mock_clock.jump(0.5)
        pause = min(2 * pause, LONGEST_PAUSE_SECONDS)
    assert pause == LONGEST_PAUSE_SECONDS

    assert is_asked(gate)
    with pytest.raises(OrganisationUnavailable, match=r"it failed$"):
        fail(gate)
    mock_clock.jump(FIRST_PAUSE_SECONDS)
    assert is_asked(gate)


async def test_after_a_pause_one_question_tries_it_and_the_others_do_not_wait(mock_clock):
    gate = QuestionBreaker()
    with pytest.raises(OrganisationUnavailable):
        fail(gate)
    mock_clock.jump(FIRST_PAUSE_SECONDS)

    with gate.asking(3.0):
        assert not is_asked(gate)
        assert not is_asked(gate)

    assert is_asked(gate)


async def test_a_trial_that_is_given_up_lets_the_next_question_try(mock_clock):
    gate = QuestionBreaker()
    with pytest.raises(OrganisationUnavailable):
        fail(gate)
    mock_clock.jump(FIRST_PAUSE_SECONDS)

    with trio.CancelScope() as scope, gate.asking(3.0):
        scope.cancel()
        await trio.sleep_forever()

    assert is_asked(gate)


@pytest.mark.parametrize(("seconds", "reason"), [(0.1, "timeout"), (3.0, "too_large")])
async def test_what_says_nothing_of_the_next_question_begins_no_pause(seconds, reason):
    gate = QuestionBreaker()
    with pytest.raises(OrganisationUnavailable):
        fail(gate, seconds, reason)

    assert is_asked(gate)


# the settings


@pytest.mark.parametrize(
    ("url", "wanted"),
    [
        ("https://code.example.com", "https://code.example.com/mcp"),
        ("https://code.example.com/", "https://code.example.com/mcp"),
        ("https://code.example.com/mcp", "https://code.example.com/mcp"),
        ("https://example.com:8443/code/mcp/", "https://example.com:8443/code/mcp"),
        ("http://127.0.0.1:9100", "http://127.0.0.1:9100/mcp"),
        ("http://[::1]:9100", "http://[::1]:9100/mcp"),
        (" http://localhost:9100 ", "http://localhost:9100/mcp"),
    ],
)
def test_the_address_may_be_written_in_any_usual_way(url, wanted):
    target = organisation_target(OrganisationSettings(url=url), {})

    assert target is not None
    assert target.url == wanted


@pytest.mark.parametrize(
    "url",
    [
        "http://code.example.com",
        "http://10.0.0.1:9100",
        "ftp://code.example.com",
        "code.example.com",
        "https://",
        "https://ada:pw@code.example.com",
        "https://code.example.com/?token=pw",
        "https://code.example.com/#pw",
        "https://code.example.com:0",
        "https://[code",
        "https://code.example.com/\u2028x",
    ],
)
def test_what_is_no_address_or_would_show_the_token_is_refused(url):
    with pytest.raises(InvalidInput, match=r"organisation\.url") as refused:
        organisation_target(OrganisationSettings(url=url), {"CODECOMPASS_ORGANISATION_TOKEN": TOKEN})

    assert "pw@" not in refused.value.message
    assert TOKEN not in refused.value.message


def test_nothing_is_asked_where_nothing_is_named():
    assert organisation_target(OrganisationSettings(), {"CODECOMPASS_ORGANISATION_TOKEN": TOKEN}) is None


@pytest.mark.parametrize("text", ["two words", "zeile\numbruch", "schlüssel"])
def test_what_can_be_no_token_is_not_sent(text):
    target = organisation_target(OrganisationSettings(url="https://a.example"), {"CODECOMPASS_ORGANISATION_TOKEN": text})

    assert target is not None
    assert target.token.reveal() == ""
    assert target.is_token_set
    assert text not in repr(target)
