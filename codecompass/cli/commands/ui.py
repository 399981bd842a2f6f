"""`codecompass ui`: a server over HTTP for this machine alone, and its page in a browser."""

import sys
from typing import Final

import asyncclick
from msgspec.structs import replace

from codecompass.cli.command import command
from codecompass.cli.help import Example
from codecompass.cli.invocation import Invocation
from codecompass.errors import ProjectNotFound

_DISPLAYS: Final = ("DISPLAY", "WAYLAND_DISPLAY")


@command(
    "ui",
    text="""
    Look at code, projects and jobs in a browser.

    Starts a server on this machine, prints the address of its page and opens it in the browser. The page begins with the
    project that the current directory belongs to, and shows all others that are known. Every server over HTTP has the same
    page at /ui: codecompass serve-mcp --transport http. Ctrl-C ends it.
    """,
    examples=(
        Example("codecompass ui", "this project, in the browser"),
        Example("codecompass ui --no-open --port 9200", "say the address alone; for a tunnel: ssh -L 9200:127.0.0.1:9200 HOST"),
        Example("codecompass ui --allowed-root ~/src", "show nothing outside of a directory"),
    ),
)
@asyncclick.option("--port", type=int, metavar="N", default=0, help="Port to listen on; a free one unless given.")
@asyncclick.option(
    "--open/--no-open", "opens", default=None, help="Open the browser, or do not; opened where there is a display."
)
@asyncclick.option(
    "--allowed-root",
    "allowed_roots",
    metavar="PATH",
    multiple=True,
    type=asyncclick.Path(),
    help="Show nothing outside of this directory. Can be given several times.",
)
@asyncclick.option(
    "--log-file", metavar="FILE", type=asyncclick.Path(dir_okay=False), help="Append the log to this file instead of stderr."
)
def ui(invocation: Invocation, /, port: int, opens: bool | None, allowed_roots: tuple[str, ...], log_file: str | None) -> int:
    """Serves until a signal arrives."""
    from codecompass.cli.serving import serve

    invocation.options = replace(invocation.options, as_json=False)
    project = _project_id(invocation)
    flags: dict[str, object] = {"server.transport": "http", "server.bind": "127.0.0.1", "server.port": port}
    if allowed_roots:
        flags["server.allowed_roots"] = allowed_roots

    def greet(address: str) -> None:
        page = f"{address}/ui" + (f"?project={project}" if project else "")
        invocation.terminal.out.write(f"{page}\n")
        invocation.terminal.out.flush()
        invocation.terminal.note("End it with Ctrl-C.", "dim")
        if _has_display(invocation) if opens is None else opens:
            # The socket is listening: the browser's requests are answered as soon as the server is ready.
            import webbrowser

            webbrowser.open(page)

    return serve(invocation, flags, (), log_file, greet=greet)


def _project_id(invocation: Invocation) -> str:
    """Returns the id of the project to begin with, registering it if necessary. Returns an empty id if there is none, or none
    that markers identify: the page can be opened outside of a project too."""
    from codecompass.cli.workspace import choose, project_for_question
    from codecompass.projects.detection import never_projects
    from codecompass.scan.roots import marked_root

    options = invocation.options
    is_named = options.workspace is not None or options.project_id is not None
    with invocation.registry() as registry:
        try:
            choice = choose(registry, options)
            is_known = is_named or choice.project is not None
            if not is_known and marked_root(choice.root, frozenset(never_projects())) is None:
                return ""
            return project_for_question(invocation, registry, choice).project_id
        except ProjectNotFound:
            if is_named:
                raise
            return ""


def _has_display(invocation: Invocation) -> bool:
    """Whether the user would see a browser that is opened here."""
    environment = invocation.environment
    if "SSH_CONNECTION" in environment or not sys.stdout.isatty():
        return False
    return sys.platform == "darwin" or any(environment.get(name) for name in _DISPLAYS)
