"""The maximum cost of resolving one import, in queries to the repository: it runs in the server's own process."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from codecompass.languages import described
from codecompass.languages.imports import InMemoryPaths, ModuleRoot, import_tails, languages_of, resolve
from codecompass.languages.imports.configuration import MAX_ROOTS_PER_FILE
from codecompass.languages.imports.paths import MAX_SAME_SUFFIX, SuffixIndex, ending_in
from codecompass.languages.imports.resolution import MAX_DIRECTORIES
from codecompass.languages.records import Import
from codecompass.languages.scripting.python_imports import MAX_PYTHON_DIRECTORIES
from codecompass.languages.walk.extract import MAX_IMPORT_LENGTH, MAX_IMPORT_PARTS, MAX_IMPORTS_PER_FILE

SEPARATORS = {"php": "\\", "rust": "::", "ruby": "/", "go": "/", "c": "/", "cpp": "/", "objectivec": "/", "bash": "/"}
SEPARATORS |= dict.fromkeys(("astro", "javascript", "svelte", "typescript", "tsx", "vue", "zig", "dart"), "/")
EXTENSIONS = {
    "bash": "sh", "c": "h", "cpp": "h", "csharp": "cs", "elixir": "ex", "go": "go", "groovy": "groovy", "haskell": "hs",
    "java": "java", "javascript": "js", "kotlin": "kt", "lua": "lua", "objectivec": "h", "php": "php", "python": "py",
    "ruby": "rb", "rust": "rs", "scala": "scala", "swift": "swift", "tsx": "tsx", "typescript": "ts", "zig": "zig",
    "dart": "dart", "elm": "elm", "astro": "astro", "jupyter": "ipynb", "svelte": "svelte", "vue": "vue",
}  # fmt: skip
KINDS = ("module", "include", "system", "relative", "mod", "inline:a::a")
MAX_QUESTIONS = 15_000


class CountingPaths(InMemoryPaths):
    """Counts its queries and each path that it returns."""

    def __init__(self, paths: Sequence[str], roots: Sequence[ModuleRoot]) -> None:
        self.n_questions = 0
        super().__init__(paths, roots)
        for name in (
            "has_file",
            "files_with_tail",
            "package_directories",
            "files_ending",
            "packages_ending",
            "namespaces_ending",
        ):
            setattr(self, name, self._counted(getattr(self, name)))

    def _counted(self, ask: Callable[..., Any]) -> Callable[..., Any]:
        def counted(*arguments: Any) -> Any:
            answer = ask(*arguments)
            self.n_questions += 1 if isinstance(answer, bool) or ask.__name__ == "files_with_tail" else 1 + len(answer)
            return answer

        return counted


@pytest.mark.invariant("The number of queries per import and of imports per file is bounded in the server's process")
@pytest.mark.slow
@pytest.mark.parametrize("language", [name for name in EXTENSIONS if described(name).imports is not None])
@pytest.mark.parametrize("configured", [False, True])
def test_an_import_at_every_bound_makes_a_bounded_number_of_queries(language, configured):
    """Thousands of files share the import's last name, the importing file is as deep as is resolved, and roots are hostile."""
    extension = EXTENSIONS[language]
    separator = SEPARATORS.get(language, ".")
    deep = "a/" * MAX_DIRECTORIES
    files = [f"p{number}/a.{extension}" for number in range(3000)] + [f"p{number}/a/a.{extension}" for number in range(3000)]
    files += [deep + f"from.{extension}", deep + f"a.{extension}"]
    roots = _hostile_roots(deep) if configured else ()
    paths = CountingPaths(files, roots)

    for spec in (separator.join("a" * 40), separator.join(["b"] * 40 + ["a"]), "." * 40, "../" * 40 + "a", "@/a", "a" * 400):
        for kind in KINDS:
            for name in ("", "*", "a", "A"):
                item = Import(1, 1, spec, name, "", kind)
                assert len(item.spec) <= MAX_IMPORT_LENGTH
                resolve(language, item, deep + f"from.{extension}", paths)  # the first call groups the paths of a name
                paths.n_questions = 0

                resolve(language, item, deep + f"from.{extension}", paths)
                import_tails(language, item, deep + f"from.{extension}")

                assert paths.n_questions <= MAX_QUESTIONS, (spec, kind, name)


