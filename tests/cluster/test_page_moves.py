"""Links to a repository that has another address or name now: whoever may see it is led to it, nobody else learns anything."""

from urllib.parse import parse_qs, urlsplit

import pytest
from msgspec.structs import replace

from codecompass.cluster.repositories.catalog import Catalog
from codecompass.cluster.repositories.documents import Repositories
from codecompass.cluster.repositories.moves import finish_moves, move
from codecompass.cluster.repositories.repository import MAX_FORMER, Repository, with_former
from tests.cluster.organisation import ServedLibrary, files_of, url_of
from tests.cluster.test_page_links import signed_in

cluster = pytest.mark.cluster
pytestmark = pytest.mark.timeout(300)


def repository(name: str, **fields: object) -> Repository:
    return Repository(repo_id=f"{name:0<16}", name=name, url=url_of(name), added_at=0, changed_at=0, **fields)


def test_a_bounded_number_of_earlier_names_is_kept_and_none_that_it_has():
    one = repository("now")
    for number in range(MAX_FORMER + 5):
        one = with_former(one, f"name{number}", "", one.repo_id, one.name)

    assert len(one.former) == MAX_FORMER
    assert one.former[:2] == ("name24", "name23")
    assert with_former(one, "name20").former[:3] == ("name20", "name24", "name23")
    assert with_former(replace(one, name="name24"), "now").former[:2] == ("now", "name23")
    assert with_former(one) is one


@cluster
def test_a_move_and_a_new_name_are_remembered_for_programs_of_all_versions(engine):
    repositories = Repositories(engine)
    old = repositories.add("https://a.example.org/shop/api", groups=["web"], name="gateway").repository
    first = move(repositories, "gateway", "https://b.example.org/store/api")
    engine.refresh(engine.names.repositories)
    finish_moves(repositories)
    second = move(repositories, first.repo_id, "https://c.example.org/store/api")
    repositories.add(second.url, name="store/interface")

    now = repositories.get(second.repo_id)
    assert now is not None
    assert now.former == (second.name, first.repo_id, first.name, old.repo_id, "gateway")
    assert Catalog(engine).of([now.repo_id])[now.repo_id].former == now.former
    assert repositories.reconcile() == 0
    gone = repositories.get(old.repo_id)
    assert gone is None or gone.former == ()


@cluster
def test_what_is_removed_leaves_no_names_to_what_comes_to_its_address(engine):
    repositories = Repositories(engine)
    old = repositories.add("https://a.example.org/shop/api").repository
    new = move(repositories, old.repo_id, "https://b.example.org/shop/api")
    repositories.remove(new.repo_id)
    again = repositories.add(new.url).repository

    assert again.former == ()
    assert Catalog(engine).of([new.repo_id])[new.repo_id].former == ()


def forget_list(served: ServedLibrary) -> None:
    """As after the seconds for which the list of repositories is cached."""
    served.server.libraries._listed_until = float("-inf")


@cluster
async def test_links_lead_to_a_repository_that_has_moved(house, tmp_path):
    old = await house.publish("alpha", files_of("alpha"), groups=["red"])
    path = "src/alpha_engine.py"
    async with signed_in(house, tmp_path, "red") as (browser, served):
        link = (await browser.get("/ui/permalink", project=old.repo_id, path=path, line=8, last=9)).location
        moved = move(house.repositories, old.repo_id, url_of("gamma"))
        house.engine.refresh(house.engine.names.repositories)
        before = await browser.get(link)
        new = await house.publish("gamma", {path: "# new\n" + files_of("alpha")[path]}, groups=["red"])
        assert finish_moves(house.repositories) == 1
        house.engine.refresh(house.engine.names.repositories)
        forget_list(served)
        after = await browser.get(link)
        shown = await browser.follow(after)
        others = [
            await browser.get("/ui/tree", project=old.name, path="src"),
            await browser.get("/ui/symbol", project=old.repo_id, name="turn_alpha"),
            await browser.get("/ui", project=old.repo_id, q="ä wheels & co"),
        ]
        listed = await browser.get("/ui/projects")
        never = await browser.get("/ui/tree", project=old.repo_id[::-1])

    assert (before.status, moved.repo_id) == (200, new.repo_id), "until the new one is indexed, the old one answers"
    assert after.status == 303
    assert fields_of(after.location) == {**fields_of(link), "project": [new.repo_id]}
    assert browser.visited[-1].endswith("#L9-L10"), "the commit is not indexed at the new address, where the line is one lower"
    assert "with the same line" in shown.body
    assert [each.status for each in others] == [303] * 3
    assert fields_of(others[2].location) == {"project": [new.repo_id], "q": ["ä wheels & co"]}
    assert "team-alpha" not in listed.body
    assert never.status == 404


@cluster
async def test_a_name_that_another_repository_has_now_means_that_one(house, tmp_path):
    alpha = await house.publish("alpha", files_of("alpha"), groups=["red"])
    gamma = await house.publish("gamma", files_of("gamma"), groups=["red", "blue"])
    house.repositories.note_former(gamma.repo_id, alpha)
    house.engine.refresh(house.engine.names.repositories)
    async with signed_in(house, tmp_path, "red") as (browser, _):
        both = [await browser.html("/ui/tree", project=name, path="src") for name in (alpha.repo_id, alpha.name)]
    async with signed_in(house, tmp_path, "blue") as (browser, _):
        moved = [await browser.get("/ui/tree", project=name, path="src") for name in (alpha.repo_id, alpha.name)]

    assert ["alpha_engine.py" in each.body for each in both] == [True, True]
    # Whoever may not see the other one is led as if there were none.
    assert [fields_of(each.location)["project"] for each in moved] == [[gamma.repo_id]] * 2


def fields_of(link: str) -> dict[str, list[str]]:
    return parse_qs(urlsplit(link).query)
