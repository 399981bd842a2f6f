"""Reads what is known of the arguments of calls, from the text of the files that call. The index keeps only their number.

Most names are defined once, and the number of arguments chooses between most overloads: so few questions need more.
"""

from typing import Final

from codecompass.languages import described
from codecompass.languages.uses.occurrences import described_calls
from codecompass.query.uses.definitions import FileNames
from codecompass.store.rows import as_parsed
from codecompass.store.snapshot import TextIndex

MAX_READ: Final = 200
"""Files that are read for one question, 2 ms each. In later ones the number of arguments alone chooses."""


class CallArguments:
    """Reads arguments for one question and keeps what it has read. Not thread-safe."""

    def __init__(self, text: TextIndex) -> None:
        self._text = text
        self._known: dict[tuple[int, str], tuple[str, ...]] = {}

    def of(self, file: FileNames, name: str, number: int) -> str:
        """Returns what is known of the arguments (see `languages.arguments`) in a use of a name: that with this number, from 0,
        among the uses of the name in the file. '' if nothing is."""
        key = (file.file_id, f"{file.language}\0{name}")
        found = self._known.get(key)
        if found is None:
            regions = described(file.language).regions
            # What is in regions is not known here.
            is_read = len(self._known) < MAX_READ and not file.is_within and (regions is None or not regions.are_all)
            found = self._known[key] = self._read(file, name) if is_read else ()
        return found[number] if number < len(found) else ""

    def _read(self, file: FileNames, name: str) -> tuple[str, ...]:
        text = "".join(chunk.text for chunk in self._text.file_chunks(file.file_id))
        return described_calls(file.language, text, as_parsed(file.symbols), name)
