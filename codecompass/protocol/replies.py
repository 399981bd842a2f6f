"""The reply of each tool: Structs with their fields in the order in which they are written. Absent data is omitted, never null.

This module has the replies about code; those about indexes, jobs and the server are in `state_replies`. Lines are 1-based and
inclusive, paths relative to the workspace root.
"""

from typing import Literal

from msgspec import UNSET, Raw, Struct, UnsetType

from codecompass.errors import ErrorBody
from codecompass.protocol.difference_replies import DiffContextReply
from codecompass.protocol.metadata import BareMetadata, Metadata
from codecompass.protocol.state_replies import (
    HealthReply,
    IndexRepoReply,
    IndexRepositoryReply,
    IndexStatusReply,
    ListRefsReply,
    SyncRepoReply,
)


class SymbolReference(Struct, frozen=True, kw_only=True):
    """A symbol that encloses a result or is near it."""

    kind: str
    name: str
    path: str
    line: int


class MatchedLine(Struct, frozen=True, kw_only=True):
    """A line of a file that a literal or a regular expression matched, or that was requested.

    A long `text` is shortened around the match.
    """

    line: int
    text: str


class Enclosing(Struct, frozen=True, kw_only=True):
    """The innermost definition that encloses a piece of text."""

    kind: str
    name: str
    qualified_name: str
    line_start: int
    line_end: int


