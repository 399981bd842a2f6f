"""How a file differs from the blob that git stores for it: file modes, line endings, filters.

Runs no filter program: files with a filter are only recognized.
"""

import os
from collections.abc import Iterable, Mapping, Sequence
from stat import S_ISREG
from typing import Final

from codecompass.scan.files import printable
from codecompass.scan.git_repository import GitError, GitRepository, run_git
from codecompass.units import MIB

MAX_ATTRIBUTES_BYTES: Final = 1 * MIB
"""Size limit of one attributes file."""

_ATTRIBUTES: Final = ("text", "crlf", "filter", "ident", "working-tree-encoding")


class Conversions:
    """The conversions of one repository, by its configuration and attributes."""

    def __init__(self, repository: GitRepository) -> None:
        """Reads the configuration; if that fails, git's defaults apply."""
        self._repository = repository
        self._settings = self._read_settings()

    @property
    def has_modes(self) -> bool:
        """Whether the file's mode says that it is executable (`core.fileMode`); otherwise the index does."""
        return self._settings.get("core.filemode") != "false"

    def attributes(self, paths: Sequence[str]) -> dict[str, dict[str, str]]:
        """Returns the attributes that affect conversion, by path and name. Omits unspecified ones. Unset ones have an empty
        value, except `text` and `crlf`, which keep `unset`. Raises GitError.
        """
        if not paths:
            return {}
        require_plain_attributes(self._repository, paths)
        requested = b"".join(path.encode("utf-8", "surrogateescape") + b"\0" for path in paths)
        output = run_git(
            self._repository, self._repository.top, "check-attr", "-z", "--stdin", *_ATTRIBUTES, standard_input=requested
        )
        found: dict[str, dict[str, str]] = {}
        words = output.decode("utf-8", "surrogateescape").split("\0")
        for path, name, value in zip(words[::3], words[1::3], words[2::3], strict=False):
            if value != "unspecified":
                found.setdefault(path, {})[name] = "" if value == "unset" and name not in ("text", "crlf") else value
        return found

    def with_plain_line_ends(self, content: bytes, attributes: Mapping[str, str], indexed: str) -> bytes:
        """Returns the content with CRLF replaced by LF if git would store it so, otherwise the same object.

        `indexed` is the id of the file's blob in git's index, empty if there is none.
        """
        text = attributes.get("text") or attributes.get("crlf")
        is_automatic = text in ("auto", "input") or (not text and self._settings.get("core.autocrlf") in ("true", "input"))
        if b"\r\n" not in content or not (text == "set" or is_automatic):
            return content
        if is_automatic and text != "set" and (b"\0" in content or (indexed and self._has_carriage_returns(indexed))):
            return content
        return content.replace(b"\r\n", b"\n")

    def _has_carriage_returns(self, object_id: str) -> bool:
        try:
            return b"\r\n" in run_git(self._repository, self._repository.top, "cat-file", "blob", object_id)
        except GitError:
            return False

    def _read_settings(self) -> dict[str, str]:
        try:
            output = run_git(
                self._repository, self._repository.top, "config", "-z", "--get-regexp", r"^core\.(filemode|autocrlf)$"
            )
        except GitError:
            return {}
        lines = output.decode("utf-8", "replace").split("\0")
        return {key.lower(): value.lower() for key, _, value in (line.partition("\n") for line in lines) if key}


def is_filtered(attributes: Mapping[str, str]) -> bool:
    """Whether git stores another content than the file's, apart from line endings."""
    return bool(attributes.get("filter") or attributes.get("ident") or attributes.get("working-tree-encoding"))


def require_plain_attributes(repository: GitRepository, paths: Iterable[str]) -> None:
    """Raises GitError if git would open anything but regular files of at most MAX_ATTRIBUTES_BYTES to read the attributes of
    `paths`, which are relative to the top of the work tree."""
    names = [".gitmodules", *attribute_files(paths)]
    for name in names:
        try:
            status = os.stat(f"{repository.top}/{name}")
        except (OSError, ValueError):
            continue
        if not S_ISREG(status.st_mode) or status.st_size > MAX_ATTRIBUTES_BYTES:
            bound = MAX_ATTRIBUTES_BYTES // MIB
            raise GitError(f"git was not started: {printable(name)} is not a regular file, or is larger than {bound} MiB")


def attribute_files(paths: Iterable[str]) -> list[str]:
    """Returns the `.gitattributes` paths that apply to `paths`, relative to the top of the work tree; they need not exist."""
    directories = {""}
    for path in paths:
        above = path.rpartition("/")[0]
        while above and above not in directories:
            directories.add(above)
            above = above.rpartition("/")[0]
    return [f"{directory}/.gitattributes".lstrip("/") for directory in directories]
