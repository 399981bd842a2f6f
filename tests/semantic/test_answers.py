"""Answers by meaning from a complete server with a real endpoint: what they find, and what they report if the endpoint fails."""

import json
import sys

import pytest
import structlog
import trio

from codecompass.actors import semantic_lane
from codecompass.semantic.target import SemanticTarget
from codecompass.store.housekeeping import remove_project
from tests.semantic.conftest import target_for
from tests.support.embedding_peer import BEHAVIOURS, EmbeddingPeer
from tests.support.serving import Serving, open_serving
from tests.support.waiting import until
from tests.support.workspace import TestWorkspace

FILES = {
    "src/accounts.py": '''"""Accounts."""


def delete_account(account_id):
    """Deletes an account for good."""
    table.discard(account_id)


def rename_account(account_id, name):
    table[account_id].name = name
''',
    "src/money.py": """def total_amount(items):
    return sum(item.price for item in items)
""",
    "src/trees.rs": """pub fn parse_tree(text: &str) -> Tree {
    Tree::from(text)
}
""",
    "docs/guide.md": "# Guide\n\nHow to rename things, and who may do it.\n",
    "vendor/other.py": "def expunge(who):\n    pass\n",
    "data/users.json": '{"expunge": "person"}\n',
}
QUESTION = "erase a customer"
"""None of its words occurs in the tree."""


@pytest.fixture
def tree(tmp_path) -> TestWorkspace:
    workspace = TestWorkspace(tmp_path / "tree", tmp_path / "home")
    workspace.write(FILES)
    return workspace


def serving_with(tree: TestWorkspace, target: SemanticTarget | None):
    return open_serving(tree.home, semantic=target)


async def until_ready(serving: Serving, tree: TestWorkspace) -> None:
    """Returns once a workspace has the vectors of its newest generation."""
    await serving.call("index_repo", workspace=tree.root, wait_seconds=50)
    await until_state(serving, tree, "ready")


async def until_state(serving: Serving, tree: TestWorkspace, state: str) -> None:
    def is_there() -> bool:
        seen = serving.server.supervisor.find(tree.project_id)
        return seen is not None and seen.freshness_status == "fresh" and not seen.is_working and seen.semantic.startswith(state)

    await until(is_there, f"vectors: {state}")


async def ask(serving: Serving, tree: TestWorkspace, query: str = QUESTION, **arguments) -> dict:
    return await serving.call("search_code", workspace=tree.root, query=query, **arguments)


def names(answer: dict) -> list[str]:
    return [result.get("name", "") or result["path"] for result in answer["results"]]


def warnings(answer: dict) -> list[str]:
    return [each for each in answer["metadata"].get("warnings", []) if each.startswith("semantic")]


@pytest.mark.parametrize("api", ["openai", "ollama"])
async def test_a_function_is_found_by_a_question_in_other_words(tree, peer: EmbeddingPeer, api):
    async with serving_with(tree, target_for(peer, api=api)) as serving:
        await until_ready(serving, tree)

        answer = await ask(serving, tree, ranking_explain_level="basic")
        context = await serving.call("get_code_context", workspace=tree.root, query=QUESTION, max_tokens=2000)

    first = answer["metadata"]["ranking_reasons"][names(answer).index("delete_account")]
    assert first["near_in_meaning"] > 0.3
    assert names(answer)[0] == "delete_account"
    assert warnings(answer) == []
    assert "delete_account" in [item["name"] for item in context["context_items"]]


@pytest.mark.invariant("Nothing is sent anywhere unless an endpoint is configured, and no code for search by meaning is loaded")
async def test_without_the_lane_the_same_question_does_not_find_it_and_nothing_is_connected(tree, peer: EmbeddingPeer):
    async with serving_with(tree, None) as serving:
        await serving.call("index_repo", workspace=tree.root, wait_seconds=50)
        answer = await ask(serving, tree, ranking_explain_level="full")
        status = await serving.call("index_status", workspace=tree.root)
        health = await serving.call("health_check")

    assert "delete_account" not in names(answer)
    assert "semantic" not in json.dumps([answer, status, health])
    assert peer.connections == 0
    assert not tree.layout.vectors.exists()


