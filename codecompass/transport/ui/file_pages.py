"""Pages about files: `/ui/file`, its text alone (`/ui/raw`), a directory (`/ui/tree`), and from git who wrote lines (`/ui/blame`)
and which commits changed a file or lines of it (`/ui/history`).
"""

import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from itertools import groupby
from typing import Final

import trio
from markupsafe import Markup
from msgspec import Struct

from codecompass.languages import PARSED_LANGUAGES
from codecompass.languages.detect import language_of
from codecompass.nurseries import open_nursery
from codecompass.protocol.metadata import Metadata
from codecompass.protocol.replies import FileOutlineReply, FileTextReply, MatchedLine
from codecompass.protocol.requests import MAX_LINES_READ, MAX_REF_LENGTH
from codecompass.protocol.state_replies import ListRefsReply
from codecompass.query.query_language import parse_query
from codecompass.scan.git_history import MAX_BLAMED_LINES, BlamedLine, Commit, blame, history
from codecompass.scan.git_repository import head_of
from codecompass.transport.http.request import BAD_REQUEST, OK, SEE_OTHER, HttpRefusal, HttpRequest
from codecompass.transport.ui.code_lines import CodeLine, Highlighter, PlainLines
from codecompass.transport.ui.fields import Fields
from codecompass.transport.ui.questions import PageError, ToolQueries
from codecompass.transport.ui.rendered_markdown import LANGUAGE, MAX_CHARACTERS, RENDERED, DocumentPlace, MarkdownRenderer
from codecompass.transport.ui.rendering import NOT_STORED, Rendering, address
from codecompass.transport.ui.result_files import place_in_result
from codecompass.transport.ui.search_form import Choices, SearchForm, wanted_by, written_form
from codecompass.transport.ui.shown_projects import ShownProject, chosen
from codecompass.units import MIB

PART_LINES: Final = 800
"""Lines of a file on one page, which then has about 100 kB."""

OUTLINE_NODES: Final = 300
"""Nodes of the outline beside a file: the innermost ones are left out first."""

MAX_LINE: Final = 100_000_000
MAX_RAW_BYTES: Final = 8 * MIB
"""Text of a file that is answered alone; what follows is left out."""

TEXT_TYPE: Final = "text/plain; charset=utf-8"


class FilePart(Struct, frozen=True, kw_only=True):
    """A part of a file on a page; `before` and `behind` are line numbers in the adjacent parts, 0 if there are none."""

    path: str
    language: str
    line_start: int
    line_end: int
    line_count: int
    lines: tuple[CodeLine, ...]
    before: int
    behind: int
    metadata: Metadata
    document: Markup | None = None
    """The whole file rendered, instead of lines."""


class BlamedRun(Struct, frozen=True):
    """Adjacent lines that one commit wrote."""

    commit: Commit
    lines: tuple[CodeLine, ...]


