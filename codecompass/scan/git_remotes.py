"""Finds which repositories a work tree is a checkout of, by the addresses of its remotes. Reads the configuration without git.

Only `origin` and `upstream` count, or the only remote if neither exists: other remotes may be of repositories from which it
merely takes commits. Ignores files that the configuration includes and rewritten addresses (`url.<base>.insteadOf`).
"""

import os
import re
from collections.abc import Iterator
from typing import Final, get_args

from codecompass.errors import InvalidInput
from codecompass.scan.files import read_regular_file
from codecompass.scan.git_repository import repository_at
from codecompass.scan.repository_urls import RepositoryUrl, parse_url, without_credentials
from codecompass.settings import GitProtocol
from codecompass.units import KIB

MAX_CONFIG_BYTES: Final = 256 * KIB
"""Size of the part of a configuration that is read."""

_OWN: Final = ("origin", "upstream")
_SECTION: Final = re.compile(r"\s*\[\s*([\w.-]+)(?:\s+\"((?:[^\"\\]|\\.)*)\")?\s*\]\s*(.*)")
_URL: Final = re.compile(r"\s*url\s*=\s*(.*)", re.IGNORECASE)


def checked_out_repositories(top: str) -> tuple[RepositoryUrl, ...]:
    """Returns the repositories that the work tree with its top at `top` is a checkout of.

    Empty if `top` is not the top of a work tree, or has no remote with an accepted address. Reads files.
    """
    return tuple(_addresses(top))


def _addresses(top: str) -> Iterator[RepositoryUrl]:
    repository = repository_at(top)
    if repository is None:
        return
    try:
        config = read_regular_file(os.path.join(repository.common_directory, "config"), MAX_CONFIG_BYTES, follows_link=True)
    except (OSError, ValueError):
        return
    remotes = dict(_remotes(config.decode("utf-8", "replace")))
    own = [remotes[name] for name in _OWN if name in remotes]
    for written in own or (remotes.values() if len(remotes) == 1 else ()):
        try:
            yield parse_url(without_credentials(written), get_args(GitProtocol))
        except InvalidInput:
            continue


def _remotes(config: str) -> Iterator[tuple[str, str]]:
    """Yields names and addresses of remotes as written in the configuration."""
    remote = ""
    for line in config.splitlines():
        section = _SECTION.fullmatch(line)
        if section is not None:
            name = section[2]
            remote = re.sub(r"\\(.)", r"\1", name) if name and section[1].lower() == "remote" else ""
            line = section[3]
        address = _URL.fullmatch(line) if remote else None
        if address is not None:
            yield remote, _value(address[1])


def _value(written: str) -> str:
    """Returns a value without quotes and trailing comment. Addresses have no escapes."""
    quoted = re.match(r"\"([^\"]*)\"", written)
    return quoted[1] if quoted else re.split(r"\s[#;]", written, maxsplit=1)[0].strip()
