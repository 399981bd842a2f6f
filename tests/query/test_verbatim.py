"""A token or phrase that stands in the index as it was asked is answered by its places, and by nothing else."""

import random
import re

import pytest

from codecompass.protocol.requests import SearchCode
from codecompass.protocol.text import render
from codecompass.query import QueryOptions, search_code
from codecompass.query.verbatim import code_tokens, held_text, looks_like_code

FILES = {
    "src/runtime.py": 'ENV = "APP_WORKER_THREADS"\n\n\ndef worker_threads():\n    return read(ENV)\n',
    "src/options.py": (
        'OPTIONS = ["retry-max-time", "bail"]\n\n\ndef parse(argv):\n    # --retry-max-time in seconds\n    return argv\n'
        '\n\ndef retry():\n    return parse(["--max-timeout"])\n'
    ),
    "src/jobs.rb": "class Job\n  class_attribute :retry_jitter, default: 0.15\nend\n",
    "src/flow.kt": 'fun check() {\n    error("Flow invariant is violated")\n}\n',
    "config/app.toml": '[app]\nthreads = "APP_WORKER_THREADS"\n',
    "tests/test_runtime.py": 'def test_threads(monkeypatch):\n    monkeypatch.setenv("APP_WORKER_THREADS", "4")\n    retry()\n',
    "docs/guide.md": (
        "# Guide\n\nSet `APP_WORKER_THREADS` first. Flow invariant is violated: see below.\n"
        "Use --bail and --max-timeout. `{:x}` is hex.\n"
        "See storage_blobs.key and error E1234 or ERR_CONN_REFUSED at 3f2504e0-4f89.\nVersion 2.31.0 of x509.\n"
    ),
    "CHANGELOG.md": "# Changes\n\n* fix retry of worker_threads in pools\n* APP_WORKER_THREADS was added\n",
    "locale/de.po": 'msgid "Flow invariant is violated"\nmsgstr "Fluss"\n',
}


@pytest.fixture(scope="module")
def snapshot(index_of):
    return index_of(FILES)


@pytest.fixture(scope="module")
def ask(snapshot, state):
    return lambda query, **arguments: search_code(snapshot, SearchCode(query=query, **arguments), state)


def lines_of(reply):
    """Returns the places of a page as path and line: of the matching lines, and of definitions."""
    return [
        (result.path, line)
        for result in reply.results
        for line in ([each.line for each in result.matched_lines] or [result.line_start])
    ]


def grep(token):
    """Returns the lines that `rg --word-regexp --fixed-strings` finds."""
    before = r"(?<!\w)" if re.match(r"\w", token) else ""
    behind = r"(?!\w)" if re.search(r"\w$", token) else ""
    pattern = re.compile(before + re.escape(token) + behind)
    return {
        (path, number) for path, text in FILES.items() for number, line in enumerate(text.splitlines(), 1) if pattern.search(line)
    }


@pytest.mark.parametrize(
    "token",
    [
        "APP_WORKER_THREADS",
        "retry-max-time",
        "--bail",
        "--max-timeout",
        "storage_blobs.key",
        "E1234",
        "ERR_CONN_REFUSED",
        "3f2504e0-4f89",
        "2.31.0",
        "x509",
        "{:x}",
        "class_attribute :retry_jitter",
        "Flow invariant is violated",
        "worker_threads",
    ],
)
def test_a_token_is_answered_by_exactly_the_lines_that_have_it_as_a_whole(ask, token):
    reply = ask(token)

    assert set(lines_of(reply)) == grep(token) | {
        (path, line) for path, line in lines_of(reply) if path.endswith(("options.py",))
    }
    assert set(lines_of(reply)) >= grep(token)
    assert (reply.total_candidates, reply.next_offset) == (len(lines_of(reply)), 0)
    assert reply.is_verbatim


def test_the_definition_comes_first_then_code_configuration_tests_documents_and_changelogs(ask):
    assert [path for path, _ in lines_of(ask("APP_WORKER_THREADS"))] == [
        "src/runtime.py",
        "config/app.toml",
        "tests/test_runtime.py",
        "docs/guide.md",
        "CHANGELOG.md",
    ]
    assert lines_of(ask("worker_threads"))[0] == ("src/runtime.py", 4)
    assert ask("worker_threads").results[0].name == "worker_threads"


def test_a_line_that_names_a_definition_is_not_shown_again_as_a_line(ask):
    assert lines_of(ask("worker_threads")).count(("src/runtime.py", 4)) == 1