class FilePages:
    """Answers the pages about files. Each method raises PageError, HttpRefusal."""

    def __init__(
        self,
        questions: ToolQueries,
        rendering: Rendering,
        highlighter: Highlighter,
        markdown: MarkdownRenderer,
        choices: Choices,
    ) -> None:
        self._questions = questions
        self._choices = choices
        self._rendering = rendering
        self._highlighter = highlighter
        self._markdown = markdown

    async def file(self, request: HttpRequest, projects: tuple[ShownProject, ...]) -> None:
        """Answers with a file, or the part of it around a line, its outline, and the words of a query marked in it."""
        fields = Fields(request)
        project = shown_project(fields, projects)
        path, ref, q = required(fields, "path"), fields.given("ref"), fields.text("q")
        search = fields.text("search")
        form = written_form(search, projects, self._choices)
        line = fields.number("line", 1, lowest=1, highest=MAX_LINE)
        part, why_not = None, ""
        try:
            if fields.text("view") == RENDERED:
                part, why_not = await self._rendered(project, path, ref)
            part = part or await self._source(project, path, ref, line, lambda: _wanted(q, form))
        except PageError as trouble:
            if trouble.code != "file_not_found" or not await self._is_directory(project, path, ref):
                raise
            # A document may link to a directory as to a file.
            target = address("tree", project=project.project_id, path=path.strip("/"), ref=ref)
            await request.answer(SEE_OTHER, headers=(("location", target), *NOT_STORED))
            return
        beside: dict[str, object] = {}
        async with open_nursery() as nursery:
            nursery.start_soon(self._add_outline, beside, project, part.path, ref)
            nursery.start_soon(self._add_place, beside, form, projects, project, part.path)
            nursery.start_soon(self._add_newest, beside, project, part.path, ref)
        values = {
            **beside,
            "projects": projects,
            "project": project,
            "part": part,
            "line": line,
            "view": RENDERED if part.document is not None else "",
            "is_counted": part.document is None and not ref and part.language in PARSED_LANGUAGES,
            "has_views": part.language == LANGUAGE,
            "why_not_rendered": why_not,
            "part_lines": PART_LINES,
            "ref": ref or "",
            "commit": await self._commit(project),
            "directories": directories_of(part.path),
            "q": q,
            "search": search if form is not None else "",
            "was": fields.text("was"),
            "found_again": fields.text("found"),
            "here": "file",
        }
        await self._rendering.page(request, "file.html", values)

    async def _add_outline(self, values: dict[str, object], project: ShownProject, path: str, ref: str | None) -> None:
        """Adds the outline of a file; an empty one if there is no answer."""
        values["outline"] = ()
        with suppress(PageError):
            reply = await self._questions.show("get_file_outline", project.project_id, path=path, limit=OUTLINE_NODES, ref=ref)
            assert isinstance(reply, FileOutlineReply)
            values["outline"] = reply.symbols

    async def _add_place(
        self,
        values: dict[str, object],
        form: SearchForm | None,
        projects: tuple[ShownProject, ...],
        project: ShownProject,
        path: str,
    ) -> None:
        """Adds where a file stands in the search that led to it; None if none did."""
        values["place"] = None
        if form is not None:
            values["place"] = await place_in_result(self._questions, form, projects, project, path)

    async def _add_newest(self, values: dict[str, object], project: ShownProject, path: str, ref: str | None) -> None:
        """Adds whether the newest state has the file too, as far as it can be told."""
        values["is_in_newest"] = True
        if ref is not None:
            try:
                await self._questions.read(project.project_id, path, 1, 1)
            except PageError as trouble:
                values["is_in_newest"] = trouble.code != "file_not_found"

    async def _source(
        self, project: ShownProject, path: str, ref: str | None, line: int, wanted_by_search: Callable[[], re.Pattern[str] | None]
    ) -> FilePart:
        """Returns the part of a file around a line, with what is wanted marked."""
        first = (line - 1) // PART_LINES * PART_LINES + 1
        reply = await self._questions.read(project.project_id, path, first, PART_LINES, ref)
        wanted = await trio.to_thread.run_sync(wanted_by_search)
        [lines] = await self._highlighter.lines([_lines_of_part(reply)], wanted)
        return _part(reply, lines)

    async def _is_directory(self, project: ShownProject, path: str, ref: str | None) -> bool:
        try:
            await self._questions.list_directory(project.project_id, path, ref)
        except PageError:
            return False
        return True

    async def _rendered(self, project: ShownProject, path: str, ref: str | None) -> tuple[FilePart | None, str]:
        """Returns a file that is Markdown rendered; None if it is not, and why if it is Markdown."""
        reply = await self._questions.read(project.project_id, path, 1, MAX_LINES_READ, ref)
        if reply.language != LANGUAGE:
            return None, ""
        lines = list(reply.lines)
        size = sum(map(len, lines))
        while reply.lines and len(lines) < reply.line_count and size <= MAX_CHARACTERS:
            reply = await self._questions.read(project.project_id, path, len(lines) + 1, MAX_LINES_READ, ref)
            lines += reply.lines
            size += sum(map(len, reply.lines))
        place = DocumentPlace(project.project_id, reply.file_path, ref)
        rendered = await self._markdown.render("".join(f"{line}\n" for line in lines), place)
        if rendered.html is None:
            return None, rendered.why_not
        part = FilePart(
            path=reply.file_path,
            language=reply.language,
            line_start=1,
            line_end=reply.line_count,
            line_count=reply.line_count,
            lines=(),
            before=0,
            behind=0,
            metadata=reply.metadata,
            document=rendered.html,
        )
        return part, ""

    async def _commit(self, project: ShownProject) -> str:
        """Returns the id of the commit that is checked out, for permanent links; empty without git."""
        try:
            return await self._questions.read_repository(project.root, lambda repository, _: head_of(repository).commit or "")
        except PageError:
            return ""

    async def refs(self, request: HttpRequest, projects: tuple[ShownProject, ...]) -> None:
        """Answers with the branches and tags whose names contain a text, as options of a list, newest commit first."""
        fields = Fields(request)
        project = shown_project(fields, projects)
        reply = await self._questions.show("list_refs", project.project_id, filter=fields.text("q")[:MAX_REF_LENGTH] or None)
        assert isinstance(reply, ListRefsReply)
        await self._rendering.page(request, "refs.html", {"refs": reply.refs})

    async def raw(self, request: HttpRequest, projects: tuple[ShownProject, ...]) -> None:
        """Answers with the text of a file alone, as it is indexed."""
        fields = Fields(request)
        project = shown_project(fields, projects)
        path, ref = required(fields, "path"), fields.given("ref")
        parts: list[bytes] = []
        first, size = 1, 0
        while size < MAX_RAW_BYTES:
            reply = await self._questions.read(project.project_id, path, first, MAX_LINES_READ, ref)
            text = "".join(f"{line}\n" for line in reply.lines).encode("utf-8", "replace")
            parts.append(text)
            size += len(text)
            first += len(reply.lines)
            if not reply.lines or first > reply.line_count:
                break
        await request.answer(OK, b"".join(parts)[:MAX_RAW_BYTES] or b"\n", media_type=TEXT_TYPE, headers=NOT_STORED)

    async def tree(self, request: HttpRequest, projects: tuple[ShownProject, ...]) -> None:
        """Answers with what a directory has in it."""
        fields = Fields(request)
        project = shown_project(fields, projects)
        ref = fields.given("ref")
        reply = await self._questions.list_directory(project.project_id, fields.text("path"), ref)
        values = {
            "projects": projects,
            "project": project,
            "reply": reply,
            "below": f"{reply.path}/" if reply.path else "",
            "directories": directories_of(f"{reply.path}/" if reply.path else ""),
            "ref": ref or "",
            "commit": await self._commit(project),
            "here": "file",
        }
        await self._rendering.page(request, "tree.html", values)

    async def blame(self, request: HttpRequest, projects: tuple[ShownProject, ...]) -> None:
        """Answers with lines of a file as they are committed, each with the commit that wrote it."""
        fields = Fields(request)
        project, path, first, last = await self._committed(fields, projects)
        first = first or 1
        last = min(last or first + MAX_BLAMED_LINES - 1, first + MAX_BLAMED_LINES - 1)
        revision = fields.text("ref") or "HEAD"
        n_lines = (await self._questions.read(project.project_id, path, 1, 1)).line_count
        root = project.root

        lines = await self._questions.read_repository(
            project.root,
            lambda repository, is_over: blame(
                repository, _from_top(repository.top, root, path), first, last, revision=revision, is_cancelled=is_over
            ),
        )
        last = lines[-1].number if lines else first
        values = {
            **self._place(projects, project, path, first, last),
            "runs": await self._runs(lines, path),
            "behind": last + 1 if last < n_lines else 0,
            "max_lines": MAX_BLAMED_LINES,
        }
        await self._rendering.page(request, "blame.html", values)

    async def history(self, request: HttpRequest, projects: tuple[ShownProject, ...]) -> None:
        """Answers with the commits that changed a file or lines of it."""
        fields = Fields(request)
        project, path, first, last = await self._committed(fields, projects)
        lines = (first, max(first, last)) if first else None
        root = project.root
        found = await self._questions.read_repository(
            root,
            lambda repository, is_over: history(repository, _from_top(repository.top, root, path), lines, is_cancelled=is_over),
        )
        values = {**self._place(projects, project, path, first, max(first, last)), "found": found}
        await self._rendering.page(request, "history.html", values)

    async def _committed(self, fields: Fields, projects: tuple[ShownProject, ...]) -> tuple[ShownProject, str, int, int]:
        """Returns the project, the path and the lines that are asked about. Raises PageError if the index has no such file: git
        must not show what is left out of it."""
        project = shown_project(fields, projects)
        reply = await self._questions.read(project.project_id, required(fields, "path"), 1, 1)
        first = fields.number("first", 0, lowest=0, highest=MAX_LINE)
        return project, reply.file_path, first, fields.number("last", 0, lowest=0, highest=MAX_LINE)

    def _place(
        self, projects: tuple[ShownProject, ...], project: ShownProject, path: str, first: int, last: int
    ) -> dict[str, object]:
        return {
            "projects": projects,
            "project": project,
            "path": path,
            "first": first,
            "last": last,
            "directories": directories_of(path),
            "ref": "",
            "here": "file",
        }

    async def _runs(self, lines: Sequence[BlamedLine], path: str) -> tuple[BlamedRun, ...]:
        plain = PlainLines(tuple(MatchedLine(line=each.number, text=each.text) for each in lines), language_of(path, b""))
        [shown] = await self._highlighter.lines([plain])
        grouped = groupby(zip(lines, shown, strict=True), key=lambda pair: pair[0].commit)
        return tuple(BlamedRun(commit, tuple(line for _, line in pairs)) for commit, pairs in grouped)


