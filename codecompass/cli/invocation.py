"""The context of one command: its common options, the settings, the data directory and the registry; and paths of a project
relative to the current directory.
"""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from codecompass import lazy
from codecompass.cli.terminal import Terminal, printable, working_directory
from codecompass.hints import for_people
from codecompass.settings import Settings, read_environment, require_utf8, user_file
from codecompass.settings_sources import Loaded, Sources, load_settings

if TYPE_CHECKING:
    from codecompass.protocol.replies import Reply
    from codecompass.store.layout import HomeLayout
    from codecompass.store.registry import Registry


_OWN_WORDS: Final = lazy.pattern(r"warning: |[\d,]+ of [\d,]+; more: offset \d+$|defines nothing that is listed")
"""The beginnings of lines of an answer that are no code."""


class GlobalOptions(Struct, frozen=True, kw_only=True):
    """The options accepted before and after a command's name. `verbosity` counts `-v`."""

    verbosity: int = 0
    config: str | None = None
    as_json: bool = False
    workspace: str | None = None
    project_id: str | None = None

    def merged(self, later: "GlobalOptions") -> "GlobalOptions":
        """Returns both combined: `later`, from after the command's name, takes precedence; verbosities add up."""
        return GlobalOptions(
            verbosity=self.verbosity + later.verbosity,
            config=later.config or self.config,
            as_json=later.as_json or self.as_json,
            workspace=self.workspace if later.workspace is None else later.workspace,
            project_id=self.project_id if later.project_id is None else later.project_id,
        )


class Invocation:
    """One run of one command. Settings are read when first used."""

    def __init__(self, options: GlobalOptions) -> None:
        self.options = options
        self.environment = read_environment()
        self.terminal = Terminal(self.environment)
        self._said: set[str] = set()

    def load(self, project_root: Path | None = None, flags: Mapping[str, object] | None = None) -> Loaded:
        """Returns the settings and the origin of each; reads a project's file only if its root is given.

        `flags` are the settings, by key, that options of the command override. Raises InvalidInput.
        """
        config = self.options.config
        return load_settings(
            Sources(
                environment=self.environment,
                flags=flags or {},
                config_file=None if config is None else Path(config).expanduser(),
                project_root=project_root,
                user_file=user_file(),
            )
        )

    @cached_property
    def settings(self) -> Settings:
        """The settings without any project's own file."""
        loaded = self.load()
        for warning in loaded.warnings:
            self.terminal.warn(warning)
        return loaded.settings

    def settings_for(self, root: Path) -> Settings:
        """Returns the settings of the project at `root`. Warns once about each setting that its own file may not make."""
        loaded = self.load(root)
        for refusal in loaded.refused:
            if refusal not in self._said:
                self._said.add(refusal)
                self.terminal.warn(refusal)
        return loaded.settings

    def logged_settings_for(self, root: Path) -> Settings:
        """Returns the settings of the project at `root`, for a server: logs each setting that its own file may not make."""
        import structlog

        loaded = self.load(root)
        for refusal in loaded.refused:
            structlog.get_logger(__name__).warning("project_setting_refused", workspace=str(root), cause=refusal)
        return loaded.settings

    @cached_property
    def home(self) -> "HomeLayout":
        """The data directory."""
        from codecompass.store.layout import HomeLayout, default_home

        configured = self.settings.storage.data_dir
        home = Path(configured) if configured else default_home()
        require_utf8(str(home), "the data directory")
        return HomeLayout(home)

    @contextmanager
    def registry(self) -> Iterator["Registry"]:
        """Opens the registry, and marks the jobs of processes that have ended as interrupted."""
        from codecompass.store.job_log import JobLog
        from codecompass.store.registry import open_registry

        with open_registry(self.home, busy_timeout_ms=self.settings.storage.busy_timeout_ms) as registry:
            JobLog(registry).recover(self.home)
            yield registry

    def print_json(self, value: Struct) -> None:
        """Prints a Struct as JSON."""
        from codecompass.protocol.encode import encode

        self.terminal.json(encode(value))

    def print_reply(self, reply: "Reply") -> None:
        """Prints a reply, as JSON or as the text that agents get, with our own words as people are told them."""
        from codecompass.protocol.text import render

        if self.options.as_json:
            self.print_json(reply)
        else:
            lines = render(reply).split("\n")
            self.terminal.line("\n".join(for_people(line) if _OWN_WORDS.match(line) else line for line in lines))


def path_in_project(path: str, root: Path) -> str:
    """Converts a path, absolute or relative to the current directory, to one relative to the project.

    Returns it unchanged if it is outside of the project, or is relative and does not exist.
    """
    here = working_directory()
    full = os.path.realpath(os.path.join(here or "/", os.path.expanduser(path)))
    if os.path.isabs(path) or os.path.exists(full):
        relative = os.path.relpath(full, root)
        if not relative.startswith("../"):
            return relative
    return path


def shown_path(root: Path, path: str) -> str:
    """Returns a path of the project for display: relative to the current directory if that is in the project, else absolute."""
    here = working_directory()
    full = os.path.join(root, path)
    if here is None:
        return printable(full)
    here = os.path.realpath(here)
    is_inside = here == str(root) or here.startswith(str(root).rstrip("/") + "/")
    return printable(os.path.relpath(full, here) if is_inside else full)
