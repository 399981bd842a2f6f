"""Search by meaning on the command line: the endpoint of the settings, vectors after an index job, the vector of a question.

Everything is imported where it is used: nothing of this lane is loaded while it is off.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, TypeVar

from codecompass.settings import Settings

if TYPE_CHECKING:
    from codecompass.actors.vector_upkeep import VectorUpkeep
    from codecompass.cli.invocation import Invocation
    from codecompass.protocol.requests import AnyRequest
    from codecompass.protocol.state_replies import SemanticReport
    from codecompass.query.meaning import QuestionMeaning
    from codecompass.semantic.target import SemanticTarget
    from codecompass.store.index import WorkspaceIndex
    from codecompass.store.layout import ProjectLayout
    from codecompass.store.registry import Project
    from codecompass.store.snapshot import Snapshot

T = TypeVar("T")


def semantic_target_of(settings: Settings, environment: Mapping[str, str]) -> "SemanticTarget | None":
    """Returns the endpoint that the settings name, None where the lane is off. Raises InvalidInput for one that is unusable."""
    if not settings.semantic.endpoint.strip():
        return None
    from codecompass.semantic.target import semantic_target

    return semantic_target(settings.semantic, environment)


def meaning_of(invocation: "Invocation", index: "WorkspaceIndex", request: "AnyRequest") -> "QuestionMeaning | None":
    """Returns the vector of a request's question, or why there is none; None where the lane is off or no question is asked."""
    target = semantic_target_of(invocation.settings, invocation.environment)
    if target is None:
        return None
    return _with_upkeep(target, index, lambda upkeep: upkeep.meaning_of(request))


def semantic_report_of(invocation: "Invocation", snapshot: "Snapshot", layout: "ProjectLayout") -> "SemanticReport | None":
    """Returns the state of a project's vectors, None where the lane is off."""
    target = semantic_target_of(invocation.settings, invocation.environment)
    if target is None:
        return None
    from codecompass.actors.vector_upkeep import semantic_report

    return semantic_report(snapshot, layout, target)


def make_vectors(invocation: "Invocation", project: "Project") -> None:
    """Makes the vectors that the project's index lacks, and says so. Does nothing where the lane is off.

    A failure of the endpoint is a warning: the index is complete without it.
    """
    target = semantic_target_of(invocation.settings, invocation.environment)
    if target is None:
        return
    from codecompass import amounts
    from codecompass.semantic.target import SemanticUnavailable
    from codecompass.semantic.texts import vector_space
    from codecompass.store.index import WorkspaceIndex
    from codecompass.store.vectors import VectorsMissing, VectorsUnusable, vectors_for_reading

    terminal = invocation.terminal
    index = WorkspaceIndex(invocation.home.project(project.project_id), project.project_id)
    terminal.note(f"sending what is new to {target.host} for its vectors; Ctrl-C stops, and what came back is kept", "dim")
    try:
        is_ours = _with_upkeep(target, index, lambda upkeep: upkeep.run())
        with vectors_for_reading(index.layout, vector_space(target.settings)) as vectors:
            made = amounts.count(vectors.counts().texts, "text")
        terminal.note(f"{made} can be found by meaning" + ("" if is_ours else "; another process makes the others"), "dim")
    except SemanticUnavailable as error:
        terminal.warn(f"{error.warning}; what is indexed is found by its words")
    except (VectorsMissing, VectorsUnusable):
        terminal.note("nothing to be found by meaning yet", "dim")
    finally:
        index.close()


def _with_upkeep(target: "SemanticTarget", index: "WorkspaceIndex", work: "Callable[[VectorUpkeep], Awaitable[T]]") -> T:
    import trio

    from codecompass.actors.limits import Limits
    from codecompass.actors.semantic_lane import open_semantic_lane
    from codecompass.actors.vector_upkeep import VectorUpkeep

    async def run() -> T:
        async with open_semantic_lane(target) as lane:
            return await work(VectorUpkeep(lane, index.layout, index, Limits()))

    return trio.run(run)
