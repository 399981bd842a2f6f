"""Times as the protocol writes them."""

from datetime import UTC, datetime


def iso_time(seconds: float) -> str:
    """Returns seconds since 1970 as ISO 8601 in UTC, to the millisecond."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
