"""Projects that a server had taken up by itself and gave up again: their index is gone, where they were and what they were
called is not. Whoever asks for one gets it back.

Owns the table `evicted` of the registry; registering a project takes it out again.
"""

import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from codecompass.store.registry import Project, Registry

KEPT_EVICTED: Final = 1000
"""Evicted projects that are remembered, the newest."""


class Evictions:
    """Through the registry's connection and under its rule: one caller at a time."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry

    def evict(self, project_id: str) -> bool:
        """Forgets a project but for where it was and what it was called.

        False where it is not, or no more, one that a server discovered and nobody registered: nothing is changed then.
        """
        found = "FROM projects WHERE project_id = ? AND is_auto_discovered = 1 AND is_default = 0"
        with self._registry.transaction() as connection:
            connection.execute(
                f"INSERT OR REPLACE INTO evicted SELECT project_id, alias, root, ? {found}", (time.time(), project_id)
            )
            n_removed = connection.execute(f"DELETE {found}", (project_id,)).rowcount
            connection.execute(
                "DELETE FROM evicted WHERE project_id NOT IN (SELECT project_id FROM evicted ORDER BY evicted_at DESC LIMIT ?)",
                (KEPT_EVICTED,),
            )
        return n_removed == 1

    def root_of(self, name: str) -> Path | None:
        """Returns where the evicted project of this id or alias is."""
        return self._root("project_id = ? OR alias = ?", (name, name))

    def find_or_root(self, name: str) -> tuple[Project | None, Path | None]:
        """Returns the project of this id or alias; without one, where the evicted project of that name is.

        A project that is evicted or comes back meanwhile is one of the two, whichever process does it.
        """
        found = self._registry.find(name)
        root = self.root_of(name) if found is None else None
        if found is None and root is None:
            # Evicted at the first look, back by the second.
            found = self._registry.find(name)
        return found, root

    def around(self, path: Path) -> Path | None:
        """Returns the nearest root of an evicted project at or above the canonical `path`."""
        roots = [os.fsencode(directory) for directory in (path, *path.parents)]
        return self._root(f"root IN ({','.join('?' * len(roots))})", roots)

    def _root(self, condition: str, arguments: Sequence[object]) -> Path | None:
        rows = self._registry.rows(f"SELECT root FROM evicted WHERE {condition} ORDER BY length(root) DESC LIMIT 1", arguments)
        return Path(os.fsdecode(rows[0][0])) if rows else None
