"""Compiled modules (docs/adr/0044): which may be, what is in the wheel, and that they do what their source does."""

import ast
import os
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

from codecompass.identity import canonical_root, project_id
from codecompass.store.index import WorkspaceIndex
from codecompass.store.layout import HomeLayout
from release.building import only_file
from release.compiled import LIBRARY, missing
from tests.support.dump import dump

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
MODULES = PROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]["hooks"]["custom"]["modules"]
BUILD_SECONDS = 900
GROUP = pytest.mark.xdist_group("compiled")

pytestmark = pytest.mark.timeout(1_800)  # a build of compiled modules takes a minute where nothing else runs

TESTS = (
    *("languages/test_arguments.py", "languages/test_regions.py", "languages/test_golden_samples.py"),
    *("languages/test_occurrences.py", "languages/test_packed_uses.py", "languages/test_unspaced.py", "languages/test_words.py"),
    *("query/test_narrowed_types.py", "query/test_overloads.py", "query/test_query_words.py", "query/test_unspaced.py"),
    *("query/test_references.py", "worker/test_parsing.py", "worker/test_reading.py"),
)
"""What the compiled modules do, tested through them."""

RUN = """
import sys
sys.path.insert(0, sys.argv[1])
from importlib import import_module
from pathlib import Path
for path in sys.argv[2].split():
    module = import_module(path.removesuffix(".py").replace("/", "."))
    assert Path(module.__file__).suffix in (".so", ".pyd"), module.__file__
import pytest
sys.exit(pytest.main(sys.argv[3:]))
"""
"""Runs tests on the package in a directory, whose listed modules must be compiled ones."""

ASKED = (
    ("search", "how are definitions valued for a question"),
    ("search", "split_identifier(", "--mode", "literal"),
    ("locate", "WantedWords"),
    ("refs", "valued_file"),
)


def build(target: Path, **variables: str) -> Path:
    """Builds a wheel with the hook enabled and returns it."""
    done = subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(target)],
        cwd=ROOT,
        env=os.environ | {"HATCH_BUILD_HOOK_ENABLE_CUSTOM": "1", "PYTHONDONTWRITEBYTECODE": "1"} | variables,
        capture_output=True,
        text=True,
        timeout=BUILD_SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return only_file(target, "*.whl")


def unpacked(wheel: Path, target: Path) -> Path:
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(target)
    return target


@pytest.fixture(scope="module")
def python_wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel that is built where there is no compiler."""
    return build(tmp_path_factory.mktemp("python"), CC="no-such-compiler")


@pytest.fixture(scope="module")
def compiled_wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    reason = missing()
    if reason:
        pytest.skip(reason)
    pytest.importorskip("setuptools", "77", reason="`make wheel` installs setuptools, which runs the compiler")
    return build(tmp_path_factory.mktemp("compiled"))


@pytest.mark.parametrize("path", MODULES)
def test_a_module_that_is_compiled_has_no_class_that_its_compiler_would_change(path: str):
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))

    # mypyc drops `frozen=True` and the like, and writes other annotations: a Struct could be changed, and decodes nothing.
    assert [node.name for node in ast.walk(tree) if isinstance(node, ast.ClassDef) and (node.bases or node.keywords)] == []


@GROUP
def test_without_a_compiler_the_wheel_is_the_one_that_runs_everywhere(python_wheel: Path):
    names = zipfile.ZipFile(python_wheel).namelist()

    assert python_wheel.name.endswith("-py3-none-any.whl")
    assert not [name for name in names if name.endswith((".so", ".pyd", ".c"))]


@GROUP
@pytest.mark.slow
def test_a_compiled_wheel_is_for_one_python_and_system_and_has_the_same_source(compiled_wheel: Path, python_wheel: Path):
    names = set(zipfile.ZipFile(compiled_wheel).namelist())
    added = names - set(zipfile.ZipFile(python_wheel).namelist())

    version = f"cp{sys.version_info.major}{sys.version_info.minor}"
    assert f"-{version}-{version}" in compiled_wheel.name
    assert {name.partition(".")[0] for name in added} == {f"{LIBRARY}__mypyc", *(path.removesuffix(".py") for path in MODULES)}
    assert set(MODULES) < names


@GROUP
@pytest.mark.slow
def test_building_a_compiled_wheel_leaves_the_working_tree_as_it_was(compiled_wheel: Path):
    assert not [*ROOT.glob("*.so"), *(ROOT / "codecompass").rglob("*.so"), *(ROOT / "codecompass").rglob("*.c")]


@GROUP
@pytest.mark.slow
def test_the_tests_of_what_is_compiled_pass_with_the_compiled_modules(compiled_wheel: Path, tmp_path: Path):
    package = unpacked(compiled_wheel, tmp_path / "package")
    tests = [str(ROOT / "tests" / name) for name in TESTS]

    done = subprocess.run(
        [sys.executable, "-c", RUN, str(package), " ".join(MODULES), "-n0", "-m", "not slow", "-p", "no:cacheprovider", *tests],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(package)},
        capture_output=True,
        text=True,
        timeout=BUILD_SECONDS,
        check=False,
    )

    assert done.returncode == 0, done.stdout[-5_000:] + done.stderr[-5_000:]


@GROUP
@pytest.mark.slow
def test_a_compiled_program_writes_the_same_index_and_gives_the_same_answers(
    compiled_wheel: Path, python_wheel: Path, tmp_path: Path
):
    project = tmp_path / "project"
    shutil.copytree(ROOT / "tests" / "testdata" / "languages", project)
    shutil.copytree(
        ROOT / "codecompass" / "query", project / "codecompass" / "query", ignore=shutil.ignore_patterns("__pycache__")
    )
    (source, indexed), (compiled, indexed_compiled) = (
        _used(unpacked(wheel, tmp_path / wheel.stem), project, tmp_path / f"home of {wheel.stem}")
        for wheel in (python_wheel, compiled_wheel)
    )

    assert compiled == source
    assert indexed_compiled == indexed


def _used(package: Path, project: Path, home: Path) -> tuple[list[str], dict[str, list]]:
    """Indexes a project with the program in `package`. Returns what it answers, and the content of its index."""
    program = [sys.executable, "-P", "-m", "codecompass"]
    variables = os.environ | {"PYTHONPATH": str(package), "CODECOMPASS_HOME": str(home)}
    told = []
    for arguments in (("index",), *ASKED):
        done = subprocess.run([*program, *arguments], cwd=project, env=variables, capture_output=True, text=True, check=False)
        assert done.returncode == 0, (arguments, done.stdout, done.stderr)
        told.append(done.stdout)
    root = canonical_root(project)
    return told[1:], dump(WorkspaceIndex(HomeLayout(home).project(project_id(root)), project_id(root)))
