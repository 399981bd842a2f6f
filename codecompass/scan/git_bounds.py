"""Decides whether everything that git would read of a repository lies within the directories that a server may answer about.

    leads_out       a cheap check of what points elsewhere: the git directory, the common directory, configuration, alternates
    kept_inside     runs git: a check of everything before, and afterwards whether anything of it was changed meanwhile

What this program reads itself is read by `git_roots.read_inside`. A file in the tree can lead git anywhere: `.git` as a file or a
link, `commondir`, `objects/info/alternates`, `include.path`, and a link at any place in a git directory. Git follows all of them;
no option of git prevents that. Where a person has allowed everything, nothing is checked and nothing costs anything.
"""

import os
import stat
import time
from collections.abc import Callable, Iterator
from typing import Final, TypeVar

from msgspec import Struct

from codecompass.scan.files import read_descriptor
from codecompass.scan.git_config import MAX_CONFIG_BYTES, MAX_CONFIG_FILES, included_files, keeps_refs_elsewhere, named_files
from codecompass.scan.git_roots import GitRoots, open_real
from codecompass.units import KIB, MIB, MILLISECONDS, NANOSECONDS_PER_SECOND, SECONDS

T = TypeVar("T")

SETTLED_NS: Final = 20_000_000
"""Age in nanoseconds from which a change time is that of the last change: kernels count in steps of up to 10 ms."""

COARSE_SETTLED_NS: Final = 2 * NANOSECONDS_PER_SECOND + SETTLED_NS
"""The same on a file system that counts in seconds."""

PATIENCE_SECONDS: Final = 5 * SECONDS
"""How long a question waits for a repository that is being changed all the time to stand still."""

MAX_ENTRIES: Final = 1_000_000
"""Entries of git's directories that are looked at, which takes about 0.3 s."""

MAX_ALTERNATES: Final = 50
"""Object directories of one repository; git itself follows five levels."""

_MAX_LINKS: Final = 40
_MAX_ALTERNATES_BYTES: Final = 64 * KIB
_MAX_TABLES_BYTES: Final = 1 * MIB
_SEARCHED: Final = ("info", "objects", "refs", "reftable", "logs")
"""Directories in a git directory in which git reads what it finds. Whatever else lies there is reached by name alone."""

_ALLOW: Final = "start the server with another --allowed-root, or with --allowed-git-dir"


class Places(Struct, frozen=True):
    """Where the parts of a repository are: the top of its work tree, its git directory and the common one, as absolute paths."""

    top: str
    git_directory: str
    common_directory: str


class LeadsOutError(Exception):
    """A part of a repository lies outside of the allowed directories. The text is for people, and does not say where."""


class ChangesError(Exception):
    """A repository did not stand still while it was read."""


def leads_out(places: Places, roots: GitRoots) -> str:
    """Returns a sentence about what of a repository lies outside of `roots`; empty if nothing does, as far as a few files say.

    Takes about 0.1 ms. A link deeper in a git directory is only found by `kept_inside`.
    """
    if not roots.directories:
        return ""
    try:
        _Survey(roots).repository(places, is_deep=False)
    except LeadsOutError as error:
        return str(error)
    return ""


def kept_inside(places: Places, roots: GitRoots, read: Callable[[], T], *, patience: float = PATIENCE_SECONDS) -> T:
    """Returns what `read` does, which starts git on a repository; what git read was within `roots` all the time.

    Discards an answer or an error, whose text may come from elsewhere, if anything that leads git was changed meanwhile; then
    `read` runs again, for `patience` seconds.

    Raises:
        LeadsOutError: something of the repository lies outside of `roots`.
        ChangesError: the repository is changed all the time.
    """
    if not roots.directories:
        return read()
    gives_up_at = time.monotonic() + patience
    while True:
        survey = _Survey(roots)
        survey.repository(places, is_deep=True)
        waits = survey.seconds_to_settle()
        if not waits:
            try:
                return survey.confirmed(read())
            except _Changed:
                pass
            except Exception as error:
                if survey.is_current():
                    raise
                del error
        if time.monotonic() + waits > gives_up_at:
            raise ChangesError("it is being changed all the time")
        time.sleep(waits or SETTLED_NS / NANOSECONDS_PER_SECOND)


class _Changed(Exception):
    pass


_Stamp = tuple[int, int, int, int, int, int]


