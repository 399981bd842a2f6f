"""Asks the servers that run whether the index of a project holds what is in its tree (docs/adr/0042)."""

from typing import Final

import msgspec

from codecompass.protocol.requests import FreshnessPolicy
from codecompass.protocol.settling import HEARD, MAX_LINE_BYTES, ProjectSettled, SettleProject
from codecompass.store.layout import HomeLayout
from codecompass.units import MILLISECONDS

SLACK_SECONDS: Final = 500 * MILLISECONDS
"""How much longer than asked an answer may take."""


def is_told_fresh(home: HomeLayout, project_id: str, policy: FreshnessPolicy, seconds: float) -> bool:
    """Returns whether a server that watches the tree of a project says that the index on disk holds all of it.

    Under `balanced`, the server has up to `seconds` to index what has changed. False, in a fraction of a second, if none of them
    watches it. Raises nothing.
    """
    try:
        if not any(home.servers.iterdir()):
            return False
    except OSError:
        return False
    from codecompass.store.server_sockets import connections

    waits = seconds if policy == "balanced" else 0.0
    question = SettleProject(project_id, "balanced" if policy == "balanced" else "best_effort", waits)
    for connection in connections(home):
        with connection:
            try:
                connection.sendall(msgspec.json.encode(question) + b"\n")
                if connection.recv(len(HEARD)) != HEARD:
                    continue
                connection.settimeout(waits + SLACK_SECONDS)
                answer = b""
                while not answer.endswith(b"\n") and len(answer) <= MAX_LINE_BYTES and (piece := connection.recv(MAX_LINE_BYTES)):
                    answer += piece
                return msgspec.json.decode(answer, type=ProjectSettled).freshness == "fresh"
            except (OSError, msgspec.MsgspecError):
                continue
    return False