def _hostile_roots(deep: str) -> list[ModuleRoot]:
    ecosystems = [
        name for name in ("cargo", "composer", "dotnet", "go", "jvm", "node", "python", "swift", "zig") if languages_of(name)
    ]
    roots = []
    for ecosystem in ecosystems:
        n_roots = MAX_PYTHON_DIRECTORIES if ecosystem == "python" else MAX_ROOTS_PER_FILE
        for depth in range(0, MAX_DIRECTORIES, 8):
            scope = deep[: 2 * depth]
            roots += [ModuleRoot(ecosystem, "a", f"{scope}x{rank}/", scope, rank) for rank in range(n_roots)]
            roots += [ModuleRoot(ecosystem, "/".join("a" * (rank % 40)), f"y{rank}/", scope, rank) for rank in range(n_roots)]
            if ecosystem == "node":
                roots += [ModuleRoot(ecosystem, "a" * rank + "*", f"z{rank}/*", scope, rank) for rank in range(n_roots)]
    return roots


def test_a_file_below_too_many_directories_resolves_nothing():
    path = "a/" * (MAX_DIRECTORIES + 1) + "a.py"
    paths = InMemoryPaths([path, "b.py"])

    assert resolve("python", Import(1, 1, "b"), "a.py", paths) == "b.py"
    assert resolve("python", Import(1, 1, "b"), path, paths) == ""
    assert import_tails("python", Import(1, 1, "b"), path) == ()


def test_paths_grouped_by_their_ends_are_found_as_by_comparing_each():
    names = ("a", "b", "c.d")
    paths = [f"{one}/{two}/{three}/x.py" for one in names for two in names for three in names] + ["x.py", "a/x.py", "x/x.py"]
    endings = SuffixIndex(lambda tail: paths if tail == "x" else ())

    for suffix in ("x.py", "a/x.py", "b/a/x.py", "c.d/b/a/x.py", "z/c.d/b/a/x.py", "a/b/a/x.py", "/x.py", "y.py"):
        assert sorted(endings.find("x", suffix)) == sorted(ending_in(paths, suffix)), suffix
    assert list(endings.find("y", "y.py")) == []


def test_too_many_paths_with_the_same_suffix_count_as_none():
    paths = [f"p{number}/lib/x.rb" for number in range(MAX_SAME_SUFFIX + 1)]

    assert SuffixIndex(lambda _tail: paths).find("x", "lib/x.rb") == ()
    assert len(SuffixIndex(lambda _tail: paths[1:]).find("x", "lib/x.rb")) == MAX_SAME_SUFFIX
    assert list(SuffixIndex(lambda _tail: paths).find("x", "p7/lib/x.rb")) == ["p7/lib/x.rb"]


def test_the_bounds_of_an_import_leave_room_for_every_known_one():
    """The longest import in 32 known repositories has 19 parts and 116 characters; no file imports more than 171 names."""
    assert MAX_IMPORT_PARTS > 2 * 19
    assert MAX_IMPORT_LENGTH > 4 * 116
    assert MAX_IMPORTS_PER_FILE > 20 * 171


def test_paths_with_one_tail_are_grouped_once_and_not_for_each_import():
    """With 20,000 files of one name that all import it, grouping per import would take 400 million comparisons."""
    normalized: list[str] = []

    def normalize(path: str) -> str:
        normalized.append(path)
        return path

    endings = SuffixIndex(lambda _tail: [f"p{number}/a/x.py" for number in range(5_000)], normalize)
    for number in range(100):
        assert endings.find("x", "a/x.py") == ()
        assert list(endings.find("x", f"p{number}/a/x.py")) == [f"p{number}/a/x.py"]

    assert len(normalized) == 2 * 5_000
