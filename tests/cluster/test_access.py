"""Access without an engine: which repositories a viewer sees, the headers that identify a viewer, how long tokens are cached."""

import ast
from pathlib import Path

import msgspec
import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Struct
from msgspec.structs import replace

import codecompass.cluster
from codecompass.cluster.access.authentication import (
    KNOWN_SECONDS,
    MAX_KNOWN,
    UNKNOWN_SECONDS,
    Authenticator,
    trusted_proxy,
)
from codecompass.cluster.access.tokens import USED_SECONDS, AccessToken, OutOfScope, Tokens, Unauthorized, token_id
from codecompass.cluster.access.visibility import EVERYONE, Viewer, visible
from codecompass.cluster.engine.calls import EngineCalls
from codecompass.cluster.engine.client import Document
from codecompass.cluster.engine.failures import Conflict, EngineUnavailable
from codecompass.errors import InvalidInput
from codecompass.projects.caller import Identity
from codecompass.settings import AccessSettings
from codecompass.transport.http.request import Heading, HttpRefusal

PACKAGE = Path(codecompass.cluster.__file__).parent

NAMES = ("red", "blue", "green", EVERYONE)
PROXY = AccessSettings(
    trusted_proxies=("10.0.0.0/8", "fd00::/8"),
    user_header="X-Forwarded-User",
    groups_header="X-Forwarded-Groups",
    admin_groups=("wheel",),
)


class Repository(Struct, frozen=True):
    groups: tuple[str, ...]


class Kept:
    """The tokens stored in an engine. `n_read` counts lookups."""

    def __init__(self, **tokens: AccessToken) -> None:
        self.names = tuple(tokens)
        self.tokens = {token_id(text): token for text, token in tokens.items()}
        self.n_read = 0
        self.failure: Exception | None = None

    def find(self, id_: str) -> AccessToken | None:
        self.n_read += 1
        if self.failure is not None:
            raise self.failure
        return self.tokens.get(id_)


def authenticator(kept=None, settings=PROXY) -> Authenticator:
    return Authenticator((kept or Kept()).find, trusted_proxy(settings), EngineCalls(4))


def heading(peer="192.0.2.7", path="/", **headers) -> Heading:
    named = [(name.replace("_", "-").encode(), value.encode("latin-1")) for name, value in headers.items()]
    return Heading({"type": "http", "path": path, "query_string": b"", "headers": named, "client": (peer, 1)})


async def who(keeper, **headers):
    """Returns the viewer identified by headers; None if refused."""
    try:
        return await keeper.viewer(await keeper.identify(heading(**headers)))
    except HttpRefusal as refusal:
        return None if (refusal.status, refusal.headers[0][0]) == (401, "www-authenticate") else refusal


# The decision.


@pytest.mark.parametrize(
    ("groups", "own", "is_admin", "sees"),
    [
        (("red",), ("red",), False, True),
        (("red", "blue"), ("blue", "green"), False, True),
        (("red",), ("blue",), False, False),
        (("red",), (), False, False),
        ((), ("red",), False, False),
        ((), (), False, False),
        ((EVERYONE,), (), False, True),
        ((EVERYONE, "red"), ("blue",), False, True),
        (("red",), (EVERYONE,), False, False),
        ((), (), True, True),
        (("red",), (), True, True),
    ],
)
def test_who_shares_a_group_with_a_repository_may_see_it(groups, own, is_admin, sees):
    repository = Repository(groups)

    assert visible(Viewer("v", frozenset(own), is_admin), [repository]) == ((repository,) if sees else ())


@given(
    st.lists(st.builds(Repository, st.lists(st.sampled_from(NAMES), unique=True).map(tuple))),
    st.frozensets(st.sampled_from(NAMES)),
    st.frozensets(st.sampled_from(NAMES)),
)
def test_what_is_seen_is_a_part_in_its_order_and_more_groups_never_see_less(repositories, groups, more):
    seen = visible(Viewer("v", groups), repositories)

    remaining = iter(repositories)
    assert all(each in remaining for each in seen)
    assert set(seen) <= set(visible(Viewer("v", groups | more), repositories))
    assert visible(Viewer("v", frozenset(), is_admin=True), repositories) == tuple(repositories)


def test_a_token_ends_when_it_expires():
    token = AccessToken(name="anna", groups=("red",), expires_at=100.0)

    assert token.viewer(99.9) == Viewer("anna", frozenset({"red"}))
    assert token.viewer(100.0) is None
    assert AccessToken(name="anna").viewer(1e12) is not None


READING = {
    *("repositories.manifests", "indexing.publishing"),
    *("serving.generations", "serving.segment_cache", "serving.summaries"),
    *("stores.directory", "stores.opening", "stores.s3", "stores.segment_store"),
}
"""The modules that read the contents of repositories."""


