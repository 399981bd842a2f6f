"""`docs/architecture.md` and `docs/invariants.md` match the code: what they name exists, and every invariant is listed."""

import re
from pathlib import Path

import pytest

from tests.support import invariants

ROOT = Path(__file__).parent.parent
DOCUMENT = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")

NAMED_FILE = re.compile(
    r"`((?:codecompass|tests|bench|docs|actors|cli|cluster|languages|projects|protocol|query|scan|store|transport|worker)/[\w/]+\.py)`"
)
LINK = re.compile(r"\]\(([^)#:]+)(?:#[^)]*)?\)")


def test_the_page_of_invariants_is_what_the_tests_declare():
    written = (ROOT / invariants.PAGE).read_text(encoding="utf-8")

    assert written == invariants.page(ROOT), f"run {invariants.COMMAND} and commit {invariants.PAGE}"


def test_every_invariant_is_a_short_sentence():
    sentences = [each.sentence for each in invariants.invariants(ROOT)]

    assert len(sentences) > 140
    assert [each for each in sentences if len(each) > invariants.MAX_LENGTH or each.endswith(".") or "|" in each] == []


@pytest.mark.parametrize(
    ("modules", "fault"),
    [
        ({"test_a.py": 'pytestmark = pytest.mark.invariant(of="test_gone")\n'}, "which declares nothing"),
        ({f"test_{name}.py": 'pytestmark = pytest.mark.invariant("It holds")\n' for name in "ab"}, "is there twice"),
    ],
)
def test_what_is_declared_twice_or_nowhere_is_refused(tmp_path, modules, fault):
    (tmp_path / "tests").mkdir()
    for name, source in modules.items():
        (tmp_path / "tests" / name).write_text(source)

    with pytest.raises(ValueError, match=fault):
        invariants.invariants(tmp_path)


def test_an_invariant_is_listed_with_all_tests_that_guard_it(tmp_path):
    (tmp_path / "tests" / "deep").mkdir(parents=True)
    (tmp_path / "tests" / "deep" / "test_a.py").write_text(
        '@pytest.mark.invariant("It " "holds")\n@pytest.mark.slow\nasync def test_it():\n    pass\n'
    )
    (tmp_path / "tests" / "test_b.py").write_text('pytestmark = [pytest.mark.slow, pytest.mark.invariant(of="test_it")]\n')

    page = invariants.page(tmp_path)

    assert "## tests/deep\n" in page
    assert "| It holds | [`test_it`](../tests/deep/test_a.py), [`test_b.py`](../tests/test_b.py) |\n" in page


def test_links_between_documents_lead_somewhere():
    broken = [
        f"{document.relative_to(ROOT)}: {target}"
        for document in [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "bench").glob("*.md")]
        for target in LINK.findall(document.read_text(encoding="utf-8"))
        if not (document.parent / target).exists()
    ]

    assert broken == []


def test_every_module_that_is_named_exists():
    named = NAMED_FILE.findall(DOCUMENT)

    assert len(named) > 10
    assert [name for name in named if not (ROOT / name).is_file() and not (ROOT / "codecompass" / name).is_file()] == []


def test_every_module_says_in_its_first_line_what_it_holds():
    modules = [path for path in (ROOT / "codecompass").rglob("*.py") if path.read_text(encoding="utf-8").strip()]

    assert [str(path) for path in modules if not path.read_text(encoding="utf-8").lstrip("r").startswith('"""')] == []
