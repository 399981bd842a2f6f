"""What a viewer sees of the repositories is made once a list, and names lead to the same repositories as without that."""

from codecompass.cluster.access.visibility import Viewer, visible
from codecompass.cluster.repositories.repository import Repository
from codecompass.cluster.serving.routing import MAX_KEPT, KeptViews, VisibleRepositories, named, select, visible_repositories

RED = Viewer("ada", frozenset({"red"}))
BLUE = Viewer("bob", frozenset({"blue"}))
ADMIN = Viewer("eve", frozenset({"red"}), is_admin=True)


def repository(number: int, name: str, *groups: str) -> Repository:
    return Repository(
        repo_id=f"{number:016x}",
        name=name,
        url=f"https://git.example.org/{name}",
        groups=groups,
        added_at=0.0,
        changed_at=0.0,
        default_ref="main",
    )


LISTED = (
    repository(1, "shop/api", "red"),
    repository(2, "shop/web", "red", "blue"),
    repository(3, "tools/web", "everyone"),
    repository(4, "tools/x", "blue"),
)


def view(views: KeptViews, viewer: Viewer, listed: tuple[Repository, ...] = LISTED) -> VisibleRepositories:
    return views.of(viewer, visible(viewer, listed))


def test_questions_of_viewers_with_the_same_groups_share_what_was_made_of_a_list():
    views = KeptViews()

    assert view(views, RED) is view(views, Viewer("somebody else", RED.groups))


def test_each_viewer_gets_what_is_made_for_their_own_groups():
    views = KeptViews()

    for viewer in (RED, BLUE, ADMIN, RED, Viewer("nobody", frozenset()), BLUE):
        found = view(views, viewer)

        assert found == visible_repositories(viewer, visible(viewer, LISTED))
        assert {each.project.project_id for each in select(found, ["*"], 0.0)} == {
            each.repo_id for each in visible(viewer, LISTED)
        }


def test_another_list_is_another_view_even_if_it_is_as_long():
    views = KeptViews()
    before = view(views, RED)
    changed = (*LISTED[:2], repository(3, "tools/new", "everyone"), LISTED[3])

    after = view(views, RED, changed)

    assert named(before, "tools/web") == LISTED[2]
    assert named(after, "tools/web") is None
    assert named(after, "new") == changed[2]
    assert [each.label for each in select(after, ["*"], 0.0)] == ["api", "web", "new"]


def test_a_repository_that_a_viewer_may_not_see_any_more_is_not_in_their_view():
    views = KeptViews()
    view(views, BLUE)
    moved = (*LISTED[:3], repository(4, "tools/x", "red"))

    assert named(view(views, BLUE, moved), "tools/x") is None
    assert named(view(views, RED, moved), "tools/x") == moved[3]


def test_of_two_repositories_that_are_called_so_the_first_one_is_meant():
    same = (repository(1, "a", "red"), repository(2, "b/a", "red"), repository(3, f"{1:016x}", "red"))
    on = visible_repositories(RED, same)

    for text in ("a", "b/a", f"{1:016x}", f"{3:016x}", " a "):
        wanted = text.strip()
        first = next(each for each in same if wanted in (each.repo_id, each.name, on.labels[each.repo_id]))
        assert named(on, text) == first


def test_few_views_are_kept():
    views = KeptViews()
    first = view(views, RED)

    for number in range(MAX_KEPT):
        view(views, Viewer("x", frozenset({f"group {number}"})))

    assert view(views, RED) is not first
