"""The message lane on a real index: the line that produces a pasted message is the first hit."""

import re

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from codecompass.languages.words import word_set
from codecompass.protocol.requests import (
    FindReferences,
    FindRelatedSymbols,
    GetCallGraph,
    GetCodeContext,
    GetSymbolHierarchy,
    LocateSymbol,
    SearchCode,
)
from codecompass.query import (
    find_references,
    find_related_symbols,
    get_call_graph,
    get_code_context,
    get_symbol_hierarchy,
    locate_symbol,
    search_code,
)
from codecompass.query.messages.message_search import SURE_WORDS, find_messages, sought_message
from codecompass.store.schema import index_tokens
from codecompass.store.text_queries import Filter

FILES = {
    "src/ledger.py": '''\
"""Keeps the books."""


class Ledger:
    """What an account holds."""

    def post(self, entry, account):
        if entry.amount is None:
            raise ValueError("cannot post an entry that has no amount")
        if account.is_closed:
            raise ValueError(f"account {account.number!r} was closed on {account.closed_at:%Y-%m-%d}, nothing can be posted")
        if entry.currency != account.currency:
            raise ValueError(
                "an entry in %s does not belong "
                "to an account in %s" % (entry.currency, account.currency)
            )
        log.warning("posting took %.2f seconds for %d of %(total)s entries", 1.0, 2)
        return "balance of account {0} is now {1}".format(account.number, 7)

    def audit(self):
        """Open the vault before the books are compared with it."""
        self.complain("the \\"vault\\" doesn\\'t agree with the books\\n")
        self.complain("caf\\u00e9 receipts are missing a stamp")
''',
    "src/mint.rs": """\
fn strike(coin: Coin) -> Result<(), MintError> {
    if coin.is_bent() {
        panic!("coin {} is bent by {:?} degrees and cannot be struck", coin, coin.angle);
    }
    Err(MintError::new(format!("die {die_name} wore out after {count} coins")))
}
""",
    "src/vault.go": """\
package vault

func Open(name string, err error) error {
	if name == "" {
		return errors.New("vault: refusing to open without a name")
	}
	return fmt.Errorf("vault: opening door %q of %s: %w", name, place, err)
}
""",
    "src/teller.js": """\
function greet(customer, desk) {
  if (!customer) throw new Error(`No customer waits at desk ${desk.number} of branch ${branch.of(desk, "x").name}`);
  throw new Error('Customer ' + customer.name + ' was already served at desk ' + desk.number);
}
""",
    "src/teller.rb": """\
def refuse(note)
  raise ArgumentError, "note #{note.serial} of series #{series.map { |s| s.name }.join(", ")} looks forged"
end
""",
    "src/Teller.swift": """\
func count(_ notes: [Note]) {
    fatalError("counted \\(notes.count) notes but the bundle says \\(bundle.size(of: notes[0])) of them")
}
""",
    "src/teller.php": """\
<?php
function lock($drawer) {
    throw new RuntimeException("Drawer [{$drawer}] jams when {$drawer->owner} slams it");
    throw new RuntimeException('The key of drawer ' . $drawer . ' was left ' . 'in the lock overnight');
}
""",
    "src/teller.ex": """\
defmodule Teller do
  def close(till) do
    raise "till #{inspect(till)} still holds coins, " <>
            "count them before closing"
  end
end
""",
    "src/Teller.hs": """\
module Teller where
weigh n = error $ "scale reports " <> show n <> " grams for an empty pan"
warn n = fail ("ledger page " ++ show n ++ " was torn out by somebody")
""",
    "src/teller.lua": """\
local function stamp(form)
  error("form " .. form.id .. " carries a stamp of the wrong office")
end
""",
    "src/teller.c": """\
void ring(struct bell *b) {
  fprintf(stderr, "bell %1$s rang %2$ld times"
                  " although nobody touched it\\n", b->name, b->count);
}
""",
    "src/teller.cs": """\
class Bell { void Ring() { throw new Exception($"bell {Name,-10} cannot ring at {Hour:00} o'clock"); } }
""",
    "src/teller.sh": """\
echo "teller $name forgot ${item:-something} beside the counter" >&2
""",
    "src/teller.kt": """\
fun fold(note: Note) { require(note.isFlat) { "note ${note.serial} is folded $times times already" } }
""",
    "src/locale/messages.ts": """\
export const messages = {
  vi: "Chuỗi không hợp lệ: phải bắt đầu bằng ngân hàng",
  zh: `无效的账户：期望得到 ${expected}，实际收到 ${actual}`,
  ja: "口座が見つかりませんでした",
  bell: "🔔 the bell has a crack in it",
};
""",
    "tests/test_ledger.py": """\
def test_posting():
    with raises(ValueError, match="cannot post an entry that has no amount"):
        post()
    assert balance() == "balance of account 4711 is now 12 or so"
""",
    "CHANGELOG.md": "* cannot post an entry that has no amount: raised earlier\n* die brass wore out after 9 coins\n",
    "docs/ledger.md": "Where an account was closed, nothing can be posted. Entries belong to an account in a currency.\n",
}

