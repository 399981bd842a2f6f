"""Explains why one path is or is not in the index: the answer of `status --path FILE`.

Reaches the path through the same `DirectoryPolicy` objects as the walk and classifies the content as a worker does, so it agrees
with what `scan` lists; a test compares the two for every path of a tree.
"""

import os
from stat import S_ISDIR
from typing import Final, Literal

from msgspec import Struct

from codecompass.languages.records import SkipReason
from codecompass.scan import classify
from codecompass.scan.editorconfig import charset_of
from codecompass.scan.encodings import UTF8
from codecompass.scan.files import is_utf8, printable, read_regular_file
from codecompass.scan.ignore import Rule
from codecompass.scan.policy import DirectoryPolicy, root_policy
from codecompass.scan.rules import ScanContext, ScanRules
from codecompass.scan.walk import skip_reason, unreadable_reason

Verdict = Literal["indexed", "skipped", "ignored", "directory", "missing", "outside_root"]
"""`skipped` comes with a `skip_reason`, `ignored` with a `rule`; a `directory` is one that a scan enters."""


class Explanation(Struct, frozen=True, kw_only=True):
    """Why a path is indexed or not."""

    path: str
    """Relative to the root; as given if it lies outside."""
    verdict: Verdict
    skip_reason: SkipReason | None = None
    rule: Rule | None = None
    """The rule that excludes it, possibly by excluding a directory above."""
    is_tracked: bool = False
    """Whether git tracks the path itself."""
    sentence: str
    """The whole explanation, for people."""


SKIP_SENTENCES: Final[dict[SkipReason, str]] = {
    "binary": "it is binary: there is a NUL byte near its beginning",
    "minified": "it looks generated: its lines are too long",
    "not_utf8": "it is not UTF-8, and its encoding is neither declared nor evident from its bytes",
    "path_not_utf8": "its name is not valid UTF-8",
    "path_too_long": "its path is longer than the system can open",
    "secret": "its name says that it holds a secret; a ! line in .codecompassignore includes it",
    "special_file": "it is not a regular file",
    "submodule": "it is a submodule, whose content is in a repository of its own",
    "symlink": "it is a symbolic link, and what it points to is indexed where it is",
    "symlink_outside_root": "it is a symbolic link that leads out of the workspace",
    "too_large": "it is larger than index.max_file_size",
    "unreadable": "it cannot be read",
}


def how_indexed(text: classify.Text) -> str:
    """Returns the sentence for a file that is indexed: it names an encoding other than UTF-8, and says what is left out."""
    encoding = "" if text.encoding == UTF8 else f", read as {text.encoding}"
    lines = f"{text.long_lines} line{'s' if text.long_lines > 1 else ''} longer than index.max_line_length"
    return f"it is indexed{encoding}" + (f", without {lines}" if text.long_lines else "")


def explain(
    root: str, path: str, rules: ScanRules, *, max_line_characters: int = classify.DEFAULT_LIMITS.max_line_characters
) -> Explanation:
    """Returns why the file at `path` (absolute, or relative to `root`) is indexed or not.

    Only `.` and `..` in the path are resolved: a path through a symbolic link is explained by the link. Raises for no path; if
    the root does not exist, every path is missing. Runs `git ls-files` as a scan does.
    """
    context = ScanContext(root, rules)
    relative = _relative(root, context.root, path)
    if relative is None:
        return Explanation(path=path, verdict="outside_root", sentence=f"{printable(path)} lies outside the workspace")
    return _PathExplainer(context, relative, max_line_characters).explain()


def _relative(root: str, real_root: str, path: str) -> str | None:
    if "\0" in path:
        return None
    absolute = os.path.normpath(os.path.join(real_root, path))
    for base in (real_root, os.path.abspath(root)):
        if absolute == base:
            return ""
        if absolute.startswith(base.rstrip("/") + "/"):
            return absolute[len(base.rstrip("/")) + 1 :]
    return None


class _PathExplainer:
    def __init__(self, context: ScanContext, path: str, max_line_characters: int) -> None:
        self._context = context
        self._path = path
        self._max_line_characters = max_line_characters

    def explain(self) -> Explanation:
        policy = root_policy(self._context)
        components = self._path.split("/") if self._path else []
        for depth, name in enumerate(components):
            path = "/".join(components[: depth + 1])
            is_last = depth == len(components) - 1
            try:
                rule = policy.enter(self._names(policy))
                if rule is not None:
                    return self._ignored(rule)
                status = os.lstat(self._absolute(path))
            except (FileNotFoundError, NotADirectoryError):
                return self._answer("missing", "there is no such file")
            except OSError as error:
                return self._skipped(unreadable_reason(error))
            if not S_ISDIR(status.st_mode):
                return self._explain_file(policy, path, name, status, is_last=is_last)
            decision = policy.check_directory(path, name)
            if isinstance(decision, Rule):
                return self._ignored(decision)
            if not is_utf8(name):
                return self._skipped("path_not_utf8")
            policy = decision
        return self._explain_directory(policy)

    def _explain_file(
        self, policy: DirectoryPolicy, path: str, name: str, status: os.stat_result, *, is_last: bool
    ) -> Explanation:
        decision = policy.check_file(path, name)
        if isinstance(decision, Rule):
            return self._ignored(decision)
        reason = decision or skip_reason(self._context, path, status)
        if not is_last:
            # The path continues below something that is not a directory: a link, which is never followed, or a file.
            if reason in ("symlink", "symlink_outside_root"):
                return self._skipped(reason)
            return self._answer("missing", "there is no such file")
        content = reason or self._content(path)
        return self._answer("indexed", how_indexed(content)) if isinstance(content, classify.Text) else self._skipped(content)

    def _explain_directory(self, policy: DirectoryPolicy) -> Explanation:
        try:
            rule = policy.enter(self._names(policy))
        except (FileNotFoundError, NotADirectoryError):
            return self._answer("missing", "there is no such file")
        except OSError as error:
            return self._skipped(unreadable_reason(error))
        if rule is not None:
            return self._ignored(rule)
        return self._answer("directory", "it is a directory, and what belongs to the workspace in it is indexed")

    def _content(self, path: str) -> classify.Text | SkipReason:
        max_bytes = self._context.rules.max_file_bytes
        try:
            data = read_regular_file(self._absolute(path), max_bytes + 1)
        except OSError:
            return "unreadable"
        limits = classify.text_limits(max_file_bytes=max_bytes, max_line_characters=self._max_line_characters)
        return classify.classify(data, limits, lambda: charset_of(os.fsencode(self._context.root), path))

    def _names(self, policy: DirectoryPolicy) -> frozenset[str]:
        return frozenset(os.listdir(self._absolute(policy.path)))

    def _absolute(self, path: str) -> str:
        return f"{self._context.root}/{path}"

    def _ignored(self, rule: Rule) -> Explanation:
        where = f"{rule.source}:{rule.line}" if rule.line else rule.source
        return self._answer("ignored", f"it is left out by `{rule.pattern}` ({where})", rule=rule)

    def _skipped(self, reason: SkipReason) -> Explanation:
        return self._answer("skipped", SKIP_SENTENCES[reason], skip_reason=reason)

    def _answer(
        self, verdict: Verdict, why: str, *, skip_reason: SkipReason | None = None, rule: Rule | None = None
    ) -> Explanation:
        return Explanation(
            path=self._path,
            verdict=verdict,
            skip_reason=skip_reason,
            rule=rule,
            is_tracked=self._path in self._context.tracked,
            sentence=f"{printable(self._path) or '.'}: {why}",
        )
