"""Served repositories: that of the seeds' examples, and repositories for read-only tests."""

from collections.abc import AsyncIterator, Callable, Mapping
from pathlib import Path

import pytest
import trio

from codecompass.store.registry import Registry
from tests.contract.backend import BACKEND
from tests.support.serving import Serving, open_serving
from tests.support.workspace import TestWorkspace

IndexedHome = Callable[[str, Mapping[str, str]], Path]


@pytest.fixture
async def backend(repository: TestWorkspace) -> AsyncIterator[Serving]:
    """Serves the repository, registered as `backend` and indexed."""
    repository.write(BACKEND)
    repository.commit()
    async with open_serving(repository.home) as serving:
        await index_default(serving, repository, "backend")
        yield serving


@pytest.fixture(scope="session")
def indexed_home(tmp_path_factory: pytest.TempPathFactory) -> IndexedHome:
    """Returns `indexed_home(name, files)`: the home of an indexed repository, built once, for read-only tests."""
    made: dict[str, Path] = {}

    async def make(name: str, files: Mapping[str, str]) -> Path:
        top = tmp_path_factory.mktemp(name)
        repository = TestWorkspace(top / "project", top / "home", git=True)
        repository.write(files)
        repository.commit()
        async with open_serving(repository.home) as serving:
            await index_default(serving, repository, name)
        return repository.home

    def home(name: str, files: Mapping[str, str]) -> Path:
        if name not in made:
            made[name] = trio.run(make, name, files)
        return made[name]

    return home


async def index_default(serving: Serving, repository: TestWorkspace, alias: str) -> None:
    project = await serving.registry.run(Registry.register, repository.root)
    await serving.registry.run(Registry.adopt, project.project_id, alias=alias, as_default=True)
    await serving.call("index_repo", wait_seconds=50)
