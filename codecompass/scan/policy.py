"""Which entries of a directory belong to the index: the rules of a workspace, applied one directory at a time.

The walk and `explain` both go down through `Place`s, so that what the one lists the other justifies. Nothing is decided
on whole paths: an entry is judged where it stands, and a directory that is left out decides for all that it holds. From
the strongest rule to the weakest:

1. `.git` is never looked into.
2. The settings, then `.codecompassignore` from the deepest up: in and out, for tracked files and secrets too. What lies in
   a directory that one of their patterns leaves out is taken back by a later or stronger one alone.
3. Directories of `builtin.ALWAYS`: out, tracked or not.
4. Tracked by git, or holding something that is: in, hidden or not, whatever `.gitignore` says, unless it is a secret.
5. In a directory that is left out: out.
6. Secrets: out, and said so.
7. Hidden, `builtin.UNLESS_TRACKED`, then `.gitignore` from the deepest up and `info/exclude`: out.

A directory can be left out and still be entered, because something tracked lies below it, or because a `!` pattern of
ours may match below it. It is then *closed*: what nobody claims stays out. Whether a directory of tracked files is
closed is found out only when something untracked turns up in it, so that a tracked tree pays for no pattern at all.
"""

from collections.abc import Container
from typing import Literal

from msgspec import UNSET, Struct, UnsetType

from codecompass.scan import builtin
from codecompass.scan.ignore import NO_RANK, IgnoreFile, Pattern, Rank, Rule, encode_path
from codecompass.scan.rules import GIT_IGNORE_FILE, OWN_IGNORE_FILE, Workspace


class Closure(Struct, frozen=True):
    """Why a directory that is entered is nevertheless left out. `admits_tracked` is false where the rule outranks
    git. `rank` is that of the pattern: only one that outranks it takes something in the directory back."""

    rule: Rule
    admits_tracked: bool
    rank: Rank = NO_RANK


