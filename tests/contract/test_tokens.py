"""The size of answers, over the codecompass package.

`tools/list` is measured in tests/transport/test_catalog.py.
"""

import json
from pathlib import Path
from statistics import quantiles

import pytest

import codecompass
from codecompass.store.registry import Registry
from tests.support.serving import open_serving

N_NAMES = 120

P95_BYTES = {"location": 300, "signature": 500}
DEFAULT_ANSWER_BYTES = 30_000

QUERIES = ["where is the writer lock taken", "progress of an index job", "def __init__", "Path", "return the symbols of a file"]


@pytest.fixture
async def own_code(tmp_path):
    """Serves the codecompass package."""
    home = tmp_path / "home"
    async with open_serving(home) as serving:
        project = await serving.registry.run(Registry.register, Path(codecompass.__file__).parent)
        await serving.registry.run(Registry.adopt, project.project_id, as_default=True)
        await serving.call("index_repo", wait_seconds=50)
        yield serving


def size(value):
    return len(json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode())


@pytest.mark.slow
async def test_hits_are_small_and_default_answers_bounded(own_code):
    """Symbol hits: p95 300 bytes at `location`, 500 at `signature`; default answers: at most 30 kB; no telemetry."""
    outline = await own_code.call("get_file_outline", path="store/writer.py")
    names = [node["name"] for node in outline["symbols"] if node["kind"] != "use"]
    names += [child["name"] for node in outline["symbols"] for child in node.get("children", ())]
    asked = [("locate_symbol", {"name": name}) for name in dict.fromkeys(names)]
    asked += [("search_code", {"query": query}) for query in QUERIES]

    for level, limit in P95_BYTES.items():
        hits = []
        for tool, arguments in asked:
            reply = await own_code.call(tool, detail_level=level, **arguments)
            hits += [size(hit) for hit in reply["results"] if "symbol_id" in hit]
        assert len(hits) > N_NAMES
        assert quantiles(hits, n=20)[-1] <= limit, level
    for tool, arguments in asked:
        answer = await own_code.answer(tool, **arguments)
        assert len(answer.payload) <= DEFAULT_ANSWER_BYTES
    for path in ("languages/jvm/kotlin.py", "actors/workspace.py", "transport/mcp/wire.py"):
        assert len((await own_code.answer("get_file_outline", path=path)).payload) <= DEFAULT_ANSWER_BYTES


async def test_a_long_signature_is_cut_and_a_long_path_never(repository):
    """Signatures are cut at 240 characters with an ellipsis, paths never."""
    path = "/".join(["a_directory_with_a_long_name"] * 12) + "/module.py"
    parameters = ", ".join(f"parameter_{n}: int = {n}" for n in range(60))
    repository.write({path: f"def takes_much({parameters}):\n    return 0\n"})
    async with open_serving(repository.home) as serving:
        await serving.registry.run(
            Registry.adopt, (await serving.registry.run(Registry.register, repository.root)).project_id, as_default=True
        )
        (hit,) = (await serving.call("locate_symbol", name="takes_much"))["results"]

    assert len(hit["signature"]) == 240
    assert hit["signature"].endswith("\N{HORIZONTAL ELLIPSIS}")
    assert hit["path"] == path
