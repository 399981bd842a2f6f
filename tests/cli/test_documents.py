"""The commands and options that the documents mention exist."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import asyncclick
import pytest

from codecompass.cli.help import LazyGroup
from codecompass.cli.main import build_app

ROOT = Path(__file__).parents[2]
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]

CALL = re.compile(r"(?:^\$ |`|; |&& |\$\()(codecompass [^`\n#|;&)]*)", re.MULTILINE)

PLACEHOLDERS = frozenset({"HOST", "COMMAND"})
"""Words that stand for a command or its argument."""


def calls(path: Path) -> list[str]:
    """Returns the `codecompass` command lines of a document, from fenced blocks and running text."""
    return [found[1].strip() for found in CALL.finditer(path.read_text())]


def parsed(line: str) -> Iterator[tuple[LazyGroup | asyncclick.Command, str]]:
    """Yields each option of a command line with its command. Fails if the command does not exist."""
    context = asyncclick.Context(build_app())
    command: LazyGroup | asyncclick.Command = context.command
    for word in shlex.split(line.replace("…", ""))[1:]:
        if word.startswith("-") and word.strip("-"):
            yield command, word.partition("=")[0]
        elif isinstance(command, LazyGroup) and word not in PLACEHOLDERS:
            inner = [command.get_command(context, each) for each in re.split(r"\|", word)]
            assert all(inner), f"there is no command {word!r}"
            assert inner[0] is not None
            command = inner[0]


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_every_command_and_option_in_a_document_exists(document):
    everywhere = {option for parameter in build_app().params for option in parameter.opts}
    everywhere |= {"--help", "-h"}

    for line in calls(document):
        for command, option in parsed(line):
            known = {name for parameter in command.params for name in (*parameter.opts, *parameter.secondary_opts)}
            is_short_group = re.fullmatch(r"-[a-z]+", option) and {f"-{letter}" for letter in option[1:]} <= known | everywhere
            assert option in known | everywhere or is_short_group, f"{document.name}: {line}"


def test_commands_are_found_in_the_documents():
    """With a pattern that matches nothing, the other tests would prove nothing."""
    lines = calls(ROOT / "README.md")

    assert "codecompass search how are url rules matched to view functions -n 2" in lines
    assert len(lines) > 20
    assert "codecompass status --path FILE" in calls(ROOT / "docs" / "troubleshooting.md")
    assert len(calls(ROOT / "docs" / "command-line.md")) > 30


LINK = re.compile(r"(?<!!)\[[^\]]+\]\(([^)\s]+)\)")
LINKING = [*DOCUMENTS, ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs/adr").glob("*.md"))]


def anchors(path: Path) -> set[str]:
    """Returns the anchors of a document's headings."""
    headings = re.findall(r"^#+ (.*)$", path.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("document", LINKING, ids=lambda path: path.name)
def test_links_lead_somewhere(document):
    for link in LINK.findall(document.read_text()):
        if re.match(r"[a-z]+:", link):
            continue
        path, _, anchor = link.partition("#")
        target = (document.parent / path).resolve() if path else document
        assert target.exists(), f"{document.name}: {link}"
        assert not anchor or anchor in anchors(target), f"{document.name}: {link}"
