"""`codecompass cluster`: an organisation's repositories in a search engine, the workers that index them, and the tokens of those
who may query them.

Modules that need the engine's client are imported after `cli/cluster/engine.py` has checked that it is installed.
"""

from collections.abc import Callable
from functools import wraps
from typing import Any, Final

import asyncclick

from codecompass.cli.cluster.engine import ChosenCluster, opened_cluster, opened_engine, opened_repositories, run_worker_process
from codecompass.cli.command import command
from codecompass.cli.help import CommandEntry, Example, LazyGroup
from codecompass.cli.invocation import Invocation
from codecompass.errors import InvalidInput

_REPOSITORIES: Final = "Repositories"
_RUNNING: Final = "Machines"
_OPERATION: Final = "codecompass.cli.commands.cluster_operation"

cluster = LazyGroup(
    "cluster",
    help="""
    Index an organisation's repositories into OpenSearch, on any number of machines.

    Repositories are added by the address of their git remote. Workers, started on any machines, fetch and index them and keep
    them up to date; servers (codecompass serve-mcp --store opensearch) answer for all of them. Needs an OpenSearch, and
    pip install 'codecompass[cluster]'.
    """,
    entries=(
        CommandEntry("add", _REPOSITORIES, "Add a repository, or change what is wanted of one.", __name__),
        CommandEntry("list", _REPOSITORIES, "List all repositories.", __name__, "list_repositories"),
        CommandEntry("changed", _REPOSITORIES, "Have a worker look at a repository now.", __name__),
        CommandEntry("move", _REPOSITORIES, "Follow a repository to another address.", __name__, "move_repository"),
        CommandEntry("reindex", _REPOSITORIES, "Have repositories indexed anew.", _OPERATION),
        CommandEntry("pause", _REPOSITORIES, "Have workers leave repositories alone.", _OPERATION),
        CommandEntry("resume", _REPOSITORIES, "Have workers go on with them.", _OPERATION),
        CommandEntry("remove", _REPOSITORIES, "Take a repository out.", __name__),
        CommandEntry(
            "source",
            _REPOSITORIES,
            "Follow all repositories of an owner at a code host.",
            "codecompass.cli.commands.cluster_sources",
        ),
        CommandEntry("token", _RUNNING, "Say who may ask, and for which groups.", "codecompass.cli.commands.cluster_tokens"),
        CommandEntry("worker", _RUNNING, "Fetch and index repositories until told to stop.", __name__),
        CommandEntry("drain", _RUNNING, "Pause everything, and wait until no worker is at work.", _OPERATION),
        CommandEntry("status", _RUNNING, "Show how the cluster is, what waits and what went wrong.", __name__),
        CommandEntry("doctor", _RUNNING, "Find what is wrong with a cluster, and what to do about it.", _OPERATION),
    ),
    examples=(
        Example("codecompass cluster add https://git.example.org/shop/api --group backend", "index it, for whoever sees backend"),
        Example("codecompass cluster worker", "one worker; start as many as you like, anywhere"),
        Example("codecompass cluster status", "what waits, who works, what went wrong"),
    ),
)


def cluster_options(function: Callable[..., int]) -> Callable[..., int]:
    """Adds the options that choose the cluster, which the command gets as `chosen`."""

    @wraps(function)
    def choosing(*arguments: Any, cluster_url: str | None, cluster_prefix: str | None, **parameters: Any) -> int:  # noqa: ANN401 (the command's own)
        return function(*arguments, chosen=ChosenCluster(cluster_url, cluster_prefix), **parameters)

    url = asyncclick.option(
        "--cluster-url", metavar="URLS", help="Addresses of OpenSearch nodes, with commas; or CODECOMPASS_CLUSTER_URL."
    )
    prefix = asyncclick.option("--cluster-prefix", metavar="NAME", help="What the names of its indexes begin with; codecompass.")
    return url(prefix(choosing))


@command(
    "add",
    text="""
    Add a repository, or change what is wanted of one that is there.

    URL is https://..., ssh://... or git@host:path; different addresses of the same repository count as one. Without --ref its
    default branch is indexed. Credentials stay with git on the machines of the workers (credential helpers, ssh keys): an address
    with a password is refused. Repositories are seen through their groups; one in no group is seen by administrators alone.

    --file adds many at once: one address a line, with ref=NAME, group=GROUP and name=NAME after it, and # before comments;
    --ref and --group are for lines that give none. Lines that are wrong are named and left out (exit code 1); what is there
    as it is asked for stays untouched, so the same file can be added again.
    """,
    examples=(
        Example("codecompass cluster add https://git.example.org/shop/api --group backend", "its default branch"),
        Example("codecompass cluster add git@git.example.org:shop/api --ref HEAD --ref 'release/*'", "and its newest releases"),
        Example("codecompass cluster add https://git.example.org/shop/api --name api", "call it api, from now on"),
        Example("codecompass cluster add --file repositories.txt --group everyone", "all of a file"),
    ),
    chooses_project=False,
)
@cluster_options
@asyncclick.argument("url", required=False)
@asyncclick.option("--file", metavar="FILE", help="Add those of this file, one a line; - reads standard input.")
@asyncclick.option("--ref", "refs", metavar="NAME", multiple=True, help="Branch, tag or pattern to index; HEAD is the default.")
@asyncclick.option("--group", "groups", metavar="GROUP", multiple=True, help="Group that the repository is in.")
@asyncclick.option("--name", metavar="NAME", help="What it is called; the last two parts of its address unless given.")
def add(
    invocation: Invocation,
    /,
    url: str | None,
    file: str | None,
    refs: tuple[str, ...],
    groups: tuple[str, ...],
    name: str | None,
    chosen: ChosenCluster,
) -> int:
    """Adds or changes a repository, or those of a file."""

    if (url is None) == (file is None) or (file is not None and name is not None):
        raise InvalidInput("give the URL of a repository, or --file FILE without --name.", field="url")
    if file is not None or url is None:
        with opened_cluster(invocation, chosen, makes_indexes=True) as (engine, opened):
            from codecompass.cli.cluster import operation

            return operation.add_from_file(invocation, engine, opened, file or "-", refs=refs, groups=groups)
    with opened_repositories(invocation, chosen, makes_indexes=True) as opened:
        from codecompass.cli.cluster import repositories

        return repositories.add(invocation, opened, url, refs=refs, groups=groups, name=name)


