"""Which repositories a work tree is a checkout of: the addresses of its remotes, read from its configuration, not by git.

Read are `origin` and `upstream`, or the only remote where there is neither: others may be of repositories that it takes pieces
from. What files included by the configuration say is not read, nor how git rewrites addresses (`url.<base>.insteadOf`).
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
"""What is behind that in a configuration is not read."""

_OWN: Final = ("origin", "upstream")
_SECTION: Final = re.compile(r"\s*\[\s*([\w.-]+)(?:\s+\"((?:[^\"\\]|\\.)*)\")?\s*\]\s*(.*)")
_URL: Final = re.compile(r"\s*url\s*=\s*(.*)", re.IGNORECASE)


def checked_out_repositories(top: str) -> tuple[RepositoryUrl, ...]:
    """Returns the repositories that the work tree with its top at `top` is a checkout of.

    None where `top` is no top of a work tree, has no remote, or only such as have no address that is known. Blocking.
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
    """Yields names and addresses of remotes, as they stand in the configuration."""
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
    """Returns a value without its quotes, and without a comment behind it. Addresses have no escapes."""
    quoted = re.match(r"\"([^\"]*)\"", written)
    return quoted[1] if quoted else re.split(r"\s[#;]", written, maxsplit=1)[0].strip()
