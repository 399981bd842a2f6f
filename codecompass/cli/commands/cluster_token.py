"""`codecompass cluster token`: who may query an organisation's servers, and which repositories."""

from typing import Final

import asyncclick

from codecompass.cli.command import command as make_command
from codecompass.cli.commands.cluster import cluster_options
from codecompass.cli.help import Entry, Example, LazyGroup, description
from codecompass.cli.invocation import Invocation

HELP = """
    Make, list and revoke the tokens with which agents and people ask this organisation's servers.

    A token is for groups: it may see the repositories that are in one of them. It is kept as a hash, in the search engine that
    CODECOMPASS_CLUSTER_URL names.
"""

_COMMANDS: Final = "Commands"

command = LazyGroup(
    "token",
    help=description(HELP),
    entries=(
        Entry("add", _COMMANDS, "Make a token for some groups of repositories.", __name__, "add"),
        Entry("list", _COMMANDS, "List all tokens, without their texts.", __name__, "list_tokens"),
        Entry("revoke", _COMMANDS, "End tokens, within seconds.", __name__, "revoke"),
    ),
    examples=(
        Example("codecompass cluster token add alice --group backend", "a token that sees the repositories of one group"),
        Example("codecompass cluster token list", "who has tokens, for what, until when"),
        Example("codecompass cluster token revoke alice", "her tokens are refused from now on"),
    ),
)


@make_command(
    "add",
    text="""
    Make a token for some groups of repositories, and print it: it is shown this once.

    NAME says whom it is for. Repositories in the group everyone are seen with every token, those in no group by administrators
    alone.
    """,
    examples=(
        Example("codecompass cluster token add alice --group backend --group web", "for two groups, until it is revoked"),
        Example("codecompass cluster token add ci --group backend --days 90", "for ninety days"),
        Example("codecompass cluster token add operations --admin", "for every repository"),
    ),
    chooses_project=False,
)
@cluster_options
@asyncclick.argument("name")
@asyncclick.option(
    "--group", "groups", metavar="GROUP", multiple=True, help="Group that may be seen. Can be given several times."
)
@asyncclick.option("--days", type=int, metavar="N", help="Days until it expires; never unless given.")
@asyncclick.option("--admin", "is_admin", is_flag=True, help="May see every repository, also those in no group.")
def add(
    invocation: Invocation,
    /,
    name: str,
    groups: tuple[str, ...],
    days: int | None,
    is_admin: bool,
    cluster_url: str | None,
    cluster_prefix: str | None,
) -> int:
    """Creates a token and prints it."""
    from codecompass.cli.cluster import tokens
    from codecompass.cli.cluster.opening import opened_engine

    with opened_engine(invocation, cluster_url, cluster_prefix) as (engine, _settings):
        return tokens.add(invocation, engine, name, groups, days, is_admin=is_admin)


@make_command(
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
    from codecompass.cli.cluster.opening import opened_engine

    with opened_engine(invocation, cluster_url, cluster_prefix) as (engine, _settings):
        return tokens.list_tokens(invocation, engine)


@make_command(
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
def revoke(invocation: Invocation, /, token: str, cluster_url: str | None, cluster_prefix: str | None) -> int:
    """Revokes tokens by name or id."""
    from codecompass.cli.cluster import tokens
    from codecompass.cli.cluster.opening import opened_engine

    with opened_engine(invocation, cluster_url, cluster_prefix) as (engine, _settings):
        return tokens.revoke(invocation, engine, token)
