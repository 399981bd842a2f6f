"""Search by meaning on the command line: the configured endpoint, vectors after an index job, the vector of a question, and what
`doctor` checks.

Imports are inside of the functions: nothing of search by meaning is loaded while it is off.
"""

import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Final, TypeVar

from codecompass import formatting
from codecompass.cli.invocation import Invocation
from codecompass.errors import CodeCompassError
from codecompass.settings import Settings

if TYPE_CHECKING:
    from codecompass.actors.vector_upkeep import VectorUpkeep
    from codecompass.cli.json_output import Check
    from codecompass.protocol.requests import AnyRequest
    from codecompass.protocol.state_replies import SemanticReport
    from codecompass.query.semantic_search import QuestionMeaning
    from codecompass.semantic.target import SemanticTarget
    from codecompass.store.index import WorkspaceIndex
    from codecompass.store.layout import ProjectLayout
    from codecompass.store.registry import Project
    from codecompass.store.snapshot import Snapshot

T = TypeVar("T")

MAX_COUNTED: Final = 100_000
"""Texts of a project after which counting ends."""


def semantic_target_of(settings: Settings, environment: Mapping[str, str]) -> "SemanticTarget | None":
    """Returns the configured endpoint, None if search by meaning is off. Raises InvalidInput for an unusable one."""
    if not settings.semantic.endpoint.strip():
        return None
    from codecompass.semantic.target import semantic_target

    return semantic_target(settings.semantic, environment)


def meaning_of(invocation: Invocation, index: "WorkspaceIndex", request: "AnyRequest") -> "QuestionMeaning | None":
    """Returns the vector of a request's query, or why there is none; None if search by meaning is off or does not apply."""
    target = semantic_target_of(invocation.settings, invocation.environment)
    if target is None:
        return None
    return _with_upkeep(target, index, lambda upkeep: upkeep.meaning_of(request))


def semantic_report_of(invocation: Invocation, snapshot: "Snapshot", layout: "ProjectLayout") -> "SemanticReport | None":
    """Returns the state of a project's vectors, None if search by meaning is off."""
    target = semantic_target_of(invocation.settings, invocation.environment)
    if target is None:
        return None
    from codecompass.actors.vector_upkeep import semantic_report

    return semantic_report(snapshot, layout, target)


def make_vectors(invocation: Invocation, project: "Project") -> None:
    """Makes the vectors that the project's index lacks, and prints what it does. Does nothing if search by meaning is off.

    A failure of the endpoint is only a warning: the index is complete without vectors.
    """
    target = semantic_target_of(invocation.settings, invocation.environment)
    if target is None:
        return
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
            made = formatting.count(vectors.counts().texts, "text")
        terminal.note(f"{made} can be found by meaning" + ("" if is_ours else "; another process makes the others"), "dim")
    except SemanticUnavailable as error:
        terminal.warn(f"{error.warning}; what is indexed is found by its words")
    except (VectorsMissing, VectorsUnusable):
        terminal.note("nothing to be found by meaning yet", "dim")
    finally:
        index.close()


def semantic_check(invocation: Invocation, *, asks_endpoint: bool) -> "Check":
    """Returns whether search by meaning is on, and what it sends where. `asks_endpoint` requests one vector from the endpoint.

    Raises InvalidInput for unusable settings.
    """
    from codecompass.cli.json_output import Check

    target = semantic_target_of(invocation.settings, invocation.environment)
    if target is None:
        return Check("by meaning", "ok", "off: nothing is sent anywhere (semantic.endpoint is empty)")
    settings = target.settings
    place = "on this machine" if target.is_loopback else "on another machine"
    key = f"the key in {settings.api_key_env}" + (" is not set" if target.lacks_key else " is set")
    said = (
        f"on: texts of your files and questions are sent to {target.host} ({place}), {settings.api}, model {settings.model}, "
        f"{settings.dimensions} dimensions; {key if settings.api_key_env else 'no key'}"
    )
    if target.lacks_key:
        return Check("by meaning", "warn", said, f"set the variable {settings.api_key_env}")
    missing = _missing_libraries()
    if missing:
        return Check("by meaning", "warn", f"{said}; {missing} cannot be loaded", "pip install 'codecompass[semantic]'")
    return _probe(target, said) if asks_endpoint else Check("by meaning", "ok", said)