class _Survey:
    """What leads git in one repository, each with its stamp. A change of content, a new entry and a renaming change a stamp."""

    def __init__(self, roots: GitRoots) -> None:
        self._roots = roots
        self._stamps: dict[str, _Stamp | None] = {}
        self._searched: set[str] = set()
        self._stores: set[str] = set()
        self._real: dict[str, str] = {}
        self._n_configurations = 0
        self._n_entries = 0
        self._looked_at = time.time_ns()

    def repository(self, places: Places, *, is_deep: bool) -> None:
        """Looks at everything that leads git. Raises LeadsOutError."""
        self._follow(places.top, "its work tree")
        self._follow(os.path.join(places.top, ".git"), "its git directory")
        for directory, what in ((places.git_directory, "its git directory"), (places.common_directory, "its common directory")):
            real = self._follow(directory, what)
            self._follow(os.path.join(real, "commondir"), "commondir")
            for name in ("config", "config.worktree"):
                self._configuration(os.path.join(directory, name), places.top)
            self._search(real, is_deep=is_deep, is_top=True)
        self._objects(os.path.join(places.common_directory, "objects"), is_deep=is_deep)

    def seconds_to_settle(self) -> float:
        """Returns how long to wait until every stamp shows each later change; 0 if they all do now."""
        waits = 0
        for each in self._stamps.values():
            if each is None:
                continue
            changed = each[-1]
            settles = COARSE_SETTLED_NS if changed % NANOSECONDS_PER_SECOND == 0 else SETTLED_NS
            age = self._looked_at - changed
            # A time further in the future is that of a clock that was set; the next change has another one.
            if -COARSE_SETTLED_NS < age < settles:
                waits = max(waits, settles - age)
        return waits / NANOSECONDS_PER_SECOND + (1 * MILLISECONDS if waits else 0)

    def is_current(self) -> bool:
        """Whether nothing that was looked at has changed since."""
        return all(_stamp(path) == stamp for path, stamp in self._stamps.items())

    def confirmed(self, answer: T) -> T:
        """Returns `answer`; raises _Changed if anything has changed since."""
        if not self.is_current():
            raise _Changed
        return answer

    def _note(self, path: str) -> os.stat_result | None:
        try:
            found = os.lstat(path)
        except (OSError, ValueError):
            self._stamps[path] = None
            return None
        self._stamps[path] = _stamp_of(found)
        return found

    def _follow(self, path: str, what: str) -> str:
        """Returns `path` without links. Notes each step inside of the roots. Raises LeadsOutError if it does not end there."""
        above, _, last = path.rstrip("/").rpartition("/")
        known = self._real.get(above) if last not in ("", ".", "..") else None
        at, pending, n_links = ("/", path.split("/")[::-1], 0) if known is None else (known, [last], 0)
        while pending:
            name = pending.pop()
            if name in ("", "."):
                continue
            if name == "..":
                at = os.path.dirname(at)
                continue
            step = os.path.join(at, name)
            found = self._note(step) if self._roots.holds(step) and step not in self._roots.directories else _look(step)
            if found is None or not stat.S_ISLNK(found.st_mode):
                at = step
                continue
            n_links += 1
            target = _link_target(step)
            if n_links > _MAX_LINKS or target is None:
                at = step
                continue
            at = "/" if target.startswith("/") else at
            pending.extend(reversed(target.split("/")))
        if not self._roots.holds(at):
            raise LeadsOutError(f"{what} lies outside of the allowed roots of this server ({_ALLOW})")
        self._real[path] = at
        return at

    def _content(self, real: str, limit: int) -> bytes | None:
        """Returns the beginning of a file without links in its path, None if it cannot be read."""
        if self._stamps.get(real, ()) is None:
            return None
        try:
            descriptor = open_real(real, self._roots)
        except (OSError, ValueError):
            return None
        try:
            return read_descriptor(descriptor, limit)
        except OSError:
            return None
        finally:
            os.close(descriptor)

    def _configuration(self, path: str, top: str) -> None:
        pending, seen = [path], {path}
        while pending:
            at = pending.pop()
            real = self._follow(at, "a file that its configuration includes" if at != path else "its configuration")
            content = self._content(real, MAX_CONFIG_BYTES)
            if content is None:
                continue
            text = content.decode("utf-8", "surrogateescape")
            if keeps_refs_elsewhere(text):
                raise LeadsOutError("its configuration has the refs in another place")
            for named in named_files(text, top):
                self._follow(named, "an attributes file that its configuration names")
            for included in included_files(text, at):
                if included not in seen:
                    seen.add(included)
                    pending.append(included)
            self._n_configurations += 1
            if self._n_configurations > 2 * MAX_CONFIG_FILES:
                raise LeadsOutError(f"its configuration includes more than {MAX_CONFIG_FILES} files")

    def _objects(self, directory: str, *, is_deep: bool) -> None:
        """Looks at an object directory and at those that it names as alternates, directly or not."""
        pending = [(directory, "its object directory")]
        while pending:
            at, what = pending.pop()
            real = self._follow(at, what)
            if real in self._stores:
                continue
            self._stores.add(real)
            if len(self._stores) > MAX_ALTERNATES:
                raise LeadsOutError(f"it takes objects from more than {MAX_ALTERNATES} directories")
            if is_deep:
                self._search(real, is_deep=True)
            listed = self._follow(os.path.join(real, "info", "alternates"), "its list of alternates")
            content = self._content(listed, _MAX_ALTERNATES_BYTES + 1)
            if content is None:
                continue
            if len(content) > _MAX_ALTERNATES_BYTES:
                raise LeadsOutError("its list of alternates is too long")
            for written in _alternates(content):
                # Older versions of git start from the path as it is written, newer ones from the one without links.
                for base in dict.fromkeys((real, at)):
                    place = os.path.normpath(os.path.join(base, written))
                    pending.append((place, "a directory from which it takes objects (objects/info/alternates)"))

    def _search(self, directory: str, *, is_deep: bool, is_top: bool = False) -> None:
        """Looks at the entries of a directory without links in it; follows each link. `is_top` is a git directory."""
        pending = [(directory, is_top)]
        while pending:
            at, at_top = pending.pop()
            if at in self._searched:
                continue
            self._searched.add(at)
            self._note(at)
            for name, is_link, is_directory in _entries(at):
                self._n_entries += 1
                if self._n_entries > MAX_ENTRIES:
                    raise LeadsOutError(f"its git directory has more than {MAX_ENTRIES:,} entries")
                path = os.path.join(at, name)
                if is_link:
                    path = self._follow(path, "what a link in its git directory leads to")
                    is_directory = os.path.isdir(path)
                if is_directory and ((is_deep and (not at_top or name in _SEARCHED)) or (at_top and name == "info")):
                    pending.append((path, False))
                elif name == "tables.list" and os.path.basename(at) == "reftable":
                    self._tables(path)

    def _tables(self, path: str) -> None:
        self._note(path)
        content = self._content(path, _MAX_TABLES_BYTES)
        if content is not None and b"/" in content:
            raise LeadsOutError("its list of tables names a file in another directory")


