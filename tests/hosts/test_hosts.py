"""Real hosts with a scripted model: what a user sees in the first minute, and what remains afterwards.

`make hosts` installs them. Each test runs a host from start to end, in its own home.
"""

import json
import os
import select
import signal
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.hosts.model import Hold, ToolCall, open_model
from tests.hosts.real_hosts import ALL, CLAUDE_CODE, CODEX, END_SECONDS, GEMINI, OPENCODE, RUN_SECONDS, Installation, parent_of

pytestmark = [
    pytest.mark.hosts,
    pytest.mark.timeout(2 * RUN_SECONDS + 60),
    pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="processes are found in /proc"),
]

PRICES = '''\
"""What things cost."""


def total_price(items):
    """Adds up the prices of all items of an order."""
    return sum(item.price for item in items)
'''

SURCHARGE = '''

def shipping_surcharge(order):
    """What an order costs more where it is heavy."""
    return 5 if order.weight > 20 else 0
'''

FIRST = ToolCall("search_code", {"query": "add up the prices of an order"})


def param(host, *marks):
    reason = host.missing
    return pytest.param(host, id=host.name, marks=(*marks, *((pytest.mark.skip(reason=reason),) if reason else ())))


def assert_found(answer, lines, signature):
    """The path is relative to the top of the repository, wherever the host was started."""
    assert "src/shop/prices.py\n" in answer
    assert f"{lines} " in answer
    assert signature in answer


each_host = pytest.mark.parametrize("host", [param(host) for host in ALL])


@pytest.fixture
def repository(tmp_path):
    """A repository without an index, with a subdirectory to start in."""
    root = tmp_path / "shop"
    (root / "src" / "shop").mkdir(parents=True)
    (root / "src" / "shop" / "prices.py").write_text(PRICES)
    (root / "README.md").write_text("# Shop\n")
    (root / "tests").mkdir()
    (root / "tests" / "test_prices.py").write_text("def test_nothing():\n    pass\n")
    for arguments in (["init", "-q"], ["add", "."], ["-c", "user.name=A", "-c", "user.email=a@b", "commit", "-qm", "Begin"]):
        subprocess.run(["git", *arguments], cwd=root, check=True)
    return root


@each_host
def test_the_first_question_from_a_subdirectory_of_a_new_repository_is_answered(host, repository, tmp_path):
    with open_model(FIRST) as model:
        installed = Installation(host, tmp_path / "home", model)
        installed.setup()

        said = installed.run(repository / "src" / "shop")

    assert model.results, said
    assert_found(model.results[0], "4-6", "def total_price(items)")
    assert installed.processes() == []


@each_host
def test_an_edit_is_in_the_next_answer(host, repository, tmp_path):
    prices = repository / "src" / "shop" / "prices.py"
    script = (
        ToolCall("locate_symbol", {"name": "total_price"}),
        ToolCall("locate_symbol", {"name": "shipping_surcharge"}, lambda: write(prices, PRICES + SURCHARGE)),
    )
    with open_model(*script) as model:
        installed = Installation(host, tmp_path / "home", model)
        installed.setup()
        installed.codecompass("index", repository)

        said = installed.run(repository)

    assert len(model.results) == len(script), said
    first, after_the_edit = model.results
    assert_found(first, "4-6", "def total_price(items)")
    assert_found(after_the_edit, "9-11", "def shipping_surcharge(order)")


@each_host
def test_an_error_reaches_the_model_with_what_to_do_next(host, repository, tmp_path):
    script = (
        ToolCall("get_file_outline", {"path": "src/shop/price.py"}),
        ToolCall("search_code", {"query": "price", "limt": 3}),
    )
    with open_model(*script) as model:
        installed = Installation(host, tmp_path / "home", model)
        installed.setup()
        installed.codecompass("index", repository)

        said = installed.run(repository)

    assert len(model.results) == len(script), said
    missing, misspelt = model.results
    assert "src/shop/prices.py" in missing, "the error names the file that was meant"
    assert "limit" in misspelt, "the error, of the host or ours, names the argument that was meant"
    assert installed.processes() == []