class Place:
    """A directory and the rules that hold in it.

    Made by `root_place` and `judge_directory`; `arrive` must be called with the names that it holds before anything in
    it is judged, because some of them are rules. `path` is relative to the root and empty for the root itself, `prefix`
    is what stands before a name in it.
    """

    __slots__ = ("_closure", "_git_rules", "_own_rules", "_parent", "_workspace", "path", "prefix")

    def __init__(self, workspace: Workspace, parent: "Place | None", path: str, closure: Closure | UnsetType | None) -> None:
        self._workspace = workspace
        self._parent = parent
        # UNSET is "not asked yet", for a directory that is entered because something in it is tracked.
        self._closure = closure
        self._git_rules: tuple[IgnoreFile, ...] = () if parent is None else parent._git_rules
        self._own_rules: tuple[IgnoreFile, ...] = () if parent is None else parent._own_rules
        self.path = path
        self.prefix = path + "/" if path else ""

    @property
    def trusts_git_alone(self) -> bool:
        """Whether a tracked file here that is no secret is in without further questions."""
        closure = self._closure
        return not self._own_rules and (closure is None or closure is UNSET or closure.admits_tracked)

    def arrive(self, names: Container[str]) -> Rule | None:
        """Takes up the rules that lie in this directory. Returns the one by which it is left out after all for what it
        holds (a further work tree, a cache, a bare repository), None where it is not. `names` are the names in it."""
        rule = None if self._parent is None else self._rule_of_content(names)
        if rule is not None:
            return rule
        if GIT_IGNORE_FILE in names:
            self._git_rules = self._load(GIT_IGNORE_FILE, self._git_rules) + self._git_rules
        if OWN_IGNORE_FILE in names:
            # The settings stay in front: they are what somebody said last.
            n_settings = len(self._workspace.settings_rules)
            own = self._own_rules
            self._own_rules = own[:n_settings] + self._load(OWN_IGNORE_FILE, own) + own[n_settings:]
        return None

    def judge_file(self, path: str, name: str) -> Rule | Literal["secret"] | None:
        """Returns why anything but a directory is left out, None where it is in. `path` is the prefix and the name."""
        if name == ".git":
            return builtin.GIT_DIRECTORY
        own = self._own_match(path, is_directory=False)[0]
        if own is not None and not own.is_negated:
            return own.rule
        is_secret = builtin.is_secret(name)
        if own is not None:
            # Taking back a directory (`!config/**`) is no word about the password in it.
            return "secret" if is_secret and not own.names_its_target else None
        is_tracked = path in self._workspace.tracked
        closure = self._closure if is_tracked else self._known_closure()
        if isinstance(closure, Closure) and not (is_tracked and closure.admits_tracked):
            return closure.rule
        if is_secret:
            return "secret"
        return None if is_tracked else self._untracked_rule(path, name, is_directory=False)

    def judge_directory(self, path: str, name: str) -> "Place | Rule":
        """Returns the place to go on in, or the rule that leaves the directory out with all that it holds."""
        if name == ".git":
            return builtin.GIT_DIRECTORY
        own, rank = self._own_match(path, is_directory=True)
        if own is not None and own.is_negated:
            return Place(self._workspace, self, path, None)
        closure = self._closure_of_child(path, name) if own is None else Closure(own.rule, admits_tracked=False, rank=rank)
        if isinstance(closure, Closure) and not self._is_entered_closed(path):
            return closure.rule
        return Place(self._workspace, self, path, closure)

    def _closure_of_child(self, path: str, name: str) -> Closure | UnsetType | None:
        if isinstance(self._closure, Closure) and not self._closure.admits_tracked:
            return self._closure
        is_tracked = self._is_tracked_directory(path)
        rule = builtin.directory_rule(name, is_tracked=is_tracked)
        if rule is not None:
            return Closure(rule, admits_tracked=False)
        if is_tracked:
            return UNSET
        closure = self._known_closure()
        if closure is None:
            rule = self._untracked_rule(path, name, is_directory=True)
            closure = None if rule is None else Closure(rule, admits_tracked=True)
        return closure

    def _known_closure(self) -> Closure | None:
        # From the nearest directory that knows down to this one; not by recursion, because trees can be deep.
        unknown: list[Place] = []
        place = self
        while isinstance(place._closure, UnsetType):
            assert place._parent is not None, "only a child can be entered for what is tracked in it"
            unknown.append(place)
            place = place._parent
        closure = place._closure
        for child in reversed(unknown):
            assert child._parent is not None
            if closure is None:
                rule = child._parent._git_rule(child.path, is_directory=True)
                closure = None if rule is None else Closure(rule, admits_tracked=True)
            child._closure = closure
        return closure

    def _is_entered_closed(self, path: str) -> bool:
        raw = encode_path(path)
        return any(file.may_match_below(raw) for file in self._own_rules)

    def _is_tracked_directory(self, path: str) -> bool:
        # A submodule is one tracked path of the repository around it.
        return path in self._workspace.tracked_directories or path in self._workspace.tracked

    def _rule_of_content(self, names: Container[str]) -> Rule | None:
        if isinstance(self._closure, Closure):
            return None
        own = self._own_match(self.path, is_directory=True)[0]
        is_asked_for = own is not None and own.is_negated
        if ".git" in names:
            repository = self._workspace.repository_at(self.path)
            if repository is not None:
                if not is_asked_for and self._workspace.is_further_worktree(repository):
                    return builtin.LINKED_WORKTREE
                self._git_rules = self._workspace.enter_repository(repository, self.path)
                self._closure = None
        if is_asked_for or self._is_tracked_directory(self.path):
            return None
        return builtin.content_rule(names)

    def _untracked_rule(self, path: str, name: str, *, is_directory: bool) -> Rule | None:
        if builtin.is_hidden(name):
            return builtin.HIDDEN
        return self._git_rule(path, is_directory=is_directory)

    def _git_rule(self, path: str, *, is_directory: bool) -> Rule | None:
        found, _ = _first_match(self._git_rules, path, is_directory=is_directory)
        return None if found is None or found.is_negated else found.rule

    def _own_match(self, path: str, *, is_directory: bool) -> tuple[Pattern | None, Rank]:
        """What the settings and our own ignore files say of what lies here; not what this place is closed to."""
        found, rank = _first_match(self._own_rules, path, is_directory=is_directory)
        if found is not None and found.is_negated and isinstance(self._closure, Closure) and self._closure.rank > rank:
            return None, NO_RANK
        return found, rank

    def _load(self, name: str, above: tuple[IgnoreFile, ...]) -> tuple[IgnoreFile, ...]:
        path = self.prefix + name
        return self._workspace.load(f"{self._workspace.root}/{path}", path, base=self.prefix, above=above)


def root_place(workspace: Workspace) -> Place:
    """Returns the root of the workspace, with the settings and the rules of a repository around it taken up."""
    place = Place(workspace, None, "", None)
    place._own_rules = workspace.settings_rules
    place._git_rules = workspace.enter_root_repository()
    return place


def _first_match(files: tuple[IgnoreFile, ...], path: str, *, is_directory: bool) -> tuple[Pattern | None, Rank]:
    if files:
        raw = encode_path(path)
        for file in files:
            found, rank = file.match(raw, is_directory=is_directory)
            if found is not None:
                return found, rank
    return None, NO_RANK
