"""The checks of `codecompass doctor`: each is a function that checks one thing and returns its status and a remedy.

An unexpected exception in a check is a result too. Nothing is changed, except for probe files that are removed again.
"""

import os
import platform
import resource
import shutil
import stat
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from importlib import import_module, metadata
from pathlib import Path
from typing import Final

from codecompass import __version__, formatting
from codecompass.cli.invocation import Invocation
from codecompass.cli.json_output import Check, Status
from codecompass.cli.organisation import organisation_check
from codecompass.cli.semantic import semantic_check, sent_texts_check
from codecompass.errors import CodeCompassError, IndexDamaged
from codecompass.hints import for_people
from codecompass.scan.git_failures import explained
from codecompass.scan.git_process import GitError, GitNotStarted, git_command, run_process
from codecompass.scan.git_repository import find_repository, why_not
from codecompass.scan.git_revisions import require_usable
from codecompass.scan.git_roots import ANYWHERE
from codecompass.store.filesystem import FULL_DISK_BYTES, disk_usage, filesystem_of
from codecompass.store.housekeeping import over_quota
from codecompass.store.layout import HomeLayout, not_writable
from codecompass.store.registry import Project, open_registry
from codecompass.units import GIB, KIB, MIB
from codecompass.worker.messages import Batch, FileSymbols, FileTask, decode_answers, encode_frame

LIBRARIES: Final = ("asyncclick", "blake3", "google-re2", "msgspec", "structlog", "tantivy", "tree-sitter", "trio")
GRAMMAR_PACK: Final = "tree-sitter-language-pack"
_MODULES: Final = {"google-re2": "re2", "tree-sitter": "tree_sitter"}

LOW_DISK_BYTES: Final = 1 * GIB
MIN_WATCHES: Final = 65_536
MIN_WATCH_INSTANCES: Final = 128
MIN_OPEN_FILES: Final = 1024
PROBE_DEADLINE_SECONDS: Final = 20.0
PROBE_BYTES: Final = 64 * KIB
MAX_VERSION_BYTES: Final = 1 * KIB
INOTIFY: Final = Path("/proc/sys/fs/inotify")


def run_checks(invocation: Invocation, *, asks_endpoint: bool = False) -> Iterator[Check]:
    """Yields the results: the program first, then the machine and the store, the projects last.

    `asks_endpoint` requests one embedding from the endpoint. Otherwise nothing is sent but a health check to the organisation's
    server, if one is configured.
    """
    try:
        home = invocation.home
        settings = Check("settings", "ok", "all configuration files can be read")
    except CodeCompassError as error:
        yield Check("settings", "fail", error.message, "correct the file or the variable")
        return
    checks: list[tuple[str, Callable[[], Check]]] = [
        ("program", _program),
        ("settings", lambda: settings),
        ("libraries", _libraries),
        ("grammars", _grammars),
        ("worker", _worker),
        ("git", _git),
        ("data directory", lambda: _data_directory(home)),
        ("file system", lambda: _filesystem(home)),
        ("disk space", lambda: _disk_space(home)),
        ("index size", lambda: _index_size(home, invocation.settings.storage.max_size)),
        ("open files", _open_files),
    ]
    if sys.platform == "linux":
        checks.append(("file watches", _watches))
    checks.append(("registry", lambda: _registry(home)))
    checks.append(("by meaning", lambda: semantic_check(invocation, asks_endpoint=asks_endpoint)))
    checks.append(("organisation", lambda: organisation_check(invocation)))
    for name, check in checks:
        yield _guarded(name, check)
    for project in _projects(home):
        own = _guarded("project settings", lambda project=project: _project_settings(invocation, project))  # type: ignore[misc]
        if own.status != "ok":
            yield own
        used = _guarded("repository", lambda project=project: _repository(project))  # type: ignore[misc]
        if used.status != "ok":
            yield used
        yield _guarded("project", lambda project=project: _project(home, project))  # type: ignore[misc]
        yield from sent_texts_check(invocation, project)


def _guarded(name: str, check: Callable[[], Check]) -> Check:
    try:
        return check()
    except CodeCompassError as error:
        return Check(name, "fail", for_people(error.message), str(error.data.get("remediation", "")))
    except Exception as error:  # noqa: BLE001 - a broken installation may raise anything, and finding that is the purpose
        return Check(name, "fail", f"{type(error).__name__}: {error}", "reinstall: pip install --force-reinstall codecompass")


def _program() -> Check:
    versions = f"codecompass {__version__}, Python {platform.python_version()}, {platform.system()} {platform.machine()}"
    return Check("program", "ok", versions)


def _libraries() -> Check:
    broken = []
    versions = []
    for name in LIBRARIES:
        try:
            import_module(_MODULES.get(name, name))
            versions.append(f"{name} {metadata.version(name)}")
        except (ImportError, metadata.PackageNotFoundError) as error:
            broken.append(f"{name} ({error})")
    if broken:
        return Check(
            "libraries", "fail", f"cannot be loaded: {', '.join(broken)}", "reinstall: pip install --force-reinstall codecompass"
        )
    return Check("libraries", "ok", ", ".join(versions))


