"""Completes the names of projects and groups with TAB, from the registry as it is: nothing is created or changed."""

import os
from contextlib import suppress
from typing import TYPE_CHECKING

import asyncclick

from codecompass.errors import CodeCompassError

if TYPE_CHECKING:
    from asyncclick.shell_completion import CompletionItem


class ProjectName(asyncclick.ParamType[str]):
    """The name, id or directory of a project. With `is_list`, several with commas between; then groups are offered too."""

    name = "text"

    def __init__(self, *, is_list: bool = False) -> None:
        self._is_list = is_list

    def shell_complete(
        self, ctx: asyncclick.Context, param: asyncclick.Parameter, incomplete: str
    ) -> "list[CompletionItem[str]]":
        """Returns the known names that begin with the last of `incomplete`."""
        from asyncclick.shell_completion import CompletionItem

        before, comma, last = incomplete.rpartition(",") if self._is_list else ("", "", incomplete)
        return [CompletionItem(before + comma + name) for name in known_names(groups=self._is_list) if name.startswith(last)]


def known_names(*, groups: bool) -> list[str]:
    """Returns the names of all projects, and of groups if asked for, sorted; none if the registry cannot be read."""
    from codecompass.cli.invocation import GlobalOptions, Invocation
    from codecompass.store.registry import open_registry, project_groups

    names: list[str] = []
    with suppress(CodeCompassError, OSError):
        home = Invocation(GlobalOptions()).home
        if os.path.exists(home.registry):
            with open_registry(home) as registry:
                names += [project.name for project in registry.projects()]
                names += [group.name for group in project_groups(registry)] if groups else []
    return sorted(names)
