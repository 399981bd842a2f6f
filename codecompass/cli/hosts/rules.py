"""The lines in a project's own instructions for agents that say when to use which tool, between two markers.

Agents that have a shell grep by habit; what the project itself tells them weighs more than what a server does.
"""

import re
from pathlib import Path
from typing import Final

from codecompass.cli.hosts.changing import Done

BEGIN: Final = "<!-- codecompass: begin -->"
END: Final = "<!-- codecompass: end -->"

RULES: Final = (
    "- To find code, use the codecompass tools before grep: `search_code` for where something happens or how it works, "
    "`locate_symbol` to go to the definition of a name.",
    "- Before you read a long file, call `get_file_outline`; for all the code about one question, call `get_code_context`.",
    "- Use grep for what is not in the index: files that git ignores, build output, logs.",
)
"""One line each: what an agent should do, in the order in which it matters."""

_BLOCK: Final = re.compile(rf"(?:^|(?<=[\n\ufeff])){re.escape(BEGIN)}.*?{re.escape(END)}", re.DOTALL)
_NAMES: Final = ("AGENTS.md", "CLAUDE.md")


def rules_path(root: Path) -> Path:
    """Returns the file of a project that its agents read: AGENTS.md, or CLAUDE.md where only that is there."""
    return next((root / name for name in _NAMES if (root / name).exists()), root / _NAMES[0])


class RulesEdit:
    """Our lines in a project's instructions. See `changing.Edit`."""

    kind = "rules"
    is_whole = True

    def done(self, text: str, base: str) -> Done:
        """See `changing.Edit`. Lines between our markers that are others become ours."""
        del base
        found = _BLOCK.search(text)
        newline = _newline(text if found is None else found[0])
        block = rendered(newline)
        if found is not None:
            return Done(text=text[: found.start()] + block + text[found.end() :])
        if not text.removeprefix("\ufeff"):
            return Done(text=text + block + newline)
        # Without an end of its last line the text keeps none: so the text alone tells what was there.
        is_ended = text.endswith("\n")
        return Done(text=text + newline * (1 if is_ended else 2) + block + (newline if is_ended else ""))

    def state(self, text: str) -> object:
        """See `changing.Edit`."""
        found = _BLOCK.search(text)
        return None if found is None else found[0].replace("\r\n", "\n")

    def rest(self, text: str) -> object:
        """See `changing.Edit`."""
        return _BLOCK.sub("", text).split()

    def n_sections(self, text: str) -> int:
        """See `changing.Edit`."""
        del text
        return 0

    def without(self, text: str, state: object, before: object, n_sections: int) -> str:
        """See `changing.Edit`."""
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
    """Returns the lines with their markers, without an end of the last one."""
    return newline.join((BEGIN, *RULES, END))
