"""What failures of the search engine mean, and what helps: where it does not answer, and where it refuses."""

from typing import Final

import opensearchpy

from codecompass.cluster.engine.schema import JsonObject
from codecompass.errors import CodeCompassError


class EngineUnavailable(CodeCompassError):
    """The engine cannot be reached, or refuses for a temporary reason."""

    code = "engine_unavailable"
    is_retryable = True


class EngineRefused(CodeCompassError):
    """The engine refuses for a permanent reason, such as a missing permission or an index of another shape."""

    code = "engine_refused"


class Conflict(Exception):
    """The document was changed, created or deleted by somebody else since it was read."""


class Missing(Exception):
    """There is no such document or index."""


_PASSING_BLOCKS: Final = frozenset({"cluster_block_exception", "index_create_block_exception"})
"""The engine sets these when its disks are full, and clears them some seconds after there is room again."""

_SHARD_IS_NOT_THERE: Final = frozenset(
    {
        "illegal_index_shard_state_exception",
        "index_shard_closed_exception",
        "index_shard_not_recovering_exception",
        "index_shard_not_started_exception",
        "index_shard_recovering_exception",
        "no_shard_available_action_exception",
        "shard_not_found_exception",
    }
)
"""Errors while nodes join or leave. The engine reports them with status 404, or as the cause of a failure with status 500."""

_WAIT_STATUS: Final = frozenset({408, 429, 502, 503, 504})
"""Status codes of an engine that is busy, elects a manager, or lacks a shard."""


def no_answer(error: opensearchpy.exceptions.ConnectionError, seconds: float) -> str:
    """Returns why there was no answer, and what helps."""
    what = "the search engine of this organisation"
    if isinstance(error, opensearchpy.exceptions.SSLError):
        return (
            f"{what} has a certificate that is not trusted here, or trusts none of ours. Whoever runs this program sets "
            "cluster.ca_file to the certificates that signed it, and cluster.client_certificate if it asks for one."
        )
    if isinstance(error, opensearchpy.exceptions.ConnectionTimeout):
        return f"{what} did not answer within {seconds:.0f} s. Ask again in a moment; if it stays so, tell whoever runs it."
    return (
        f"{what} cannot be reached. Ask again in a moment; if it stays so, whoever runs this program checks cluster.url, and "
        "whether the nodes run."
    )


def refusal(status: object, info: JsonObject) -> Exception:
    """Returns the error for an answer that is none: EngineRefused, EngineUnavailable, Conflict or Missing."""
    kind, reason = _kind(info), reason_of(info)
    if status == 401:
        return EngineRefused(
            "the search engine does not accept the name and password of this program. Whoever runs it sets cluster.user and "
            "cluster.password_file.",
            kind=kind,
        )
    if status == 403 and kind not in _PASSING_BLOCKS:
        return EngineRefused(
            f"the search engine does not allow this ({reason}). Whoever runs it gives cluster.user the right to read and write "
            "the indexes that begin with cluster.prefix.",
            kind=kind,
        )
    if _SHARD_IS_NOT_THERE & _causes(info):
        return EngineUnavailable(
            f"a part of the index is not ready in the search engine, as after a restart ({reason}). Ask again in a moment."
        )
    if status == 404 and kind != "index_not_found_exception":
        return Missing()
    if status == 409:
        return Conflict(reason)
    if kind == "index_not_found_exception":
        return EngineUnavailable("the search engine has no index yet. Add a repository and start a worker (codecompass cluster).")
    if kind in _PASSING_BLOCKS:
        # A full disk makes an index read-only until there is room again.
        return EngineUnavailable(
            f"the search engine takes no changes, as when its disks are nearly full ({reason}). Whoever runs it makes room; then "
            "work goes on by itself."
        )
    if status in _WAIT_STATUS:
        return EngineUnavailable(f"the search engine is busy ({reason}). Ask again in a moment.")
    return EngineRefused(f"the search engine refused ({reason}). Tell whoever runs it.", kind=kind)


def _error(info: JsonObject) -> JsonObject:
    error = info.get("error", {})
    return error if isinstance(error, dict) else {"reason": str(error)}


def _kind(info: JsonObject) -> str:
    return str(_error(info).get("type", ""))


def _causes(info: JsonObject) -> set[str]:
    """Returns the types of the error and of its causes."""
    kinds = set()
    cause: object = _error(info)
    while isinstance(cause, dict):
        kinds.add(str(cause.get("type", "")))
        cause = cause.get("caused_by")
    return kinds


def reason_of(info: JsonObject) -> str:
    """Returns the reason that an answer gives, with its cause."""
    error = _error(info)
    cause = error.get("caused_by") or {}
    return ": ".join(str(each) for each in (error.get("reason"), cause.get("reason")) if each)[:300] or "no reason given"
