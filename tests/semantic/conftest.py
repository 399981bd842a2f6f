"""An embedding server, and settings that name it as the endpoint."""

from collections.abc import Iterator

import msgspec
import pytest

from codecompass.semantic.target import SemanticTarget, semantic_target
from codecompass.settings import SemanticSettings
from tests.support.embedding_peer import DIMENSIONS, EmbeddingPeer, embedding_peer


@pytest.fixture
def peer() -> Iterator[EmbeddingPeer]:
    with embedding_peer() as running:
        yield running


def settings_for(peer: EmbeddingPeer, **changes) -> SemanticSettings:
    """Returns settings with generous timeouts: a busy machine must not change an answer."""
    settings = SemanticSettings(
        endpoint=peer.url,
        model="words",
        dimensions=DIMENSIONS,
        question_timeout_ms=10_000,
        requests_per_second=1_000,
        min_similarity=0.2,
    )
    return msgspec.structs.replace(settings, **changes)


def target_for(peer: EmbeddingPeer, environment=None, **changes) -> SemanticTarget:
    target = semantic_target(settings_for(peer, **changes), environment or {})
    assert target is not None
    return target
