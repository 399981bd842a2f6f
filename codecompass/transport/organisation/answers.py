"""Queries the organisation's server about repositories that are not on this machine: for its part of an answer, or a whole one.

    workspace: org:NAME                -> that server alone
    workspace: NAME, unknown here      -> a checkout of that repository, else that server, unless NAME can only be a path
    *, lists with names unknown here   -> both at once, merged by `query/merging.py`
    anything else                      -> here; nothing is sent

A repository that is checked out here is answered from its working tree alone. Hits from the organisation have labels with its
prefix, which can be passed back as `workspace`.
"""

from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Final, TypeVar

import msgspec
import trio
from msgspec import UNSET
from msgspec.structs import replace

from codecompass.errors import (
    CodeCompassError,
    ErrorBody,
    InvalidInput,
    ProjectNotFound,
    WorkspaceNotAllowed,
    WorkspaceNotRegistered,
    error_of,
)
from codecompass.identity import ProjectId
from codecompass.projects.checkouts import Checkouts
from codecompass.projects.router import Router
from codecompass.projects.selection import SelectedProject
from codecompass.protocol.decode import ORGANISATION, asked_elsewhere, may_be_elsewhere, several_projects
from codecompass.protocol.metadata import Metadata, bare_metadata
from codecompass.protocol.parts import MAX_LEFT_OUT, MAX_SECONDS, PartRequest, decode_error, decode_parts, decode_reply
from codecompass.protocol.replies import (
    AnswerPart,
    ErrorReply,
    FindReferencesReply,
    ImportedSymbol,
    LocateSymbolReply,
    Reference,
    ReferenceDefinition,
    Reply,
    Result,
    SearchCodeReply,
)
from codecompass.protocol.requests import (
    ALL_PROJECTS,
    MAX_REFERENCES,
    AnyRequest,
    FindReferences,
    LocateSymbol,
    PageRequest,
    SearchCode,
)
from codecompass.scan.git_remotes import is_named
from codecompass.settings import AnswerForm, Settings
from codecompass.store.registry import Project
from codecompass.transport.calls import CallOutcome
from codecompass.transport.organisation.failures import OrganisationUnavailable
from codecompass.transport.organisation.link import OrganisationLink, Replied
from codecompass.transport.organisation.target import ON_THE_WAY
from codecompass.transport.tools.call import ToolCall
from codecompass.transport.tools.listing import TOOLS
from codecompass.transport.tools.project_answers import OtherAnswers, ProjectAnswer, SharedReply, SharedRequest
from codecompass.units import MILLISECONDS, SECONDS

ALONE_SECONDS: Final = 15 * SECONDS
"""How long a question about `org:NAME` may take if the request has no `timeout_ms`."""

_READ_ONLY: Final = frozenset(tool.name for tool in TOOLS if tool.is_read_only)


