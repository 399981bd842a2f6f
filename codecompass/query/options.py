"""How a query is to be answered: defaults, limits, the form of the answer."""

from typing import TYPE_CHECKING, Final

from msgspec import Struct

from codecompass.protocol.requests import ExplainLevel, Strategy
from codecompass.settings import AnswerForm
from codecompass.units import KIB

if TYPE_CHECKING:
    from codecompass.protocol.replies import ImportedSymbol
    from codecompass.query.changed_files import ChangedFiles
    from codecompass.query.file_versions import TreeDifference
    from codecompass.query.meaning import QuestionMeaning

MAX_RESULT_BYTES: Final = 64 * KIB
"""Of the results of one answer."""

MAX_DEFAULT_RESULT_BYTES: Final = 27_000
"""Of the results where the request sets no limit: with metadata and ranking reasons such an answer stays below 30 kB."""

MAX_OUTLINE_BYTES: Final = 30_000
"""Of one outline: what an agent can read at once."""

MAX_HIERARCHY_BYTES: Final = 29_000
"""Of the symbols of one hierarchy, which with its metadata stays below 30 kB as well."""


class QueryOptions(Struct, frozen=True, kw_only=True):
    """Defaults and limits of one query. Bytes are those of encoded JSON."""

    default_limit: int = 10
    """Hits of an answer where the request sets no limit."""
    ranking_explain_level: ExplainLevel = "off"
    default_strategy: Strategy = "breadth"
    """Of `get_code_context` where the request names none."""
    max_result_bytes: int = MAX_RESULT_BYTES
    max_default_result_bytes: int = MAX_DEFAULT_RESULT_BYTES
    max_outline_bytes: int = MAX_OUTLINE_BYTES
    max_matched_lines: int = 20_000
    """Lines after which a literal or regex scan stops and says so."""
    counted_lines: int = 1_000
    """Lines after which a scan whose page is full stops counting."""
    answers: AnswerForm = "json"
    """The form of the answer: text shows lines of code and no ids."""
    meaning: "QuestionMeaning | None" = None
    """The question as a vector, where search by meaning is on."""
    difference: "TreeDifference | None" = None
    """What `diff_context` is about."""
    changed: "ChangedFiles | None" = None
    """What differs from the ref that `changed_since` names."""
    imported: "ImportedSymbol | None" = None
    """The definition of another workspace whose uses are looked for."""
    is_for_merging: bool = False
    """The answer is to be merged with those of other workspaces."""
    without_signals: frozenset[str] = frozenset()
    """Signals (`retrieval.SIGNALS`) that are left out of the ranking, to measure what each contributes."""

    def result_bytes(self, limit: int | None) -> int:
        """Returns how many bytes the results may take for a request with this `limit`, None where it sets none."""
        return self.max_result_bytes if limit else min(self.max_result_bytes, self.max_default_result_bytes)


def no_deadline() -> bool:
    """Stands for `is_expired` where a query may take any time."""
    return False
