"""Sourced files, including paths with directories known only at run time."""

import pytest

from tests.support.imports import repository, target

SCRIPTS = repository("bin/run.sh bin/common.sh lib/shop/log.bash lib/shop/env test/helper.bash test/unit/a.bats")


@pytest.mark.parametrize(
    ("from_path", "spec", "expected"),
    [
        ("bin/run.sh", "common.sh", "bin/common.sh"),
        ("bin/run.sh", "./common.sh", "bin/common.sh"),
        ("bin/run.sh", "../lib/shop/log.bash", "lib/shop/log.bash"),
        ("bin/run.sh", "lib/shop/env", "lib/shop/env"),
        ("bin/run.sh", '$(dirname "$0")/common.sh', "bin/common.sh"),
        ("bin/run.sh", "${BASH_SOURCE%/*}/../lib/shop/log.bash", "lib/shop/log.bash"),
        ("bin/run.sh", "$ROOT/$LIB/shop/log.bash", "lib/shop/log.bash"),
        ("test/unit/a.bats", "helper", "test/helper.bash"),
        ("test/unit/a.bats", "common", ""),
        ("bin/run.sh", "$1", ""),
        ("bin/run.sh", "/etc/profile", ""),
        ("bin/run.sh", "~/.profile", ""),
        ("bin/run.sh", "../../../common.sh", ""),
    ],
)
def test_a_sourced_file_is_found_beside_or_below_the_variable_directory(from_path, spec, expected):
    assert target(SCRIPTS, from_path, spec, kind="relative") == expected
