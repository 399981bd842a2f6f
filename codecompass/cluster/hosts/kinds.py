"""The kinds of code hosts that are known."""

from typing import Final

from codecompass.cluster.hosts.azure import AZURE
from codecompass.cluster.hosts.bitbucket import BITBUCKET, BITBUCKET_DATA_CENTER
from codecompass.cluster.hosts.gerrit import GERRIT
from codecompass.cluster.hosts.gitea import GITEA
from codecompass.cluster.hosts.github import GITHUB
from codecompass.cluster.hosts.gitlab import GITLAB
from codecompass.cluster.hosts.interface import HostKind

KINDS: Final[dict[str, HostKind]] = {
    each.name: each for each in (GITHUB, GITLAB, GITEA, BITBUCKET, BITBUCKET_DATA_CENTER, GERRIT, AZURE)
}


def kind_of(host: str) -> HostKind | None:
    """Returns the kind of a host on the internet; None for any other."""
    return next((kind for kind in KINDS.values() if host in kind.hosts), None)
