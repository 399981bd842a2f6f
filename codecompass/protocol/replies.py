"""What each tool answers: Structs in the order in which their fields are written. Absent data is left out, never null.

Here are the answers from code; those about indexes, jobs and the server are in `state_replies`. Lines are 1-based and
inclusive, paths relative to the workspace root.
"""

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
    """A symbol named in passing: the one around a result, or one near it."""

    kind: str
    name: str
    path: str
    line: int


class MatchedLine(Struct, frozen=True, kw_only=True):
    """A line of a file: one that a literal or a regular expression matched, or that was asked for.

    `text` is shortened where it is long, around the match.
    """

    line: int
    text: str


class Enclosing(Struct, frozen=True, kw_only=True):
    """The innermost definition around a piece of text."""

    kind: str
    name: str
    qualified_name: str
    line_start: int
    line_end: int


class Excerpt(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The lines of a hit that are shown to a reader. `is_whole`: they are all of it; `n_omitted` behind them had no room."""

    lines: tuple[MatchedLine, ...] = ()
    is_whole: bool = False
    n_omitted: int = 0
    enclosing: Enclosing | None = None


class FurtherDefinition(Struct, frozen=True, kw_only=True):
    """A definition that is named beside a hit in the same file."""

    name: str
    line_start: int
    line_end: int


class Result(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One hit of `search_code` or `locate_symbol`; the detail level decides which fields are there.

    `location`: up to `match`, and one handle (`symbol_id`, else `result_id`). `signature`: up to `lines`, without
    `symbol_stable_id`. `body`: that, and the fields of the body. `context`: all but these. `compact` leaves what `location`
    has and the score, at any level. A result that is no symbol has a `result_type` (`snippet`, `file`, `import`), the `kind`
    and `name` of the definition around it, and its best line as `snippet`. `content`, `start_line` and `end_line` repeat the
    place for callers that name a project.

    `match` says how a hit of `locate_symbol` has the name asked for: `exact` (or the end of a qualified name), `case` (but for
    case), `parts` (its words), `similar` (a guess). `lines` are those around the `asked_line` that `path:line` named.
    `body` is the whole definition without its indentation, from `body_line_start` on (left out where that is `line_start`);
    `body_lines_omitted` counts the lines at its end, or all of them, that had no room.

    `excerpt` is there for answers as text alone, in place of all other code. `stale` says that the file has changed since it
    was indexed. `also` names further definitions of the file that answer the question, best first. `project` is there where
    several were asked; the path is relative to its root.
    """

    project: str = ""
    path: str
    line_start: int
    line_end: int
    kind: str = ""
    name: str = ""
    match: str = ""
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
    lines: tuple[MatchedLine, ...] = ()
    body: str = ""
    body_line_start: int = 0
    body_lines_omitted: int = 0
    body_preview: str = ""
    parent: SymbolReference | None = None
    related_symbols: tuple[SymbolReference, ...] = ()
    content: str = ""
    start_line: int = 0
    end_line: int = 0
    excerpt: Excerpt | None = None
    also: tuple[FurtherDefinition, ...] = ()
    stale: bool = False


class NextAction(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A call that would help further: the tool and its arguments."""

    tool: str
    name: str = ""
    query: str = ""
    path: str = ""
    mode: str = ""
    limit: int = 0


class WordEvidence(Struct, frozen=True):
    """A word of a question, its weight, and how many texts of a workspace have it."""

    text: str
    weight: float
    frequency: int


class HitEvidence(Struct, frozen=True):
    """The score of a hit, not bounded, and how well it has each word of the question: 0, or up to 2 where its name and path have
    the word too."""

    score: float
    has: tuple[float, ...]


class SearchEvidence(Struct, frozen=True):
    """What makes the hits of one workspace comparable with those of others: its number of texts, the words of the question, and
    for each hit how well it has them."""

    n_texts: int
    words: tuple[WordEvidence, ...]
    hits: tuple[HitEvidence, ...]


class SearchCodeReply(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Hits, best first. `total_candidates` counts what matched before the page was cut. `evidence` is there where the answer is
    to be merged with those of other workspaces, and is not sent."""

    results: tuple[Result, ...]
    query_intent: str
    total_candidates: int
    suggested_next_actions: tuple[NextAction, ...] = ()
    metadata: Metadata
    evidence: SearchEvidence | None = None


class LocateSymbolReply(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Definitions, best first. Nothing found is an empty list, not an error."""

    results: tuple[Result, ...]
    total_candidates: int
    suggested_next_actions: tuple[NextAction, ...] = ()
    metadata: Metadata


class OutlineNode(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A symbol or an import of a file, with what it encloses in source order."""

    kind: str
    name: str
    line_start: int
    line_end: int
    visibility: str = ""
    signature: str = ""
    children: tuple["OutlineNode", ...] = ()


class FileOutlineReply(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The tree of a file. `metadata.symbol_count` counts the nodes shown."""

    file_path: str
    language: str
    symbols: tuple[OutlineNode, ...]
    metadata: Metadata


class FileTextReply(Struct, frozen=True, kw_only=True):
    """Lines of a file as they are indexed, from `line_start` (1-based) on; the file has `line_count` of them."""

    file_path: str
    language: str
    line_start: int
    line_count: int
    lines: tuple[str, ...]
    metadata: Metadata


class HierarchyNode(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A symbol of a hierarchy; `depth` counts from the symbol asked for, which is 0."""

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
    """Ancestors: a flat list from the symbol outwards. Descendants: one root with nested `children`."""

    hierarchy: tuple[HierarchyNode, ...]
    direction: str
    chain_length: int
    metadata: Metadata


class ImportedSymbol(Struct, frozen=True, kw_only=True):
    """A definition as other repositories can import it.

    `own` are the packages that it is in, `others` those that its repository has besides, which may pass its name on; both as
    imports write them. `family` is that of its language, `owner` the type that a member belongs to, empty for anything else.
    """

    name: str
    kind: str
    family: str
    own: tuple[str, ...]
    others: tuple[str, ...]
    owner: str = ""


class ReferenceDefinition(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The definition whose uses were asked for. `project` as in `Result`."""

    project: str = ""
    symbol_id: str
    path: str
    line_start: int
    line_end: int
    kind: str
    name: str
    qualified_name: str
    signature: str


class Reference(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A line that uses the definition.

    `role`: what it does with it. `confidence`: `exact` (scope, an import or a written type leads there), `likely` (one definition
    fits), `possible` (several fit). `enclosing` is the function around the line, else the innermost definition. `text` is the
    line, without it at the level `location`. `project` and `stale` as in `Result`.
    """

    project: str = ""
    path: str
    line_start: int
    line_end: int
    role: str
    confidence: str
    enclosing: Enclosing | None = None
    is_test: bool = False
    text: str = ""
    stale: bool = False


class ReferenceCounts(Struct, frozen=True, kw_only=True):
    """Lines by confidence, of all uses, whatever was asked for or shown.

    `elsewhere`: uses of the same name that mean something else. `tests` and `roles` count `exact` and `likely` ones.
    """

    exact: int
    likely: int
    possible: int
    elsewhere: int
    tests: int
    roles: dict[str, int]


class FindReferencesReply(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The uses of a definition from `offset` on: product code before tests, by path and line. `total` fit the request. `imported`
    is how others import it; it is there where they are to be asked, and is not sent."""

    definition: ReferenceDefinition
    references: tuple[Reference, ...]
    counts: ReferenceCounts
    total: int
    offset: int
    metadata: Metadata
    imported: ImportedSymbol | None = None


class GraphNode(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A symbol of a call graph. `id` is its place among the nodes; `distance` counts calls from the symbol asked for, which is
    node 0. `stale` as in `Result`."""

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
    """A caller and what it calls, as ids of nodes, with the first lines of the calls in the caller's file."""

    caller: int
    callee: int
    lines: tuple[int, ...]
    confidence: str


class Impact(Struct, frozen=True, kw_only=True):
    """What a change reaches besides callers, and how many callers: `callers_by_distance` begins with those at distance 1, tests
    are counted apart. Subtypes and overriding methods as `path:line name`, the first importing files by path."""

    callers_by_distance: tuple[int, ...]
    tests: int
    subtypes: tuple[str, ...]
    overriding: tuple[str, ...]
    importing_files: int
    importers: tuple[str, ...]


class CallGraphReply(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Symbols by distance, nearest first, each once. `impact` for that direction only."""

    direction: str
    nodes: tuple[GraphNode, ...]
    edges: tuple[GraphEdge, ...]
    impact: Impact | None = None
    metadata: Metadata


class RelatedType(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A type of a type hierarchy; `depth` counts from the type asked for, which is 0. `path` is empty where it is defined
    outside of the repository. `stale` as in `Result`."""

    path: str
    line_start: int
    name: str
    qualified_name: str
    kind: str
    depth: int
    confidence: str
    stale: bool = False


class TypeHierarchyReply(Struct, frozen=True, kw_only=True):
    """Supertypes or subtypes, transitive, each once: those of one type behind it, by path and line."""

    relation: str
    symbols: tuple[RelatedType, ...]
    total: int
    metadata: Metadata


class RelatedAnchor(Struct, frozen=True, kw_only=True):
    """The symbol whose surroundings were asked for."""

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


class RelatedSymbolsReply(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Related symbols, nearest relation first, then by path and line."""

    anchor: RelatedAnchor
    related: tuple[RelatedSymbol, ...]
    scope_used: str
    total_found: int
    metadata: Metadata


class ContextItem(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A piece of context; `body` with the strategy `depth` or the detail level `body`. `body_lines_omitted` counts the lines
    at its end that had no room. `excerpt` is there for answers as text, in place of `body`. `stale` as in `Result`."""

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
    """Context within the budget. `estimated_tokens` is that of this whole answer, from above."""

    context_items: tuple[ContextItem, ...]
    estimated_tokens: int
    truncated: bool
    metadata: Metadata


class AnswerPart(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What one of several projects answered to a server that merges: its reply as JSON, or why there is none.

    `name` is the label by which answers name it; `repositories` are the ids of those that it is a checkout of. `is_named` says
    that the question names it by itself; `is_checked` that its index was compared with its tree.
    """

    project_id: str
    name: str
    root: str
    repositories: tuple[str, ...] = ()
    is_named: bool = False
    is_checked: bool = False
    reply: Raw | UnsetType = UNSET
    error: ErrorBody | None = None


class PartsReply(Struct, frozen=True, kw_only=True):
    """What several projects answered to a server that merges: those with an answer, or with several definitions of a name.

    `metadata` is about all that were asked; the others that failed are in its warnings.
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
