"""Every tool on a small real project, with success and error, compared with the transcripts in ../golden.

Ids, times, paths and scores, which differ from run to run, are replaced by <placeholders>; the order by score is compared.
After a deliberate change run with CODECOMPASS_UPDATE_GOLDENS=1 and read the diff before committing it.
"""

import json
import os
import re
from pathlib import Path

import pytest

from codecompass.store.registry import Registry
from tests.support.routing import Client
from tests.support.sample import SAMPLE
from tests.support.serving import open_serving

GOLDEN = Path(__file__).parent.parent / "golden"

TRANSCRIPTS = {
    "search_code": [
        {"query": "total price"},
        {"query": "validate_token", "detail_level": "location", "limit": 1},
        {"query": "too many items", "mode": "literal", "detail_level": "context", "limit": 1},
        {"query": "OrderError", "limit": "1", "ranking_explain_level": "full", "compact": True},
        {"query": "validate", "limit": 500, "path": "src/shop/**", "kind": "function", "project_id": "sample"},
        {"query": "nothing that is anywhere"},
        {},
        {"query": "(", "mode": "regex"},
        {"query": "x", "detail": "location"},
        {"query": "x", "freshness_policy": "sometimes"},
        {"query": "x", "project_id": "My_Project"},
        {"query": "x", "ref": "release"},
    ],
    "locate_symbol": [
        {"name": "validate_token"},
        {"name": "Order.validate", "detail_level": "location"},
        {"name": "validate", "language": "python", "detail_level": "context"},
        {"name": "no_such_symbol_anywhere"},
        {"name": "x", "kind": "gadget"},
        {"name": " "},
    ],
    "get_file_outline": [
        {"path": "src/auth.rs"},
        {"path": "src/shop/orders.py", "depth": "top"},
        {"path": "README.md"},
        {"path": "src/none.py"},
        {"path": "../outside.py"},
    ],
    "read_file": [
        {"path": "src/auth.rs"},
        {"path": "src/shop/orders.py:3-5"},
        {"path": "src/shop/orders.py", "offset": 2, "limit": 2},
        {"path": "src/shop/orders.py", "start_line": 900},
        {"path": "src/none.py"},
        {"path": "../outside.py"},
        {"path": "src/auth.rs", "limit": "many"},
    ],
    "find_references": [
        {"symbol_name": "validate_token"},
        {"symbol_name": "OrderError", "role": "construct", "limit": 1},
        {"symbol_name": "Order", "confidence": "possible", "detail_level": "location"},
        {"symbol_name": "validate"},
        {"symbol_name": "nobody"},
        {"symbol_name": "Order", "role": "eat"},
    ],
    "get_call_graph": [
        {"symbol_name": "validate_token"},
        {"symbol_name": "OrderError", "direction": "impact"},
        {"symbol_name": "nobody"},
    ],
    "get_symbol_hierarchy": [
        {"symbol_name": "validate_token"},
        {"symbol_name": "Order", "direction": "descendants"},
        {"symbol_name": "validate"},
        {"symbol_name": "validate", "path": "src/shop/prices.py"},
        {"symbol_name": "nobody"},
        {"symbol_name": "Order", "direction": "sideways"},
        {"symbol_name": "OrderError", "relation": "supertypes"},
    ],
    "find_related_symbols": [
        {"symbol_name": "OrderError"},
        {"symbol_name": "OrderError", "scope": "module", "limit": 3},
        {"symbol_name": "validate"},
        {"symbol_name": "nobody"},
    ],
    "diff_context": [
        {},
        {"head": "HEAD"},
        {"head": "HEAD", "symbol": "validate_token"},
        {"head": "HEAD", "path": "src/shop/**"},
        {"base": "nowhere"},
        {"head": "--all"},
        {"symbol": "nobody"},
    ],
    "get_code_context": [
        {"query": "how is the price of an order computed", "max_tokens": 600},
        {"query": "validate token", "strategy": "depth", "max_tokens": 500, "language": "rust"},
        {"query": "x", "strategy": "sideways"},
        {"query": "x", "max_tokens": 0},
    ],
    "list_refs": [{}, {"filter": "MAI", "limit": 1}, {"limit": "many"}],
    "index_status": [
        {},
        {"path": "src/auth.rs"},
        {"path": "broken.bin"},
        {"ref": "release"},
        {"workspace": "<elsewhere>"},
    ],
    "index_repo": [{"wait_seconds": 50}, {"wait_seconds": 50, "force": True}, {"force": "perhaps"}, {"workspace": "<gone>"}],
    "sync_repo": [{"wait_seconds": 50}, {"ref": "release"}, {"project_id": "unknown-project"}],
    "health_check": [{}, {"workspace": "<root>"}, {"workspace": "<elsewhere>"}, {"project": "x"}],
    "index_repository": [
        {"repo_path": "<root>", "project_id": "sample"},
        {"repo_path": "<root>"},
        {"repo_path": "<root>", "project_id": "another-name"},
        {"repo_path": "<gone>"},
        {"repo_path": "relative/path"},
        {"project_id": "sample"},
        {"repo_path": "<root>", "project_id": "Not_A_Name"},
    ],
}