@pytest.mark.parametrize(
    "pair", [pytest.param(pair, id=f"{pair[0].name} and {pair[1].name}") for pair in ((CLAUDE_CODE, CODEX), (GEMINI, OPENCODE))]
)
def test_two_hosts_at_once_share_a_store(pair, repository, tmp_path):
    for host in pair:
        if host.missing:
            pytest.skip(host.missing)
    store = tmp_path / "store"
    with open_model(FIRST) as model, open_model(FIRST) as other:
        one = Installation(pair[0], tmp_path / "one", model, store=store)
        two = Installation(pair[1], tmp_path / "two", other, store=store)
        one.setup()
        two.setup()
        one.codecompass("index", repository)

        with ThreadPoolExecutor() as threads:
            said = list(threads.map(lambda each: each.run(repository), (one, two)))

    for each in (model, other):
        assert each.results, said
        assert_found(each.results[0], "4-6", "def total_price(items)")


@each_host
def test_a_host_that_is_killed_leaves_no_server_behind(host, repository, tmp_path):
    with open_model(FIRST, Hold()) as model:
        installed = Installation(host, tmp_path / "home", model)
        installed.setup()
        installed.codecompass("index", repository)
        with installed.started(repository):
            assert model.holding.wait(RUN_SECONDS)
            (server,) = installed.servers()
            ended = os.pidfd_open(server)

            os.kill(parent_of(server), signal.SIGKILL)

            is_gone, _, _ = select.select([ended], [], [], END_SECONDS)
            os.close(ended)

    assert is_gone


@each_host
def test_setup_is_undone_byte_for_byte(host, tmp_path):
    with open_model() as model:
        installed = Installation(host, tmp_path / "home", model)
        before = _tree(installed.home)
        installed.setup()
        installed.codecompass("setup", host.name, "--undo")

    assert _tree(installed.home) == before


def write(path: Path, text: str) -> None:
    path.write_text(text)


def _tree(home: Path) -> dict[str, bytes]:
    return {str(path.relative_to(home)): path.read_bytes() for path in sorted(home.rglob("*")) if path.is_file()}


# what the models see


@pytest.mark.parametrize("host", [param(CLAUDE_CODE)])
def test_claude_code_shows_the_two_main_tools_and_finds_the_others_by_what_they_do(host, repository, tmp_path):
    search = ToolCall("ToolSearch", {"query": "explore codebase how does it work", "max_results": 3})
    with open_model(FIRST, search) as model:
        installed = Installation(host, tmp_path / "home", model)
        installed.setup()
        installed.codecompass("index", repository)

        said = installed.run(repository)

    request = next(request for request in model.main if request.answer.arguments == FIRST.arguments)
    assert {"mcp__codecompass__search_code", "mcp__codecompass__locate_symbol"} <= {tool.name for tool in request.tools}, said
    # The server may be ready only after the first prompt, so the instructions come with the first or second request.
    assert "search_code and locate_symbol before grep" in " ".join(model.main[-1].instructions.split())
    assert any("get_code_context" in json.dumps(each.body["messages"][-1]) for each in model.main)


@pytest.mark.parametrize("host", [param(CODEX)])
def test_codex_finds_the_tool_for_go_to_definition(host, repository, tmp_path):
    with open_model(FIRST, ToolCall("tool_search", {"query": "go to definition", "limit": 1})) as model:
        installed = Installation(host, tmp_path / "home", model)
        installed.setup()
        installed.codecompass("index", repository)

        said = installed.run(repository)

    found = json.loads(model.results[-1])
    assert [tool["name"] for tool in found[0]["tools"]] == ["locate_symbol"], said
    assert "search_code and locate_symbol before grep" in found[0]["description"]
