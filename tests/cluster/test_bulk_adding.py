"""Many repositories at once: how lines are read, and that a file can be added again and again."""

import pytest

from codecompass.cluster.repositories import bulk_adding
from codecompass.cluster.repositories.bulk_adding import add_several, read_lines
from codecompass.cluster.repositories.catalog import Catalog
from codecompass.cluster.repositories.documents import Repositories
from codecompass.errors import InvalidInput

PROTOCOLS = ("https", "ssh")
BASE = "https://git.example.org"


def read(*lines, refs=None, groups=None):
    return read_lines(lines, PROTOCOLS, refs=refs, groups=groups)


def test_a_line_has_an_address_and_what_is_asked_of_it():
    wanted, errors = read(
        "# repositories of the shop",
        "",
        f"{BASE}/shop/api",
        f'  {BASE}/shop/web ref=main ref=v* group=web group="Domain Users" name=web  # the site, don\'t move',
        groups=["everyone"],
        refs=["HEAD"],
    )

    assert not errors
    assert [(each.line, each.name, each.refs, each.groups) for each in wanted] == [
        (3, None, ("HEAD",), ("everyone",)),
        (4, "web", ("main", "v*"), ("Domain Users", "web")),
    ]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("no address", "address"),
        ("https://u:p4ss@git.example.org/a/b", "password"),
        (f"{BASE}/a/b group", "group=GROUP"),
        (f"{BASE}/a/b colour=red", "colour=red"),
        (f"{BASE}/a/b ref=a..b", "branch"),
        (f"{BASE}/a/b name=/x", "name"),
        (f"{BASE}/a/b name=x name=y", "one name"),
        (f'{BASE}/a/b group="x', "quotation mark"),
        (f"{BASE}/same/one group=other", "line 1"),
        (f"{BASE}/another/one name=taken", "line 2"),
    ],
)
def test_a_line_that_is_wrong_is_named_and_left_out(line, said):
    wanted, errors = read(f"{BASE}/same/one", f"{BASE}/named/one name=taken", line, f"{BASE}/last/one")

    assert [each.line for each in wanted] == [1, 2, 4]
    ((number, message),) = [(each.line, each.message) for each in errors]
    assert number == 3
    assert said in message
    assert "p4ss" not in message


def test_the_same_line_twice_is_one_repository():
    wanted, errors = read(f"{BASE}/a/b group=x", "git@git.example.org:a/b.git group=x")

    assert (len(wanted), errors) == (1, [])


# on a real cluster


@pytest.mark.cluster
def test_a_thousand_repositories_are_added_at_once_and_adding_them_again_changes_nothing(engine, monkeypatch):
    repositories = Repositories(engine)
    requests: list[str] = []
    request = engine._request
    monkeypatch.setattr(engine, "_request", lambda *given, **named: requests.append(given[1]) or request(*given, **named))
    lines = [f"{BASE}/team{number // 100}/part{number} group=team{number // 100}" for number in range(1_000)]
    wanted, errors = read(*lines)

    first = add_several(engine, repositories, wanted)
    n_first = len(requests)
    before = repositories.listed(is_current=True)
    again = add_several(engine, repositories, wanted)

    assert not errors
    assert len([path for path in requests if path.endswith("_bulk")]) == 4
    assert n_first <= 9
    assert [done for _, done in first.done] == ["added"] * 1_000
    assert [done for _, done in again.done] == ["unchanged"] * 1_000
    assert len(before) == 1_000
    assert repositories.listed(is_current=True) == before
    assert len({each.name for each in before}) == 1_000
    assert all(each.is_pending for each in before)
    assert set(Catalog(engine).live()) == {each.repo_id for each in before}
    assert repositories.reconcile() == 0


@pytest.mark.cluster
def test_what_is_there_is_changed_as_asked_and_names_stay_unique(engine):
    repositories = Repositories(engine)
    repositories.add(f"{BASE}/a/one", groups=["old"])
    repositories.add(f"{BASE}/a/gone")
    repositories.remove("a/gone")
    repositories.add("https://other.example.org/b/api")
    wanted, errors = read(f"{BASE}/a/one group=new", f"{BASE}/a/gone", f"{BASE}/b/api", f"{BASE}/c/x name=a/one")

    outcome = add_several(engine, repositories, wanted)

    assert not errors
    assert [done for _, done in outcome.done] == ["changed", "added", "added"]
    assert [each.line for each in outcome.errors] == [4]
    assert repositories.find("a/one").groups == ("new",)
    assert not repositories.find("a/gone").is_removed
    assert len({each.name for each in repositories.listed(is_current=True)}) == 4


@pytest.mark.cluster
def test_what_was_lost_between_the_two_writes_is_made_up_for(engine, monkeypatch):
    repositories = Repositories(engine)
    wanted, _ = read(f"{BASE}/a/one", f"{BASE}/a/two group=x")
    create = bulk_adding._create
    monkeypatch.setattr(
        bulk_adding, "_create", lambda engine, index, documents: index.endswith("catalog") and create(engine, index, documents)
    )
    add_several(engine, repositories, wanted)
    monkeypatch.undo()

    assert repositories.listed(is_current=True) == ()
    assert repositories.reconcile() == 2
    assert [done for _, done in add_several(engine, repositories, wanted).done] == ["unchanged", "unchanged"]
    assert repositories.find("a/two").groups == ("x",)


@pytest.mark.cluster
def test_what_was_removed_and_swept_is_added_for_good(engine):
    repositories = Repositories(engine)
    wanted, _ = read(f"{BASE}/a/gone group=new", f"{BASE}/a/other")
    gone = repositories.add(f"{BASE}/a/gone", groups=["old"]).repository
    repositories.remove("a/gone")
    repositories.delete(gone.repo_id, lambda _: True)
    engine.refresh(engine.names.repositories)

    outcome = add_several(engine, repositories, wanted)
    repositories.reconcile()

    assert [done for _, done in outcome.done] == ["added", "added"]
    assert {each.name: each.groups for each in repositories.listed(is_current=True)} == {"a/gone": ("new",), "a/other": ()}


@pytest.mark.cluster
def test_too_many_are_refused_before_anything_is_written(engine, monkeypatch):
    monkeypatch.setattr(bulk_adding, "MAX_REPOSITORIES", 1)
    wanted, _ = read(f"{BASE}/a/one", f"{BASE}/a/two")

    with pytest.raises(InvalidInput, match="prefix"):
        add_several(engine, Repositories(engine), wanted)

    assert Repositories(engine).listed(is_current=True) == ()
