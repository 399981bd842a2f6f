"""A store over its quota, through the real command: what can be evicted, what cannot, and which reports say so."""

import json

import pytest

from codecompass.store.filesystem import disk_usage
from tests.workspaces.machine import word

pytestmark = pytest.mark.interaction


async def test_over_the_quota_discovered_workspaces_make_room_at_the_next_start(machine):
    kept, roots = machine.project("kept"), [machine.project(f"w{number}") for number in range(3)]
    machine.index(kept)
    flags = ("--auto-workspace", "--allowed-root", machine.dev, "--no-prewarm")
    async with machine.serve(*flags) as desk:
        for root in roots:
            await desk.ready(word(root), workspace=root)
    room = disk_usage(machine.home.root) - 1000

    async with machine.serve(*flags, CODECOMPASS_STORAGE_MAX_SIZE=str(room)) as desk:
        await desk.until(lambda answer: answer.json["total_projects"] == 3, "health_check")
        health = await desk.health()
        known = set(machine.projects())
        again = await desk.ready(word(roots[0]), workspace=roots[0])

    assert known == {kept, roots[1], roots[2]}
    assert "storage" not in health
    assert again.names == {word(roots[0])}


async def test_what_cannot_make_room_is_told_by_everyone_who_may_be_asked(machine):
    kept, new = machine.project("kept"), machine.project("new")
    machine.index(kept)
    quota = {"CODECOMPASS_STORAGE_MAX_SIZE": "1000"}
    async with machine.serve("--auto-workspace", "--allowed-root", machine.dev, "--no-prewarm", **quota) as desk:
        told = await desk.until(lambda answer: "storage" in answer.json, "health_check")
        found = await desk.ready(word(kept), workspace=kept)
        status = await desk.call("index_status", workspace=kept)
        refused = await desk.find(word(new), workspace=new)
    doctor = json.loads(machine.run("doctor", "--json", **quota).stdout)
    shown = machine.run("status", "--workspace", kept, **quota)

    assert told.json["storage"]["max_bytes"] == 1000
    assert told.json["storage"]["used_bytes"] > 1000
    assert "codecompass projects remove" in told.json["storage"]["message"]
    assert found.names == {word(kept)}
    assert any("storage.max_size" in warning for warning in status.metadata["warnings"])
    assert refused.code == "workspace_limit_exceeded"
    assert "storage.max_size" in refused.message
    assert next(check for check in doctor["checks"] if check["name"] == "index size")["status"] == "warn"
    assert "storage.max_size" in shown.stdout + shown.stderr
    assert set(machine.projects()) == {kept}
