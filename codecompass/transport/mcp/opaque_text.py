"""Text that a client carries for us and may not change: cursors of lists, and sealed state from one call to the next."""

import base64
import binascii
import hashlib
import hmac
import secrets
from collections.abc import Callable, Sequence
from typing import Final, TypeVar

from msgspec import UNSET, UnsetType

from codecompass.transport.mcp.jsonrpc import Fault
from codecompass.transport.mcp.protocol import INVALID_PARAMS

PAGE_SIZE: Final = 100
"""Entries a page: what the product lists fits into one."""

_PREFIX: Final = "from:"

ItemT = TypeVar("ItemT")


def page(items: Sequence[ItemT], cursor: str | None, size: int = PAGE_SIZE) -> tuple[tuple[ItemT, ...], str | UnsetType]:
    """Returns the entries behind `cursor` and the cursor of the next page, UNSET on the last. Raises Fault."""
    start = 0 if cursor is None else _start(cursor)
    if cursor is not None and not 0 < start < len(items):
        raise _bad_cursor()
    end = start + size
    return tuple(items[start:end]), _cursor(end) if end < len(items) else UNSET


def _cursor(start: int) -> str:
    return base64.urlsafe_b64encode(f"{_PREFIX}{start}".encode()).decode()


def _start(cursor: str) -> int:
    try:
        text = base64.urlsafe_b64decode(cursor.encode()).decode("ascii")
        if text.startswith(_PREFIX) and _cursor(start := int(text.removeprefix(_PREFIX))) == cursor:
            return start
    except (binascii.Error, ValueError) as error:
        raise _bad_cursor() from error
    raise _bad_cursor()


def _bad_cursor() -> Fault:
    return Fault(INVALID_PARAMS, "the cursor is not one of this list. List again without a cursor.", field="cursor")


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
