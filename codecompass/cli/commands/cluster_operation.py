"""The commands that look after a cluster: `cluster doctor`, `reindex`, `pause`, `resume`, `drain`."""

import asyncclick

from codecompass.cli.cluster.engine import ChosenCluster, opened_engine, opened_repositories
from codecompass.cli.command import command
from codecompass.cli.commands.cluster import cluster_options
from codecompass.cli.help import Example
from codecompass.cli.invocation import Invocation


@command(
    "doctor",
    text="""
    Find what is wrong with a cluster, and what to do about it.

    Looks at the engine's nodes and copies, their versions, disks and clocks, at leases that are not renewed (which takes 15
    seconds while workers are at work), repositories that wait or fail, indexes of other versions, and whether the store of
    segments can be written, listed, read and removed from. The exit code is 1 if anything fails.
    """,
    examples=(
        Example("codecompass cluster doctor", "check everything"),
        Example("codecompass cluster doctor --json | jq '.checks[] | select(.status != \"ok\")'", "only what needs attention"),
    ),
    chooses_project=False,
)
@cluster_options
def doctor(invocation: Invocation, /, chosen: ChosenCluster) -> int:
    """Prints the results of all checks."""

    with opened_engine(invocation, chosen) as (engine, settings):
        from codecompass.cli.cluster import operation

        return operation.diagnose(invocation, engine, settings.cluster)


@command(
    "reindex",
    text="""
    Have repositories indexed anew, from nothing. What is there answers until each is done.

    REPOSITORY is a name, an address or an id.
    """,
    examples=(
        Example("codecompass cluster reindex shop/api shop/web", "these two"),
        Example("codecompass cluster reindex --outdated", "all that an older version has indexed"),
    ),
    chooses_project=False,
)
@cluster_options
@asyncclick.argument("repositories", metavar="[REPOSITORY]...", nargs=-1)
@asyncclick.option("--all", "is_all", is_flag=True, help="All repositories.")
@asyncclick.option("--outdated", "is_outdated", is_flag=True, help="All that an older version of this program has indexed.")
def reindex(
    invocation: Invocation,
    /,
    repositories: tuple[str, ...],
    is_all: bool,
    is_outdated: bool,
    chosen: ChosenCluster,
) -> int:
    """Requests rebuilds."""

    with opened_repositories(invocation, chosen) as opened:
        from codecompass.cli.cluster import operation

        return operation.reindex(invocation, opened, repositories, is_all=is_all, is_outdated=is_outdated)


@command(
    "pause",
    text="""
    Have workers neither poll nor index repositories, until they are resumed. What is published goes on answering.

    REPOSITORY is a name, an address or an id. A turn that a worker is in is finished.
    """,
    examples=(
        Example("codecompass cluster pause shop/api", "one repository, for example while its remote is moved"),
        Example("codecompass cluster pause --all", "all of them"),
    ),
    chooses_project=False,
)
@cluster_options
@asyncclick.argument("repositories", metavar="[REPOSITORY]...", nargs=-1)
@asyncclick.option("--all", "is_all", is_flag=True, help="All repositories.")
def pause(
    invocation: Invocation,
    /,
    repositories: tuple[str, ...],
    is_all: bool,
    chosen: ChosenCluster,
) -> int:
    """Pauses repositories."""

    with opened_repositories(invocation, chosen) as opened:
        from codecompass.cli.cluster import operation

        return operation.set_paused(invocation, opened, repositories, is_all=is_all, is_paused=True)


@command(
    "resume",
    text="Have workers go on with repositories that were paused. Each is looked at at once.",
    examples=(
        Example("codecompass cluster resume shop/api", "one repository"),
        Example("codecompass cluster resume --all", "all of them, as after a drain"),
    ),
    chooses_project=False,
)
@cluster_options
@asyncclick.argument("repositories", metavar="[REPOSITORY]...", nargs=-1)
@asyncclick.option("--all", "is_all", is_flag=True, help="All repositories.")
def resume(
    invocation: Invocation,
    /,
    repositories: tuple[str, ...],
    is_all: bool,
    chosen: ChosenCluster,
) -> int:
    """Resumes repositories."""

    with opened_repositories(invocation, chosen) as opened:
        from codecompass.cli.cluster import operation

        return operation.set_paused(invocation, opened, repositories, is_all=is_all, is_paused=False)


@command(
    "drain",
    text="""
    Pause all repositories and wait until no worker is at work: before the machines of workers are stopped, before a snapshot,
    before an upgrade. Servers go on answering.

    Turns that are running are finished. The exit code is 1 if some still run when the time is up.
    """,
    examples=(
        Example("codecompass cluster drain", "wait up to ten minutes"),
        Example("codecompass cluster resume --all", "and go on afterwards"),
    ),
    chooses_project=False,
)
@cluster_options
@asyncclick.option("--timeout", "seconds", type=asyncclick.IntRange(0), default=600, metavar="SECONDS", help="600 unless given.")
def drain(invocation: Invocation, /, seconds: int, chosen: ChosenCluster) -> int:
    """Waits until no repository is worked on."""

    with opened_repositories(invocation, chosen) as opened:
        from codecompass.cli.cluster import operation

        return operation.drain(invocation, opened, seconds)
