"""Files that hold code of another language: components (Vue, Svelte, Astro) and notebooks (Jupyter).

file -> its code: one text to parse, one to search for uses, and the line of the file for each line of them
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from codecompass.languages import described
from codecompass.languages.records import NameUses, Symbol

if TYPE_CHECKING:
    # The server reads what languages are, and must not load the library of grammars.
    from codecompass.languages.walk.extract import Extraction


class EmbeddedCode(Struct, frozen=True):
    """The code of one file."""

    language: str
    """The language of the code, which may differ from file to file (`lang="ts"`)."""
    script: str
    """To be parsed."""
    text: str
    """To be searched for uses: the script and the code of the template, in the same lines."""
    lines: Sequence[int]
    """The line of the file for each line of `script`, ascending."""
    completed: Callable[[Sequence[Symbol], str, int], list[Symbol]]
    """Returns the symbols of a file, found in `script`, as they are in the file at a path with a number of lines."""

    def placed(self, found: "Extraction", path: str) -> "Extraction":
        """Returns what was found in `script` at its lines in the file at `path`."""
        lines = self.lines
        symbols = [
            replace(symbol, line_start=lines[symbol.line_start - 1], line_end=lines[min(symbol.line_end, len(lines)) - 1])
            for symbol in found.symbols
        ]
        imports = [
            replace(item, line_start=lines[item.line_start - 1], line_end=lines[min(item.line_end, len(lines)) - 1])
            for item in found.imports
        ]
        completed = self.completed(symbols, path, len(lines) - self.script.endswith("\n"))
        return replace(found, symbols=tuple(completed), imports=tuple(imports))

    def placed_uses(self, uses: Sequence[NameUses]) -> tuple[NameUses, ...]:
        """Returns the uses that were found in `text` at their lines in the file."""
        lines = self.lines
        return tuple(
            replace(each, uses=tuple(replace(use, line=lines[min(use.line, len(lines)) - 1]) for use in each.uses))
            for each in uses
        )


def embedded_code(language: str, source: bytes) -> EmbeddedCode | None:
    """Returns the code of a file in a language whose files hold code of another one; None if it has none that is known."""
    embedded = described(language).embedded
    return None if embedded is None else embedded(source.decode("utf-8", "surrogatepass"))