def _grammars() -> Check:
    from codecompass.languages import PARSED_LANGUAGES
    from codecompass.worker.parsing import Parsers

    parsers = Parsers()
    missing = [language for language in PARSED_LANGUAGES if parsers.get(language) is None]
    version = metadata.version(GRAMMAR_PACK)
    if missing:
        return Check(
            "grammars",
            "warn",
            f"no symbols for {', '.join(missing)}: the grammar cannot be loaded ({GRAMMAR_PACK} {version})",
            f"pip install '{GRAMMAR_PACK}>=0.13,<1'; files of these languages are searchable as text meanwhile",
        )
    return Check("grammars", "ok", f"all {len(PARSED_LANGUAGES)} languages ({GRAMMAR_PACK} {version})")


def _worker() -> Check:
    with tempfile.TemporaryDirectory() as directory:
        Path(directory, "probe.py").write_text("def probe(): pass\n", encoding="utf-8")
        batch = Batch(
            root=os.fsencode(directory),
            tasks=(FileTask("probe.py"),),
            parse=True,
            max_file_bytes=1 * MIB,
            max_line_characters=1000,
            parse_cpu_seconds=PROBE_DEADLINE_SECONDS,
        )
        done = subprocess.run(
            [sys.executable, "-m", "codecompass.worker"],
            input=encode_frame(batch),
            capture_output=True,
            timeout=PROBE_DEADLINE_SECONDS,
            check=False,
            # As the worker pool sets it: modules in the current directory must not be imported instead of ours.
            env={**os.environ, "PYTHONSAFEPATH": "1"},
            cwd="/",
        )
    if done.returncode == 0 and any(isinstance(answer, FileSymbols) and answer.symbols for answer in decode_answers(done.stdout)):
        return Check("worker", "ok", "a worker process reads and parses a file")
    last = done.stderr.decode("utf-8", "replace").strip().rpartition("\n")[2]
    return Check(
        "worker",
        "fail",
        f"a worker process ends with status {done.returncode}: {last}",
        "nothing can be indexed; reinstall, or report what this says",
    )


def _git() -> Check:
    try:
        output = run_process(
            git_command("--version"), deadline_seconds=PROBE_DEADLINE_SECONDS, max_output_bytes=MAX_VERSION_BYTES
        )
    except GitError as error:
        return Check(
            "git",
            "warn",
            f"{for_people(explained(error))} Without it, files that git tracks but a rule ignores are left out, and nothing is "
            "known of other refs, of changes and of history",
            "install git and have it on the PATH",
        )
    return Check("git", "ok", output.decode("utf-8", "replace").strip().removeprefix("git version "))


def _data_directory(home: HomeLayout) -> Check:
    name, root = "data directory", home.root
    existing = _existing(root)
    try:
        with tempfile.NamedTemporaryFile(prefix=".doctor-", dir=existing) as probe:
            # An empty file takes no space, and counts for no quota.
            probe.write(bytes(PROBE_BYTES))
            probe.flush()
    except OSError as error:
        remedy = str(not_writable(existing, error).data["suggested_action"])
        return Check(name, "fail", f"{existing} cannot be written: {error.strerror}", remedy)
    if existing != root:
        return Check(name, "ok", f"{root} (made when first needed)")
    mode = stat.S_IMODE(root.stat().st_mode)
    if mode & 0o077:
        return Check(
            name,
            "warn",
            f"{root} can be read by others (mode {mode:o}), and the index holds the text of your files",
            f"chmod 700 {root}",
        )
    return Check(name, "ok", f"{root}, {formatting.size(disk_usage(root))}")


def _filesystem(home: HomeLayout) -> Check:
    found = filesystem_of(home.root)
    if found.is_network:
        return Check(
            "file system",
            "fail",
            f"{home.root} lies on a network file system ({found.type} at {found.mount_point}), where locks "
            "do not hold and an index gets damaged",
            "set CODECOMPASS_HOME to a directory on a local disk",
        )
    return Check("file system", "ok", found.type or "not known")


def _disk_space(home: HomeLayout) -> Check:
    free = shutil.disk_usage(_existing(home.root)).free
    status: Status = "fail" if free < FULL_DISK_BYTES else "warn" if free < LOW_DISK_BYTES else "ok"
    remedy = "" if status == "ok" else "free space, run: codecompass projects gc, or set CODECOMPASS_HOME to another disk"
    return Check("disk space", status, f"{formatting.size(free)} free", remedy)


def _existing(root: Path) -> Path:
    """Returns the data directory, or its nearest parent that exists."""
    return next((directory for directory in (root, *root.parents) if directory.exists()), Path("/"))


