"""`codecompass cluster token`: who may ask an organisation's servers."""

from typing import Any

import asyncclick

from codecompass.cli.cluster.engine import ChosenCluster, opened_engine
from codecompass.cli.command import command
from codecompass.cli.commands.cluster import cluster_options
from codecompass.cli.help import CommandEntry, Example, LazyGroup
from codecompass.cli.invocation import Invocation
from codecompass.errors import InvalidInput

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
    chosen: ChosenCluster,
) -> int:
    """Creates a token and prints it."""
    if is_endless and days is not None:
        raise InvalidInput("--days and --no-expiry exclude each other. Give one.", field="days")
    with opened_engine(invocation, chosen) as (engine, _settings):
        from codecompass.cli.cluster import tokens
        from codecompass.cluster.access.tokens import DEFAULT_DAYS

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
    chosen: ChosenCluster,
) -> int:
    """Replaces a token."""
    with opened_engine(invocation, chosen) as (engine, _settings):
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
def list_tokens(invocation: Invocation, /, chosen: ChosenCluster) -> int:
    """Prints all tokens."""
    from codecompass.cli.cluster import tokens

    with opened_engine(invocation, chosen) as (engine, _settings):
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
def revoke_token(invocation: Invocation, /, token: str, chosen: ChosenCluster) -> int:
    """Revokes tokens by name or id."""
    from codecompass.cli.cluster import tokens

    with opened_engine(invocation, chosen) as (engine, _settings):
        return tokens.revoke(invocation, engine, token)
