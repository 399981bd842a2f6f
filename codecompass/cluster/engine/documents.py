"""The documents of one index as Structs, each changed by compare-and-set: read, changed, and written unless somebody else has
written it meanwhile; then all of that again."""

import random
import time
from collections.abc import Callable
from typing import Final, Generic, TypeVar

import msgspec

from codecompass.cluster.engine.client import MAX_LISTED, Document, Engine
from codecompass.cluster.engine.failures import Conflict, EngineUnavailable
from codecompass.cluster.engine.schema import JsonObject
from codecompass.errors import CodeCompassError

MAX_ATTEMPTS: Final = 30
"""Attempts of one compare-and-set. Each failure means that somebody else succeeded, so this many in a row indicate a fault."""

LONGEST_PAUSE_SECONDS: Final = 0.05

T = TypeVar("T")


class DamagedDocument(CodeCompassError):
    """A document cannot be read."""

    code = "index_incompatible"


class Documents(Generic[T]):
    """The documents of one index. Thread-safe and blocking; raises EngineUnavailable, EngineRefused, and DamagedDocument for one
    that is not of this type."""

    def __init__(self, engine: Engine, index: str, type_: type[T], what: str) -> None:
        """`what` each of them is, for messages: `repository`."""
        self._engine = engine
        self._index = index
        self._decoder = msgspec.json.Decoder(type_)
        self._what = what

    def decoded(self, document: Document) -> T:
        """Returns the content of a document."""
        try:
            return self._decoder.decode(document.source)
        except msgspec.MsgspecError as error:
            raise DamagedDocument(
                f"what the search engine has of {self._what} {document.id} cannot be read ({error}). Was it written by a newer "
                "program? Upgrade this one, or tell whoever runs the cluster."
            ) from error

    def get(self, key: str) -> T | None:
        """Returns the current content of a document, or None if there is none."""
        found = self._engine.get(self._index, key)
        return None if found is None else self.decoded(found)

    def found(self, query: JsonObject, limit: int = MAX_LISTED) -> list[tuple[str, T]]:
        """Returns the ids and contents of what a query finds, as of the last refresh, in no particular order."""
        return [(each.id, self.decoded(each)) for each in self._engine.documents(self._index, query, limit)]

    def create(self, key: str, content: T) -> bool:
        """Writes a document if there is none, and returns whether that was so."""
        try:
            self._engine.put(self._index, key, msgspec.json.encode(content), expected=None)
        except Conflict:
            return False
        return True

    def update(self, key: str, change: Callable[[T], T], attempts: int = MAX_ATTEMPTS) -> T | None:
        """Changes a document and returns its new content, or None if there is none; see `put`."""
        return self._changed(key, lambda old: None if old is None else change(old), attempts)

    def put(self, key: str, change: Callable[[T | None], T]) -> T:
        """Changes a document or makes it, and returns its new content. `change` gets the current content, returns the same object
        for no change, and is called again after a conflict. Raises what `change` raises, and EngineUnavailable after MAX_ATTEMPTS
        conflicts."""
        new = self._changed(key, change, MAX_ATTEMPTS)
        assert new is not None
        return new

    def delete(self, key: str, allows: Callable[[T], bool]) -> bool:
        """Deletes a document if `allows` returns True for its current content. Returns whether it does not exist any more."""
        for attempt in range(MAX_ATTEMPTS):
            document = self._engine.get(self._index, key)
            if document is None:
                return True
            if not allows(self.decoded(document)):
                return False
            try:
                self._engine.delete(self._index, key, expected=document)
            except Conflict:
                _pause(attempt)
            else:
                return True
        return False

    def _changed(self, key: str, change: Callable[[T | None], T | None], attempts: int) -> T | None:
        for attempt in range(attempts):
            document = self._engine.get(self._index, key)
            old = None if document is None else self.decoded(document)
            new = change(old)
            if new is old:
                return old
            try:
                self._engine.put(self._index, key, msgspec.json.encode(new), expected=document)
            except Conflict:
                _pause(attempt)
            else:
                return new
        raise EngineUnavailable(f"too many concurrent changes of this {self._what}. Try again in a moment.")


def _pause(attempt: int) -> None:
    time.sleep(random.uniform(0, min(LONGEST_PAUSE_SECONDS, 0.001 * 2**attempt)))
