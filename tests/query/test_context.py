"""`get_code_context`: the best code for a question, within a budget that holds for the whole answer."""

import json
from random import Random

import pytest

from codecompass.errors import InvalidMaxTokens
from codecompass.protocol.encode import encode
from codecompass.protocol.requests import GetCodeContext
from codecompass.query import QueryOptions, get_code_context
from codecompass.query.token_budget import estimate_tokens

openai = pytest.importorskip("rs_bpe.bpe", reason="has no wheel for this Python").openai


@pytest.fixture(scope="session")
def context(shop, state):
    def asked(query, **arguments):
        return get_code_context(shop, GetCodeContext(query=query, **arguments), state)

    return asked


def test_breadth_gives_signatures_and_depth_bodies(context):
    breadth, depth = context("rate limiter"), context("rate limiter", strategy="depth")

    assert [item.name for item in breadth.context_items] == [item.name for item in depth.context_items]
    assert breadth.context_items[0].signature == "class RateLimiter"
    assert all(item.body == "" for item in breadth.context_items)
    assert depth.context_items[0].body.startswith("class RateLimiter:\n")
    assert "self.storage.count(client)" in depth.context_items[0].body


@pytest.mark.parametrize("strategy", ["breadth", "depth"])
@pytest.mark.parametrize("budget", [400, 600, 900, 1500, 4000])
def test_the_estimate_of_the_whole_answer_is_within_the_budget_and_is_what_the_answer_says(context, strategy, budget):
    reply = context("rate limiter token bucket client storage", strategy=strategy, max_tokens=budget)

    assert estimate_tokens(encode(reply)) <= reply.estimated_tokens <= budget
    assert len(reply.context_items) == reply.metadata.returned


def test_what_does_not_fit_is_skipped_for_something_smaller(index_of, state):
    long = "def rate_limiter():\n" + "".join(f'    print("rate limiter line {n}")\n' for n in range(50))
    snapshot = index_of({"long.py": long, "short.py": "def rate_limiter_name():\n    return 'rate limiter'\n"})

    wide = get_code_context(snapshot, GetCodeContext(query="rate limiter", strategy="depth"), state)
    narrow = get_code_context(snapshot, GetCodeContext(query="rate limiter", strategy="depth", max_tokens=500), state)

    assert [item.path for item in wide.context_items] == ["long.py", "short.py"]
    assert [item.path for item in narrow.context_items] == ["short.py"]


def test_a_truncated_answer_says_what_is_left_and_what_to_do(context):
    cut, whole = context("rate limiter", max_tokens=450), context("rate limiter", max_tokens=100_000)

    assert cut.truncated
    assert cut.metadata.remaining_candidates == cut.metadata.total_candidates - len(cut.context_items) > 0
    assert cut.metadata.suggestion == "Use locate_symbol for specific symbols, or increase max_tokens"
    assert cut.metadata.result_completeness == "partial"
    assert not whole.truncated
    assert "suggestion" not in json.loads(encode(whole))["metadata"]


def test_a_budget_below_an_answer_without_code_is_refused_and_the_error_says_what_would_do(context):
    with pytest.raises(InvalidMaxTokens) as caught:
        context("rate limiter", max_tokens=1)

    minimum = caught.value.data["minimum"]
    assert f"at least {minimum} " in caught.value.message
    assert context("rate limiter", max_tokens=minimum).estimated_tokens <= minimum
    with pytest.raises(InvalidMaxTokens):
        context("rate limiter", max_tokens=minimum - 1)


def test_where_no_item_fits_whole_the_best_that_fits_is_named_by_its_place(index_of, state):
    snapshot = index_of({"limits.py": "def rate_limiter(client: str, per_minute: int) -> bool:\n    return True\n"})
    (whole,) = get_code_context(snapshot, GetCodeContext(query="rate limiter"), state).context_items

    brief = get_code_context(snapshot, GetCodeContext(query="rate limiter", max_tokens=270), state)
    item = json.loads(encode(brief.context_items[0]))

    assert set(item) == {"path", "line_start", "line_end", "kind", "name", "symbol_id", "score"}
    assert item["symbol_id"] == whole.symbol_id
    assert (brief.truncated, brief.metadata.returned) == (True, 1)
    assert brief.estimated_tokens <= 270


