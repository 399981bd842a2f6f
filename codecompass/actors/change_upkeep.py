"""What is known of files that change together: kept beside the index, and read from git for each checked-out commit, in the
background after an index was published, or by the first question that needs it.
"""

from collections.abc import Callable
from contextlib import suppress

from codecompass.scan.git_change_history import NO_HISTORY, ChangeHistory, read_change_history
from codecompass.scan.git_repository import GitCancelled, GitError, find_repository, head_of, is_bare
from codecompass.scan.git_roots import GitRoots
from codecompass.store.change_history import keep_history, kept_history
from codecompass.store.layout import ProjectLayout


def history_of_head(
    layout: ProjectLayout, root: str, roots: GitRoots, is_cancelled: Callable[[], bool] | None = None
) -> ChangeHistory:
    """Returns the history of the checked-out commit, and keeps it. Blocks on git and the disk; never raises for either.

    Without git, outside of the allowed roots or if git fails, there is no history.
    """
    try:
        repository = find_repository(root, roots)
        head = None if repository is None or is_bare(repository) else head_of(repository).commit
        if repository is None or head is None:
            return NO_HISTORY
        known = kept_history(layout)
        if head == known.head:
            return known
        found = read_change_history(repository, root, head, is_cancelled=is_cancelled)
    except (GitError, GitCancelled, OSError):
        return NO_HISTORY
    with suppress(OSError):
        keep_history(layout, found)
    return found
