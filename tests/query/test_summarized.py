"""What a word summary says of an index: never that it has no answer where it has one."""

import struct
import zlib
from random import Random

import pytest
from msgspec.structs import replace

from bench.quality.agreement import Pattern, our_lines, random_pattern
from codecompass.errors import SymbolNotFound
from codecompass.protocol.replies import ImportedSymbol
from codecompass.protocol.requests import FindReferences, LocateSymbol, SearchCode
from codecompass.query import find_package_references, find_references, locate_symbol
from codecompass.query.merging import sample_evidence
from codecompass.query.summarized import can_answer, can_use, expected_evidence, fullest, is_decidable
from codecompass.query.words.line_matchers import escaped
from codecompass.store.word_summary import WordSummary, summary_of

ELSEWHERE = {"other.py": "def unrelated_thing():\n    '''Nothing of the kind.'''\n    return 1\n"}

DATA = "QmFzZTY0" * 40

ODD_TEXTS = {
    "words.py": "def getUserName(self, tokenCount): return fooBar(self.max_retry_count)\nHTTPServerError2 = __init__\n",
    "data.py": f"BLOB = '{DATA}needleInData{DATA}'\nLONG_{'part_' * 40}end = 1\n",
    "letters.md": "Größenänderung der naïveAssert(x) Übersicht; \u017fettings \u212aelvin \u0130stanbul ПользовательID\n",
    "zh.md": "用户userId认证失败 名前を入力してください fooユーザーbar\n",
    "marks.js": "$this->cache()->lock('test2', 60)?.get(`a${b}c`); {{ html }}{% end %}\r\nfoo\\bar\tbaz\n",
}
"""Words that the index cuts or leaves out, letters outside ASCII, and letters that are others in another case."""


@pytest.fixture(scope="session")
def summarized(index_of):
    return lambda snapshot: WordSummary(summary_of(snapshot, (0, 0, 0)))


@pytest.mark.parametrize("seed", range(4))
def test_an_index_with_lines_of_a_scan_is_never_ruled_out(shop, index_of, summarized, seed):
    random, other = Random(seed), index_of(ELSEWHERE)
    lines = [line for file in shop.facts.files() for chunk in shop.text.file_chunks(file.id) for line in chunk.text.split("\n")]
    lines = sorted(line for line in lines if len(line.strip()) >= 3)
    n_ruled_out = 0
    for _ in range(150):
        pattern = random_pattern(random, lines)
        request = SearchCode(query=pattern.text, mode=pattern.mode)
        for snapshot in (shop, other):
            is_able = can_answer(request)(summarized(snapshot))
            assert is_able or not our_lines(snapshot, Pattern(pattern.mode, pattern.text)), pattern
            n_ruled_out += not is_able
    assert n_ruled_out > 30


@pytest.mark.parametrize("name", sorted(ODD_TEXTS))
def test_no_part_of_a_text_rules_its_index_out(index_of, summarized, name):
    """Each part of the text, as a literal and in patterns."""
    snapshot = index_of({name: ODD_TEXTS[name]})
    summary, random = summarized(snapshot), Random(name)
    lines = [line for line in ODD_TEXTS[name].replace("\r", "").split("\n") if line]
    n_found = 0
    for _ in range(200):
        line = random.choice(lines)
        start = random.randrange(len(line))
        part = line[start : start + random.randint(1, 16)]
        middle = len(part) // 2
        for mode, query in (
            ("literal", part),
            ("regex", escaped(part)),
            ("regex", rf"(?i){escaped(part)}"),
            ("regex", rf"\b{escaped(part)}"),
            ("regex", rf"{escaped(part)}\b"),
            ("regex", rf"{escaped(part[:middle])}\w*{escaped(part[middle:])}"),
            ("regex", rf"(?:qqq|{escaped(part[:middle])}.*{escaped(part[middle:])})"),
        ):
            request = SearchCode(query=query, mode=mode)
            is_found = bool(our_lines(snapshot, Pattern(mode, query)))
            n_found += is_found
            assert can_answer(request)(summary) or not is_found, query
    assert n_found > 500