PASTED = {
    "cannot post an entry that has no amount": ("src/ledger.py", 9),
    "account '4711' was closed on 2024-02-29, nothing can be posted": ("src/ledger.py", 11),
    "an entry in EUR does not belong to an account in USD": ("src/ledger.py", 14),
    "posting took 0.35 seconds for 12 of 90 entries": ("src/ledger.py", 17),
    "balance of account 17 is now 250": ("src/ledger.py", 18),
    "Open the vault before the books are compared with it.": ("src/ledger.py", 21),
    'the "vault" doesn\'t agree with the books': ("src/ledger.py", 22),
    "café receipts are missing a stamp": ("src/ledger.py", 23),
    "coin Dollar(3) is bent by 14.5 degrees and cannot be struck": ("src/mint.rs", 3),
    "die obverse wore out after 100000 coins": ("src/mint.rs", 5),
    "vault: refusing to open without a name": ("src/vault.go", 5),
    'vault: opening door "north" of Basel: permission denied': ("src/vault.go", 7),
    "No customer waits at desk 12 of branch Old Town": ("src/teller.js", 2),
    "Customer Ann Lee was already served at desk 3": ("src/teller.js", 3),
    "note AB123 of series first, second looks forged": ("src/teller.rb", 2),
    "counted 99 notes but the bundle says 100 of them": ("src/Teller.swift", 2),
    "Drawer [left] jams when Bob slams it": ("src/teller.php", 3),
    "The key of drawer 7 was left in the lock overnight": ("src/teller.php", 4),
    "till %Till{id: 3} still holds coins, count them before closing": ("src/teller.ex", 3),
    "scale reports 4 grams for an empty pan": ("src/Teller.hs", 2),
    "ledger page 12 was torn out by somebody": ("src/Teller.hs", 3),
    "form B-12 carries a stamp of the wrong office": ("src/teller.lua", 2),
    "bell north rang 12 times although nobody touched it": ("src/teller.c", 2),
    "bell great      cannot ring at 07 o'clock": ("src/teller.cs", 1),
    "teller Ann forgot an umbrella beside the counter": ("src/teller.sh", 1),
    "note AB123 is folded 7 times already": ("src/teller.kt", 1),
    "Chuỗi không hợp lệ: phải bắt đầu bằng ngân hàng": ("src/locale/messages.ts", 2),
    "无效的账户：期望得到 字符串，实际收到 数字": ("src/locale/messages.ts", 3),
    "口座が見つかりませんでした": ("src/locale/messages.ts", 4),
    "🔔 the bell has a crack in it": ("src/locale/messages.ts", 5),
}

