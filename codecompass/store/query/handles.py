"""Handles of earlier answers, and what they mean now: a `symbol_id` in the place of a name.

A `symbol_id` is made of what an index holds, so it is looked up there: it outlives the server, and means either exactly the
definition that it was given for or nothing any more. A `result_id` names lines that nothing in an index stands for; whoever
wants these again asks for `path:line`.
"""

import re
from typing import Final

from codecompass.errors import SymbolNotFound
from codecompass.store import identity
from codecompass.store.facts import SymbolRow
from codecompass.store.index import Snapshot

_HANDLE: Final = re.compile(r"[0-9a-f]{16}")


def is_handle(text: str) -> bool:
    """Returns whether a text has the form of a `symbol_id` or `result_id`."""
    return _HANDLE.fullmatch(text.strip()) is not None


def symbol_handle(snapshot: Snapshot, row: SymbolRow) -> str:
    """Returns the `symbol_id` of a definition."""
    return identity.symbol_id(snapshot.project_id, row.path, row.kind, row.line_start, row.name, row.ordinal)


def symbol_of_handle(snapshot: Snapshot, text: str) -> SymbolRow | None:
    """Returns the definition whose `symbol_id` is `text`; None where there is none, or the text is no handle."""
    if not is_handle(text):
        return None
    handle = text.strip()
    candidates = snapshot.facts.symbols_with_id_prefix(identity.id_prefix(handle))
    return next((row for row in candidates if symbol_handle(snapshot, row) == handle), None)


def outdated(handle: str) -> SymbolNotFound:
    """Returns the error for a handle that means nothing any more."""
    return SymbolNotFound(
        f"no symbol has the id {handle.strip()} now: its file has changed since, or it is the result_id of a place that is no "
        "symbol. Ask again with the name, or with path:line.",
        symbol_id=handle.strip(),
    )
