"""Decides which entries of a directory are indexed, by the rules of a workspace.

The walk and `explain` use the same `DirectoryPolicy`, so they agree. Each entry is decided in its own directory, never by its
whole path, and excluding a directory excludes everything in it. The rules, strongest first:

1. `.git` is never entered.
2. The settings, then the `.codecompassignore` files, deepest first: they include and exclude, tracked files and secrets too.
   In a directory that one of their patterns excludes, only a later or stronger pattern includes anything.
3. Directories in `builtin.ALWAYS` are excluded, tracked or not.
4. Entries tracked by git, and directories with tracked files, are included, hidden or not, whatever `.gitignore` says, unless
   they are secrets.
5. Entries of an excluded directory are excluded.
6. Secrets are excluded and reported.
7. Hidden entries, `builtin.UNLESS_TRACKED`, then matches of the `.gitignore` files, deepest first, and `info/exclude`: excluded.

An excluded directory is still entered if it has tracked files, or if a `!` pattern of rule 2 may match below it; everything else
in it stays excluded. Whether a directory with tracked files is excluded is computed only once an untracked entry is found in it,
so that a fully tracked tree is never matched against patterns.
"""

from collections.abc import Container
from typing import Literal

from msgspec import UNSET, Struct, UnsetType

from codecompass.scan import builtin
from codecompass.scan.ignore import NO_RANK, IgnoreFile, Pattern, Rank, Rule, encode_path
from codecompass.scan.rules import GIT_IGNORE_FILE, OWN_IGNORE_FILE, ScanContext


class Exclusion(Struct, frozen=True):
    """Why a directory that is entered is nevertheless excluded."""

    rule: Rule
    admits_tracked: bool
    """Whether tracked files in it are included; false if the rule is stronger than git's tracking."""
    rank: Rank = NO_RANK
    """The rank of the pattern: only a pattern of a higher rank includes anything in the directory again."""


