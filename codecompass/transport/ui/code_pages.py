"""Pages about definitions: from a name to its definition (`/ui/goto`), a definition with its uses and callers
(`/ui/symbol`), and what differs from another commit (`/ui/diff`).
"""

import re
from collections.abc import Sequence
from itertools import groupby
from typing import Final

from msgspec import Struct

from codecompass.languages.detect import language_of
from codecompass.protocol.difference_replies import DiffContextReply
from codecompass.protocol.replies import (
    CallGraphReply,
    FindReferencesReply,
    GraphNode,
    LocateSymbolReply,
    MatchedLine,
    Reference,
    Result,
)
from codecompass.transport.http.request import OK, SEE_OTHER, HttpRequest
from codecompass.transport.ui.code_lines import CodeLine, Highlighter, PlainLines, lines_of_hit
from codecompass.transport.ui.fields import Fields
from codecompass.transport.ui.file_pages import MAX_LINE, required, shown_project
from codecompass.transport.ui.questions import PageError, ToolQueries
from codecompass.transport.ui.rendering import NOT_STORED, Rendering, address, lines_address, only_file
from codecompass.transport.ui.shown_projects import ShownProject

CARD_DEFINITIONS: Final = 3
"""Definitions of a name that are shown while the pointer is on it."""

DEFINITIONS: Final = 20
EVERYWHERE: Final = "everywhere"
"""The view of a definition with its uses in all projects."""

USES: Final = 300
CALL_DEPTH: Final = 3
CALLERS: Final = 100
DIFFERENCE_TOKENS: Final = 20_000
HEADER_LINES: Final = 12
"""How many lines below the first line of a definition its name may be: after decorators, annotations, attributes."""

_LINES: Final = re.compile(r"[L:]?(?P<first>[1-9]\d{0,7})(?:-L?(?P<last>[1-9]\d{0,7}))?", re.ASCII)
"""Lines as people write them: `10`, `L10-L20`."""
_SURE: Final = ("exact", "case")


class UsesInFile(Struct, frozen=True):
    """The uses of a definition in one file, by line."""

    project: ShownProject
    path: str
    is_test: bool
    uses: tuple[tuple[Reference, CodeLine | None], ...]


class CallerNode(Struct, frozen=True):
    """A caller in a tree, with the lines of its calls and its own callers. `is_known`: it is in the tree already."""

    node: GraphNode
    lines: tuple[int, ...]
    callers: "tuple[CallerNode, ...]"
    is_known: bool = False


class DifferenceLinks(Struct, frozen=True):
    """Where the paths of a comparison lead."""

    project_id: str
    unread: frozenset[str]
    """Paths of files that may not be indexed, such as binary ones."""
    head: str = ""
    """The commit at which files are shown; empty for the newest state."""
    base: str = ""
    """The commit at which removed files are shown; empty if it need not be indexed."""
    is_head_indexed: bool = True

    def of(self, path: str, line: int, *, is_removed: bool) -> str:
        """Returns the address of a line of a file, or of the search for what is indexed of the file if that is not certain; empty
        for a removed file that nothing shows. `line` is 0 for the whole file."""
        if is_removed:
            return address("file", project=self.project_id, path=path, line=line or None, ref=self.base) if self.base else ""
        if path in self.unread or not self.is_head_indexed:
            return address("", project=self.project_id, q=only_file(path))
        return address("file", project=self.project_id, path=path, line=line or None, ref=self.head)


