"""`codecompass cluster`: an organisation's repositories in a search engine, the workers that index them, and the tokens of those
who may query them.

Modules that need the engine's client are imported after `cli/cluster/engine.py` has checked that it is installed.
"""

from collections.abc import Callable
from typing import Any, Final

import asyncclick

from codecompass.cli.cluster.engine import opened_engine, opened_repositories, run_worker_process
from codecompass.cli.command import command
from codecompass.cli.help import CommandEntry, Example, LazyGroup
from codecompass.cli.invocation import Invocation
from codecompass.errors import InvalidInput

_REPOSITORIES: Final = "Repositories"
_RUNNING: Final = "Machines"

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
        CommandEntry("remove", _REPOSITORIES, "Take a repository out.", __name__),
        CommandEntry("source", _REPOSITORIES, "Follow all repositories of an owner at a code host.", __name__),
        CommandEntry("token", _RUNNING, "Say who may ask, and for which groups.", __name__),
        CommandEntry("worker", _RUNNING, "Fetch and index repositories until told to stop.", __name__),
        CommandEntry("status", _RUNNING, "Show how the cluster is, what waits and what went wrong.", __name__),
    ),
    examples=(
        Example("codecompass cluster add https://git.example.org/shop/api --group backend", "index it, for whoever sees backend"),
        Example("codecompass cluster worker", "one worker; start as many as you like, anywhere"),
        Example("codecompass cluster status", "what waits, who works, what went wrong"),
    ),
)


