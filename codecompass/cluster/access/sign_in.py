"""People sign in at the identity provider with OpenID Connect: for a token by the device flow of OAuth 2.0 (RFC 8628), for the
page by the authorization code flow with PKCE (RFC 7636).

    POST /login        -> the provider's code and address, which a person opens in a browser      no token is needed
    POST /login/token  -> `pending` until they have signed in, then a token of ours               once for a device code
    the page           -> `address_to_sign_in`, and with the code that the provider sends back `signed_in`: who it is

The server is the provider's client: the ID token comes from the provider's token endpoint over TLS, so its signature need not be
checked (OpenID Connect Core 3.1.3.7); issuer, audience, expiry and nonce are. The server keeps nothing meanwhile: the device code
is the client's, and any server can take it. While the provider is away nobody gets a token, and those that exist go on.
"""

import base64
import binascii
import hashlib
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Final, TypeVar
from urllib.parse import urlencode

import msgspec
from msgspec import Struct

from codecompass.cluster.access.authentication import group_names
from codecompass.cluster.access.tokens import MAX_GROUPS, MAX_NAME_LENGTH, Tokens
from codecompass.cluster.hosts.members import without_readers
from codecompass.cluster.repositories.repository import checked_groups
from codecompass.errors import CodeCompassError, InvalidInput
from codecompass.log import get_logger
from codecompass.remote.address import Address, parse_address
from codecompass.remote.rest import RestClient, ServiceBusy, ServiceFailed, is_safe
from codecompass.settings import AccessSettings
from codecompass.units import SECONDS

TIMEOUT_SECONDS: Final = 10 * SECONDS

LONGEST_CODE: Final = 2_000
"""Characters of a device code or an authorization code; providers use some dozens, or a whole token."""

_GRANT: Final = "urn:ietf:params:oauth:grant-type:device_code"
_INTERVAL_SECONDS: Final = 5
"""Between two polls if the provider does not say (RFC 8628, 3.2)."""


_DecodedT = TypeVar("_DecodedT")


class ProviderUnavailable(CodeCompassError):
    """The identity provider does not answer, or not as it should."""

    code = "identity_provider_unavailable"
    is_retryable = True


class SignInRefused(CodeCompassError):
    """The person or the provider has refused, or it took too long."""

    code = "sign_in_refused"


