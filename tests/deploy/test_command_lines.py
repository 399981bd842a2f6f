"""The program knows the commands, options and variables in `deploy/` and docs/organisation.md."""

import re
import shlex

import asyncclick
import pytest

from codecompass.settings_sources import Sources, load_settings
from tests.deploy.deployment import OURS, ROOT, Container, containers
from tests.support.command_lines import require_known

DOCUMENT = ROOT / "docs" / "organisation.md"
OWN = [each for each in containers() if each.is_ours]

_CONSOLE = re.compile(r"^```console\n(.*?)^```", re.MULTILINE | re.DOTALL)
_COMMAND = re.compile(rf"^\$ ({OURS} .*?)(?:\s+#.*)?$", re.MULTILINE)


def _documented() -> list[str]:
    """Returns the commands in the document."""
    blocks = _CONSOLE.findall(DOCUMENT.read_text(encoding="utf-8"))
    return sorted({line for block in blocks for line in _COMMAND.findall(block)})


def _deployed() -> list[str]:
    own = [shlex.join((OURS, *each.arguments)) for each in OWN]
    checks = [shlex.join(check) for each in OWN for check in each.checks.values() if check and check[0] == OURS]
    return sorted({*own, *checks})


@pytest.mark.parametrize("line", _deployed())
def test_a_container_starts_what_there_is(line: str):
    require_known(line)


@pytest.mark.parametrize("line", _documented())
def test_the_document_names_what_there_is(line: str):
    require_known(line)


def test_a_command_that_does_not_exist_is_noticed():
    with pytest.raises(asyncclick.UsageError, match="no command 'frobnicate'"):
        require_known("codecompass frobnicate")
    with pytest.raises(asyncclick.UsageError, match="--frobnicate"):
        require_known("codecompass serve-mcp --frobnicate")
    with pytest.raises(asyncclick.UsageError, match="smoke"):
        require_known("codecompass serve-mcp --transport smoke")


def test_the_document_shows_every_first_step():
    commands = " ".join(_documented())

    for step in ("cluster add", "cluster worker", "cluster token add", "serve-mcp", "cluster status", "cluster remove"):
        assert f"codecompass {step}" in commands


@pytest.mark.parametrize("container", OWN, ids=lambda each: each.name)
def test_variables_set_what_there_is(container: Container):
    variables = {name: value for name, value in container.variables.items() if name.startswith("CODECOMPASS_")}

    assert {"CODECOMPASS_CLUSTER_URL", "CODECOMPASS_CLUSTER_PREFIX"} <= set(variables)
    loaded = load_settings(Sources(environment=variables))
    assert [warning for warning in loaded.warnings if "is not known to this program" in warning] == []
