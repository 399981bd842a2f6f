"""The bill of materials says what is installed, and the release refuses one that does not."""

import json
import zipfile
from pathlib import Path

import pytest

from release.bill import direct_dependencies, require_complete
from release.source import ReleaseError

METADATA = """Metadata-Version: 2.4
Name: codecompass
Version: 0.1.0
Requires-Dist: Prompt_Toolkit<4,>=3
Requires-Dist: trio>=0.31
Requires-Dist: watchfiles>=1; sys_platform == 'darwin'
Requires-Dist: apsw>=3.50; extra == 'semantic'
"""


@pytest.fixture
def wheel(tmp_path: Path) -> Path:
    file = tmp_path / "codecompass-0.1.0-py3-none-any.whl"
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("codecompass-0.1.0.dist-info/METADATA", METADATA)
    return file


def _bill(directory: Path, *names: str, version: str = "0.1.0", url: str = "https://example.org/") -> Path:
    file = directory / "bill.json"
    components = [{"name": name, "externalReferences": [{"url": url}]} for name in names]
    product = {"name": "codecompass", "version": version}
    file.write_text(json.dumps({"metadata": {"component": product}, "components": components}))
    return file


def test_dependencies_of_every_system_are_direct_ones_and_those_of_extras_are_not(wheel: Path):
    assert direct_dependencies(wheel) == {"prompt-toolkit", "trio"}


def test_a_complete_bill_is_accepted(wheel: Path, tmp_path: Path):
    require_complete(_bill(tmp_path, "prompt_toolkit", "trio", "attrs"), wheel, "0.1.0")


def test_a_bill_without_a_dependency_of_another_version_or_with_a_path_is_refused(wheel: Path, tmp_path: Path):
    with pytest.raises(ReleaseError, match="misses trio"):
        require_complete(_bill(tmp_path, "prompt_toolkit"), wheel, "0.1.0")
    with pytest.raises(ReleaseError, match=r"is of codecompass 0\.2\.0"):
        require_complete(_bill(tmp_path, "prompt_toolkit", "trio", version="0.2.0"), wheel, "0.1.0")
    with pytest.raises(ReleaseError, match="names a directory"):
        require_complete(_bill(tmp_path, "prompt_toolkit", "trio", url="file:///tmp/x"), wheel, "0.1.0")
