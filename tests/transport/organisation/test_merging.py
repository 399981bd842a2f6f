"""A question about several projects, local and the organisation's: one answer, ranked as if all were in one place."""

import pytest
import trio

from codecompass.transport.tools import several_projects
from tests.support.waiting import until
from tests.transport.organisation.conftest import API, PAY, complaints, desk, index, organisation, places, target_of, write

QUESTIONS = (
    ("search_code", {"query": "retry delay attempt"}),
    ("search_code", {"query": "how long to wait before another attempt"}),
    ("search_code", {"query": "a payment that is tried again", "limit": 2}),
    ("search_code", {"query": "delay", "detail_level": "location", "limit": 50}),
    ("search_code", {"query": "RetryPolicy", "ranking_explain_level": "full"}),
    ("search_code", {"query": "attempt", "mode": "literal", "limit": 50}),
    ("search_code", {"query": "def \\w+_", "mode": "regex", "limit": 3}),
    ("search_code", {"query": "*.py", "mode": "files", "limit": 50}),
    ("locate_symbol", {"name": "next_delay"}),
    ("locate_symbol", {"name": "retry", "limit": 3}),
    ("locate_symbol", {"name": "delay", "detail_level": "body"}),
)


@pytest.mark.invariant("Answers merged with an organisation's equal those of querying all projects in one place")
async def test_the_order_is_that_of_asking_all_projects_in_one_place(tmp_path, trees, dev):
    seen = set()
    async with desk(tmp_path / "home-all") as everything:
        await index(everything, *trees.values())
        for tool, arguments in QUESTIONS:
            wanted = await everything.call(tool, workspace="*", **arguments)
            merged = await dev.call(tool, workspace="*", **arguments)

            assert places(merged) == places(wanted), arguments
            for ours, theirs in zip(merged["results"], wanted["results"], strict=True):
                assert {**ours, "project": ""} == {**theirs, "project": ""}
            assert merged["total_candidates"] == wanted["total_candidates"]
            assert merged["metadata"].get("ranking_reasons") == wanted["metadata"].get("ranking_reasons")
            assert (merged["metadata"]["n_projects"], complaints(merged)) == (4, [])
            seen |= {hit["project"] for hit in merged["results"]}

    assert seen == {"api", "web", "org:pay", "org:shop"}


async def test_hits_say_that_they_are_from_there(dev, org):
    answer = await dev.call("search_code", query="retry delay attempt", workspace="*")

    parts = {part["name"]: part for part in answer["metadata"]["projects"]}
    assert "org:pay" in {hit["project"] for hit in answer["results"]}
    assert parts["org:pay"]["root"].startswith(org.url.removeprefix("http://") + ":/")
    assert "://" not in parts["api"]["root"]


@pytest.mark.parametrize("answers", ["json", "text"])
async def test_the_form_of_an_answer_is_that_of_the_server_that_is_asked(tmp_path, trees, answers):
    """Whichever form the organisation's own server uses."""
    async with organisation(tmp_path / "home-org", answers="text" if answers == "json" else "json") as org:
        await index(org, trees["pay"])
        async with desk(tmp_path / "home-dev", org.url, answers=answers) as dev:
            await index(dev, trees["api"])
            found = await dev.answer("search_code", query="retry delay attempt", workspace="*")
            alone = await dev.answer("search_code", query="retry delay attempt", workspace="org:pay")

    for answer in (found, alone):
        assert answer.error is None
        assert (b'"excerpt"' in answer.payload) == (answers == "text")
        assert (b'"symbol_id"' in answer.payload) == (answers == "json")


async def test_a_repository_that_is_checked_out_here_is_answered_from_the_working_tree_alone(tmp_path, trees):
    """Whichever address it was cloned from."""
    clone = write(tmp_path / "dev" / "3" / "payments", PAY, "ssh://git@git.example.org/team/pay.git")
    (clone / "pay" / "retry_queue.py").write_text("def local_retry_delay(attempt):\n    return attempt\n")
    async with organisation(tmp_path / "home-org") as org:
        await index(org, trees["pay"], trees["shop"])
        async with desk(tmp_path / "home-dev", org.url) as dev:
            await index(dev, clone)
            found = await dev.call("search_code", query="retry delay attempt", workspace="*", limit=50)
            named = await dev.call("locate_symbol", name="next_delay", workspace=["payments", "pay"])
            there = await dev.call("locate_symbol", name="next_delay", workspace="org:pay")

    assert {hit["project"] for hit in found["results"]} == {"payments", "org:shop"}
    assert found["metadata"]["n_projects"] == 2
    assert named["results"] == []
    assert [hit["name"] for hit in there["results"]] == ["next_delay"]


