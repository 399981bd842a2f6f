"""The notes of a release are its section of the changelog."""

from pathlib import Path

import pytest

import codecompass
from release.notes import release_notes
from release.source import ReleaseError

ROOT = Path(__file__).parents[2]

CHANGELOG = """# Changelog

## Unreleased (0.3.0)

### Finding code

- New.

## [0.2.0] - 2026-02-01

- Old.

## 0.1.0

"""


def test_the_notes_are_the_section_of_the_version_with_its_headings_one_level_up():
    assert release_notes(CHANGELOG, "0.3.0") == "## Finding code\n\n- New.\n"
    assert release_notes(CHANGELOG, "0.2.0") == "- Old.\n"


@pytest.mark.parametrize(("version", "said"), [("0.1.0", "says nothing about 0.1.0"), ("0.2", "no section about 0.2")])
def test_a_version_without_notes_is_not_released(version: str, said: str):
    with pytest.raises(ReleaseError, match=said):
        release_notes(CHANGELOG, version)


def test_the_changelog_has_notes_of_the_version_of_the_program():
    assert release_notes((ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), codecompass.__version__).startswith(
        "The first release"
    )
