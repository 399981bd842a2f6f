"""Creates the arguments and options of commands that call a tool from the definitions of the tool's arguments."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

import asyncclick

from codecompass import lazy
from codecompass.cli.project_completion import ProjectName
from codecompass.protocol.arguments import ARGUMENTS, Argument
from codecompass.protocol.requests import ALL_PROJECTS, MAX_PATH_LENGTH

if TYPE_CHECKING:
    from asyncclick.shell_completion import CompletionItem

_SHORT: Final = {"limit": "-n", "mode": "-m", "language": "-l", "path": "-p", "kind": "-k", "detail_level": "-d"}
"""Short options by argument name."""

MAX_DIGITS: Final = 30
_NUMBER: Final = lazy.pattern(r"[+-]?\d+")

_UNITS: Final = {"ms": "MS"}
"""Placeholders of numbers in help texts, by unit; N for all others."""


class ToolValue(asyncclick.ParamType[str]):
    """A tool argument's value, as text. Offers completions and has a maximum length; the arguments' decoder validates it."""

    name = "text"

    def __init__(self, argument: Argument) -> None:
        self.max_length: Final = argument.max_length
        self._values = argument.values

        self._argument = argument

    def convert(self, value: Any, param: asyncclick.Parameter | None, ctx: asyncclick.Context | None) -> str:  # noqa: ANN401
        """Returns the text. Fails for a number that is too low, which a tool raises to the lowest with a warning: nobody who can
        correct it means that."""
        argument = self._argument
        if argument.value_type == "number" and argument.error_below is None and _NUMBER.fullmatch(str(value)):
            number = int(str(value)[:MAX_DIGITS])
            if number < argument.lowest:
                self.fail(f"{value} is too low; at least {argument.lowest}.", param, ctx)
        return str(value)

    def shell_complete(
        self, ctx: asyncclick.Context, param: asyncclick.Parameter, incomplete: str
    ) -> "list[CompletionItem[str]]":
        """Returns the values that begin with `incomplete`."""
        from asyncclick.shell_completion import CompletionItem

        return [CompletionItem(value) for value in self._values if value.startswith(incomplete)]


class _NamedProject(ProjectName):
    def __init__(self, max_length: int) -> None:
        super().__init__()
        self.max_length: Final = max_length


def max_length(parameter: asyncclick.Parameter) -> int:
    """Returns the maximum length of a value in characters: that of the tool's argument, else that of a path."""
    return parameter.type.max_length if isinstance(parameter.type, ToolValue | _NamedProject) else MAX_PATH_LENGTH


Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


def tool_argument(tool: str, name: str, **attributes: Any) -> Decorator:  # noqa: ANN401 - those of asyncclick.argument
    """Adds a positional argument for the argument `name` of `tool`."""
    return asyncclick.argument(name, type=ToolValue(ARGUMENTS[tool][name]), **attributes)


def project_option() -> Decorator:
    """Adds the option that chooses a project by its name."""
    argument = ARGUMENTS["index_status"]["project_id"]
    return asyncclick.option("--project-id", metavar="NAME", type=_NamedProject(argument.max_length), help=argument.help)


def tool_options(tool: str, *left_out: str) -> Decorator:
    """Adds an option for each optional argument of `tool`, except those `left_out` and those that choose the project, which all
    commands have. The function gets the values under the names of the arguments; `given` removes those that were not given.
    """
    arguments = [
        each
        for each in ARGUMENTS[tool].values()
        if not each.is_required and each.name not in ("workspace", "project_id", *left_out)
    ]
    arguments.sort(key=lambda argument: argument.is_common)

    def add(function: Callable[..., Any]) -> Callable[..., Any]:
        for argument in reversed(arguments):
            function = _option(argument)(function)
        return function

    return add


def several_options() -> Decorator:
    """Adds the options that query several projects. The function gets `all_projects` and `in_projects`; see `named_several`."""

    def add(function: Callable[..., Any]) -> Callable[..., Any]:
        names = asyncclick.option(
            "--in",
            "in_projects",
            metavar="NAMES",
            type=ProjectName(is_list=True),
            help="Ask these projects or groups, with commas between: api,web.",
        )
        everything = asyncclick.option("--all", "all_projects", is_flag=True, help="Ask all projects.")
        return everything(names(function))

    return add


def named_several(*, all_projects: bool, in_projects: str | None) -> tuple[str, ...]:
    """Returns the names of the projects to query, with ALL_PROJECTS for `--all`; none for the command's own project."""
    named = comma_separated(in_projects or "")
    return (*named, ALL_PROJECTS) if all_projects else named


def comma_separated(text: str) -> tuple[str, ...]:
    """Returns the parts of a list with commas, stripped, without empty ones."""
    return tuple(stripped for part in text.split(",") if (stripped := part.strip()))


def _option(argument: Argument) -> Decorator:
    names = ["--" + argument.name.replace("_", "-"), *([_SHORT[argument.name]] if argument.name in _SHORT else [])]
    if argument.value_type == "flag":
        switch = f"{names[0]}/--no-{names[0].removeprefix('--')}" if argument.default is True else names[0]
        return asyncclick.option(switch, *names[1:], is_flag=True, default=None, help=argument.help)
    placeholder = argument.placeholder or argument.name.rpartition("_")[2].upper()
    if argument.value_type == "number":
        placeholder = _UNITS.get(argument.unit, "N")
    return asyncclick.option(*names, metavar=placeholder, type=ToolValue(argument), help=argument.help)


def given(arguments: dict[str, object]) -> dict[str, object]:
    """Returns the arguments that were given on the command line, without those that are None."""
    return {name: value for name, value in arguments.items() if value is not None}
