"""The contents of a commit's files for the worker processes, read from git's object database a group of files at a time."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import trio
from msgspec.structs import replace

from codecompass.actors.blocking_calls import BlockingCalls, Call
from codecompass.actors.file_pipeline import grouped
from codecompass.scan.commit_tree import incomplete
from codecompass.scan.git_objects import GROUP_BYTES, Blob, read_blobs
from codecompass.scan.git_repository import GIT_DEADLINE_SECONDS, Repository
from codecompass.worker.messages import FileTask

MAX_GROUP_FILES: Final = 20_000
"""Of an endless number of empty files, those that are read at once."""


class CommitContents:
    """Fills the `tasks` of one job, which are asked for in their order, in batches. Holds GROUP_BYTES of content at most, and
    the batches that wait for their turn.

    `object_ids` are those of the tasks by path.
    """

    def __init__(
        self,
        repository: Repository,
        commit: str,
        tasks: Sequence[FileTask],
        object_ids: Mapping[str, bytes],
        blocking: BlockingCalls,
        max_file_bytes: int,
    ) -> None:
        self._repository = repository
        self._commit = commit
        self._groups: Iterator[list[FileTask]] = grouped(tasks, max_bytes=GROUP_BYTES, max_files=MAX_GROUP_FILES)
        self._object_ids = object_ids
        self._blocking = blocking
        self._max_file_bytes = max_file_bytes
        self._held: dict[str, bytes] = {}
        self._turn = trio.Lock()

    async def fill(self, batch: Sequence[FileTask]) -> Sequence[FileTask]:
        """Returns the tasks of `batch` with their contents.

        Raises RefNotIndexed where the repository lacks one of them, GitError, FileSystemUnresponsive.
        """
        async with self._turn:
            while any(task.path not in self._held for task in batch):
                await self._read(next(self._groups))
            return [replace(task, content=self._held.pop(task.path)) for task in batch]

    async def _read(self, group: Sequence[FileTask]) -> None:
        ids = [self._object_ids[task.path].hex() for task in group]

        def read(call: Call) -> list[Blob]:
            return list(read_blobs(self._repository, ids, self._max_file_bytes, is_cancelled=call.is_over))

        blobs = await self._blocking.run(read, self._repository.top, patience=GIT_DEADLINE_SECONDS)
        missing = sum(blob.content is None for blob in blobs)
        if missing:
            raise incomplete(self._commit, f"{missing:,} of its files are not here")
        for task, blob in zip(group, blobs, strict=True):
            self._held[task.path] = blob.content or b""
