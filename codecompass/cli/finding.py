"""A finding of `codecompass doctor`."""

from typing import Literal

from msgspec import Struct

Status = Literal["ok", "warn", "fail"]


class Check(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A finding. `remedy` says what to do about it; empty where nothing is to be done."""

    name: str
    status: Status
    message: str
    remedy: str = ""
