"""Which scenarios of the suite apply to the product, and why each of the others does not. The suite defines the names."""

from typing import Final

LEGACY, MODERN = "2025-11-25", "2026-07-28"
REVISIONS: Final = (LEGACY, MODERN)

_BOTH: Final = (
    "completion-complete",
    "tools-list",
    "server-sse-multiple-streams",
    "resources-list",
    "prompts-list",
    "dns-rebinding-protection",
)

OF_THE_PRODUCT: Final[dict[str, tuple[str, ...]]] = {
    LEGACY: (*_BOTH, "server-initialize", "ping", "server-session-lifecycle"),
    MODERN: (
        *_BOTH,
        "sep-2164-resource-not-found",
        "caching",
        "input-required-result-missing-input-response",
        "input-required-result-unsupported-methods",
        "input-required-result-ignore-extra-params",
        "input-required-result-validate-input",
        "http-header-validation",
    ),
}
"""Scenarios that need only what the product offers: no tool, resource or prompt made for tests."""

_TOOL: Final = "calls a tool for tests, by its name"
_RESOURCE: Final = "reads a resource for tests, by its address"
_PROMPT: Final = "asks for a prompt for tests, by its name"
_TASK: Final = "starts tasks with a tool for tests, by its name"
_NOT_SERVER: Final = "of tools whose schema has x-mcp-header, and none of ours has"
_BY_SUITE: Final = "the suite itself skips it: it reports nothing that can pass or fail"

WHY_NOT: Final[dict[str, str]] = {
    "logging-set-level": "for servers that send log messages to clients; the product logs to stderr",
    "tools-call-simple-text": _TOOL,
    "tools-call-image": _TOOL,
    "tools-call-audio": _TOOL,
    "tools-call-embedded-resource": _TOOL,
    "tools-call-mixed-content": _TOOL,
    "tools-call-with-logging": _TOOL,
    "tools-call-error": _TOOL,
    "tools-call-with-progress": _TOOL,
    "tools-call-sampling": _TOOL,
    "tools-call-elicitation": _TOOL,
    "elicitation-sep1034-defaults": _TOOL,
    "elicitation-sep1330-enums": _TOOL,
    "json-schema-2020-12": _TOOL,
    "server-sse-polling": _BY_SUITE,
    "server-stateless": "four of its 28 checks call tools for tests; the others are checked by a test of their own",
    "resources-read-text": _RESOURCE,
    "resources-read-binary": _RESOURCE,
    "resources-templates-read": _RESOURCE,
    "resources-subscribe": _RESOURCE,
    "resources-unsubscribe": _RESOURCE,
    "prompts-get-simple": _PROMPT,
    "prompts-get-with-args": _PROMPT,
    "prompts-get-embedded-resource": _PROMPT,
    "prompts-get-with-image": _PROMPT,
    "input-required-result-basic-elicitation": _TOOL,
    "input-required-result-basic-sampling": _TOOL,
    "input-required-result-basic-list-roots": _TOOL,
    "input-required-result-request-state": _TOOL,
    "input-required-result-multiple-input-requests": _TOOL,
    "input-required-result-multi-round": _TOOL,
    "input-required-result-non-tool-request": _PROMPT,
    "input-required-result-result-type": _TOOL,
    "input-required-result-tampered-state": _TOOL,
    "input-required-result-capability-check": _TOOL,
    "tasks-lifecycle": _TASK,
    "tasks-capability-negotiation": _TASK,
    "tasks-wire-fields": _TASK,
    "tasks-request-state-removal": _TASK,
    "tasks-mrtr-input": _TASK,
    "tasks-request-headers": _TASK,
    "tasks-dispatch-and-envelope": _TASK,
    "tasks-status-notifications": _BY_SUITE,
    "tasks-required-task-error": _TASK,
    "tasks-mrtr-composition": _TASK,
    "http-custom-header-server-validation": _NOT_SERVER,
}
"""The other scenarios, with the reasons; they run with the fixtures, except those below."""

WITHOUT_FIXTURE: Final[dict[str, str]] = {
    "server-sse-polling": _BY_SUITE,
    "tasks-status-notifications": _BY_SUITE,
    "http-custom-header-server-validation": "pending in the suite, and " + _NOT_SERVER,
}
"""Scenarios that do not run with the fixtures either, with the reasons."""

_LOGGING: Final = "the session has no logging to clients, as the product logs to stderr"
_STATE: Final = "the session gives clients no requestState to carry, as the product needs none"

NOT_OFFERED: Final[dict[str, dict[str, str]]] = {
    "logging-set-level": {"logging-set-level": _LOGGING},
    "tools-call-with-logging": {"tools-call-with-logging": _LOGGING},
    "input-required-result-request-state": {"sep-2322-request-state-incomplete": _STATE},
    "input-required-result-multiple-input-requests": {"sep-2322-multiple-inputs-incomplete": _STATE},
    "input-required-result-multi-round": {"sep-2322-multi-round-r1": _STATE},
    "input-required-result-tampered-state": {"sep-2322-reject-tampered-state": _STATE},
    "input-required-result-non-tool-request": {"sep-2322-non-tool-incomplete": "prompts of the product ask nothing back"},
    "tasks-lifecycle": {"sep-2663-tasks-get-status-failed": "a job that fails is a completed task with an error result"},
    "tasks-mrtr-input": {
        "sep-2663-tasks-get-status-input-required": "index jobs ask nothing",
        "tasks-mrtr-partial-fulfillment": "index jobs ask nothing",
    },
}
"""Checks that fail with the fixtures, by scenario: optional features that the product does not use."""