def _alternates(content: bytes) -> Iterator[str]:
    for line in os.fsdecode(content).split("\n"):
        if not line or line.startswith("#"):
            continue
        yield line
        if line.startswith('"'):
            yield _unquoted(line)


def _unquoted(line: str) -> str:
    """Returns a path that is written in quotes as in C. Raises LeadsOutError if it is not one."""
    try:
        return os.fsdecode(os.fsencode(line[1:].rpartition('"')[0]).decode("unicode_escape").encode("latin-1"))
    except UnicodeError as error:
        raise LeadsOutError("its list of alternates cannot be read") from error


def _entries(directory: str) -> list[tuple[str, bool, bool]]:
    """Returns name, whether it is a link, whether it is a directory; nothing of a directory that cannot be read."""
    try:
        with os.scandir(directory) as entries:
            return [(entry.name, entry.is_symlink(), entry.is_dir(follow_symlinks=False)) for entry in entries]
    except (OSError, ValueError):
        return []


def _look(path: str) -> os.stat_result | None:
    try:
        return os.lstat(path)
    except (OSError, ValueError):
        return None


def _link_target(path: str) -> str | None:
    try:
        return os.readlink(path)
    except (OSError, ValueError):
        return None


def _stamp(path: str) -> _Stamp | None:
    found = _look(path)
    return None if found is None else _stamp_of(found)


def _stamp_of(found: os.stat_result) -> _Stamp:
    return found.st_dev, found.st_ino, found.st_mode, found.st_size, found.st_mtime_ns, found.st_ctime_ns
