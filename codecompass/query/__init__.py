"""The query core: synchronous functions that take a snapshot and a request and return a reply. They use no clock, no files and no
randomness."""

from codecompass.query.call_graph import get_call_graph
from codecompass.query.context import get_code_context
from codecompass.query.diff_context import diff_context
from codecompass.query.hierarchy import get_symbol_hierarchy
from codecompass.query.locate import locate_symbol
from codecompass.query.options import QueryOptions
from codecompass.query.outline import get_file_outline, list_directory, read_file
from codecompass.query.references import find_package_references, find_references
from codecompass.query.related import find_related_symbols
from codecompass.query.relations import find_relation
from codecompass.query.search import search_code
from codecompass.query.status import JobsState, index_status
from codecompass.query.use_counts import count_uses

__all__ = [
    "JobsState",
    "QueryOptions",
    "count_uses",
    "diff_context",
    "find_package_references",
    "find_references",
    "find_related_symbols",
    "find_relation",
    "get_call_graph",
    "get_code_context",
    "get_file_outline",
    "get_symbol_hierarchy",
    "index_status",
    "list_directory",
    "locate_symbol",
    "read_file",
    "search_code",
]
