"""A small database with the number of documents of a generation that have each word, for a remote text index.

tantivy reads this from its own dictionary in 2 us. For a remote text index, this copy lies beside the facts.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

import msgspec

from codecompass.store.databases import connect
from codecompass.store.facts import facts_guard

FIELDS: Final = (
    *("record", "body", "names", "parts", "path_words"),
    *("name", "name_words", "signature", "doc", "file_words", "pairs"),
)
"""The fields whose words are counted; a row of the database has the position of its field in this tuple."""

Term = tuple[int, str]
"""The position of a field in FIELDS, and a word."""

MAX_KNOWN: Final = 2_000
"""Words whose counts are cached, less than 0.5 MB. A question has some hundred, with their inflections and related words."""


def write_term_counts(path: Path, counts: Mapping[Term, int]) -> None:
    """Writes counts to the database, which is created if it does not exist; a count of 0 removes the word."""
    connection = connect(path, mode="rwc")
    try:
        connection.execute("PRAGMA journal_mode = OFF")
        connection.execute("BEGIN")
        connection.execute(
            "CREATE TABLE IF NOT EXISTS terms (word TEXT, field INTEGER, n INTEGER, PRIMARY KEY (word, field)) WITHOUT ROWID"
        )
        # Sorted in the order of the table, so that its pages are filled sequentially.
        rows = sorted((word, field, n) for (field, word), n in counts.items() if n)
        connection.executemany("INSERT OR REPLACE INTO terms VALUES (?, ?, ?)", rows)
        gone = [term for term, n in counts.items() if not n]
        connection.executemany("DELETE FROM terms WHERE field = ? AND word = ?", gone)
        connection.execute("COMMIT")
    finally:
        connection.close()


class TermTally:
    """Counts how many of the documents added to it have each word."""

    def __init__(self) -> None:
        self._fields: Final = {field: Counter[str]() for field in FIELDS}

    def add(self, field: str, words: Iterable[str]) -> None:
        """Adds one document that has these words in `field`."""
        self._fields[field].update(set(words))

    def counts(self) -> dict[Term, int]:
        """Returns the number of documents for each word."""
        return {(number, word): n for number, field in enumerate(FIELDS) for word, n in self._fields[field].items()}


class TermCounts:
    """Reads the counts of one generation. For one thread at a time."""

    def __init__(self, path: Path) -> None:
        """Opens the database. Raises sqlite3.OperationalError if the file is missing."""
        self._connection = connect(path, mode="ro", immutable=True)
        self._known: dict[str, list[int]] = {}
        """A cache, because a question looks up its words many times: the counts of each word, in the order of FIELDS."""

    def count(self, field: str, word: str) -> int:
        """Returns how many documents have `word` in `field`."""
        known = self._known.get(word)
        if known is None:
            self.expect((word,))
            known = self._known[word]
        return known[_PLACES[field]]

    def expect(self, words: Iterable[str]) -> None:
        """Reads the counts of all words in one statement. One for each takes five times as long, and threads that read in turn
        hand over the interpreter at each."""
        missing = [word for word in dict.fromkeys(words) if word not in self._known]
        if not missing:
            return
        found = {word: [0] * len(FIELDS) for word in missing}
        with facts_guard():
            rows = self._connection.execute(_COUNTS_OF, (msgspec.json.encode(missing).decode(),)).fetchone()[0]
        for word, field, n in msgspec.json.decode(rows, type=list[tuple[str, int, int]]):
            found[word][field] = n
        if len(self._known) + len(found) > MAX_KNOWN:
            self._known.clear()
        self._known |= found

    def close(self) -> None:
        """Closes the database."""
        self._connection.close()


_PLACES: Final = {field: number for number, field in enumerate(FIELDS)}

_COUNTS_OF: Final = (
    "SELECT json_group_array(json_array(word, field, n)) FROM terms WHERE word IN (SELECT value FROM json_each(?))"
)
"""All rows as one, because Python releases its lock for every row that it fetches."""
