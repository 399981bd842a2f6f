"""The one error that matters out of a nursery's group: callers handle errors, not groups of them."""

from collections.abc import Iterator
from contextlib import contextmanager

from codecompass.errors import CodeCompassError


@contextmanager
def ungrouped() -> Iterator[None]:
    """Raises the first CodeCompassError of a group in place of the group; lets groups without one pass."""
    try:
        yield
    except BaseExceptionGroup as group:
        ours, _others = group.split(CodeCompassError)
        while ours is not None and isinstance(ours.exceptions[0], BaseExceptionGroup):
            ours = ours.exceptions[0]
        if ours is None:
            raise
        raise ours.exceptions[0] from None


def innermost(error: BaseException) -> BaseException:
    """Returns the first error of a group of groups; one that is no group as it is."""
    return innermost(error.exceptions[0]) if isinstance(error, BaseExceptionGroup) else error
