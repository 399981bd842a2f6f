"""The product's resources: jobs, workspaces, outlines of files. All are JSON, the same as the tools return.

codecompass://workspaces          the reply of health_check
codecompass://jobs/{job_id}       one index job; subscribers are notified of changes
codecompass://outline/{path}      the reply of get_file_outline for a file of the caller's project
"""

from typing import Final
from urllib.parse import unquote

import msgspec

from codecompass.errors import FileNotFound
from codecompass.protocol.job_views import JobView, whole_job
from codecompass.transport.calls import ServerAccess
from codecompass.transport.mcp.exchange import Exchange
from codecompass.transport.mcp.jsonrpc import Fault
from codecompass.transport.mcp.protocol import INTERNAL_ERROR
from codecompass.transport.mcp.surface import InputRequired, ResourceText
from codecompass.transport.mcp.tasks import JobWatch
from codecompass.transport.mcp.wire import Resource, ResourceTemplate, TextResourceContents
from codecompass.transport.product.tools import SessionCaller, asked_roots

WORKSPACES_URI: Final = "codecompass://workspaces"
JOB_PREFIX: Final = "codecompass://jobs/"
OUTLINE_PREFIX: Final = "codecompass://outline/"
JOB_TEMPLATE: Final = JOB_PREFIX + "{job_id}"
OUTLINE_TEMPLATE: Final = OUTLINE_PREFIX + "{path}"
_JSON: Final = "application/json"


class ProductResources:
    """The ResourceSource of the product."""

    def __init__(self, access: ServerAccess) -> None:
        self._access = access

    @property
    def listed(self) -> tuple[Resource, ...]:
        """The workspaces alone; jobs and outlines are too many to list, and change."""
        return (
            Resource(
                uri=WORKSPACES_URI,
                name="workspaces",
                title="Workspaces",
                description="The projects this server knows, and the state of their indexes.",
                mime_type=_JSON,
            ),
        )

    @property
    def templates(self) -> tuple[ResourceTemplate, ...]:
        """The templates of jobs and outlines."""
        return (
            ResourceTemplate(
                uri_template=JOB_TEMPLATE,
                name="job",
                title="Index job",
                description="How far an index job is, or how it ended. Subscribe to be told.",
                mime_type=_JSON,
            ),
            ResourceTemplate(
                uri_template=OUTLINE_TEMPLATE,
                name="outline",
                title="File outline",
                description="The symbols of a file, by its path below the root of the project.",
                mime_type=_JSON,
            ),
        )

    async def read(self, uri: str, exchange: Exchange) -> ResourceText | InputRequired | None:
        """Returns the contents of the resource; None if it does not exist.

        Raises Fault with the tool's error code if the tool fails for another reason than a missing file.
        """
        if uri == WORKSPACES_URI:
            return await self._of_tool("health_check", {}, uri, exchange)
        if uri.startswith(OUTLINE_PREFIX):
            return await self._of_tool("get_file_outline", {"path": unquote(uri[len(OUTLINE_PREFIX) :])}, uri, exchange)
        if uri.startswith(JOB_PREFIX):
            document = await self._job(uri[len(JOB_PREFIX) :])
            return None if document is None else _text(uri, msgspec.json.encode(document))
        return None

    def exists(self, uri: str) -> bool:
        """Returns whether a URI has the form of a resource. Whether the file or job exists is only known when it is read."""
        return uri == WORKSPACES_URI or any(
            uri.startswith(prefix) and len(uri) > len(prefix) for prefix in (OUTLINE_PREFIX, JOB_PREFIX)
        )

    def watch(self, uri: str) -> JobWatch | None:
        """Returns the changes of a job that is running or ended recently; None for all other resources."""
        server = self._access.server
        if server is None or not uri.startswith(JOB_PREFIX):
            return None
        job = server.find_job(uri[len(JOB_PREFIX) :])
        return None if job is None else JobWatch(job)

    async def _of_tool(
        self, tool: str, arguments: dict[str, object], uri: str, exchange: Exchange
    ) -> ResourceText | InputRequired | None:
        server = await self._access.opened()
        from codecompass.protocol.encode import encode
        from codecompass.protocol.replies import ErrorReply

        caller = SessionCaller(exchange)
        reply = (await server.tools.call(tool, arguments, caller)).reply
        question = asked_roots(reply, caller)
        if question is not None:
            return question
        if not isinstance(reply, ErrorReply):
            return _text(uri, encode(reply))
        if reply.error.code == FileNotFound.code:
            return None
        raise Fault(INTERNAL_ERROR, reply.error.message, reason=reply.error.code, uri=uri)

    async def _job(self, job_id: str) -> JobView | None:
        server = await self._access.opened()
        live = server.find_job(job_id)
        if live is not None:
            job = live.state
            percentage = 100 if job.status == "published" else job.progress.percentage
            return whole_job(job, workspace=job.root, percentage=percentage)
        recorded = await server.recorded_job(job_id)
        return None if recorded is None else whole_job(recorded)


def _text(uri: str, payload: bytes) -> ResourceText:
    return ResourceText(contents=(TextResourceContents(uri=uri, mime_type=_JSON, text=payload.decode()),))