class Excerpt(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The lines of a hit that are shown. `is_whole`: they are all its lines; `n_omitted` counts the lines after them that did not
    fit."""

    lines: tuple[MatchedLine, ...] = ()
    is_whole: bool = False
    n_omitted: int = 0
    enclosing: Enclosing | None = None


class FurtherDefinition(Struct, frozen=True, kw_only=True):
    """Another definition in the file of a hit."""

    name: str
    line_start: int
    line_end: int


class Result(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One hit of `search_code` or `locate_symbol`; the detail level decides which fields are present.

    `location`: the fields up to `match`, and one handle (`symbol_id`, otherwise `result_id`). `signature`: the fields up to
    `lines`, without `symbol_stable_id`. `body`: these, and the fields of the body. `context`: all but the fields of the body.
    `compact` reduces every level to the fields of `location` and the score. A result that is not a symbol has a `result_type`
    (`snippet`, `file`, `import`), the `kind` and `name` of the definition around it, and its best line as `snippet`.
    """

    project: str = ""
    """The label of its project in an answer about several; `path` is relative to that project's root."""
    path: str
    line_start: int
    line_end: int
    kind: str = ""
    name: str = ""
    match: str = ""
    """How a hit of `locate_symbol` matches the requested name: `exact` (or the end of a qualified name), `case` (differs in
    case), `parts` (its words), `similar` (a guess)."""
    qualified_name: str = ""
    signature: str = ""
    language: str = ""
    visibility: str = ""
    symbol_id: str = ""
    symbol_stable_id: str = ""
    result_id: str = ""
    result_type: str = ""
    score: float | None = None
    snippet: str = ""
    matched_lines: tuple[MatchedLine, ...] = ()
    asked_line: int = 0
    """The line of a request for `path:line`."""
    lines: tuple[MatchedLine, ...] = ()
    """The lines around `asked_line`."""
    body: str = ""
    """The whole definition without its indentation."""
    body_line_start: int = 0
    """The first line of `body`, omitted if that is `line_start`."""
    body_lines_omitted: int = 0
    """How many lines at the end of the body, or all of them, did not fit."""
    body_preview: str = ""
    parent: SymbolReference | None = None
    related_symbols: tuple[SymbolReference, ...] = ()
    content: str = ""
    """Like `start_line` and `end_line`, repeats the place for callers that name a project."""
    start_line: int = 0
    end_line: int = 0
    excerpt: Excerpt | None = None
    """Only for answers as text, instead of all other code."""
    also: tuple[FurtherDefinition, ...] = ()
    """Further definitions of the file that answer the question, best first."""
    copies: int = 0
    """How many places of other files were left out because they are nearly the same."""
    stale: bool = False
    """Whether the file has changed since it was indexed."""


class ChangedLine(Struct, frozen=True, kw_only=True):
    """A line that a commit added (`+`) or removed (`-`). `line` counts from 1 in the version that has it; a long `text` is
    shortened around the match."""

    path: str
    line: int
    side: str
    text: str


class CommitHit(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A commit that a search of the history found, with the matching lines of its message or of what it changed."""

    project: str = ""
    """The label of its project in an answer about several."""
    commit: str
    """The full id."""
    date: str
    """When it was committed."""
    author: str
    subject: str
    message_lines: tuple[MatchedLine, ...] = ()
    changed_lines: tuple[ChangedLine, ...] = ()
    n_omitted: int = 0
    """How many matching lines did not fit."""


HitUnit = Literal["place", "line", "file", "commit"]
"""What the total of an answer counts."""


class NextAction(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A suggested next call: the tool and its arguments."""

    tool: str
    name: str = ""
    query: str = ""
    path: str = ""
    mode: str = ""
    limit: int = 0
    offset: int = 0


class WordEvidence(Struct, frozen=True):
    """A word of a question, its weight, and how many texts of a workspace have it."""

    text: str
    weight: float
    frequency: int


class HitEvidence(Struct, frozen=True):
    """The unbounded score of a hit, and how well it matches each word of the question: 0, or up to 2 if its name and path have
    the word too."""

    score: float
    has: tuple[float, ...]


class SearchEvidence(Struct, frozen=True, omit_defaults=True):
    """The data that makes the hits of one workspace comparable with those of others: its number of texts, the words of the
    question, and how well each hit matches them.

    `quoted` is only in samples: how much of the question one of their texts has word for word, 0..1.
    """

    n_texts: int
    words: tuple[WordEvidence, ...]
    hits: tuple[HitEvidence, ...]
    quoted: float = 0.0


class SearchCodeReply(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Hits, best first. `total_candidates` counts the matches of all pages, in `unit`: places are candidates, of which some may
    turn out to be none; lines and files are exact if `is_counted`, else at least so many. `weak`: nothing found fits the
    question, and `notice` says why. `evidence` is present if the answer
    will be merged with those of other workspaces; clients never get it."""

    weak: bool = False
    notice: str = ""
    """What comes before the hits: how the query was read, or that nothing has it as it was asked."""
    results: tuple[Result, ...]
    commits: tuple[CommitHit, ...] = ()
    """The hits of a search of the history, newest first, which has no `results`."""
    query_intent: str
    total_candidates: int
    unit: HitUnit = "place"
    is_counted: bool = True
    offset: int = 0
    next_offset: int = 0
    """The `offset` with which the same call gives the next page; absent if there is none."""
    is_verbatim: bool = False
    """Whether the hits have the query as it was asked."""
    suggested_next_actions: tuple[NextAction, ...] = ()
    metadata: Metadata
    evidence: SearchEvidence | None = None


class LocateSymbolReply(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Definitions, best first. An empty list, not an error, if nothing is found. `notice` and the offsets are as in
    SearchCodeReply; `total_candidates` is exact."""

    notice: str = ""
    results: tuple[Result, ...]
    total_candidates: int
    offset: int = 0
    next_offset: int = 0
    suggested_next_actions: tuple[NextAction, ...] = ()
    metadata: Metadata


class OutlineNode(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A symbol or an import of a file; `children` are the symbols that it encloses, in source order."""

    kind: str
    name: str
    line_start: int
    line_end: int
    visibility: str = ""
    signature: str = ""
    children: tuple["OutlineNode", ...] = ()


class FileOutlineReply(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The symbol tree of a file. `metadata.symbol_count` counts the nodes shown."""

    file_path: str
    language: str
    symbols: tuple[OutlineNode, ...]
    metadata: Metadata


class FileTextReply(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Lines of a file as they are indexed, from `line_start` (1-based) on; the whole file has `line_count` lines. What was asked
    for goes on at `next_line`, 0 if it is all here."""

    file_path: str
    language: str
    line_start: int
    line_count: int
    lines: tuple[str, ...]
    metadata: Metadata
    next_line: int = 0


class DirectoryReply(Struct, frozen=True, kw_only=True):
    """The names in a directory, directories first and with a slash at their end; `total` counts those that did not fit too."""

    path: str
    names: tuple[str, ...]
    total: int
    metadata: Metadata


class UseCount(Struct, frozen=True, kw_only=True):
    """How often the definition that begins at a line is used, as `find_references` counts: `uses` are exact or likely, `possible`
    come on top. `state` is `counted`; `at_least` if the time was up meanwhile; or, without counts, `too_common` or `no_time`."""

    line: int
    name: str
    state: Literal["counted", "at_least", "too_common", "no_time"]
    uses: int = 0
    possible: int = 0


class UseCountsReply(Struct, frozen=True, kw_only=True):
    """The definitions that begin in some lines of a file, by line. `n_left_out` are further ones."""

    file_path: str
    counts: tuple[UseCount, ...]
    n_left_out: int
    metadata: Metadata


class DefinitionPlace(Struct, frozen=True, kw_only=True):
    """Another place of a definition: an overload, a part, a constructor, a declaration."""

    path: str
    line_start: int
    line_end: int
    signature: str


class ReferenceDefinition(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A definition that was asked about. `project` as in `Result`."""

    project: str = ""
    symbol_id: str
    path: str
    line_start: int
    line_end: int
    kind: str
    name: str
    qualified_name: str
    signature: str
    places: tuple[DefinitionPlace, ...] = ()
    """Its other places, the first ones."""
    n_places: int = 0
    """How many other places it has."""
    n_uses: int | UnsetType = UNSET
    """Its `exact` and `likely` uses, present if several definitions were asked about."""


class HierarchyNode(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A symbol of a hierarchy; `depth` is the distance from the requested symbol."""

    symbol_id: str
    symbol_stable_id: str
    name: str
    kind: str
    qualified_name: str
    path: str
    line_start: int
    line_end: int
    signature: str = ""
    depth: int
    children: tuple["HierarchyNode", ...] = ()


class SymbolHierarchyReply(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Ancestors: a flat list from the symbol outwards. Descendants: one root with nested `children`. Of several definitions of
    the name, which `definitions` lists, one chain after the other, or one root each."""

    definitions: tuple[ReferenceDefinition, ...] = ()
    hierarchy: tuple[HierarchyNode, ...]
    direction: str
    chain_length: int
    metadata: Metadata


class ImportedSymbol(Struct, frozen=True, kw_only=True):
    """How other repositories can import a definition. Packages are named as in imports."""

    name: str
    kind: str
    family: str
    """The family of its language."""
    own: tuple[str, ...]
    """The packages that contain it."""
    others: tuple[str, ...]
    """The other packages of its repository, which may re-export it."""
    owner: str = ""
    """The type of which it is a member, otherwise empty."""


class Reference(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A line that uses the definition. `project` and `stale` as in `Result`."""

    project: str = ""
    path: str
    line_start: int
    line_end: int
    role: str
    """How the line uses it: a `requests.ReferenceRole`."""
    confidence: str
    """`exact` (bound by scope, an import or a written type), `likely` (one definition fits), `possible` (several fit)."""
    enclosing: Enclosing | None = None
    """The function around the line, otherwise the innermost definition."""
    is_test: bool = False
    definition: int | UnsetType | None = UNSET
    """The position among the reply's `definitions`; null if it may be any of several. Absent if only one was asked about."""
    text: str = ""
    """The line of code, empty at the level `location`; a call of several lines up to `line_end`."""
    stale: bool = False


class ElsewhereUse(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A line with the name that is not bound to the definition, and why not. `project` and `stale` as in `Result`."""

    project: str = ""
    path: str
    line_start: int
    reason: str
    """`several fit`, `unknown receiver`, `unresolved import`, `local name`, `key`, `other language`, `text` (a file without a
    grammar), `other type`, `other package`, `other definition`, `local or text`, `document`."""
    role: str = ""
    """As in `Reference`; empty for text."""
    enclosing: Enclosing | None = None
    is_test: bool = False
    text: str = ""
    stale: bool = False


class ReferenceCounts(Struct, frozen=True, kw_only=True):
    """The number of lines with uses by confidence, independent of the filters and of what is shown.

    `elsewhere`: other lines with the name, those in text only where few uses are bound. `tests` and `roles` count `exact` and
    `likely` uses.
    """

    exact: int
    likely: int
    possible: int
    elsewhere: int
    tests: int
    roles: dict[str, int]


class FindReferencesReply(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The uses of the definitions of a name from `offset` on: by definition, product code before tests, by path and line. `total`
    counts those that match the request. `definitions` is present if there are several, `definition` is the first. `elsewhere`
    follows the last uses. `imported` is present if other repositories will be searched; clients never get it."""

    definition: ReferenceDefinition
    definitions: tuple[ReferenceDefinition, ...] = ()
    references: tuple[Reference, ...]
    elsewhere: tuple[ElsewhereUse, ...] = ()
    counts: ReferenceCounts
    total: int
    offset: int
    metadata: Metadata
    imported: ImportedSymbol | None = None


class GraphNode(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A symbol of a call graph. `id` is its index among the nodes; `distance` is the number of calls from the requested symbol,
    which is node 0; of several the first nodes. `stale` as in `Result`."""

    id: int
    symbol_id: str
    path: str
    line_start: int
    line_end: int
    kind: str
    name: str
    qualified_name: str
    distance: int
    is_test: bool
    stale: bool = False


class GraphEdge(Struct, frozen=True, kw_only=True):
    """A caller and its callee, as ids of nodes, with the first lines of the calls in the caller's file."""

    caller: int
    callee: int
    lines: tuple[int, ...]
    confidence: str


class Impact(Struct, frozen=True, kw_only=True):
    """What a change affects: the number of callers, and what depends on the definition otherwise."""

    callers_by_distance: tuple[int, ...]
    """The number of callers without tests, beginning with distance 1."""
    tests: int
    subtypes: tuple[str, ...]
    """As `path:line name`."""
    overriding: tuple[str, ...]
    """Overriding methods, as `path:line name`."""
    importing_files: int
    importers: tuple[str, ...]
    """The first importing files by path."""


class CallGraphReply(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Symbols by distance, nearest first, each once. `impact` is present only for that direction."""

    direction: str
    definitions: tuple[ReferenceDefinition, ...] = ()
    """Those of the nodes with distance 0, in their order, if there are several."""
    nodes: tuple[GraphNode, ...]
    edges: tuple[GraphEdge, ...]
    impact: Impact | None = None
    metadata: Metadata


class RelatedType(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A type of a type hierarchy; `depth` is the distance from the requested type. `path` is empty if the type is defined outside
    the repository. `stale` as in `Result`."""

    path: str
    line_start: int
    name: str
    qualified_name: str
    kind: str
    depth: int
    confidence: str
    stale: bool = False


class TypeHierarchyReply(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Supertypes or subtypes, transitive, each once: those of a type follow it, by path and line. The types that were requested
    have depth 0; `definitions` is present if there are several."""

    relation: str
    definitions: tuple[ReferenceDefinition, ...] = ()
    symbols: tuple[RelatedType, ...]
    total: int
    metadata: Metadata


class RelatedAnchor(Struct, frozen=True, kw_only=True):
    """The symbol whose related symbols were requested."""

    symbol_id: str
    symbol_stable_id: str
    kind: str
    name: str
    path: str
    line_start: int


class RelatedSymbol(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A symbol near the anchor. `relation`: same_file, same_module (directory), same_package or imported."""

    symbol_id: str
    symbol_stable_id: str
    kind: str
    name: str
    qualified_name: str
    path: str
    line_start: int
    line_end: int
    signature: str = ""
    relation: str
    language: str
    definition: int | UnsetType = UNSET
    """The position among the reply's `definitions`."""


class RelatedSymbolsReply(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Related symbols, nearest relation first, then by path and line. If several definitions have the name, `definitions` lists
    them, `anchor` is the first, and the symbols are in their order."""

    anchor: RelatedAnchor
    definitions: tuple[ReferenceDefinition, ...] = ()
    related: tuple[RelatedSymbol, ...]
    scope_used: str
    total_found: int
    metadata: Metadata


class ContextItem(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A piece of context. `body` is present with the strategy `depth` or the detail level `body`; `body_lines_omitted` counts the
    lines at its end that did not fit. `excerpt` replaces `body` in answers as text. `stale` as in `Result`."""

    path: str
    line_start: int
    line_end: int
    kind: str = ""
    name: str = ""
    qualified_name: str = ""
    signature: str = ""
    language: str = ""
    symbol_id: str = ""
    symbol_stable_id: str = ""
    result_id: str = ""
    score: float
    body: str = ""
    body_lines_omitted: int = 0
    excerpt: Excerpt | None = None
    stale: bool = False


class CodeContextReply(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Context within the budget. `estimated_tokens` is an upper estimate for this whole answer."""

    context_items: tuple[ContextItem, ...]
    estimated_tokens: int
    truncated: bool
    metadata: Metadata


class AnswerPart(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The answer of one of several projects for a merging server: its reply as JSON, or an error."""

    project_id: str
    name: str
    """Its label in answers."""
    root: str
    repositories: tuple[str, ...] = ()
    """The ids of the repositories that it is a checkout of."""
    is_named: bool = False
    """Whether the request names this project explicitly."""
    is_checked: bool = False
    """Whether its index was compared with its tree."""
    reply: Raw | UnsetType = UNSET
    error: ErrorBody | None = None


class PartsReply(Struct, frozen=True, kw_only=True):
    """The answers of several projects for a merging server: those with a reply, or with an error for an ambiguous name.

    `metadata` is about all projects of the request; its warnings name those that failed otherwise.
    """

    parts: tuple[AnswerPart, ...]
    metadata: Metadata


class ErrorReply(Struct, frozen=True, kw_only=True):
    """The answer of a tool that failed."""

    error: ErrorBody
    metadata: Metadata | BareMetadata


Reply = (
    SearchCodeReply
    | LocateSymbolReply
    | FileOutlineReply
    | FileTextReply
    | DirectoryReply
    | UseCountsReply
    | SymbolHierarchyReply
    | FindReferencesReply
    | CallGraphReply
    | TypeHierarchyReply
    | RelatedSymbolsReply
    | CodeContextReply
    | DiffContextReply
    | IndexStatusReply
    | IndexRepoReply
    | SyncRepoReply
    | IndexRepositoryReply
    | HealthReply
    | ListRefsReply
    | PartsReply
    | ErrorReply
)
