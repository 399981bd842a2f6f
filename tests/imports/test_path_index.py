"""Finding files by their tails, in memory."""

import random

from codecompass.languages.imports import InMemoryPaths, ModuleRoot, ModuleRoots, PathIndex, path_tails
from codecompass.languages.imports.paths import package_of

PATHS = (
    "main.go",
    "pkg/v1/a.go",
    "pkg/v1/b.go",
    "other/v1/c.go",
    "src/org/shop/Cart.kt",
    "lib/org/shop/Item.java",
    "web/index.ts",
    "shop/__init__.py",
)


class Scanning(PathIndex):
    """Answers queries by scanning all paths, and uses the interface's default methods for packages."""

    def __init__(self, paths):
        self.paths = set(paths)

    def has_file(self, path):
        return path in self.paths

    def files_with_tail(self, tail):
        return sorted(path for path in self.paths if tail in path_tails(path))

    def files_below(self, directory):
        return iter(sorted(path for path in self.paths if path.startswith(directory)))

    def roots(self, ecosystem):
        return ModuleRoots(())


def test_any_additions_and_removals_leave_what_a_scan_would_find():
    source = random.Random(11)
    index, expected = InMemoryPaths(PATHS), Scanning(PATHS)
    tails = {tail for path in PATHS for tail in path_tails(path)} | {"missing"}
    packages = {package for package in map(package_of, PATHS) if package} | {("go", "nowhere/")}

    for _ in range(200):
        path = source.choice(PATHS)
        if source.random() < 0.5:
            index.add(path)
            expected.paths.add(path)
        else:
            index.remove(path)
            expected.paths.discard(path)

        assert index.has_file(path) == expected.has_file(path)
        for tail in tails:
            assert sorted(index.files_with_tail(tail)) == expected.files_with_tail(tail)
        for tail in ("v1/", "shop/", "missing/"):
            assert set(index.package_directories(tail)) == set(expected.package_directories(tail))
        for package in packages:
            assert index.package_size(*package) == expected.package_size(*package)
        for directory in ("", "pkg/", "pkg/v1/", "src/org/", "w"):
            assert list(index.files_below(directory)) == list(expected.files_below(directory))


def test_roots_are_found_by_prefix_scope_and_directory_in_any_order_of_input():
    roots = [
        ModuleRoot("node", "pkg", "b/src/index", "", 1),
        ModuleRoot("node", "pkg", "b/index", "", 0),
        ModuleRoot("node", "@/*", "a/src/*", "a/"),
        ModuleRoot("node", "pkg", "b/index", "", 0),
    ]

    for given in (roots, roots[::-1]):
        found = ModuleRoots(given)

        assert [root.directory for root in found.by_prefix["pkg"]] == ["b/index", "b/src/index"]
        assert [root.prefix for root in found.by_scope["a/"]] == ["@/*"]
        assert [root.prefix for root in found.by_directory["a/src/"]] == ["@/*"]
        assert [root.prefix for root in found.by_head["a/", "@/"]] == ["@/*"]
        assert found.head_lengths == {"a/": (2,)}


def test_roots_of_one_ecosystem_do_not_answer_for_another():
    index = InMemoryPaths((), [ModuleRoot("go", "m", ""), ModuleRoot("node", "m", "x/")])

    assert [root.directory for root in index.roots("node").all] == ["x/"]
    assert index.roots("cargo").all == ()
