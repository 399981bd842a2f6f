"""The data directory: which file is where. One directory per project, private to the user.

    <home>/registry.db                    projects and jobs of all workspaces
    <home>/registry.reserve               deleted to make room for a removal on a full disk
    <home>/hosts/                         what `setup` changed in the configuration of hosts, to undo it
    <home>/servers/                       the sockets of running servers (`server_sockets.py`)
    <home>/projects/<project_id>/
        writer.lock                       flock of the one process that writes
        readers.lock                      shared flock of every process that has the index open
        CURRENT                           the epoch that readers use, and its versions (JSON, replaced by rename)
        words                             which words the index has (`word_summary.py`), once many projects were asked
        changes                           which files the last commits changed together (`change_history.py`)
        epochs/<epoch>/facts.db           symbols, imports, manifest
        epochs/<epoch>/facts.sum          the stamp and the checksum of facts.db
        epochs/<epoch>/base.db            only in a fork: a hard link to the facts of another epoch
        epochs/<epoch>/parked             marks an epoch that is kept beside the current one
        epochs/<epoch>/text/<generation>/ the text index of one generation
        vectors.db                        vectors of texts, if search by meaning is on
        vectors.lock                      flock of the one process that makes vectors
        refs/<commit>/                    the index of a commit that need not be checked out: the same files as for a project
        trash/                            directories are moved here before they are deleted
    <home>/cluster/<prefix>/              a separate home with the data of a worker of an organisation's cluster

An epoch is an index that was built from nothing or begun as a fork of another; each generation in it is an update of the previous
one.
"""

import errno
import os
from contextlib import suppress
from pathlib import Path
from typing import Final

from msgspec import Struct

from codecompass import hints, lazy
from codecompass.errors import PermissionDenied, StoreRefused
from codecompass.settings import user_directory

DIRECTORY_MODE: Final = 0o700
FILE_MODE: Final = 0o600