class Organisation:
    """The `services.Elsewhere` of a server. Does not close `link`."""

    def __init__(self, link: OrganisationLink, router: Router, checkouts: Checkouts, settings: Settings) -> None:
        self._link = link
        self._router = router
        self._checkouts = checkouts
        self._form: AnswerForm = settings.server.answers
        self._limit = settings.query.default_limit
        self._host = link.target.host

    async def run(self, call: ToolCall, run: Callable[[ToolCall], Awaitable[CallOutcome]]) -> CallOutcome:
        """Returns the outcome of `run`, or the organisation's answer if the call is about one of its repositories or groups.

        Raises the same errors as `run`, with the organisation's own reason added, and OrganisationUnavailable.
        """
        request = call.request
        if isinstance(request, PageRequest) or request.workspace is None:
            return await run(call)
        name = asked_elsewhere(request.workspace)
        if name is not None and several_projects(request.workspace) is None:
            try:
                return CallOutcome(await self._passed_on(call, request, name))
            except OrganisationUnavailable as failure:
                raise failure.said_of(self._what) from failure
        try:
            return await run(call)
        except (ProjectNotFound, WorkspaceNotRegistered, WorkspaceNotAllowed) as error:
            unknown = error
        name = request.workspace.strip()
        if request.project_id is not None or not may_be_elsewhere(name) or request.tool not in _READ_ONLY:
            raise unknown
        if await self._router.several(request.workspace) is not None:
            # It names several projects, or a group that is known here and that this tool does not support.
            raise unknown
        checkout = (await self._checked_out([name])).get(name)
        if checkout is not None:
            call.turn_to(replace(request, workspace=str(checkout.project.root)), _is_here(name, checkout.label))
            return await run(call)
        try:
            reply = await self._passed_on(call, request, name, self._link.target.usual_seconds)
        except OrganisationUnavailable as failure:
            message = f"{unknown.message} Nor does {self._what} say whether it is there: {failure.message}."
            raise error_of(unknown.code, message, **unknown.data) from failure
        if isinstance(reply, ErrorReply) and reply.error.code == ProjectNotFound.code:
            raise error_of(unknown.code, f"{unknown.message} {reply.error.message}", **unknown.data)
        return CallOutcome(reply)

    async def split(self, names: Sequence[str]) -> tuple[tuple[SelectedProject, ...], tuple[str, ...]]:
        """Returns the local projects of these names, and the names to query the organisation for. Raises the same errors as
        `Router.select`."""
        unknown: list[str] = []
        here = await self._router.select([name for name in names if asked_elsewhere(name) is None], unknown)
        checkouts = await self._checked_out(unknown) if unknown else {}
        known = {each.project.project_id for each in here}
        here += tuple(
            {each.project.project_id: each for each in checkouts.values() if each.project.project_id not in known}.values()
        )
        strange = frozenset(unknown) - checkouts.keys()
        elsewhere = [
            asked_elsewhere(name) or name.strip()
            for name in names
            if asked_elsewhere(name) is not None or name == ALL_PROJECTS or name in strange
        ]
        return here, tuple(dict.fromkeys(elsewhere))

    async def ask(
        self,
        call: ToolCall,
        request: SharedRequest,
        names: Sequence[str],
        deadline: float,
        *,
        beside: Sequence[Project],
        without: Sequence[str] = (),
        imported: ImportedSymbol | None = None,
    ) -> OtherAnswers:
        """Returns the organisation's part of an answer, as `services.Elsewhere` describes."""
        left_out = frozenset(without)
        for repositories in (await self._checkouts.of(beside)).values():
            left_out |= {each.repo_id for each in repositories}
        left = (1.0 - ON_THE_WAY) * (deadline - trio.current_time())
        seconds = max(0.0, min(left, self._link.target.usual_seconds))
        part = PartRequest(
            answers=call.answers or self._form,
            seconds=(1.0 - ON_THE_WAY) * min(seconds, MAX_SECONDS),
            leave_out=tuple(sorted(left_out))[:MAX_LEFT_OUT],
            imported=imported,
        )
        arguments = {**self._arguments(request), "workspace": list(names)}
        if isinstance(request, SearchCode | FindReferences):
            arguments["timeout_ms"] = _milliseconds(part.seconds)
        try:
            return await self._link.call(
                request.tool, arguments, part, seconds, lambda replied: self._part(request, replied, left_out)
            )
        except OrganisationUnavailable as error:
            warning = self._no_answer(names, error.message)
            return OtherAnswers(is_complete=False, warnings=(warning,), failure=error.said_of(self._what))

    async def _checked_out(self, names: Sequence[str]) -> dict[str, SelectedProject]:
        """Returns the local projects that are checkouts of the repositories of these names, by name; skips ambiguous names."""
        projects = await self._router.select([ALL_PROJECTS], [])
        repositories = await self._checkouts.of([each.project for each in projects])
        found: dict[str, SelectedProject] = {}
        for name in names:
            meant = [
                each
                for each in projects
                if any(is_named(name, repository) for repository in repositories.get(each.project.project_id, ()))
            ]
            if len(meant) == 1:
                found[name] = replace(meant[0], is_named=True)
        return found

    # answers about several

    def _part(self, request: SharedRequest, replied: Replied, left_out: frozenset[str]) -> OtherAnswers:
        """Decodes the organisation's part. Raises WrongReply."""
        if replied.is_error:
            failure = self._error(decode_error(replied.content))
            return OtherAnswers(is_complete=False, warnings=(self._no_answer((), failure.message),), failure=failure)
        if not replied.knows_parts:
            return self._page(decode_reply(request, replied.content))
        said = decode_parts(replied.content)
        answers = tuple(
            self._answer(request, part) for part in said.parts if left_out.isdisjoint((part.project_id, *part.repositories))
        )
        return replace(self._of_all(said.metadata), answers=answers)

    def _page(self, reply: Reply) -> OtherAnswers:
        """Converts the page of a server that does not support merging."""
        if not isinstance(reply, SearchCodeReply | LocateSymbolReply):
            failure = OrganisationUnavailable("it is too old to be asked for uses in its repositories", reason="refused")
            return OtherAnswers(is_complete=False, warnings=(self._no_answer((), failure.message),), failure=failure)
        page = self._labelled(reply, "")
        assert isinstance(page, SearchCodeReply | LocateSymbolReply)
        return replace(self._of_all(page.metadata), page=page)

    def _of_all(self, metadata: Metadata) -> OtherAnswers:
        return OtherAnswers(
            n_projects=metadata.n_projects,
            is_fresh=metadata.freshness_status == "fresh",
            is_complete=metadata.result_completeness != "partial",
            warnings=tuple(f"{self._what}: {warning}" for warning in metadata.warnings),
        )

    def _answer(self, request: SharedRequest, part: AnswerPart) -> ProjectAnswer:
        reply = None if part.reply is UNSET else decode_reply(request, bytes(part.reply))
        assert reply is None or isinstance(reply, SharedReply)
        label = ORGANISATION + part.name
        project = Project(
            project_id=ProjectId(part.project_id),
            alias=label,
            root=Path(self._place(part.root)),
            is_auto_discovered=False,
            is_default=False,
            created_at=0.0,
            last_used_at=0.0,
        )
        return ProjectAnswer(
            SelectedProject(project, label, is_named=part.is_named),
            reply,
            is_checked=part.is_checked,
            failure=None if part.error is None else self._error(part.error),
        )

    def _error(self, body: ErrorBody) -> CodeCompassError:
        known = error_of(body.code, body.message, **(body.data or {}))
        return known if known.code == body.code else OrganisationUnavailable(body.message, reason="refused")

    def _no_answer(self, names: Sequence[str], cause: str) -> str:
        wanted = ", ".join(name for name in names if name != ALL_PROJECTS)
        return f"no answer{f' about {wanted}' if wanted else ''} from {self._what}: {cause.rstrip('.')}"

    # answers about one of its repositories

    async def _passed_on(self, call: ToolCall, request: AnyRequest, name: str, usual: float = ALONE_SECONDS) -> Reply:
        """Returns the answer of the organisation's server, within `usual` seconds unless the request has a `timeout_ms`.

        Raises OrganisationUnavailable, and InvalidInput for requests that only a project of this machine can answer.
        """
        if request.tool not in _READ_ONLY:
            raise InvalidInput(
                f"{name} is indexed by the organisation's own workers. Leave {request.tool} to projects of this machine; "
                f"index_status with workspace {ORGANISATION}{name} says which commit answers.",
                field="workspace",
            )
        if request.project_id is not None:
            raise InvalidInput("project_id is of this machine, and workspace is not. Give one of them.", field="project_id")
        asked = request.timeout_ms if isinstance(request, SearchCode | FindReferences) else None
        seconds = usual if asked is None else asked * MILLISECONDS
        arguments = {**self._arguments(request), "workspace": name}
        if isinstance(request, SearchCode | FindReferences):
            arguments["timeout_ms"] = _milliseconds((1.0 - ON_THE_WAY) * seconds)
        part = PartRequest(answers=call.answers or self._form, is_page=True)

        def read(replied: Replied) -> Reply:
            if not replied.is_error:
                return self._labelled(decode_reply(request, replied.content), name, call.warnings)
            error = decode_error(replied.content)
            return ErrorReply(
                error=ErrorBody(error.code, f"{self._what}: {error.message}", error.data),
                metadata=bare_metadata(workspace=ORGANISATION + name, warnings=call.warnings),
            )

        return await self._link.call(request.tool, arguments, part, seconds, read)

    def _labelled(self, reply: Reply, name: str, warnings: tuple[str, ...] = ()) -> Reply:
        """Returns a reply with all projects marked as the organisation's; `name` is the repository that it is about."""
        metadata = reply.metadata
        metadata = replace(
            metadata,
            workspace=ORGANISATION + name if name else metadata.workspace,
            warnings=(*warnings, *metadata.warnings),
        )
        if isinstance(metadata, Metadata) and metadata.projects:
            metadata = replace(
                metadata,
                projects=tuple(
                    replace(part, name=ORGANISATION + part.name, root=self._place(part.root)) for part in metadata.projects
                ),
            )
        match reply:
            case SearchCodeReply() | LocateSymbolReply():
                return replace(reply, results=tuple(map(_labelled, reply.results)), metadata=metadata)
            case FindReferencesReply():
                return replace(
                    reply,
                    definition=_labelled(reply.definition),
                    definitions=tuple(map(_labelled, reply.definitions)),
                    references=tuple(map(_labelled, reply.references)),
                    elsewhere=tuple(map(_labelled, reply.elsewhere)),
                    metadata=metadata,
                )
            case _:
                return replace(reply, metadata=metadata)

    def _arguments(self, request: AnyRequest) -> dict[str, object]:
        """Returns the arguments of this request, except those that name the project; with this server's default limit."""
        given: dict[str, object] = {}
        for field in msgspec.structs.fields(request):
            value = getattr(request, field.name)
            if value is not None and value != field.default and field.name not in ("workspace", "project_id"):
                given[field.name] = value
        if isinstance(request, SearchCode | LocateSymbol):
            given.setdefault("limit", self._limit)
        elif isinstance(request, FindReferences):
            given["limit"] = min(request.limit, MAX_REFERENCES)
        return given

    @property
    def _what(self) -> str:
        return f"the organisation's server ({self._host})"

    def _place(self, root: str) -> str:
        """Returns the root of a project on the organisation's server, with its host."""
        return f"{self._host}:{root}"


def _is_here(name: str, label: str) -> str:
    return f"{name} is checked out here as {label}, and this answer is of its working tree; {ORGANISATION}{name} asks elsewhere"


LabelledT = TypeVar("LabelledT", Result, Reference, ReferenceDefinition)


def _labelled(item: LabelledT) -> LabelledT:
    return replace(item, project=ORGANISATION + item.project) if item.project else item


def _milliseconds(seconds: float) -> int:
    return max(1, round(seconds / MILLISECONDS))