@pytest.mark.parametrize(
    ("query", "mode"),
    [
        ("roject", "literal"),
        ("fooBaz(", "literal"),
        ("max_retries_", "literal"),
        ("ettingz", "literal"),
        (r"\bgetUsers\w*\(", "regex"),
        (r"(?i)tokencounter", "regex"),
        (r"erNames\w*Count", "regex"),
        (r"(?:roject|ubject).*x", "regex"),
        ("needleInDatum", "literal"),
    ],
)
def test_a_part_of_a_word_that_no_word_has_rules_an_index_out(index_of, summarized, query, mode):
    request = SearchCode(query=query, mode=mode)
    snapshot = index_of(ODD_TEXTS)

    assert not our_lines(snapshot, Pattern(mode, query))
    assert not can_answer(request)(summarized(snapshot))


def test_a_summary_of_the_version_before_says_nothing_of_parts_of_words(index_of, summarized):
    snapshot = index_of(ODD_TEXTS)
    old = WordSummary(as_of_version_2(summary_of(snapshot, (1, 2, 3))))
    new = summarized(snapshot)

    assert (old.is_newest, new.is_newest) == (False, True)
    assert old.stamp == (1, 2, 3)
    assert old.document_frequency("body", "getusername") == new.document_frequency("body", "getusername") == 1
    assert can_answer(SearchCode(query="roject", mode="literal"))(old)
    assert not can_answer(SearchCode(query="roject", mode="literal"))(new)
    assert can_answer(SearchCode(query="needleInDatum", mode="literal"))(old)
    assert not can_answer(SearchCode(query=" nowhere ", mode="literal"))(summarized(index_of(ELSEWHERE)))


def as_of_version_2(content: bytes) -> bytes:
    """Returns a summary as the version without filters wrote it."""
    magic, _, n_entries, n_chunks, _, *stamp = struct.unpack_from("=5I3Q", content)
    body = content[struct.calcsize("=5I3Q") + 8 :][: 6 * n_entries]
    return struct.pack("=5I3Q", magic, 2, n_entries, n_chunks, zlib.crc32(body), *stamp) + body


def test_an_index_that_defines_a_name_is_never_ruled_out(shop, index_of, summarized, state):
    ours, other = summarized(shop), summarized(index_of(ELSEWHERE))
    symbols = [
        row for file in shop.facts.files() for row in shop.facts.symbols_in_file(file.id) if row.kind not in ("use", "test")
    ]
    assert len(symbols) > 20
    n_ruled_out = 0
    for row in symbols:
        for name in (row.name, row.qualified_name, row.name.upper(), row.signature):
            request = LocateSymbol(name=name[:200] or row.name)
            found = locate_symbol(shop, request, state).results
            if found and found[0].match == "exact" and is_decidable(request):
                assert can_answer(request)(ours), name
                n_ruled_out += not can_answer(request)(other)
    assert n_ruled_out > 20


def test_a_name_that_an_index_does_not_define_rules_it_out_for_its_uses(index_of, summarized, state):
    other = index_of(ELSEWHERE)

    assert can_answer(FindReferences(symbol_name="unrelated_thing"))(summarized(other))
    assert not can_answer(FindReferences(symbol_name="settle_invoice"))(summarized(other))
    with pytest.raises(SymbolNotFound):
        find_references(other, FindReferences(symbol_name="settle_invoice"), state)


def imported(name, own, *others, family="python"):
    return ImportedSymbol(name=name, kind="function", family=family, own=(own,), others=others)


