"""Parses addresses of git repositories (which are accepted, and which mean the same repository), and finds the repositories of
which a work tree is a checkout.

`parse_url` accepts no address with a password: credentials belong to git's credential helpers, and everybody who may query the
engine can read what it stores.
"""

import os
import re
from collections.abc import Collection, Iterator
from typing import Final, get_args
from urllib.parse import unquote, urlsplit

from blake3 import blake3
from msgspec import Struct

from codecompass import lazy
from codecompass.errors import InvalidInput
from codecompass.scan.git_repository import repository_at
from codecompass.scan.git_roots import ANYWHERE, GitRoots, read_inside
from codecompass.settings import GitProtocol
from codecompass.units import KIB

DEFAULT_PROTOCOLS: Final = ("https", "ssh", "git")
"""Protocols that are allowed by default. `ext::` and other remote helpers run programs and are never allowed."""

MAX_URL_LENGTH: Final = 1_000
NAME_PARTS: Final = 2
"""Path components that make up a repository's name: owner and repository."""

_SCP_FORM: Final = lazy.pattern(r"(?:[\w.+-]+@)?(?P<host>\w[\w.-]*):(?P<path>\S+)")
"""`git@host:path`, which git takes as ssh."""

_PORTS: Final = {"https": 443, "http": 80, "ssh": 22, "git": 9418}
_USER_INFORMATION: Final = lazy.pattern(r"(?<=://)[^/\s]*@")
_NO_NAME: Final = lazy.pattern(r"[^A-Za-z0-9._-]+")
_CONTROL: Final = lazy.pattern(r"[\x00-\x20\x7f]")


class RepositoryUrl(Struct, frozen=True):
    """An accepted address. `url` is passed to git; `key` is the same for all addresses of a repository."""

    url: str
    key: str

    @property
    def repo_id(self) -> str:
        """The id of the repository: 16 hexadecimal characters."""
        return blake3(self.key.encode()).hexdigest(8)

    @property
    def name(self) -> str:
        """The last two components of the path, such as `pallets/flask`."""
        parts = [cleaned for part in self.key.split("/") if (cleaned := _NO_NAME.sub("-", part).strip("-."))]
        return "/".join(parts[-NAME_PARTS:]) or self.repo_id


def parse_url(text: str, protocols: Collection[str] = DEFAULT_PROTOCOLS) -> RepositoryUrl:
    """Returns the repository at an address with a protocol of `protocols`, or of the form `user@host:path` if these have ssh.

    Raises InvalidInput for anything else, and for an address with a password.
    """
    given = text.strip()
    if not given or len(given) > MAX_URL_LENGTH or _CONTROL.search(given):
        raise _refused(given, "it must be the address of a git repository, such as https://host/owner/repository")
    scp = None if "://" in given or "::" in given else _SCP_FORM.fullmatch(given)
    if scp is not None:
        if "ssh" not in protocols:
            raise _protocol_refused(given, "ssh", protocols)
        return RepositoryUrl(given, _key(scp["host"], None, "ssh", scp["path"], given))
    try:
        parts = urlsplit(given)
        host, port, password = parts.hostname or "", parts.port, parts.password
    except ValueError as error:
        raise _refused(given, f"it cannot be read ({error})") from error
    if not parts.scheme or "://" not in given:
        raise _refused(
            given, "it must begin with a protocol, such as https://host/owner/repository, or be git@host:owner/repository"
        )
    if parts.scheme not in protocols:
        raise _protocol_refused(given, parts.scheme, protocols)
    if password is not None:
        raise _refused(
            given,
            "it contains a password. Leave that out, and give it to git's credential helper on the machines of the workers "
            "(git help credentials)",
        )
    if parts.query or parts.fragment:
        raise _refused(given, "leave out what follows ? or #")
    if parts.scheme == "file":
        if host or not parts.path.startswith("/"):
            raise _refused(given, "a directory is written file:///path")
        return RepositoryUrl(given, _key("", None, "file", parts.path, given))
    if not host or host.startswith("-"):
        raise _refused(given, "it names no host")
    # A user name in a web address may be a token; git's credential helpers supply the right one.
    url = _USER_INFORMATION.sub("", given) if parts.scheme in ("https", "http") else given
    return RepositoryUrl(url, _key(host, port, parts.scheme, parts.path, given))


def is_named(text: str, repository: RepositoryUrl) -> bool:
    """Whether `text` is an address of the repository or a suffix of one: `flask`, `pallets/flask`, `github.com/pallets/flask`."""
    key = address_key(text, tuple(_PORTS))
    return bool(key) and f"/{repository.key}".endswith(f"/{key}")


def address_key(text: str, protocols: Collection[str] = get_args(GitProtocol)) -> str:
    """Returns `host/path` of an address, the same for all addresses of one repository; other text is returned trimmed."""
    try:
        return parse_url(text, protocols).key.strip("/")
    except InvalidInput:
        return text.strip().strip("/").removesuffix(".git")


def without_credentials(text: str) -> str:
    """Returns `text` with user names and passwords removed from the addresses in it."""
    return _USER_INFORMATION.sub("", text)


def _key(host: str, port: int | None, scheme: str, path: str, given: str) -> str:
    """Returns `host/path` in the one form that all addresses of a repository share. Ignores the case of the host only."""
    place = [part for part in unquote(path).split("/") if part not in ("", ".")]
    if ".." in place or not place:
        raise _refused(given, "it names no repository")
    place[-1] = place[-1].removesuffix(".git") or place[-1]
    shown_port = "" if port is None or port == _PORTS.get(scheme) else f":{port}"
    return "/".join([host.lower() + shown_port, *place])


def _protocol_refused(given: str, protocol: str, protocols: Collection[str]) -> InvalidInput:
    return _refused(
        given,
        f"{protocol} is not allowed, {', '.join(protocols)} are. Use another address of the repository, or allow it on every "
        f"worker with the setting cluster.protocols (CODECOMPASS_CLUSTER_PROTOCOLS={','.join((*protocols, protocol))})",
    )


def _refused(given: str, cause: str) -> InvalidInput:
    shown = without_credentials(given)[:200]
    return InvalidInput(f"the address {shown!r} is not accepted: {cause}.", field="url", value=shown)


# The remotes of a work tree, read from its configuration without git.

MAX_CONFIG_BYTES: Final = 256 * KIB
"""Size of the part of a configuration that is read."""

_OWN: Final = ("origin", "upstream")
_SECTION: Final = lazy.pattern(r"\s*\[\s*([\w.-]+)(?:\s+\"((?:[^\"\\]|\\.)*)\")?\s*\]\s*(.*)")
_URL: Final = lazy.pattern(r"\s*url\s*=\s*(.*)", re.IGNORECASE)


def checked_out_repositories(top: str, roots: GitRoots = ANYWHERE) -> tuple[RepositoryUrl, ...]:
    """Returns the repositories that the work tree with its top at `top` is a checkout of, by the addresses of its remotes.

    Only `origin` and `upstream` count, or the only remote if neither exists: other remotes may be of repositories from which it
    merely takes commits. Ignores files that the configuration includes and rewritten addresses (`url.<base>.insteadOf`). Empty if
    `top` is not the top of a work tree within `roots`, or has no remote with an accepted address.
    """
    return tuple(_addresses(top, roots))


def _addresses(top: str, roots: GitRoots) -> Iterator[RepositoryUrl]:
    repository = repository_at(top, roots)
    if repository is None:
        return
    try:
        config = read_inside(os.path.join(repository.common_directory, "config"), MAX_CONFIG_BYTES, roots)
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