async def test_only_questions_in_words_are_sent(tree, peer: EmbeddingPeer):
    async with serving_with(tree, target_for(peer)) as serving:
        await until_ready(serving, tree)
        peer.forget()

        for query in ("delete_account", "src/money.py", "src/money.py:1", "ValueError: no such account", "Tree::from"):
            await ask(serving, tree, query)
        await ask(serving, tree, "sum of", mode="literal")
        await ask(serving, tree, "su. of", mode="regex")
        await ask(serving, tree, "src/*.py", mode="files")
        await serving.call("locate_symbol", workspace=tree.root, name="parse_tree")

        assert peer.texts == []
        await ask(serving, tree, "where are trees read")
        assert peer.texts == ["where are trees read"]


async def test_what_is_sent_is_text_of_the_project_without_generated_vendored_and_data_files(tree, peer: EmbeddingPeer):
    async with serving_with(
        tree, target_for(peer, document_prefix="search_document: ", question_prefix="search_query: ")
    ) as serving:
        await until_ready(serving, tree)
        sent = list(peer.texts)
        peer.forget()
        await ask(serving, tree)

    assert {text.split("\n")[0] for text in sent} == {
        f"search_document: {path}" for path in FILES if path.startswith(("src/", "docs/"))
    }
    assert len(sent) == len(set(sent)) == 5
    assert peer.texts == [f"search_query: {QUESTION}"]


async def test_filters_hold_for_what_is_near_in_meaning(tree, peer: EmbeddingPeer):
    async with serving_with(tree, target_for(peer)) as serving:
        await until_ready(serving, tree)

        by_path = await ask(serving, tree, path="src/*.rs")
        by_language = await ask(serving, tree, language="rust,markdown")
        by_kind = await ask(serving, tree, kind="class")
        passing = await ask(serving, tree, path="src/**", language="py", kind="function")

    assert "delete_account" not in names(by_path) + names(by_language) + names(by_kind)
    assert names(passing)[0] == "delete_account"


async def test_the_same_question_gets_the_same_bytes(tree, peer: EmbeddingPeer):
    async with serving_with(tree, target_for(peer)) as serving:
        await until_ready(serving, tree)

        answers = {(await serving.answer("search_code", workspace=tree.root, query=QUESTION)).payload for _ in range(3)}

    assert len(answers) == 1


@pytest.mark.invariant("A text is sent only once; a hit found by its vector is from the content that answers")
async def test_only_what_has_changed_is_sent_again(tree, peer: EmbeddingPeer):
    async with serving_with(tree, target_for(peer)) as serving:
        await until_ready(serving, tree)
        peer.forget()
        before = FILES["src/accounts.py"]
        tree.write({"src/accounts.py": "import os\n\n\n" + before.replace("account_id].name", "account_id].title")})
        await serving.call("sync_repo", workspace=tree.root, wait_seconds=50)
        await until_state(serving, tree, "ready")

        assert [text.split("\n")[1] for text in peer.texts] == ["accounts.rename_account"]
        answer = await ask(serving, tree)

    moved = next(result for result in answer["results"] if result.get("name") == "delete_account")
    assert moved["line_start"] == 7, "the lines of the old content were shown"


@pytest.mark.invariant(of="test_only_what_has_changed_is_sent_again")
async def test_a_deleted_file_is_not_found_and_costs_nothing_when_it_comes_back(tree, peer: EmbeddingPeer):
    async with serving_with(tree, target_for(peer)) as serving:
        await until_ready(serving, tree)
        peer.forget()
        (tree.root / "src/accounts.py").unlink()
        await serving.call("sync_repo", workspace=tree.root, wait_seconds=50)
        await until_state(serving, tree, "ready")
        gone = await ask(serving, tree)
        peer.forget()
        tree.write({"src/accounts.py": FILES["src/accounts.py"]})
        await serving.call("sync_repo", workspace=tree.root, wait_seconds=50)
        await until_state(serving, tree, "ready")
        assert peer.texts == []
        back = await ask(serving, tree)

    assert "delete_account" not in names(gone)
    assert "delete_account" in names(back)