def sent_texts_check(invocation: Invocation, project: "Project") -> "Iterator[Check]":
    """Yields what is sent of an indexed project, if search by meaning is on."""
    from codecompass.cli.json_output import Check

    try:
        target = semantic_target_of(invocation.settings, invocation.environment)
        if target is not None:
            yield Check("by meaning", "ok", f"{project.root}: {_sent_of(invocation, project, target)}")
    except CodeCompassError:
        return  # the settings and the index have checks of their own


def _missing_libraries() -> str:
    from importlib.util import find_spec

    return ", ".join(name for name in ("apsw", "httpx2", "sqlite_vec") if find_spec(name) is None)


def _probe(target: "SemanticTarget", said: str) -> "Check":
    import trio

    from codecompass.actors.semantic_lane import open_semantic_lane
    from codecompass.cli.json_output import Check
    from codecompass.semantic.target import SemanticUnavailable

    async def ask() -> None:
        async with open_semantic_lane(target) as lane:
            await lane.require_texts_taken()

    began = time.monotonic()
    try:
        trio.run(ask)
    except SemanticUnavailable as error:
        return Check("by meaning", "fail", f"{said}; {error.warning}", "see docs/semantic.md")
    took = formatting.duration(time.monotonic() - began)
    slow = 1000 * (time.monotonic() - began) > target.settings.question_timeout_ms
    return Check(
        "by meaning",
        "warn" if slow else "ok",
        f"{said}; it answered in {took}",
        "questions wait semantic.question_timeout_ms for that and are then answered by words; raise it" if slow else "",
    )


def _sent_of(invocation: Invocation, project: "Project", target: "SemanticTarget") -> str:
    from codecompass.actors.vector_upkeep import compare
    from codecompass.semantic.texts import texts_of, vector_space
    from codecompass.store.index import WorkspaceIndex
    from codecompass.store.vectors import VectorsMissing, VectorsUnusable, vectors_for_reading

    settings, layout = target.settings, invocation.home.project(project.project_id)
    index = WorkspaceIndex(layout, project.project_id)
    made = 0
    try:
        with vectors_for_reading(layout, vector_space(settings)) as vectors:
            made = vectors.counts().texts
    except (VectorsMissing, VectorsUnusable):
        pass
    n_definitions = n_chunks = 0
    try:
        with index.snapshot() as snapshot:
            for path in compare(snapshot, {})[0]:
                row = snapshot.facts.file(path)
                kinds = [each.kind for each in texts_of(snapshot, row, settings.max_text_characters)] if row else []
                n_definitions += sum(map(bool, kinds))
                n_chunks += kinds.count("")
                if n_definitions + n_chunks >= MAX_COUNTED:
                    break
    finally:
        index.close()
    n_texts = n_definitions + n_chunks
    most = f", of which {settings.max_texts:,} are" if n_texts > settings.max_texts else ""
    return (
        f"{formatting.count(n_definitions, 'definition')} and {formatting.count(n_chunks, 'chunk')} of other text{most} sent, "
        f"with their paths and up to {settings.max_text_characters:,} characters of each; {made:,} have vectors"
    )


def _with_upkeep(target: "SemanticTarget", index: "WorkspaceIndex", work: "Callable[[VectorUpkeep], Awaitable[T]]") -> T:
    import trio

    from codecompass.actors.blocking_calls import Limits
    from codecompass.actors.semantic_lane import open_semantic_lane
    from codecompass.actors.vector_upkeep import VectorUpkeep

    async def run() -> T:
        async with open_semantic_lane(target) as lane:
            return await work(VectorUpkeep(lane, index.layout, index, Limits()))

    return trio.run(run)
