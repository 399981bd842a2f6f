"""The Model Context Protocol's constants: revisions, methods, error codes, `_meta` keys, and the maximum lengths of members of
messages (in characters and items). No other module spells them.
"""

from typing import Annotated, Final

from msgspec import Meta

from codecompass.protocol.requests import MAX_PATH_LENGTH, MAX_QUERY_LENGTH
from codecompass.units import MIB

MODERN_REVISION: Final = "2026-07-28"
"""Stateless: `_meta` on every request, `server/discover`, no requests from the server. basic/versioning."""

STRUCTURED_REVISION: Final = "2025-06-18"
"""The first with `structuredContent`, `outputSchema` and `title`. changelog."""

ANNOTATED_REVISION: Final = "2025-03-26"
"""The first with tool annotations, messages in progress, and completions as a capability. changelog."""

LATEST_HANDSHAKE_REVISION: Final = "2025-11-25"

HANDSHAKE_REVISIONS: Final = ("2024-11-05", ANNOTATED_REVISION, STRUCTURED_REVISION, LATEST_HANDSHAKE_REVISION)
"""Oldest first. They are dates, so they compare as text."""

ASSUMED_REVISION: Final = ANNOTATED_REVISION
"""For a request that names no revision, without an `initialize` before it. 2025-11-25, basic/transports, "Protocol Version
Header"."""

# Methods of a client. 2025-11-25 schema.mdx and 2026-07-28 schema.mdx.
INITIALIZE: Final = "initialize"
PING: Final = "ping"
DISCOVER: Final = "server/discover"
TOOLS_LIST: Final = "tools/list"
TOOLS_CALL: Final = "tools/call"
RESOURCES_LIST: Final = "resources/list"
RESOURCE_TEMPLATES_LIST: Final = "resources/templates/list"
RESOURCES_READ: Final = "resources/read"
RESOURCES_SUBSCRIBE: Final = "resources/subscribe"
RESOURCES_UNSUBSCRIBE: Final = "resources/unsubscribe"
PROMPTS_LIST: Final = "prompts/list"
PROMPTS_GET: Final = "prompts/get"
COMPLETE: Final = "completion/complete"
LISTEN: Final = "subscriptions/listen"
TASKS_GET: Final = "tasks/get"
TASKS_UPDATE: Final = "tasks/update"
TASKS_CANCEL: Final = "tasks/cancel"

# Notifications of a client.
INITIALIZED: Final = "notifications/initialized"
CANCELLED: Final = "notifications/cancelled"
ROOTS_CHANGED: Final = "notifications/roots/list_changed"

# Requests and notifications of the server.
ROOTS_LIST: Final = "roots/list"
PROGRESS: Final = "notifications/progress"
RESOURCE_UPDATED: Final = "notifications/resources/updated"
ACKNOWLEDGED: Final = "notifications/subscriptions/acknowledged"
TASK_STATUS: Final = "notifications/tasks"

WEBSOCKET_SUBPROTOCOL: Final = "mcp"
"""No revision has this transport; the official SDKs of the handshake era offer it under this name."""

# Error codes. jsonrpc.org/specification section 5.1; 2026-07-28 basic/index, "Error Codes".
PARSE_ERROR: Final = -32700
INVALID_REQUEST: Final = -32600
METHOD_NOT_FOUND: Final = -32601
INVALID_PARAMS: Final = -32602
INTERNAL_ERROR: Final = -32603
RESOURCE_NOT_FOUND: Final = -32002
"""Handshake era only; the modern one says INVALID_PARAMS. 2025-11-25 server/resources, "Error Handling"."""
HEADER_MISMATCH: Final = -32020
MISSING_CAPABILITY: Final = -32021
UNSUPPORTED_REVISION: Final = -32022
SESSION_BUSY: Final = 1429
"""Ours, outside the reserved range: the session has too many requests in flight. Retryable."""
SERVER_STOPPING: Final = 1503
"""Ours: the server accepts nothing new because it is stopping. Retryable, on another server or later."""
SERVER_GONE: Final = 1502
"""Ours, sent by a bridge: its server cannot be reached, or was lost before it answered. Retryable."""

# Keys of `_meta`. 2026-07-28 basic/index, "_meta".
META_REVISION: Final = "io.modelcontextprotocol/protocolVersion"
META_CAPABILITIES: Final = "io.modelcontextprotocol/clientCapabilities"
META_CLIENT: Final = "io.modelcontextprotocol/clientInfo"
META_SERVER: Final = "io.modelcontextprotocol/serverInfo"
META_SUBSCRIPTION: Final = "io.modelcontextprotocol/subscriptionId"
META_PROGRESS_TOKEN: Final = "progressToken"
META_TRACEPARENT: Final = "traceparent"
META_TRACESTATE: Final = "tracestate"
"""2026-07-28 basic/index, "Distributed Tracing Conventions": these two without a prefix, as in W3C Trace Context."""

# Ours, below a domain of ours as the same section requires.
META_JOB_ID: Final = "dev.codecompass/jobId"
META_JOB: Final = "dev.codecompass/job"
META_PART: Final = "dev.codecompass/part"
"""In a call: the caller is a server that merges the answer with its own (`protocol/parts.py`). In a result: answered that way."""

TASKS_EXTENSION: Final = "io.modelcontextprotocol/tasks"
"""github.com/modelcontextprotocol/ext-tasks, specification/2026-07-28/tasks."""

MODERN_ONLY_METHODS: Final = frozenset({DISCOVER, LISTEN})
"""Methods that need the `_meta` of the modern era: a client that forgot it gets an error that says so."""

MAX_MESSAGE_BYTES: Final = 4 * MIB
"""Maximum size of one message of a client, on every transport."""

MAX_ID_LENGTH: Final = 1000
"""Maximum length of ids and tokens, which are echoed and stored."""

MAX_NAME_LENGTH: Final = 1000
"""Maximum length of names of tools, prompts, arguments and clients, of cursors, and of ids made by the server."""

MAX_URI_LENGTH: Final = 3 * MAX_PATH_LENGTH + 100
"""Fits a path of MAX_PATH_LENGTH bytes, each percent-encoded, and the part before it."""

MAX_ARGUMENTS: Final = 100
"""Maximum number of arguments of one call, and of input responses."""

MAX_WATCHED: Final = 1000
"""Maximum number of resources, and of tasks, that a client names in one `subscriptions/listen`."""

MAX_ROOTS_LISTED: Final = 1000
"""Maximum number of roots in a client's answer; `client.MAX_ROOTS` says how many of them are used."""

MAX_OPENING_BYTES: Final = 65_536
"""Maximum size of the parameters of `initialize`: capabilities are kept as long as the session."""

Name = Annotated[str, Meta(max_length=MAX_NAME_LENGTH)]
Id = Annotated[str, Meta(max_length=MAX_ID_LENGTH)]
Uri = Annotated[str, Meta(max_length=MAX_URI_LENGTH)]
Text = Annotated[str, Meta(max_length=MAX_QUERY_LENGTH)]
