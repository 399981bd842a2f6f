"""`codecompass cluster source`: the owners at code hosts whose repositories are followed."""

import asyncclick

from codecompass.cli.cluster.engine import ChosenCluster, opened_engine
from codecompass.cli.command import command
from codecompass.cli.commands.cluster import cluster_options
from codecompass.cli.help import CommandEntry, Example, LazyGroup
from codecompass.cli.invocation import Invocation

source = LazyGroup(
    "source",
    help="""
    Follow all repositories of an organisation, group or user at a code host: GitHub, GitLab, Gitea, Forgejo, Bitbucket, Gerrit,
    Azure DevOps.

    Workers list them every ten minutes (cluster.discover_seconds), and soon after a webhook: new ones are added, renamed and
    moved ones are followed, and those that are gone are taken out. Tokens for hosts are files on the machines of the workers
    (cluster.host_tokens).
    """,
    entries=(
        CommandEntry("add", "Commands", "Follow an owner, or change what is wanted of one.", __name__, "add_source"),
        CommandEntry("list", "Commands", "List all sources, and what went wrong.", __name__, "list_sources"),
        CommandEntry("check", "Commands", "Have a worker list the repositories of one now.", __name__, "check_source"),
        CommandEntry("remove", "Commands", "Follow an owner no longer; the repositories stay.", __name__, "remove_source"),
    ),
    examples=(
        Example("codecompass cluster source add https://github.com/pallets --group everyone", "all its repositories"),
        Example("codecompass cluster source list", "what is followed, and what went wrong"),
    ),
)


@command(
    "add",
    text="""
    Follow all repositories of an owner at a code host, or change what is wanted of one that is followed.

    URL is https://HOST/OWNER: an organisation, a group with its subgroups, a user, a workspace, a project; of Gerrit also only
    the host. Options that are not given have their defaults again. Archived repositories and forks are left out unless asked for.
    """,
    examples=(
        Example("codecompass cluster source add https://github.com/pallets --group everyone", "for all who may ask"),
        Example("codecompass cluster source add https://git.example.org/shop --kind gitea --exclude 'shop/old-*'", "but some"),
    ),
    chooses_project=False,
)
@cluster_options
@asyncclick.argument("url")
@asyncclick.option("--kind", default="", metavar="KIND", help="github, gitlab, gitea (or Forgejo), bitbucket, ...; see the docs.")
@asyncclick.option("--api", default="", metavar="URL", help="Its REST interface, if that is not at the usual place.")
@asyncclick.option("--include", metavar="PATTERN", multiple=True, help="Only repositories whose names match: 'shop/*'.")
@asyncclick.option("--exclude", metavar="PATTERN", multiple=True, help="None whose names match.")
@asyncclick.option("--archived", is_flag=True, help="Also archived ones.")
@asyncclick.option("--forks", is_flag=True, help="Also forks.")
@asyncclick.option("--ref", "refs", metavar="NAME", multiple=True, help="Branch, tag or pattern to index, of each.")
@asyncclick.option("--group", "groups", metavar="GROUP", multiple=True, help="Group that they are in.")
@asyncclick.option("--permissions", is_flag=True, help="Show each to those who may read it there (access.host_permissions).")
def add_source(
    invocation: Invocation,
    /,
    url: str,
    kind: str,
    api: str,
    include: tuple[str, ...],
    exclude: tuple[str, ...],
    archived: bool,
    forks: bool,
    refs: tuple[str, ...],
    groups: tuple[str, ...],
    permissions: bool,
    chosen: ChosenCluster,
) -> int:
    """Adds or changes a source."""
    with opened_engine(invocation, chosen) as (engine, _settings):
        from codecompass.cli.cluster import sources
        from codecompass.cluster.hosts.sources import new_source

        fresh = new_source(
            url,
            kind=kind,
            api=api,
            include=include,
            exclude=exclude,
            archived=archived,
            forks=forks,
            groups=groups,
            refs=refs,
            permissions=permissions,
        )
        return sources.add(invocation, engine, fresh)


@command(
    "list",
    text="List all sources: how many of their repositories were found, when they were last listed, and what went wrong.",
    examples=(
        Example("codecompass cluster source list --json | jq -r '.sources[] | select(.trouble) | .url'", "those that fail"),
    ),
    chooses_project=False,
)
@cluster_options
def list_sources(invocation: Invocation, /, chosen: ChosenCluster) -> int:
    """Prints all sources."""
    with opened_engine(invocation, chosen) as (engine, _settings):
        from codecompass.cli.cluster import sources

        return sources.show_all(invocation, engine)


@command(
    "check",
    text="Have a worker list the repositories of a source now, unless its host's rate limit forbids that.",
    examples=(Example("codecompass cluster source check https://github.com/pallets", "something was added or renamed"),),
    chooses_project=False,
)
@cluster_options
@asyncclick.argument("url")
def check_source(invocation: Invocation, /, url: str, chosen: ChosenCluster) -> int:
    """Requests a look at a source."""
    with opened_engine(invocation, chosen) as (engine, _settings):
        from codecompass.cli.cluster import sources

        return sources.check(invocation, engine, url)


@command(
    "remove",
    text="Follow an owner no longer. Its repositories stay, and are polled as all others; remove them one by one if need be.",
    examples=(Example("codecompass cluster source remove https://github.com/pallets", "by address"),),
    chooses_project=False,
)
@cluster_options
@asyncclick.argument("url")
def remove_source(invocation: Invocation, /, url: str, chosen: ChosenCluster) -> int:
    """Removes a source."""
    with opened_engine(invocation, chosen) as (engine, _settings):
        from codecompass.cli.cluster import sources

        return sources.remove(invocation, engine, url)
