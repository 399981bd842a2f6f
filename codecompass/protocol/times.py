"""Times as the protocol writes them: ISO 8601 in UTC."""

from datetime import UTC, datetime


def iso_time(seconds: float) -> str:
    """Returns seconds since 1970 to the second: `2026-01-31T09:00:00Z`, as the tools answer."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def iso_time_ms(seconds: float) -> str:
    """Returns seconds since 1970 to the millisecond: `2026-01-31T09:00:00.125Z`, as MCP's tasks and resources have it."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