@pytest.mark.invariant("If an endpoint is slow, wrong or down, a question gets a warning and the answer of the words alone")
@pytest.mark.slow
@pytest.mark.parametrize("behaviour", [each for each in BEHAVIOURS if each not in ("good", "silent")])
async def test_an_endpoint_that_fails_costs_a_question_nothing_but_a_warning(
    tree, peer: EmbeddingPeer, behaviour, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(semantic_lane, "FIRST_PAUSE_SECONDS", 600.0)  # longer than this test takes, even on a busy machine
    async with serving_with(tree, target_for(peer)) as serving:
        await until_ready(serving, tree)
        peer.behaviour = behaviour

        failed = await ask(serving, tree, "rename the guide")
        n_asked = len(peer.requests)
        again = await ask(serving, tree, "rename the guide")

    async with serving_with(tree, None) as serving:
        by_words = await ask(serving, tree, "rename the guide")

    assert failed["results"] == by_words["results"] != []
    assert len(warnings(failed)) == 1
    assert warnings(failed)[0].startswith("semantic: unavailable (")
    assert warnings(again) == warnings(failed)
    assert len(peer.requests) == n_asked, "the endpoint was asked again at once"


@pytest.mark.invariant(of="test_an_endpoint_that_fails_costs_a_question_nothing_but_a_warning")
async def test_a_silent_endpoint_is_left_for_the_answer_by_words(tree, peer: EmbeddingPeer):
    async with serving_with(tree, target_for(peer)) as serving:
        await until_ready(serving, tree)
    async with serving_with(tree, target_for(peer, question_timeout_ms=50)) as serving:
        peer.behaviour = "silent"
        with trio.fail_after(60):
            answer = await ask(serving, tree, "rename the guide")

    assert warnings(answer) == ["semantic: unavailable (timeout: 50 ms)"]
    assert answer["results"]


async def test_an_endpoint_that_is_gone_is_named_so(tree, peer: EmbeddingPeer):
    async with serving_with(tree, target_for(peer)) as serving:
        await until_ready(serving, tree)
        peer.stop()

        answer = await ask(serving, tree, "rename the guide")
        status = await serving.call("index_status", workspace=tree.root)

    assert warnings(answer) == [f"semantic: unavailable (unreachable: 127.0.0.1:{peer.port})"]
    assert answer["results"]
    assert status["semantic"]["texts"] == 5


@pytest.mark.invariant(of="test_a_proxy_of_the_environment_is_not_used")
async def test_a_refused_key_is_said_everywhere_and_shown_nowhere(tree, peer: EmbeddingPeer, capfd):
    peer.behaviour = "key_refused"
    target = target_for(peer, {"MY_KEY": "s3cret"}, api_key_env="MY_KEY")
    with structlog.testing.capture_logs() as logs:
        async with serving_with(tree, target) as serving:
            await serving.call("index_repo", workspace=tree.root, wait_seconds=50)
            await until_state(serving, tree, "unavailable (key_refused")
            answers = [
                await ask(serving, tree, "rename the guide"),
                await serving.call("index_status", workspace=tree.root),
                await serving.call("health_check"),
            ]

    assert [header["Authorization"] for header in peer.headers] == ["Bearer s3cret"] * len(peer.headers)
    said = [json.dumps(answer) for answer in answers]
    assert all("key_refused: status 401, check the key in the variable MY_KEY" in each for each in said)
    captured = capfd.readouterr()
    assert "s3cret" not in "".join(said) + str(logs) + captured.out + captured.err


async def test_while_there_are_no_vectors_questions_are_answered_and_say_so(tree, peer: EmbeddingPeer):
    peer.behaviour = "silent"
    async with serving_with(tree, target_for(peer)) as serving:
        await serving.call("index_repo", workspace=tree.root, wait_seconds=50)
        await until(lambda: peer.texts, "texts at the endpoint")
        answer = await ask(serving, tree, "rename the guide")
        status = await serving.call("index_status", workspace=tree.root)

    assert answer["results"]
    assert warnings(answer) == ["semantic: unavailable (no_vectors: none have been made yet)"]
    assert (status["semantic"]["texts"], status["semantic"]["pending_files"]) == (0, 4)


async def test_a_workspace_that_is_retired_stops_sending_and_the_next_one_goes_on(tree, peer: EmbeddingPeer):
    async with serving_with(tree, target_for(peer, batch_size=1)) as serving:
        peer.behaviour = "silent"
        await serving.call("index_repo", workspace=tree.root, wait_seconds=50)
        await until(lambda: peer.texts, "a text at the endpoint")
        await until(lambda: serving.server.supervisor.evict(tree.project_id), seconds=60)
        assert serving.server.supervisor.find(tree.project_id) is None
        n_sent = len(peer.texts)
        peer.behaviour = "good"
        await until_ready(serving, tree)

    assert n_sent == 1
    assert len(peer.texts) == 1 + 5


async def test_what_came_back_before_the_end_of_a_server_is_not_sent_again(tree, peer: EmbeddingPeer):
    first = target_for(peer, batch_size=1, requests_per_second=1000)
    async with serving_with(tree, first) as serving:
        await until_ready(serving, tree)
    peer.forget()
    async with serving_with(tree, first) as serving:
        await until_ready(serving, tree)

    assert peer.texts == []


@pytest.mark.parametrize("change", [{"model": "other"}, {"max_text_characters": 100}])
async def test_another_model_makes_all_vectors_anew_and_another_cut_what_it_changes(tree, peer: EmbeddingPeer, change):
    async with serving_with(tree, target_for(peer)) as serving:
        await until_ready(serving, tree)
    peer.forget()
    async with serving_with(tree, target_for(peer, **change)) as serving:
        await until_ready(serving, tree)
        answer = await ask(serving, tree)

    assert len(peer.texts) == (5 + 1 if "model" in change else 3 + 1), peer.texts
    assert "delete_account" in names(answer)


async def test_vectors_of_another_length_are_never_compared(tree, peer: EmbeddingPeer):
    async with serving_with(tree, target_for(peer)) as serving:
        await until_ready(serving, tree)
    peer.behaviour = "wrong_dimensions"
    async with serving_with(tree, target_for(peer, dimensions=3)) as serving:
        await until_ready(serving, tree)
        status = await serving.call("index_status", workspace=tree.root)
        answer = await ask(serving, tree)

    assert status["semantic"]["texts"] == 5
    assert warnings(answer) == []


async def test_a_text_that_the_endpoint_does_not_take_costs_itself(tree, peer: EmbeddingPeer):
    tree.write({"src/long.py": "def long_one():\n" + "    remember(everything)\n" * 40})
    peer.longest = 400
    async with serving_with(tree, target_for(peer)) as serving:
        await until_ready(serving, tree)
        status = await serving.call("index_status", workspace=tree.root)
        answer = await ask(serving, tree)
        n_requests = len(peer.requests)
        await serving.call("sync_repo", workspace=tree.root, wait_seconds=50)
        await until_state(serving, tree, "ready")

    assert status["semantic"] == {"endpoint": f"127.0.0.1:{peer.port}", "model": "words", "texts": 5, "pending_files": 0}
    assert "delete_account" in names(answer)
    assert len(peer.requests) == n_requests, "the refused text was sent again"


async def test_no_more_texts_have_vectors_than_the_settings_allow_product_code_first(tree, peer: EmbeddingPeer):
    async with serving_with(tree, target_for(peer, max_texts=4)) as serving:
        await until_ready(serving, tree)
        status = await serving.call("index_status", workspace=tree.root)

    assert not [text for text in peer.texts if text.startswith("docs/")]
    assert status["semantic"]["texts"] == 4
    assert status["semantic"]["pending_files"] == 1


async def test_requests_hold_no_more_texts_than_a_batch(tree, peer: EmbeddingPeer):
    async with serving_with(tree, target_for(peer, batch_size=2)) as serving:
        await until_ready(serving, tree)

    assert peer.requests == [2, 2, 1]


async def test_damaged_vectors_are_made_anew(tree, peer: EmbeddingPeer):
    async with serving_with(tree, target_for(peer)) as serving:
        await until_ready(serving, tree)
    for path in tree.layout.root.glob("vectors.db*"):
        path.unlink()
    tree.layout.vectors.write_bytes(b"no database" * 1000)
    async with serving_with(tree, target_for(peer)) as serving:
        await until_ready(serving, tree)
        answer = await ask(serving, tree)

    assert "delete_account" in names(answer)


async def test_what_is_known_of_a_changed_file_is_found_while_its_new_texts_cannot_be_sent(tree, peer: EmbeddingPeer):
    async with serving_with(tree, target_for(peer)) as serving:
        await until_ready(serving, tree)
        await ask(serving, tree)  # caches the vector of the question
        peer.behaviour = "server_error"
        tree.write({"src/accounts.py": "def shout():\n    print('!')\n\n\n" + FILES["src/accounts.py"]})
        await serving.call("sync_repo", workspace=tree.root, wait_seconds=50)
        await until_state(serving, tree, "unavailable (server_error")
        answer = await ask(serving, tree)
        status = await serving.call("index_status", workspace=tree.root)
        peer.behaviour = "good"
        await until_state(serving, tree, "ready")

    moved = next(result for result in answer["results"] if result.get("name") == "delete_account")
    assert moved["line_start"] == 8
    assert status["semantic"]["pending_files"] == 1
    assert status["semantic"]["last_error"] == "server_error: status 500"


async def test_a_single_text_that_the_endpoint_does_not_take_stops_nothing(tree, peer: EmbeddingPeer):
    peer.longest = 200
    async with serving_with(tree, target_for(peer)) as serving:
        await until_ready(serving, tree)
        tree.write({"src/long.py": "def long_one():\n" + "    remember(everything)\n" * 40})
        await serving.call("sync_repo", workspace=tree.root, wait_seconds=50)
        await until_state(serving, tree, "ready")
        status = await serving.call("index_status", workspace=tree.root)

    assert (status["semantic"]["texts"], status["semantic"]["pending_files"]) == (5, 0)


async def test_an_endpoint_that_takes_no_text_at_all_is_a_failure(tree, peer: EmbeddingPeer):
    peer.longest = 0
    async with serving_with(tree, target_for(peer)) as serving:
        await serving.call("index_repo", workspace=tree.root, wait_seconds=50)
        await until_state(serving, tree, "unavailable (refused: status 400")
        peer.longest = None
        await until_state(serving, tree, "ready")
        answer = await ask(serving, tree)

    assert "delete_account" in names(answer)


async def test_of_two_servers_one_makes_the_vectors_of_a_project_and_both_use_them(tree, peer: EmbeddingPeer):
    async with serving_with(tree, target_for(peer)) as first, serving_with(tree, target_for(peer)) as second:
        await until_ready(first, tree)
        await second.call("sync_repo", workspace=tree.root, wait_seconds=50)
        answers = [await ask(first, tree), await ask(second, tree)]

    assert answers[0]["results"] == answers[1]["results"]
    assert "delete_account" in names(answers[0])
    assert len([text for text in peer.texts if text != QUESTION]) == 5


async def test_removing_a_project_removes_its_vectors(tree, peer: EmbeddingPeer):
    async with serving_with(tree, target_for(peer)) as serving:
        await until_ready(serving, tree)
    assert tree.layout.vectors.exists()

    remove_project(tree.layout)

    assert not tree.layout.root.exists()


async def test_a_rebuild_of_the_index_sends_nothing_again(tree, peer: EmbeddingPeer):
    async with serving_with(tree, target_for(peer)) as serving:
        await until_ready(serving, tree)
        peer.forget()
        await serving.call("index_repo", workspace=tree.root, force=True, wait_seconds=50)
        await until_state(serving, tree, "ready")
        answer = await ask(serving, tree)

    assert peer.texts == [QUESTION]
    assert "delete_account" in names(answer)


@pytest.mark.parametrize("library", ["apsw", "sqlite_vec", "httpx2"])
async def test_without_one_of_its_libraries_the_lane_says_what_to_install(tree, peer: EmbeddingPeer, library, monkeypatch):
    monkeypatch.setitem(sys.modules, library, None)
    async with serving_with(tree, target_for(peer)) as serving:
        await serving.call("index_repo", workspace=tree.root, wait_seconds=50)
        await until_state(serving, tree, "unavailable (not_installed")
        answer = await ask(serving, tree, "rename the guide")

    assert answer["results"]
    assert warnings(answer) == ["semantic: unavailable (not_installed: pip install 'codecompass[semantic]')"]
    assert peer.connections == 0


async def test_more_questions_than_may_wait_are_answered_by_their_words_at_once(tree, peer: EmbeddingPeer):
    async with serving_with(tree, target_for(peer)) as serving:
        await until_ready(serving, tree)
        peer.forget()
        peer.behaviour = "silent"
        async with trio.open_nursery() as nursery:
            for number in range(semantic_lane.MAX_QUESTIONS):
                nursery.start_soon(ask, serving, tree, f"rename the guide {number}")
            await until(lambda: len(peer.texts) == semantic_lane.MAX_QUESTIONS, "questions at the endpoint")
            answer = await ask(serving, tree, "rename the guide")
            nursery.cancel_scope.cancel()

    assert answer["results"]
    assert warnings(answer) == ["semantic: unavailable (busy)"]


async def test_a_question_that_nobody_waits_for_any_more_is_not_waited_for_at_the_endpoint(tree, peer: EmbeddingPeer):
    async with serving_with(tree, target_for(peer)) as serving:
        await until_ready(serving, tree)
        peer.forget()
        peer.behaviour = "silent"
        for number in range(2 * semantic_lane.MAX_QUESTIONS):
            async with trio.open_nursery() as nursery:
                nursery.start_soon(ask, serving, tree, f"rename the guide {number}")
                await until(lambda n=number: len(peer.texts) == n + 1, "the question at the endpoint")
                nursery.cancel_scope.cancel()
        peer.behaviour = "good"

        assert warnings(await ask(serving, tree)) == []
