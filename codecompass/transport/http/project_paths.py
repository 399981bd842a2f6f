"""`?project_path=` of every HTTP route: read once, checked before anything else is done (seed 004)."""

from collections.abc import Awaitable, Callable

from codecompass.transport.http.request import Heading

Check = Callable[[str], Awaitable[None]]
"""Raises InvalidInput for a path that is answered with status 400."""


class ProjectPaths:
    """Reads the parameter. `check` is the router's."""

    def __init__(self, check: Check) -> None:
        self._check = check

    async def checked(self, heading: Heading) -> str | None:
        """Returns the path that a request names, None where it names none. Raises InvalidInput, HttpRefusal."""
        path = heading.parameter("project_path")
        if path is not None:
            await self._check(path)
        return path