AROUND = {
    "a log line": "2026-03-01 12:30:05,123 ERROR [worker-3] app.jobs.runner - {}",
    "key=value": 'time=2026-03-01T12:30:05Z level=error msg="{}" attempt=3',
    "syslog": "Mar  1 12:30:05 host-7 bank[4711]: {}",
    "glog": "E0301 12:30:05.123456 4711 bank.cc:99] {}",
    "an exception": "bank.errors.BankError: {}",
    "an error": "Error: {}",
    "a panic": "thread 'main' panicked at src/elsewhere.rs:10:5:\n{}",
    "colours": "\x1b[1m\x1b[31merror[E0001]\x1b[0m: {}\x1b[0m",
    "quotes": '"{}"',
    "a place before it": "/home/ci/build/elsewhere/run.c:17:3: error: {}",
    "a place behind it": "{} at /home/ci/build/elsewhere/run.c:17",
    "a place in parentheses behind it": "{} (elsewhere/run.c:17)",
    "what wraps it": "could not finish the nightly run: {}",
    "a line break": "  {}\n",
}


@pytest.fixture(scope="session")
def bank(index_of):
    return index_of(FILES)


@pytest.fixture(scope="session")
def ask(bank, state):
    def asked(query, **arguments):
        return search_code(bank, SearchCode(query=query, **arguments), state).results

    return asked


def holds(result, place):
    return result.path == place[0] and result.line_start <= place[1] <= result.line_end


@pytest.mark.parametrize("message", PASTED)
def test_a_message_is_first_whatever_its_language_fills_in(ask, message):
    results = ask(message)

    assert results
    assert holds(results[0], PASTED[message]), [(result.path, result.line_start) for result in results]


@pytest.mark.parametrize("around", AROUND)
@pytest.mark.parametrize("message", list(PASTED)[:12])
def test_what_surrounds_a_message_does_no_harm(ask, message, around):
    assert holds(ask(AROUND[around].format(message))[0], PASTED[message])


