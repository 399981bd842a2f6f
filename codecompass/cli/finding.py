"""A finding of `codecompass doctor`."""

from typing import Literal

from msgspec import Struct

Status = Literal["ok", "warn", "fail"]


class Check(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The result of a check. `remedy` says what to do about it; empty if nothing needs to be done."""

    name: str
    status: Status
    message: str
    remedy: str = ""