class DirectoryPolicy:
    """The rules that apply in one directory.

    Made by `root_policy` and `check_directory`. Call `enter` with the names in the directory before checking its entries, because
    some of them are ignore files. `path` is relative to the root (empty for the root); `prefix` plus a name is the path of an
    entry.
    """

    __slots__ = ("_context", "_exclusion", "_git_rules", "_own_rules", "_parent", "path", "prefix")

    def __init__(
        self, context: ScanContext, parent: "DirectoryPolicy | None", path: str, exclusion: Exclusion | UnsetType | None
    ) -> None:
        self._context = context
        self._parent = parent
        # UNSET means "not computed yet", for a directory that is entered because it has tracked files.
        self._exclusion = exclusion
        self._git_rules: tuple[IgnoreFile, ...] = () if parent is None else parent._git_rules
        self._own_rules: tuple[IgnoreFile, ...] = () if parent is None else parent._own_rules
        self.path = path
        self.prefix = path + "/" if path else ""

    @property
    def admits_tracked_files(self) -> bool:
        """Whether every tracked file in this directory is indexed, except secrets."""
        exclusion = self._exclusion
        return not self._own_rules and (exclusion is None or exclusion is UNSET or exclusion.admits_tracked)

    @property
    def admits_visible_files(self) -> bool:
        """Whether every file in this directory is indexed that is neither hidden nor secret, because no rule is about it."""
        return self._exclusion is None and not self._own_rules and not self._git_rules

    def enter(self, names: Container[str]) -> Rule | None:
        """Reads the ignore files in this directory, which holds `names`. Returns the rule that excludes the directory because
        of its content (another work tree of the same repository, a cache, a bare repository), or None."""
        rule = None if self._parent is None else self._content_rule(names)
        if rule is not None:
            return rule
        if GIT_IGNORE_FILE in names:
            self._git_rules = self._load(GIT_IGNORE_FILE, self._git_rules) + self._git_rules
        if OWN_IGNORE_FILE in names:
            # The settings stay first because they are the strongest.
            n_settings = len(self._context.settings_rules)
            own = self._own_rules
            self._own_rules = own[:n_settings] + self._load(OWN_IGNORE_FILE, own) + own[n_settings:]
        return None

    def check_file(self, path: str, name: str) -> Rule | Literal["secret"] | None:
        """Returns why an entry that is not a directory is excluded, None if it is included. `path` is `prefix` plus `name`."""
        if name == ".git":
            return builtin.GIT_DIRECTORY
        own = self._match_own_rules(path, is_directory=False)[0]
        if own is not None and not own.is_negated:
            return own.rule
        is_secret = builtin.is_secret(name)
        if own is not None:
            # A pattern that includes a whole directory (`!config/**`) does not include the secrets in it.
            return "secret" if is_secret and not own.names_its_target else None
        is_tracked = path in self._context.tracked
        exclusion = self._exclusion if is_tracked else self._known_exclusion()
        if isinstance(exclusion, Exclusion) and not (is_tracked and exclusion.admits_tracked):
            return exclusion.rule
        if is_secret:
            return "secret"
        return None if is_tracked else self._untracked_rule(path, name, is_directory=False)

    def check_directory(self, path: str, name: str) -> "DirectoryPolicy | Rule":
        """Returns the policy of a subdirectory, or the rule that excludes it with everything in it."""
        if name == ".git":
            return builtin.GIT_DIRECTORY
        own, rank = self._match_own_rules(path, is_directory=True)
        if own is not None and own.is_negated:
            return DirectoryPolicy(self._context, self, path, None)
        exclusion = self._child_exclusion(path, name) if own is None else Exclusion(own.rule, admits_tracked=False, rank=rank)
        if isinstance(exclusion, Exclusion) and not self._may_hold_includes(path):
            return exclusion.rule
        return DirectoryPolicy(self._context, self, path, exclusion)

    def _child_exclusion(self, path: str, name: str) -> Exclusion | UnsetType | None:
        if isinstance(self._exclusion, Exclusion) and not self._exclusion.admits_tracked:
            return self._exclusion
        is_tracked = self._is_tracked_directory(path)
        rule = builtin.directory_rule(name, is_tracked=is_tracked)
        if rule is not None:
            return Exclusion(rule, admits_tracked=False)
        if is_tracked:
            return UNSET
        exclusion = self._known_exclusion()
        if exclusion is None:
            rule = self._untracked_rule(path, name, is_directory=True)
            exclusion = None if rule is None else Exclusion(rule, admits_tracked=True)
        return exclusion

    def _known_exclusion(self) -> Exclusion | None:
        # From the nearest directory whose exclusion is known down to this one. Not recursive, because trees can be deep.
        unknown: list[DirectoryPolicy] = []
        policy = self
        while isinstance(policy._exclusion, UnsetType):
            assert policy._parent is not None, "the root's exclusion is always known"
            unknown.append(policy)
            policy = policy._parent
        exclusion = policy._exclusion
        for child in reversed(unknown):
            assert child._parent is not None
            if exclusion is None:
                rule = child._parent._git_rule(child.path, is_directory=True)
                exclusion = None if rule is None else Exclusion(rule, admits_tracked=True)
            child._exclusion = exclusion
        return exclusion

    def _may_hold_includes(self, path: str) -> bool:
        raw = encode_path(path)
        return any(file.may_match_below(raw) for file in self._own_rules)

    def _is_tracked_directory(self, path: str) -> bool:
        # A submodule is one tracked path of the enclosing repository.
        return path in self._context.tracked_directories or path in self._context.tracked

    def _content_rule(self, names: Container[str]) -> Rule | None:
        if isinstance(self._exclusion, Exclusion):
            return None
        own = self._match_own_rules(self.path, is_directory=True)[0]
        is_included = own is not None and own.is_negated
        if ".git" in names:
            repository = self._context.repository_at(self.path)
            if repository is not None:
                if not is_included and self._context.is_duplicate_worktree(repository):
                    return builtin.LINKED_WORKTREE
                self._git_rules = self._context.enter_repository(repository, self.path)
                self._exclusion = None
        if is_included or self._is_tracked_directory(self.path):
            return None
        return builtin.content_rule(names)

    def _untracked_rule(self, path: str, name: str, *, is_directory: bool) -> Rule | None:
        if builtin.is_hidden(name):
            return builtin.HIDDEN
        return self._git_rule(path, is_directory=is_directory)

    def _git_rule(self, path: str, *, is_directory: bool) -> Rule | None:
        found, _ = _first_match(self._git_rules, path, is_directory=is_directory)
        return None if found is None or found.is_negated else found.rule

    def _match_own_rules(self, path: str, *, is_directory: bool) -> tuple[Pattern | None, Rank]:
        """Returns the deciding pattern of the settings and `.codecompassignore` files, and its rank. Ignores a `!` pattern
        weaker than the one that excludes this directory."""
        found, rank = _first_match(self._own_rules, path, is_directory=is_directory)
        if found is not None and found.is_negated and isinstance(self._exclusion, Exclusion) and self._exclusion.rank > rank:
            return None, NO_RANK
        return found, rank

    def _load(self, name: str, above: tuple[IgnoreFile, ...]) -> tuple[IgnoreFile, ...]:
        path = self.prefix + name
        return self._context.load_ignore_file(f"{self._context.root}/{path}", path, base=self.prefix, above=above)


def root_policy(context: ScanContext) -> DirectoryPolicy:
    """Returns the policy of the workspace's root, with the settings and the rules of an enclosing repository."""
    policy = DirectoryPolicy(context, None, "", None)
    policy._own_rules = context.settings_rules
    policy._git_rules = context.enter_root_repository()
    return policy


def policy_of_commit(context: ScanContext) -> DirectoryPolicy:
    """Returns the policy of a commit's root: with the settings, but no `.gitignore`, because everything is tracked."""
    policy = DirectoryPolicy(context, None, "", None)
    policy._own_rules = context.settings_rules
    return policy


def _first_match(files: tuple[IgnoreFile, ...], path: str, *, is_directory: bool) -> tuple[Pattern | None, Rank]:
    if files:
        raw = encode_path(path)
        for file in files:
            found, rank = file.match(raw, is_directory=is_directory)
            if found is not None:
                return found, rank
    return None, NO_RANK
