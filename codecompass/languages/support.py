"""What is supported of each language, read from the table of languages and from the traits in their modules."""

from collections.abc import Iterator, Sequence
from typing import Final, Literal

from msgspec import Struct

from codecompass.languages import described
from codecompass.languages.table import LANGUAGES

Reading = Literal["tree", "text", "code within", ""]
"""What definitions are found in: the tree that a grammar gives, the text, the code of another language; empty without any."""


class Support(Struct, frozen=True):
    """How far one language is supported. Definitions are always nested as they are in the file."""

    name: str
    files: tuple[str, ...]
    """Extensions and names of its files."""
    module: str
    """The module that reads it; empty if its files are only searched as text."""
    grammar: str
    definitions: Reading
    imports: bool
    """Whether import statements lead to files."""
    uses: bool
    """Whether uses of names are found."""
    registered: bool
    """Whether annotations, calls and macros define something: routes of web frameworks, tasks, types."""
    holds: str
    """Which parts of its files are read as other languages: scripts, cells, marked strings; empty without any."""


def supported(name: str) -> Support:
    """Returns how far a language of the table is supported; loads its module. Raises KeyError for an unknown one."""
    row, language = LANGUAGES[name], described(name)
    reading: Reading = ""
    if row.module and row.has_symbols:
        reading = (
            "text"
            if row.is_read_as_text
            else "tree"
            if language.regions is None or not language.regions.are_all
            else "code within"
        )
    return Support(
        name=name,
        files=(*row.extensions.split(), *row.names.split()),
        module=f"{__package__}.{row.module}" if row.module else "",
        grammar=language.grammar,
        definitions=reading,
        imports=language.imports is not None,
        uses=language.uses is not None,
        registered=language.registers is not None,
        holds="" if language.regions is None else language.regions.holds,
    )


def all_supported() -> Iterator[Support]:
    """Yields all languages: those with definitions by name, then those whose files are only searched."""
    found = [supported(name) for name in sorted(LANGUAGES)]
    yield from sorted(found, key=lambda each: each.definitions == "")


HEADS: Final = ("language", "definitions", "imports", "uses", "registered", "holds", "files")


def cells(support: Support, most_files: int | None = None) -> tuple[str, ...]:
    """Returns the row of a table of languages, with the first files only if there are more than `most_files`."""
    files = support.files if most_files is None else support.files[:most_files]
    more = " .." if len(files) < len(support.files) else ""
    flags: Sequence[bool] = (support.imports, support.uses, support.registered)
    return (
        support.name,
        support.definitions or "-",
        *("yes" if flag else "-" for flag in flags),
        support.holds or "-",
        " ".join(files) + more,
    )


def as_markdown() -> str:
    """Returns the table of the documents: languages with definitions."""
    rows = [HEADS, ("---",) * len(HEADS), *(cells(each, 6) for each in all_supported() if each.definitions)]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)
