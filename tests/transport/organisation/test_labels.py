"""The label of a hit leads back to its origin, and a name that is unknown locally is sent to the organisation."""

import pytest

from codecompass.store.registry import set_project_group
from tests.transport.organisation.conftest import PAY, desk, index, write


async def test_whatever_is_asked_next_about_a_hit_is_answered_by_its_own_server(dev):
    found = await dev.call("search_code", query="RetryQueue payment", workspace="*", limit=1)
    (hit,) = found["results"]
    label = hit["project"]
    outline = await dev.call("get_file_outline", path=hit["path"], workspace=label)
    line = await dev.call("locate_symbol", name=f"{hit['path']}:5", workspace=label)
    again = await dev.call("locate_symbol", name=hit["symbol_id"], workspace=label)
    tree = await dev.call("get_symbol_hierarchy", symbol_name="RetryQueue", direction="descendants", workspace=label)
    types = await dev.call("get_symbol_hierarchy", symbol_name="RetryQueue", relation="subtypes", workspace=label)
    near = await dev.call("find_related_symbols", symbol_name=hit["symbol_id"], workspace=label)
    calls = await dev.call("get_call_graph", symbol_name="next_delay", workspace=label)
    context = await dev.call("get_code_context", query="payment attempt", max_tokens=2000, workspace=label)
    uses = await dev.call("find_references", symbol_name=hit["symbol_id"], workspace=label)
    status = await dev.call("index_status", workspace=label)

    assert label == "org:pay"
    assert [node["name"] for node in outline["symbols"]] == ["RetryQueue"]
    assert line["results"][0]["asked_line"] == 5
    assert again["results"][0]["symbol_id"] == hit["symbol_id"]
    assert [node["name"] for node in tree["hierarchy"][0]["children"]] == ["next_delay"]
    assert types["relation"] == "subtypes"
    assert near["anchor"]["name"] == "RetryQueue"
    assert calls["nodes"][0]["name"] == "next_delay"
    assert "pay/retry_queue.py" in {item["path"] for item in context["context_items"]}
    assert uses["definition"]["name"] == "RetryQueue"
    assert status["file_count"] == 2
    for answer in (outline, line, again, tree, types, near, calls, context, uses, status):
        assert answer["metadata"]["workspace"] == "org:pay"


@pytest.mark.parametrize("name", ["pay", "org:pay", " org:pay "])
async def test_one_name_that_nothing_here_has_is_asked_for_there(dev, name):
    outline = await dev.call("get_file_outline", path="pay/retry_queue.py", workspace=name)
    found = await dev.call("search_code", query="payment attempt", workspace=name)

    assert [node["name"] for node in outline["symbols"]] == ["RetryQueue"]
    assert found["results"][0]["path"] == "pay/retry_queue.py"
    assert found["metadata"]["workspace"] == "org:pay"


async def test_a_group_of_the_organisation_is_asked_by_its_name(tmp_path, trees, org, dev):
    await org.registry.run(lambda registry: set_project_group(registry, "money", registry.projects()))
    found = await dev.call("search_code", query="retry delay attempt", workspace="money")
    both = await dev.call("search_code", query="retry delay attempt", workspace=["api", "money"], limit=50)

    assert {hit["project"] for hit in found["results"]} == {"org:pay", "org:shop"}
    assert {hit["project"] for hit in both["results"]} == {"api", "org:pay", "org:shop"}


async def test_a_name_that_is_known_here_is_never_asked_for_there(tmp_path, trees, org, peer):
    peer.behaviour, peer.forward_to = "forward", org.url
    async with desk(tmp_path / "home-dev", peer.url) as dev:
        await index(dev, trees["pay"])
        here = await dev.call("locate_symbol", name="next_delay", workspace="pay")
        there = await dev.call("locate_symbol", name="next_delay", workspace="org:pay")

    assert here["metadata"]["workspace"] == str(trees["pay"])
    assert there["metadata"]["workspace"] == "org:pay"
    assert len(peer.requests) == 1


async def test_an_error_there_is_told_as_one_of_that_server(dev, org):
    refused = await dev.refusal("get_file_outline", path="pay/nothing.py", workspace="org:pay")
    unknown = await dev.refusal("get_file_outline", path="a.py", workspace="org:nothing")
    nowhere = await dev.refusal("get_file_outline", path="a.py", workspace="nothing")

    host = org.url.removeprefix("http://")
    assert refused["error"]["code"] == "file_not_found"
    assert refused["error"]["message"].startswith(f"the organisation's server ({host}): ")
    assert refused["metadata"]["workspace"] == "org:pay"
    assert unknown["error"]["code"] == "workspace_not_registered"
    assert nowhere["error"]["code"] == "workspace_not_registered"


