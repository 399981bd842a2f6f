"""People sign in at an identity provider for a token: the device flow, and what its ID token must say."""

import json
import time

import pytest
import trio
from structlog.testing import capture_logs

from codecompass.cluster.access.authentication import Authenticator
from codecompass.cluster.access.sign_in import Pending, ProviderUnavailable, SignedIn, SignIn, SignInRefused, sign_in
from codecompass.cluster.access.tokens import Tokens, Unauthorized, token_id
from codecompass.cluster.access.visibility import Viewer
from codecompass.cluster.engine.calls import EngineCalls
from codecompass.cluster.hosts.members import Member, ReaderGroups
from codecompass.errors import InvalidInput
from codecompass.projects.caller import Identity
from codecompass.settings import AccessSettings
from tests.cli.conftest import cli
from tests.cluster.identity_provider import DEVICE_CODE, Provider, identity_provider
from tests.cluster.organisation import serving_library
from tests.cluster.test_access import Documents
from tests.cluster.test_host_permissions import Known
from tests.cluster.test_library_server import closed_port, settings_at
from tests.transport.http.client import ask, call

__all__ = ("cli",)

DAY = 86_400


def settings_of(provider: Provider, **fields: object) -> AccessSettings:
    return AccessSettings(oidc_issuer=provider.issuer, oidc_client_id="codecompass", **fields)


def signing_in(provider: Provider, tokens: Tokens | None = None, **fields: object) -> SignIn:
    return SignIn(settings_of(provider, **fields), tokens or Tokens(Documents()))


def test_a_person_who_signs_in_gets_a_token_with_their_groups():
    tokens = Tokens(Documents())
    with identity_provider() as provider:
        by = signing_in(provider, tokens, group_names=("Team_Backend=backend",))
        begun = by.begin()
        provider.answers = [(400, {"error": "authorization_pending"}), (400, {"error": "slow_down"})]
        first, second, third = (by.finish(begun.device_code) for _ in range(3))

    assert (begun.user_code, begun.verification_uri) == ("WDJB-MJHT", f"{provider.issuer}/activate")
    assert (first, second) == (Pending(interval=5), Pending(interval=10))
    assert isinstance(third, SignedIn)
    assert (third.name, third.groups) == ("ada", ("backend", "web"))
    stored = tokens.find(token_id(third.token))
    assert stored.viewer(time.time()) == Viewer("ada", frozenset({"backend", "web"}))
    assert (stored.scope, stored.login) == (("questions",), "ada")
    assert 6.9 * DAY < stored.expires_at - time.time() <= 7 * DAY
    assert provider.asked[1] == ("/realm/device", {"scope": "openid profile groups", "client_id": "codecompass"})


def test_the_secret_of_the_server_is_in_a_file(tmp_path):
    file = tmp_path / "secret"
    with identity_provider(secret="hush") as provider:
        file.write_text("hush\n")
        assert signing_in(provider, oidc_secret_file=str(file)).begin().user_code
        file.write_text("wrong\n")
        for without in (signing_in(provider), signing_in(provider, oidc_secret_file=str(file))):
            with pytest.raises(ProviderUnavailable, match=r"access\.oidc_client_id") as refused:
                without.begin()
            assert "wrong" not in refused.value.message
        with pytest.raises(ProviderUnavailable, match="oidc_secret_file"):
            signing_in(provider, oidc_secret_file=str(tmp_path / "none")).begin()


@pytest.mark.parametrize(
    "claims",
    [
        {"aud": "another"},
        {"aud": ["codecompass", "another"]},
        {"aud": ["codecompass", "another"], "azp": "another"},
        {"iss": "https://elsewhere.example.org"},
        {"exp": 1},
        {"exp": "never"},
        {"preferred_username": ""},
        {"preferred_username": None},
        {"preferred_username": "a" * 201},
        {"preferred_username": "a\nb"},
    ],
)
def test_an_id_token_that_is_not_for_us_is_worth_nothing(claims):
    documents = Documents()
    with identity_provider(claims=claims) as provider, pytest.raises(ProviderUnavailable):
        signing_in(provider, Tokens(documents)).finish(DEVICE_CODE)

    assert documents.stored == {}


