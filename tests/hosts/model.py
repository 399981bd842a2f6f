"""A scripted model on a port of this machine, in all interfaces that the hosts of these tests use.

It calls one tool after another according to the script, and ends with a text. It derives the position in the script from the tool
results in the request, so it keeps no state of conversations, and a host may repeat a request. A host's other requests (titles,
summaries) offer none of our tools, and are answered with a word.
"""

import json
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from msgspec import Struct

from tests.hosts.dialects import ANTHROPIC, CHAT, GEMINI, RESPONSES, SEARCH_IDS, Answer, Dialect, Json, OfferedTool

FINAL = "That was all."


class ToolCall(Struct, frozen=True):
    """A step of a script: a tool by our name for it (hosts add a prefix), and its arguments.

    `before` is called first: an edit, as a user makes one while the model thinks. It may be called twice.
    """

    tool: str
    arguments: Mapping[str, object] = {}
    before: Callable[[], None] = lambda: None


class Hold(Struct, frozen=True):
    """A step that blocks until the model is closed. `ScriptedModel.holding` is set once it has been reached."""


Step = ToolCall | Hold

SEARCH_PAUSE_SECONDS = 0.25
"""Pause between two searches for a tool whose server is still starting. A real model takes longer for a word."""

SEARCHES: Mapping[str, Callable[[str], Json]] = {
    "ToolSearch": lambda tool: {"query": f"select:mcp__codecompass__{tool}", "max_results": 5},
    "tool_search": lambda tool: {"query": tool.replace("_", " "), "limit": 8},
}
"""The tool searches of hosts that show a model only some tools: Claude Code's, which also waits for servers, and Codex's."""

MAX_SEARCHES = 80


class ModelRequest(Struct, frozen=True):
    """A host's request to its model, as received. `answer` is the script's answer."""

    path: str
    body: Json
    dialect: Dialect
    answer: Answer

    @property
    def tools(self) -> list[OfferedTool]:
        """All tools that the host offers."""
        return self.dialect.tools(self.body)

    @property
    def our_tools(self) -> list[OfferedTool]:
        """The tools of our server."""
        return [tool for tool in self.tools if "codecompass" in tool.name or "codecompass" in tool.namespace]

    @property
    def results(self) -> list[str]:
        """The results of the script's tool calls, in order, as the model receives them."""
        return [text for id_, text in self.dialect.results(self.body) if not id_.startswith(SEARCH_IDS)]

    @property
    def instructions(self) -> str:
        """All text for the model except tools and their results."""
        return self.dialect.instructions(self.body)


class ScriptedModel:
    """The model that the module describes. Created by `open_model`."""

    def __init__(self, steps: Sequence[Step]) -> None:
        self._steps = tuple(steps)
        self._lock = threading.Lock()
        self.holding = threading.Event()
        self.closed = threading.Event()
        self.requests: list[ModelRequest] = []
        self.refused: list[str] = []
        self.url = ""

    @property
    def main(self) -> list[ModelRequest]:
        """The requests of the main conversation: those that offer tools."""
        return [request for request in self.requests if request.tools]

    @property
    def results(self) -> list[str]:
        """The results of the tools, from the request that contains the most."""
        return max((request.results for request in self.main), key=len, default=[])

    def take(self, path: str, body: Json, dialect: Dialect) -> Answer:
        """Returns the script's answer to this request, and records both."""
        step = self._step(body, dialect)
        if isinstance(step, Hold):
            self.holding.set()
            self.closed.wait()
        with self._lock:
            number = len(self.requests)
            if isinstance(step, ToolCall):
                answer = self._call(step, body, dialect, number)
            else:
                answer = Answer(text=FINAL if dialect.tools(body) else "ok", number=number)
            self.requests.append(ModelRequest(path, body, dialect, answer))
        return answer

    def _step(self, body: Json, dialect: Dialect) -> Step | None:
        """Returns the current step of a conversation; None after the last one, or if this is another conversation."""
        done = [id_ for id_, _ in dialect.results(body) if not id_.startswith(SEARCH_IDS)]
        return self._steps[len(done)] if dialect.tools(body) and len(done) < len(self._steps) else None

    def _call(self, step: ToolCall, body: Json, dialect: Dialect, number: int) -> Answer:
        tools = dialect.tools(body)
        tool = next((each for each in tools if each.name == step.tool or each.name.endswith(f"_{step.tool}")), None)
        if tool is not None:
            step.before()
            return Answer(tool=tool, arguments=step.arguments, number=number)
        n_searches = sum(id_.startswith(SEARCH_IDS) for id_, _ in dialect.results(body))
        search = next((each for each in tools if each.name in SEARCHES), None)
        if search is not None and n_searches < MAX_SEARCHES:
            self.closed.wait(SEARCH_PAUSE_SECONDS if n_searches else 0)
            return Answer(tool=search, arguments=SEARCHES[search.name](step.tool), number=number, is_search=True)
        return Answer(text=f"{step.tool} is not among the tools: {', '.join(each.name for each in tools)}", number=number)


