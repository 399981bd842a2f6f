"""The program knows the commands, options and variables in `deploy/` and docs/organisation.md."""

import re
import shlex

import asyncclick
import pytest
import trio

from codecompass.cli.main import build_app
from codecompass.settings_sources import Sources, load_settings
from tests.deploy.deployment import OURS, ROOT, Container, containers

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


def _check(line: str) -> None:
    trio.run(_require_known, line)


async def _require_known(line: str) -> None:
    """Parses a command line as the program does, without running it. Raises UsageError."""
    _, *arguments = shlex.split(line)
    command: asyncclick.Command = build_app()
    context = await command.make_context(OURS, arguments)
    while isinstance(command, asyncclick.Group):
        name, command, left = await command.resolve_command(context, [*context._protected_args, *context.args])
        assert command is not None, line
        context = await command.make_context(name, list(left), parent=context)


@pytest.mark.parametrize("line", _deployed())
def test_a_container_starts_what_there_is(line: str):
    _check(line)


@pytest.mark.parametrize("line", _documented())
def test_the_document_names_what_there_is(line: str):
    _check(line)


def test_a_command_that_does_not_exist_is_noticed():
    with pytest.raises(asyncclick.UsageError, match="no command 'frobnicate'"):
        _check("codecompass frobnicate")
    with pytest.raises(asyncclick.UsageError, match="--frobnicate"):
        _check("codecompass serve-mcp --frobnicate")
    with pytest.raises(asyncclick.UsageError, match="smoke"):
        _check("codecompass serve-mcp --transport smoke")


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
