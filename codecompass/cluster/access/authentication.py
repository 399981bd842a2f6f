"""Authentication of requests: headers -> Identity -> Viewer.

    peer in the configured networks, and it names a user -> name and groups from its headers
    Authorization: Bearer ...                            -> the token as the engine stores it
    neither                                              -> 401

A proxy's headers are ignored unless they come from the configured networks. What a token may see is looked up for every
question, so that a long connection loses access when its token is revoked or expires.
"""

import ipaddress
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Final

import trio
from msgspec import Struct

from codecompass.cluster.access.tokens import MAX_GROUPS, MAX_NAME_LENGTH, AccessToken, OutOfScope, Unauthorized, Use, token_id
from codecompass.cluster.access.visibility import Viewer
from codecompass.cluster.engine.calls import RETRY_SECONDS, EngineCalls
from codecompass.cluster.engine.failures import EngineUnavailable
from codecompass.cluster.hosts.members import ReaderGroups, without_readers
from codecompass.errors import InvalidInput
from codecompass.projects.caller import Identity
from codecompass.settings import AccessSettings
from codecompass.transport.http.metrics_port import METRICS
from codecompass.transport.http.request import FORBIDDEN, UNAUTHORIZED, UNAVAILABLE, Heading, HttpRefusal
from codecompass.units import SECONDS

KNOWN_SECONDS: Final = 10 * SECONDS
"""How long a token read from the engine is cached: a revoked token is accepted no longer than this."""

UNKNOWN_SECONDS: Final = 2 * SECONDS
"""How long it is cached that a token does not exist; short, so that a new token is accepted soon."""

MAX_KNOWN: Final = 4_096
"""Cached tokens, the most recently used. Unknown ones have their own cache, so that they cannot push out the others."""

MAX_HEADER_LENGTH: Final = 8_000

Network = ipaddress.IPv4Network | ipaddress.IPv6Network


class TrustedProxy(Struct, frozen=True, kw_only=True):
    """A proxy that authenticates its users and names them in headers. Names of headers are in lower case."""

    networks: tuple[Network, ...]
    user_header: str
    groups_header: str
    admin_groups: frozenset[str]
    login_header: str = ""
    group_names: Mapping[str, str] = {}
    """Our names of groups by the proxy's."""

    def sends_from(self, peer: str) -> bool:
        """Returns whether `peer` is an address in the proxy's networks."""
        try:
            address = ipaddress.ip_address(peer.partition("%")[0])
        except ValueError:
            return False
        mapped = getattr(address, "ipv4_mapped", None)
        return any((mapped or address) in network for network in self.networks)


def trusted_proxy(settings: AccessSettings) -> TrustedProxy | None:
    """Returns the configured proxy, or None if neither its networks nor the user header is set.

    Raises InvalidInput for an invalid network, or if one of the two is missing.
    """
    if not settings.trusted_proxies and not settings.user_header:
        return None
    if not settings.trusted_proxies or not settings.user_header:
        missing = "trusted_proxies" if settings.user_header else "user_header"
        raise InvalidInput(
            f"a proxy is trusted by its networks and by the header with its user: access.{missing} is missing. Set both, or "
            "neither.",
            field=f"access.{missing}",
        )
    try:
        networks = tuple(ipaddress.ip_network(text.strip()) for text in settings.trusted_proxies)
    except ValueError as error:
        raise InvalidInput(
            f"access.trusted_proxies: {error}. Write networks such as 10.0.0.0/8.", field="access.trusted_proxies"
        ) from error
    return TrustedProxy(
        networks=networks,
        user_header=settings.user_header.strip().lower(),
        groups_header=settings.groups_header.strip().lower(),
        admin_groups=frozenset(settings.admin_groups),
        login_header=settings.login_header.strip().lower(),
        group_names=group_names(settings),
    )


def group_names(settings: AccessSettings) -> Mapping[str, str]:
    """Returns our names of groups by those of proxies and identity providers. Raises InvalidInput for one that cannot be read."""
    return dict(_group_name(each) for each in settings.group_names)


def _group_name(text: str) -> tuple[str, str]:
    theirs, found, ours = text.rpartition("=")
    if not found or not theirs.strip() or not ours.strip():
        raise InvalidInput(
            f"access.group_names: {text[:100]!r}. Write 'their name=our name', such as 'Team Backend=backend'.",
            field="access.group_names",
        )
    return theirs.strip(), ours.strip()


class _Remembered(Struct, frozen=True):
    token: AccessToken | None
    until: float