async def test_repositories_that_need_not_answer_leave_their_turns_to_others(tmp_path, trees, monkeypatch):
    """The organisation searches the projects that match a question best, skipping those that the caller has checked out."""
    monkeypatch.setattr(several_projects, "FULL_SEARCHES", 1)
    twin = write(tmp_path / "org" / "3" / "twin", API, "https://git.example.org/team/api")
    async with organisation(tmp_path / "home-org") as org:
        await index(org, twin, trees["pay"])
        async with desk(tmp_path / "home-dev", org.url) as dev:
            await index(dev, trees["api"])
            found = await dev.call("search_code", query="RetryPolicy delay attempt", workspace="*", limit=50)

    assert {hit["project"] for hit in found["results"]} == {"api", "org:pay"}


async def test_names_are_asked_for_where_they_are_known(dev, org):
    listed = await dev.call("search_code", query="retry delay attempt", workspace=["web", "pay"], limit=50)
    commas = await dev.call("search_code", query="retry delay attempt", workspace="web,org:shop", limit=50)
    there = await dev.call("search_code", query="retry delay attempt", workspace="org:*", limit=50)

    assert {hit["project"] for hit in listed["results"]} == {"web", "org:pay"}
    assert {hit["project"] for hit in commas["results"]} == {"web", "org:shop"}
    assert {hit["project"] for hit in there["results"]} == {"org:pay", "org:shop"}
    assert {part["name"] for part in there["metadata"]["projects"]} == {"org:pay", "org:shop"}


async def test_a_name_that_nobody_has_is_told_and_the_others_answer(dev):
    answer = await dev.call("search_code", query="retry delay attempt", workspace=["api", "pya"])

    assert {hit["project"] for hit in answer["results"]} == {"api"}
    (complaint,) = complaints(answer)
    assert "'pya'" in complaint
    assert "Did you mean 'pay'?" in complaint


async def test_where_nothing_is_indexed_here_the_organisation_answers_all_the_same(tmp_path, trees, org):
    async with desk(tmp_path / "home-empty", org.url) as dev:
        answer = await dev.call("search_code", query="retry delay attempt", workspace="*")

    assert {hit["project"] for hit in answer["results"]} == {"org:pay", "org:shop"}


async def test_a_server_that_does_not_know_of_merging_is_taken_in_turns(tmp_path, trees, org, peer):
    peer.behaviour, peer.forward_to, peer.drops_meta = "forward", org.url, True
    async with desk(tmp_path / "home-dev", peer.url) as dev:
        await index(dev, trees["api"], trees["web"])
        here = await dev.call("search_code", query="retry delay attempt", workspace=["api", "web"], limit=50)
        there = await org.call("search_code", query="retry delay attempt", workspace="*", limit=50)
        both = await dev.call("search_code", query="retry delay attempt", workspace="*", limit=50)

    ours = [hit for hit in places(both) if hit[0] in ("api", "web")]
    assert ours == places(here)
    assert [hit for hit in places(both) if hit[0] in ("pay", "shop")] == places(there)
    assert [hit["project"].startswith("org:") for hit in both["results"]][:4] == [False, True, False, True]
    assert both["total_candidates"] == here["total_candidates"] + there["total_candidates"]


async def test_what_another_server_asks_is_never_passed_on(tmp_path, trees, peer):
    """Two servers configured as each other's organisation, or one as its own, would query each other for ever."""
    peer.behaviour = "forward"
    async with organisation(tmp_path / "home-self", target=target_of(peer.url)) as itself:
        peer.forward_to = itself.url
        await index(itself, trees["api"])
        answer = await itself.call("search_code", query="retry delay attempt", workspace="*")
        unknown = await itself.refusal("locate_symbol", name="x", workspace="nobody")

    assert {hit["project"] for hit in answer["results"]} == {"api"}
    assert unknown["error"]["code"] == "workspace_not_registered"
    assert len(peer.requests) == 2


async def test_both_are_asked_at_the_same_time(tmp_path, trees, peer):
    """While the organisation delays its part of a question, local questions are answered."""
    peer.behaviour = "silent"
    async with desk(tmp_path / "home-dev", peer.url, timeout_ms=60_000) as dev:
        await index(dev, trees["api"])
        async with trio.open_nursery() as nursery:
            nursery.start_soon(lambda: dev.answer("search_code", query="retry delay", workspace="*", timeout_ms=60_000))
            await until(lambda: peer.requests)
            alone = await dev.call("search_code", query="retry delay", workspace=trees["api"])
            nursery.cancel_scope.cancel()

    assert alone["results"]


# uses