def _wanted(q: str, form: SearchForm | None) -> re.Pattern[str] | None:
    """Returns the pattern of what is marked in a file: the words of a query, else what the search that led here looks for."""
    if q:
        return wanted_by(parse_query(q))
    return None if form is None else form.wanted


def shown_project(fields: Fields, projects: tuple[ShownProject, ...]) -> ShownProject:
    """Returns the project of a page. Raises PageError if no project of that name is shown, even if it exists."""
    project = chosen(projects, fields.text("project"))
    if project is None:
        raise PageError("project_not_found", "no project of this name is served here.")
    return project


def required(fields: Fields, name: str) -> str:
    """Returns the value of a field. Raises HttpRefusal if it is empty."""
    value = fields.text(name)
    if not value:
        raise HttpRefusal(BAD_REQUEST, f"the address needs ?{name}=. Begin with a search.")
    return value


def directories_of(path: str) -> tuple[tuple[str, str], ...]:
    """Returns the name and the path of each directory that a path lies in, the outermost first."""
    names = path.split("/")[:-1]
    return tuple((name, "/".join(names[: number + 1])) for number, name in enumerate(names))


def _from_top(top: str, root: str, path: str) -> str:
    """Returns the path of a project's file relative to the top of its repository."""
    below = root.removeprefix(top).strip("/")
    return f"{below}/{path}" if below else path


def _lines_of_part(reply: FileTextReply) -> PlainLines:
    first = reply.line_start
    return PlainLines(tuple(MatchedLine(line=first + index, text=text) for index, text in enumerate(reply.lines)), reply.language)


def _part(reply: FileTextReply, lines: tuple[CodeLine, ...]) -> FilePart:
    first, last = reply.line_start, reply.line_start + max(0, len(reply.lines) - 1)
    return FilePart(
        path=reply.file_path,
        language=reply.language,
        line_start=first,
        line_end=last,
        line_count=reply.line_count,
        lines=lines,
        before=max(0, first - PART_LINES),
        behind=last + 1 if last < reply.line_count else 0,
        metadata=reply.metadata,
    )
