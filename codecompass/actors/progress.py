"""Progress of an index job: the four stages that people and protocol clients see, and their shares of 100 per cent."""

from typing import Literal

from msgspec import Struct

Stage = Literal["discovery", "parsing", "indexing", "finalizing"]


class Progress(Struct, frozen=True, kw_only=True):
    """A moment of a job. Counts are of files unless named otherwise; `percentage` never falls within a job."""

    stage: Stage
    files_scanned: int = 0
    files_total: int = 0
    files_parsed: int = 0
    files_indexed: int = 0
    symbols_extracted: int = 0

    @property
    def percentage(self) -> int:
        """0..100: discovery to 10, parsing to 70, indexing to 95, finalizing to 99."""
        match self.stage:
            case "discovery":
                return min(10, self.files_scanned // 1000)
            case "parsing":
                return 10 + _share(self.files_parsed, self.files_total, 60)
            case "indexing":
                return 70 + _share(self.files_indexed, self.files_total, 25)
            case "finalizing":
                return 95

    @property
    def message(self) -> str:
        """The message for people, in the words of the protocol."""
        match self.stage:
            case "discovery":
                return f"Scanning files: {self.files_scanned} discovered"
            case "parsing":
                return (
                    f"Parsing files: {self.files_parsed}/{self.files_total} ({_share(self.files_parsed, self.files_total, 100)}%)"
                )
            case "indexing":
                return f"Indexing: {self.files_indexed}/{self.files_total} files, {self.symbols_extracted} symbols"
            case "finalizing":
                return "Finalizing index..."


def _share(part: int, total: int, of: int) -> int:
    return of if total <= 0 else min(of, part * of // total)
