"""The lines in a project's instructions for agents that say when to use which tool, between two markers.

Agents with a shell use grep by habit; they follow instructions of the project more than descriptions of a server.
"""

import re
from pathlib import Path
from typing import Final

from codecompass.cli.hosts.reversible_edit import EditResult

BEGIN: Final = "<!-- codecompass: begin -->"
END: Final = "<!-- codecompass: end -->"

RULES: Final = (
    "- To find code, use the codecompass tools before grep: `search_code` for where something happens or how it works, "
    "`locate_symbol` to go to the definition of a name.",
    "- Before you read a long file, call `get_file_outline`; for all the code about one question, call `get_code_context`.",
    "- Use grep for what is not in the index: files that git ignores, build output, logs.",
)
"""What an agent should do, the most important first."""

_BLOCK: Final = re.compile(rf"(?:^|(?<=[\n\ufeff])){re.escape(BEGIN)}.*?{re.escape(END)}", re.DOTALL)
_NAMES: Final = ("AGENTS.md", "CLAUDE.md")


def rules_path(root: Path) -> Path:
    """Returns the file of a project that its agents read: AGENTS.md, or CLAUDE.md if only that exists."""
    return next((root / name for name in _NAMES if (root / name).exists()), root / _NAMES[0])


class RulesEdit:
    """The `Edit` that puts our lines into a project's instructions."""

    kind = "rules"
    is_whole = True

    def apply(self, text: str, base: str) -> EditResult:
        """Replaces whatever is between our markers."""
        del base
        found = _BLOCK.search(text)
        newline = _newline(text if found is None else found[0])
        block = rendered(newline)
        if found is not None:
            return EditResult(text=text[: found.start()] + block + text[found.end() :])
        if not text.removeprefix("\ufeff"):
            return EditResult(text=text + block + newline)
        # A text that does not end in a newline gets none, so that an undo can restore it.
        is_ended = text.endswith("\n")
        return EditResult(text=text + newline * (1 if is_ended else 2) + block + (newline if is_ended else ""))

    def state(self, text: str) -> object:
        found = _BLOCK.search(text)
        return None if found is None else found[0].replace("\r\n", "\n")

    def rest(self, text: str) -> object:
        return _BLOCK.sub("", text).split()

    def n_sections(self, text: str) -> int:
        del text
        return 0

    def without(self, text: str, state: object, before: object, n_sections: int) -> str:
        del state, before, n_sections
        found = _BLOCK.search(text)
        if found is None:
            return text
        newline = _newline(found[0])
        front, behind = text[: found.start()].removesuffix(newline), text[found.end() :]
        if not behind:
            return front.removesuffix(newline)
        return front + behind.removeprefix(newline)


def _newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def rendered(newline: str = "\n") -> str:
    """Returns the lines with their markers, without a newline at the end."""
    return newline.join((BEGIN, *RULES, END))
