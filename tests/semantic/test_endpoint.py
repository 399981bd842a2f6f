"""One request to an endpoint: what is sent, which answers are accepted, and which failures are reported."""

import math
from array import array

import pytest
import structlog
import trio

from codecompass.semantic.endpoint import EmbeddingEndpoint
from codecompass.semantic.target import SemanticUnavailable
from tests.semantic.conftest import target_for
from tests.support.embedding_peer import BEHAVIOURS, DIMENSIONS, EmbeddingPeer
from tests.support.waiting import until

WANTED = {
    "good": None,
    "wrong_dimensions": "wrong_dimensions",
    "html": "invalid_answer",
    "nan": "invalid_answer",
    "infinite": "invalid_answer",
    "zero": "invalid_answer",
    "wrong_count": "invalid_answer",
    "unnumbered": "invalid_answer",
    "server_error": "server_error",
    "key_refused": "key_refused",
    "rate_limited": "rate_limited",
    "not_found": "refused",
    "redirect": "refused",
    "compressed": "invalid_answer",
    "huge": "invalid_answer",
    "cut_off": "invalid_answer",
    "no_http": "invalid_answer",
}


async def embed(target, texts):
    endpoint = EmbeddingEndpoint(target)
    try:
        with trio.fail_after(60):
            return await endpoint.embed(texts)
    finally:
        await endpoint.close()


def cosine(one: bytes, other: bytes) -> float:
    return math.fsum(a * b for a, b in zip(array("f", one), array("f", other), strict=True))


@pytest.mark.parametrize("api", ["openai", "ollama"])
async def test_both_interfaces_give_unit_vectors_in_the_order_of_the_texts(peer: EmbeddingPeer, api):
    first, second, third = await embed(target_for(peer, api=api), ["remove the user", "parse a tree", "delete an account"])

    assert len(first) == 4 * DIMENSIONS
    assert cosine(first, first) == pytest.approx(1.0, abs=1e-5)
    assert cosine(first, third) > 0.9 > 0.4 > abs(cosine(first, second))
    assert peer.requests == [3]
    assert peer.models == {"words"}


@pytest.mark.invariant(of="test_a_proxy_of_the_environment_is_not_used")
@pytest.mark.parametrize("behaviour", [each for each in BEHAVIOURS if each != "silent"])
@pytest.mark.parametrize("api", ["openai", "ollama"])
async def test_everything_but_the_vectors_asked_for_is_a_named_failure(peer: EmbeddingPeer, behaviour, api):
    peer.behaviour = behaviour
    wanted = WANTED[behaviour]
    if (behaviour, api) == ("unnumbered", "ollama"):
        wanted = None  # vectors in Ollama's interface have no numbers

    if wanted is None:
        assert len(await embed(target_for(peer, api=api), ["a"])) == 1
        return
    with pytest.raises(SemanticUnavailable) as failed:
        await embed(target_for(peer, api=api), ["a"])

    assert failed.value.code == wanted
    assert failed.value.warning.startswith("semantic: unavailable (")
    assert len(peer.requests) == 1, "a redirect was followed, or a failure tried again"


async def test_a_refused_key_says_which_variable_to_check_and_never_the_key(peer: EmbeddingPeer):
    peer.behaviour = "key_refused"
    target = target_for(peer, {"MY_KEY": "s3cret"}, api_key_env="MY_KEY")

    with (
        structlog.testing.capture_logs() as logs,
        pytest.raises(SemanticUnavailable, match="check the key in the variable MY_KEY") as failed,
    ):
        await embed(target, ["a"])

    assert peer.headers[0]["Authorization"] == "Bearer s3cret"
    assert "check the key in the variable MY_KEY" in failed.value.warning
    assert "s3cret" not in repr(failed.value) + str(logs)


async def test_without_a_key_that_is_wanted_nothing_is_sent(peer: EmbeddingPeer):
    with pytest.raises(SemanticUnavailable, match="key_missing: set the variable MY_KEY"):
        await embed(target_for(peer, api_key_env="MY_KEY"), ["a"])

    assert peer.connections == 0


async def test_no_header_holds_a_key_where_none_is_named(peer: EmbeddingPeer):
    await embed(target_for(peer, {"OPENAI_API_KEY": "s3cret"}), ["a"])

    assert "Authorization" not in peer.headers[0]


async def test_a_closed_port_is_unreachable(peer: EmbeddingPeer):
    target = target_for(peer)
    peer.stop()

    with pytest.raises(SemanticUnavailable, match="unreachable"):
        await embed(target, ["a"])


@pytest.mark.invariant("Text is sent only to the configured endpoint, the key only in its header")
async def test_a_proxy_of_the_environment_is_not_used(peer: EmbeddingPeer, monkeypatch):
    """Text and key are sent only to the endpoint that the user named."""
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")

    assert len(await embed(target_for(peer), ["a"])) == 1


async def test_a_silent_endpoint_can_be_left_at_any_moment(peer: EmbeddingPeer):
    peer.behaviour = "silent"
    endpoint = EmbeddingEndpoint(target_for(peer))

    async with trio.open_nursery() as nursery:
        nursery.start_soon(endpoint.embed, ["a"])
        await until(lambda: peer.texts)
        nursery.cancel_scope.cancel()

    await endpoint.close()