class CodePages:
    """Answers the pages about code. Each method raises PageError, HttpRefusal."""

    def __init__(self, questions: ToolQueries, rendering: Rendering, highlighter: Highlighter) -> None:
        self._questions = questions
        self._rendering = rendering
        self._highlighter = highlighter

    async def goto(self, request: HttpRequest, projects: tuple[ShownProject, ...]) -> None:
        """Redirects from a name in a file to its definition; from the name in its own definition to its uses."""
        fields = Fields(request)
        project = shown_project(fields, projects)
        name, path, ref = required(fields, "name"), fields.text("path"), fields.given("ref")
        line = fields.number("line", 0, lowest=0, highest=MAX_LINE)
        lines = _LINES.fullmatch(name)
        if lines is not None and path:
            target = lines_address(project.project_id, path, ref, int(lines["first"]), int(lines["last"] or 0))
            await request.answer(SEE_OTHER, headers=(("location", target), *NOT_STORED))
            return
        reply = await self._questions.show("locate_symbol", project.project_id, name=name, limit=DEFINITIONS, ref=ref)
        assert isinstance(reply, LocateSymbolReply)
        target = _target(reply.results, project.project_id, name, path, line, ref)
        await request.answer(SEE_OTHER, headers=(("location", target), *NOT_STORED))

    async def card(self, request: HttpRequest, projects: tuple[ShownProject, ...]) -> None:
        """Answers with what a name in a file may mean, in a few lines; with nothing if no definition has exactly that name."""
        fields = Fields(request)
        project = shown_project(fields, projects)
        name, path, ref = required(fields, "name"), fields.text("path"), fields.given("ref")
        reply = await self._questions.show("locate_symbol", project.project_id, name=name, limit=DEFINITIONS, ref=ref)
        assert isinstance(reply, LocateSymbolReply)
        sure = [hit for hit in reply.results if hit.match in _SURE]
        here = [hit for hit in sure if hit.path == path]
        meant = here or sure
        await self._rendering.page(request, "card.html", {"definitions": meant[:CARD_DEFINITIONS], "total": len(meant)})

    async def uses(self, request: HttpRequest, projects: tuple[ShownProject, ...]) -> None:
        """Answers with how often the definitions that begin in some lines are used, as links to their uses."""
        fields = Fields(request)
        project = shown_project(fields, projects)
        first = fields.number("first", 1, lowest=1, highest=MAX_LINE)
        last = fields.number("last", first, lowest=1, highest=MAX_LINE)
        reply = await self._questions.count_uses(project.project_id, required(fields, "path"), first, last)
        await self._rendering.page(request, "uses.html", {"project": project, "reply": reply})

    async def symbol(self, request: HttpRequest, projects: tuple[ShownProject, ...]) -> None:
        """Answers with the definitions of a name; if it is unambiguous also with its uses and callers."""
        fields = Fields(request)
        project = shown_project(fields, projects)
        name = required(fields, "name")
        path, ref = fields.given("path"), fields.given("ref")
        known = await self._questions.identify(project.project_id, name, path, DEFINITIONS, ref)
        meant = _meant(known)
        asked = {"name": meant.symbol_id, "detail_level": "context"} if meant else {"name": name, "path": path}
        found = await self._questions.show("locate_symbol", project.project_id, **asked, limit=DEFINITIONS, ref=ref)
        assert isinstance(found, LocateSymbolReply)
        values: dict[str, object] = {
            "ref": ref or "",
            "projects": projects,
            "project": project,
            "name": name,
            "metadata": found.metadata,
            "definitions": await self._definitions(found.results),
            "uses": None,
            "here": "symbol",
        }
        if meant is not None:
            # A commit of one project is none of the others.
            is_everywhere = fields.text("view") == EVERYWHERE and ref is None
            values |= await self._uses(project, meant.symbol_id, projects if is_everywhere else (project,), ref)
        await self._rendering.page(request, "symbol.html", values)

    async def _uses(
        self, project: ShownProject, symbol_id: str, looked_in: Sequence[ShownProject], ref: str | None
    ) -> dict[str, object]:
        """Returns the uses of a definition in these projects, and its callers in its own project."""
        ask = self._questions.show if len(looked_in) == 1 else self._questions.show_from
        uses = await ask("find_references", project.project_id, symbol_name=symbol_id, limit=USES, ref=ref)
        graph = await self._questions.show(
            "get_call_graph", project.project_id, symbol_name=symbol_id, depth=CALL_DEPTH, limit=CALLERS, ref=ref
        )
        assert isinstance(uses, FindReferencesReply)
        assert isinstance(graph, CallGraphReply)
        return {
            "uses": await self._uses_by_file(uses.references, project, looked_in),
            "is_everywhere": len(looked_in) > 1,
            "use_warnings": uses.metadata.warnings if len(looked_in) > 1 else (),
            "counts": uses.counts,
            "total": uses.total,
            "callers": _caller_tree(graph),
        }

    async def _definitions(self, results: Sequence[Result]) -> tuple[tuple[Result, tuple[CodeLine, ...]], ...]:
        shown = await self._highlighter.lines([lines_of_hit(hit) for hit in results])
        return tuple(zip(results, shown, strict=True))

    async def _uses_by_file(
        self, references: Sequence[Reference], home: ShownProject, projects: Sequence[ShownProject]
    ) -> tuple[UsesInFile, ...]:
        lines = await self._highlighter.lines([_line_of_use(each) for each in references])
        shown = ((each, line[0] if line else None) for each, line in zip(references, lines, strict=True))
        by_label = {each.label: each for each in projects}
        return tuple(
            UsesInFile(by_label.get(label, home), path, is_test, tuple(group))
            for (label, path, is_test), group in groupby(shown, key=lambda use: (use[0].project, use[0].path, use[0].is_test))
        )

    async def difference(self, request: HttpRequest, projects: tuple[ShownProject, ...]) -> None:
        """Answers with the differences from another commit."""
        fields = Fields(request)
        project = shown_project(fields, projects)
        base, head, path = fields.given("base"), fields.given("head"), fields.given("path")
        values: dict[str, object] = {
            "projects": projects,
            "project": project,
            "base": base or "",
            "head": head or "",
            "path": path or "",
            "reply": None,
            "links": None,
            "trouble": None,
            "here": "diff",
        }
        status = OK
        try:
            reply = await self._questions.show(
                "diff_context", project.project_id, base=base, head=head, path=path, max_tokens=DIFFERENCE_TOKENS
            )
            assert isinstance(reply, DiffContextReply)
            values |= {"reply": reply, "links": self._links(project, reply, is_newest=head is None)}
        except PageError as trouble:
            values["trouble"], status = trouble, trouble.status
        await self._rendering.page(request, "diff.html", values, status=status)

    def _links(self, project: ShownProject, reply: DiffContextReply, *, is_newest: bool) -> DifferenceLinks:
        unread = frozenset(each.path for each in reply.files if each.note not in ("", "mode"))
        if not self._rendering.is_organisation:
            return DifferenceLinks(project.project_id, unread, base=reply.base.commit)
        head = reply.head.commit
        is_indexed = head == reply.metadata.commit
        return DifferenceLinks(project.project_id, unread, head="" if is_newest else head, is_head_indexed=is_indexed)