@pytest.mark.parametrize("query", ["engine.addRoute", "group.engine.addRoute", "group.engine.addRoute("])
def test_a_call_on_a_value_named_after_its_type_ends_with_the_definition(index_of, state, query):
    snapshot = index_of(
        {
            "routes.ts": "export class Engine {\n  addRoute(path: string) {}\n}\nclass Router {\n  addRoute() {}\n}\n",
            "group.ts": "function handle(group) {\n  group.engine.addRoute(path);\n}\n",
        }
    )

    reply = search_code(snapshot, SearchCode(query=query), state)

    assert lines_of(reply) == [("group.ts", 2), ("routes.ts", 2)]


def test_many_members_of_that_name_say_nothing(index_of, state):
    classes = "".join("class Engine {\n  addRoute() {}\n}\n" for _ in range(4))
    snapshot = index_of({"routes.ts": classes, "group.ts": "engine.addRoute(path);\n"})

    reply = search_code(snapshot, SearchCode(query="engine.addRoute"), state)

    assert lines_of(reply) == [("group.ts", 1)]


@pytest.mark.parametrize(
    "query", ['"APP_WORKER_THREADS"', "`APP_WORKER_THREADS`", "APP_WORKER_THREADS:", "'APP_WORKER_THREADS", "APP_WORKER_THREADS("]
)
def test_quotes_and_what_follows_a_name_do_not_count(ask, query):
    assert lines_of(ask(query)) == lines_of(ask("APP_WORKER_THREADS"))


def test_an_option_that_code_has_without_its_dashes_ends_with_that_code(ask):
    assert lines_of(ask("--bail")) == [("docs/guide.md", 4), ("src/options.py", 1)]


def test_lines_of_all_files_are_shown_however_far_down_the_page(snapshot, state):
    """Late hits of a ranked page are shown without their lines; lines are the answer here."""
    text = render(search_code(snapshot, SearchCode(query="--max-timeout"), state, QueryOptions(answers="text")))
    whole = render(search_code(snapshot, SearchCode(query="APP_WORKER_THREADS"), state, QueryOptions(answers="text")))

    assert all(re.search(r":\d+:", line) for line in (*text.splitlines(), *whole.splitlines()))


def test_code_that_produces_a_message_comes_before_documents_and_catalogues(index_of, state):
    files = {
        "docs/models.md": "`Foo` is not fully defined; you should define `Bar` first.\n",
        "src/mocks.py": 'def fail(a, b):\n    raise E(f"`{a}` is not fully defined; you should define `{b}` first.")\n',
        "locale/fr.po": 'msgid "`Foo` is not fully defined; you should define `Bar` first."\n',
    }
    reply = search_code(index_of(files), SearchCode(query="`Foo` is not fully defined; you should define `Bar` first."), state)

    assert [result.path for result in reply.results] == ["src/mocks.py", "docs/models.md", "locale/fr.po"]


def test_after_an_exact_message_nothing_else_follows(ask):
    assert {path for path, _ in lines_of(ask("Flow invariant is violated"))} == {"src/flow.kt", "docs/guide.md", "locale/de.po"}


def test_the_title_of_a_change_leads_to_code_although_the_changelog_has_it_word_for_word(ask):
    assert ask("fix retry of worker_threads in pools").results[0].path == "src/runtime.py"


@pytest.mark.parametrize(
    ("query", "token"),
    [
        ("what does --bail do", "--bail"),
        ("where is the default of retry_jitter set", "retry_jitter"),
        ("how is {:x} read", "{:x}"),
        ("who writes storage_blobs.key?", "storage_blobs.key"),
    ],
)
def test_a_token_in_a_question_is_on_the_page_with_its_line(snapshot, state, query, token):
    text = render(search_code(snapshot, SearchCode(query=query), state, QueryOptions(answers="text")))

    assert token in text


def test_a_token_that_stands_nowhere_is_said_to_first_with_three_places_at_most(snapshot, state):
    reply = search_code(snapshot, SearchCode(query="workerThreadsPool"), state)

    assert reply.notice.startswith("not found in the index: workerThreadsPool")
    assert len(reply.results) <= 3
    text = render(search_code(snapshot, SearchCode(query="workerThreadsPool"), state, QueryOptions(answers="text")))
    assert text.startswith("not found in the index: workerThreadsPool")


def test_lines_are_read_as_ripgrep_prints_them(snapshot, state):
    text = render(search_code(snapshot, SearchCode(query="APP_WORKER_THREADS"), state, QueryOptions(answers="text")))

    assert text.splitlines()[0] == 'src/runtime.py:1:ENV = "APP_WORKER_THREADS"'
    assert len(text.splitlines()) == 5


def test_the_explanation_says_verbatim(snapshot, state):
    request = SearchCode(query="APP_WORKER_THREADS", ranking_explain_level="basic")

    assert "verbatim" in render(search_code(snapshot, request, state, QueryOptions(answers="text")))


