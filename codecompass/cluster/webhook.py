"""Messages of git servers about pushes: whether one is genuine, and which repositories it is about. Polling finds the rest.

    body, headers -> is_genuine(secret) -> pushed_urls -> note_pushed: a worker looks soon

The addresses in a message only say where to look: nothing is fetched from them, only from those that somebody has added.
"""

import hashlib
import hmac
from collections.abc import Iterable, Iterator, Mapping
from typing import Final, get_args

import msgspec
from msgspec import Struct

from codecompass.cluster.repositories import Repositories
from codecompass.errors import InvalidInput
from codecompass.scan.git_remotes import parse_url
from codecompass.settings import GitProtocol
from codecompass.units import MIB

MAX_MESSAGE_BYTES: Final = 8 * MIB
"""Of a body. A push of hundreds of commits has some; what is longer is left to polling."""

_SIGNATURES: Final = ("x-hub-signature-256", "x-gitea-signature", "x-forgejo-signature", "x-gogs-signature", "x-hub-signature")
"""HMAC-SHA256 of the body in hexadecimal, after `sha256=` or alone: GitHub, Gitea, Forgejo, Gogs, Bitbucket."""

_TOKEN: Final = "x-gitlab-token"
"""The secret itself, as GitLab sends it."""

SIGNATURE_HEADERS: Final = (*_SIGNATURES, _TOKEN)
"""All headers that are looked at."""

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


_decoder = msgspec.json.Decoder(_Message)


def is_genuine(secret: str, body: bytes, headers: Mapping[str, str]) -> bool:
    """Returns whether whoever sent `body` knows the secret; False for an empty one. The names in `headers` are in lower case."""
    if not secret:
        return False
    expected = hmac.new(secret.encode(), body, hashlib.sha256).hexdigest().encode()
    for name in _SIGNATURES:
        given = headers.get(name, "")
        # `x-hub-signature` is SHA-1 with GitHub, beside the other; that one alone proves nothing.
        if given and hmac.compare_digest(given.removeprefix(_PREFIX).strip().lower().encode("utf-8", "replace"), expected):
            return True
    token = headers.get(_TOKEN)
    return token is not None and hmac.compare_digest(token.encode("utf-8", "replace"), secret.encode())


def pushed_urls(body: bytes) -> tuple[str, ...]:
    """Returns the addresses of the repository that a message is about, as GitHub, GitLab, Gitea and Bitbucket write it.

    Empty for a message about none, such as the first one that tries whether anybody listens. Raises InvalidInput for a body that
    is no such message.
    """
    if len(body) > MAX_MESSAGE_BYTES:
        raise InvalidInput(f"the message is larger than {MAX_MESSAGE_BYTES // MIB} MiB. Send less; polling finds the push.")
    try:
        message = _decoder.decode(body)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise InvalidInput(
            "the body is not the JSON of a push. Set the content type of the webhook to application/json."
        ) from error
    found = (url for place in (message.project, message.repository) if place is not None for url in _urls(place))
    return tuple(dict.fromkeys(found))


def note_pushed(repositories: Repositories, urls: Iterable[str]) -> tuple[str, ...]:
    """Has workers look soon at the repositories at these addresses. Returns the names of those that are known. Blocking.

    Raises EngineUnavailable.
    """
    ids = {}
    for url in urls:
        try:
            ids[parse_url(url, _PROTOCOLS).repo_id] = url
        except InvalidInput:
            continue
    noted = (repositories.note_changed(repo_id) for repo_id in ids)
    return tuple(each.name for each in noted if each is not None and not each.is_removed)


def _urls(place: _Place) -> Iterator[str]:
    values = [getattr(place, field) for field in _Place.__struct_fields__ if field != "links"]
    links = place.links
    html = links.get("html") if isinstance(links, dict) else None
    values.append(html.get("href") if isinstance(html, dict) else None)
    for value in values:
        if isinstance(value, str) and value:
            yield value
