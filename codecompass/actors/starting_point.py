"""What a job's index starts from: nothing, the current epoch, or a fork of the index in this home that is nearest to the tree.

    no usable index                         fork the nearest index of any project: of a worktree, a clone, a copy
    an index, but many files differ         fork the nearest index, preferring own parked epochs; park the current epoch

Otherwise the current epoch is continued, or the index is built from nothing. A server with allowed roots forks no index of a
project outside of them.
"""

from collections.abc import Awaitable, Callable, Mapping

import structlog
import trio
from msgspec import Struct

from codecompass.actors.index_limits import IndexLimits
from codecompass.actors.tree_scan import ScannedTree, TreeScan
from codecompass.scan.git_index import GitBlobs
from codecompass.scan.walk import ScanResult
from codecompass.store.epochs import note_use
from codecompass.store.forks import ForkSource
from codecompass.store.layout import HomeLayout, ProjectLayout
from codecompass.store.manifest import ChangeSet, blobs_of
from codecompass.store.nearest import Bases, nearest_source, other_indexes
from codecompass.store.writer import IndexWriter

FindBases = Callable[[], Awaitable[Bases]]
"""Returns which projects' indexes may be forked now. Asked for each choice: projects are registered and removed at any time."""


async def any_base() -> Bases:
    """Allows every index of the home: that of a person's own command, and of a server without allowed roots."""
    return None


class KnownTree(Struct, frozen=True):
    """Git's ids of the contents of a scanned tree, by path; the id of an unknown content is empty."""

    blobs: GitBlobs = GitBlobs()
    ids: Mapping[str, bytes] = {}

    def __bool__(self) -> bool:
        """Whether any ids were read."""
        return bool(self.ids)


class StartingPoint:
    """Chooses the starting point of one job."""

    def __init__(self, layout: ProjectLayout, home: HomeLayout, tree: TreeScan, limits: IndexLimits, bases: FindBases) -> None:
        self._layout = layout
        self._home = home
        self._tree = tree
        self._limits = limits
        self._bases = bases
        self._log = structlog.get_logger(__name__)

    async def can_be_fork(self) -> bool:
        """Whether the home holds any other index that may be forked."""
        return await trio.to_thread.run_sync(other_indexes, self._home, self._layout, await self._bases())

    async def read_known(self, tree: ScannedTree) -> KnownTree:
        """Reads git's ids of the files of a whole scan."""
        found = tree.found
        assert isinstance(found, ScanResult)
        blobs = await self._tree.git_blobs(found)
        return KnownTree(blobs, await trio.to_thread.run_sync(blobs_of, found.files, blobs))

    def is_large(self, writer: IndexWriter, tree: ScannedTree, changes: ChangeSet) -> bool:
        """Whether so many files differ from the current, complete index that another one may be nearer."""
        n_files = len(changes.tasks) + len(changes.removed)
        return (
            n_files >= self._limits.park_from_files
            and writer.meta.file_count >= self._limits.fork_from_files
            and isinstance(tree.found, ScanResult)
            and writer.meta.completeness == "complete"
        )

    async def nearest(self, tree: ScannedTree, known: KnownTree) -> ForkSource | None:
        """Returns the index to fork; None if building from nothing is better."""
        if len(tree.found.files) < self._limits.fork_from_files:
            return None
        bases = await self._bases()

        def find() -> ForkSource | None:
            wanted = {file.path: known.ids.get(file.path) or file.size for file in tree.found.files}
            found = nearest_source(self._home, wanted, own=self._layout, rules_fingerprint=self._limits.fingerprint, bases=bases)
            if found is None:
                return None
            note_use(found.source.layout, found.source.epoch)
            self._log.info(
                "index_forked",
                project=self._layout.root.name,
                source=found.source.layout.root.name,
                differing_files=found.n_differing,
            )
            return found.source

        return await trio.to_thread.run_sync(find)
