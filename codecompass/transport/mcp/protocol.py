"""The words of the Model Context Protocol: revisions, methods, error codes, `_meta` keys. Nothing else may spell them.

Source of all of it: modelcontextprotocol.io/specification/<revision>, section named with each group. There are two eras.
The revisions of the handshake era open a session with `initialize`; the modern one puts everything into each request.
"""

from typing import Final, Literal

Era = Literal["handshake", "modern"]

MODERN_REVISION: Final = "2026-07-28"
"""Stateless: `_meta` on every request, `server/discover`, no requests from the server. basic/versioning."""

STRUCTURED_REVISION: Final = "2025-06-18"
"""The first with `structuredContent`, `outputSchema` and `title`. changelog."""

ANNOTATED_REVISION: Final = "2025-03-26"
"""The first with tool annotations, messages in progress, and completions as a capability. changelog."""

LATEST_HANDSHAKE_REVISION: Final = "2025-11-25"

HANDSHAKE_REVISIONS: Final = ("2024-11-05", ANNOTATED_REVISION, STRUCTURED_REVISION, LATEST_HANDSHAKE_REVISION)
"""Oldest first. They are dates: text order is their order."""

ASSUMED_REVISION: Final = ANNOTATED_REVISION
"""Of a request that says nothing and follows no `initialize`. 2025-11-25, basic/transports, "Protocol Version Header"."""

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
SET_LEVEL: Final = "logging/setLevel"
LISTEN: Final = "subscriptions/listen"
TASKS_GET: Final = "tasks/get"
TASKS_UPDATE: Final = "tasks/update"
TASKS_CANCEL: Final = "tasks/cancel"

# Notifications of a client.
INITIALIZED: Final = "notifications/initialized"
CANCELLED: Final = "notifications/cancelled"
ROOTS_CHANGED: Final = "notifications/roots/list_changed"

# What the server sends by itself.
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
"""Ours, outside of the reserved range: the session has too much in flight. Retryable."""
SERVER_STOPPING: Final = 1503
"""Ours: the server takes nothing new because it is about to end. Retryable, elsewhere or later."""
SERVER_GONE: Final = 1502
"""Ours, of a bridge: the server behind it cannot be reached, or was lost before it answered. Retryable."""

# Keys of `_meta`. 2026-07-28 basic/index, "_meta".
META_REVISION: Final = "io.modelcontextprotocol/protocolVersion"
META_CAPABILITIES: Final = "io.modelcontextprotocol/clientCapabilities"
META_CLIENT: Final = "io.modelcontextprotocol/clientInfo"
META_LOG_LEVEL: Final = "io.modelcontextprotocol/logLevel"
META_SERVER: Final = "io.modelcontextprotocol/serverInfo"
META_SUBSCRIPTION: Final = "io.modelcontextprotocol/subscriptionId"
META_PROGRESS_TOKEN: Final = "progressToken"

# Ours, below a domain of ours as the same section asks.
META_JOB_ID: Final = "dev.codecompass/jobId"
META_JOB: Final = "dev.codecompass/job"

TASKS_EXTENSION: Final = "io.modelcontextprotocol/tasks"
"""github.com/modelcontextprotocol/ext-tasks, specification/2026-07-28/tasks."""

MODERN_ONLY_METHODS: Final = frozenset({DISCOVER, LISTEN})
"""Methods that mean nothing without the `_meta` of the modern era: a client that forgot it is told so."""
