"""All tools, each with the smallest arguments that it takes, its kind of answer, and what it is about. A new tool gets a line
here, and the tests that are about every tool then ask it too.
"""

from collections.abc import Mapping
from typing import Final

from msgspec import Struct

from codecompass.protocol import replies, state_replies
from codecompass.protocol.difference_replies import DiffContextReply


class SampleTool(Struct, frozen=True):
    """A tool. `needs` names its required argument; `takes_ref` says whether its question can be about a branch or a commit.

    `is_of_the_ten`: clients know it by name, and its name stays. `is_listed`: servers list it unless told otherwise.
    """

    reply: type
    needs: str = ""
    takes_ref: bool = True
    is_read_only: bool = True
    is_of_the_ten: bool = True
    is_listed: bool = True

    def arguments(self, *, symbol: str = "NAME", path: str = "src/main.py", query: str = "") -> dict[str, object]:
        """Returns the smallest valid arguments: about `symbol`, and about `query` or `path` where the tool asks for these."""
        meant = {"query": query or symbol, "path": path, "repo_path": path}
        return {self.needs: meant.get(self.needs, symbol)} if self.needs else {}


TOOLS: Final[Mapping[str, SampleTool]] = {
    "search_code": SampleTool(replies.SearchCodeReply, "query"),
    "locate_symbol": SampleTool(replies.LocateSymbolReply, "name"),
    "get_file_outline": SampleTool(replies.FileOutlineReply, "path"),
    "read_file": SampleTool(replies.FileTextReply, "path", is_of_the_ten=False, is_listed=False),
    "find_references": SampleTool(replies.FindReferencesReply, "symbol_name", is_of_the_ten=False),
    "get_call_graph": SampleTool(replies.CallGraphReply, "symbol_name", is_of_the_ten=False),
    "get_symbol_hierarchy": SampleTool(replies.SymbolHierarchyReply, "symbol_name"),
    "find_related_symbols": SampleTool(replies.RelatedSymbolsReply, "symbol_name"),
    "get_code_context": SampleTool(replies.CodeContextReply, "query"),
    "diff_context": SampleTool(DiffContextReply, takes_ref=False, is_of_the_ten=False, is_listed=False),
    "list_refs": SampleTool(state_replies.ListRefsReply, takes_ref=False, is_of_the_ten=False, is_listed=False),
    "index_status": SampleTool(state_replies.IndexStatusReply),
    "health_check": SampleTool(state_replies.HealthReply),
    "index_repo": SampleTool(state_replies.IndexRepoReply, is_read_only=False),
    "sync_repo": SampleTool(state_replies.SyncRepoReply, is_read_only=False),
    "index_repository": SampleTool(
        state_replies.IndexRepositoryReply, "repo_path", is_read_only=False, is_of_the_ten=False, is_listed=False
    ),
}

THE_TEN: Final = tuple(name for name, tool in TOOLS.items() if tool.is_of_the_ten)
LISTED: Final = tuple(name for name, tool in TOOLS.items() if tool.is_listed)
WITH_REF: Final = tuple(name for name, tool in TOOLS.items() if tool.takes_ref)

QUESTIONS: Final = tuple(name for name in LISTED if TOOLS[name].is_read_only and name != "health_check")
"""The listed tools that are about one project and change nothing."""
