"""Help texts with examples, and groups that import a command's module on demand, so that help loads neither the index nor an
event loop.
"""

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

import asyncclick
from msgspec import Struct

if TYPE_CHECKING:
    from asyncclick.shell_completion import CompletionItem

MAX_WIDTH: Final = 100

MEANT: Final = 0.65
"""Minimum similarity of a suggestion, as difflib measures it: `serach` suggests `search`, `frobnicate` nothing."""


class Example(Struct, frozen=True):
    """A command line to copy and what it does."""

    line: str
    effect: str


class CommandEntry(Struct, frozen=True):
    """A command in a group's list: the attribute of a module that is imported on demand, by default the one of its name."""

    name: str
    section: str
    summary: str
    module: str
    attribute: str = ""


class HelpFormatter(asyncclick.HelpFormatter):
    """Writes headings in bold; asyncclick strips colour codes if the output is not a terminal."""

    def write_heading(self, heading: str) -> None:
        """Writes a heading."""
        self.write(f"{'':>{self.current_indent}}{asyncclick.style(heading, bold=True)}\n")

    def write_usage(self, prog: str, args: str = "", prefix: str | None = None) -> None:
        """Writes the usage line."""
        super().write_usage(asyncclick.style(prog, bold=True), args, prefix)


class HelpContext(asyncclick.Context):
    """A context that formats help with `HelpFormatter`."""

    formatter_class = HelpFormatter


class TeachingCommand(asyncclick.Command):
    """A command whose help has examples. Options named in `common` are listed under their own heading."""

    context_class = HelpContext

    def __init__(
        self,
        name: str | None,
        *,
        examples: Sequence[Example] = (),
        common: frozenset[str] = frozenset(),
        **attributes: Any,  # noqa: ANN401 - asyncclick's own
    ) -> None:
        super().__init__(name, **attributes)
        self.examples = tuple(examples)
        self._common = common

    def format_options(self, ctx: asyncclick.Context, formatter: asyncclick.HelpFormatter) -> None:
        """Writes the examples, then the command's own options, then the common ones."""
        format_examples(self.examples, formatter)
        own: list[tuple[str, str]] = []
        common: list[tuple[str, str]] = []
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is not None:
                (common if parameter.name in self._common else own).append(record)
        for heading, records in (("Options", own), ("Options of every command", common)):
            if records:
                with formatter.section(heading):
                    formatter.write_dl(records, col_max=26)


class LazyGroup(asyncclick.Group):
    """A group that imports the module of a command only when the command runs or shows its help.

    `meant` are command lines for names that other programs have for the same, in lower case.
    """

    context_class = HelpContext

    def __init__(
        self,
        name: str | None = None,
        *,
        entries: Sequence[CommandEntry] = (),
        examples: Sequence[Example] = (),
        meant: Mapping[str, str] | None = None,
        **attributes: Any,  # noqa: ANN401 - asyncclick's own
    ) -> None:
        super().__init__(name, **attributes)
        self._meant = meant or {}
        self.entries = {entry.name: entry for entry in entries}
        self.examples = tuple(examples)

    def list_commands(self, ctx: asyncclick.Context) -> list[str]:
        """Returns the names in the order of the entries."""
        return list(self.entries)

    def get_command(self, ctx: asyncclick.Context, cmd_name: str) -> asyncclick.Command | None:
        """Returns the command, importing its module if necessary; None if there is no such command."""
        entry = self.entries.get(cmd_name)
        if entry is None:
            return None
        attribute = entry.attribute or entry.name.replace("-", "_")
        command: asyncclick.Command = getattr(import_module(entry.module), attribute)
        return command

    async def resolve_command(
        self, ctx: asyncclick.Context, args: list[str]
    ) -> tuple[str | None, asyncclick.Command | None, list[str]]:
        """Returns the command that `args` starts with. Fails for an unknown name, suggesting a similar one."""
        name = args[0]
        if name not in self.entries and not name.startswith("-") and not ctx.resilient_parsing:
            if name.lower() in self._meant:
                ctx.fail(f"there is no command {name!r}. That is: {self._meant[name.lower()]}")
            import difflib

            near = difflib.get_close_matches(name, list(self.entries), n=1, cutoff=MEANT)
            meant = f" Did you mean {near[0]!r}?" if near else ""
            ctx.fail(f"there is no command {name!r}.{meant}")
        return await super().resolve_command(ctx, args)

    def format_options(self, ctx: asyncclick.Context, formatter: asyncclick.HelpFormatter) -> None:
        """Writes the examples, the commands by section, then the options."""
        format_examples(self.examples, formatter)
        sections: dict[str, list[tuple[str, str]]] = {}
        width = max(map(len, self.entries), default=0)
        for entry in self.entries.values():
            name = asyncclick.style(entry.name, fg="cyan") + " " * (width - len(entry.name))
            sections.setdefault(entry.section, []).append((name, entry.summary))
        for section, rows in sections.items():
            with formatter.section(section):
                formatter.write_dl(rows)
        records = [record for parameter in self.get_params(ctx) if (record := parameter.get_help_record(ctx))]
        with formatter.section("Options"):
            formatter.write_dl(records, col_max=26)

    def shell_complete(self, ctx: asyncclick.Context, incomplete: str) -> "list[CompletionItem[str]]":
        """Returns the names that begin with `incomplete`, without importing a command."""
        from asyncclick.shell_completion import CompletionItem

        found = [CompletionItem(e.name, help=e.summary) for e in self.entries.values() if e.name.startswith(incomplete)]
        return found + asyncclick.Command.shell_complete(self, ctx, incomplete)


def format_examples(examples: Sequence[Example], formatter: asyncclick.HelpFormatter) -> None:
    """Writes each example: the line to copy, and below it what it does."""
    if not examples:
        return
    with formatter.section("Examples"):
        indent = " " * formatter.current_indent
        for example in examples:
            formatter.write(f"{indent}{asyncclick.style(example.line, fg='green')}\n")
            formatter.write(f"{indent}    {example.effect}\n")