def test_an_id_token_for_several_is_for_us_if_we_asked_for_it():
    with identity_provider(claims={"aud": ["codecompass", "another"], "azp": "codecompass"}) as provider:
        assert isinstance(signing_in(provider).finish(DEVICE_CODE), SignedIn)


@pytest.mark.parametrize(
    ("groups", "expected"),
    [
        (None, ()),
        ("web", ("web",)),
        (["web", 7, "host:one", "no, group", ""], ("web",)),
        ({"web": True}, ()),
    ],
)
def test_groups_are_those_in_which_a_repository_can_be(groups, expected):
    with identity_provider(claims={"groups": groups}) as provider:
        assert signing_in(provider).finish(DEVICE_CODE).groups == expected


def test_members_of_an_admin_group_are_administrators():
    tokens = Tokens(Documents())
    with identity_provider() as provider:
        text = signing_in(provider, tokens, admin_groups=("web",)).finish(DEVICE_CODE).token

    assert tokens.find(token_id(text)).is_admin


@pytest.mark.parametrize("error", ["access_denied", "expired_token", "invalid_grant"])
def test_a_sign_in_that_will_never_be_is_refused_and_says_to_begin_again(error):
    with identity_provider(answers=[(400, {"error": error})]) as provider, pytest.raises(SignInRefused, match="Begin again"):
        signing_in(provider).finish(DEVICE_CODE)


@pytest.mark.parametrize(
    "metadata",
    [
        {"issuer": "https://elsewhere.example.org"},
        {"device_authorization_endpoint": ""},
        {"device_authorization_endpoint": "http://elsewhere.example.org/device"},
        {"token_endpoint": 7},
    ],
)
def test_a_provider_that_cannot_be_used_is_named_as_such(metadata):
    with identity_provider(metadata=metadata) as provider, pytest.raises(ProviderUnavailable, match="cannot be used"):
        signing_in(provider).begin()


def test_a_provider_that_is_away_keeps_nobody_out_who_has_a_token():
    with identity_provider() as provider:
        by = signing_in(provider)
        provider.is_broken = True
        with pytest.raises(ProviderUnavailable, match="status 500"):
            by.begin()
    with pytest.raises(ProviderUnavailable, match="tokens that exist go on"):
        by.finish(DEVICE_CODE)


async def test_while_a_provider_is_away_its_groups_count_until_the_token_expires_and_no_longer(monkeypatch):
    tokens = Tokens(Documents())
    with identity_provider() as provider:
        by = signing_in(provider, tokens)
        signed_in = by.finish(DEVICE_CODE)
    identity = Identity(token=token_id(signed_in.token))
    keeper = Authenticator(tokens.find, None, EngineCalls(2))
    with pytest.raises(ProviderUnavailable):
        by.finish(DEVICE_CODE)

    monkeypatch.setattr(time, "time", lambda: signed_in.expires_at - 1)
    assert (await keeper.viewer(identity)).groups == {"Team_Backend", "web"}
    monkeypatch.setattr(time, "time", lambda: signed_in.expires_at + 1)
    with pytest.raises(Unauthorized):
        await keeper.viewer(identity)


def test_a_provider_that_is_half_configured_is_refused():
    assert sign_in(AccessSettings(), Tokens(Documents())) is None
    for settings in (
        AccessSettings(oidc_issuer="https://id.example.org"),
        AccessSettings(oidc_client_id="codecompass"),
        AccessSettings(oidc_issuer="http://id.example.org", oidc_client_id="codecompass"),
    ):
        with pytest.raises(InvalidInput, match=r"access\.oidc_issuer"):
            sign_in(settings, Tokens(Documents()))


async def test_who_has_signed_in_sees_what_they_may_read_at_the_code_host():
    tokens = Tokens(Documents())
    with identity_provider() as provider:
        text = signing_in(provider, tokens).finish(DEVICE_CODE).token
    by_hand = tokens.add("ada", ["web"])
    known = Known(ada=Member(source="s", login="ada", repositories=("one",), checked_at=time.time()))
    keeper = Authenticator(tokens.find, None, EngineCalls(2), ReaderGroups(known, EngineCalls(2), 7_200))

    assert "host:one" in (await keeper.viewer(Identity(token=token_id(text)))).groups
    assert (await keeper.viewer(Identity(token=token_id(by_hand)))).groups == {"web"}


