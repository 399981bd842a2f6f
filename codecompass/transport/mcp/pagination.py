"""Pages of lists: opaque cursors, refused where they are not ours."""

import base64
import binascii
from collections.abc import Sequence
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
