"""What is known of a project without asking a server: the state that `projects list` and `status` show."""

from typing import Literal

from msgspec import Struct

from codecompass.errors import CodeCompassError
from codecompass.store.epochs import compatibility
from codecompass.store.index import IndexMeta, WorkspaceIndex
from codecompass.store.layout import HomeLayout
from codecompass.store.lock import is_locked
from codecompass.store.registry import Project

StateName = Literal["ready", "partial", "indexing", "not_indexed", "reindex_required", "damaged", "newer", "root_missing"]


class ProjectState(Struct, frozen=True):
    """A project as it lies on disk. `meta` is None unless the index can be read."""

    name: StateName
    meta: IndexMeta | None


def project_state(home: HomeLayout, project: Project) -> ProjectState:
    """Returns the state of a project. Never raises: what cannot be read is the state."""
    layout = home.project(project.project_id)
    meta = _meta(WorkspaceIndex(layout, project.project_id))
    if not project.root.is_dir():
        return ProjectState("root_missing", meta)
    if is_locked(layout):
        return ProjectState("indexing", meta)
    found = compatibility(layout)
    match found.status:
        case "not_indexed":
            return ProjectState("not_indexed", None)
        case "reindex_required":
            return ProjectState("newer" if found.is_newer else "reindex_required", None)
        case "corrupt_manifest":
            return ProjectState("damaged", None)
        case "compatible":
            if meta is None:
                return ProjectState("damaged", None)
            return ProjectState("ready" if meta.completeness == "complete" else "partial", meta)


def _meta(index: WorkspaceIndex) -> IndexMeta | None:
    try:
        with index.snapshot() as snapshot:
            return snapshot.meta
    except CodeCompassError:
        return None
    finally:
        index.close()
