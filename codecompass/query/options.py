"""Options of one query: defaults, limits and the form of the answer."""

from typing import TYPE_CHECKING, Final

from msgspec import Struct

from codecompass.protocol.requests import ExplainLevel, Strategy
from codecompass.scan.git_change_history import NO_HISTORY, ChangeHistory
from codecompass.settings import AnswerForm
from codecompass.units import KIB

if TYPE_CHECKING:
    from codecompass.protocol.replies import ImportedSymbol
    from codecompass.query.differences.file_versions import TreeDifference
    from codecompass.query.filters import ChangedFiles
    from codecompass.query.semantic_search import QuestionMeaning

MAX_RESULT_BYTES: Final = 64 * KIB
"""Limit for the results of one answer."""

MAX_DEFAULT_RESULT_BYTES: Final = 27_000
"""Limit for the results if the request sets none: with metadata and ranking reasons such an answer stays below 30 kB."""

MAX_OUTLINE_BYTES: Final = 30_000
"""Limit for one outline: what an agent can read at once."""

COUNTED_LINES: Final = 1_000
"""Lines after which a scan stops counting once its page is full, and those of several workspaces together."""

MAX_HIERARCHY_BYTES: Final = 29_000
"""Limit for the symbols of one hierarchy, which with its metadata stays below 30 kB as well."""

TIME_WAS_UP: Final = "timed out before all files were searched; raise timeout_ms or shorten the query"


class QueryOptions(Struct, frozen=True, kw_only=True):
    """Defaults and limits of one query. Byte limits count encoded JSON."""

    default_limit: int = 10
    """Hits of an answer if the request sets no limit."""
    ranking_explain_level: ExplainLevel = "off"
    default_strategy: Strategy = "breadth"
    """Strategy of `get_code_context` if the request names none."""
    max_result_bytes: int = MAX_RESULT_BYTES
    max_default_result_bytes: int = MAX_DEFAULT_RESULT_BYTES
    max_outline_bytes: int = MAX_OUTLINE_BYTES
    max_matched_lines: int = 20_000
    """Lines after which a literal or regex scan stops and reports that it did."""
    shows_lines: bool = False
    """Whether lines that match a literal or an expression are shown as such, however few they are."""
    counted_lines: int = COUNTED_LINES
    """Lines after which a scan stops counting once its page is full."""
    answers: AnswerForm = "json"
    """The form of the answer: `text` shows lines of code and no ids."""
    meaning: "QuestionMeaning | None" = None
    """The vector of the question, if search by meaning is on."""
    difference: "TreeDifference | None" = None
    """The difference that `diff_context` describes."""
    history: ChangeHistory = NO_HISTORY
    """Which files the last commits changed together, for a question about that."""
    changed: "ChangedFiles | None" = None
    """The files that differ from the ref named by `changed_since`."""
    imported: "ImportedSymbol | None" = None
    """The definition in another workspace whose uses are searched for."""
    n_merged: int = 0
    """How many workspaces' answers will be merged, this one among them; 0 if it stands alone."""
    is_name_exact: bool = False
    """Whether `locate_symbol` reads the name as it is written, or but for case, and looks for no similar one."""
    is_definition_only: bool = False
    """Whether `find_references` names the definitions and looks for no use of them."""
    without_signals: frozenset[str] = frozenset()
    """Signals (`retrieval.SIGNALS`) left out of the ranking, to measure what each contributes."""

    @property
    def is_for_merging(self) -> bool:
        """Whether the answer will be merged with others."""
        return self.n_merged > 0

    def result_bytes(self, limit: int | None) -> int:
        """Returns how many bytes the results may take for a request with this `limit`, None if it sets none."""
        return self.max_result_bytes if limit else min(self.max_result_bytes, self.max_default_result_bytes)


def no_deadline() -> bool:
    """Returns False: the `is_expired` of a query without a deadline."""
    return False
