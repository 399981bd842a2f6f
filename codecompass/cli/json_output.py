"""What commands print as JSON, apart from the replies of tools."""

from typing import Literal

from msgspec import Struct

from codecompass.errors import ErrorBody
from codecompass.languages.support import Support


class ErrorReport(Struct, frozen=True):
    """An error, printed instead of an answer."""

    error: ErrorBody


class ProjectEntry(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A project as `--json` prints it. Times are ISO 8601 in UTC, sizes in bytes.

    `residency` is `live` while a server has the index open, `on_disk` if there is an index, and absent otherwise.
    `shared_bytes` is the part of `disk_bytes` that other indexes use too: of another worktree or clone of the same repository.
    """

    project_id: str
    name: str
    repo_root: str
    state: str
    residency: str = ""
    is_default: bool = False
    auto_discovered: bool = False
    file_count: int = 0
    symbol_count: int = 0
    disk_bytes: int
    shared_bytes: int = 0
    last_indexed_at: str = ""
    last_used_at: str
    created_at: str


class ProjectList(Struct, frozen=True):
    """All projects, ordered by directory."""

    projects: tuple[ProjectEntry, ...]


class GroupEntry(Struct, frozen=True, kw_only=True):
    """A group and the names of its projects; `repo_roots` are their directories, in the same order."""

    name: str
    projects: tuple[str, ...]
    repo_roots: tuple[str, ...]


class GroupList(Struct, frozen=True):
    """All groups, ordered by name."""

    groups: tuple[GroupEntry, ...]


class Removal(Struct, frozen=True, kw_only=True):
    """What was removed, or with `dry_run` would be. `projects` are roots, `leftovers` directories of the store."""

    projects: tuple[str, ...]
    leftovers: tuple[str, ...] = ()
    freed_bytes: int
    dry_run: bool = False


class StoppedJob(Struct, frozen=True, kw_only=True):
    """A job that `stop` ended, or tried to; `status` is its state afterwards."""

    job_id: str
    project_id: str
    name: str
    repo_root: str
    status: str


class ProjectName(Struct, frozen=True, kw_only=True):
    """A project and its name."""

    project_id: str
    name: str
    repo_root: str
    is_default: bool = False


class FinishedJob(Struct, frozen=True, kw_only=True):
    """A finished job. `file_count` and `symbol_count` are those of the whole index, the other counts those of this job.

    `quarantined` are files whose parse was killed; their text is indexed. `warnings` are sentences about what the scan could
    not use. Times are ISO 8601 in UTC.
    """

    job_id: str
    project_id: str
    repo_root: str
    status: str
    mode: str
    ref: str
    generation: int
    file_count: int
    symbol_count: int
    source_bytes: int
    files_scanned: int
    changed_files: int
    files_written: int
    files_removed: int
    symbols_written: int
    rows_written: int
    documents_written: int
    quarantined: tuple[str, ...]
    duration_ms: int
    created_at: str
    finished_at: str
    warnings: tuple[str, ...] = ()


class PlannedFile(Struct, frozen=True):
    """A file that would be indexed. Size in bytes."""

    path: str
    size: int
    language: str


class LeftOutFile(Struct, frozen=True):
    """A file that would not be indexed, and why."""

    path: str
    reason: str
    size: int


class IndexPlan(Struct, frozen=True, kw_only=True):
    """What a dry run found. Files left out by rules are only counted; a directory counts as one."""

    repo_root: str
    files: tuple[PlannedFile, ...]
    skipped: tuple[LeftOutFile, ...]
    total_bytes: int
    ignored_files: int
    ignored_directories: int
    warnings: tuple[str, ...]


Status = Literal["ok", "warn", "fail"]


class Check(Struct, frozen=True, omit_defaults=True):
    """The result of a check of `doctor`. `remedy` says what to do about it; empty if nothing needs to be done."""

    name: str
    status: Status
    message: str
    remedy: str = ""


class DoctorReport(Struct, frozen=True):
    """All results; `ok` is False if one of them fails."""

    ok: bool
    checks: tuple[Check, ...]


class LanguageTable(Struct, frozen=True):
    """All languages that `languages` knows."""

    languages: tuple[Support, ...]


class FileLanguage(Struct, frozen=True):
    """The language of a file, and how far it is supported; None for plain text."""

    path: str
    language: str
    support: Support | None