def _dialect_of(path: str) -> Dialect | None:
    route = path.partition("?")[0]
    if route.endswith("/messages"):
        return ANTHROPIC
    if route.endswith("/responses"):
        return RESPONSES
    if route.endswith("/chat/completions"):
        return CHAT
    return GEMINI if route.endswith((":streamGenerateContent", ":generateContent")) else None


def _is_streamed(path: str, body: Json) -> bool:
    return ":streamGenerateContent" in path or body.get("stream") is True


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    model: ScriptedModel

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 (the name of the base class)
        pass

    def do_HEAD(self) -> None:
        self._send(b"", "application/json")

    def do_GET(self) -> None:
        """Answers with an empty list of models, which hosts may request when they start."""
        self._send(b'{"object":"list","data":[],"models":[]}', "application/json")

    def do_CONNECT(self) -> None:
        """This server is also the hosts' proxy: attempts to leave this machine are recorded and refused."""
        self.model.refused.append(f"CONNECT {self.path}")
        self._send(b"", "text/plain", HTTPStatus.FORBIDDEN)

    def do_POST(self) -> None:
        body = self._body()
        if self.path.partition("?")[0].endswith(("/count_tokens", ":countTokens")):
            self._send(b'{"input_tokens":1,"totalTokens":1}', "application/json")
            return
        dialect = _dialect_of(self.path)
        if dialect is None:
            self.model.refused.append(self.path)
            self._send(b"{}", "application/json", HTTPStatus.NOT_FOUND)
            return
        answer = self.model.take(self.path, body, dialect)
        if not _is_streamed(self.path, body):
            self._send(json.dumps(dialect.whole(answer)).encode(), "application/json")
            return
        self.send_response(HTTPStatus.OK)
        self.send_header("content-type", "text/event-stream")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        for name, data in dialect.stream(answer):
            self._chunk((f"event: {name}\n" if name else "") + f"data: {data}\n\n")
        self._chunk("")

    def _body(self) -> Json:
        if "chunked" in self.headers.get("transfer-encoding", ""):
            raw = b""
            while (size := int(self.rfile.readline().split(b";")[0], 16)) > 0:
                raw += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
        else:
            raw = self.rfile.read(int(self.headers.get("content-length") or 0))
        try:
            return json.loads(raw or b"{}")
        except ValueError:
            self.model.refused.append(f"{self.path}: not JSON ({self.headers.get('content-encoding')})")
            return {}

    def _send(self, body: bytes, content_type: str, status: HTTPStatus = HTTPStatus.OK) -> None:
        self.send_response(status)
        self.send_header("content-type", content_type)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def _chunk(self, text: str) -> None:
        data = text.encode()
        self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
        self.wfile.flush()


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: object, client_address: object) -> None:
        """Ignored: a host that is killed breaks its connections."""


@contextmanager
def open_model(*steps: Step) -> Iterator[ScriptedModel]:
    """Yields a model that listens on 127.0.0.1 until the block ends."""
    model = ScriptedModel(steps)
    handler = type("Handler", (_Handler,), {"model": model})
    with _Server(("127.0.0.1", 0), handler) as server:
        model.url = f"http://127.0.0.1:{server.server_address[1]}"
        thread = threading.Thread(target=server.serve_forever, daemon=True, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield model
        finally:
            model.closed.set()
            server.shutdown()
            thread.join()