def test_a_definition_of_another_repository_is_used_where_its_name_and_a_package_of_it_are(index_of, summarized):
    summary = summarized(index_of({"a.py": "from billing.invoices import settle_invoice\n"}))

    assert can_use(imported("settle_invoice", "billing"))(summary)
    assert can_use(imported("settle_invoice", "ledger", "other", "billing"))(summary)
    assert not can_use(imported("settle_order", "billing"))(summary)
    assert not can_use(imported("settle_invoice", "ledger"))(summary)


IMPORTING = {
    "pay.py": (imported("settle", "billing"), "from billing.core import settle\n\nsettle(1)\n"),
    "pay.go": (
        imported("Settle", "git.example.org/shop/billing-core/v2", family="go"),
        'package pay\n\nimport core "git.example.org/shop/billing-core/v2"\n\nfunc Pay() { core.Settle(1) }\n',
    ),
    "pay.ts": (
        imported("settle", "@shop/billing-core", family="ecmascript"),
        'import { settle } from "@shop/billing-core/lib";\n\nsettle(1);\n',
    ),
    "pay.rs": (
        imported("settle", "ledger", "billing_core", family="rust"),
        "use billing_core::{tax::Rate, settle};\n\nfn pay() { settle(1); }\n",
    ),
}


@pytest.mark.parametrize("path", IMPORTING)
def test_an_index_with_uses_of_an_imported_definition_is_never_ruled_out(index_of, summarized, state, path):
    """In any language whose packages have names, also beside words that the index leaves out."""
    symbol, text = IMPORTING[path]
    request = FindReferences(symbol_name=symbol.name)

    for more in ({}, {"data.py": f"BLOB = '{DATA}'\n"}):
        snapshot = index_of({path: text, **more})

        assert find_package_references(snapshot, request, state, symbol).total
        assert can_use(symbol)(summarized(snapshot))
        assert not can_use(replace(symbol, own=("elsewhere",), others=()))(summarized(snapshot))


@pytest.mark.parametrize(
    ("request_", "is_one"),
    [
        (SearchCode(query="a b", mode="auto"), False),
        (SearchCode(query="a", mode="files"), False),
        (SearchCode(query="a", mode="literal"), True),
        (LocateSymbol(name="a.py:3"), False),
        (LocateSymbol(name="does a thing", kind="test"), False),
        (LocateSymbol(name="rejects an order"), False),
        (LocateSymbol(name="Order"), True),
        (FindReferences(symbol_name="Order"), True),
        (FindReferences(symbol_name="a.py:3"), False),
    ],
)
def test_places_ids_and_titles_are_not_decided_by_words(request_, is_one):
    assert is_decidable(request_) == is_one


def test_the_words_of_a_question_are_counted_as_a_sample_counts_them(shop, summarized):
    question = "where is the order stored by the client"
    ours, sampled = expected_evidence([summarized(shop)], question)[0], sample_evidence(shop, question)

    assert [word.text for word in ours.words] == [word.text for word in sampled.words]
    for one, other in zip(ours.words, sampled.words, strict=True):
        assert (one.frequency > 0) >= (other.frequency > 0)
    assert ours.n_texts == sampled.n_texts


def test_the_indexes_with_most_of_a_question_come_first(index_of, summarized):
    texts = ["def ledger(): pass\n", "def ledger(invoice): pass\n", "x = 1\n", "def ledger(invoice, settle): pass\n"]
    summaries = [summarized(index_of({"a.py": text})) for text in texts]
    expected = expected_evidence(summaries, "settle the invoice in the ledger")

    assert fullest(expected, 10) == [3, 1, 0]
    assert fullest(expected, 2) == [3, 1]


@pytest.mark.parametrize(
    ("path", "text", "question"), [("a.py", "# 用户认证失败\n", "用户认证"), ("settle/a.py", "x = 1\n", "settle")]
)
def test_words_without_blanks_and_words_of_paths_count(index_of, summarized, path, text, question):
    expected = expected_evidence([summarized(index_of({path: text}))], question)

    assert fullest(expected, 1) == [0]
