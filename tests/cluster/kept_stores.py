"""The kinds of stores of segments, for tests that hold for all of them: each can be away and come back."""

import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

from codecompass.cluster.stores.opening import open_store
from codecompass.cluster.stores.segment_store import SegmentStore
from codecompass.settings import ClusterSettings
from tests.cluster.s3_service import S3Service

KINDS = ("directory", "s3")


class KeptStore(Protocol):
    """A store of one kind, empty at first."""

    @property
    def settings(self) -> ClusterSettings:
        """What names it, with the prefix `p`."""

    def go_away(self) -> None:
        """Makes it unreachable; what is in it stays."""

    def come_back(self) -> None: ...


class KeptDirectory:
    def __init__(self, root: Path) -> None:
        self._root = root
        root.mkdir(parents=True)
        self.settings = ClusterSettings(segments=str(root), prefix="p")

    def go_away(self) -> None:
        self._root.rename(self._root.with_name("unmounted"))

    def come_back(self) -> None:
        self._root.with_name("unmounted").rename(self._root)


class KeptBucket:
    def __init__(self, service: S3Service) -> None:
        self._service = service
        self.settings = service.settings(service.new_bucket())

    def go_away(self) -> None:
        self._service.kill()

    def come_back(self) -> None:
        self._service.start()


class CountingStore:
    """A store that counts how often each object is read, and can answer with something else."""

    def __init__(self, settings: ClusterSettings) -> None:
        self.behind: SegmentStore = open_store(settings)
        self.reads: Counter[str] = Counter()
        self.wrong: dict[str, list[bytes]] = {}
        self.is_open = threading.Event()
        self.is_open.set()
        for name in ("put", "size", "written_at", "keys", "remove", "repositories", "free"):
            setattr(self, name, getattr(self.behind, name))

    @property
    def address(self) -> str:
        return self.behind.address

    def blocks(self, key: str) -> Iterator[bytes]:
        self.reads[key] += 1
        assert self.is_open.wait(60)
        if self.wrong.get(key):
            return iter([self.wrong[key].pop(0)])
        return self.behind.blocks(key)
