"""What a message tells its reader to do, in the two forms that there are: agents have tools, people have commands.

A message carries both, `index_repo with force: true (on the command line: codecompass index --force)`, and is told in one of
them. Where it names only a tool, or an argument of one, people are told the command or option for it.
"""

import re
from typing import Final

from msgspec import Struct

from codecompass import lazy


class Hint(Struct, frozen=True):
    """What to do, for an agent and for a person. As a text it has both forms."""

    call: str
    command: str

    def __str__(self) -> str:
        return f"{self.call} (on the command line: {self.command})"


REBUILD: Final = Hint("index_repo with force: true", "codecompass index --force")
INDEX: Final = Hint("index_repo", "codecompass index")
CHECK: Final = Hint("health_check", "codecompass doctor")
PROJECTS: Final = Hint("health_check", "codecompass projects list")
REFS: Final = Hint("list_refs", "codecompass branches")

ASK: Final = "Ask the user to "
"""Before what only the user of a machine can do. Agents pass it on; people are told to do it."""

COMMANDS: Final = {
    "search_code": "search",
    "locate_symbol": "locate",
    "get_file_outline": "outline",
    "find_references": "refs",
    "index_repo": "index",
    "sync_repo": "sync",
    "index_status": "status",
    "health_check": "doctor",
    "diff_context": "diff",
    "list_refs": "branches",
}
"""The command for each tool that has one."""

_TOOL: Final = lazy.pattern(rf"\b(?:{'|'.join(COMMANDS)})\b")
_BOTH: Final = lazy.pattern(
    rf"(?:call |run )?\b(?:{'|'.join(COMMANDS)})\b(?:(?!\. )[^()])*? \(on the command line: (?P<command>[^()]*)\)",
    re.IGNORECASE,
)
_FOR_COMMANDS: Final = lazy.pattern(r" \(on the command line: ([^()]*)\)")
_FOR_PEOPLE: Final = {
    "call again": "try again",
    "leave ref out": "leave --ref out",
    "questions with ref are": "questions with --ref are",
    "pass another workspace": "name another with --workspace",
    "elsewhere: pass * as workspace": "elsewhere with --all",
    "pass workspace": "name one with --workspace",
    "pass a workspace that": "name a project that",
    "leave project_id out": "leave --project-id out",
    "the path as workspace": "--workspace PATH",
    "or a project_id that": "or a name that",
    "raise limit": "raise -n",
    "more: offset": "more: --offset",
    "raise timeout_ms": "raise --timeout-ms",
    "pass path": "pass --path",
}
"""What messages say of calls and arguments, with what people are told."""

_ASKED: Final = lazy.pattern(r"\b(?P<ask>[Aa])sk the user to (?P<verb>\w)")

_PHRASE: Final = lazy.pattern(rf"\b(?P<phrase>{'|'.join(map(re.escape, _FOR_PEOPLE))})\b(?P<wait> in \d+ ms)?", re.IGNORECASE)


def for_agents(text: str) -> str:
    """Returns a message without commands where it names a tool as well."""
    return _FOR_COMMANDS.sub("", text)


def for_people(text: str) -> str:
    """Returns a message with commands and options in place of tools and their arguments."""
    text = _FOR_COMMANDS.sub(r" (\1)", _BOTH.sub(lambda found: found["command"], text))
    text = _ASKED.sub(lambda found: found["verb"].upper() if found["ask"] == "A" else found["verb"], text)
    text = _PHRASE.sub(_told, text)
    return _TOOL.sub(lambda found: f"codecompass {COMMANDS[found[0]]}", text)


def _told(found: re.Match[str]) -> str:
    phrase = found["phrase"]
    told = _FOR_PEOPLE[phrase.lower()] + (" in a moment" if found["wait"] else "")
    return told[0].upper() + told[1:] if phrase[0].isupper() else told
