"""What `doctor` says of search by meaning: whether it is on, what is sent where, and with `--semantic` whether that works."""

import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from codecompass import amounts
from codecompass.cli.finding import Check
from codecompass.cli.invocation import Invocation
from codecompass.cli.semantic import semantic_target_of
from codecompass.errors import CodeCompassError
from codecompass.store.registry import Project

if TYPE_CHECKING:
    from codecompass.semantic.target import SemanticTarget

NAME: Final = "by meaning"

MAX_COUNTED: Final = 100_000
"""Texts of a project after which counting ends."""


def check(invocation: Invocation, *, asks_endpoint: bool) -> Check:
    """Returns whether the lane is on, and what it sends where. Asks the endpoint for one vector with `asks_endpoint`.

    Raises InvalidInput for settings that cannot be used.
    """
    target = semantic_target_of(invocation.settings, invocation.environment)
    if target is None:
        return Check(name=NAME, status="ok", message="off: nothing is sent anywhere (semantic.endpoint is empty)")
    settings = target.settings
    place = "on this machine" if target.is_loopback else "on another machine"
    key = f"the key in {settings.api_key_env}" + (" is not set" if target.lacks_key else " is set")
    said = (
        f"on: texts of your files and questions are sent to {target.host} ({place}), {settings.api}, model {settings.model}, "
        f"{settings.dimensions} dimensions; {key if settings.api_key_env else 'no key'}"
    )
    if target.lacks_key:
        return Check(name=NAME, status="warn", message=said, remedy=f"set the variable {settings.api_key_env}")
    missing = _missing_libraries()
    if missing:
        return Check(
            name=NAME, status="warn", message=f"{said}; {missing} cannot be loaded", remedy="pip install 'codecompass[semantic]'"
        )
    return _asked(target, said) if asks_endpoint else Check(name=NAME, status="ok", message=said)


def of_project(invocation: Invocation, project: Project) -> Iterator[Check]:
    """Yields what is sent of an indexed project, where the lane is on."""
    try:
        target = semantic_target_of(invocation.settings, invocation.environment)
        if target is not None:
            yield Check(name=NAME, status="ok", message=f"{project.root}: {_sent_of(invocation, project, target)}")
    except CodeCompassError:
        return  # the settings and the index have findings of their own


def _missing_libraries() -> str:
    from importlib.util import find_spec

    return ", ".join(name for name in ("apsw", "httpx2", "sqlite_vec") if find_spec(name) is None)


def _asked(target: "SemanticTarget", said: str) -> Check:
    import trio

    from codecompass.actors.semantic_lane import open_semantic_lane
    from codecompass.semantic.target import SemanticUnavailable

    async def ask() -> None:
        async with open_semantic_lane(target) as lane:
            await lane.require_texts_taken()

    began = time.monotonic()
    try:
        trio.run(ask)
    except SemanticUnavailable as error:
        return Check(name=NAME, status="fail", message=f"{said}; {error.warning}", remedy="see docs/semantic.md")
    took = amounts.duration(time.monotonic() - began)
    slow = 1000 * (time.monotonic() - began) > target.settings.question_timeout_ms
    return Check(
        name=NAME,
        status="warn" if slow else "ok",
        message=f"{said}; it answered in {took}",
        remedy="questions wait semantic.question_timeout_ms for that and are then answered by words; raise it" if slow else "",
    )


def _sent_of(invocation: Invocation, project: Project, target: "SemanticTarget") -> str:
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
        f"{amounts.count(n_definitions, 'definition')} and {amounts.count(n_chunks, 'chunk')} of other text{most} sent, with "
        f"their paths and up to {settings.max_text_characters:,} characters of each; {made:,} have vectors"
    )
