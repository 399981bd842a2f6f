"""What a server lends to the workbenches of all of its workspaces."""

from typing import TYPE_CHECKING

from msgspec import Struct

from codecompass.actors.async_registry import AsyncRegistry
from codecompass.actors.blocking_calls import Limits
from codecompass.actors.own_registrations import OwnRegistrations
from codecompass.actors.starting_point import FindBases, any_base
from codecompass.actors.worker_pool import WorkerPool
from codecompass.settings import AnswerForm
from codecompass.store.layout import HomeLayout
from codecompass.store.mapped_files import MappedFiles

if TYPE_CHECKING:
    from codecompass.actors.answer_readers import AnswerReaders
    from codecompass.actors.semantic_lane import SemanticLane


class Tools(Struct, frozen=True, kw_only=True):
    """Threads, processes and stores that workspaces share."""

    home: HomeLayout
    pool: WorkerPool
    limits: Limits
    registry: AsyncRegistry
    mapped_files: MappedFiles | None = None
    answers: AnswerForm = "json"
    """The form of the replies."""
    lane: "SemanticLane | None" = None
    """None if search by meaning is off."""
    readers: "AnswerReaders | None" = None
    """Reader processes for a busy server; None answers all questions in threads."""
    registrations: OwnRegistrations | None = None
    """Forgets a project that the server itself has registered, if its first index comes to nothing; None keeps all."""
    bases: FindBases = any_base
    """Says which other projects' indexes may be forked."""
