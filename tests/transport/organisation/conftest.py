"""A developer's machine and an organisation's server, each with its own projects, in one process on loopback."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import trio
from msgspec.structs import replace

from codecompass.settings import OrganisationSettings, ServerSettings
from codecompass.transport.http.limits import HttpLimits
from codecompass.transport.http.server import open_sockets
from codecompass.transport.http.service import serve_http
from codecompass.transport.organisation.target import OrganisationTarget, organisation_target
from tests.support.serving import SETTINGS, Serving, open_serving
from tests.transport.organisation.peer import StrangePeer

TOKEN = "cct_s3cret-of-the-user"

API = {
    "src/retry.py": (
        '"""Retries."""\n\n\nclass RetryPolicy:\n    """How long to wait before another attempt."""\n\n'
        "    def delay(self, attempt):\n        return 2 ** attempt\n"
    ),
    "src/server.py": "from src.retry import RetryPolicy\n\n\ndef serve_api():\n    return RetryPolicy().delay(1)\n",
}
WEB = {
    "src/page.py": "def render_page(delay):\n    '''Shows the delay of an attempt.'''\n    return f'{delay}'\n",
    "README.md": "# Web\n\nPages that wait for a retry.\n",
}
PAY = {
    "pay/__init__.py": "",
    "pay/retry_queue.py": (
        "class RetryQueue:\n    '''Retries a payment attempt after a delay.'''\n\n"
        "    def next_delay(self, attempt):\n        return 3 * attempt\n"
    ),
}
SHOP = {
    "shop/checkout.py": (
        "from pay.retry_queue import RetryQueue\n\n\ndef check_out(attempt):\n    '''Pays, with a retry.'''\n"
        "    return RetryQueue().next_delay(attempt)\n"
    ),
}


def write(root: Path, files: Mapping[str, str], remote: str = "") -> Path:
    """Writes the files; if `remote` is given, also the git configuration of a clone."""
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    if remote:
        git = root / ".git"
        for directory in ("objects", "refs"):
            (git / directory).mkdir(parents=True, exist_ok=True)
        (git / "HEAD").write_text("ref: refs/heads/main\n")
        (git / "config").write_text(f'[core]\n\tbare = false\n[remote "origin"]\n\turl = {remote}\n')
    return root


async def index(serving: Serving, *roots: Path) -> None:
    for root in roots:
        done = await serving.call("index_repo", workspace=root, wait_seconds=50)
        assert done["status"] == "published"


def target_of(url: str, *, timeout_ms: int = 20_000, token: str = TOKEN) -> OrganisationTarget:
    """Returns the target that a developer's settings name. The timeout is generous: a busy machine must not fail the test."""
    target = organisation_target(
        OrganisationSettings(url=url, timeout_ms=timeout_ms), {"CODECOMPASS_ORGANISATION_TOKEN": token} if token else {}
    )
    assert target is not None
    return target


@asynccontextmanager
async def organisation(home: Path, *, answers: str = "json", target: OrganisationTarget | None = None) -> AsyncIterator[Serving]:
    """Yields an organisation's server, reachable over HTTP at `url`."""
    settings = replace(SETTINGS, server=replace(SETTINGS.server, answers=answers))
    async with (
        open_serving(home, settings=settings, organisation=target, has_upkeep=False) as serving,
        trio.open_nursery() as nursery,
    ):
        sockets = open_sockets("127.0.0.1", 0)
        serving.url = f"http://127.0.0.1:{sockets[0].getsockname()[1]}"
        await nursery.start(
            lambda task_status: serve_http(serving.server, sockets, limits=HttpLimits(stop=1), task_status=task_status)
        )
        try:
            yield serving
        finally:
            serving.server.core.stop()


@asynccontextmanager
async def desk(
    home: Path, url: str = "", *, answers: str = "json", timeout_ms: int = 20_000, token: str = TOKEN
) -> AsyncIterator[Serving]:
    """Yields the server on a developer's machine."""
    settings = replace(SETTINGS, server=ServerSettings(prewarm=False, answers=answers))
    target = target_of(url, timeout_ms=timeout_ms, token=token) if url else None
    async with open_serving(home, settings=settings, organisation=target, has_upkeep=False) as serving:
        yield serving


def places(answer: Mapping) -> list[tuple[str, str, int]]:
    """Returns the hits of an answer as (project, path, line), without the prefix `org:` of the organisation's projects."""
    return [(hit["project"].removeprefix("org:"), hit["path"], hit["line_start"]) for hit in answer["results"]]


def complaints(answer: Mapping) -> list[str]:
    """Returns the warnings about the organisation."""
    return [each for each in answer["metadata"].get("warnings", ()) if "the organisation's server" in each]


@pytest.fixture
def trees(tmp_path) -> dict[str, Path]:
    """Two projects of a developer, two of the organisation; their paths sort in this order."""
    return {
        "api": write(tmp_path / "dev" / "1" / "api", API, "git@git.example.org:team/api.git"),
        "web": write(tmp_path / "dev" / "2" / "web", WEB),
        "pay": write(tmp_path / "org" / "1" / "pay", PAY, "https://git.example.org/team/pay.git"),
        "shop": write(tmp_path / "org" / "2" / "shop", SHOP, "https://git.example.org/team/shop"),
    }


@pytest.fixture
async def org(tmp_path, trees):
    """The organisation's server."""
    async with organisation(tmp_path / "home-org") as serving:
        await index(serving, trees["pay"], trees["shop"])
        yield serving


@pytest.fixture
async def dev(tmp_path, trees, org):
    """The developer's server, which queries the organisation's."""
    async with desk(tmp_path / "home-dev", org.url) as serving:
        await index(serving, trees["api"], trees["web"])
        yield serving


@pytest.fixture
def peer():
    """A server at the organisation's address with configurable behaviour; not one of ours."""
    with StrangePeer() as strange:
        yield strange
