"""The audit of a server over an organisation's code: one line of the log for each answer, with who asked and what was shown.

    audit viewer=ada token=3f1c0a9be2d4 tool=search_code outcome=ok repositories=["shop/api"] count=7 ms=12.4

It has the level `info`. The question itself is only in it if `access.audit_queries` is on.
"""

from collections.abc import Callable
from functools import partial
from typing import Final

import structlog

from codecompass.cluster.access.visibility import Viewer
from codecompass.projects.caller import Identity
from codecompass.protocol.difference_replies import DiffContextReply
from codecompass.protocol.metadata import Metadata
from codecompass.protocol.replies import FindReferencesReply, LocateSymbolReply, Reply, SearchCodeReply
from codecompass.tracing import MAX_QUERY_LENGTH, TOKEN, VIEWER, Values
from codecompass.transport.tools.services import AnsweredCall, asked_text
from codecompass.units import MILLISECONDS, SECONDS

MAX_REPOSITORIES: Final = 100
"""Repositories that one line names; `n_repositories` counts all."""

_TOKEN_DIGITS: Final = 12
"""Digits of a token's id, as `cluster token list` shows them."""


def audit_of(identity: Identity | None, viewer: Viewer, *, shows_queries: bool) -> Callable[[AnsweredCall], None]:
    """Returns what writes the line of one answer for this viewer."""
    return partial(_write, viewer.name, _token_id(identity), shows_queries)


def traced_as(identity: Identity | None, viewer: Viewer) -> Values:
    """Returns who asked, for traces, as the audit names them."""
    return {VIEWER: viewer.name, TOKEN: _token_id(identity)}


def _token_id(identity: Identity | None) -> str:
    return "" if identity is None else identity.token[:_TOKEN_DIGITS]


def _write(viewer: str, token: str, shows_queries: bool, answered: AnsweredCall) -> None:
    repositories = sorted(_shown(answered.reply))
    more: dict[str, object] = {}
    if shows_queries:
        more["query"] = asked_text(answered.request)[:MAX_QUERY_LENGTH]
    structlog.get_logger("codecompass.audit").info(
        "audit",
        viewer=viewer,
        token=token,
        tool=answered.request.tool,
        outcome=answered.outcome,
        repositories=repositories[:MAX_REPOSITORIES],
        n_repositories=len(repositories),
        count=len(_places(answered.reply)),
        ms=round(answered.seconds * SECONDS / MILLISECONDS, 1),
        **more,
    )


def _shown(reply: Reply) -> set[str]:
    """Returns the names of the repositories of which the answer shows something."""
    of_places = {name for each in _places(reply) if isinstance(name := getattr(each, "project", ""), str) and name}
    metadata = getattr(reply, "metadata", None)
    return of_places or ({metadata.workspace} if isinstance(metadata, Metadata) and metadata.workspace else set())


def _places(reply: Reply) -> tuple[object, ...]:
    match reply:
        case SearchCodeReply() | LocateSymbolReply():
            return reply.results
        case FindReferencesReply():
            return reply.references
        case DiffContextReply():
            return reply.items
    return ()
