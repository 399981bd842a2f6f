"""The user's editor, and how it is told the line to open at."""

import os
import shlex
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from codecompass.errors import InvalidInput

VARIABLES: Final = ("VISUAL", "EDITOR")
"""Variables in which users name their editor; the first is for terminals with a full screen, as ours is."""

FALLBACKS: Final = ("sensible-editor", "editor", "vi", "nano")
"""Tried in this order if no variable names an editor."""

_NAMES: Final[Mapping[tuple[str, ...], str]] = {
    (
        "+{line}",
        "{path}",
    ): "vi vim nvim view ex elvis gvim mvim nvim-qt vim.basic vim.tiny vim.nox vim.gtk3 vis kak nano rnano pico "
    "emacs emacsclient emacs-nox emacs-gtk mg zile joe jmacs ne micro mcedit dte gedit pluma xed bbedit sensible-editor editor",
    ("{path}:{line}",): "hx helix subl sublime_text zed zeditor zedit",
    ("--goto", "{path}:{line}"): "code code-insiders code-oss codium vscodium cursor windsurf",
    ("--line", "{line}", "{path}"): "idea pycharm webstorm phpstorm goland clion rubymine rider rustrover datagrip studio",
    ("-l", "{line}", "{path}"): "kate kwrite mate",
}
"""Arguments that open a file at a line, and the editors that take them."""

_ARGUMENTS: Final = {name: form for form, names in _NAMES.items() for name in names.split()}

_ENDINGS: Final = (".sh", ".exe", "64")
"""Endings of the same programs' names on other platforms: `idea.sh`, `idea64`."""


def editor_command(environment: Mapping[str, str], path: Path, line: int) -> list[str]:
    """Returns the command that opens a file at a line, from 1, in the editor of $VISUAL or $EDITOR, else one that is installed.

    An unknown editor is given the file alone: it might take the line for another file.

    Raises InvalidInput if no editor is named and none is found, or the variable cannot be split into words.
    """
    words = _editor(environment)
    return [*words, *_place(words[0], str(path), line)]


def _editor(environment: Mapping[str, str]) -> list[str]:
    for variable in VARIABLES:
        value = environment.get(variable, "").strip()
        if not value:
            continue
        try:
            return shlex.split(value)
        except ValueError as error:
            raise InvalidInput(f"${variable} cannot be read ({error}). Set it to a command, as: export {variable}=vim") from error
    for name in FALLBACKS:
        if shutil.which(name, path=environment.get("PATH")):
            return [name]
    raise InvalidInput("no editor is named. Set one, as: export EDITOR=vim")


def _place(program: str, path: str, line: int) -> list[str]:
    # An unknown name may be a link to an editor, as Debian's `editor` is.
    for known in (program, os.path.realpath(shutil.which(program) or program)):
        name = os.path.basename(known).lower()
        for ending in _ENDINGS:
            name = name.removesuffix(ending)
        if name in _ARGUMENTS:
            return [part.format(line=line, path=path) for part in _ARGUMENTS[name]]
    return [path]
