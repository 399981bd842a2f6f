"""Times in the protocol: ISO 8601 in UTC."""

from datetime import UTC, datetime


def iso_time(seconds: float) -> str:
    """Returns seconds since 1970 without fractions, as in the answers of tools: `2026-01-31T09:00:00Z`."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def iso_time_ms(seconds: float) -> str:
    """Returns seconds since 1970 with milliseconds, as in MCP's tasks and resources: `2026-01-31T09:00:00.125Z`."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
