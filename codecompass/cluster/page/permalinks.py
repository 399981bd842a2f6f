"""Permanent addresses of lines: repository, commit, path and lines, and a mark of the text of the first one.

    /ui/permalink?...&line=10&last=20 -> /ui/file?project=..&ref=COMMIT&path=..&line=10&last=20&mark=5f0c3a#L10-L20

While the commit is indexed, the address shows it. Servers keep the newest commit of each ref alone, so later the lines are looked
for in the newest one: those with the mark, nearest to where they were. Who may not see the repository gets the answer about one
that does not exist before anything of the address is looked at.
"""

import hashlib
import re
from typing import Final, Literal

from codecompass.protocol.replies import FileTextReply
from codecompass.protocol.requests import MAX_LINES_READ
from codecompass.transport.http.request import SEE_OTHER, HttpRequest
from codecompass.transport.ui.fields import Fields
from codecompass.transport.ui.file_pages import MAX_LINE, required, shown_project
from codecompass.transport.ui.questions import PageError, ToolQueries
from codecompass.transport.ui.reading_pages import Page
from codecompass.transport.ui.rendering import NOT_STORED, address
from codecompass.transport.ui.shown_projects import ShownProject

MARK_DIGITS: Final = 6
"""Enough to tell the lines of a file apart, too few to confirm a guess of what a line says."""

SEARCHED_LINES: Final = 20 * MAX_LINES_READ
"""Lines of a file among which those with a mark are looked for."""

Found = Literal["same", "changed", ""]

_COMMIT: Final = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")


class Permalinks:
    """Makes permanent addresses, and follows them. Methods raise PageError, HttpRefusal."""

    def __init__(self, questions: ToolQueries, file: Page) -> None:
        """`file` answers with a file at an indexed commit."""
        self._questions = questions
        self._file_page = file

    async def make(self, request: HttpRequest, projects: tuple[ShownProject, ...]) -> None:
        """Redirects to the permanent address of lines."""
        fields = Fields(request)
        project = shown_project(fields, projects)
        path, ref = required(fields, "path"), fields.given("ref")
        line, last = _lines(fields)
        reply = await self._questions.read(project.project_id, path, max(line, 1), 1, ref)
        commit = reply.metadata.commit or ref or ""
        mark = mark_of(reply.lines[0]) if line and reply.lines else ""
        whole = address(
            "file",
            project=project.project_id,
            path=path,
            ref=commit,
            view=fields.text("view"),
            line=line or None,
            last=last if last > line else None,
            mark=mark,
        )
        await _redirect(request, whole, line, last)

    async def file(self, request: HttpRequest, projects: tuple[ShownProject, ...]) -> None:
        """Answers with a file; redirects to the same lines of the newest commit if the one that is named is not indexed."""
        try:
            await self._file_page(request, projects)
        except PageError as trouble:
            fields = Fields(request)
            commit = fields.text("ref").lower()
            if trouble.code != "ref_not_indexed" or _COMMIT.fullmatch(commit) is None:
                raise
            await self._move_on(request, fields, shown_project(fields, projects), commit)

    async def _move_on(self, request: HttpRequest, fields: Fields, project: ShownProject, commit: str) -> None:
        path, mark = required(fields, "path"), fields.text("mark")
        line, last = _lines(fields)
        found: Found = ""
        if line:
            there = await self._line_with(project, path, mark, line) if mark else 0
            found = "same" if there else "changed"
            line, last = (there, last + there - line if last else 0) if there else (line, last)
        whole = address(
            "file",
            project=project.project_id,
            path=path,
            view=fields.text("view"),
            line=line or None,
            was=commit[:12],
            found=found,
        )
        await _redirect(request, whole, line, last)

    async def _line_with(self, project: ShownProject, path: str, mark: str, line: int) -> int:
        """Returns the number of the line with a mark that is nearest to `line` in the newest commit; 0 if there is none."""
        numbers: list[int] = []
        first = 1
        while first <= SEARCHED_LINES:
            reply: FileTextReply = await self._questions.read(project.project_id, path, first, MAX_LINES_READ)
            numbers += [first + index for index, text in enumerate(reply.lines) if mark_of(text) == mark]
            first += len(reply.lines)
            if not reply.lines or first > reply.line_count:
                break
        return min(numbers, key=lambda number: (abs(number - line), number), default=0)


def mark_of(text: str) -> str:
    """Returns the mark of a line, which does not depend on its indentation."""
    return hashlib.sha256(text.strip().encode("utf-8", "surrogatepass")).hexdigest()[:MARK_DIGITS]


def _lines(fields: Fields) -> tuple[int, int]:
    """Returns the first line, 0 for none, and the last one, 0 for the first alone."""
    line = fields.number("line", 0, lowest=0, highest=MAX_LINE)
    return line, fields.number("last", 0, lowest=0, highest=MAX_LINE)


async def _redirect(request: HttpRequest, whole: str, line: int, last: int) -> None:
    # Browsers go on with the fragment of the old address unless the new one has its own.
    target = f"{whole}-L{last}" if line and last > line else whole
    await request.answer(SEE_OTHER, headers=(("location", target), *NOT_STORED))