@pytest.mark.invariant(of="test_every_question_is_answered_as_if_the_invisible_did_not_exist")
def test_no_module_of_a_server_reads_past_the_library():
    importing = {
        ".".join(path.relative_to(PACKAGE).with_suffix("").parts)
        for path in PACKAGE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ImportFrom) and (node.module or "").removeprefix("codecompass.cluster.") in READING
    }
    of_servers = {name for name in importing - READING if not name.startswith(("indexing.", "stores."))}

    # The server creates the readers, and passes them to the library only.
    assert of_servers == {"serving.library", "serving.server"}


# Identification.


async def test_a_token_names_its_viewer():
    keeper = authenticator(Kept(secret=AccessToken(name="anna", groups=("red",)), root=AccessToken(name="olga", is_admin=True)))

    assert await who(keeper, authorization="Bearer secret") == Viewer("anna", frozenset({"red"}))
    assert await who(keeper, authorization="bearer   secret ") == Viewer("anna", frozenset({"red"}))
    assert await who(keeper, authorization="Bearer root") == Viewer("olga", frozenset(), is_admin=True)
    for wrong in ("Bearer", "Bearer ", "Bearer other", "Basic secret", "secret", "Bearer secret secret", ""):
        assert await who(keeper, authorization=wrong) is None
    assert await who(keeper, authorization=f"Bearer {token_id('secret')}") is None
    assert await who(keeper) is None


async def test_headers_count_from_the_proxy_alone():
    keeper = authenticator(Kept(secret=AccessToken(name="anna", groups=("red",))))
    said = {"x_forwarded_user": "ben", "x_forwarded_groups": " blue,green , ,blue"}

    assert await who(keeper, peer="10.1.2.3", **said) == Viewer("ben", frozenset({"blue", "green"}))
    assert await who(keeper, peer="::ffff:10.1.2.3", **said) == Viewer("ben", frozenset({"blue", "green"}))
    assert await who(keeper, peer="fd00::1", **said) == Viewer("ben", frozenset({"blue", "green"}))
    for peer in ("11.0.0.1", "192.0.2.7", "::ffff:11.0.0.1", "2001:db8::1", "::1", "127.0.0.1", "", "10.1.2.3.4", "proxy"):
        assert await who(keeper, peer=peer, **said) is None
        assert await who(keeper, peer=peer, **said, authorization="Bearer secret") == Viewer("anna", frozenset({"red"}))


async def test_where_the_proxy_names_somebody_that_is_who_asks():
    keeper = authenticator(Kept(secret=AccessToken(name="anna", groups=("red",))))
    proxied = {"peer": "10.1.2.3", "authorization": "Bearer secret"}

    assert (await who(keeper, **proxied, x_forwarded_user="ben")).name == "ben"
    assert (await who(keeper, **proxied, x_forwarded_user="  ")).name == "anna"
    assert (await who(keeper, **proxied)).name == "anna"
    assert await who(keeper, **proxied, x_forwarded_user="ben, root") is None
    assert await who(keeper, **proxied, x_forwarded_user="b" * 201) is None
    assert (await who(keeper, **proxied, x_forwarded_user="ben", x_forwarded_groups="wheel")).is_admin
    assert not (await who(keeper, **proxied, x_forwarded_user="ben", x_forwarded_groups="wheels")).is_admin


async def test_without_a_proxy_in_the_settings_headers_are_nothing():
    keeper = authenticator(settings=AccessSettings())

    assert await who(keeper, peer="10.1.2.3", x_forwarded_user="ben", x_forwarded_groups="red") is None


@pytest.mark.parametrize(
    "settings",
    [
        AccessSettings(trusted_proxies=("10.0.0.0/8",)),
        AccessSettings(user_header="X-User"),
        AccessSettings(trusted_proxies=("10.0.0.1/8",), user_header="X-User"),
        AccessSettings(trusted_proxies=("proxy.local",), user_header="X-User"),
    ],
)
def test_a_proxy_that_is_half_configured_is_refused(settings):
    with pytest.raises(InvalidInput, match=r"access\."):
        trusted_proxy(settings)


async def test_a_token_for_metrics_asks_nothing_else():
    kept = Kept(
        scrape=AccessToken(name="prometheus", groups=("red",), scope=("metrics",)),
        secret=AccessToken(name="anna", groups=("red",), scope=("questions",)),
        newer=AccessToken(name="ida", groups=("red",), scope=("questions", "what a newer program knows")),
    )
    keeper = authenticator(kept)

    async def status(token: str, path: str) -> int:
        try:
            identity = await keeper.identify(heading(path=path, authorization=f"Bearer {token}"))
        except HttpRefusal as refusal:
            return refusal.status if refusal.reason == "out_of_scope" else 0
        # A long connection is checked for each question.
        if path != "/metrics":
            await keeper.viewer(identity)
        return 200

    found = {token: [await status(token, path) for path in ("/", "/mcp", "/ws", "/metrics")] for token in kept.names}
    assert found == {"scrape": [403, 403, 403, 200], "secret": [200, 200, 200, 403], "newer": [200, 200, 200, 403]}
    with pytest.raises(OutOfScope):
        await keeper.viewer(Identity(token=token_id("scrape")))


# Stored tokens.


