import pytest

from codecompass.transport.mcp.jsonrpc import Fault
from codecompass.transport.mcp.opaque_text import LIFETIME_SECONDS, StateSeal


class Clock:
    now = 1000.0

    def __call__(self):
        return self.now


def test_a_seal_opens_for_the_same_request_only():
    seal = StateSeal(Clock())
    text = seal.seal(b"payload", b"a")

    assert seal.open(text, b"a") == b"payload"
    for binding, opener in ((b"b", seal), (b"a", StateSeal(Clock()))):
        with pytest.raises(Fault):
            opener.open(text, binding)


def test_a_seal_expires():
    clock = Clock()
    seal = StateSeal(clock)
    text = seal.seal(b"", b"")
    clock.now += LIFETIME_SECONDS + 1

    with pytest.raises(Fault, match="expired"):
        seal.open(text, b"")


def test_every_altered_byte_is_noticed():
    import base64

    seal = StateSeal(Clock())
    raw = bytearray(base64.urlsafe_b64decode(seal.seal(b"payload", b"a")))
    for position in range(len(raw)):
        altered = bytes(raw[:position]) + bytes([raw[position] ^ 1]) + bytes(raw[position + 1 :])
        with pytest.raises(Fault):
            seal.open(base64.urlsafe_b64encode(altered).decode(), b"a")