class DeviceLogin(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What `POST /login` answers, with the names of RFC 8628. Times are in seconds."""

    device_code: str
    user_code: str
    verification_uri: str
    verification_uri_complete: str = ""
    expires_in: int = 600
    interval: int = _INTERVAL_SECONDS


class Pending(Struct, frozen=True, kw_only=True):
    """What `POST /login/token` answers while the person has not signed in; ask again after `interval` seconds."""

    status: str = "pending"
    interval: int = _INTERVAL_SECONDS


class SignedIn(Struct, frozen=True, kw_only=True):
    """The token of a person who has signed in. `expires_at` is in seconds since 1970."""

    token: str
    name: str
    groups: tuple[str, ...]
    expires_at: float


class Person(Struct, frozen=True):
    """Who has signed in, with the groups in which a repository can be."""

    name: str
    groups: tuple[str, ...]
    is_admin: bool


class CodeRequest(Struct, frozen=True, kw_only=True):
    """One attempt to sign in with a browser: what the provider is sent, and what it has to send back."""

    redirect_uri: str
    state: str
    nonce: str
    verifier: str
    """The secret of PKCE, which only the token endpoint is told."""

    @property
    def challenge(self) -> str:
        """The SHA-256 of the verifier, as PKCE writes it."""
        digest = hashlib.sha256(self.verifier.encode("ascii")).digest()
        return base64.urlsafe_b64encode(digest).decode("ascii").rstrip("=")


class _Provider(Struct):
    issuer: str
    token_endpoint: str
    device_authorization_endpoint: str = ""
    authorization_endpoint: str = ""


class _Tokens(Struct):
    id_token: str = ""


class _Error(Struct):
    error: str = ""
    interval: int = 0


class _Claims(Struct):
    iss: str
    aud: str | list[str]
    exp: float
    azp: str = ""


_claims = msgspec.json.Decoder(_Claims)
_any_claims = msgspec.json.Decoder(dict[str, object])


class SignIn:
    """Signs people in at one provider. Its methods block; thread-safe, as each opens its own connection."""

    def __init__(self, settings: AccessSettings, tokens: Tokens) -> None:
        """Raises InvalidInput if the settings name no valid provider."""
        issuer = _safe(settings.oidc_issuer)
        if issuer is None or not settings.oidc_client_id:
            raise InvalidInput(
                "access.oidc_issuer must be the https:// address of the identity provider, and access.oidc_client_id what this "
                "server is called there. Set both, or neither.",
                field="access.oidc_issuer",
            )
        self._issuer = issuer
        self._settings = settings
        self._tokens = tokens
        self._names = group_names(settings)

    def begin(self) -> DeviceLogin:
        """Returns a code for a person to enter. Raises ProviderUnavailable."""
        endpoint = self._provider().device_authorization_endpoint
        if not endpoint:
            raise _unusable("it has no device flow. Allow it there for this client")
        status, body = self._post(endpoint, {"scope": self._settings.oidc_scopes})
        if status != 200:
            raise _unusable(f"it refuses this client (status {status}). Check access.oidc_client_id and its secret")
        found = _decoded(body, msgspec.json.Decoder(DeviceLogin))
        if _safe(found.verification_uri) is None:
            raise _unusable("the address for its users is not https://")
        return found

    def finish(self, device_code: str) -> SignedIn | Pending:
        """Returns a new token if the person has signed in.

        Raises SignInRefused if they never will with this code, ProviderUnavailable, EngineUnavailable.
        """
        if not device_code or len(device_code) > LONGEST_CODE:
            raise InvalidInput("send the device_code that POST /login has answered.", field="device_code")
        provider = self._provider()
        status, body = self._post(provider.token_endpoint, {"grant_type": _GRANT, "device_code": device_code})
        if status != 200:
            return self._not_yet(_decoded(body, msgspec.json.Decoder(_Error)))
        return self._issue(self._person(self._claims(_decoded(body, msgspec.json.Decoder(_Tokens)).id_token)))

    @property
    def host(self) -> str:
        """The provider's name for people."""
        return self._issuer.authority

    def address_to_sign_in(self, request: CodeRequest) -> str:
        """Returns the address at the provider to which a browser is sent. Raises ProviderUnavailable."""
        endpoint = self._provider().authorization_endpoint
        if not endpoint:
            raise _unusable("it has no authorization endpoint")
        if _safe(endpoint) is None or not (endpoint.isascii() and endpoint.isprintable()):
            raise _unusable("one of its endpoints is not https://")
        fields = {
            "response_type": "code",
            "client_id": self._settings.oidc_client_id,
            "redirect_uri": request.redirect_uri,
            "scope": self._settings.oidc_scopes,
            "state": request.state,
            "nonce": request.nonce,
            "code_challenge": request.challenge,
            "code_challenge_method": "S256",
        }
        return f"{endpoint}{'&' if '?' in endpoint else '?'}{urlencode(fields)}"

    def signed_in(self, code: str, request: CodeRequest, issuer: str) -> Person:
        """Returns who has signed in, for the code with which the provider has sent the browser back; `issuer` is what it then
        called itself (RFC 9207), empty if it does not do that.

        Raises SignInRefused if the code is of no use, ProviderUnavailable.
        """
        if issuer and issuer.rstrip("/") != self._settings.oidc_issuer.rstrip("/"):
            raise SignInRefused("another identity provider has answered than the one that was asked. Sign in again.")
        if not code or len(code) > LONGEST_CODE:
            raise SignInRefused("the identity provider has sent no code. Sign in again.")
        sent = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": request.redirect_uri,
            "code_verifier": request.verifier,
        }
        status, body = self._post(self._provider().token_endpoint, sent)
        if status != 200:
            if _decoded(body, msgspec.json.Decoder(_Error)).error == "invalid_grant":
                raise SignInRefused("this sign-in has expired or was used. Sign in again.")
            raise _unusable("it refuses this client. Check access.oidc_client_id and its secret")
        claims = self._claims(_decoded(body, msgspec.json.Decoder(_Tokens)).id_token)
        if claims.get("nonce") != request.nonce:
            raise _unusable("its ID token answers another sign-in")
        return self._person(claims)

    def _person(self, claims: Mapping[str, object]) -> Person:
        name = claims.get(self._settings.oidc_name_claim)
        if not isinstance(name, str) or not 0 < len(name.strip()) <= MAX_NAME_LENGTH or not name.isprintable():
            raise _unusable(
                f"its ID token names nobody in the claim {self._settings.oidc_name_claim}. See access.oidc_name_claim"
            )
        said = self._groups(claims.get(self._settings.oidc_groups_claim))
        is_admin = not set(self._settings.admin_groups).isdisjoint(said)
        return Person(name.strip(), _valid(without_readers(said)), is_admin)

    def _issue(self, person: Person) -> SignedIn:
        days, name = self._settings.oidc_token_days, person.name
        text, made = self._tokens.issue(name, person.groups, days=days, is_admin=person.is_admin, login=name)
        log = get_logger(__name__)
        log.info("token_issued", viewer=name, token=made.id[:12], groups=len(person.groups), is_admin=person.is_admin)
        return SignedIn(token=text, name=name, groups=person.groups, expires_at=made.token.expires_at)

    def _groups(self, said: object) -> tuple[str, ...]:
        named = said if isinstance(said, list) else [said] if isinstance(said, str) else []
        found = (self._names.get(each, each) for each in named if isinstance(each, str))
        return tuple(dict.fromkeys(found))[:MAX_GROUPS]

    @staticmethod
    def _not_yet(error: _Error) -> Pending:
        match error.error:
            case "authorization_pending":
                return Pending(interval=max(error.interval, _INTERVAL_SECONDS))
            case "slow_down":
                return Pending(interval=max(error.interval, 2 * _INTERVAL_SECONDS))
            case "access_denied":
                raise SignInRefused("the sign-in was refused. Begin again with POST /login.")
            case "expired_token" | "invalid_grant":
                raise SignInRefused("this code has expired or was used. Begin again with POST /login.")
        raise _unusable("it refuses this client. Check access.oidc_client_id and its secret")

    def _claims(self, token: str) -> Mapping[str, object]:
        """Returns the claims of an ID token that came from the provider itself, after checking whose and for whom it is."""
        parts = token.split(".")
        try:
            body = base64.urlsafe_b64decode(parts[1] + "=" * (-len(parts[1]) % 4))
        except (IndexError, binascii.Error, ValueError) as error:
            raise _unusable("it sent no ID token. Let access.oidc_scopes contain openid") from error
        checked = _decoded(body, _claims)
        audience = [checked.aud] if isinstance(checked.aud, str) else checked.aud
        client = self._settings.oidc_client_id
        is_for_us = client in audience and (len(audience) == 1 or checked.azp == client)
        if checked.iss.rstrip("/") != self._settings.oidc_issuer.rstrip("/") or not is_for_us:
            raise _unusable("its ID token is of another issuer, or for another client")
        if checked.exp <= time.time():
            raise _unusable("its ID token has expired. Check the clocks")
        return _decoded(body, _any_claims)

    def _provider(self) -> _Provider:
        client = RestClient(self._issuer, {}, TIMEOUT_SECONDS)
        try:
            answer = client.get("/.well-known/openid-configuration")
        except ServiceFailed as error:
            raise _failed(error) from error
        finally:
            client.close()
        found = _decoded(answer.body, msgspec.json.Decoder(_Provider))
        if found.issuer.rstrip("/") != self._settings.oidc_issuer.rstrip("/"):
            raise _unusable("it calls itself by another name than access.oidc_issuer")
        return found

    def _post(self, endpoint: str, fields: Mapping[str, str]) -> tuple[int, bytes]:
        address = _safe(endpoint)
        if address is None:
            raise _unusable("one of its endpoints is not https://")
        sent = {**fields, "client_id": self._settings.oidc_client_id}
        if secret := _secret(self._settings.oidc_secret_file):
            sent["client_secret"] = secret
        client = RestClient(address, {"Content-Type": "application/x-www-form-urlencoded"}, TIMEOUT_SECONDS)
        try:
            return client.post(urlencode(sent).encode())
        except ServiceFailed as error:
            raise _failed(error) from error
        finally:
            client.close()


