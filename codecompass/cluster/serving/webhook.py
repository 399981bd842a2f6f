"""Push webhooks of git servers: verifies messages and finds the repositories that were pushed to. Polling finds missed pushes.

    body, headers -> is_genuine(secret) -> pushed_urls -> note_pushed: a worker takes a turn soon
                                        -> lists_otherwise -> note_listed: a worker lists the repositories of the owner soon

The addresses in a message only identify repositories: fetches use the addresses that were added, never those of a message.
"""

import hashlib
import hmac
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Final, get_args

import msgspec
from msgspec import Struct

from codecompass.cluster.hosts.sources import Sources
from codecompass.cluster.repositories.documents import Repositories
from codecompass.errors import InvalidInput
from codecompass.scan.git_remotes import address_key, parse_url
from codecompass.settings import GitProtocol
from codecompass.units import MIB

MAX_MESSAGE_BYTES: Final = 8 * MIB
"""Size of a body. A push of hundreds of commits takes some MiB; larger ones are left to polling."""

_SIGNATURES: Final = ("x-hub-signature-256", "x-gitea-signature", "x-forgejo-signature", "x-gogs-signature", "x-hub-signature")
"""HMAC-SHA256 of the body in hexadecimal, after `sha256=` or alone: GitHub, Gitea, Forgejo, Gogs, Bitbucket."""

_TOKEN: Final = "x-gitlab-token"
"""The secret itself, as GitLab sends it."""

SIGNATURE_HEADERS: Final = (*_SIGNATURES, _TOKEN)
"""All headers that `is_genuine` reads."""

_PREFIX: Final = "sha256="
_PROTOCOLS: Final = get_args(GitProtocol)


class _Place(Struct):
    clone_url: object = None
    ssh_url: object = None
    git_url: object = None
    html_url: object = None
    git_http_url: object = None
    git_ssh_url: object = None
    http_url: object = None
    web_url: object = None
    links: object = None


class _Message(Struct):
    repository: _Place | None = None
    project: _Place | None = None
    action: object = None
    event_name: object = None
    path_with_namespace: object = None


_LISTED_OTHERWISE: Final = frozenset(
    {"created", "deleted", "archived", "unarchived", "renamed", "transferred", "publicized", "privatized"}
)
"""Actions of GitHub, Gitea and Forgejo after which an owner has other repositories, or one of another name."""

_PROJECT_EVENTS: Final = "project_"
"""How the names of GitLab's system hooks about projects begin."""

_decoder = msgspec.json.Decoder(_Message)


def is_genuine(secret: str, body: bytes, headers: Mapping[str, str]) -> bool:
    """Returns whether the sender of `body` knows the secret; False if the secret is empty. Names of headers are in lower case."""
    if not secret:
        return False
    expected = hmac.new(secret.encode(), body, hashlib.sha256).hexdigest().encode()
    for name in _SIGNATURES:
        given = headers.get(name, "")
        # GitHub sends SHA-1 in `x-hub-signature` beside the SHA-256 one; it does not match, so it proves nothing.
        if given and hmac.compare_digest(given.removeprefix(_PREFIX).strip().lower().encode("utf-8", "replace"), expected):
            return True
    token = headers.get(_TOKEN)
    return token is not None and hmac.compare_digest(token.encode("utf-8", "replace"), secret.encode())


def pushed_urls(body: bytes) -> tuple[str, ...]:
    """Returns the addresses of the repository in a message of GitHub, GitLab, Gitea or Bitbucket.

    Empty for a message without a repository, such as the ping after a webhook was created. Raises InvalidInput for a malformed
    body.
    """
    message = _read(body)
    found = (url for place in (message.project, message.repository) if place is not None for url in _urls(place))
    return tuple(dict.fromkeys(found))


def lists_otherwise(body: bytes) -> tuple[bool, str]:
    """Returns whether a message says that the repositories of an owner are others now, and the path of one that has no address in
    it (GitLab's system hooks). Raises InvalidInput for a malformed body."""
    message = _read(body)
    is_project = isinstance(message.event_name, str) and message.event_name.startswith(_PROJECT_EVENTS)
    is_listed = isinstance(message.action, str) and message.action in _LISTED_OTHERWISE
    path = message.path_with_namespace if isinstance(message.path_with_namespace, str) else ""
    return is_project or is_listed, path if is_project else ""


def note_listed(sources: Sources, urls: Iterable[str], path: str) -> int:
    """Requests looks at the sources whose owner these addresses, or this path, belong to. Returns how many. Blocking.

    Raises EngineUnavailable.
    """
    places = [address_key(url).lower() for url in urls]
    n_asked = 0
    for source in sources.listed():
        owner = address_key(source.url).lower()
        is_meant = any(place.startswith(f"{owner}/") for place in places)
        is_path = bool(path) and path.lower().startswith(f"{source.owner.lower()}/") and source.kind == "gitlab"
        if is_meant or is_path:
            sources.ask(source.id)
            n_asked += 1
    return n_asked


def _read(body: bytes) -> _Message:
    if len(body) > MAX_MESSAGE_BYTES:
        raise InvalidInput(f"the message is larger than {MAX_MESSAGE_BYTES // MIB} MiB. Send less; polling finds the push.")
    try:
        return _decoder.decode(body)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise InvalidInput(
            "the body is not the JSON of a push. Set the content type of the webhook to application/json."
        ) from error


def note_pushed(repositories: Repositories, urls: Iterable[str]) -> tuple[str, ...]:
    """Requests turns at the repositories with these addresses, and returns the names of the known ones. Blocking.

    Raises EngineUnavailable.
    """
    ids: list[str] = []
    for url in urls:
        with suppress(InvalidInput):
            ids.append(parse_url(url, _PROTOCOLS).repo_id)
    noted = (repositories.note_changed(repo_id) for repo_id in dict.fromkeys(ids))
    return tuple(each.name for each in noted if each is not None and not each.is_removed)


def _urls(place: _Place) -> Iterator[str]:
    values = [getattr(place, field) for field in _Place.__struct_fields__ if field != "links"]
    links = place.links
    html = links.get("html") if isinstance(links, dict) else None
    values.append(html.get("href") if isinstance(html, dict) else None)
    for value in values:
        if isinstance(value, str) and value:
            yield value
