"""Which definition of a file becomes the hit; the file's other matching definitions are listed with it."""

import pytest

from codecompass.protocol.encode import encode
from codecompass.protocol.requests import SearchCode
from codecompass.protocol.text import render
from codecompass.query import search_code
from codecompass.query.options import QueryOptions
from codecompass.query.shaping import HIT_BYTES
from codecompass.query.words.query_words import WantedWords

FILLER = "".join(f"    def unrelated_{number}(self):\n        return {number}\n\n" for number in range(30))
CLIENT = f'''\
class Client:
    """Sends requests to the warehouse."""

    def close(self):
        self.pool.clear()

{FILLER}    def determine_delay(self, attempt):
        # How long a failed request waits for its next retry.
        return min(self.longest, self.first * 2**attempt)

    def send(self, request):
        for attempt in range(self.retries):
            if not self.try_once(request):
                self.sleep(self.determine_delay(attempt))
'''
DOCUMENTED = """\
// Unrelated.
function first() {
  return 1;
}

// Counts the open connections of a pool.
function second(pool) {
  return pool.size;
}

function third(pool) {
  return pool.open;
}
"""


@pytest.fixture
def ask(index_of, state):
    def asked(files, query, **arguments):
        return search_code(index_of(files), SearchCode(query=query, **arguments), state)

    return asked


def test_the_place_is_the_function_with_most_of_the_question_and_not_what_is_around_it(ask):
    hit = ask({"client.py": CLIENT}, "how long does a failed request wait for the next retry").results[0]

    assert hit.name == "determine_delay"


def test_others_of_the_file_are_named_beside_it_best_first(ask):
    hit = ask({"client.py": CLIENT, "b.py": "x = 1\n"}, "retry delay of a failed request", limit=1).results[0]

    assert [further.name for further in hit.also][:1] == ["send"]
    assert all(hit.line_start != further.line_start for further in hit.also)


def test_a_comment_above_a_definition_counts_for_it_and_not_for_the_one_before(ask):
    hit = ask({"pool.js": DOCUMENTED}, "counts open connections").results[0]

    assert (hit.name, hit.line_start) == ("second", 7)


def test_a_function_that_the_question_names_stays_the_place(ask):
    hit = ask({"client.py": CLIENT}, "why does Client.close clear the pool of a failed request").results[0]

    assert hit.name == "close"


def test_one_word_of_many_is_no_reason_to_be_the_place(ask):
    files = {"a.py": "class Parser:\n    def match(self):\n        return 1\n", "b.md": "Long prose about warehouses.\n"}

    results = ask(files, "how does the match of warehouse orders with invoices work").results

    assert "match" not in [result.name for result in results if result.path == "a.py" and result.kind in ("method", "fn")]


def test_a_hit_is_not_named_beside_another(ask):
    results = ask({"client.py": CLIENT}, "retry delay of a failed request").results
    places = {(result.path, result.line_start) for result in results}

    assert not [each for result in results for each in result.also if (result.path, each.line_start) in places]


def test_what_is_beside_a_hit_is_one_line_of_the_text_answer(index_of, state):
    options = QueryOptions(answers="text")
    snapshot = index_of({"client.py": CLIENT, "b.py": "x = 1\n"})

    text = render(search_code(snapshot, SearchCode(query="retry delay of a failed request", limit=1), state, options))

    assert [line.partition(":")[0] for line in text.split("\n") if line.startswith("also ")] == ["also send"]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("retryDelay", [(0, "delay"), (0, "retry")]),
        ("x\n\nHTTPRetry", [(2, "retry")]),
        ("retries\nRETRY", [(0, "retry"), (1, "retry")]),
        ("unretry", []),
        ("x\nret2retry", [(1, "retry")]),
        ("İ retry", [(0, "retry")]),
        ("delayed", [(0, "delay")]),
    ],
)
def test_words_are_found_where_they_begin_in_a_text(text, found):
    words = ("retry", "delay")
    wanted = WantedWords(dict.fromkeys(words, 1.0))

    assert sorted((line, words[number]) for line, matches in wanted.places_in(text) for number, _ in matches) == found


def test_a_word_that_begins_with_another_is_found_once():
    wanted = WantedWords({"use": 1.0, "user": 1.0})

    assert len(list(wanted.places_in("the user"))) == 1


DELAY = """\
def {name}_delay(request):
    # What a request waits {when} the warehouse answers.
    wait = request.delay
    return wait * 2


"""
DELAYS = "".join(
    DELAY.format(name=name, when=when)
    for name, when in (
        ("first", "before"),
        ("second", "after"),
        ("third", "until"),
        ("retry", "again until"),
        ("fifth", "while"),
        ("last", "once"),
    )
)


def test_the_best_file_has_a_second_place_with_the_next_of_its_definitions(ask):
    files = {
        "delays.py": DELAYS,
        **{f"other_{number}.py": f"def close_{number}():\n    return {number}\n" for number in range(8)},
    }

    hits = [hit for hit in ask(files, "delay that a request waits for the warehouse").results if hit.path == "delays.py"]
    shown = [name for hit in hits for name in (hit.name, *(further.name for further in hit.also))]

    assert len(hits) == 2
    assert sorted(shown) == ["fifth_delay", "first_delay", "last_delay", "retry_delay", "second_delay", "third_delay"]


def test_a_word_in_the_names_of_many_functions_of_a_file_does_not_tell_which_is_meant(ask):
    compute = "def compute(request):\n    # What a request waits by backoff.\n    return request.backoff ** request.tries\n"

    hit = ask({"delays.py": DELAYS + compute}, "delay of backoff for the request").results[0]

    assert hit.name == "compute"


def test_a_long_signature_makes_room_for_the_definitions_beside_a_hit(ask):
    arguments = ", ".join(f"argument_number_{number}" for number in range(20))
    files = {"delays.py": DELAYS.replace("(request)", f"(request, {arguments})")}

    for level, is_cut in (("signature", True), ("body", False)):
        hit = ask(files, "delay that a request waits for the warehouse", detail_level=level).results[0]

        assert len(hit.also) == 3
        assert hit.signature.startswith(f"def {hit.name}(request")
        assert (len(hit.signature) < 200) is is_cut
        assert level != "signature" or len(encode(hit)) <= HIT_BYTES


def test_a_question_asked_again_has_the_same_answer(own, state):
    question = SearchCode(query="which definitions of a file answer a question")

    first = search_code(own, question, state)

    assert search_code(own, question, state) == first
