"""A served repository that is the one of the seeds' examples."""

from collections.abc import AsyncIterator

import pytest

from codecompass.store.registry import Registry
from tests.contract.backend import BACKEND
from tests.support.serving import Serving, open_serving
from tests.support.workspace import TestWorkspace


@pytest.fixture
async def backend(repository: TestWorkspace) -> AsyncIterator[Serving]:
    """Serves the repository, registered as `backend`, indexed."""
    repository.write(BACKEND)
    repository.commit()
    async with open_serving(repository.home) as serving:
        project = await serving.registry.run(Registry.register, repository.root)
        await serving.registry.run(Registry.adopt, project.project_id, alias="backend", as_default=True)
        await serving.call("index_repo", wait_seconds=50)
        yield serving
