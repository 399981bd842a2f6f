"""Which project a request or command means: the rule that the server, the bridge and the command line share, and what flags,
settings and environment say about it.

The sources that name the project, the strongest first, and who uses them (S server, B bridge, C command line):

    arguments of the request or command          S C
    --workspace of the process, which pins it    S B    only ?project_path= is stronger; nothing below counts
    client roots                                 S
    ?project_path=                               S
    CODECOMPASS_PROJECT, CLAUDE_PROJECT_DIR      S B
    active project of a peer server              S
    current directory                            S B C  over HTTP only with --project-from-cwd
    default project                              S

The root of the project that a named directory belongs to, the first that applies:

    the nearest registered root at or above it; a git work tree inside of that root is a separate project
    the root that its markers give, for sources that say only where somebody works: client roots, CLAUDE_PROJECT_DIR, current
        directory
    the directory itself; a current directory only if the user says so, and never one of `never_projects`
"""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, Literal, get_args

from msgspec import Struct

from codecompass.errors import InvalidInput
from codecompass.identity import canonical_root
from codecompass.protocol.requests import MAX_PATH_LENGTH
from codecompass.remote.address import parse_address
from codecompass.scan.git_roots import ANYWHERE, GitRoots
from codecompass.settings import DEFAULT_UNMARKED_FILES, ServerSettings

VariableName = Literal["CODECOMPASS_PROJECT", "CLAUDE_PROJECT_DIR"]

PROJECT_VARIABLES: Final[tuple[VariableName, ...]] = get_args(VariableName)
"""Environment variables that name the project, the strongest first. Claude Code sets the second for every server."""

SourceName = Literal[
    "workspace",
    "project_id",
    "project_path",
    "--workspace",
    "client roots",
    "CODECOMPASS_PROJECT",
    "CLAUDE_PROJECT_DIR",
    "active project",
    "current directory",
    "default project",
]

WORKING_PLACES: Final[frozenset[SourceName]] = frozenset({"client roots", "CLAUDE_PROJECT_DIR", "current directory"})
"""Sources that say where somebody works, not which project they want: markers at or above the directory count."""

DISK_ROOT: Final = Path("/")

SYSTEM_DIRECTORIES: Final = (
    "/bin",
    "/boot",
    "/dev",
    "/etc",
    "/home",
    "/lib",
    "/lib64",
    "/media",
    "/mnt",
    "/opt",
    "/proc",
    "/root",
    "/run",
    "/sbin",
    "/srv",
    "/sys",
    "/usr",
    "/usr/bin",
    "/usr/include",
    "/usr/lib",
    "/usr/local",
    "/usr/share",
    "/usr/src",
    "/var",
    "/var/cache",
    "/var/lib",
    "/var/log",
    "/Applications",
    "/Library",
    "/System",
    "/Users",
    "/Volumes",
)
TEMPORARY_DIRECTORIES: Final = ("/tmp", "/var/tmp", "/dev/shm", "/private/tmp")
"""Directories of the system that hold many things of many owners. What lies in them may well be a project."""

ACTIVE_PROJECT_ENDPOINT: Final = "/api/v1/projects/active"
"""Path appended to the URL of the peer."""

_HTTP_PORT: Final = 80


class RoutingRules(Struct, frozen=True, kw_only=True):
    """How a server finds the project of a request. All paths but those of `environment` are canonical."""

    pinned: tuple[Path, ...] = ()
    """Roots given with `--workspace`; the first is for requests that name none."""
    allowed_roots: tuple[Path, ...] = ()
    """Directories within which projects may lie; empty for anywhere."""
    allowed_git_dirs: tuple[Path, ...] = ()
    """Further directories within which parts of their repositories may lie. Count only with allowed roots."""
    auto_workspace: bool = False
    """Whether unknown projects below the allowed roots are registered when a request names them."""
    max_auto_workspaces: int = 10
    """Number of discovered workspaces from which the next one evicts another."""
    project_from_cwd: bool = False
    """Whether the current directory counts for every client, and without markers."""
    environment: tuple[tuple[VariableName, str], ...] = ()
    """The variables that are set, the strongest first."""
    cwd: Path | None = None
    """The current directory; None if it is gone."""
    never: frozenset[Path] = frozenset()
    """Directories that are projects only if somebody registered them: see `never_projects`."""
    max_unmarked_files: int = DEFAULT_UNMARKED_FILES
    """How many files a directory without a marker may hold to become a project by a question alone."""
    active_project: "ActiveProjectPeer | None" = None

    def visible_roots(self, default: Path | None) -> tuple[Path, ...]:
        """Returns the roots within which projects exist for clients, given the root of the default project, if there is one;
        empty for anywhere."""
        if not self.allowed_roots:
            return ()
        return (*self.allowed_roots, *self.pinned, *(() if default is None else (default,)))

    @property
    def git_roots(self) -> GitRoots:
        """The directories within which the repositories of projects must lie, besides the root of the project itself."""
        if not self.allowed_roots:
            return ANYWHERE
        places = (*self.allowed_roots, *self.pinned, *self.allowed_git_dirs)
        return GitRoots(tuple(dict.fromkeys(map(str, places))))

    @property
    def stated(self) -> tuple[tuple[SourceName, str], ...]:
        """The paths from flags and environment, the strongest first: the first pinned workspace alone, else the variables."""
        return (("--workspace", str(self.pinned[0])),) if self.pinned else self.environment