class Documents:
    """One index in memory, with the compare-and-set of the engine. `is_read_only` refuses writes."""

    class names:
        access = "access"

    def __init__(self) -> None:
        self.stored: dict[str, Document] = {}
        self.is_read_only = False
        self.n_written = 0

    def get(self, _index: str, key: str) -> Document | None:
        return self.stored.get(key)

    def put(self, _index: str, key: str, source: bytes, *, expected: Document | None) -> None:
        if self.is_read_only:
            raise EngineUnavailable("read only")
        if self.stored.get(key) != expected:
            raise Conflict
        self.n_written += 1
        self.stored[key] = Document(id=key, source=source, seq_no=self.n_written, primary_term=1)


def test_the_last_use_of_a_token_is_written_down_once_an_hour_and_never_in_the_way():
    documents = Documents()
    tokens = Tokens(documents)
    id_ = token_id(tokens.add("anna", ["red"]))

    documents.is_read_only = True
    assert tokens.find_for_use(id_).name == "anna"
    documents.is_read_only = False
    for _ in range(5):
        assert tokens.find_for_use(id_).name == "anna"

    assert documents.n_written == 2
    used_at = tokens.find(id_).used_at
    assert used_at > 0
    documents.stored[id_] = replace(
        documents.stored[id_], source=msgspec.json.encode(replace(tokens.find(id_), used_at=used_at - USED_SECONDS))
    )
    tokens.find_for_use(id_)
    assert tokens.find(id_).used_at >= used_at


def test_a_token_that_was_revoked_is_not_written_again():
    documents = Documents()
    tokens = Tokens(documents)
    id_ = token_id(tokens.add("anna", ["red"]))
    read = documents.get

    def get_then_revoke(index: str, key: str) -> Document | None:
        found = read(index, key)
        documents.stored.clear()
        return found

    documents.get = get_then_revoke

    assert tokens.find_for_use(id_).name == "anna"
    assert documents.stored == {}


# Cached tokens.


async def test_a_revoked_token_is_taken_no_longer_than_promised(mock_clock):
    kept = Kept(secret=AccessToken(name="anna", groups=("red",)))
    keeper = authenticator(kept)
    identity = await keeper.identify(heading(authorization="Bearer secret"))
    kept.tokens.clear()

    mock_clock.jump(KNOWN_SECONDS - 0.01)
    assert (await keeper.viewer(identity)).name == "anna"
    assert kept.n_read == 1
    mock_clock.jump(0.01)
    with pytest.raises(Unauthorized):
        await keeper.viewer(identity)


async def test_other_groups_of_a_token_count_as_soon(mock_clock):
    kept = Kept(secret=AccessToken(name="anna", groups=("red",)))
    keeper = authenticator(kept)
    identity = await keeper.identify(heading(authorization="Bearer secret"))
    kept.tokens[token_id("secret")] = AccessToken(name="anna", groups=("blue",))

    mock_clock.jump(KNOWN_SECONDS)
    assert (await keeper.viewer(identity)).groups == {"blue"}


async def test_a_new_token_counts_soon_though_it_was_tried_before(mock_clock):
    kept = Kept()
    keeper = authenticator(kept)
    assert await who(keeper, authorization="Bearer early") is None
    kept.tokens[token_id("early")] = AccessToken(name="ida", groups=("red",))

    assert await who(keeper, authorization="Bearer early") is None
    assert kept.n_read == 1
    mock_clock.jump(UNKNOWN_SECONDS)
    assert (await who(keeper, authorization="Bearer early")).name == "ida"


async def test_guesses_crowd_out_no_token_and_are_bounded():
    kept = Kept(secret=AccessToken(name="anna", groups=("red",)))
    keeper = authenticator(kept)
    await who(keeper, authorization="Bearer secret")
    for number in range(MAX_KNOWN + 10):
        identity = Identity(token=f"{number:064x}")
        with pytest.raises(Unauthorized):
            await keeper.viewer(identity)
    n_before = kept.n_read

    assert (await who(keeper, authorization="Bearer secret")).name == "anna"
    assert kept.n_read == n_before
    assert len(keeper._unknown) == MAX_KNOWN


async def test_many_who_ask_at_once_with_one_token_are_one_question_to_the_engine():
    kept = Kept(secret=AccessToken(name="anna", groups=("red",)))
    keeper = authenticator(kept)

    async with trio.open_nursery() as nursery:
        for _ in range(50):
            nursery.start_soon(keeper.viewer, Identity(token=token_id("secret")))

    assert kept.n_read == 1


async def test_while_the_engine_is_away_nobody_is_refused_for_a_wrong_token():
    kept = Kept(secret=AccessToken(name="anna", groups=("red",)))
    kept.failure = EngineUnavailable("away")
    keeper = authenticator(kept)

    with pytest.raises(HttpRefusal) as refused:
        await keeper.identify(heading(authorization="Bearer secret"))

    assert refused.value.status == 503
    assert refused.value.is_retryable
    kept.failure = None
    assert (await who(keeper, authorization="Bearer secret")).name == "anna"


async def test_a_caller_without_identity_is_nobody():
    with pytest.raises(Unauthorized):
        await authenticator().viewer(None)
