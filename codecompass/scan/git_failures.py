"""Why git cannot answer about a repository at all, for people and agents: it cannot be run, or refuses the repository. What git
says of a single name that it does not know is no matter of this module.
"""

import errno
import re
from typing import Final

from codecompass import hints, lazy
from codecompass.scan.git_process import GitError, GitFailed, GitNotStarted, GitTimedOut

GIT_MISSING: Final = "git cannot be run: it is not installed, or not on the PATH of this program"
INSTALL_GIT: Final = "install git, or to start this program with a PATH that has it"

_REMEDIES: Final = (
    (
        lazy.pattern(r"dubious ownership|safe\.directory|another user", re.IGNORECASE),
        "trust the repository (git config --global --add safe.directory PATH)",
    ),
    (
        lazy.pattern(r"permission denied|unable to access|could not read", re.IGNORECASE),
        "make the repository readable for the user that runs this program",
    ),
    (lazy.pattern(r"config|invalid value|bad numeric|bad boolean", re.IGNORECASE), "correct that setting"),
    (
        lazy.pattern(r"not a git repository", re.IGNORECASE),
        "look at its .git, of which parts are damaged, missing or not readable (git status and git fsck say more)",
    ),
    (lazy.pattern(r"repository extension|repo version|repository format", re.IGNORECASE), "upgrade git"),
)
"""What helps, by what git printed; the first that matches counts."""


def explained(error: GitError) -> str:
    """Returns sentences that say why git failed, with what it printed, and what helps."""
    if isinstance(error, GitNotStarted):
        if error.number == errno.ENOENT:
            return f"{GIT_MISSING}. {hints.ASK}{INSTALL_GIT}."
        return f"git cannot be run: {str(error).rpartition(': ')[2]}. {hints.CHECK} says whether it works by now."
    if isinstance(error, GitTimedOut):
        return f"{error}. Call again; git is as slow as the disk and the machine allow."
    if isinstance(error, GitFailed):
        remedy = next((remedy for said, remedy in _REMEDIES if said.search(error.message)), "")
        helps = f"{hints.ASK}{remedy}." if remedy else "git fsck shows what is wrong."
        return f"git refuses: {error.message} (git {error.command}, status {error.status}). {helps}"
    return f"{error}."
