"""What became of a question about several projects: the answer of each that is here, and those of another server."""

from msgspec import Struct

from codecompass.errors import CodeCompassError
from codecompass.projects.selection import SelectedProject
from codecompass.protocol.replies import FindReferencesReply, LocateSymbolReply, SearchCodeReply
from codecompass.protocol.requests import FindReferences, LocateSymbol, SearchCode

SharedRequest = SearchCode | LocateSymbol | FindReferences
SharedReply = SearchCodeReply | LocateSymbolReply | FindReferencesReply


class Asked(Struct, frozen=True):
    """Who is meant: projects that are here, and names for which another server is asked."""

    here: tuple[SelectedProject, ...]
    elsewhere: tuple[str, ...] = ()
    is_elsewhere_first: bool = False
    """Whether the name that was given first is one of these, and not `*`."""


class ProjectAnswer(Struct, frozen=True):
    """What became of one project: its reply, or why there is none; neither where others have more of the question.

    One that another server has answered for has a root that says so, and no directory of this machine.
    """

    selected: SelectedProject
    reply: SharedReply | None = None
    is_checked: bool = False
    """Whether its index was compared with its tree."""
    failure: CodeCompassError | None = None

    @property
    def is_fresh(self) -> bool:
        """Whether the answer is of the tree as it is, or would be."""
        if self.reply is None:
            return self.is_checked and self.failure is None
        return self.is_checked and self.reply.metadata.freshness_status == "fresh"


class OtherAnswers(Struct, frozen=True, kw_only=True):
    """What another server has answered, for all of its projects that were asked; nothing where nobody was.

    `page` is there in place of `answers` where that server does not say what merging needs: its hits, in its own order.
    `failure` is there where it has not answered at all; the warnings say that too.
    """

    answers: tuple[ProjectAnswer, ...] = ()
    page: SearchCodeReply | LocateSymbolReply | None = None
    n_projects: int = 0
    is_fresh: bool = True
    is_complete: bool = True
    warnings: tuple[str, ...] = ()
    failure: CodeCompassError | None = None


class Answers(Struct, frozen=True):
    """All answers to a question: those from here in the order in which the projects are named, and the others."""

    here: tuple[ProjectAnswer, ...] = ()
    other: OtherAnswers = OtherAnswers()

    @property
    def each(self) -> tuple[ProjectAnswer, ...]:
        """All of them, those from here first."""
        return (*self.here, *self.other.answers)
