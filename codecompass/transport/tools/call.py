"""One call of a tool while it is answered, and the common path of questions to an index: route, ask the workspace, report the
job that it waits for, return its reply.
"""

import trio

from codecompass.actors.answering import asked_ref, require_ref
from codecompass.actors.job_state import JobHandle
from codecompass.actors.messages import Query
from codecompass.actors.observation import WorkspaceHandle, WorkspaceObservation
from codecompass.actors.question import QueryRequest
from codecompass.nurseries import open_nursery
from codecompass.projects.caller import Caller
from codecompass.projects.router import Routed
from codecompass.protocol.metadata import PROTOCOL_VERSION, BareMetadata, Metadata, bare_metadata
from codecompass.protocol.parts import PartRequest
from codecompass.protocol.requests import AnyRequest, PageRequest
from codecompass.scan.git_revisions import NamedCommit
from codecompass.settings import AnswerForm
from codecompass.tracing import REPOSITORY, part
from codecompass.transport.calls import CallOutcome
from codecompass.transport.tools.services import Elsewhere, Services
from codecompass.units import MINUTES


class ToolCall:
    """One tool call: its request, its caller, and the project and commit found for it so far."""

    def __init__(
        self,
        services: Services,
        request: AnyRequest | PageRequest,
        caller: Caller,
        *,
        warnings: tuple[str, ...] = (),
        answers: AnswerForm | None = None,
        part: PartRequest | None = None,
        is_local: bool = False,
    ) -> None:
        """`warnings` are those of decoding; `answers` is the form of the reply, None for that of the server.

        `part` is set if another server merges the answer with its own; `is_local` forbids to query another server.
        """
        self.services = services
        self.caller = caller
        self.request: AnyRequest | PageRequest = request
        self.answers: AnswerForm | None = answers
        self.part: PartRequest | None = part
        # Calls of another server are never passed on to a third one, which could be the same.
        self.elsewhere: Elsewhere | None = None if part is not None or is_local else services.elsewhere
        self.routed: Routed | None = None
        self.commit: NamedCommit | None = None
        self._is_about_ref = False
        self._warnings = warnings

    def turn_to(self, request: AnyRequest, warning: str) -> None:
        """Replaces the request with one about another project, and adds a warning."""
        self.request = request
        self._warnings = (*self._warnings, warning)

    @property
    def warnings(self) -> tuple[str, ...]:
        """The warnings of decoding, then those of routing."""
        return self._warnings if self.routed is None else (*self._warnings, *self.routed.warnings)

    @property
    def hint(self) -> str:
        """The hint that the client gets once in its session."""
        return "" if self.routed is None else self.routed.hint

    async def route(self) -> Routed:
        """Returns the project that the call addresses. Raises the same errors as `Router.route`."""
        hint = self.hint
        routed = await self.services.router.route(self.request, self.caller)
        self.routed = Routed(
            project=routed.project,
            source=routed.source,
            warnings=routed.warnings,
            hint=hint or routed.hint,
            names_project=routed.names_project,
        )
        return self.routed

    async def workspace(self) -> WorkspaceHandle:
        """Returns the live workspace that the call addresses. Must be asked before the next checkpoint."""
        routed = await self.route()
        return self.services.workspaces.route(routed.project)

    async def asked_workspace(self) -> WorkspaceHandle:
        """Returns the live workspace that the question is about: that of the commit which `ref` names, if the request has one.

        Must be asked before the next checkpoint. Raises the same errors as `route` and `CommitWorkspaces.resolve`.
        """
        ref = asked_ref(self.request)
        self._is_about_ref = ref is not None
        routed = await self.route()
        if ref is not None:
            commits = self.services.commits
            commit = self.commit = await commits.resolve(routed.project, *ref)
            self._is_about_ref = commit is not None
            if commit is not None:
                await commits.make_room(routed.project, commit)
                # The project may have been evicted meanwhile.
                routed = await self.route()
                return commits.route(routed.project, commit)
        return self.services.workspaces.route(routed.project)

    async def require_ref(self) -> None:
        """Raises RefNotIndexed if the request names another branch than the one that is checked out."""
        if self.request.ref is not None:
            project = (await self.route()).project
            require_ref(self.request.ref, await self.services.router.head_ref(project))

    def observed(self) -> WorkspaceObservation | None:
        """Returns the last observation of the workspace that the call is about; None if it is not live or not known."""
        if self.routed is None or (self._is_about_ref and self.commit is None):
            return None
        return self.services.workspaces.find(self.routed.project.project_id, self.commit)

    def metadata(self, seen: WorkspaceObservation | None, ref: str = "") -> Metadata | BareMetadata:
        """Returns the metadata of an answer that no query gave: from the workspace's observation, if there is one."""
        if self.routed is None:
            return bare_metadata(warnings=self.warnings, hint=self.hint)
        project = self.routed.project
        if seen is None:
            return bare_metadata(workspace=str(project.root), warnings=self.warnings, hint=self.hint)
        is_whole = seen.indexing_status == "ready" and seen.generation > 0
        return Metadata(
            codecompass_protocol_version=PROTOCOL_VERSION,
            freshness_status=seen.freshness_status,
            indexing_status=seen.indexing_status,
            result_completeness="complete" if is_whole else "partial",
            ref=ref or seen.ref if self.commit is None else self.commit.name,
            commit="" if self.commit is None else self.commit.commit,
            schema_status=seen.schema_status,
            workspace=str(project.root),
            project_id=project.name,
            schema_name=project.schema_name if self.routed.names_project else "",
            generation=seen.generation,
            warnings=self.warnings,
            hint=self.hint,
        )


FOLLOWED_SECONDS = 10 * MINUTES
"""A job is followed until the question is answered, but never longer than this."""


async def ask_index(call: ToolCall) -> CallOutcome:
    """Returns the answer of the workspace that the call addresses. Raises the errors of routing and of the workspace."""
    assert isinstance(call.request, QueryRequest)
    workspace = await call.asked_workspace()
    assert call.routed is not None
    awaited = _AwaitedJob()
    query = Query(
        request=call.request,
        warnings=call.warnings,
        hint=call.hint,
        names_project=call.routed.names_project,
        tell_job=awaited.tell,
        answers=call.answers,
    )
    async with open_nursery() as nursery:
        nursery.start_soon(_follow, awaited, call.caller)
        with part("answer", {REPOSITORY: call.routed.project.name}):
            reply = await workspace.ask(query, request_id=call.caller.request_id)
        nursery.cancel_scope.cancel()
    return CallOutcome(reply)


class _AwaitedJob:
    """The job that a question waits for, once the workspace has reported it."""

    def __init__(self) -> None:
        self.told = trio.Event()
        self.job: JobHandle | None = None

    def tell(self, job: JobHandle) -> None:
        self.job = job
        self.told.set()


async def _follow(awaited: _AwaitedJob, caller: Caller) -> None:
    """Reports the progress of the job to the client while its question waits: a first index can take a while."""
    await awaited.told.wait()
    assert awaited.job is not None
    await caller.follow(awaited.job, FOLLOWED_SECONDS)
