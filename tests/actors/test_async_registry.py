"""A damaged registry under a running server is reported with a remedy, which takes effect without a restart."""

from pathlib import Path

import pytest

from codecompass.actors.async_registry import open_async_registry
from codecompass.actors.blocking_calls import Limits
from codecompass.errors import IndexDamaged
from codecompass.store.layout import HomeLayout
from codecompass.store.registry import Registry
from tests.support.faults import damage


@pytest.fixture
async def registry(tmp_path):
    async with open_async_registry(HomeLayout(tmp_path), Limits(), busy_timeout_ms=1000) as registry:
        yield registry


async def test_a_damaged_registry_names_the_remedy_which_helps_at_once(registry, tmp_path):
    before = await registry.run(Registry.register, Path("/srv/shop"))
    for path in tmp_path.glob("registry.db*"):
        damage(path, "overwritten")

    with pytest.raises(IndexDamaged) as told:
        await registry.run(Registry.projects)
    assert told.value.data["remediation"] == f"mv {tmp_path}/registry.db {tmp_path}/registry.db.damaged"
    for path in tmp_path.glob("registry.db*"):
        path.rename(path.with_name(f"{path.name}.damaged"))

    assert await registry.run(Registry.projects) == ()
    assert (await registry.run(Registry.register, Path("/srv/shop"))).project_id == before.project_id


async def test_a_registry_that_is_deleted_is_made_again_and_not_written_to_where_nobody_looks(registry, tmp_path):
    await registry.run(Registry.register, Path("/srv/shop"))
    for path in tmp_path.glob("registry.db*"):
        path.unlink()

    await registry.run(Registry.register, Path("/srv/other"))

    assert [str(project.root) for project in await registry.run(Registry.projects)] == ["/srv/other"]
    assert (tmp_path / "registry.db").exists()
