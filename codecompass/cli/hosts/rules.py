"""The lines between two markers in a project's instructions for agents, which say when to use which tool.

Agents with a shell use grep by habit; they follow instructions of the project more than descriptions of a server. The functions
that edit Markdown know one place in it: the lines with their markers.
"""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from codecompass.cli.hosts.places import BOM, newline_of

RULES: Final = (
    "- To find code, use the codecompass tools before grep: `search_code` for where something happens or how it works, "
    "`locate_symbol` to go to the definition of a name.",
    "- Before you read a long file, call `get_file_outline`; for all the code about one question, call `get_code_context`.",
    "- Use grep for what is not in the index: files that git ignores, build output, logs.",
)
"""What an agent should do, the most important first."""

PLACE: Final = ("codecompass",)

FILES: Final = ("AGENTS.md", "CLAUDE.md")

_BEGIN: Final = "<!-- codecompass: begin -->"
_END: Final = "<!-- codecompass: end -->"
_BLOCK: Final = re.compile(rf"(?:^|(?<=[\n\ufeff])){re.escape(_BEGIN)}.*?{re.escape(_END)}", re.DOTALL)


def rules_path(root: Path) -> Path:
    """Returns the file of a project that its agents read: AGENTS.md, or CLAUDE.md if only that exists."""
    return next((root / name for name in FILES if (root / name).exists()), root / FILES[0])


def rendered_rules() -> str:
    """Returns the lines with their markers, without a newline at the end."""
    return "\n".join((_BEGIN, *RULES, _END))


def parse(text: str) -> object:
    """Returns the lines with their markers as the value at `PLACE`, and the words of the rest."""
    found = _BLOCK.search(text)
    rest: dict[str, object] = {"": _BLOCK.sub("", text).split()}
    return rest if found is None else {**rest, PLACE[0]: found[0].replace("\r\n", "\n")}


def assign(text: str, path: Sequence[str], value: object) -> str:
    """Returns the text with these lines in place of whatever is between our markers, or behind the rest."""
    del path
    found = _BLOCK.search(text)
    newline = newline_of(text if found is None else found[0])
    block = str(value).replace("\n", newline)
    if found is not None:
        return text[: found.start()] + block + text[found.end() :]
    if not text.removeprefix(BOM):
        return text + block + newline
    # A text that does not end in a newline gets none, so that an undo can restore it.
    is_ended = text.endswith("\n")
    return text + newline * (1 if is_ended else 2) + block + (newline if is_ended else "")


def remove_member(text: str, path: Sequence[str]) -> str:
    """Returns the text without the lines, and without the blank line before them."""
    del path
    found = _BLOCK.search(text)
    if found is None:
        return text
    newline = newline_of(found[0])
    front, behind = text[: found.start()].removesuffix(newline), text[found.end() :]
    return front + behind.removeprefix(newline) if behind else front.removesuffix(newline)