def _line_of_use(use: Reference) -> PlainLines:
    lines = (MatchedLine(line=use.line_start, text=use.text.strip()),) if use.text else ()
    return PlainLines(lines, language_of(use.path, b""))


def _target(results: Sequence[Result], project_id: str, name: str, path: str, line: int, ref: str | None) -> str:
    """Returns the address of the definition of a name at a line of a file."""
    sure = [hit for hit in results if hit.match in _SURE]
    # The innermost one that begins at the line, or a little above it: its name comes after its decorators.
    beginning = [
        hit for hit in sure if hit.path == path and hit.line_start <= line <= min(hit.line_end, hit.line_start + HEADER_LINES)
    ]
    if beginning:
        nearest = max(beginning, key=lambda hit: hit.line_start)
        if line == nearest.line_start or len(sure) == 1:
            return address("symbol", project=project_id, name=f"{path}:{nearest.line_start}", ref=ref)
    here = [hit for hit in sure if hit.path == path]
    meant = here if len(here) == 1 else sure
    if len(meant) == 1:
        return address("file", project=project_id, path=meant[0].path, line=meant[0].line_start, ref=ref)
    return address("symbol", project=project_id, name=name, ref=ref)


def _meant(known: Sequence[Result]) -> Result | None:
    """Returns the only definition that a name can mean; None if there are several, or none is certain."""
    sure = [hit for hit in known if hit.symbol_id and hit.match in ("", *_SURE)]
    return sure[0] if len(sure) == 1 else None


def _caller_tree(graph: CallGraphReply) -> tuple[CallerNode, ...]:
    """Returns the callers of node 0, each with its own callers; those of one that is in the tree already are not repeated."""
    nodes = {node.id: node for node in graph.nodes}
    opened = {0}

    def callers_of(callee: int, depth: int) -> tuple[CallerNode, ...]:
        found = []
        for edge in graph.edges:
            if edge.callee != callee or edge.caller not in nodes:
                continue
            is_known = edge.caller in opened
            opened.add(edge.caller)
            above = () if is_known or depth >= CALL_DEPTH else callers_of(edge.caller, depth + 1)
            found.append(CallerNode(nodes[edge.caller], edge.lines, above, is_known))
        return tuple(found)

    return callers_of(0, 1)
