"""The registry under a running server: damaged, it says so, and once the remedy is applied it goes on without a restart."""

from pathlib import Path

import pytest

from codecompass.actors.ledger import open_ledger
from codecompass.actors.limits import Limits
from codecompass.errors import IndexDamaged
from codecompass.store.layout import HomeLayout
from tests.support.faults import damage


@pytest.fixture
async def ledger(tmp_path):
    async with open_ledger(HomeLayout(tmp_path), Limits(), busy_timeout_ms=1000) as ledger:
        yield ledger


async def test_a_damaged_registry_names_the_remedy_which_helps_at_once(ledger, tmp_path):
    before = await ledger.register(Path("/srv/shop"))
    for path in tmp_path.glob("registry.db*"):
        damage(path, "overwritten")

    with pytest.raises(IndexDamaged) as told:
        await ledger.projects()
    assert told.value.data["remediation"] == f"mv {tmp_path}/registry.db {tmp_path}/registry.db.damaged"
    for path in tmp_path.glob("registry.db*"):
        path.rename(path.with_name(f"{path.name}.damaged"))

    assert await ledger.projects() == ()
    assert (await ledger.register(Path("/srv/shop"))).project_id == before.project_id


async def test_a_registry_that_is_deleted_is_made_again_and_not_written_to_where_nobody_looks(ledger, tmp_path):
    await ledger.register(Path("/srv/shop"))
    for path in tmp_path.glob("registry.db*"):
        path.unlink()

    await ledger.register(Path("/srv/other"))

    assert [str(project.root) for project in await ledger.projects()] == ["/srv/other"]
    assert (tmp_path / "registry.db").exists()
