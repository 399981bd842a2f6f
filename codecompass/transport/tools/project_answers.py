"""The answers to a question about several projects: one of each local project, and those of another server."""

from msgspec import Struct

from codecompass.errors import CodeCompassError
from codecompass.projects.selection import SelectedProject
from codecompass.protocol.replies import FindReferencesReply, LocateSymbolReply, SearchCodeReply
from codecompass.protocol.requests import FindReferences, LocateSymbol, SearchCode

SharedRequest = SearchCode | LocateSymbol | FindReferences
SharedReply = SearchCodeReply | LocateSymbolReply | FindReferencesReply


class Asked(Struct, frozen=True):
    """The projects that a question addresses: local ones, and names for which another server is queried."""

    here: tuple[SelectedProject, ...]
    elsewhere: tuple[str, ...] = ()
    is_elsewhere_first: bool = False
    """Whether the first name of the question is one of `elsewhere`, and not `*`."""


class ProjectAnswer(Struct, frozen=True):
    """The answer of one project: its reply or its failure; neither if it was not searched because others match better.

    If another server has answered, the project's root names that server, and is not a directory of this machine.
    """

    selected: SelectedProject
    reply: SharedReply | None = None
    is_checked: bool = False
    """Whether its index was compared with its tree."""
    failure: CodeCompassError | None = None

    @property
    def is_fresh(self) -> bool:
        """Whether the answer, if there is one, reflects the current tree."""
        if self.reply is None:
            return self.is_checked and self.failure is None
        return self.is_checked and self.reply.metadata.freshness_status == "fresh"


class OtherAnswers(Struct, frozen=True, kw_only=True):
    """The answers of another server for all of its projects that were queried; empty if none was.

    `page` is set instead of `answers` if that server does not send the data for merging: its hits, in its own order. `failure` is
    set if it has not answered at all; the warnings say so too.
    """

    answers: tuple[ProjectAnswer, ...] = ()
    page: SearchCodeReply | LocateSymbolReply | None = None
    n_projects: int = 0
    is_fresh: bool = True
    is_complete: bool = True
    warnings: tuple[str, ...] = ()
    failure: CodeCompassError | None = None


class Answers(Struct, frozen=True):
    """All answers to a question: the local ones in the order in which the projects are named, and the others."""

    here: tuple[ProjectAnswer, ...] = ()
    other: OtherAnswers = OtherAnswers()

    @property
    def each(self) -> tuple[ProjectAnswer, ...]:
        """All answers, local ones first."""
        return (*self.here, *self.other.answers)
