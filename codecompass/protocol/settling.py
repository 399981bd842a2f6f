"""What a command asks a running server over its socket: whether the index of a project holds what is in its tree.

    command  --Settle, as a line of JSON-->  server
    server   --HEARD, and Settled as a line of JSON once it knows-->  command; nothing if it does not watch that tree

Programs of several versions may share a data directory: fields are only added, and what cannot be decoded is no answer.
"""

from typing import Final

from msgspec import Struct

from codecompass.protocol.metadata import FreshnessStatus
from codecompass.protocol.requests import FreshnessPolicy

HEARD: Final = b"."
"""Sent at once, so that nobody waits long for a server that does not run."""

MAX_LINE_BYTES: Final = 4_096


class SettleProject(Struct, frozen=True):
    """Let changes of a project's tree land, within `seconds`. `best_effort` waits for no job."""

    project_id: str
    policy: FreshnessPolicy
    seconds: float


class ProjectSettled(Struct, frozen=True):
    """With `fresh`, the index on disk holds all changes made before the question."""

    freshness: FreshnessStatus
