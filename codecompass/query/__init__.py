"""The query core: synchronous functions that take a snapshot and a request and return a reply. They use no clock, no files and no
randomness.

Its modules are imported when they are first used, so that a command of the command line imports what it runs; a server imports
them all when it starts.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Final

from codecompass import lazy

if TYPE_CHECKING:
    from codecompass.query.call_graph import get_call_graph
    from codecompass.query.context import get_code_context
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

_MODULES: Final = {
    "call_graph": ("get_call_graph",),
    "context": ("get_code_context",),
    "hierarchy": ("get_symbol_hierarchy",),
    "locate": ("locate_symbol",),
    "options": ("QueryOptions",),
    "outline": ("get_file_outline", "list_directory", "read_file"),
    "references": ("find_package_references", "find_references"),
    "related": ("find_related_symbols",),
    "relations": ("find_relation",),
    "search": ("search_code",),
    "status": ("JobsState", "index_status"),
    "use_counts": ("count_uses",),
}

if not TYPE_CHECKING:
    __getattr__ = lazy.exports(__name__, _MODULES)


def load() -> None:
    """Imports all of it, so that the first question of a server does not have to."""
    for module in (*_MODULES, "diff_context", "relation_places"):
        import_module(f"{__name__}.{module}")