@pytest.mark.slow
@pytest.mark.parametrize("vocabulary", [openai.cl100k_base, openai.o200k_base])
@pytest.mark.parametrize("strategy", ["breadth", "depth"])
def test_no_answer_is_larger_than_its_budget_as_real_vocabularies_count(own, state, strategy, vocabulary):
    count = vocabulary().count
    random = Random(20261121)
    for query in ("how is a file parsed", "Snapshot", "estimate tokens of an answer", "regular expression", "0x1f 12345"):
        for _ in range(12):
            budget = int(10 ** random.uniform(2.4, 4.5))

            reply = get_code_context(own, GetCodeContext(query=query, max_tokens=budget, strategy=strategy), state)

            assert count(encode(reply).decode()) <= reply.estimated_tokens <= budget, (query, budget)


def test_a_language_leaves_the_others_out(context):
    assert {item.language for item in context("header", language="typescript").context_items} == {"typescript"}


COUNTED = [
    # (text, the highest token count among the vocabularies cl100k, o200k, DeepSeek and Claude 2; counted 2026-11-21)
    ('{"path":"src/auth/jwt.rs","line_start":87,"line_end":112,"kind":"fn","name":"validate_token"}', 33),
    ("    def allow(self, client: str) -> bool:\\n        return self.storage.count(client) >= self.per_minute\\n", 32),
    ("h1:pADTnjtaFCdCO3OxGFQ2Vv1tdPsIZbpDkVlfYMhdqrM=", 32),
    ("0x1f, 0x8b, 0x08, 0x00, 0xff, 0x3c, 0x7d, 0x91", 41),
    ("Überprüfung der Gültigkeit, проверка подписи, 署名の検証", 28),
]


@pytest.mark.parametrize(("text", "tokens"), COUNTED)
def test_the_estimate_is_not_below_what_real_vocabularies_count(text, tokens):
    assert estimate_tokens(text.encode()) >= tokens


def test_the_estimate_of_parts_is_not_below_that_of_the_whole():
    text = ('{"name":"validate_token","line":12,"text":"größer 日本"}' * 20).encode()

    whole = estimate_tokens(text)
    parts = sum(estimate_tokens(text[start : start + 40]) for start in range(0, len(text), 40))

    assert whole <= parts


LEDGER = """\
from money import Money


class Ledger:
    def settle_invoice(self, invoice):
        total = Money(invoice.cents)
        return book_entry(total)


def book_entry(total):
    return total
"""
MONEY = "class Money:\n    def __init__(self, cents):\n        self.cents = cents\n"
TEST = "def test_settle_invoice():\n    assert settle_invoice(1)\n"


def test_the_best_hits_come_first_then_the_signatures_of_what_they_need_then_the_rest(index_of, state):
    snapshot = index_of({"ledger.py": LEDGER, "money.py": MONEY, "tests/test_ledger.py": TEST})

    reply = get_code_context(snapshot, GetCodeContext(query="settle invoice", strategy="depth"), state)

    names = [item.name for item in reply.context_items]
    assert names[0] == "settle_invoice"
    assert set(names[1:3]) == {"Money", "book_entry"}
    assert [bool(item.body) for item in reply.context_items[:3]] == [True, False, False]
    assert reply.context_items[3].path == "tests/test_ledger.py"
    assert len({(item.path, item.line_start, item.line_end) for item in reply.context_items}) == len(names)


