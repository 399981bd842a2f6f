"""A file system whose times are whole seconds: edits of the same size within one second are still detected."""

import random

import pytest

from tests.support.loop_mounts import ext4_of_whole_seconds

pytestmark = [pytest.mark.interaction, pytest.mark.xdist_group("mounts")]

N_EDITS = 60
N_FILES = 5


@pytest.fixture
def coarse(tmp_path):
    place = tmp_path / "disk"
    place.mkdir()
    with ext4_of_whole_seconds(place) as mounted:
        yield mounted


def written(root, number, name):
    (root / "src" / f"file_{number}.py").write_text(f"def {name}():\n    return 1\n")


@pytest.mark.invariant("An edit is detected even if times are whole seconds")
async def test_a_server_is_never_wrong_and_fresh_there(machine, coarse):
    source = random.Random(7)
    root = machine.project("shop", below=coarse)
    names = {number: f"name_{number:06}" for number in range(N_FILES)}
    for number, name in names.items():
        written(root, number, name)
    assert (root / "src" / "main.py").stat().st_mtime_ns % 10**9 == 0
    machine.register(root)
    async with machine.serve("--workspace", root) as desk:
        await desk.ready(names[0])
        for step in range(N_EDITS):
            number = source.randrange(N_FILES)
            gone, names[number] = names[number], f"name_{step + 100:06}"
            written(root, number, names[number])
            if source.random() < 0.3:
                # Again within the same second, after a request that may have indexed the file.
                await desk.find(names[number])
                gone, names[number] = names[number], f"name_{step + 50_000:06}"
                written(root, number, names[number])
            found = await desk.find(names[number])
            lost = await desk.find(gone)
            assert found.metadata["freshness_status"] != "fresh" or found.names == {names[number]}, found.text
            assert lost.metadata["freshness_status"] != "fresh" or gone not in lost.names, lost.text


def test_the_command_line_sees_every_edit_there(machine, coarse):
    root = machine.project("shop", below=coarse)
    for step in range(6):
        written(root, 0, f"name_{step:06}")
        found = machine.run("locate", f"name_{step:06}", "--json", "--workspace", root)
        assert f'"name":"name_{step:06}"' in found.stdout.replace('": "', '":"'), (step, found)
