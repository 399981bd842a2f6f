"""Text that a client carries for us from one call to the next, sealed: it cannot be altered, reused elsewhere or kept.

    base64url( hmac-sha256(key, binding, expiry, payload) | expiry | payload )

The key lives as long as the process: after a restart the client is simply asked again. 2026-07-28
basic/patterns/mrtr, "Server Requirements".
"""

import base64
import binascii
import hashlib
import hmac
import secrets
from collections.abc import Callable
from typing import Final

from codecompass.transport.mcp.jsonrpc import Fault
from codecompass.transport.mcp.protocol import INVALID_PARAMS

LIFETIME_SECONDS: Final = 600
"""Long enough for a person to answer a question."""

_KEY_BYTES: Final = 32
_MAC_BYTES: Final = 32
_EXPIRY_BYTES: Final = 8


class StateSeal:
    """Seals and opens. `clock` returns seconds that only ever rise."""

    def __init__(self, clock: Callable[[], float], key: bytes | None = None) -> None:
        self._clock = clock
        self._key = secrets.token_bytes(_KEY_BYTES) if key is None else key

    def seal(self, payload: bytes, binding: bytes) -> str:
        """Returns `payload` as opaque text that opens only for the same `binding`, for LIFETIME_SECONDS."""
        expiry = int(self._clock() + LIFETIME_SECONDS).to_bytes(_EXPIRY_BYTES, "big")
        return base64.urlsafe_b64encode(self._mac(binding, expiry, payload) + expiry + payload).decode()

    def open(self, text: str, binding: bytes) -> bytes:
        """Returns the payload. Raises Fault for text that is not ours, not for this request, or too old."""
        try:
            sealed = base64.urlsafe_b64decode(text.encode())
        except (binascii.Error, ValueError):
            sealed = b""
        mac, rest = sealed[:_MAC_BYTES], sealed[_MAC_BYTES:]
        expiry, payload = rest[:_EXPIRY_BYTES], rest[_EXPIRY_BYTES:]
        if len(expiry) < _EXPIRY_BYTES or not hmac.compare_digest(mac, self._mac(binding, expiry, payload)):
            raise Fault(INVALID_PARAMS, "requestState is not of this request. Call again without it.", field="requestState")
        if int.from_bytes(expiry, "big") < self._clock():
            raise Fault(INVALID_PARAMS, "requestState has expired. Call again without it.", field="requestState")
        return payload

    def _mac(self, binding: bytes, expiry: bytes, payload: bytes) -> bytes:
        message = len(binding).to_bytes(_EXPIRY_BYTES, "big") + binding + expiry + payload
        return hmac.new(self._key, message, hashlib.sha256).digest()