def test_the_best_hit_has_room_before_what_it_needs(index_of, state):
    calls = "".join(f"    total_{number} = reconcile_{number}(account)\n" for number in range(30))
    parts = "".join(f"def reconcile_{number}(account):\n    return account\n\n\n" for number in range(30))
    parts = parts.replace("account", "entry")
    snapshot = index_of({"a.py": f"from b import *\n\n\ndef settle_accounts(account):\n{calls}", "b.py": parts})
    whole = get_code_context(snapshot, GetCodeContext(query="settle accounts", strategy="depth"), state)
    first = estimate_tokens(encode(whole.context_items[0]))

    tight = get_code_context(snapshot, GetCodeContext(query="settle accounts", strategy="depth", max_tokens=first + 250), state)

    assert tight.context_items[0] == whole.context_items[0]
    assert whole.context_items[0].name == "settle_accounts"
    needed = [item.name for item in whole.context_items if item.path == "b.py" and not item.body]
    assert needed[:3] == ["reconcile_0", "reconcile_1", "reconcile_2"]


KEYWORDS = ["when", "is", "for", "if", "then", "match", "let", "with", "else", "case", "try", "do", "while"]
METHODS = "".join(f"    public function {word}($value) {{\n        return $value;\n    }}\n" for word in KEYWORDS)
CONDITIONS = f"<?php\nclass Conditions {{\n{METHODS}}}\n"
DELAY = """\
<?php
class Attempt {
    // Then the delay of a failed job is computed.
    public function computeRetryDelay($job) {
        while ($job->failed()) { $job->when(1)->then(2); }
        if ($job) { return match ($job) { default => 1 }; }
        return new Delay($job);
    }
}
"""


@pytest.mark.parametrize("strategy", ["breadth", "depth"])
@pytest.mark.parametrize(
    "query",
    [
        "when is the retry delay computed for failed jobs",
        "let the job retry then match it with a delay if it failed",
        "what do we do while a job is retried else in case of a try",
    ],
)
def test_keywords_of_languages_bring_no_definition_of_that_name(index_of, state, query, strategy):
    """Neither keywords of the question, nor those before a parenthesis in code, nor the first word of a comment."""
    classes = "<?php\nclass Then {}\n"
    snapshot = index_of({"a.php": CONDITIONS, "b.php": DELAY, "c.php": classes, "d.php": "<?php\nclass Delay {}\n"})

    names = [
        item.name for item in get_code_context(snapshot, GetCodeContext(query=query, strategy=strategy), state).context_items
    ]

    assert names[0] == "computeRetryDelay"
    assert "Delay" in names
    assert not {name.lower() for name in names} & set(KEYWORDS)


def test_a_detail_level_decides_over_the_strategy(context):
    bodies = context("rate limiter", detail_level="body")
    signatures = context("rate limiter", strategy="depth", detail_level="signature")

    assert bodies.context_items[0].body.startswith("class RateLimiter:\n")
    assert (bodies.metadata.strategy, signatures.metadata.strategy) == ("breadth", "depth")
    assert not any(item.body for item in signatures.context_items)


def test_the_configuration_says_the_strategy_that_a_request_leaves_open(shop, state):
    settings = QueryOptions(default_strategy="depth")

    open_one = get_code_context(shop, GetCodeContext(query="rate limiter"), state, settings)
    chosen = get_code_context(shop, GetCodeContext(query="rate limiter", strategy="breadth"), state, settings)

    assert (open_one.metadata.strategy, bool(open_one.context_items[0].body)) == ("depth", True)
    assert (chosen.metadata.strategy, bool(chosen.context_items[0].body)) == ("breadth", False)


def test_a_cut_body_says_how_many_lines_are_missing(index_of, state):
    snapshot = index_of({"a.py": "def settle():\n" + "".join(f"    x{n} = {n}\n" for n in range(199))})

    (item,) = get_code_context(snapshot, GetCodeContext(query="settle", detail_level="body"), state).context_items

    assert item.body_lines_omitted == 120
    assert item.body.splitlines()[-1] == "# ... truncated ..."