async def test_uses_of_a_definition_that_is_here_are_found_in_the_organisation(tmp_path, trees):
    async with organisation(tmp_path / "home-org") as org:
        await index(org, trees["shop"])
        async with desk(tmp_path / "home-dev", org.url) as dev:
            await index(dev, trees["pay"])
            uses = await dev.call("find_references", symbol_name="RetryQueue", workspace="*")
            first = await dev.call("find_references", symbol_name="RetryQueue", workspace=["pay", "*"])

    for answer in (uses, first):
        assert answer["definition"]["project"] == "pay"
        found = {(use["project"], use["role"], use["line_start"]) for use in answer["references"]}
        assert {("org:shop", "import", 1), ("org:shop", "construct", 6)} <= found
        assert {part["name"] for part in answer["metadata"]["projects"]} == {"pay", "org:shop"}


async def test_uses_here_of_a_definition_of_the_organisation_are_found_too(tmp_path, trees):
    async with organisation(tmp_path / "home-org") as org:
        await index(org, trees["pay"])
        async with desk(tmp_path / "home-dev", org.url) as dev:
            await index(dev, trees["shop"])
            uses = await dev.call("find_references", symbol_name="RetryQueue", workspace="*")
            first = await dev.call("find_references", symbol_name="RetryQueue", workspace=["org:pay", "*"])
            alone = await dev.call("find_references", symbol_name="RetryQueue", workspace="org:pay")

    for answer in (uses, first):
        assert answer["definition"]["project"] == "org:pay"
        assert {use["project"] for use in answer["references"]} == {"shop"}
        assert answer["total"] == len(answer["references"])
    assert alone["total"] == 0


@pytest.mark.invariant(of="test_the_order_is_that_of_asking_all_projects_in_one_place")
async def test_uses_are_those_of_asking_all_projects_in_one_place(tmp_path, trees, dev):
    async with desk(tmp_path / "home-all") as everything:
        await index(everything, *trees.values())
        wanted = await everything.call("find_references", symbol_name="RetryQueue", workspace="*")

    merged = await dev.call("find_references", symbol_name="RetryQueue", workspace="*")

    def plain(uses):
        return [{**use, "project": use["project"].removeprefix("org:")} for use in uses]

    assert plain(merged["references"]) == plain(wanted["references"])
    assert (merged["counts"], merged["total"]) == (wanted["counts"], wanted["total"])
    assert wanted["total"] > 0


async def test_a_name_that_is_defined_here_and_there_means_both_until_one_is_named_first(tmp_path, trees):
    own = write(tmp_path / "dev" / "4" / "own", {"own/queue.py": "class RetryQueue:\n    pass\n", "own/__init__.py": ""})
    async with organisation(tmp_path / "home-org") as org:
        await index(org, trees["pay"])
        async with desk(tmp_path / "home-dev", org.url) as dev:
            await index(dev, own)
            both = await dev.call("find_references", symbol_name="RetryQueue", workspace="*")
            here = await dev.call("find_references", symbol_name="RetryQueue", workspace=["own", "*"])
            there = await dev.call("find_references", symbol_name="RetryQueue", workspace=["org:pay", "*"])

    definitions = {(each["project"], each["path"]) for each in both["definitions"]}
    assert definitions == {("own", "own/queue.py"), ("org:pay", "pay/retry_queue.py")}
    assert "definitions" not in here
    assert here["definition"]["project"] == "own"
    assert there["definition"]["project"] == "org:pay"


async def test_a_name_that_the_organisation_defines_too_often_is_refused_until_a_project_is_named_first(tmp_path, trees):
    text = "".join(f"class Book{n}:\n    def settle(self):\n        return Book{n}().settle()\n\n\n" for n in range(11))
    for each in (trees["pay"], trees["shop"]):
        write(each, {"books.py": text})
    async with organisation(tmp_path / "home-org") as org:
        await index(org, trees["pay"], trees["shop"])
        async with desk(tmp_path / "home-dev", org.url) as dev:
            await index(dev, trees["api"])
            refused = await dev.refusal("find_references", symbol_name="settle", workspace="*")
            one = await dev.call("find_references", symbol_name="settle", workspace=["org:shop", "*"])
            first = await dev.call("find_references", symbol_name="settle", workspace=["org:pay", "org:shop"])

    assert refused["error"]["code"] == "ambiguous_symbol"
    assert refused["error"]["data"]["candidate_count"] == 22
    assert {each["path"] for each in refused["error"]["data"]["candidates"]} == {"org:pay:books.py", "org:shop:books.py"}
    assert [{each["project"] for each in answer["definitions"]} for answer in (one, first)] == [{"org:shop"}, {"org:pay"}]
    assert [answer["total"] for answer in (one, first)] == [11, 11]


async def test_a_name_that_nobody_defines_is_not_found(dev):
    refused = await dev.refusal("find_references", symbol_name="no_such_thing", workspace="*")

    assert refused["error"]["code"] == "symbol_not_found"