@command(
    "list",
    text="List all repositories with their state, refs and groups.",
    examples=(
        Example("codecompass cluster list", "all repositories"),
        Example("codecompass cluster list --json | jq -r '.repositories[] | select(.trouble) | .name'", "those with trouble"),
    ),
    chooses_project=False,
)
@cluster_options
def list_repositories(invocation: Invocation, /, chosen: ChosenCluster) -> int:
    """Prints all repositories."""

    with opened_repositories(invocation, chosen) as opened:
        from codecompass.cli.cluster import repositories

        return repositories.show_all(invocation, opened)


@command(
    "changed",
    text="""
    Have a worker look at a repository now, whether or not it is being polled or rests after a failure.

    REPOSITORY is its name, address or id. With --rebuild all of it is indexed anew: what an index that is damaged needs. What is
    there answers until that is done.
    """,
    examples=(
        Example("codecompass cluster changed shop/api", "something was pushed, or its remote was put right"),
        Example("codecompass cluster changed --rebuild shop/api", "index all of it anew"),
    ),
    chooses_project=False,
)
@cluster_options
@asyncclick.argument("repository")
@asyncclick.option("--rebuild", is_flag=True, help="Use nothing of what is there.")
def changed(invocation: Invocation, /, repository: str, rebuild: bool, chosen: ChosenCluster) -> int:
    """Makes a worker check a repository."""

    with opened_repositories(invocation, chosen) as opened:
        from codecompass.cli.cluster import repositories

        return repositories.note_changed(invocation, opened, repository, rebuild=rebuild)


@command(
    "remove",
    text="""
    Take a repository out. It is not found from now on; workers clean it away within minutes.

    REPOSITORY is its name, address or id. The remote is not touched.
    """,
    examples=(Example("codecompass cluster remove shop/api", "by name"),),
    chooses_project=False,
)
@cluster_options
@asyncclick.argument("repository")
def remove(invocation: Invocation, /, repository: str, chosen: ChosenCluster) -> int:
    """Removes a repository."""

    with opened_repositories(invocation, chosen, makes_indexes=True) as opened:
        from codecompass.cli.cluster import repositories

        return repositories.remove(invocation, opened, repository)


@command(
    "move",
    text="""
    Follow a repository to another address, with its refs, groups and name.

    REPOSITORY is its name, address or id. The new address is indexed anew; until that is done the old index goes on answering,
    and then it is taken out. Repositories of a source are followed by themselves.
    """,
    examples=(Example("codecompass cluster move shop/api https://git.example.org/store/api", "it belongs to another owner now"),),
    chooses_project=False,
)
@cluster_options
@asyncclick.argument("repository")
@asyncclick.argument("url")
def move_repository(invocation: Invocation, /, repository: str, url: str, chosen: ChosenCluster) -> int:
    """Moves a repository."""

    with opened_repositories(invocation, chosen, makes_indexes=True) as opened:
        from codecompass.cli.cluster import sources

        return sources.move_repository(invocation, opened, repository, url)


@command(
    "status",
    text="Show how the search engine is, how many repositories wait, who works on which, and what went wrong.",
    examples=(
        Example("codecompass cluster status", "everything at a glance"),
        Example("codecompass cluster status --json | jq .engine.status", "green, yellow (a copy is missing) or red"),
    ),
    chooses_project=False,
)
@cluster_options
def status(invocation: Invocation, /, chosen: ChosenCluster) -> int:
    """Prints the state of the cluster."""

    with opened_repositories(invocation, chosen) as opened:
        from codecompass.cli.cluster import repositories

        return repositories.show_status(invocation, opened)


@command(
    "worker",
    text="""
    Fetch and index repositories until told to stop (Ctrl-C, SIGTERM).

    Start any number, on any machines; each claims what needs work, and takes over from one that died. Its data directory
    (CODECOMPASS_HOME) is a cache that may be lost; storage.max_size bounds it. Git fetches with the credentials of the
    user that it runs as. Logs go to stderr.
    """,
    examples=(
        Example("codecompass cluster worker --cluster-url http://search-1:9200,http://search-2:9200", "one repository at a time"),
        Example("codecompass cluster worker --jobs 4", "four at a time, on a machine with cores and memory for that"),
    ),
    chooses_project=False,
)
@cluster_options
@asyncclick.option("--jobs", type=asyncclick.IntRange(1, 64), default=2, metavar="N", help="Repositories at a time; 2.")
@asyncclick.option("--bind", metavar="ADDR", help="Address for the metrics, 127.0.0.1 unless set otherwise.")
@asyncclick.option("--metrics-port", type=int, metavar="N", help="Port for GET /metrics; none unless set.")
def worker(
    invocation: Invocation,
    /,
    jobs: int,
    bind: str | None,
    metrics_port: int | None,
    chosen: ChosenCluster,
) -> int:
    """Runs a worker until a signal arrives."""

    listening = {"server.bind": bind, "server.metrics_port": metrics_port}
    with opened_engine(invocation, chosen, listening, is_patient=True) as (engine, settings):
        return run_worker_process(invocation, engine, settings, jobs)
