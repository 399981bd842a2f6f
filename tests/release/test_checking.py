"""The installed program is used, and what is not right stops the release."""

import sys
from pathlib import Path

import pytest

import codecompass
from release.checking import check_environment, make_environment
from release.source import ReleaseError


def test_the_installed_program_of_these_tests_passes(tmp_path: Path):
    check_environment(Path(sys.prefix), codecompass.__version__, tmp_path)


def test_another_version_than_the_released_one_stops_the_release(tmp_path: Path):
    with pytest.raises(ReleaseError, match=r"expected 'codecompass 9\.9\.9' in 'codecompass"):
        check_environment(Path(sys.prefix), "9.9.9", tmp_path)


@pytest.mark.slow
def test_an_environment_without_the_program_stops_the_release(tmp_path: Path):
    environment = make_environment(sys.executable, tmp_path / "environment")

    with pytest.raises(FileNotFoundError):
        check_environment(environment, codecompass.__version__, tmp_path / "use")
