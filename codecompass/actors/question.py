"""A question to an index: its request, and what of the caller its answer depends on. Loads nothing of the stores."""

from msgspec import Struct

from codecompass.protocol.replies import ImportedSymbol
from codecompass.protocol.requests import (
    CountUses,
    DiffContext,
    FindReferences,
    FindRelatedSymbols,
    GetCallGraph,
    GetCodeContext,
    GetFileOutline,
    GetSymbolHierarchy,
    IndexStatus,
    ListDirectory,
    LocateSymbol,
    ReadFile,
    SearchCode,
)
from codecompass.settings import AnswerForm

QueryRequest = (
    SearchCode
    | LocateSymbol
    | GetFileOutline
    | GetSymbolHierarchy
    | FindReferences
    | GetCallGraph
    | FindRelatedSymbols
    | GetCodeContext
    | DiffContext
    | ReadFile
    | ListDirectory
    | CountUses
    | IndexStatus
)
"""The requests that an index answers."""


class Question(Struct, frozen=True, kw_only=True):
    """A question to an index: all that its answer depends on besides the index."""

    request: QueryRequest
    warnings: tuple[str, ...] = ()
    """From decoding and routing, for the answer's metadata; `hint` likewise."""
    hint: str = ""
    names_project: bool = False
    """Whether the caller named a project: the answer then carries the name of its store."""
    n_merged: int = 0
    """How many workspaces' answers are to be merged, this one among them; 0 if it stands alone."""
    n_counted: int = 0
    """Matching lines that other workspaces have already reported, for a literal or a pattern: those that are counted are counted
    together."""
    is_name_exact: bool = False
    """Whether only the name as it is written is asked for: similar ones of other workspaces fill the page already."""
    is_definition_only: bool = False
    """Whether of a name's uses only the definitions are asked for: others may define it too, and more often than an answer can be
    about."""
    imported: ImportedSymbol | None = None
    """A definition of another workspace whose uses are asked for."""
    answers: AnswerForm | None = None
    """The form of the reply, None for the server's."""
