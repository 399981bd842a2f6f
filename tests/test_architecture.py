"""`docs/architecture.md` matches the code: tests that guard invariants, files and decisions exist."""

import re
from pathlib import Path

ROOT = Path(__file__).parent.parent
DOCUMENT = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
TESTS = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("test_*.py"))

NAMED_TEST = re.compile(r"`(test_\w+)`")
NAMED_FILE = re.compile(
    r"`((?:codecompass|tests|bench|docs|actors|cli|languages|projects|protocol|query|scan|store|transport|worker)/[\w/]+\.py)`"
)
LINK = re.compile(r"\]\(([^)#:]+)(?:#[^)]*)?\)")


def test_every_invariant_is_guarded_by_a_test_that_exists():
    named = NAMED_TEST.findall(DOCUMENT)

    assert len(named) > 30
    assert [name for name in named if f"def {name}(" not in TESTS] == []


def test_every_invariant_names_what_guards_it():
    rows = DOCUMENT.split("| invariant | guarded by |\n|---|---|\n")[1].split("\n\n")[0].splitlines()

    assert [row for row in rows if not re.search(r"`test_\w+`|`tests/[\w/.]+`|the same test", row)] == []


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