def _index_size(home: HomeLayout, max_bytes: int) -> Check:
    used = disk_usage(home.root)
    sizes = ((project.name, disk_usage(home.project(project.project_id).root)) for project in _projects(home))
    report = over_quota(used, max_bytes, sizes)
    allowed = f"of {formatting.size(max_bytes)} allowed" if max_bytes else "and no limit"
    if not report:
        return Check("index size", "ok", f"{formatting.size(used)} {allowed}")
    return Check(
        "index size", "warn", report, "codecompass projects gc, codecompass projects remove NAME, or raise storage.max_size"
    )


def _open_files() -> Check:
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != resource.RLIM_INFINITY and soft < MIN_OPEN_FILES:
        return Check("open files", "warn", f"a process may open only {soft} files", f"ulimit -n {MIN_OPEN_FILES * 4}")
    return Check("open files", "ok", "unlimited" if soft == resource.RLIM_INFINITY else f"{soft:,}")


def _watches() -> Check:
    watches = int((INOTIFY / "max_user_watches").read_text())
    instances = int((INOTIFY / "max_user_instances").read_text())
    low = [
        f"sysctl -w fs.inotify.{name}={least}"
        for name, value, least in (
            ("max_user_watches", watches, MIN_WATCHES),
            ("max_user_instances", instances, MIN_WATCH_INSTANCES),
        )
        if value < least
    ]
    return Check(
        "file watches",
        "warn" if low else "ok",
        f"{watches:,} directories, {instances:,} watchers" + ("; beyond that, changes are found by looking again" if low else ""),
        f"as root: {'; '.join(low)}" if low else "",
    )


def _registry(home: HomeLayout) -> Check:
    if not home.registry.exists():
        return Check("registry", "ok", "none yet")
    with open_registry(home) as registry:
        (verdict,) = registry.rows("PRAGMA quick_check(1)")[0]
        projects = registry.projects()
    if verdict != "ok":
        return Check(
            "registry",
            "fail",
            f"{home.registry} is damaged: {verdict}",
            f"mv {home.registry} {home.registry}.damaged; indexes are found again, only project names are lost",
        )
    return Check("registry", "ok", formatting.count(len(projects), "project"))


def _projects(home: HomeLayout) -> tuple[Project, ...]:
    if not home.registry.exists():
        return ()
    try:
        with open_registry(home) as registry:
            return registry.projects()
    except CodeCompassError:
        return ()  # reported by the check of the registry


def _project_settings(invocation: Invocation, project: Project) -> Check:
    name, path = "project settings", str(project.root)
    refused = invocation.load(project.root).refused
    if refused:
        return Check(name, "warn", " ".join(refused), "codecompass config show --workspace " + path)
    return Check(name, "ok", f"{path}: used as written")


def _repository(project: Project) -> Check:
    """Checks whether git answers about the repository of a project, if that is in one."""
    name, path = "repository", os.path.realpath(project.root)
    reason = why_not(path, ANYWHERE)
    if reason:
        return Check(name, "warn", f"{path}: git is not used: {reason}", "make it readable")
    repository = find_repository(path)
    try:
        if repository is not None:
            require_usable(repository)
    except GitNotStarted:
        pass  # reported by the check of git
    except GitError as error:
        return Check(name, "warn", f"{path}: {for_people(explained(error))}", "see what git status says there")
    return Check(name, "ok", f"{path}: git answers")


def _project(home: HomeLayout, project: Project) -> Check:
    from codecompass.cli.project_state import project_state
    from codecompass.store.verification import verify_index

    name = "project"
    state = project_state(home, project)
    path = str(project.root)
    match state.name:
        case "root_missing":
            return Check(name, "warn", f"{path} is gone", "codecompass projects gc")
        case "not_indexed":
            return Check(name, "ok", f"{path}: not indexed yet")
        case "newer":
            return Check(
                name,
                "fail",
                f"{path}: its index was written by a newer codecompass",
                "upgrade this program, or set CODECOMPASS_HOME to a store of its own",
            )
        case "reindex_required":
            cause = "its index was written by an older codecompass; the next question rebuilds it"
            return Check(name, "warn", f"{path}: {cause}", f"codecompass index --workspace {path}")
        case "damaged":
            return Check(name, "fail", f"{path}: its index cannot be read", f"codecompass index --force --workspace {path}")
        case "indexing":
            return Check(name, "ok", f"{path}: being indexed right now")
        case "partial":
            return Check(name, "warn", f"{path}: indexing was interrupted", f"codecompass sync --workspace {path}")
        case "ready":
            try:
                verify_index(home.project(project.project_id), project.project_id, _at_full_pace)
            except IndexDamaged as error:
                return Check(name, "fail", f"{path}: {error.message}", f"codecompass index --force --workspace {path}")
            files = 0 if state.meta is None else state.meta.file_count
            unreadable = "" if os.access(project.root, os.R_OK | os.X_OK) else "; its directory cannot be read"
            return Check(name, "warn" if unreadable else "ok", f"{path}: {formatting.count(files, 'file')}{unreadable}")


def _at_full_pace(_n_bytes: int) -> None:
    """Does not pause between reads: the user is waiting for the result."""