@pytest.mark.parametrize("tool", TRANSCRIPTS)
async def test_a_tool_answers_as_its_transcript_says(tool, repository, tmp_path):
    repository.write(SAMPLE)
    repository.commit()
    elsewhere = (tmp_path / "elsewhere").resolve()
    elsewhere.mkdir()
    places = {"<root>": str(repository.root), "<elsewhere>": str(elsewhere), "<gone>": str(elsewhere / "gone")}
    transcript = []

    async with open_serving(repository.home) as serving:
        project = await serving.registry.run(Registry.register, repository.root)
        await serving.registry.run(Registry.adopt, project.project_id, alias="sample", as_default=True)
        client = Client(roots=[repository.root])
        await serving.call("index_repo", client, wait_seconds=50)
        await serving.wait_known(project.project_id)
        await serving.wait_watched(project.project_id)
        for arguments in TRANSCRIPTS[tool]:
            given = {key: places.get(value, value) if isinstance(value, str) else value for key, value in arguments.items()}
            answer = await serving.answer(tool, client, **given)
            text = plain(answer.payload.decode(), {project.project_id: "<project>", **{v: k for k, v in places.items()}})
            transcript.append({"arguments": arguments, "is_error": answer.error is not None, "answer": json.loads(text)})

    path = GOLDEN / f"{tool}.json"
    if os.environ.get("CODECOMPASS_UPDATE_GOLDENS"):
        path.write_text(json.dumps(transcript, indent=1, ensure_ascii=False) + "\n")
    assert transcript == json.loads(path.read_text())


def plain(text: str, names: dict[str, str]) -> str:
    """Returns an answer with everything that differs from run to run replaced."""
    for value, name in names.items():
        text = text.replace(value, name)
    text = re.sub(r'"(symbol_id|result_id)":"[0-9a-f]{16}"', r'"\1":"<id>"', text)
    text = re.sub(r'"((?:indexed_)?commit)":"[0-9a-f]{40}"', r'"\1":"<commit>"', text)
    text = re.sub(r'"(job_id)":"[0-9a-f]{12}"', r'"\1":"<job>"', text)
    text = re.sub(r"index-job-[0-9a-f]{12}", "index-job-<job>", text)
    text = re.sub(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", "<time>", text)
    text = re.sub(r'"(duration_seconds|duration_ms)":[0-9.e-]+', r'"\1":"<duration>"', text)
    text = re.sub(r'"(score|bm25_score|final_score)":[0-9.]+', r'"\1":"<score>"', text)
    # The answer contains the root, whose length depends on the user's name and the number of the run.
    text = re.sub(r'"estimated_tokens":\d+', r'"estimated_tokens":"<tokens>"', text)
    text = re.sub(r'"commit":"[0-9a-f]{40}"', '"commit":"<commit>"', text)
    text = re.sub(r'"uptime_seconds":\d+', '"uptime_seconds":"<seconds>"', text)
    return re.sub(r'"repository_id":\d+', r'"repository_id":"<number>"', text)
