"""A small identity provider on a local port: the device flow and the authorization code flow of OpenID Connect with PKCE, as
their specifications describe them. Whoever comes to it is signed in at once."""

import base64
import hashlib
import json
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

from tests.support.http_in_thread import serving_in_thread

DEVICE_CODE = "GmRhmhcxhwAzkoEqiMEg_DnyEysNkuNhszIySk9eS"


@dataclass
class Provider:
    """The state of the provider; tests change it while it serves."""

    port: int = 0
    secret: str = ""
    answers: list[tuple[int, dict[str, Any]]] = field(default_factory=list)
    """The next answers of the token endpoint, in place of tokens."""
    claims: dict[str, Any] = field(default_factory=dict)
    """Claims of the ID token that differ from the usual ones."""
    metadata: dict[str, Any] = field(default_factory=dict)
    is_broken: bool = False
    interval: int = 5
    asked: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    sends_back: dict[str, str] = field(default_factory=dict)
    """What it sends a browser back with in place of a code; an empty value leaves a parameter out."""
    codes: dict[str, dict[str, str]] = field(default_factory=dict)
    """What was asked for with each code that was not redeemed yet."""

    @property
    def issuer(self) -> str:
        return f"http://127.0.0.1:{self.port}/realm"

    def configuration(self) -> dict[str, Any]:
        return {
            "issuer": self.issuer,
            "device_authorization_endpoint": f"{self.issuer}/device",
            "authorization_endpoint": f"{self.issuer}/authorize?kc=1",
            "token_endpoint": f"{self.issuer}/token",
            "jwks_uri": f"{self.issuer}/keys",
            **self.metadata,
        }

    def device(self) -> dict[str, Any]:
        return {
            "device_code": DEVICE_CODE,
            "user_code": "WDJB-MJHT",
            "verification_uri": f"{self.issuer}/activate",
            "verification_uri_complete": f"{self.issuer}/activate?user_code=WDJB-MJHT",
            "expires_in": 900,
            "interval": self.interval,
        }

    def authorize(self, asked: dict[str, str]) -> str:
        """Returns the address to which a browser is sent back. The person has signed in."""
        assert (asked["response_type"], asked["client_id"], asked["code_challenge_method"]) == ("code", "codecompass", "S256")
        code = secrets.token_urlsafe(12)
        self.codes[code] = asked
        back = {"code": code, "state": asked["state"], "iss": self.issuer, **self.sends_back}
        return f"{asked['redirect_uri']}?{urlencode({name: value for name, value in back.items() if value})}"

    def redeem(self, form: dict[str, str]) -> tuple[int, dict[str, Any]]:
        """Returns tokens for a code, once, to whom the browser was sent from."""
        asked = self.codes.pop(form["code"], None)
        digest = hashlib.sha256(form["code_verifier"].encode()).digest()
        challenge = base64.urlsafe_b64encode(digest).decode().rstrip("=")
        is_same = asked is not None and (asked["redirect_uri"], asked["code_challenge"]) == (form["redirect_uri"], challenge)
        return (200, self.tokens(asked["nonce"])) if asked is not None and is_same else (400, {"error": "invalid_grant"})

    def tokens(self, nonce: str = "") -> dict[str, Any]:
        claims = {
            **({"nonce": nonce} if nonce else {}),
            "iss": self.issuer,
            "aud": "codecompass",
            "exp": int(time.time()) + 300,
            "sub": "8f2a",
            "preferred_username": "ada",
            "groups": ["Team_Backend", "web"],
            **self.claims,
        }
        parts = ({"alg": "RS256", "kid": "1"}, claims)
        encoded = [base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=") for part in parts]
        return {"access_token": "opaque", "token_type": "Bearer", "expires_in": 300, "id_token": ".".join((*encoded, "c2ln"))}

    def reply(self, path: str, form: dict[str, str]) -> tuple[int, dict[str, Any]]:
        if path == "/realm/.well-known/openid-configuration":
            return 200, self.configuration()
        if form.get("client_id") != "codecompass" or form.get("client_secret", "") != self.secret:
            return 401, {"error": "invalid_client"}
        if path == "/realm/device":
            return 200, self.device()
        if path == "/realm/token" and form.get("device_code") == DEVICE_CODE:
            return self.answers.pop(0) if self.answers else (200, self.tokens())
        if path == "/realm/token" and form.get("grant_type") == "authorization_code":
            return self.answers.pop(0) if self.answers else self.redeem(form)
        return 400, {"error": "invalid_grant"}


@contextmanager
def identity_provider(**fields: Any) -> Iterator[Provider]:
    """Serves a provider for the duration of the block."""
    provider = Provider(**fields)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            parts = urlsplit(self.path)
            if parts.path == "/realm/authorize" and not provider.is_broken:
                self.send_response(302)
                self.send_header("Location", provider.authorize({k: v[0] for k, v in parse_qs(parts.query).items()}))
                self.send_header("Content-Length", "0")
                self.end_headers()
                return
            self._answer({})

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"])).decode()
            self._answer({key: values[0] for key, values in parse_qs(body).items()})

        def _answer(self, form: dict[str, str]) -> None:
            provider.asked.append((self.path, form))
            status, answer = (500, {}) if provider.is_broken else provider.reply(self.path, form)
            body = json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    with serving_in_thread(Handler) as port:
        provider.port = port
        yield provider