class Authenticator:
    """Authenticates the requests of a server. `find` reads a token from the engine by its id, blocking."""

    def __init__(
        self,
        find: Callable[[str], AccessToken | None],
        proxy: TrustedProxy | None,
        calls: EngineCalls,
        readers: ReaderGroups | None = None,
    ) -> None:
        """`readers` knows who may read what at the code hosts; None if that does not count here."""
        self._readers = readers
        self._find = find
        self._proxy = proxy
        self._calls = calls
        self._known: OrderedDict[str, _Remembered] = OrderedDict()
        self._unknown: OrderedDict[str, _Remembered] = OrderedDict()

    async def identify(self, heading: Heading) -> Identity:
        """Returns the identity of a request's sender. Raises HttpRefusal: 401 if there is none, 403 if the token is not for this
        path, 503 if the engine is down."""
        identity = self._named_by_proxy(heading) or self._bearer(heading)
        if identity is None:
            raise _refused(
                "authenticate with the header Authorization: Bearer and a token. Whoever runs this server issues tokens."
            )
        try:
            await self.viewer(identity, "metrics" if heading.path == METRICS else "questions")
        except OutOfScope as error:
            raise HttpRefusal(FORBIDDEN, error.message, reason=error.code) from error
        except Unauthorized as error:
            raise _refused(error.message, ', error="invalid_token"') from error
        except EngineUnavailable as error:
            retry = (("retry-after", f"{RETRY_SECONDS:.0f}"),)
            raise HttpRefusal(UNAVAILABLE, error.message, headers=retry, is_retryable=True, reason=error.code) from error
        return identity

    async def of_page(self, heading: Heading, session: str) -> Identity | None:
        """Returns who sends a request to the page: as the proxy says, else who has begun the session with this text, if it goes
        on; None if that is nobody. Raises HttpRefusal if the proxy names more than one, EngineUnavailable."""
        identity = self._named_by_proxy(heading)
        if identity is None and session:
            identity = Identity(token=token_id(session), is_session=True)
        if identity is None:
            return None
        try:
            await self.viewer(identity)
        except (Unauthorized, OutOfScope):
            return None
        return identity

    def forget(self, id_: str) -> None:
        """Forgets what is cached of a token, so that it is read again."""
        self._known.pop(id_, None)

    async def viewer(self, identity: Identity | None, scope: Use = "questions") -> Viewer:
        """Returns the viewer with their current groups, for a use within this scope; a session of the page is for the page alone.

        Raises Unauthorized, OutOfScope, EngineUnavailable.
        """
        if identity is None:
            raise Unauthorized("this connection is not authenticated. Connect with a token.")
        if not identity.token:
            is_admin = self._proxy is not None and not self._proxy.admin_groups.isdisjoint(identity.groups)
            groups = without_readers(identity.groups)
            if self._readers is not None:
                groups |= await self._readers.of(identity.login)
            return Viewer(identity.name, groups, is_admin)
        token = await self._token(identity.token)
        # The wall clock: the time at which a token expires was written on another machine.
        viewer = None if token is None else token.viewer(time.time())
        used_for: Use = "page" if identity.is_session else scope
        if token is not None and viewer is not None and used_for not in token.scope:
            raise OutOfScope(f"this token is only for {', '.join(token.scope)}. Ask whoever issued it for one for {used_for}.")
        if token is not None and viewer is not None and token.session_of:
            token = await self._token(token.session_of)
            viewer = None if token is None or "questions" not in token.scope else token.viewer(time.time())
        if viewer is None:
            raise Unauthorized("this token is unknown here: it was revoked, has expired or is mistyped. Ask for a new one.")
        if self._readers is not None and token is not None:
            return Viewer(viewer.name, viewer.groups | await self._readers.of(token.login), viewer.is_admin)
        return viewer

    def _named_by_proxy(self, heading: Heading) -> Identity | None:
        proxy = self._proxy
        if proxy is None or not proxy.sends_from(heading.peer):
            return None
        name = (heading.header(proxy.user_header, MAX_HEADER_LENGTH) or "").strip()
        if not name:
            return None
        if len(name) > MAX_NAME_LENGTH or "," in name:
            # Two headers of one name are joined with a comma: the proxy has passed on what a client sent.
            raise _refused("the proxy in front of this server names more than one user. Tell whoever runs it.")
        said = (heading.header(proxy.groups_header, MAX_HEADER_LENGTH) or "") if proxy.groups_header else ""
        named = (group for part in said.split(",") if (group := part.strip()))
        groups = dict.fromkeys(proxy.group_names.get(group, group) for group in named)
        login = name
        if proxy.login_header:
            login = (heading.header(proxy.login_header, MAX_HEADER_LENGTH) or "").strip()
            if len(login) > MAX_NAME_LENGTH or "," in login:
                raise _refused("the proxy in front of this server names more than one login. Tell whoever runs it.")
        return Identity(name=name, groups=tuple(groups)[:MAX_GROUPS], login=login)

    def _bearer(self, heading: Heading) -> Identity | None:
        scheme, _, token = (heading.header("authorization", MAX_HEADER_LENGTH) or "").strip().partition(" ")
        token = token.strip()
        return Identity(token=token_id(token)) if scheme.lower() == "bearer" and token else None

    async def _token(self, id_: str) -> AccessToken | None:
        for remembered in (self._known, self._unknown):
            found = remembered.get(id_)
            if found is not None and trio.current_time() < found.until:
                remembered.move_to_end(id_)
                return found.token
        # Cached from the time of the request, because its answer may have taken long.
        asked_at = trio.current_time()
        token = await self._calls.run_shared(id_, lambda: self._find(id_))
        self._known.pop(id_, None)
        self._unknown.pop(id_, None)
        remembered, seconds = (self._unknown, UNKNOWN_SECONDS) if token is None else (self._known, KNOWN_SECONDS)
        remembered[id_] = _Remembered(token, asked_at + seconds)
        if len(remembered) > MAX_KNOWN:
            remembered.popitem(last=False)
        return token


def _refused(message: str, more: str = "") -> HttpRefusal:
    challenge = ("www-authenticate", f'Bearer realm="codecompass"{more}')
    return HttpRefusal(UNAUTHORIZED, message, headers=(challenge,), reason=Unauthorized.code)