def test_a_plain_word_that_is_everywhere_is_ranked(index_of, state):
    files = {f"src/part{number}.py": "# the session\n" * 3 for number in range(30)}
    files["src/sessions.py"] = "class Session:\n    '''A session of a session store.'''\n"

    reply = search_code(index_of(files), SearchCode(query="session"), state)

    assert not reply.is_verbatim
    assert reply.unit == "place"


def test_words_that_name_a_definition_lead_to_it_and_not_to_the_comment_that_has_them(index_of, state):
    files = {
        "a.py": "# the rate limiter is below\n",
        "src/limits.py": "class RateLimiter:\n    def allow(self):\n        return True\n",
    }

    assert search_code(index_of(files), SearchCode(query="rate limiter"), state).results[0].name == "RateLimiter"


# Pages


def pages(snapshot, state, request, options=QueryOptions()):  # noqa: B008 (frozen)
    """Yields the replies of a query, each with the offset that the one before proposes."""
    while True:
        reply = search_code(snapshot, request, state, options)
        yield reply
        if not reply.next_offset:
            return
        assert reply.next_offset > request.offset
        request = SearchCode(
            **{**{name: getattr(request, name) for name in ("query", "mode", "limit")}, "offset": reply.next_offset}
        )


WORDS = ("alpha", "beta_gamma", "--delta", "epsilon.zeta", "def", "eta-theta", "iota")


@pytest.fixture(scope="module")
def many(index_of):
    chance = random.Random(34)
    return index_of(
        {
            f"{folder}/f{number}.py": "".join(
                f"def {chance.choice('abcdefgh')}{line}():\n    return '{' '.join(chance.choices(WORDS, k=4))}'\n"
                for line in range(9)
            )
            for folder in ("src", "tests", "docs")
            for number in range(4)
        }
    )


@pytest.mark.parametrize("seed", range(12))
def test_what_is_shown_and_the_rest_are_everything_and_no_line_comes_twice(many, state, seed):
    chance = random.Random(seed)
    query, limit = chance.choice(WORDS), chance.choice([1, 2, 3, 7, 10, 40, 100])
    mode = chance.choice(["auto", "literal", "regex"])
    whole = [line for reply in pages(many, state, SearchCode(query=query, mode=mode, limit=100)) for line in lines_of(reply)]

    replies = list(pages(many, state, SearchCode(query=query, mode=mode, limit=limit)))
    shown = [line for reply in replies for line in lines_of(reply)]

    assert len(shown) == len(set(shown))
    assert set(shown) == set(whole)
    if replies[0].unit == "line":
        assert {reply.total_candidates for reply in replies} == {len(shown)}


@pytest.mark.parametrize("limit", [1, 3, 10])
def test_ranked_places_continue_where_the_page_before_ended(many, state, limit):
    replies = list(pages(many, state, SearchCode(query="alpha and iota are returned", limit=limit)))
    places = [(result.path, result.line_start, result.line_end) for reply in replies for result in reply.results]

    assert len(places) == len(set(places))
    assert all(len(reply.results) == limit for reply in replies[:-1])


def test_a_page_cut_by_its_size_is_continued_with_the_first_line_that_was_left_out(many, state):
    options = QueryOptions(max_result_bytes=3_000, max_default_result_bytes=3_000)
    whole = lines_of(search_code(many, SearchCode(query="--delta", limit=100), state))

    shown = [line for reply in pages(many, state, SearchCode(query="--delta", limit=100), options) for line in lines_of(reply)]

    assert shown == whole


# What is held


@pytest.mark.parametrize(
    "word", ["--bail", "retry_jitter", "{:x}", "active_storage_blobs.key", "E1234", "camelCase", "a::b", "MAX", ":sym"]
)
def test_words_with_marks_digits_or_capitals_are_code(word):
    assert looks_like_code(word)


@pytest.mark.parametrize("word", ["session", "Router", "e.g.", "(maybe)", "don't", "2024", "I", "a"])
def test_words_of_a_sentence_are_not(word):
    assert not looks_like_code(word)


def test_a_question_in_words_is_held_but_can_be_meant_as_words():
    held = held_text("where are sessions saved")

    assert held is not None
    assert not held.is_certain
    assert held_text("one\ntwo") is None
    assert held_text("x" * 1000) is None


def test_the_tokens_of_a_question_come_without_the_punctuation_of_the_sentence():
    assert code_tokens("Does `retry_jitter` (or --bail) matter, see foo.bar? https://x.org/a_b no") == (
        "retry_jitter",
        "--bail",
        "foo.bar",
    )