@pytest.mark.parametrize("message", [message for message in PASTED if len(message.split()) > 3])
def test_a_message_may_be_wrapped_anywhere(ask, message):
    words = message.split(" ")
    wrapped = "\n      ".join((" ".join(words[: len(words) // 2]), " ".join(words[len(words) // 2 :])))

    assert holds(ask(wrapped)[0], PASTED[message])


def test_a_message_may_be_pasted_with_its_escapes(ask):
    assert holds(ask(r"the \"vault\" doesn\'t agree with the books\n")[0], PASTED['the "vault" doesn\'t agree with the books'])
    assert holds(ask(r"caf\u00e9 receipts are missing a stamp")[0], PASTED["café receipts are missing a stamp"])


def test_product_code_comes_before_a_test_that_expects_the_message_and_a_changelog_never_first(ask):
    paths = [result.path for result in ask("cannot post an entry that has no amount")]

    assert paths[:2] == ["src/ledger.py", "tests/test_ledger.py"]


def test_what_a_document_or_a_test_shows_of_a_template_does_not_hide_the_template(ask):
    written_up = ask("die brass wore out after 9 coins")
    tested = ask("balance of account 4711 is now 12 or so")

    assert holds(written_up[0], ("src/mint.rs", 5))
    assert {result.path for result in tested[:2]} == {"tests/test_ledger.py", "src/ledger.py"}


def test_key_words_in_a_row_in_a_test_do_not_come_before_the_code_that_they_describe(index_of, state):
    source = 'class TicketPrinter:\n    """Prints a ticket for each customer of the counter."""\n'
    test = 'def test_it():\n    assert search("ticket printer counter customer")\n'
    snapshot = index_of({"src/printer.py": source, "tests/test_printer.py": test})

    assert search_code(snapshot, SearchCode(query="ticket printer counter customer"), state).results[0].path == "src/printer.py"


def test_a_trace_begins_with_its_frames_and_a_message_beside_one_place_with_the_message(ask):
    message = "ValueError: cannot post an entry that has no amount"
    frames = '  File "src/mint.rs", line 9, in go\n  File "src/teller.js", line 2, in greet'
    traced = ask(f"Traceback (most recent call last):\n{frames}\n{message}")
    placed = [result.path for result in ask(f"{message} at src/teller.js:2")]

    assert [result.path for result in traced[:3]] == ["src/teller.js", "src/mint.rs", "src/ledger.py"]
    assert placed[0] == "src/ledger.py"
    assert "src/teller.js" in placed[:4]


def test_the_snippet_of_a_message_outside_of_definitions_is_its_line(ask):
    result = ask("🔔 the bell has a crack in it")[0]

    assert "crack" in result.matched_lines[0].text


def test_filters_hold_for_messages_too(ask):
    message = "cannot post an entry that has no amount"

    assert {result.path for result in ask(message, path="tests/**")} == {"tests/test_ledger.py"}
    assert {result.kind for result in ask(message, kind="class")} <= {"class"}
    assert all(result.path.endswith(".rs") for result in ask(message, language="rust"))


def test_around_a_message_in_a_long_definition_its_lines_are_shown(index_of, state):
    body = "".join(f"    step_{number} = {number}\n" for number in range(150))
    source = "def long():\n" + body + '    raise ValueError("the staircase has too many steps")\n' + body
    snapshot = index_of({"stairs.py": source})

    result = search_code(snapshot, SearchCode(query="the staircase has too many steps"), state).results[0]

    assert result.line_start <= 152 <= result.line_end
    assert result.line_end - result.line_start < 40
    assert result.name == "long"


def test_a_message_that_goes_on_behind_the_cut_of_a_chunk_is_found(index_of, state):
    # Chunks end after at most 60 lines, wherever that is.
    files = {}
    for before in range(52, 66):
        lines = [f"    value_{number}," for number in range(before)]
        lines += [f'    "warehouse {before} lost its northern wall "', '    "and half of the southern gate",', *lines]
        files[f"src/list_{before}.py"] = "VALUES = [\n" + "\n".join(lines) + "\n]\n"
    snapshot = index_of(files)

    for before in range(52, 66):
        query = f"warehouse {before} lost its northern wall and half of the southern gate"
        first = search_code(snapshot, SearchCode(query=query), state).results[0]
        assert holds(first, (f"src/list_{before}.py", before + 2))


WORDS = st.sampled_from(
    sorted(
        word_set(
            "ledger amber quota cannot open of the is not in queue stale lease tenant broker without a shard replay window until "
            "expired für ключ 漢字 Zażółć it's x-ray 7 404 e-mail user_id fooBar"
        )
    )
)
LITERALS = st.lists(
    st.lists(WORDS, min_size=4, max_size=9).map(" ".join),
    min_size=3,
    max_size=12,
    unique_by=lambda text: re.sub(r"\W", "", text.lower()),
)


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(LITERALS, st.data())
def test_any_literal_of_a_repository_pasted_as_it_stands_is_first(index_of, state, literals, data):
    files = {
        f"src/file_{number}.py": f'def raise_{number}(value):\n    log(value)\n    raise ValueError("{literal}")\n'
        for number, literal in enumerate(literals)
    }
    snapshot = index_of(files)
    chosen = data.draw(st.integers(0, len(literals) - 1))
    within = [number for number, literal in enumerate(literals) if literals[chosen] in literal]

    first = search_code(snapshot, SearchCode(query=literals[chosen]), state).results[0]

    assert any(holds(first, (f"src/file_{number}.py", 3)) for number in within)


# deadlines


QUESTION = "account 7 was closed on 2024-01-02, nothing can be posted"


def test_for_a_question_in_words_only_texts_with_enough_of_its_words_are_read(bank):
    words = {"stamp", "office", "bell", "crack"}

    def counts(**how):
        search = sought_message(bank, "stamp office bell crack", Filter(), **how).search
        return [len(words & set(index_tokens(bank.text.chunk_text(hit)))) for hit in bank.text.weighed_chunks(search)]

    assert any(count < SURE_WORDS for count in counts())
    assert all(count >= SURE_WORDS for count in counts(only_sure=True))


@pytest.mark.parametrize("message", ["teller Ann forgot an umbrella beside the counter", "bell has a crack in it"])
def test_a_question_in_words_that_is_a_message_finds_it_though_few_texts_are_read(bank, message):
    found = find_messages(bank, sought_message(bank, message, Filter(), only_sure=True))

    assert any(each.is_sure for each in found)


def counted(n_looks):
    """Returns a deadline that expires after `n_looks` checks, and the list of checks."""
    looks = []

    def is_expired():
        looks.append(None)
        return len(looks) > n_looks

    return is_expired, looks


def test_a_question_whose_time_is_up_stops_comparing_messages_and_says_so(bank, state):
    """The deadline is checked before each text that is compared; once it has passed, this lane compares no more."""
    whole = search_code(bank, SearchCode(query=QUESTION), state)
    assert whole.metadata.result_completeness == "complete"
    everything, all_looks = counted(10_000)
    search_code(bank, SearchCode(query=QUESTION), state, is_expired=everything)
    assert len(all_looks) > 3

    for n_looks in range(3):
        is_expired, looks = counted(n_looks)
        reply = search_code(bank, SearchCode(query=QUESTION), state, is_expired=is_expired)

        assert reply.metadata.result_completeness == "partial"
        assert any("timed out" in warning for warning in reply.metadata.warnings)
        assert len(looks) <= n_looks + 2


class Left(BaseException):
    """Raised in a thread whose answer nobody waits for any longer."""


@pytest.mark.invariant("A question that nobody waits for any longer ends soon, at any stage, and frees its CPU")
@pytest.mark.parametrize(
    ("query", "request_"),
    [
        (search_code, SearchCode(query=QUESTION)),
        (search_code, SearchCode(query="e", mode="regex")),
        (get_code_context, GetCodeContext(query=QUESTION)),
        (locate_symbol, LocateSymbol(name="no_such.name_of_anything")),
        (get_symbol_hierarchy, GetSymbolHierarchy(symbol_name="no_such.name_of_anything")),
        (find_related_symbols, FindRelatedSymbols(symbol_name="no_such.name_of_anything")),
        (get_symbol_hierarchy, GetSymbolHierarchy(symbol_name="Ledger", direction="descendants")),
        (find_related_symbols, FindRelatedSymbols(symbol_name="Ledger")),
        (find_references, FindReferences(symbol_name="Ledger")),
        (get_call_graph, GetCallGraph(symbol_name="Ledger")),
    ],
)
def test_every_kind_of_question_ends_at_once_when_nobody_waits_for_it(bank, state, query, request_):
    def is_expired():
        raise Left

    with pytest.raises(Left):
        query(bank, request_, state, is_expired=is_expired)


def test_a_frame_in_a_bundle_leads_to_the_only_function_of_its_name(index_of, state):
    """A bundler keeps the names of functions, but neither their files nor their lines."""
    index = index_of(
        {
            "src/cart.ts": "export function applyDiscount(cart: Cart) {\n  return cart.items\n}\n",
            "src/a.ts": "export function refresh() {}\n",
            "src/b.ts": "export function refresh() {}\n",
            "src/bundles.ts": "export const text = 'reading items of a bundle'\n",
        }
    )
    trace = (
        "TypeError: Cannot read properties of null (reading 'items')\n"
        "    at refresh (https://shop.example/assets/app-4f2a.js:2:1)\n"
        "    at applyDiscount (https://shop.example/assets/app-4f2a.js:1:4711)\n"
    )

    def first(query):
        return [(result.path, result.name) for result in search_code(index, SearchCode(query=query), state).results[:1]]

    assert first(trace) == [("src/cart.ts", "applyDiscount")]
    assert first(trace.replace("https://shop.example/assets/", "/srv/node_modules/cart/")) != [("src/cart.ts", "applyDiscount")]
