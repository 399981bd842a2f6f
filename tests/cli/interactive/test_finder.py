"""The thread that answers questions: bounded, newest question first, and how both threads end."""

import queue
import threading

import pytest

from codecompass.cli.interactive.finder import Finder, PreviewAnswer, SearchOutcome
from codecompass.cli.interactive.source import LiveIndex, Source, open_source
from codecompass.cli.interactive.upkeep import TreeState, Upkeep
from codecompass.cli.invocation import GlobalOptions, Invocation
from codecompass.cli.jobs import JobStop, JobStopped, run_job
from codecompass.errors import InvalidInput
from tests.cli.conftest import write

DEADLINE_SECONDS = 60


@pytest.fixture
def invocation(cli, shop, monkeypatch) -> Invocation:
    for name in ("CODECOMPASS_HOME", "HOME", "XDG_CONFIG_HOME", "GIT_CEILING_DIRECTORIES"):
        monkeypatch.setenv(name, cli.environment[name])
    cli("index")
    return Invocation(GlobalOptions(workspace=str(shop)))


@pytest.fixture
def source(invocation) -> Source:
    return open_source(invocation, {})


@pytest.mark.invariant("An interactive search answers one question and holds at most one more, the newest")
def test_of_the_questions_that_wait_only_the_newest_is_answered(source):
    """The first answer is delayed until ten more questions have arrived."""
    answers: queue.SimpleQueue[SearchOutcome | PreviewAnswer] = queue.SimpleQueue()
    is_let_go = threading.Event()

    def deliver(answer: SearchOutcome | PreviewAnswer) -> None:
        answers.put(answer)
        is_let_go.wait(DEADLINE_SECONDS)

    finder = Finder(source, deliver)
    finder.start()
    try:
        finder.ask("class Cart", "auto")
        assert answers.get(timeout=DEADLINE_SECONDS)
        for number in range(10):
            finder.ask(f"money {number}", "auto")
        last = finder.ask("class Money", "auto")
        is_let_go.set()
        answer = answers.get(timeout=DEADLINE_SECONDS)
    finally:
        is_let_go.set()
        finder.stop()

    assert isinstance(answer, SearchOutcome)
    assert answer.question == last
    assert answer.found is not None
    assert answer.found.hits[0].path == "shop/money.py"
    assert answers.empty()


def test_a_question_that_is_being_answered_ends_when_a_newer_one_comes(source, monkeypatch):
    answers: queue.SimpleQueue[SearchOutcome | PreviewAnswer] = queue.SimpleQueue()
    search, is_begun, is_let_go, dropped = LiveIndex.search, threading.Event(), threading.Event(), []

    def held_search(self, query, mode, is_dropped):
        if query == "class Cart":
            is_begun.set()
            is_let_go.wait(DEADLINE_SECONDS)
            dropped.append(is_dropped())
        return search(self, query, mode, is_dropped)

    monkeypatch.setattr(LiveIndex, "search", held_search)
    finder = Finder(source, answers.put)
    finder.start()
    try:
        finder.ask("class Cart", "auto")
        assert is_begun.wait(DEADLINE_SECONDS)
        last = finder.ask("class Money", "auto")
        is_let_go.set()
        answer = answers.get(timeout=DEADLINE_SECONDS)
    finally:
        is_let_go.set()
        finder.stop()

    assert dropped == [True]
    assert isinstance(answer, SearchOutcome)
    assert answer.question == last


def test_a_question_that_fails_is_answered_and_the_next_one_too(source):
    answers: queue.SimpleQueue[SearchOutcome | PreviewAnswer] = queue.SimpleQueue()
    finder = Finder(source, answers.put)
    finder.start()
    try:
        finder.ask("(", "regex")
        failed = answers.get(timeout=DEADLINE_SECONDS)
        finder.ask("Mone.", "regex")
        found = answers.get(timeout=DEADLINE_SECONDS)
    finally:
        finder.stop()

    assert isinstance(failed, SearchOutcome)
    assert "missing )" in failed.error
    assert isinstance(found, SearchOutcome)
    assert found.found is not None
    assert found.found.hits


def test_a_hit_by_text_is_at_the_line_that_matches_and_one_by_words_at_the_definition(source):
    index = LiveIndex(source)
    try:
        by_text = index.search("rounding happens", "literal", lambda: False).hits[0]
        by_words = index.search("total_price", "auto", lambda: False).hits[0]
        code = index.around("shop/cart.py", 14)
    finally:
        index.close()

    assert (by_text.path, by_text.line) == ("shop/cart.py", 14)
    assert "rounding happens here" in by_text.text
    assert (by_words.path, by_words.line) == ("shop/cart.py", 12)
    assert code.first == 1
    assert code.lines[13].endswith("nowhere else")
    assert code.language == "python"


def test_leaving_ends_a_job_and_keeps_what_is_published(cli, shop, invocation):
    project = open_source(invocation, {}).project
    write(shop, {"shop/tax.py": "def tax_of(amount): ...\n"})
    stop = JobStop()
    stop.cancel()

    with invocation.registry() as registry, pytest.raises(JobStopped):
        run_job(invocation, registry, project, cause="question", stop=stop)

    found = cli("search", "class Cart", "--freshness-policy", "best_effort", "--json")
    assert found.json["results"][0]["path"] == "shop/cart.py"
    assert found.json["metadata"]["freshness_status"] == "stale"


def test_a_tree_is_up_to_date_only_after_it_was_compared_or_taken_in(shop, source):
    states: queue.SimpleQueue[TreeState] = queue.SimpleQueue()
    upkeep = Upkeep(GlobalOptions(workspace=str(shop)), source, states.put)
    upkeep.start()
    try:
        upkeep.note_question()
        phases = [states.get(timeout=DEADLINE_SECONDS).phase for _ in range(2)]
        write(shop, {"shop/tax.py": "def tax_of(amount): ...\n"})
        upkeep.check_now()
        later = [states.get(timeout=DEADLINE_SECONDS) for _ in range(3)]
    finally:
        upkeep.stop()

    assert phases == ["checking", "fresh"]
    assert [state.phase for state in later] == ["checking", "updating", "fresh"]
    assert later[1].changed == {"shop/tax.py"}


@pytest.mark.invariant(of="tests/query/test_query_language.py")
def test_filters_and_definitions_are_read_as_on_the_command_line(source):
    index = LiveIndex(source)
    try:
        javascript = index.search("cart lang:javascript", "auto", lambda: False)
        python = index.search("cart lang:py -file:test", "auto", lambda: False)
        definition = index.search("sym:Cart", "auto", lambda: False)
        listed = index.search("file:money", "auto", lambda: False)
    finally:
        index.close()

    assert javascript.hits == ()
    assert "shop/cart.py" in {hit.path for hit in python.hits}
    assert (definition.hits[0].path, definition.hits[0].result.name) == ("shop/cart.py", "Cart")
    assert [hit.path for hit in listed.hits] == ["shop/money.py"]


def test_another_project_and_a_filter_without_words_are_refused_in_words_of_people(source):
    index = LiveIndex(source)
    try:
        for query, said in (("x repo:other", "this searches shop alone"), ("case:yes", "Add words")):
            with pytest.raises(InvalidInput, match=said):
                index.search(query, "auto", lambda: False)
    finally:
        index.close()
