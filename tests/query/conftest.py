"""Indexes for the query tests, built by real index jobs: a shared one, and small ones on demand."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path

import pytest
import trio

import codecompass
from codecompass.protocol.metadata import AnswerState
from codecompass.store.snapshot import Snapshot
from tests.query.project import FILES
from tests.support.workspace import TestWorkspace

IndexOf = Callable[[Mapping[str, str | bytes]], Snapshot]


@pytest.fixture(scope="session")
def index_of(tmp_path_factory: pytest.TempPathFactory) -> Iterator[IndexOf]:
    """Indexes files given as {path: text} and returns a snapshot that stays valid for the session."""
    with ExitStack() as stack:

        def build(files: Mapping[str, str | bytes]) -> Snapshot:
            directory = tmp_path_factory.mktemp("query")
            workspace = TestWorkspace(directory / "project", directory / "home")
            workspace.write(files)
            trio.run(workspace.sync)
            return stack.enter_context(workspace.index.snapshot())

        yield build


@pytest.fixture(scope="session")
def shop(index_of: IndexOf) -> Snapshot:
    """The shared project."""
    return index_of(FILES)


@pytest.fixture(scope="session")
def own(index_of: IndexOf) -> Snapshot:
    """The sources of CodeCompass: enough code to fill pages and budgets."""
    package = Path(codecompass.__file__).parent
    return index_of({path.relative_to(package).as_posix(): path.read_bytes() for path in package.rglob("*.py")})


@pytest.fixture(scope="session")
def state() -> AnswerState:
    """The state of a workspace that is fresh and ready."""
    return AnswerState(workspace="/home/me/shop", project_id="0123456789abcdef", ref="main")