@pytest.mark.parametrize("tool", ["index_repo", "sync_repo"])
async def test_nothing_there_is_indexed_from_here(tmp_path, trees, peer, tool):
    async with desk(tmp_path / "home-dev", peer.url) as dev:
        named = await dev.refusal(tool, workspace="org:pay")
        unknown = await dev.refusal(tool, workspace="pay")

    assert (named["error"]["code"], unknown["error"]["code"]) == ("invalid_input", "workspace_not_registered")
    assert "indexed by the organisation's own workers" in named["error"]["message"]
    assert peer.connections == 0


async def test_warnings_about_arguments_stay(dev):
    answer = await dev.call("search_code", query="payment attempt", workspace="org:pay", limit=5000)

    assert any("5000 is out of the range" in warning for warning in answer["metadata"]["warnings"])


LOCAL = (
    {},
    {"workspace": "{api}"},
    {"workspace": "{api}/src"},
    {"workspace": "api"},
    {"workspace": ["api", "named"]},
    {"workspace": "api,named"},
    {"workspace": ["{api}", "{web}"]},
    {"workspace": "ours"},
    {"project_id": "named"},
    {"project_id": "nobody-here"},
    {"workspace": "{api}/nothing"},
    {"workspace": "/nowhere/secret-project"},
    {"workspace": "~/secret-project"},
    {"workspace": "./secret-project"},
    {"workspace": "../secret-project"},
    {"workspace": ["/nowhere/secret-project", "api"]},
    {"workspace": "secret project"},
)


@pytest.mark.invariant(
    "A question about this machine only is sent to nobody, nor are its paths; without a configured organisation none "
    "of its code is loaded"
)
async def test_a_question_about_this_machine_alone_sends_nothing(tmp_path, trees, peer):
    """No local path is disclosed either."""
    async with desk(tmp_path / "home-dev", peer.url) as dev:
        await index(dev, trees["api"], trees["web"])

        def prepare(registry):
            set_project_group(registry, "ours", registry.projects())
            registry.rename(registry.at(trees["web"]).project_id, "named")

        await dev.registry.run(prepare)
        for named in LOCAL:
            given = {
                key: [each.format(**trees) for each in value] if isinstance(value, list) else value.format(**trees)
                for key, value in named.items()
            }
            for tool, arguments in (
                ("search_code", {"query": "retry"}),
                ("locate_symbol", {"name": "delay"}),
                ("find_references", {"symbol_name": "RetryPolicy"}),
                ("get_file_outline", {"path": "src/retry.py"}),
            ):
                if not isinstance(given.get("workspace"), list) or tool != "get_file_outline":
                    await dev.answer(tool, **arguments, **given)
        await dev.call("health_check")

    assert peer.connections == 0


async def test_a_repository_that_is_checked_out_under_another_name_is_answered_from_here(tmp_path, trees, org, peer):
    """Under any name that the organisation knows it by; `org:` still queries the organisation."""
    peer.behaviour, peer.forward_to = "forward", org.url
    clone = write(tmp_path / "dev" / "3" / "payments-fix", PAY, "git@git.example.org:team/pay.git")
    (clone / "pay" / "new.py").write_text("def only_in_the_working_tree():\n    pass\n")
    async with desk(tmp_path / "home-dev", peer.url) as dev:
        await index(dev, clone)
        for name in ("pay", "team/pay", "git.example.org/team/pay", "https://git.example.org/team/pay.git"):
            one = await dev.call("locate_symbol", name="only_in_the_working_tree", workspace=name)
            outline = await dev.call("get_file_outline", path="pay/new.py", workspace=name)
            several = await dev.call("locate_symbol", name="only_in_the_working_tree", workspace=[name, str(clone)])

            assert [hit["name"] for hit in one["results"]] == ["only_in_the_working_tree"]
            assert one["metadata"]["workspace"] == str(clone)
            assert any("is checked out here as payments-fix" in each for each in one["metadata"]["warnings"])
            assert [node["name"] for node in outline["symbols"]] == ["only_in_the_working_tree"]
            assert {hit["project"] for hit in several["results"]} == {"payments-fix"}
        assert peer.requests == []
        there = await dev.call("locate_symbol", name="only_in_the_working_tree", workspace="org:pay")

    assert "only_in_the_working_tree" not in {hit["name"] for hit in there["results"]}
    assert len(peer.requests) == 1
