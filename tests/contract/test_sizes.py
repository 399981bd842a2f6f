"""By default no answer is larger than what hosts pass on whole; a truncated answer says how to get the rest.

opencode drops a line over 50 kB, Claude Code writes an answer over 50 kB into a file, others cut the middle.
"""

import json

import pytest

from codecompass.settings import QuerySettings, ServerSettings, Settings
from codecompass.store.registry import Registry
from tests.support.serving import open_serving

LARGEST_DEFAULT_ANSWER = 40_000

N_METHODS = 1500
N_NAMESAKES = 400

PARAMETERS = ", ".join(f"parameter_{n}: int = {n}" for n in range(20))

LARGE_CLASS = "class Everything:\n" + "".join(
    f'    def method_{n}_of_everything(self, {PARAMETERS}):\n        """Says what {n} is for."""\n        return {n}\n\n'
    for n in range(N_METHODS)
)

LONG_DIRECTORY = "/".join(["a_directory_with_quite_a_long_name"] * 5)

NAMESAKES = {
    f"{LONG_DIRECTORY}/module_{n}.py": f"def handler_of_requests({PARAMETERS}):\n"
    + f"    print('the request is handled {n}')\n" * 60
    for n in range(N_NAMESAKES)
}

CALLS = (
    ("search_code", {"query": "request is handled"}),
    ("search_code", {"query": "handler_of_requests"}),
    ("search_code", {"query": "the request is handled", "mode": "literal"}),
    ("search_code", {"query": "request.*handled", "mode": "regex"}),
    ("search_code", {"query": "handler_of_requests", "detail_level": "context"}),
    ("locate_symbol", {"name": "handler_of_requests"}),
    ("locate_symbol", {"name": "Everything", "detail_level": "context"}),
    ("get_file_outline", {"path": "everything.py"}),
    ("get_symbol_hierarchy", {"symbol_name": "Everything", "direction": "descendants"}),
    ("get_symbol_hierarchy", {"symbol_name": "handler_of_requests"}),
    ("find_related_symbols", {"symbol_name": "method_7_of_everything"}),
    ("find_related_symbols", {"symbol_name": "handler_of_requests"}),
    ("find_references", {"symbol_name": "handler_of_requests"}),
    ("get_call_graph", {"symbol_name": "handler_of_requests"}),
    ("get_code_context", {"query": "how is a request handled"}),
    ("diff_context", {}),
    ("index_status", {}),
    ("health_check", {}),
)


@pytest.mark.slow
@pytest.mark.parametrize("form", ["json", "text"])
async def test_no_answer_is_beyond_what_hosts_pass_on_unless_asked_for(repository, form):
    repository.write({"everything.py": LARGE_CLASS, **NAMESAKES})
    settings = Settings(server=ServerSettings(prewarm=False, answers=form), query=QuerySettings(freshness_wait_ms=60_000))
    async with open_serving(repository.home, settings=settings) as serving:
        project = await serving.registry.run(Registry.register, repository.root)
        await serving.registry.run(Registry.adopt, project.project_id, as_default=True)
        await serving.call("index_repo", wait_seconds=50)
        sizes = {}
        for tool, arguments in CALLS:
            answer = await serving.answer(tool, **arguments)
            said = answer.payload if form == "json" else answer.text.encode()
            sizes[tool, json.dumps(arguments)] = len(said)
            if tool == "get_file_outline":
                outline = said.decode()

    assert {call: size for call, size in sizes.items() if size > LARGEST_DEFAULT_ANSWER} == {}
    assert "depth top" in outline or "limit" in outline, "what was cut says how to get the rest"