def cluster_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Adds the options that choose the cluster."""
    url = asyncclick.option(
        "--cluster-url", metavar="URLS", help="Addresses of OpenSearch nodes, with commas; or CODECOMPASS_CLUSTER_URL."
    )
    prefix = asyncclick.option("--cluster-prefix", metavar="NAME", help="What the names of its indexes begin with; codecompass.")
    return url(prefix(function))


@command(
    "add",
    text="""
    Add a repository, or change what is wanted of one that is there.

    URL is https://..., ssh://... or git@host:path; different addresses of the same repository count as one. Without --ref its
    default branch is indexed. Credentials stay with git on the machines of the workers (credential helpers, ssh keys): an address
    with a password is refused. Repositories are seen through their groups; one in no group is seen by administrators alone.
    """,
    examples=(
        Example("codecompass cluster add https://git.example.org/shop/api --group backend", "its default branch"),
        Example("codecompass cluster add git@git.example.org:shop/api --ref HEAD --ref 'release/*'", "and its newest releases"),
        Example("codecompass cluster add https://git.example.org/shop/api --name api", "call it api, from now on"),
    ),
    chooses_project=False,
)
@cluster_options
@asyncclick.argument("url")
@asyncclick.option("--ref", "refs", metavar="NAME", multiple=True, help="Branch, tag or pattern to index; HEAD is the default.")
@asyncclick.option("--group", "groups", metavar="GROUP", multiple=True, help="Group that the repository is in.")
@asyncclick.option("--name", metavar="NAME", help="What it is called; the last two parts of its address unless given.")
def add(
    invocation: Invocation,
    /,
    url: str,
    refs: tuple[str, ...],
    groups: tuple[str, ...],
    name: str | None,
    cluster_url: str | None,
    cluster_prefix: str | None,
) -> int:
    """Adds or changes a repository."""

    with opened_repositories(invocation, cluster_url, cluster_prefix, makes_indexes=True) as opened:
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
def list_repositories(invocation: Invocation, /, cluster_url: str | None, cluster_prefix: str | None) -> int:
    """Prints all repositories."""

    with opened_repositories(invocation, cluster_url, cluster_prefix) as opened:
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
def changed(
    invocation: Invocation, /, repository: str, rebuild: bool, cluster_url: str | None, cluster_prefix: str | None
) -> int:
    """Makes a worker check a repository."""

    with opened_repositories(invocation, cluster_url, cluster_prefix) as opened:
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
def remove(invocation: Invocation, /, repository: str, cluster_url: str | None, cluster_prefix: str | None) -> int:
    """Removes a repository."""

    with opened_repositories(invocation, cluster_url, cluster_prefix, makes_indexes=True) as opened:
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
def move_repository(
    invocation: Invocation, /, repository: str, url: str, cluster_url: str | None, cluster_prefix: str | None
) -> int:
    """Moves a repository."""

    with opened_repositories(invocation, cluster_url, cluster_prefix, makes_indexes=True) as opened:
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
def status(invocation: Invocation, /, cluster_url: str | None, cluster_prefix: str | None) -> int:
    """Prints the state of the cluster."""

    with opened_repositories(invocation, cluster_url, cluster_prefix) as opened:
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
    cluster_url: str | None,
    cluster_prefix: str | None,
) -> int:
    """Runs a worker until a signal arrives."""

    listening = {"server.bind": bind, "server.metrics_port": metrics_port}
    with opened_engine(invocation, cluster_url, cluster_prefix, listening, is_patient=True) as (engine, settings):
        return run_worker_process(invocation, engine, settings, jobs)


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
    cluster_url: str | None,
    cluster_prefix: str | None,
) -> int:
    """Adds or changes a source."""
    with opened_engine(invocation, cluster_url, cluster_prefix) as (engine, _settings):
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
def list_sources(invocation: Invocation, /, cluster_url: str | None, cluster_prefix: str | None) -> int:
    """Prints all sources."""
    with opened_engine(invocation, cluster_url, cluster_prefix) as (engine, _settings):
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
def check_source(invocation: Invocation, /, url: str, cluster_url: str | None, cluster_prefix: str | None) -> int:
    """Requests a look at a source."""
    with opened_engine(invocation, cluster_url, cluster_prefix) as (engine, _settings):
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
def remove_source(invocation: Invocation, /, url: str, cluster_url: str | None, cluster_prefix: str | None) -> int:
    """Removes a source."""
    with opened_engine(invocation, cluster_url, cluster_prefix) as (engine, _settings):
        from codecompass.cli.cluster import sources

        return sources.remove(invocation, engine, url)


token = LazyGroup(
    "token",
    help="""
    Make, list, rotate and revoke the tokens with which agents and people ask this organisation's servers.

    A token is for groups: it may see the repositories that are in one of them. It is kept as a hash, in the search engine that
    CODECOMPASS_CLUSTER_URL names.
    """,
    entries=(
        CommandEntry("add", "Commands", "Make a token for some groups of repositories.", __name__, "add_token"),
        CommandEntry("list", "Commands", "List all tokens, without their texts.", __name__, "list_tokens"),
        CommandEntry("login", "Commands", "Get a token by signing in.", __name__, "login"),
        CommandEntry("rotate", "Commands", "Replace a token by a new one.", __name__, "rotate_token"),
        CommandEntry("revoke", "Commands", "End tokens, within seconds.", __name__, "revoke_token"),
    ),
    examples=(
        Example("codecompass cluster token add alice --group backend", "a token that sees the repositories of one group"),
        Example("codecompass cluster token list", "who has tokens, for what, until when"),
        Example("codecompass cluster token revoke alice", "her tokens are refused from now on"),
    ),
)


@command(
    "add",
    text="""
    Make a token for some groups of repositories, and print it: it is shown this once.

    NAME says whom it is for. Repositories in the group everyone are seen with every token, those in no group by administrators
    alone. It is valid for 90 days unless --days or --no-expiry says otherwise.
    """,
    examples=(
        Example("codecompass cluster token add alice --group backend --group web", "for two groups and ninety days"),
        Example("codecompass cluster token add ci --group backend --days 7", "for a week"),
        Example("codecompass cluster token add operations --admin", "for every repository"),
        Example("codecompass cluster token add monitoring --scope metrics", "for GET /metrics alone"),
    ),
    chooses_project=False,
)
@cluster_options
@asyncclick.argument("name")
@asyncclick.option(
    "--group", "groups", metavar="GROUP", multiple=True, help="Group that may be seen. Can be given several times."
)
@asyncclick.option("--days", type=int, metavar="N", help="Days until it expires; 90 unless given.")
@asyncclick.option("--no-expiry", "is_endless", is_flag=True, help="Valid until it is revoked.")
@asyncclick.option(
    "--scope",
    type=asyncclick.Choice(["questions", "metrics"]),
    multiple=True,
    help="What it may be used for; both unless given.",
)
@asyncclick.option("--admin", "is_admin", is_flag=True, help="May see every repository, also those in no group.")
def add_token(
    invocation: Invocation,
    /,
    name: str,
    groups: tuple[str, ...],
    days: int | None,
    is_endless: bool,
    scope: tuple[Any, ...],
    is_admin: bool,
    cluster_url: str | None,
    cluster_prefix: str | None,
) -> int:
    """Creates a token and prints it."""
    if is_endless and days is not None:
        raise InvalidInput("--days and --no-expiry exclude each other. Give one.", field="days")
    with opened_engine(invocation, cluster_url, cluster_prefix) as (engine, _settings):
        from codecompass.cli.cluster import tokens
        from codecompass.cluster.access import DEFAULT_DAYS

        valid_days = None if is_endless else DEFAULT_DAYS if days is None else days
        return tokens.add(invocation, engine, name, groups, valid_days, is_admin=is_admin, scope=scope)


@command(
    "login",
    text="""
    Get a token of your own by signing in at the identity provider of an organisation's server, and print it: it is shown this
    once.

    URL is the address of the server, as for agents but without /mcp. A browser on any machine will do: the command names an
    address to open there and a code. It needs neither a search engine nor an extra.
    """,
    examples=(
        Example("codecompass cluster token login https://code.example.com", "open the address that it names, and sign in"),
    ),
    chooses_project=False,
)
@asyncclick.argument("url")
def login(invocation: Invocation, /, url: str) -> int:
    """Signs a person in and prints their token."""
    from codecompass.cli.cluster import sign_in

    return sign_in.login(invocation, url)


@command(
    "rotate",
    text="""
    Replace a token by a new one for the same user, groups and use, and print it: it is shown this once.

    TOKEN is a name, if it has one token, or the beginning of an id. The old one stays valid for a day, so that clients can be
    given the new one meanwhile. The new one is valid for as long as the old one was.
    """,
    examples=(
        Example("codecompass cluster token rotate alice", "a new token; the old one ends within a day"),
        Example("codecompass cluster token rotate 3f2a9c01d4e5 --grace-hours 0", "the old one is refused at once"),
    ),
    chooses_project=False,
)
@cluster_options
@asyncclick.argument("token")
@asyncclick.option("--days", type=int, metavar="N", help="Days until the new one expires.")
@asyncclick.option("--grace-hours", type=int, default=24, metavar="N", help="Hours that the old one stays valid; 24.")
def rotate_token(
    invocation: Invocation,
    /,
    token: str,
    days: int | None,
    grace_hours: int,
    cluster_url: str | None,
    cluster_prefix: str | None,
) -> int:
    """Replaces a token."""
    with opened_engine(invocation, cluster_url, cluster_prefix) as (engine, _settings):
        from codecompass.cli.cluster import tokens

        return tokens.rotate(invocation, engine, token, days, grace_hours)


@command(
    "list",
    text="List all tokens by name, with their groups and when they expire. Their texts are kept nowhere.",
    examples=(
        Example("codecompass cluster token list", "all tokens"),
        Example("codecompass cluster token list --json | jq -r '.tokens[] | select(.has_expired) | .id'", "those that are over"),
    ),
    chooses_project=False,
)
@cluster_options
def list_tokens(invocation: Invocation, /, cluster_url: str | None, cluster_prefix: str | None) -> int:
    """Prints all tokens."""
    from codecompass.cli.cluster import tokens

    with opened_engine(invocation, cluster_url, cluster_prefix) as (engine, _settings):
        return tokens.list_tokens(invocation, engine)


@command(
    "revoke",
    text="""
    End tokens: all of a name, or the one whose id begins so.

    Servers refuse them within ten seconds, also on connections that are open.
    """,
    examples=(
        Example("codecompass cluster token revoke alice", "all tokens of this name"),
        Example("codecompass cluster token revoke 3f2a9c01d4e5", "the one with this id"),
    ),
    chooses_project=False,
)
@cluster_options
@asyncclick.argument("token")
def revoke_token(invocation: Invocation, /, token: str, cluster_url: str | None, cluster_prefix: str | None) -> int:
    """Revokes tokens by name or id."""
    from codecompass.cli.cluster import tokens

    with opened_engine(invocation, cluster_url, cluster_prefix) as (engine, _settings):
        return tokens.revoke(invocation, engine, token)