class ActiveProjectPeer(Struct, frozen=True, kw_only=True):
    """The server to query for the active project. `authority` is the value of the header Host, `target` the path."""

    host: str
    port: int
    authority: str
    target: str
    timeout_seconds: float
    cache_seconds: float


def project_root(*, registered: Path | None, git_root: Path | None, marked: Path | None = None) -> Path | None:
    """Returns the root of the project that a directory belongs to; None if only the directory itself remains. Pure.

    `registered` is the nearest registered root at or above the directory, `git_root` the innermost git work tree, `marked` the
    root that its markers give (None if they do not count). All are canonical.
    """
    if registered is None:
        return marked
    is_inside = git_root is not None and git_root != registered and git_root.is_relative_to(registered)
    return git_root if is_inside else registered


def never_projects() -> dict[Path, str]:
    """Returns the canonical directories that are a project only if somebody registered them, each with a description."""
    import tempfile

    return {
        **{canonical_root(path): "a directory of the system" for path in SYSTEM_DIRECTORIES},
        **{canonical_root(path): "for temporary files" for path in (*TEMPORARY_DIRECTORIES, tempfile.gettempdir())},
        canonical_root(os.path.expanduser("~")): "your home directory",
        DISK_ROOT: "the root of the disk",
    }


def routing_rules(
    settings: ServerSettings,
    *,
    environment: Mapping[str, str],
    cwd: str | None,
    workspaces: Sequence[str] = (),
    max_unmarked_files: int = DEFAULT_UNMARKED_FILES,
) -> RoutingRules:
    """Returns the rules that flags, settings and the environment give. Blocking; at the start only.

    `workspaces` are the paths of `--workspace`; `cwd` is None if the current directory is gone.

    Raises InvalidInput for `--auto-workspace` without allowed roots, for an allowed root or workspace that is not a directory,
    for `--project-from-cwd` without a current directory, for a peer that is not a URL, for a variable longer than a path may be.
    """
    if settings.auto_workspace and not settings.allowed_roots:
        raise InvalidInput("--allowed-root is required when --auto-workspace is enabled", field="allowed_roots")
    if settings.project_from_cwd and cwd is None:
        raise InvalidInput(
            "--project-from-cwd: the current directory does not exist. Start the server in another.", field="project_from_cwd"
        )
    for name in PROJECT_VARIABLES:
        if len(environment.get(name, "")) > MAX_PATH_LENGTH:
            raise InvalidInput(
                f"the variable {name} is longer than a path may be ({MAX_PATH_LENGTH:,} characters). Correct it.",
                field=name,
                constraint=f"at most {MAX_PATH_LENGTH} characters",
            )
    allowed = tuple(_directory("--allowed-root", path) for path in settings.allowed_roots)
    return RoutingRules(
        pinned=tuple(_directory("--workspace", path) for path in workspaces),
        allowed_roots=allowed,
        allowed_git_dirs=tuple(_directory("--allowed-git-dir", path) for path in settings.allowed_git_dirs),
        auto_workspace=settings.auto_workspace,
        max_auto_workspaces=settings.max_auto_workspaces,
        project_from_cwd=settings.project_from_cwd,
        environment=tuple((name, environment[name]) for name in PROJECT_VARIABLES if environment.get(name, "").strip()),
        cwd=None if cwd is None else canonical_root(cwd),
        never=frozenset(never_projects()),
        max_unmarked_files=max_unmarked_files,
        active_project=_active_project_peer(settings),
    )


def _directory(flag: str, path: str) -> Path:
    real = canonical_root(os.path.expanduser(path))
    if not real.is_dir():
        raise InvalidInput(f"{flag}: {real} is not a directory. Correct the path.", field=flag, value=path)
    return real


def _active_project_peer(settings: ServerSettings) -> ActiveProjectPeer | None:
    url = settings.active_project_url.strip()
    if not url:
        return None
    address = parse_address(url, ("http",))
    if address is None:
        raise _no_peer(url)
    return ActiveProjectPeer(
        host=address.host,
        port=address.port or _HTTP_PORT,
        authority=address.authority,
        target=address.path + ACTIVE_PROJECT_ENDPOINT,
        timeout_seconds=settings.active_project_timeout_ms / 1000,
        cache_seconds=settings.active_project_cache_seconds,
    )


def _no_peer(url: str) -> InvalidInput:
    return InvalidInput(
        f"server.active_project_url must be a URL such as http://127.0.0.1:8000, without user, query or fragment, not {url!r}. "
        "Correct it, or leave it empty. The variable WORKFLOW_MCP_URL sets it too.",
        field="active_project_url",
        value=url,
        constraint="http:// URL",
    )
