"""Reads the uses of names in files: as the index holds them, or, where they are still to be read, from the indexed text.

The uses of a file follow from its text and its symbols, which a generation always holds. So an answer is the same before and
after the background has read them (`actors/uses_pass.py`); before, it takes longer.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from codecompass.languages.records import NameUses, Symbol, Use
from codecompass.languages.uses.lexical_rules import family_of
from codecompass.languages.uses.occurrences import occurrences, occurrences_of
from codecompass.store.rows import IndexedFile
from codecompass.store.snapshot import Snapshot


class NamedUses:
    """The uses of names, for one question. What it reads from text is kept for later questions about the generation."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._facts = snapshot.facts
        self._text = snapshot.text
        self._kept = snapshot.tables.kept_uses
        self._unread: Final = snapshot.facts.unread_uses()

    def in_files(self, file_ids: Sequence[int], name: str, family: str) -> Iterator[tuple[IndexedFile, tuple[Use, ...]]]:
        """Yields the files with code of a family of languages that uses a name, with the uses, by path. Reads lazily what is
        unread."""
        found: list[tuple[IndexedFile, tuple[Use, ...] | None]] = list(self._facts.uses(file_ids, name))
        if self._unread:
            unread = self._facts.indexed_files([each for each in file_ids if each in self._unread])
            found += [(file, None) for file in unread.values()]
        found = [item for item in found if family_of(item[0].language) == family] if family else []
        found.sort(key=lambda item: item[0].path)
        for file, known in found:
            uses = self._read(file.id, file.language, name) if known is None else known
            if uses:
                yield file, uses

    def of(self, file_id: int, language: str, name: str) -> tuple[Use, ...]:
        """Returns the uses of a name in the code of one file that is of the family of a language."""
        if file_id in self._unread:
            return self._read(file_id, language, name)
        family = family_of(language)
        return next((uses for file, uses in self._facts.uses([file_id], name) if family_of(file.language) == family), ())

    def all_of(self, file_id: int, language: str) -> tuple[NameUses, ...]:
        """Returns the uses of all names in the code of a file that is of the family of a language, sorted by name."""
        if file_id in self._unread:
            return occurrences(language, *self._parsed(file_id))
        family = family_of(language)
        return tuple([each for each in self._facts.all_uses(file_id) if family_of(each.language) == family])

    def _read(self, file_id: int, language: str, name: str) -> tuple[Use, ...]:
        uses = self._kept.get(file_id, name)
        if uses is None:
            uses = occurrences_of(language, *self._parsed(file_id), name)
            self._kept.put(file_id, name, uses)
        return uses

    def _parsed(self, file_id: int) -> tuple[str, tuple[Symbol, ...]]:
        """Returns the text and the symbols of a file."""
        text = "".join(chunk.text for chunk in self._text.file_chunks(file_id))
        return text, self._facts.parsed_symbols(file_id)
