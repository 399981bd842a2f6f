"""Messages on a machine without Java or OpenSearch."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cluster import distribution
from tests.cluster.distribution import HOME_VARIABLE, Missing

ROOT = Path(__file__).parents[2]


def test_without_java_the_tests_are_skipped_with_the_reason_even_where_tools_are_required(tmp_path: Path) -> None:
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "JAVA_"))}
    environment |= {"PATH": str(tmp_path), "CODECOMPASS_REQUIRE_TOOLS": "1"}
    options = ["-m", "cluster", "-rs", "-p", "no:cacheprovider", "--basetemp", str(tmp_path / "base")]

    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options, "tests/cluster/test_nodes.py"],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )

    assert done.returncode == 0, done.stdout
    assert "passed" not in done.stdout
    assert "Java 17 to 21 is not there, by JAVA_HOME or on the PATH" in done.stdout


def test_without_maven_the_other_way_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(HOME_VARIABLE, raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(distribution, "CACHE", tmp_path / "cache")

    with pytest.raises(Missing, match=f"install mvn, which fetches it, or name an unpacked one with {HOME_VARIABLE}"):
        distribution.distribution()


def test_a_named_directory_must_be_a_distribution(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(HOME_VARIABLE, str(tmp_path))

    with pytest.raises(Missing, match="has no bin/opensearch"):
        distribution.distribution()