_COMMIT: Final = lazy.pattern(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")


class ProjectLayout(Struct, frozen=True):
    """The paths of one project. Creates nothing."""

    root: Path
    owner: str = ""
    """The project's id if the directory is not named after it."""

    @property
    def project_id(self) -> str:
        """The hash id of the project, which is also the name of its directory."""
        return self.owner or self.root.name

    @property
    def refs(self) -> Path:
        """The directory of the indexes of commits."""
        return self.root / "refs"

    def commit(self, commit: str) -> "ProjectLayout":
        """The layout of the index of a commit, by its full id."""
        return ProjectLayout(self.refs / commit, self.project_id)

    @property
    def lock(self) -> Path:
        """The file whose flock makes its holder the writer."""
        return self.root / "writer.lock"

    @property
    def readers(self) -> Path:
        """The file whose shared flock keeps the index from being deleted."""
        return self.root / "readers.lock"

    @property
    def current(self) -> Path:
        """The file that names the epoch that readers use."""
        return self.root / "CURRENT"

    @property
    def epochs(self) -> Path:
        """The directory of all epochs, the current one and those being built."""
        return self.root / "epochs"

    @property
    def vectors(self) -> Path:
        """The database of vectors, which outlives epochs (see `vectors.py`)."""
        return self.root / "vectors.db"

    @property
    def vectors_lock(self) -> Path:
        """The file whose flock makes its holder the only process that makes vectors."""
        return self.root / "vectors.lock"

    @property
    def changes(self) -> Path:
        """The file of what changed together; for the index of a commit that of its project."""
        return (self.root.parent.parent if self.owner else self.root) / "changes"

    @property
    def trash(self) -> Path:
        """The directory of files that are being deleted. The writer may remove its content at any time."""
        return self.root / "trash"

    def facts(self, epoch: str) -> Path:
        """The database of an epoch."""
        return self.epochs / epoch / "facts.db"

    def text(self, epoch: str, generation: int) -> Path:
        """The text index of a generation."""
        return self.epochs / epoch / "text" / f"{generation:08d}"


def commit_layouts(layout: ProjectLayout) -> tuple[ProjectLayout, ...]:
    """Returns the layouts of all commits of a project, sorted by commit, whether or not they hold an index."""
    with suppress(OSError):
        return tuple(layout.commit(name) for name in sorted(os.listdir(layout.refs)) if _COMMIT.fullmatch(name))
    return ()


class HomeLayout(Struct, frozen=True):
    """The data directory of a user."""

    root: Path

    @property
    def registry(self) -> Path:
        """The database of projects and jobs."""
        return self.root / "registry.db"

    @property
    def hosts(self) -> Path:
        """The directory of the records that `setup` needs to undo its changes."""
        return self.root / "hosts"

    @property
    def servers(self) -> Path:
        """The directory of the sockets of running servers."""
        return self.root / "servers"

    @property
    def cluster_root(self) -> Path:
        """The directory of the homes of cluster workers."""
        return self.root / "cluster"

    def cluster(self, prefix: str) -> "HomeLayout":
        """The home of the workers of one cluster. Nothing in it belongs to a project of the registry."""
        return HomeLayout(self.cluster_root / prefix)

    def clusters(self) -> "tuple[HomeLayout, ...]":
        """Returns the existing homes of cluster workers, sorted by prefix."""
        with suppress(OSError):
            return tuple(self.cluster(name) for name in sorted(os.listdir(self.cluster_root)))
        return ()

    def project(self, project_id: str) -> ProjectLayout:
        """The directory of a project, by its hash id."""
        return ProjectLayout(self.root / "projects" / project_id)


def default_home() -> Path:
    """Returns the default data directory of this platform. `settings` reads `CODECOMPASS_HOME`."""
    return user_directory("data")


def make_private_directory(path: Path) -> None:
    """Creates `path` and its parents, readable only by the user. Raises PermissionDenied with the remedy."""
    try:
        path.mkdir(mode=DIRECTORY_MODE, parents=True, exist_ok=True)
    except OSError as error:
        raise not_writable(path, error) from error


OTHER_PLACE: Final = "set CODECOMPASS_HOME to a directory on another disk"
"""What helps against anything that is wrong with a disk."""

_REMEDIES: Final = {
    errno.ENOSPC: f"free disk space there, or {OTHER_PLACE}",
    errno.EDQUOT: f"free space that counts for the disk quota, or {OTHER_PLACE}",
    errno.EROFS: "mount that disk for writing, or set CODECOMPASS_HOME to a directory that can be written",
    errno.EACCES: "make the directory writable, or set CODECOMPASS_HOME to one that is",
    errno.EPERM: "make the directory writable, or set CODECOMPASS_HOME to one that is",
    # SQLite reports some refusals of space in this way.
    errno.EIO: f"free disk space there or have that disk checked, or {OTHER_PLACE}",
}
"""What helps if the system refuses to write the store, by errno."""

_NO_DESCRIPTORS: Final = "raise the limit of open files (ulimit -n), and start the program again"
_OTHER_REMEDIES: Final = {
    errno.EMFILE: _NO_DESCRIPTORS,
    errno.ENFILE: "close other programs: the whole machine has too many files open",
    errno.EEXIST: "move the file away that is where a directory has to be, or set CODECOMPASS_HOME to another place",
    errno.ENOTDIR: "move the file away that is where a directory has to be, or set CODECOMPASS_HOME to another place",
    errno.ENAMETOOLONG: "set CODECOMPASS_HOME to a directory with a shorter path",
}
"""What helps if something else keeps the store from being written."""

_NUMBER: Final = lazy.pattern(r"\(os error (\d+)\)")
"""How the libraries in Rust write errno."""


def not_writable(path: Path | str, error: OSError) -> PermissionDenied:
    """Returns the error for a store that cannot be created or written: StoreRefused if the system refuses it, for example because
    the disk is full. `data.suggested_action` is what helps."""
    cause = error.strerror or str(error)
    named = _NUMBER.search(cause)
    number = int(named[1]) if named is not None else error.errno or 0
    remedy = _REMEDIES.get(number) or _OTHER_REMEDIES.get(
        number, "make the directory writable, free disk space, or set CODECOMPASS_HOME to another place"
    )
    kind = StoreRefused if number in _REMEDIES else PermissionDenied
    return kind(
        f"cannot write the index store at {path}: {cause}. {hints.ASK}{remedy}. An index that exists is unchanged.",
        path=str(path),
        suggested_action=remedy,
        cause=cause,
        lacks_space=True if number in (errno.ENOSPC, errno.EDQUOT) else None,
    )


def not_readable(path: Path | str, error: OSError) -> PermissionDenied:
    """Returns the error for an index that the system refuses to read. It is not damaged, so it is not rebuilt."""
    cause = error.strerror or str(error)
    remedies = {
        errno.EIO: f"have that disk checked, or {OTHER_PLACE}",
        errno.EMFILE: _NO_DESCRIPTORS,
        errno.ENFILE: _OTHER_REMEDIES[errno.ENFILE],
    }
    remedy = remedies.get(error.errno or 0, "make it readable, or set CODECOMPASS_HOME to another place")
    return PermissionDenied(
        f"cannot read the index store at {path}: {cause}. {hints.ASK}{remedy}.",
        path=str(path),
        suggested_action=remedy,
        cause=cause,
    )


def replace_file(path: Path, content: bytes) -> None:
    """Writes `content` to `path` so that a reader, or a crash at any moment, sees the old or the new file.

    Raises OSError. Even then the new file may be there: it is, if only making its name durable failed.
    """
    temporary = path.with_name(path.name + ".new")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, FILE_MODE)
    try:
        left = memoryview(content)
        while left:
            # A disk that is nearly full takes a part.
            left = left[os.write(descriptor, left) :]
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    temporary.replace(path)
    sync_directory(path.parent)


def sync_directory(path: Path) -> None:
    """Makes created, renamed and deleted entries of a directory durable."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def discard(layout: ProjectLayout, path: Path) -> None:
    """Deletes a directory that readers may be opening. It is renamed first, so that they find all of it or nothing."""
    import shutil

    layout.trash.mkdir(mode=DIRECTORY_MODE, exist_ok=True)
    target = layout.trash / f"{path.name}-{os.getpid()}-{path.stat().st_ino}"
    path.rename(target)
    shutil.rmtree(target, ignore_errors=True)


def empty_trash(layout: ProjectLayout) -> None:
    """Deletes what an earlier process moved to the trash."""
    import shutil

    shutil.rmtree(layout.trash, ignore_errors=True)
