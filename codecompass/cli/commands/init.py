"""`codecompass init`: registers a project, names it, makes it the default."""

import asyncclick

from codecompass.cli.command import command as make_command
from codecompass.cli.help import Example
from codecompass.cli.invocation import Invocation
from codecompass.cli.json_output import ProjectName
from codecompass.cli.terminal import printable

HELP = """
    Make a project known and give it a name.

    PATH is the project's directory; without it, the project that the current directory belongs to. Nothing is written
    into the project. Running it again is harmless, and changes the name if --project-id is given.

    The first project made known is the default: the one that a server uses for callers that name none.
"""


@make_command(
    "init",
    text=HELP,
    examples=(
        Example("codecompass init", "this project, under its id"),
        Example("codecompass init --project-id web-shop", "this project, as web-shop"),
        Example("codecompass init ~/src/api --default", "another directory, and the default from now on"),
    ),
    chooses_project=False,
)
@asyncclick.argument("path", required=False, type=asyncclick.Path(file_okay=False))
@asyncclick.option("--workspace", metavar="PATH", type=asyncclick.Path(), help="The same as the argument PATH.")
@asyncclick.option(
    "--project-id",
    "alias",
    metavar="NAME",
    help="The name: 1 to 50 lower-case letters, digits and single hyphens between them.",
)
@asyncclick.option("--default", "is_default", is_flag=True, help="Make it the default project.")
def command(invocation: Invocation, path: str | None, workspace: str | None, alias: str | None, is_default: bool) -> None:
    """Registers the project."""
    from codecompass.cli.workspace import choose, ensure_registered
    from codecompass.protocol.encode import encode
    from codecompass.store.registry import check_alias

    options = invocation.options
    name = options.project_id if alias is None else alias
    if name is not None:
        check_alias(name)
    with invocation.registry() as registry:
        choice = choose(registry, workspace=path or workspace or options.workspace, name=None, may_be_empty=True)
        if name is not None:
            registry.require_free(name, None if choice.project is None else choice.project.project_id)
        project = ensure_registered(registry, choice)
        is_new = choice.project is None
        project = registry.adopt(project.project_id, alias=name, as_default=True if is_default else None)
    if options.as_json:
        found = ProjectName(
            project_id=project.project_id, name=project.name, repo_root=str(project.root), is_default=project.is_default
        )
        invocation.terminal.json(encode(found))
        return
    terminal = invocation.terminal
    known = "is known now" if is_new else "was known already"
    default = ", the default project" if project.is_default else ""
    terminal.line(f"{printable(str(project.root))} {known} as {terminal.style(project.name, 'bold')}{default}")
    if not invocation.home.project(project.project_id).current.exists():
        terminal.note("next: codecompass index", "dim")
