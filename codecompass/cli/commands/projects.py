"""`codecompass projects`: lists, renames, groups and removes projects, and cleans up."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

import asyncclick

from codecompass import formatting
from codecompass.cli import failure
from codecompass.cli.command import command
from codecompass.cli.help import CommandEntry, Example, LazyGroup
from codecompass.cli.invocation import Invocation
from codecompass.cli.json_output import GroupEntry, GroupList, ProjectEntry, ProjectList, ProjectName, Removal
from codecompass.cli.project_completion import ProjectName as NamedProject
from codecompass.cli.terminal import Cell, Style, printable, write_table
from codecompass.errors import IndexInProgress, PermissionDenied
from codecompass.formatting import iso_time

if TYPE_CHECKING:
    from codecompass.store.layout import ProjectLayout
    from codecompass.store.registry import Project, ProjectGroup, Registry


_COMMANDS: Final = "Commands"

projects = LazyGroup(
    "projects",
    help="""
    List, rename, group and remove projects; clean up.

    A project is a directory that has been indexed or given a name. Until it is given one, its name is that of its
    directory, in lower case with hyphens, and with its parent's before it where another project has that name. Its index
    lies in the data directory, never in the project itself.
    """,
    entries=(
        CommandEntry("list", _COMMANDS, "List all projects.", __name__, "list_projects"),
        CommandEntry("rename", _COMMANDS, "Give a project another name.", __name__),
        CommandEntry("group", _COMMANDS, "Give several projects a name for searching them together.", __name__),
        CommandEntry("groups", _COMMANDS, "List all groups.", __name__),
        CommandEntry("ungroup", _COMMANDS, "Forget a group; its projects stay.", __name__),
        CommandEntry("remove", _COMMANDS, "Forget a project and delete its index.", __name__),
        CommandEntry("gc", _COMMANDS, "Delete what belongs to no existing directory.", __name__),
    ),
    examples=(
        Example("codecompass projects list", "all projects with state, size and last use"),
        Example("codecompass projects rename shop web-shop", "use another name than the directory's"),
        Example("codecompass projects group backend api web-shop", "search both with --in backend"),
        Example("codecompass projects gc --dry-run", "what could be deleted"),
    ),
)

_STATE_STYLES: Final[dict[str, tuple[Style, ...]]] = {
    "ready": ("green",),
    "indexing": ("cyan",),
    "partial": ("cyan",),
    "not_indexed": ("dim",),
}

_STATE_WORDS: Final = {
    "not_indexed": "not indexed",
    "reindex_required": "of an older version",
    "damaged": "damaged, needs index --force",
    "newer": "of a newer version",
    "root_missing": "directory missing",
    "partial": "half indexed",
}


@command(
    "list",
    text="List all projects with their state, size on disk and last use. SHARED is what other indexes use too and what removing "
    "one of them does not free. An asterisk marks the default project; "
    "live are those that a server has open.",
    examples=(
        Example("codecompass projects list", "all projects"),
        Example("codecompass projects list --json | jq -r '.projects[].repo_root'", "their directories"),
    ),
    chooses_project=False,
)
def list_projects(invocation: Invocation) -> None:
    """Prints all projects."""
    from codecompass.cli.project_state import project_state
    from codecompass.store.filesystem import disk_space
    from codecompass.store.lock import is_read

    with invocation.registry() as registry:
        projects = registry.projects()
    # Read before this command opens the indexes itself.
    live = {project.project_id: is_read(invocation.home.project(project.project_id)) for project in projects}
    entries = []
    for project in projects:
        state = project_state(invocation.home, project)
        meta = state.meta
        space = disk_space(invocation.home.project(project.project_id).root)
        entries.append(
            ProjectEntry(
                project_id=project.project_id,
                name=project.name,
                repo_root=str(project.root),
                state=state.name,
                residency=_residency(invocation.home.project(project.project_id), live[project.project_id]),
                is_default=project.is_default,
                auto_discovered=project.is_auto_discovered,
                file_count=0 if meta is None else meta.file_count,
                symbol_count=0 if meta is None else meta.symbol_count,
                disk_bytes=space.total,
                shared_bytes=space.shared,
                last_indexed_at="" if meta is None else iso_time(meta.published_at),
                last_used_at=iso_time(project.last_used_at),
                created_at=iso_time(project.created_at),
            )
        )
    if invocation.options.as_json:
        invocation.print_json(ProjectList(tuple(entries)))
        return
    if not entries:
        invocation.terminal.note("no projects yet. Change into one and run: codecompass index")
        return
    header = [Cell(text, ("dim",)) for text in ("NAME", "STATE")]
    header += [Cell(text, ("dim",), is_right=True) for text in ("FILES", "SYMBOLS", "DISK", "SHARED")]
    header += [Cell(text, ("dim",)) for text in ("USED", "DIRECTORY")]
    rows = [header]
    for entry, project in zip(entries, projects, strict=True):
        rows.append(
            [
                Cell(entry.name + (" *" if entry.is_default else ""), ("bold",)),
                Cell(
                    _STATE_WORDS.get(entry.state, entry.state) + (", live" if entry.residency == "live" else ""),
                    _STATE_STYLES.get(entry.state, ("yellow",)),
                ),
                Cell(f"{entry.file_count:,}", is_right=True),
                Cell(f"{entry.symbol_count:,}", is_right=True),
                Cell(formatting.size(entry.disk_bytes), is_right=True),
                Cell(formatting.size(entry.shared_bytes) if entry.shared_bytes else "", ("dim",), is_right=True),
                Cell(formatting.ago(project.last_used_at), ("dim",)),
                Cell(printable(entry.repo_root)),
            ]
        )
    write_table(invocation.terminal, rows)


@command(
    "rename",
    text="""
    Give a project another name.

    PROJECT is its name, id or directory. A name is 1 to 50 lower-case letters, digits and single hyphens between them;
    every command and tool takes it where it takes an id.
    """,
    examples=(
        Example("codecompass projects rename shop web-shop", "web-shop from now on"),
        Example("codecompass projects rename . api", "name the project of this directory"),
    ),
    chooses_project=False,
)
@asyncclick.argument("project", type=NamedProject())
@asyncclick.argument("name")
def rename(invocation: Invocation, project: str, name: str) -> None:
    """Renames a project."""

    with invocation.registry() as registry:
        renamed = registry.rename(_find(registry, project).project_id, name)
    root = str(renamed.root)
    if invocation.options.as_json:
        invocation.print_json(ProjectName(project_id=renamed.project_id, name=renamed.name, repo_root=root))
    else:
        invocation.terminal.line(f"{printable(root)} is now called {renamed.name}")


@command(
    "group",
    text="""
    Give several projects a name for searching them together.

    Each PROJECT is a name, an id or a directory; they replace those that the group had. The name is taken wherever several
    projects can be: search, locate and refs with --in, and the tools' workspace.
    """,
    examples=(
        Example("codecompass projects group backend api web-shop", "two projects as backend"),
        Example('codecompass search --in backend "retry delay"', "search both"),
    ),
    chooses_project=False,
)
@asyncclick.argument("name")
@asyncclick.argument("projects", nargs=-1, required=True, type=NamedProject())
def group(invocation: Invocation, name: str, projects: tuple[str, ...]) -> None:
    """Creates or replaces a group."""
    from codecompass.projects.selection import labels
    from codecompass.store.registry import set_project_group

    with invocation.registry() as registry:
        made = set_project_group(registry, name, [_find(registry, project) for project in projects])
        named = labels(registry.projects())
    _show_groups(invocation, (made,), named)


@command(
    "groups",
    text="List all groups with their projects.",
    examples=(Example("codecompass projects groups", "all groups"),),
    chooses_project=False,
)
def groups(invocation: Invocation) -> None:
    """Prints all groups."""
    from codecompass.projects.selection import labels
    from codecompass.store.registry import project_groups

    with invocation.registry() as registry:
        found, named = project_groups(registry), labels(registry.projects())
    if not found and not invocation.options.as_json:
        invocation.terminal.note("no groups yet. Make one with: codecompass projects group NAME PROJECT PROJECT")
        return
    _show_groups(invocation, found, named)


@command(
    "ungroup",
    text="Forget a group. Its projects and their indexes stay.",
    examples=(Example("codecompass projects ungroup backend", "forget the group"),),
    chooses_project=False,
)
@asyncclick.argument("name")
def ungroup(invocation: Invocation, name: str) -> None:
    """Removes a group."""
    from codecompass.projects.selection import labels
    from codecompass.store.registry import project_groups, remove_project_group

    with invocation.registry() as registry:
        remove_project_group(registry, name)
        left, named = project_groups(registry), labels(registry.projects())
    if invocation.options.as_json:
        _show_groups(invocation, left, named)
    else:
        invocation.terminal.line(f"the group {name} is forgotten; its projects are as they were")


def _show_groups(invocation: Invocation, found: "tuple[ProjectGroup, ...]", named: Mapping[str, str]) -> None:

    if invocation.options.as_json:
        entries = [
            GroupEntry(
                name=each.name,
                projects=tuple(named[project.project_id] for project in each.projects),
                repo_roots=tuple(str(project.root) for project in each.projects),
            )
            for each in found
        ]
        invocation.print_json(GroupList(tuple(entries)))
        return
    rows = [[Cell(text, ("dim",)) for text in ("GROUP", "PROJECT", "DIRECTORY")]]
    for each in found:
        for number, project in enumerate(each.projects):
            name = Cell(each.name if number == 0 else "", ("bold",))
            rows.append([name, Cell(named[project.project_id]), Cell(printable(str(project.root)))])
    write_table(invocation.terminal, rows)


@command(
    "remove",
    text="""
    Forget a project and delete its index. The project's own files are not touched.

    PROJECT is its name, id or directory. Searching in that directory makes it known again.
    """,
    examples=(
        Example("codecompass projects remove web-shop", "by name"),
        Example("codecompass projects remove ~/src/old-experiment", "by directory"),
    ),
    chooses_project=False,
)
@asyncclick.argument("project", type=NamedProject())
def remove(invocation: Invocation, project: str) -> None:
    """Removes a project and its index."""
    from codecompass.store.housekeeping import remove_project

    with invocation.registry() as registry:
        found = _find(registry, project)
        # The index first: an index without its project would be a leak.
        freed = remove_project(invocation.home.project(found.project_id))
        registry.remove(found.project_id)
    if invocation.options.as_json:
        invocation.print_json(Removal(projects=(str(found.root),), freed_bytes=freed))
    else:
        invocation.terminal.line(
            f"removed {found.name}, {formatting.size(freed)} freed. {printable(str(found.root))} is untouched."
        )


@command(
    "gc",
    text="""
    Delete what belongs to no existing directory.

    That is: projects whose directory is gone, and leftovers of indexes that no project has. An index that can be used
    is never deleted, and neither is one that is being written.
    """,
    examples=(
        Example("codecompass projects gc --dry-run", "only say what would be deleted"),
        Example("codecompass projects gc", "delete it"),
    ),
    chooses_project=False,
)
@asyncclick.option("--dry-run", is_flag=True, help="Only say what would be deleted.")
def gc(invocation: Invocation, dry_run: bool) -> int:
    """Removes projects whose directory is gone, and leftovers. The exit code is 1 if the store refuses a removal."""
    from codecompass.store.filesystem import disk_space
    from codecompass.store.housekeeping import orphans, remove_orphan, remove_project

    terminal, home = invocation.terminal, invocation.home
    freed = 0
    gone = []
    is_refused = False
    with invocation.registry() as registry:
        for project in registry.projects():
            if project.root.is_dir():
                continue
            layout = home.project(project.project_id)
            if dry_run:
                freed += disk_space(layout.root).own
            else:
                try:
                    freed += remove_project(layout)
                    registry.remove(project.project_id)
                except IndexInProgress as error:
                    terminal.warn(error.message)
                    continue
                except PermissionDenied as error:
                    terminal.warn(error.message)
                    is_refused = True
                    continue
            gone.append(str(project.root))
        leftovers = orphans(home, frozenset(project.project_id for project in registry.projects()))
    for orphan in leftovers:
        freed += orphan.n_bytes if dry_run else remove_orphan(orphan)
    removal = Removal(projects=tuple(gone), leftovers=tuple(str(o.path) for o in leftovers), freed_bytes=freed, dry_run=dry_run)
    if invocation.options.as_json:
        invocation.print_json(removal)
        return failure.FAILED if is_refused else failure.DONE
    verb = "would remove" if dry_run else "removed"
    for root in removal.projects:
        terminal.line(f"{verb} the index of {printable(root)}, which is gone")
    for path in removal.leftovers:
        terminal.line(f"{verb} {printable(path)}, which belongs to no project")
    if gone or leftovers:
        terminal.line(f"{formatting.size(freed)} {'to free' if dry_run else 'freed'}")
    elif not is_refused:
        terminal.line("nothing to clean up")
    return failure.FAILED if is_refused else failure.DONE


def _residency(layout: "ProjectLayout", is_live: bool) -> str:
    if is_live:
        return "live"
    return "on_disk" if layout.current.exists() else ""


def _find(registry: "Registry", name: str) -> "Project":
    from codecompass.identity import canonical_root

    found = registry.find(name) or registry.at(canonical_root(Path(name).expanduser()))
    return found or registry.require(name)
