"""A few small tools and jobs on the product's surface, for tests of the session alone."""

import time

import msgspec
import trio

from codecompass.actors.job_state import JobReport, JobState, OwnedJob
from codecompass.errors import ErrorBody
from codecompass.jobs import Progress
from codecompass.protocol.metadata import PROTOCOL_VERSION, Metadata, bare_metadata
from codecompass.protocol.replies import ErrorReply, LocateSymbolReply, Result, SearchCodeReply
from codecompass.store.writer import WriteCounts
from codecompass.transport.calls import CallOutcome, ToolDescription
from codecompass.transport.mcp.core import Core
from codecompass.transport.product.product_surface import product_surface
from codecompass.transport.product.tools import ProductTools

METADATA = Metadata(
    codecompass_protocol_version=PROTOCOL_VERSION,
    freshness_status="fresh",
    indexing_status="ready",
    result_completeness="complete",
    ref="main",
    schema_status="compatible",
    workspace="/srv/backend",
    project_id="backend",
)

REPORT = JobReport(
    mode="full",
    generation=1,
    ref="main",
    commit="",
    file_count=3891,
    symbol_count=12847,
    source_bytes=1,
    files_scanned=3891,
    files_changed=3891,
    counts=WriteCounts(),
    quarantined=(),
    duration_seconds=14.21,
)


def new_job(job_id="abc123"):
    state = JobState(
        job_id=job_id,
        project_id="0123456789abcdef",
        project_name="backend",
        root="/srv/backend",
        mode="full",
        status="running",
        cause="test",
        created_at=time.time(),
        started_at=time.time(),
    )
    return OwnedJob(state)


def advance(job, **progress):
    job.update(msgspec.structs.replace(job.state, progress=Progress(**progress)))


def finish(job, status="published", error=""):
    report = REPORT if status == "published" else None
    job.update(msgspec.structs.replace(job.state, status=status, error=error, report=report, finished_at=time.time()))


def described(name):
    return ToolDescription(
        name=name,
        title=name.title(),
        description=f"The tool {name}.",
        input_schema={"type": "object", "properties": {"text": {"type": "string", "maxLength": 100}}},
        output_schema={"type": "object"},
        is_read_only=True,
        meta={},
    )


class SampleTools:
    """`echo` its arguments; `hold` until released; `fail`; `crash`; `index` (a job); `where` (needs a project); `hint`."""

    NAMES = ("echo", "hold", "fail", "crash", "index", "where", "hint")

    def __init__(self):
        self.job = new_job()
        self.released = trio.Event()
        self.n_holding = 0
        self.most_holding = 0
        self.cancelled_jobs = []
        self.recorded_jobs = {}

    @property
    def server(self):
        return self

    async def opened(self):
        return self

    def tools_listed(self):
        pass

    @property
    def tools(self):
        return self

    async def call(self, name, arguments, caller):
        return await getattr(self, f"_{name}")(arguments, caller)

    async def _echo(self, arguments, caller):
        return said(**arguments)

    async def _hold(self, arguments, caller):
        self.n_holding += 1
        self.most_holding = max(self.most_holding, self.n_holding)
        try:
            await self.released.wait()
        finally:
            self.n_holding -= 1
        return said(**arguments)

    async def _fail(self, arguments, caller):
        return failed("invalid_input", "query is missing. Pass it.", field="query")

    async def _crash(self, arguments, caller):
        raise ZeroDivisionError("a defect")

    async def _index(self, arguments, caller):
        await caller.follow(self.job, arguments.get("wait_seconds", 0))
        return CallOutcome(self._of_job(self.job.state), self.job, self._of_job)

    def _of_job(self, state):
        if state.status == "failed":
            return failed("internal_error", state.error).reply
        return said(job_id=state.job_id, status=state.status).reply

    async def _where(self, arguments, caller):
        roots = await caller.roots()
        if not roots:
            return failed("project_not_found", "No project detected.")
        return said(roots=roots)

    async def _hint(self, arguments, caller):
        return said(hint=caller.take_hint(), project_path=caller.project_path, transport=caller.transport)

    async def _get_file_outline(self, arguments, caller):
        if arguments["path"] != "src/a b.py":
            return failed("file_not_found", "no such file. Check the path.")
        return said(path=arguments["path"], symbols=[])

    async def _health_check(self, arguments, caller):
        return said(status="ready")

    async def _locate_symbol(self, arguments, caller):
        names = ["Validator", "validate_token", "validate", "invalidate", "other"]
        results = tuple(Result(path="a.py", line_start=1, line_end=1, name=name) for name in names)
        return CallOutcome(LocateSymbolReply(results=results, total_candidates=5, metadata=METADATA))

    async def _search_code(self, arguments, caller):
        paths = ("src/auth.py", "auth/a.py", "src/auth.py", "b.py")
        results = tuple(Result(path=path, line_start=1, line_end=1) for path in paths)
        return CallOutcome(SearchCodeReply(results=results, query_intent="path", total_candidates=4, metadata=METADATA))

    def find_job(self, job_id):
        return self.job if job_id == self.job.state.job_id else None

    async def recorded_job(self, job_id):
        return self.recorded_jobs.get(job_id)

    async def cancel_job(self, job_id):
        self.cancelled_jobs.append(job_id)
        finish(self.job, "cancelled")
        return True


def said(**payload):
    return CallOutcome(msgspec.defstruct("Said", list(payload))(**payload))


def failed(code, message, **data):
    return CallOutcome(ErrorReply(error=ErrorBody(code, message, data or None), metadata=bare_metadata()))


class SampleList(ProductTools):
    """Processes calls as the product does, with the sample tools."""

    listed = tuple(described(name) for name in SampleTools.NAMES)

    def knows(self, name):
        return name in SampleTools.NAMES


def sample_core(limits=None):
    """Returns a Core and its tools."""
    tools = SampleTools()
    surface = msgspec.structs.replace(product_surface(tools), tools=SampleList(tools, "ten", "json"))
    return Core(surface, limits), tools
