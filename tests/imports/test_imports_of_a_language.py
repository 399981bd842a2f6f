"""All that the imports of a language need stands in its own modules."""

import subprocess
import sys
from collections.abc import Iterator
from types import ModuleType

import pytest

from codecompass.languages import SYMBOL_LANGUAGES, described, detect, ecosystems, table
from codecompass.languages.detect import EXTENSIONS
from codecompass.languages.ecosystems import ECOSYSTEMS, Ecosystem, is_configuration
from codecompass.languages.imports import (
    InMemoryPaths,
    ModuleRoot,
    PathIndex,
    affected_tails,
    import_tails,
    languages_of,
    module_roots,
    path_tails,
    resolve,
)
from codecompass.languages.imports.paths import RULES_BY_EXTENSION, directory_of, package_of
from codecompass.languages.imports.rules import ImportRules, Packages
from codecompass.languages.language import Language
from codecompass.languages.moved_names import moved_name
from codecompass.languages.records import Import
from codecompass.store.facts import leading_to


@pytest.mark.parametrize("language", SYMBOL_LANGUAGES)
def test_a_language_and_the_table_of_ecosystems_agree(language):
    rules = described(language).imports
    readers = {name: each for name, each in ECOSYSTEMS.items() if each.language == language}
    if rules is None:
        assert readers == {}
        return

    assert rules.ecosystem == "" or language in languages_of(rules.ecosystem)
    assert all(rules.ecosystem in (name, each.completes) and rules.configuration is not None for name, each in readers.items())
    packages = () if rules.packages is None else rules.packages.extensions
    assert all(described(EXTENSIONS[f".{extension}"]).imports is rules for extension in packages)


def test_the_engine_loads_no_language_before_it_is_asked_about_one():
    script = (
        "import sys\n"
        "from codecompass.languages.ecosystems import is_configuration\n"
        "from codecompass.languages.imports import languages_of, path_tails\n"
        "from codecompass.store.facts import leading_to\n"
        "def loaded():\n"
        "    return sorted(name for name in sys.modules if name.endswith('_imports') or name.startswith('tree_sitter'))\n"
        "path_tails('docs/a.md'), is_configuration('go.mod'), leading_to('docs/a.md', 'markdown'), print(loaded())\n"
        "path_tails('src/a.py'), leading_to('a/b.go', 'go'), print(loaded())\n"
    )

    done = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True)

    assert done.stdout.splitlines() == ["[]", "['codecompass.languages.scripting.python_imports']"]


def _tails(item: Import, _from_path: str) -> tuple[str, ...]:
    return (item.spec.rpartition("/")[2],)


def _resolve(item: Import, from_path: str, paths: PathIndex) -> str:
    for root in paths.roots("crates_of_wy").by_prefix.get(item.spec.partition("/")[0], ()):
        directory = root.directory + item.spec.partition("/")[2] + "/"
        if paths.package_size("crates_of_wy", directory):
            return directory
    beside = f"{directory_of(from_path)}{item.spec}.wy"
    return beside if paths.has_file(beside) else ""


def _roots(path: str, source: bytes) -> Iterator[ModuleRoot]:
    yield ModuleRoot("crates_of_wy", source.decode("utf-8").strip(), directory_of(path))


WYVERN = Language(
    separator="~",
    path_module=lambda path: tuple(path.removesuffix(".wy").split("/")),
    imports=ImportRules(
        tails=_tails,
        resolve=_resolve,
        ecosystem="crates_of_wy",
        packages=Packages(extensions=("wy",)),
        importers=("wyvern",),
        configuration=_roots,
    ),
)


@pytest.fixture
def wyvern(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A language that exists only here: its module, its row among the languages and that of its ecosystem."""
    module = ModuleType("codecompass.languages.wyvern")
    module.WYVERN = WYVERN  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setitem(table.MODULES, "wyvern", module.__name__)  # type: ignore[arg-type]
    monkeypatch.setitem(detect.EXTENSIONS, ".wy", "wyvern")  # type: ignore[arg-type]
    monkeypatch.setitem(ECOSYSTEMS, "crates_of_wy", Ecosystem(language="wyvern", files=("wy.lock",)))  # type: ignore[arg-type]
    _forget()
    yield
    monkeypatch.undo()
    _forget()


def _forget() -> None:
    described.cache_clear()
    ecosystems._table.cache_clear()
    RULES_BY_EXTENSION.clear()


@pytest.mark.usefixtures("wyvern")
def test_a_language_of_one_module_has_its_imports_resolved():
    assert is_configuration("lib/wy.lock")
    roots = module_roots("lib/wy.lock", b"zoo\n")
    assert roots == (ModuleRoot("crates_of_wy", "zoo", "lib/"),)
    paths = InMemoryPaths(["lib/wy.lock", "lib/birds/owl.wy", "app/main.wy", "app/help.wy"], roots)

    assert resolve("wyvern", Import(1, 1, "zoo/birds"), "app/main.wy", paths) == "lib/birds/"
    assert resolve("wyvern", Import(1, 1, "help"), "app/main.wy", paths) == "app/help.wy"
    assert resolve("wyvern", Import(1, 1, "zoo/fish"), "app/main.wy", paths) == ""
    assert import_tails("wyvern", Import(1, 1, "zoo/birds"), "app/main.wy") == ("birds",)
    assert package_of("lib/birds/owl.wy") == ("crates_of_wy", "lib/birds/")
    assert path_tails("lib/birds/owl.wy") == ("owl", "lib/birds/:crates_of_wy")
    assert affected_tails(["lib/birds/owl.wy"], [], paths) == {"owl", "birds/owl", "birds", "lib/birds"}
    assert languages_of("crates_of_wy") == ("wyvern",)
    assert leading_to("lib/birds/owl.wy", "wyvern")[1][-1] == "wyvern"
    assert moved_name("wyvern", "lib/owl.wy", "owl.wy", "lib~owl~hoot") == "owl~hoot"
