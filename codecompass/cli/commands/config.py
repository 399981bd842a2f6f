"""`codecompass config show`: the settings, and the flag, variable or file that each comes from."""

import difflib
from pathlib import Path

import asyncclick
from msgspec import Struct

from codecompass.cli.command import command
from codecompass.cli.help import CommandEntry, Example, LazyGroup
from codecompass.cli.invocation import Invocation
from codecompass.cli.terminal import printable
from codecompass.errors import DeadlineExceeded, IndexDamaged, InvalidInput, PermissionDenied, ProjectNotFound, StoreNewer
from codecompass.remote.address import with_hidden_user
from codecompass.settings import known_settings, project_file, user_file
from codecompass.settings_sources import EffectiveValue

config = LazyGroup(
    "config",
    help="""
    Show the settings and where each comes from.

    A setting is looked for in this order: option, environment variable, the file of --config, the project's
    .codecompass/config.toml, your own config.toml, the default.
    """,
    entries=(CommandEntry("show", "Commands", "Show every setting with its value and origin.", __name__),),
    examples=(
        Example("codecompass config show", "all settings"),
        Example("codecompass config show query", "one section, with explanations"),
    ),
)


class Report(Struct, frozen=True):
    """What `--json` prints: the configuration files, the settings, and a sentence for each value that is not used."""

    files: tuple["File", ...]
    settings: tuple["Value", ...]
    refused: tuple[str, ...] = ()


class File(Struct, frozen=True):
    """A configuration file, and whether it exists."""

    source: str
    path: str
    exists: bool


class Value(Struct, frozen=True, kw_only=True):
    """One setting, as `--json` prints it. `where` is a file or a variable."""

    key: str
    value: object
    source: str
    where: str
    unit: str
    variable: str
    description: str


@command(
    "show",
    text="""
    Show every setting with its value and where that comes from.

    With KEY (a setting or a section) show only that, and what it means. A project's own file may set [index] and [query], and
    may only lower their limits.
    """,
    examples=(
        Example("codecompass config show", "all settings"),
        Example("codecompass config show query.freshness_policy", "one setting, with what it means"),
        Example("CODECOMPASS_QUERY_DEFAULT_LIMIT=20 codecompass config show query", "see a variable take effect"),
        Example("codecompass config show --json | jq '.settings[] | select(.source != \"default\")'", "what was changed"),
    ),
)
@asyncclick.argument("key", required=False)
def show(invocation: Invocation, key: str | None) -> None:
    """Prints the settings."""
    options = invocation.options
    root = _project_root(invocation)
    loaded = invocation.load(root)
    values = [_resolved(invocation, value) for value in loaded.values]
    chosen = [value for value in values if key is None or value.key == key or value.key.partition(".")[0] == key]
    if key is not None and not chosen:
        raise _unknown(key, [value.key for value in values])
    files = _files(invocation, root)
    if options.as_json:
        _print_json(invocation, files, chosen, loaded.refused)
        return
    terminal = invocation.terminal
    for refusal in loaded.refused:
        terminal.warn(refusal)
    for file in files if key is None else ():
        missing = "" if file.exists else " (none)"
        terminal.line(terminal.style(f"# {file.source}: {printable(file.path)}{missing}", "dim"))
    width = max(len(value.key.partition(".")[2]) for value in chosen)
    section = ""
    for value in chosen:
        if value.key.partition(".")[0] != section:
            section = value.key.partition(".")[0]
            terminal.line(("\n" if key is None else "") + terminal.style(f"[{section}]", "bold"))
        terminal.line(_line(invocation, value, width))
        if key is not None:
            terminal.line(terminal.style(f"    {value.description}", "dim"))


def _unknown(key: str, known: list[str]) -> InvalidInput:
    """Returns the error, with a suggestion. Sections and last parts are compared too: `limit` suggests `query.default_limit`."""
    names = {each.rpartition(".")[2]: each for each in known} | {each.partition(".")[0]: each.partition(".")[0] for each in known}
    near = difflib.get_close_matches(key, known, n=1) or difflib.get_close_matches(key.rpartition(".")[2], names, n=1, cutoff=0.5)
    meant = f" Did you mean {names.get(near[0], near[0])!r}?" if near else ""
    return InvalidInput(f"there is no setting {key!r}.{meant} List them with: codecompass config show", field="key", value=key)


def _project_root(invocation: Invocation) -> Path | None:
    """Returns the root of the project whose file applies. Warns if the store cannot be opened: a setting may be the cause."""
    from codecompass.cli.workspace import choose

    options = invocation.options
    try:
        with invocation.registry() as registry:
            return choose(registry, options).root
    except ProjectNotFound:
        if options.workspace is not None or options.project_id is not None:
            raise
    except (PermissionDenied, IndexDamaged, StoreNewer, DeadlineExceeded) as error:
        invocation.terminal.warn(error.message)
    return None


def _line(invocation: Invocation, value: EffectiveValue, width: int) -> str:
    style = invocation.terminal.style
    is_default = value.layer == "default"
    name = value.key.partition(".")[2].ljust(width)
    shown = printable(_toml(value.value))
    origin = "" if is_default else value.layer + (f": {printable(value.where)}" if value.where else "")
    # Comments, so that what is printed can be pasted into a file.
    unit = f"  # {value.unit}" if value.unit else ""
    origin = origin and ("; " if unit else "  # ") + origin
    shown = shown if is_default else style(shown, "bold")
    return f"  {style(name, 'cyan')} = {shown}{style(unit, 'dim')}{style(origin, 'yellow')}"


def _toml(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, tuple):
        return "[" + ", ".join(_toml(item) for item in value) + "]"
    return f'"{value}"' if isinstance(value, str) else str(value)


def _resolved(invocation: Invocation, value: EffectiveValue) -> EffectiveValue:
    """Returns the value for people: an empty `storage.data_dir` is the platform's directory, and URLs show no user."""
    shown = _without_passwords(value.value)
    if value.key == "storage.data_dir" and not value.value:
        shown = str(invocation.home.root)
    return EffectiveValue(value.key, shown, value.layer, value.where, value.unit, value.description)


def _without_passwords(value: object) -> object:
    if isinstance(value, tuple):
        return tuple(map(_without_passwords, value))
    return with_hidden_user(value) if isinstance(value, str) else value


def _files(invocation: Invocation, root: Path | None) -> tuple[File, ...]:
    config = invocation.options.config
    paths = [] if config is None else [("config file", Path(config).expanduser().absolute())]
    paths += [] if root is None else [("project file", project_file(root))]
    paths += [("user file", user_file())]
    return tuple(File(source, str(path), path.is_file()) for source, path in paths)


def _print_json(invocation: Invocation, files: tuple[File, ...], values: list[EffectiveValue], refused: tuple[str, ...]) -> None:

    variables = {setting.key: setting.variable for setting in known_settings()}
    settings = tuple(
        Value(
            key=value.key,
            value=value.value,
            source=value.layer,
            where=value.where,
            unit=value.unit,
            variable=variables[value.key],
            description=value.description,
        )
        for value in values
    )
    invocation.print_json(Report(files, settings, refused))
