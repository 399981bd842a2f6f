"""The tunables of the query core. Bytes are those of encoded JSON."""

from typing import Final

from msgspec import Struct

from codecompass.protocol.requests import ExplainLevel, Strategy
from codecompass.settings import AnswerForm
from codecompass.units import KIB

MAX_RESULT_BYTES: Final = 64 * KIB
"""Of the results of one answer (contract section 4)."""

MAX_DEFAULT_RESULT_BYTES: Final = 27_000
"""Of the results of a request that leaves the limit open: with its metadata and reasons such an answer keeps 30 kB."""

MAX_OUTLINE_BYTES: Final = 30_000
"""Of one outline: what an agent can read at once."""

MAX_HIERARCHY_BYTES: Final = 29_000
"""Of the symbols of one hierarchy, which with its metadata keeps 30 kB as well."""


class QuerySettings(Struct, frozen=True, kw_only=True):
    """Frozen and passed down. The defaults are those of the configuration file's `[query]` and `[search]`."""

    default_limit: int = 10
    ranking_explain_level: ExplainLevel = "off"
    default_strategy: Strategy = "breadth"
    """Of `get_code_context` where a request leaves it open."""
    max_result_bytes: int = MAX_RESULT_BYTES
    max_default_result_bytes: int = MAX_DEFAULT_RESULT_BYTES
    max_outline_bytes: int = MAX_OUTLINE_BYTES
    max_matched_lines: int = 20_000
    """Lines after which a literal or regex scan stops and says so."""
    counted_lines: int = 1_000
    """Lines after which a scan whose page is full counts no further."""
    answers: AnswerForm = "json"
    """For which form of answer a reply is made: those as text show lines of code, and no ids."""
    without_signals: frozenset[str] = frozenset()
    """Signals (`plan.SIGNALS`) that do not rank: for measuring what each of them earns."""

    def result_bytes(self, limit: int | None) -> int:
        """Returns how many bytes the results may take for a request with this `limit` (None: left open)."""
        return self.max_result_bytes if limit else min(self.max_result_bytes, self.max_default_result_bytes)
