"""What commands answer in JSON beyond the answers of tools."""

from msgspec import Struct

from codecompass.errors import ErrorBody


class ErrorReport(Struct, frozen=True):
    """Printed instead of an answer."""

    error: ErrorBody


class ProjectEntry(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A project as `--json` prints it. Times are ISO 8601 in UTC, sizes in bytes."""

    project_id: str
    name: str
    repo_root: str
    state: str
    is_default: bool = False
    auto_discovered: bool = False
    file_count: int = 0
    symbol_count: int = 0
    disk_bytes: int
    last_indexed_at: str = ""
    last_used_at: str
    created_at: str


class ProjectList(Struct, frozen=True):
    """All projects by directory."""

    projects: tuple[ProjectEntry, ...]


class Removal(Struct, frozen=True, kw_only=True):
    """What was removed, or with `dry_run` would be. `projects` are roots, `leftovers` directories of the store."""

    projects: tuple[str, ...]
    leftovers: tuple[str, ...] = ()
    freed_bytes: int
    dry_run: bool = False


class ProjectName(Struct, frozen=True, kw_only=True):
    """A project and what it is called."""

    project_id: str
    name: str
    repo_root: str
    is_default: bool = False