def sign_in(settings: AccessSettings, tokens: Tokens) -> SignIn | None:
    """Returns what signs people in, or None if no provider is set. Raises InvalidInput if it is half set."""
    return SignIn(settings, tokens) if settings.oidc_issuer or settings.oidc_client_id else None


def _safe(url: str) -> Address | None:
    address = parse_address(url.partition("?")[0])
    return address if address is not None and is_safe(address) else None


def _secret(path: str) -> str:
    if not path:
        return ""
    try:
        return Path(path).read_text(encoding="utf-8").partition("\n")[0].strip()
    except (OSError, UnicodeDecodeError) as error:
        raise ProviderUnavailable(
            f"the secret of this server at the identity provider cannot be read ({type(error).__name__}). Whoever runs it checks "
            "access.oidc_secret_file."
        ) from error


def _valid(groups: frozenset[str]) -> tuple[str, ...]:
    """Returns the groups in which a repository can be, sorted."""
    found: list[str] = []
    for group in sorted(groups):
        try:
            found += checked_groups((group,)) or ()
        except InvalidInput:
            continue
    return tuple(found)


def _decoded(body: bytes, decoder: "msgspec.json.Decoder[_DecodedT]") -> _DecodedT:
    try:
        return decoder.decode(body)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise _unusable("its answer is not that of OpenID Connect") from error


def _failed(error: ServiceFailed) -> ProviderUnavailable:
    if isinstance(error, ServiceBusy):
        return ProviderUnavailable(f"the identity provider is busy. Sign in again in {error.seconds:.0f} s.")
    return ProviderUnavailable(
        f"the identity provider does not answer: {error.what}. Sign in again in a moment; tokens that exist go on."
    )


def _unusable(why: str) -> ProviderUnavailable:
    return ProviderUnavailable(f"the identity provider cannot be used: {why}. Tell whoever runs this server.")