# Over HTTP.


async def post(port: int, path: str, body: object = None) -> tuple[int, dict]:
    answer = await ask(port, "POST", path, json.dumps(body).encode())
    return answer.status, json.loads(answer.body)


async def test_a_server_without_a_provider_says_who_issues_tokens(tmp_path):
    with closed_port() as port:
        async with serving_library(settings_at(port), tmp_path / "cache", n_ready=0) as served:
            status, said = await post(served.port, "/login")

    assert status == 404
    assert "issues tokens" in said["error"]["message"]


async def test_signing_in_needs_no_token_and_names_what_is_wrong(tmp_path):
    """The engine is away, so no token can be stored."""
    with closed_port() as port, identity_provider() as provider:
        access = {"oidc_issuer": provider.issuer, "oidc_client_id": "codecompass"}
        async with serving_library(settings_at(port, **access), tmp_path / "cache", n_ready=0) as served:
            begun = await post(served.port, "/login")
            provider.answers = [(400, {"error": "authorization_pending"}), (400, {"error": "access_denied"})]
            body = {"device_code": begun[1]["device_code"]}
            pending, denied = [await post(served.port, "/login/token", body) for _ in range(2)]
            malformed = await post(served.port, "/login/token", {})
            provider.is_broken = True
            away = await post(served.port, "/login")

    assert (begun[0], begun[1]["user_code"]) == (200, "WDJB-MJHT")
    assert pending == (200, {"status": "pending", "interval": 5})
    assert (denied[0], "Begin again" in denied[1]["error"]["message"]) == (403, True)
    assert (malformed[0], away[0]) == (400, 503)


async def test_the_command_says_what_to_open_and_why_there_is_no_token(tmp_path, cli):
    with closed_port() as port, identity_provider(interval=0, answers=[(400, {"error": "access_denied"})]) as provider:
        access = {"oidc_issuer": provider.issuer, "oidc_client_id": "codecompass"}
        async with serving_library(settings_at(port, **access), tmp_path / "cache", n_ready=0) as served:
            address = f"http://127.0.0.1:{served.port}"
            done = await trio.to_thread.run_sync(lambda: cli("cluster", "token", "login", address))
    away = cli("cluster", "token", "login", address)
    unsafe = cli("cluster", "token", "login", "http://code.example.com")

    assert f"{provider.issuer}/activate?user_code=WDJB-MJHT" in done.err
    assert (done.code, done.out) != (0, "")
    assert "Begin again" in done.err
    assert "cannot be reached" in away.err
    assert "https://" in unsafe.err


@pytest.mark.cluster
async def test_the_command_prints_the_token_and_nothing_else_to_stdout(house, tmp_path, cli):
    with identity_provider(interval=0) as provider:
        settings = house.settings(oidc_issuer=provider.issuer, oidc_client_id="codecompass")
        async with serving_library(settings, tmp_path / "cache") as served:
            address = f"http://127.0.0.1:{served.port}"
            done = await trio.to_thread.run_sync(lambda: cli("cluster", "token", "login", address))

    assert done.code == 0
    assert house.tokens.find(token_id(done.out.strip())).name == "ada"


@pytest.mark.cluster
async def test_from_a_sign_in_to_an_answer(house, tmp_path):
    await house.publish("alpha", {"a.py": "def one():\n    pass\n"}, groups=["web"])
    with identity_provider() as provider, capture_logs() as logs:
        settings = house.settings(oidc_issuer=provider.issuer, oidc_client_id="codecompass")
        async with serving_library(settings, tmp_path / "cache") as served:
            _, begun = await post(served.port, "/login")
            _, done = await post(served.port, "/login/token", {"device_code": begun["device_code"]})
            question = call("locate_symbol", {"name": "one", "workspace": "alpha"})
            answer = await ask(served.port, "POST", "/", question, authorization=f"Bearer {done['token']}")

    assert answer.said()["results"][0]["name"] == "one"
    assert [each["viewer"] for each in logs if each["event"] == "audit"] == ["ada"]
    assert done["token"] not in json.dumps(logs, default=str)
